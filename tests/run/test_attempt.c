/* What is stored of an attempt: its own replicas in their order, and only when
 * all outputs are there. */
#include "tests/test.h"
#include "run/attempt.h"

#define N_SEEN 5

/* How the outputs of a launcher are collected: codes[i] and is_simulated[i] are of trainer/i. */
struct outputs {
    struct launcher base;
    int codes[4];
    bool is_simulated[4];
    size_t n_collects;
};

static int collect(struct launcher *launcher, const struct replica_id *id,
                   struct replica_output *ret, struct err *err)
{
    struct outputs *o = (struct outputs *)launcher;
    o->n_collects++;
    if (o->codes[id->index] != 0) {
        return err_set(err, o->codes[id->index], "no output");
    }
    *ret = (struct replica_output){
        .log = "hello\n", .log_len = 6, .is_simulated = o->is_simulated[id->index]};
    return 0;
}

static const struct launcher_ops ops = {.collect = collect};

/* Collects attempt 1, whose trainers 2, 0, 3, 1 are seen with one of attempt 0. */
static int collect_attempt(struct outputs *o, struct attempt_output *ret, struct err *err)
{
    const uint32_t indexes[N_SEEN] = {2, 0, 0, 3, 1}, attempts[N_SEEN] = {1, 0, 1, 1, 1};
    struct observed_replica seen[N_SEEN] = {0};
    for (size_t i = 0; i < N_SEEN; i++) {
        seen[i].id = (struct replica_id){
            .attempt.number = attempts[i], .role = ROLE_TRAINER, .index = indexes[i]};
        seen[i].state = REPLICA_SUCCEEDED;
    }
    const struct action action = {
        .kind = ACTION_SAVE_RESULT,
        .save = {.id = {.number = 1}, .outcome = ATTEMPT_SUCCEEDED},
    };
    o->base.ops = &ops;
    return attempt_collect(&o->base, &action, seen, N_SEEN, ret, err);
}

static void assert_stored(const char *name, const struct attempt_output *output)
{
    if (output->row.replicas.len != 4) {
        fail_msg("%s: %zu replicas, expected 4", name, output->row.replicas.len);
    }
    for (uint32_t i = 0; i < 4; i++) {
        const struct replica_id *id = &output->row.replicas.items[i].id;
        if (id->attempt.number != 1 || id->index != i) {
            fail_msg("%s: replica %u is trainer/%u of attempt %u, expected trainer/%u of 1", name,
                     i, id->index, id->attempt.number, i);
        }
    }
}

TEST(an_attempt_is_stored_with_its_own_replicas)
{
    static const struct {
        const char *name;
        int vanished; /* the index of one without an output; -1: none */
        int simulated;
        size_t n_logs;
    } rows[] = {
        {"all are there", -1, -1, 4},
        {"one has vanished", 2, -1, 3},
        {"the first is simulated", -1, 0, 4},
        {"the last is simulated", -1, 3, 4},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct outputs o = {0};
        _cleanup_(attempt_output_done) struct attempt_output output;
        struct err err = {0};
        if (rows[i].vanished >= 0) {
            o.codes[rows[i].vanished] = ENOENT;
        }
        if (rows[i].simulated >= 0) {
            o.is_simulated[rows[i].simulated] = true;
        }
        const int r = collect_attempt(&o, &output, &err);
        if (r != 0) {
            fail_msg("%s: %d '%s', expected 0", rows[i].name, r, err.msg);
        }
        assert_stored(rows[i].name, &output);
        if (output.logs.len != rows[i].n_logs || output.row.simulated != (rows[i].simulated >= 0)) {
            fail_msg("%s: %zu logs, simulated %d, expected %zu, %d", rows[i].name, output.logs.len,
                     output.row.simulated, rows[i].n_logs, rows[i].simulated >= 0);
        }
    }
}

/* While its outputs were packed, another cause may have been found. */
TEST(the_last_verdict_counts)
{
    struct attempt_row row = {0};
    attempt_set_verdict(&row, &(struct action){.save.error = "first"}); /* must not leak */
    attempt_set_verdict(&row, &(struct action){.save.error = "second"});
    assert_string_equal(row.error, "second");
    attempt_set_verdict(&row, &(struct action){0});
    assert_null(row.error);
}

/* Asked one after another, the logs of a gang would be read one after another. */
TEST(all_outputs_are_asked_for_and_waited_for)
{
    for (size_t late = 0; late < 4; late++) {
        struct outputs o = {0};
        struct attempt_output output;
        o.codes[late] = EAGAIN;
        const int r = collect_attempt(&o, &output, NULL);
        if (r != -EAGAIN || o.n_collects != 4) {
            fail_msg("trainer/%zu is being read: %d after %zu of 4, expected %d after 4", late, r,
                     o.n_collects, -EAGAIN);
        }
    }
}

TEST(an_output_that_cannot_be_read_is_an_error)
{
    struct outputs o = {.codes = {0, EIO, 0, EAGAIN}};
    struct attempt_output output;
    struct err err = {0};
    assert_int_equal(collect_attempt(&o, &output, &err), -EIO);
    assert_string_equal(err.msg, "collect trainer/1: no output");
}
