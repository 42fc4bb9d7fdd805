/* How much of a trial's speed other programs of the machine took, as they had the CPUs while its
 * threads waited for them. Two figures, none of which is enough alone:
 *
 *   waiting     says that there was a loss, but not what caused it: with more replicas than CPUs
 *               they wait for each other.
 *   busy time   says what had the CPUs, but not that anything else wanted them: another program on
 *               a CPU that is free does no harm.
 *
 * Over the replicas of a trial that share CPUs (the same node, and a CPU that both may use; one by
 * one where each has its own), in the measured steps, all in CPU-ns:
 *
 *   C   what they ran                                cpu_ns of their summaries
 *   W   what they waited                             noise.cpu_wait_ns; of a server, that part of
 *                                                    it that cpu_ns is of noise.cpu_run_ns: a
 *                                                    server looks at its start and its end
 *   S   the hypervisor's share, by what they ran     steal x C / (busy - steal)
 *   F   what others ran on their CPUs                busy - steal - C, at least 0
 *   L = min(W, F) + S                                lost to others: a replica loses no more than
 *                                                    it waited, and others take no more than they
 *                                                    ran
 *   D   the longest duration_ns
 *
 *   share = L / max(D, C + L)
 *
 * One thread on one CPU with another program that never sleeps: C = W = F = D / 2, share = 1/2:
 * alone it would be twice as fast. Four replicas of one thread and one such program on two CPUs:
 * C = 1.6 D, W = 2.4 D, F = 0.4 D, share = 0.4 / 2: alone they would make 1 / (1 - 0.2) = 1.25
 * times as much. The share of a trial is that of its worst group, for the gang waits for that. What
 * else others cost (caches, memory, clock) is not in it.
 *
 * Unknown, and not 0, if a replica does not say one of these, or if a CPU limit stopped one for 1%
 * of D or more: then waiting cannot be separated from that. Pure; called by trial_result.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "result/result.h"

#define OTHERS_CPU_THROTTLED 0.01 /* of D */

/* What a replica says. Texts are borrowed. */
struct cpu_user {
    const char *node, *cpus; /* "0-3,8"; NULL: not said, and it may share CPUs with any */
    bool leads;              /* trains; its busy time is that of the measured steps */
    int64_t duration_ns, cpu_ns, throttled_ns;
    struct noise noise; /* without probes */
};

/* 0 to below 1; NaN: not known. */
double others_cpu_share(const struct cpu_user *users, size_t n);
/* The same of a trial; its rows must not be freed yet. `leading` is the role that trains. */
double others_cpu_of_trial(const struct trial_result *t, enum role leading);

/* Do two lists of CPUs have one in common? True also where one is not said or not a list. */
bool cpu_lists_meet(const char *a, const char *b);
