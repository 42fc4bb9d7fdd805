/* Looks at this machine ten times a second while an attempt runs: at its GPUs (host/telemetry.h),
 * and whether some process has listened on the port at which the workers are to meet. More and more
 * rarely it counts how long its programs have run and waited for CPUs (host/cpu_wait.h). It does so
 * in a thread of libuv's pool, because a look takes some milliseconds, and the loop dates lines of
 * logs. Edge file: timer and threads of the loop, the clock. Used by
 * processes.c only. */
#pragma once

#include <uv.h>

#include "host/cpu_wait.h"
#include "host/telemetry.h"

struct sampler;
struct sampler *sampler_new(uv_loop_t *loop);
void sampler_close(struct sampler *s); /* it is freed when the loop has closed its timer */
/* An attempt begins: no GPU is chosen, and what was read is forgotten. */
void sampler_begin(struct sampler *s);
/* A replica of it has this CUDA_VISIBLE_DEVICES (NULL: none, so it sees all), and is to meet others
 * at this port (NULL: at none). */
void sampler_choose(struct sampler *s, const char *visible, const char *port);
/* A program of it has started under the guard `pid` (child.h), on these CPUs (NULL: on ours). */
void sampler_watch(struct sampler *s, int pid, const char *cpus);
/* It has ended; call it before waitpid(). */
void sampler_watch_end(struct sampler *s, int pid);
/* Counts what its programs have used without waiting for the next look that is due. */
void sampler_look(struct sampler *s);
/* What a program did in that time (cpu_watch_between); nothing of one that is not watched. */
struct cpu_count sampler_count(struct sampler *s, int pid, int64_t from_ns, int64_t to_ns);
/* How long no process has ever listened there. NaN: one has, or it is too early to say. */
double sampler_unmet_s(struct sampler *s);
/* The attempt has ended: sets what is known of its measured steps. */
void sampler_end(struct sampler *s, int64_t from_ns, int64_t to_ns, struct metrics *ret);
