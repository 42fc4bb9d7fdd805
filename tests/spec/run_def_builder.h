/* Runs for the tests of reconcile, made by hand: no definition is read, nothing is owned. */
#pragma once

#include <stdint.h>

#include "spec/run_def.h"

#define TEST_RUN_MAX_POINTS 8
#define TEST_RUN_MAX_SLOTS 64

struct test_run {
    struct run_def def; /* what reconcile takes */
    struct spec spec;
    struct point points[TEST_RUN_MAX_POINTS];
    struct slot slots[TEST_RUN_MAX_SLOTS];
};

/* No point yet; repeats 1, Retry, no failed trial allowed, one attempt more, no deadline. Must not
 * be moved or copied afterwards. */
void test_run_init(struct test_run *run);
void test_run_add_point(struct test_run *run, uint32_t pservers, uint32_t trainers,
                        uint32_t workers);
/* Call last: fills the order, repeat by repeat. */
void test_run_set_repeats(struct test_run *run, uint32_t repeats);
