/* Runs that have something to say, for tests of every form of a report. */
#pragma once

#include "../result/result_fixture.h"

#define SINGLE_NODE "  baseline: {kind: SingleNode}\n" /* of a definition */

struct report_run {
    const char *name;
    void (*make)(struct fixture *f); /* with its result */
};
#define REPORT_RUNS 11
extern const struct report_run report_runs[REPORT_RUNS];
/* Fails the test if there is none. */
const struct report_run *report_run_find(const char *name);
