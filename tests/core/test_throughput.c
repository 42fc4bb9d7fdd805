/* The throughput of a trial, of the rows of its replicas. */
#include "summary_fixture.h"

#include <math.h>

#define LINE(role, index, rest)                                                                    \
    "{\"benchd\":1,\"type\":\"summary\",\"role\":\"" role "\",\"index\":" index                    \
    ",\"attempt\":0,\"samples\":32,\"steps\":8," rest "}"
#define OF(role, index) LINE(role, index, "\"duration_ns\":800000000") /* 40 samples/s */
#define RULE(index, unit, scope)                                                                   \
    LINE("trainer", index,                                                                         \
         "\"duration_ns\":800000000,\"log\":{\"rule\":\"r\",\"method\":\"m\",\"unit\":\"" unit     \
         "\",\"scope\":\"" scope "\"}")

TEST(what_a_trial_reached)
{
    /* clang-format off */
    static const struct {
        const char *name;
        enum attempt_outcome outcome;
        uint32_t sizes[ROLE_COUNT]; /* pservers, trainers, workers, launchers */
        struct {
            enum role role;
            uint32_t index;
            const char *summary;
        } replicas[4];
        size_t n;
        double expected; /* NaN: none */
        enum summary_unit unit;
    } rows[] = {
        {"the sum of trainers", ATTEMPT_SUCCEEDED, {1, 2, 0, 0},
         {{ROLE_PSERVER, 0, OF("pserver", "0")},
          {ROLE_TRAINER, 0, OF("trainer", "0")},
          {ROLE_TRAINER, 1, OF("trainer", "1")}}, 3, 80},
        {"one left no summary", ATTEMPT_SUCCEEDED, {0, 2, 0, 0},
         {{ROLE_TRAINER, 0, OF("trainer", "0")}, {ROLE_TRAINER, 1, NULL}}, 2, NAN},
        {"one left no row", ATTEMPT_SUCCEEDED, {0, 2, 0, 0},
         {{ROLE_TRAINER, 0, OF("trainer", "0")}}, 1, NAN},
        {"nobody", ATTEMPT_SUCCEEDED, {0, 2, 0, 0}, {{0}}, 0, NAN},
        {"it failed", ATTEMPT_FAILED, {0, 1, 0, 0}, {{ROLE_TRAINER, 0, OF("trainer", "0")}}, 1,
         NAN},
        {"of the launcher alone", ATTEMPT_SUCCEEDED, {0, 0, 2, 1},
         {{ROLE_WORKER, 0, OF("worker", "0")},
          {ROLE_WORKER, 1, NULL},
          {ROLE_LAUNCHER, 0, OF("launcher", "0")}}, 3, 40},
        {"one says it of the whole job", ATTEMPT_SUCCEEDED, {0, 2, 0, 0},
         {{ROLE_TRAINER, 0, RULE("0", "samples", "job")}, {ROLE_TRAINER, 1, NULL}}, 2, 40},
        {"both say it of the whole job", ATTEMPT_SUCCEEDED, {0, 2, 0, 0},
         {{ROLE_TRAINER, 0, RULE("0", "samples", "job")},
          {ROLE_TRAINER, 1, RULE("1", "samples", "job")}}, 2, 40},
        {"tokens and samples do not add up", ATTEMPT_SUCCEEDED, {0, 2, 0, 0},
         {{ROLE_TRAINER, 0, RULE("0", "samples", "replica")},
          {ROLE_TRAINER, 1, RULE("1", "tokens", "replica")}}, 2, NAN, UNIT_TOKENS},
        {"bandwidth, of the whole job", ATTEMPT_SUCCEEDED, {0, 2, 0, 0},
         {{ROLE_TRAINER, 0, RULE("0", "GB", "job")}, {ROLE_TRAINER, 1, NULL}}, 2, 40, UNIT_GB},
        {"tokens", ATTEMPT_SUCCEEDED, {0, 1, 0, 0},
         {{ROLE_TRAINER, 0, RULE("0", "tokens", "replica")}}, 1, 40, UNIT_TOKENS},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(attempt_row_done) struct attempt_row row = {.outcome = rows[i].outcome};
        for (size_t k = 0; k < rows[i].n; k++) {
            *vec_push(&row.replicas) = (struct replica_row){
                .id = {{0, 0, 0}, rows[i].replicas[k].role, rows[i].replicas[k].index},
            };
            replica_set_line(&row.replicas.items[k], rows[i].replicas[k].summary);
        }
        const double x = throughput_of_attempt(&row, rows[i].sizes), want = rows[i].expected;
        if (isnan(x) != isnan(want) || (!isnan(x) && fabs(x - want) > 1e-9)) {
            fail_msg("'%s': expected %g, got %g", rows[i].name, want, x);
        }
        const enum summary_unit unit = throughput_unit_of_attempt(&row, rows[i].sizes);
        if (unit != rows[i].unit) {
            fail_msg("'%s': expected %s, got %s", rows[i].name, summary_unit_names[rows[i].unit],
                     summary_unit_names[unit]);
        }
    }
}
