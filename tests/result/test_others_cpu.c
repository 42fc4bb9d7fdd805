/* What other programs took of a trial: numbers of made-up machines, worked by hand. */
#include "tests/test.h"
#include "result/noise.h"

#include <math.h>

#include "result/result_json.h"
#include "result_fixture.h"

#define MAX_USERS 4
#define S 1e9
#define UNKNOWN (-1) /* in rows */

/* A trainer that ran and waited so long of 10 s, on CPUs that were busy so long. */
#define TRAINER(node, cpus, ran, waited, busy, steal)                                              \
    {                                                                                              \
        node, cpus, true, 10 * S, (ran)*S, 0,                                                      \
        {                                                                                          \
            .busy_ns = (busy)*S, .steal_ns = (steal)*S, .cpu_run_ns = (ran)*S,                     \
            .cpu_wait_ns = (waited)*S                                                              \
        }                                                                                          \
    }
/* A server: its looks are at its start and its end, and `ran` is of the measured steps alone. */
#define SERVER(node, cpus, ran, ran_ever, waited, busy)                                            \
    {                                                                                              \
        node, cpus, false, 10 * S, (ran)*S, 0,                                                     \
        {                                                                                          \
            .busy_ns = (busy)*S, .cpu_run_ns = (ran_ever)*S, .cpu_wait_ns = (waited)*S             \
        }                                                                                          \
    }

TEST(shares)
{
    /* clang-format off */
    static const struct {
        const char *name;
        struct cpu_user users[MAX_USERS];
        size_t n;
        double share;
    } rows[] = {
        {"alone", {TRAINER("a", "0", 9.9, 0, 9.9, 0)}, 1, 0},
        {"one CPU, one program beside it", {TRAINER("a", "0", 5, 5, 10, 0)}, 1, 0.5},
        {"one CPU, nine programs beside it", {TRAINER("a", "0", 1, 9, 10, 0)}, 1, 0.9},
        {"another program on a CPU that is free harms nobody", {TRAINER("a", "0-1", 10, 0, 20, 0)},
         1, 0},
        {"its own threads wait for each other", {TRAINER("a", "0", 10, 30, 10, 0)}, 1, 0},
        {"its own threads, and another program: 4 s of 12", {TRAINER("a", "0-1", 8, 30, 12, 0)}, 1,
         4 / 12.0},
        {"it waits for nobody half of the time: 2 s of 10 are lost",
         {TRAINER("a", "0", 3, 2, 8, 0)}, 1, 0.2},
        {"more replicas than CPUs: they wait for each other",
         {TRAINER("a", NULL, 5, 5, 20, 0), TRAINER("a", NULL, 5, 5, 20, 0),
          TRAINER("a", NULL, 5, 5, 20, 0), TRAINER("a", NULL, 5, 5, 20, 0)}, 4, 0},
        {"more replicas than CPUs, and another program: 4 s of 20",
         {TRAINER("a", "0-1", 4, 6, 20, 0), TRAINER("a", "0-1", 4, 6, 20, 0),
          TRAINER("a", "0-1", 4, 6, 20, 0), TRAINER("a", "0-1", 4, 6, 20, 0)}, 4, 0.2},
        {"each its own CPU, another program on one: the gang waits for that",
         {TRAINER("a", "0", 5, 5, 10, 0), TRAINER("a", "1", 5, 0, 5, 0)}, 2, 0.5},
        {"the same CPU of two nodes",
         {TRAINER("a", "0", 5, 5, 10, 0), TRAINER("b", "0", 5, 0, 5, 0)}, 2, 0.5},
        {"the same of one node: they wait for each other",
         {TRAINER("a", "0", 5, 5, 10, 0), TRAINER("a", "0", 5, 5, 10, 0)}, 2, 0},
        {"who shares with one of two that share is of them, too",
         {TRAINER("a", "0-1", 5, 5, 20, 0), TRAINER("a", "2-3", 5, 5, 20, 0),
          TRAINER("a", "1-2", 10, 5, 20, 0)}, 3, 0},
        {"a server on their CPUs is no other program",
         {TRAINER("a", "0", 6, 4, 10, 0), SERVER("a", "0", 4, 4, 6, 10)}, 2, 0},
        {"a server: half of what it ran was measured, so half of what it waited",
         {TRAINER("a", "0", 9, 0, 9, 0), SERVER("b", "0", 2, 4, 4, 8)}, 2, 0.2},
        {"a server's start is none of the busy time of the steps",
         {TRAINER("a", "0", 6, 2, 10, 0), SERVER("a", "0", 2, 4, 4, 20)}, 2, 0.2},
        {"steal falls on all who ran: 1 s of 5 on half of them", {TRAINER("a", "0", 2, 2, 5, 1)}, 1,
         0.25},
        {"steal alone", {TRAINER("a", "0", 8, 0, 10, 2)}, 1, 0.2},
        {"counts of the kernel's ticks that come late", {TRAINER("a", "0", 10, 0.1, 9.9, 0)}, 1, 0},
        {"nobody looked at waits", {{"a", "0", true, 10 * S, 5 * S, 0, {.busy_ns = 10 * S}}}, 1,
         UNKNOWN},
        {"nobody looked at the machine",
         {{"a", "0", true, 10 * S, 5 * S, 0, {.cpu_run_ns = 5 * S}}}, 1, UNKNOWN},
        {"one of two does not say",
         {TRAINER("a", "0", 5, 5, 10, 0), {"a", "0", true, 10 * S, 5 * S, 0, {.busy_ns = 1}}}, 2,
         UNKNOWN},
        {"its CPU time is not known",
         {{"a", "0", true, 10 * S, 0, 0, {.busy_ns = 10 * S, .cpu_run_ns = 1}}}, 1, UNKNOWN},
        {"a CPU limit stopped it: its wait may be that",
         {{"a", "0", true, 10 * S, 5 * S, 0.1 * S,
           {.busy_ns = 10 * S, .cpu_run_ns = 5 * S, .cpu_wait_ns = 5 * S}}}, 1, UNKNOWN},
        {"a CPU limit stopped it for a moment",
         {{"a", "0", true, 10 * S, 5 * S, 0.09 * S,
           {.busy_ns = 10 * S, .cpu_run_ns = 5 * S, .cpu_wait_ns = 5 * S}}}, 1, 0.5},
        {"a log that says no time",
         {{"a", "0", true, 0, 5 * S, 0, {.busy_ns = 10 * S, .cpu_run_ns = 5 * S}}}, 1, UNKNOWN},
        {"nobody", {{NULL}}, 0, UNKNOWN},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const double share = others_cpu_share(rows[i].users, rows[i].n);
        print_message("# row '%s': %g\n", rows[i].name, share);
        if (rows[i].share < 0) {
            assert_true(isnan(share));
        } else {
            assert_true(fabs(share - rows[i].share) < 1e-9);
        }
    }
}

TEST(lists)
{
    static const struct {
        const char *a, *b;
        bool meet;
    } rows[] = {
        {"0", "0", true},
        {"0", "1", false},
        {"0-3", "3-5", true},
        {"0-3", "4-5", false},
        {"0-1,8", "2-7,8", true},
        {"0-1,8", "2-7,9-12", false},
        {"10", "1", false},
        {"0,2,4,6", "1,3,5", false},
        {"0,2,4,6", "1,3,6", true},
        {NULL, "0", true},
        {"0", "", true},
        {"all", "0", true},
        {"1-", "0", true},
        {"0", "5-2", true},
        {"0", "99999999999999999999", true},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s' and '%s'\n", rows[i].a, rows[i].b);
        assert_int_equal(cpu_lists_meet(rows[i].a, rows[i].b), rows[i].meet);
        assert_int_equal(cpu_lists_meet(rows[i].b, rows[i].a), rows[i].meet);
    }
}

/* ---- from stored rows to a warning ---- */

static void say(struct attempt_row *row, size_t i, const char *cpus, double ran_s, double waited_s,
                double busy_s)
{
    struct summary s = {
        .samples = row->replicas.items[i].id.role == ROLE_TRAINER ? 128 : 0,
        .duration_ns = 10 * S,
        .steps = 8,
        .cpu_ns = llrint(ran_s * S),
        .loss_first = NAN,
        .loss_last = NAN,
        .noise = {.busy_ns = llrint(busy_s * S),
                  .cpu_run_ns = llrint(ran_s * S),
                  .cpu_wait_ns = llrint(waited_s * S)},
    };
    fixture_say(row, i, &s);
    struct replica_row *replica = &row->replicas.items[i];
    replica_take_environment(
        replica, json_pack("{s:s, s:s, s:s}", "cpuset", cpus, "host", "h", "node", "n"));
}

/* What is not known is not there. */
static void check_document(const struct result *r, double share, double waited_s)
{
    _cleanup_(json_decrefp) json_t *o = result_to_json(r);
    const json_t *trials =
        json_object_get(json_array_get(json_object_get(o, "points"), 0), "trials");
    for (size_t i = 0; i < 2; i++) {
        const json_t *trial = json_array_get(trials, i);
        const json_t *items = json_object_get(json_object_get(trial, "replicas"), "items");
        const json_t *summary = json_object_get(json_array_get(items, 1), "summary");
        const json_t *waited = json_object_get(json_object_get(summary, "noise"), "cpuWaitNs");
        const json_t *other = json_object_get(trial, "othersShare");
        assert_int_equal(waited != NULL, i == 1);
        assert_int_equal(other != NULL, i == 1);
        if (i == 1) {
            assert_int_equal(json_integer_value(waited), llrint(waited_s * S));
            assert_true(fabs(json_number_value(other) - share) < 1e-9);
        }
    }
}

TEST(trials_of_a_run)
{
    static const struct {
        const char *name;
        const char *server_cpus;
        double server_ran, trainer_ran, trainer_waited,
            busy; /* of the CPU that the trainer may use */
        double share;
        const char *warning; /* NULL: none */
    } rows[] = {
        {"quiet", "1", 1, 9, 0, 9, 0, NULL},
        {"others took 4%: not worth a word", "1", 1, 9, 0.4, 9.4, 0.04, NULL},
        {"others took a half", "1", 1, 5, 5, 10, 0.5,
         "1 noisy trial counts in the figures, trial 1 of point 0: other programs took 50% of its "
         "speed: its threads waited for CPUs; run again when nothing else uses the machine "
         "(benchctl describe shows the noise of each trial)"},
        {"the server took it", "0", 5, 5, 5, 10, 0, NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, "{grid: {pservers: [1], trainers: [1]}}",
                     "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 3}\n", 16);
        for (uint32_t t = 0; t < 3; t++) {
            struct attempt_row *row = fixture_throughput(&f, 0, t, 12.8);
            if (t > 0) { /* the first one says nothing */
                const bool is_it = t == 1;
                say(row, 0, rows[i].server_cpus, rows[i].server_ran, 0, rows[i].server_ran);
                say(row, 1, "0", is_it ? rows[i].trainer_ran : 9,
                    is_it ? rows[i].trainer_waited : 0, is_it ? rows[i].busy : 9);
            }
        }
        struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        const struct trial_result *trials = r->points[0].trials;
        assert_true(isnan(trials[0].others_share));
        assert_true(fabs(trials[1].others_share - rows[i].share) < 1e-9);
        assert_true(trials[2].others_share == 0);
        const char *said = NULL;
        vec_each (const struct warning, w, &r->warnings) {
            said = w->code == WARNING_NOISY_TRIAL ? w->message : said;
        }
        if (rows[i].warning == NULL) {
            assert_null(said);
        } else {
            assert_non_null(said);
            assert_string_equal(said, rows[i].warning);
        }
        assert_null(trials[0].noise);
        const double waits =
            rows[i].trainer_waited / (rows[i].trainer_waited + rows[i].trainer_ran);
        assert_true(fabs(trials[1].noise->wait_ratio - waits) < 1e-9); /* whoever had the CPU */
        check_document(r, rows[i].share, rows[i].trainer_waited);
    }
}

/* The launcher counts for a server without a summary; benchworker's counts for itself. */
TEST(who_counted)
{
    static const struct {
        const char *name;
        bool by_launcher, server_says;
        double share; /* UNKNOWN */
    } rows[] = {
        {"each counted itself", false, true, 0.5},
        {"the launcher did", true, false, 0.5},
        {"the server's are missing", false, false, UNKNOWN},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, "{grid: {pservers: [1], trainers: [1]}}",
                     "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 3}\n", 16);
        struct attempt_row *row = fixture_throughput(&f, 0, 0, 12.8);
        say(row, 0, "1", 1, 0, 1);
        say(row, 1, "0", 5, 5, 10);
        row->replicas.items[1].summary->noise.by_launcher = rows[i].by_launcher;
        if (!rows[i].server_says) {
            summary_free(row->replicas.items[0].summary);
            row->replicas.items[0].summary = NULL;
        }
        const double share = fixture_build(&f, RUN_SUCCEEDED)->points[0].trials[0].others_share;
        assert_true(rows[i].share < 0 ? isnan(share) : fabs(share - rows[i].share) < 1e-9);
    }
}
