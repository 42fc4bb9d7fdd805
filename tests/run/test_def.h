/* Runs for the tests of lib/run, from definitions read as any other. */
#pragma once

#include "spec/run_def.h"

struct test_def_params {
    const char *grid;       /* "{pservers: [1], trainers: [1, 2]}" */
    const char *log;        /* rule of the system; NULL: none */
    const char *command;    /* of both roles: "[sh, -c, exit 0]"; NULL: the profile's */
    const char *on_failure; /* NULL: Retry */
    int baseline_trainers;  /* the baseline is the point with so many; 0: one */
    const char *range;      /* of repeats, in their place: "{min: 3, max: 6, ...}" */
    int repeats, max_failed, backoff_limit, deadline_s; /* deadline 0: none */
};

/* Fails the test on an error. Owned. */
struct run_def *test_def_new(const struct test_def_params *params);
