/* A golden scenario of reconcile, read from text: what is observed, and the plan that is expected.
 *
 *     # what this shows
 *     point pservers=1 trainers=2 workers=0     one line a point
 *     repeats 2                                 or 3..10 halfWidth=0.02: a stop rule
 *     policy Retry maxFailedTrials=1 backoffLimit=1 activeDeadlineSeconds=60 invalidRepeats=1
 *     status Running Running 0/2 done 0 failed current p0t0a0 started 1000: message
 *     row p0t0a0 Void: trainer/1: vanished
 *     row p0t1a0 Succeeded x=99.5               with a throughput
 *     replica p0t0a1 trainer/0 Failed Consequence exit=11 ended=5000 blames=pserver/0: message
 *     replica p0t0a1 trainer/1 Succeeded ended=5000 summary    or noisy
 *     cancel                                    or suspend
 *     wait PodsRemain after 5000: message       what the launcher waits for; reported after ms
 *     now 6000
 *     plan
 *     (lines of plan_format)
 *
 * All but `point`, `now` and `plan` may be left out; the status line is plan_format's. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "decide/attempt_history.h"
#include "decide/observed.h"
#include "../spec/run_def_builder.h"

#define SCENARIO_MAX 32

struct scenario {
    struct test_run run;
    struct observed observed;
    struct observed_replica replicas[SCENARIO_MAX];
    struct attempt_row rows[SCENARIO_MAX];
    double throughputs[SCENARIO_MAX]; /* of `rows`; NaN: none */
    size_t n_rows;
    struct attempt_history
        history; /* of `rows`; attempt_history_done after scenario_read has returned NULL */
    const char *expected; /* behind the line "plan"; borrowed from the text */
};

/* The text is cut into strings in place and must live as long as the scenario. Returns NULL, or the
 * line that cannot be read. */
const char *scenario_read(char *text, struct scenario *ret);
