/* Replicas as rows: whatever was saved comes back, and damage is an error that names it. */
#include "store_fixture.h"

#include <errno.h>
#include <math.h>

#include "tests/result/random_replica.h"
#include "base/str.h"
#include "result/steps.h"
#include "store/sqlite_store.h"

#define N_ATTEMPTS 150
#define OTHER_UID "0c2e4b8e-0000-4000-8000-000000000002"

/* ---- random rows ---- */

static void add_randomly(struct attempt_row *row, enum role role, uint32_t index, uint64_t *random)
{
    static const char *const said[] = {
        NULL, "{}", "{\"host\":\"a\",\"cpu_mhz\":2800.25,\"threads\":2}",
        "{\"host\":\"b\",\"cpu_mhz\":2100,\"threads\":2}", "{\"host\":7,\"node\":null}"};
    struct replica_row *r = vec_push(&row->replicas);
    *r = (struct replica_row){.id = {row->id, role, index}};
    r->exit_code = (int)splitmix_below(random, 257) - 1;
    r->signal = (int)some(random, 255);
    r->log_bytes = splitmix_below(random, 9) == 0 ? INT64_MAX : splitmix_below(random, 1000);
    r->failure = splitmix_below(random, 4) == 0 ? xstrdup("no figure\n\xc3\xa9\xff") : NULL;
    replica_set_environment(r, said[splitmix_below(random, N_ROWS(said))]);
    place_randomly(r, random);
    if (splitmix_below(random, 8) > 0) {
        say_randomly(r, random);
    }
}

/* Some of each role, in any order. */
static struct attempt_row make_randomly(uint32_t trial, uint64_t *random)
{
    static const uint32_t indexes[] = {0, 9, 10, UINT32_MAX};
    struct attempt_row row = {.id = {0, trial, 0}, .outcome = ATTEMPT_VOID};
    const uint32_t n = ROLE_COUNT * N_ROWS(indexes), first = splitmix_below(random, n);
    for (uint32_t i = splitmix_below(random, 2); i < n; i += 1 + splitmix_below(random, 3)) {
        const uint32_t k = (first + 5 * i) % n; /* 5: all of them, as n has no such factor */
        add_randomly(&row, (enum role)(k % ROLE_COUNT), indexes[k / ROLE_COUNT], random);
    }
    return row;
}

static int list(struct store *s, struct attempt_row **ret, size_t *ret_n, struct err *err)
{
    return s->ops->list_wanted(s, UID, &(struct attempt_wanted){-1, -1, -1}, ret, ret_n, err);
}

static void list_done(struct attempt_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        attempt_row_done(&rows[i]);
    }
    free(rows);
}

/* ---- what comes back ---- */

static int by_role_and_index(const void *a, const void *b)
{
    const struct replica_id *x = &((const struct replica_row *)a)->id;
    const struct replica_id *y = &((const struct replica_row *)b)->id;
    const int r = strcmp(role_to_string(x->role), role_to_string(y->role));
    return r != 0 ? r : (x->index > y->index) - (x->index < y->index);
}

static void assert_same_number(double a, double b)
{
    assert_true(a == b || (isnan(a) && isnan(b)));
}

static void check_steps(const struct replica_row *got, const struct replica_row *saved)
{
    const struct step_times want = step_times_of(saved->summary);
    assert_true(got->is_stored);
    assert_same_number(got->steps.sum_s, want.sum_s);
    assert_same_number(got->steps.fall, want.fall);
    assert_same_number(got->steps.median_ns, want.median_ns);
}

TEST(what_is_saved_comes_back)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(store_closep) struct store *s = open_with_run(&f);
    struct attempt_row saved[N_ATTEMPTS];
    uint64_t random = 20261130;
    for (uint32_t i = 0; i < N_ATTEMPTS; i++) {
        saved[i] = make_randomly(i, &random);
        assert_int_equal(s->ops->save_attempt(s, UID, &saved[i], &terms, NULL, 0, NULL, NULL), 0);
        qsort(saved[i].replicas.items, saved[i].replicas.len, sizeof(struct replica_row),
              by_role_and_index);
        vec_each (struct replica_row, r, &saved[i].replicas) {
            char *mended = strchr(r->failure == NULL ? "" : r->failure, '\xff');
            if (mended != NULL) {
                *mended = '?';
            }
        }
    }
    struct attempt_row *got;
    size_t n;
    assert_int_equal(list(s, &got, &n, NULL), 0);
    assert_int_equal(n, N_ATTEMPTS);
    for (size_t i = 0; i < n; i++) {
        assert_attempt_equal(&got[i], &saved[i]);
        for (size_t k = 0; k < got[i].replicas.len; k++) {
            check_steps(&got[i].replicas.items[k], &saved[i].replicas.items[k]);
        }
    }
    list_done(got, n);
    for (size_t i = 0; i < N_ATTEMPTS; i++) {
        attempt_row_done(&saved[i]);
    }
}

/* ---- columns ---- */

struct columns {
    VEC(struct column {
        char *name;
        const char *type;
        bool is_guarded; /* NULL where the member is not written */
    })
    list;
};

static void columns_done(struct columns *columns)
{
    vec_each (struct column, c, &columns->list) {
        free(c->name);
    }
    vec_done(&columns->list);
}

static void add_columns(const struct record_members *members, const char *prefix, bool is_guarded,
                        struct columns *columns)
{
    for (size_t i = 0; i < members->n; i++) {
        const struct record_member *m = &members->list[i];
        _cleanup_(freep) char *name = xasprintf("%s%s", prefix, m->key);
        const bool may_miss = is_guarded || m->guard.size > 0;
        if (m->kind == MEMBER_OBJECT) {
            _cleanup_(freep) char *inner = xasprintf("%s_", name);
            add_columns(m->members, inner, may_miss, columns);
            continue;
        }
        const bool is_whole = m->kind <= MEMBER_TIME || m->kind == MEMBER_FLAG;
        *vec_push(&columns->list) = (struct column){xstrdup(name),
                                                    is_whole                   ? "INTEGER"
                                                    : m->kind == MEMBER_NUMBER ? "REAL"
                                                    : m->kind == MEMBER_SERIES ? "BLOB"
                                                                               : "TEXT",
                                                    may_miss};
    }
}

/* Of every member of a summary, in the order of the members. */
static void columns_of_summary(struct columns *columns)
{
    *columns = (struct columns){0};
    add_columns(record_type_members[RECORD_SUMMARY], "", false, columns);
}

TEST(every_member_has_a_column_that_varies)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(columns_done) struct columns columns;
    struct store *s = open_with_run(&f);
    uint64_t random = 7;
    for (uint32_t i = 0; i < N_ATTEMPTS; i++) {
        _cleanup_(attempt_row_done) struct attempt_row row = make_randomly(i, &random);
        assert_int_equal(s->ops->save_attempt(s, UID, &row, &terms, NULL, 0, NULL, NULL), 0);
    }
    store_close(s);
    columns_of_summary(&columns);
    vec_each (const struct column, c, &columns.list) {
        _cleanup_(freep) char *sql = xasprintf(
            "SELECT (SELECT type FROM pragma_table_info('replica') WHERE name = '%s') || ' ' || "
            "(count(DISTINCT ifnull(%s, 'none')) > 1) || ' ' || (count(*) > count(%s)) "
            "FROM replica WHERE samples IS NOT NULL",
            c->name, c->name, c->name);
        const bool may_be_null =
            c->is_guarded || str_eq(c->type, "REAL") || str_eq(c->name, "environment_digest");
        _cleanup_(freep) char *want = xasprintf("%s 1 %d", c->type, may_be_null);
        _cleanup_(freep) char *got = ask_sql(&f, sql);
        if (!str_eq(got, want)) {
            fail_msg("%s: '%s', not '%s'", c->name, got, want);
        }
    }
    _cleanup_(freep) char *n =
        ask_sql(&f, "SELECT count(*) - 19 FROM pragma_table_info('replica')");
    _cleanup_(freep) char *expected = xasprintf("%zu", columns.list.len);
    assert_string_equal(n, expected);
}

TEST(environments_are_there_once)
{
    static const char *const said[] = {
        "{\"host\":\"a\",\"node\":\"n\",\"cpu_mhz\":1.5,\"threads\":2}",
        "{\"host\":\"b\",\"node\":\"m\",\"cpu_mhz\":2.5,\"threads\":2}",
        "{\"host\":\"b\",\"threads\":2}", "{\"threads\":3}"};
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(store_closep) struct store *s = open_with_run(&f);
    struct run_row other = make_run(OTHER_UID, "other", 2);
    for (uint32_t trial = 0; trial < 2; trial++) {
        _cleanup_(attempt_row_done) struct attempt_row row = make_attempt(0, trial, 0);
        for (uint32_t i = 0; i < N_ROWS(said); i++) {
            *vec_push(&row.replicas) = (struct replica_row){.id = {row.id, ROLE_WORKER, i}};
            replica_set_environment(&row.replicas.items[row.replicas.len - 1], said[i]);
        }
        assert_int_equal(s->ops->save_attempt(s, UID, &row, &terms, NULL, 0, NULL, NULL), 0);
    }
    assert_sql(&f, "SELECT group_concat(facts, ' ') FROM environment",
               "{} {\"threads\":2} {\"threads\":3}");
    /* What readers remember of a run that is gone is of no other run. */
    assert_int_equal(count_attempts(s, UID), 2);
    assert_int_equal(s->ops->delete_run(s, UID, NULL), 0);
    assert_sql(&f, "SELECT count(*) FROM environment", "0");
    assert_int_equal(s->ops->put_run(s, &other, NULL), 0);
    run_row_done(&other);
    _cleanup_(attempt_row_done) struct attempt_row row = make_attempt(0, 0, 0);
    replica_set_environment(&row.replicas.items[1], "{\"threads\":9}");
    assert_int_equal(s->ops->save_attempt(s, OTHER_UID, &row, &terms, NULL, 0, NULL, NULL), 0);
    struct attempt_row *got;
    size_t n;
    assert_int_equal(
        s->ops->list_wanted(s, OTHER_UID, &(struct attempt_wanted){-1, -1, -1}, &got, &n, NULL), 0);
    assert_attempt_equal(&got[0], &row);
    list_done(got, n);
}

/* ---- damage ---- */

/* A replica says all that one can. */
static void say_all(struct replica_row *r)
{
    replica_set_line(
        r,
        "{\"benchd\":1,\"type\":\"summary\",\"role\":\"worker\",\"index\":1,\"attempt\":0,"
        "\"samples\":64,\"duration_ns\":5000000,\"steps\":5,\"phase_ns\":{\"data\":1,\"forward\":2,"
        "\"backward\":3,\"send\":4,\"wait\":5,\"update\":6,\"receive\":7},\"bytes_tx\":1,"
        "\"bytes_rx\":2,\"loss_first\":2.5,\"loss_last\":1.5,\"throttled_ns\":3,"
        "\"throttled_periods\":4,\"max_rss_bytes\":5,\"cpu_ns\":6,\"environment_digest\":"
        "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"log\":{"
        "\"rule\":\"mine\",\"method\":\"mean\",\"unit\":\"tokens\",\"scope\":\"job\","
        "\"accuracy_last\":0.5},\"metrics\":{\"evaluation_s\":1.1},\"last\":{\"trainer\":1,"
        "\"steps\":2,\"wait_ns\":3},\"staleness\":{\"slices\":4,\"mean\":0.5,\"max\":6},\"noise\":{"
        "\"before\":{\"spins_per_s\":7,\"copy_bytes_per_s\":8,\"flops_per_s\":9},\"after\":{"
        "\"spins_per_s\":10,\"copy_bytes_per_s\":11,\"flops_per_s\":12},\"busy_ns\":20,"
        "\"steal_ns\":13,\"cpu_run_ns\":14,\"cpu_wait_ns\":15,\"launcher\":true},"
        "\"transport\":\"NCCL\"}");
    r->summary->evaluations = xnew(struct evaluations);
    (void)evaluations_add(r->summary->evaluations, 1, 0.25, NAN);
    summary_set_series(r->summary, (const int64_t[]){1000000, 1200000, 900000, 1000000, 900000}, 5);
    r->failure = xstrdup("f");
    r->reading = json_object();
    replica_set_environment(r, "{\"host\":\"a\",\"node\":\"n\",\"cpu_mhz\":1.5,\"threads\":2}");
}

static void open_damaged(struct fixture *f)
{
    struct store *s = open_with_run(f);
    _cleanup_(run_row_done) struct run_row other = make_run(OTHER_UID, "other", 2);
    _cleanup_(attempt_row_done) struct attempt_row row = {.outcome = ATTEMPT_VOID};
    *vec_push(&row.replicas) = (struct replica_row){.id = {.role = ROLE_WORKER, .index = 1}};
    say_all(&row.replicas.items[0]);
    assert_int_equal(s->ops->put_run(s, &other, NULL), 0);
    assert_int_equal(s->ops->save_attempt(s, UID, &row, &terms, NULL, 0, NULL, NULL), 0);
    store_close(s);
    fixture_exec(f, "CREATE TABLE replica_before AS SELECT * FROM replica; "
                    "CREATE TABLE environment_before AS SELECT * FROM environment");
}

/* What is read says the same as what is there: it becomes the same row of another run. */
static void check_read(struct fixture *f, struct store *s, const struct attempt_row *got,
                       const struct columns *columns, const char *what)
{
    assert_int_equal(s->ops->save_attempt(s, OTHER_UID, got, &terms, NULL, 0, NULL, NULL), 0);
    fixture_exec(f, "UPDATE replica SET environment = (SELECT min(f.id) FROM environment e, "
                    "environment f WHERE e.id = environment AND e.facts = f.facts)");
    _cleanup_(buf_done) struct buf sql = BUF_INIT;
    vec_each (const struct column, c, &columns->list) {
        const char *none = c->is_guarded ? "0" : "NULL"; /* is not written */
        buf_printf(&sql, "%s iif(ifnull(a.%s, %s) IS ifnull(b.%s, %s), '', '%s ')",
                   sql.len == 0 ? "SELECT" : " ||", c->name, none, c->name, none, c->name);
    }
    buf_puts(&sql, " FROM replica a, replica b WHERE a.run_uid < b.run_uid");
    _cleanup_(freep) char *others = ask_sql(f, buf_cstr(&sql));
    if (!str_eq(others, "")) {
        fail_msg("%s is read, and there are other values of %s", what, others);
    }
    fixture_exec(f, "DELETE FROM attempt WHERE run_uid = '" OTHER_UID "'");
}

/* True: it is found. */
static bool find_damage(struct fixture *f, const char *sql, const char *text,
                        const struct columns *columns)
{
    _cleanup_(freep) char *whole =
        xasprintf("PRAGMA synchronous = OFF; BEGIN; DELETE FROM replica; DELETE FROM environment; "
                  "INSERT INTO environment SELECT * FROM environment_before; "
                  "INSERT INTO replica SELECT * FROM replica_before; %s; COMMIT",
                  sql);
    fixture_exec(f, whole);
    _cleanup_(store_closep) struct store *s = fixture_open(f);
    struct attempt_row *got = NULL;
    struct err err = {0};
    size_t n = 0;
    const int r = list(s, &got, &n, &err);
    assert_true(r == 0 || r == -EBADMSG);
    if (r < 0) {
        assert_has(err.msg, text);
    } else {
        check_read(f, s, &got[0], columns, sql);
    }
    list_done(got, n);
    return r < 0;
}

/* A value of one column is another: then all others come back as they were, or that is an error. */
TEST(damage_is_found_or_is_another_value)
{
    static const struct {
        const char *type, *values[8];
    } kinds[] = {
        {"INTEGER", {"NULL", "-1", "0", "7", "4294967296", "9223372036854775807"}},
        {"REAL", {"NULL", "-1.0", "0.25", "9e999", "-9e999"}},
        {"BLOB", {"NULL", "x''", "x'00112233'", "randomblob(10)"}},
        {"TEXT",
         {"NULL", "''", "'x'", "'{'", "'{\"x\":1.5}'", "'[1]'", "char(27)", "CAST(x'ff' AS TEXT)"}},
    };
    static const char *const heads[][3] = {
        {"exit_code", "INTEGER", "exit_code"},
        {"signal", "INTEGER", "signal"},
        {"log_bytes", "INTEGER", "log_bytes"},
        {"environment", "INTEGER", ""},
        {"host", "TEXT", "host"},
        {"node", "TEXT", "node"},
        {"cpu_mhz", "REAL", "cpu_mhz"},
        {"reading", "TEXT", "the reading of a log"},
    };
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(columns_done) struct columns columns;
    open_damaged(&f);
    columns_of_summary(&columns);
    for (size_t i = 0; i < N_ROWS(heads); i++) {
        *vec_push(&columns.list) = (struct column){xstrdup(heads[i][0]), heads[i][1], false};
    }
    for (size_t i = 0; i < columns.list.len; i++) {
        const struct column *c = &columns.list.items[i];
        const size_t n_summary = columns.list.len - N_ROWS(heads);
        const char *text = i < n_summary ? "the summary of a replica: '" : heads[i - n_summary][2];
        size_t n_found = 0;
        for (size_t k = 0; k < N_ROWS(kinds); k++) {
            for (size_t v = 0; v < N_ROWS(kinds[k].values); v++) {
                const char *value = kinds[k].values[v];
                _cleanup_(freep) char *sql =
                    xasprintf("UPDATE OR IGNORE replica SET %s = %s", c->name, value);
                n_found += str_eq(kinds[k].type, c->type) && value != NULL &&
                           find_damage(&f, sql, text, &columns);
            }
        }
        print_message("# %s: %zu\n", c->name, n_found);
        assert_true(n_found > 0);
    }
    assert_true(find_damage(&f, "UPDATE replica SET role = 'x'", "unknown role", &columns));
    assert_true(
        find_damage(&f, "UPDATE replica SET replica_index = -1", "replica_index", &columns));
    assert_true(find_damage(&f, "UPDATE environment SET facts = '[1]'",
                            "the environment of a replica", &columns));
    assert_true(
        find_damage(&f, "DELETE FROM environment", "the environment of a replica", &columns));
}
