/* Whether an attempt has ended and how, whether its trial is retried, and which number the next
 * attempt gets. Called by reconcile.c for the gang of the current attempt. Pure.
 *
 * Rules, in this order (docs/contracts/retries.md):
 *   1. A failed or vanished member ends the attempt. The cause is a preemption, else the failure
 *      that came first; an exit 11 (a survivor) is never the cause while another failure is known.
 *      When survivors are all there is, the members that still run get three seconds to fail; after
 *      that the peer that most survivors name is the cause (of as many the one that was named
 *      first). A launcher is a survivor of all others: when it fails, they get three seconds to,
 *      and then it is the cause itself.
 *   2. All trainers and workers succeeded: the attempt ends when the pservers have ended too, or
 *      10 s after the last trainer. With a launcher it ends when that succeeded. A summary that is
 *      missing or cannot be used makes it NO_SUMMARY.
 *   3. All run, and some trainer or worker longer than runPolicy.trialTimeoutSeconds, or all whose
 *      output is seen without any for runPolicy.stallSeconds: it is ended.
 *   4. Otherwise it is alive. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decide/observed.h"
#include "spec/spec.h"

#define ATTEMPT_PSERVER_GRACE_MS 10000
/* The status of a cause may arrive after the status of its consequences. And where a link is cut,
 * one side may miss the other's life signs 1 s before the other misses its own, and takes up to 1 s
 * to report that to its peers. */
#define ATTEMPT_CONSEQUENCE_GRACE_MS 3000
/* The same for a launcher: its program fails at once when a worker is gone; a kubelet looks at its
 * containers once a second. */
#define ATTEMPT_LAUNCHER_GRACE_MS 3000

/* What it means if a member of the gang is not observed. */
enum missing_means {
    MISSING_NOT_CREATED, /* a crash interrupted the creation: create it, if no member has ended */
    MISSING_VANISHED,    /* all members were created: it is lost */
    MISSING_UNDECIDED,   /* a cancellation may have deleted it: evaluate complete gangs only */
};

struct gang {
    const struct observed_replica *members; /* by role, then index; each index < size[role] */
    size_t n_members;
    const uint32_t *size; /* [ROLE_COUNT] */
    enum missing_means missing;
    int64_t timeout_s, stall_s; /* of runPolicy; 0: none */
};

enum attempt_end {
    ATTEMPT_END_WELL,
    ATTEMPT_END_NOISY,      /* well, but on a machine that was not itself (core/summary.h) */
    ATTEMPT_END_NO_SUMMARY, /* or none that can be used */
    ATTEMPT_END_NO_ROOM,    /* a member found no room: the gang never began to measure */
    ATTEMPT_END_PREEMPTED,  /* somebody else got the place of a member */
    ATTEMPT_END_WAIT_OVER,  /* a member waited too long for a queue or a node */
    ATTEMPT_END_LACKING,    /* a library is missing */
    ATTEMPT_END_TIMED_OUT,  /* it hangs, or is too slow: tried again once */
    ATTEMPT_END_INFRASTRUCTURE,
    ATTEMPT_END_PERMANENT,
};

struct attempt_verdict {
    bool has_ended;
    enum attempt_end end;           /* if it has ended */
    char error[ATTEMPT_ERROR_SIZE]; /* the cause, naming the replica; "" if it ended WELL */
    /* Not ended: evaluate again at this time; 0: only when something changes. */
    int64_t recheck_unix_ms;
};

void attempt_judge(const struct gang *gang, int64_t now_unix_ms, struct attempt_verdict *ret);

/* What is seen of one trial's attempts; -1: none. */
struct attempt_seen {
    int64_t last_row;    /* the highest that the store keeps */
    int64_t last_live;   /* the highest with replicas and no row */
    int64_t last_status; /* the one that the run's status names as current */
    bool is_status_live; /* and it has replicas and no row */
};

/* The current attempt of the trial: the live one that the status names; else a live one after all
 * rows; else a new number after all that are seen. So if a whole gang vanished (the machine went
 * down), its number is not used again, and nothing of it is mistaken for the next attempt. */
uint32_t attempt_number(const struct attempt_seen *seen);

/* Higher numbers cannot be ours. */
#define ATTEMPT_NUMBER_MAX 1000000

/* The class of an observed replica's failure: docs/contracts/retries.md, "Classes". A lost one is
 * infrastructure; a failed one whose launcher gave no class gets one from its exit code; one that
 * did not fail has FAILURE_NONE. */
enum failure_class failure_of_replica(const struct observed_replica *replica);

/* The outcome that the row of an ended attempt gets (docs/contracts/retries.md, "What follows").
 * `attempts_before` counts the trial's rows so far. Void means that another attempt follows. */
enum attempt_outcome retry_decide(enum attempt_end end, enum on_trial_failure on_trial_failure,
                                  uint32_t attempts_before, int64_t backoff_limit);
/* Whether the row is Invalid instead, and another attempt follows: runPolicy.invalidRepeats are
 * left. `invalid_before` counts the run's Invalid rows so far. With none left a noisy trial counts,
 * so a run always ends. */
bool invalid_decide(enum attempt_end end, uint32_t invalid_before, int64_t invalid_repeats);
