/* What the records of attempts say, in columns of the store: for its own readers, and for people
 * with SQL. */
#include "store_fixture.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/record.h"
#include "result/trial_figures.h"

/* A trial of one trainer: 600 samples in 4 s, unless it says nothing. */
static struct attempt_row make_trial(uint32_t trial, enum attempt_outcome outcome, bool speaks)
{
    struct attempt_row row = {.id = {0, trial, 0}, .outcome = outcome, .ended_unix_ms = 5000};
    const struct summary s = {.samples = 600,
                              .duration_ns = 4000000000,
                              .steps = 10,
                              .loss_first = NAN,
                              .loss_last = NAN,
                              .source.accuracy_last = NAN};
    *vec_push(&row.replicas) = (struct replica_row){
        .id = {row.id, ROLE_TRAINER, 0},
        .summary = speaks ? summary_copy(&s) : NULL,
        .environment = environment_said("{\"cpu_model\":\"x\",\"node\":\"n1\"}")};
    return row;
}

static void put(struct store *s, struct attempt_row row)
{
    assert_int_equal(s->ops->save_attempt(s, UID, &row, &terms, NULL, 0, NULL, NULL), 0);
    attempt_row_done(&row);
}

/* A run with a trial that succeeded, one without numbers, and one that failed. */
static struct store *open_trials(struct fixture *f)
{
    struct store *s = open_with_run(f);
    put(s, make_trial(0, ATTEMPT_SUCCEEDED, true));
    put(s, make_trial(1, ATTEMPT_SUCCEEDED, false));
    put(s, make_trial(2, ATTEMPT_FAILED, true));
    return s;
}

TEST(people_ask_by_sql)
{
    _cleanup_(fixture_done) struct fixture f;
    store_close(open_trials(&f));
    assert_sql(&f, "SELECT avg(throughput) FROM trial GROUP BY point", "150.0");
    assert_sql(&f, "SELECT count(*) FROM trial WHERE run = '" RUN_NAME "'", "3");
    assert_sql(&f, "SELECT unit FROM trial WHERE trial = 0", "samples/s");
    assert_sql(&f, "SELECT seconds FROM trial WHERE trial = 0", "4.0");
    assert_sql(&f, "SELECT machine ->> '$.cpu_model[0]' FROM trial WHERE trial = 0", "x");
    assert_sql(&f, "SELECT error FROM trial WHERE trial = 1", "trainer/0 wrote no summary");
    assert_sql(&f,
               "SELECT node || ' ' || avg(samples * 1e9 / duration_ns) FROM replica GROUP BY node",
               "n1 150.0");
    /* Unknown is null, and never 0. */
    assert_sql(&f, "SELECT throughput FROM trial WHERE trial = 1", NULL);
    assert_sql(&f, "SELECT throughput FROM trial WHERE trial = 2", NULL);
    assert_sql(&f,
               "SELECT sum(others_share IS NULL AND cpus IS NULL AND accuracy_after IS NULL AND "
               "time_to_accuracy_s IS NULL AND best_accuracy IS NULL) FROM trial",
               "3");
}

struct seen {
    size_t n;
    double throughput;      /* of the first */
    enum after_state after; /* of the last */
};

static int on_figures(void *ctx, const struct attempt_id *id, const struct trial_figures *figures)
{
    struct seen *seen = ctx;
    assert_int_equal(id->trial, seen->n);
    seen->throughput = seen->n == 0 ? figures->trial.throughput : seen->throughput;
    seen->after = figures->trial.after.state;
    seen->n++;
    return seen->n > 10 ? -ECANCELED : 0;
}

static int list(struct store *s, struct seen *ret)
{
    *ret = (struct seen){0};
    return s->ops->list_figures(s, UID, on_figures, ret, NULL);
}

TEST(they_come_back)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(store_closep) struct store *s = open_trials(&f);
    struct seen seen;
    fixture_exec(&f, "UPDATE replica SET role = 'x'"); /* they are not read for that */
    assert_int_equal(list(s, &seen), 0);
    assert_int_equal(seen.n, 3);
    assert_true(seen.throughput == 150);
    for (int state = -1; state <= AFTER_STATE_COUNT + 1; state++) {
        _cleanup_(freep) char *sql = xasprintf("UPDATE attempt SET after_state = %d", state);
        fixture_exec(&f, sql);
        assert_int_equal(list(s, &seen), 0);
        assert_int_equal(seen.after, state < 0 || state > AFTER_KNOWN ? AFTER_STATE_COUNT : state);
    }
    fixture_exec(&f, "UPDATE attempt SET figures = NULL WHERE trial = 1");
    assert_int_equal(list(s, &seen), -ENOENT);
    assert_int_equal(s->ops->delete_run(s, UID, NULL), 0);
    assert_sql(&f,
               "SELECT (SELECT count(*) FROM machine) + (SELECT count(*) FROM replica) + "
               "(SELECT count(*) FROM environment)",
               "0");
}

/* Of a point that the definition does not have nothing follows. */
TEST(a_strange_attempt_has_none)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(store_closep) struct store *s = open_trials(&f);
    _cleanup_(attempt_row_done) struct attempt_row row = make_trial(3, ATTEMPT_SUCCEEDED, true);
    struct seen seen;
    assert_int_equal(
        s->ops->save_attempt(s, UID, &row, &(struct trial_terms){0}, NULL, 0, NULL, NULL), 0);
    assert_sql(&f, "SELECT throughput FROM trial WHERE trial = 3", NULL);
    assert_int_equal(list(s, &seen), -ENOENT);
}
