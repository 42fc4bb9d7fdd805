/* See run_def_builder.h. */
#include "run_def_builder.h"

#include <assert.h>

void test_run_init(struct test_run *run)
{
    *run = (struct test_run){0};
    run->spec.repeats = 1;
    run->spec.failure_policy.on_trial_failure = ON_FAILURE_RETRY;
    run->spec.run_policy.backoff_limit = 1;
    run->def.name = "run";
    run->def.uid = "00000000-0000-4000-8000-000000000000";
    run->def.spec = &run->spec;
    run->def.matrix.points = run->points;
    run->def.slots = run->slots;
}

void test_run_add_point(struct test_run *run, uint32_t pservers, uint32_t trainers,
                        uint32_t workers)
{
    assert(run->def.matrix.n_points < TEST_RUN_MAX_POINTS);
    const uint32_t i = run->def.matrix.n_points++;
    run->def.matrix.n_swept = run->def.matrix.n_points;
    run->points[i] = (struct point){
        .index = i,
        .replicas = {[ROLE_PSERVER] = pservers, [ROLE_TRAINER] = trainers, [ROLE_WORKER] = workers},
        .baseline_index = i,
    };
}

void test_run_set_repeats(struct test_run *run, uint32_t repeats)
{
    assert(run->def.matrix.n_points * repeats <= TEST_RUN_MAX_SLOTS);
    run->spec.repeats = repeats;
    run->def.n_slots = 0;
    for (uint32_t trial = 0; trial < repeats; trial++) {
        for (uint32_t point = 0; point < run->def.matrix.n_points; point++) {
            run->slots[run->def.n_slots++] = (struct slot){point, trial};
        }
    }
}
