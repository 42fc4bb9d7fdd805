/* Logs in the store: each comes back byte by byte, whether it shares a row, has one of its own, or
 * is from an earlier version. */
#include "store_fixture.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <sqlite3.h>

#include "base/splitmix.h"

static void assert_log(struct store *s, const char *uid, const struct replica_id *id,
                       const void *data, size_t len)
{
    _cleanup_(freep) char *text = NULL;
    size_t got = 0;
    struct err err = {0};
    if (s->ops->get_log(s, uid, id, &text, &got, &err) < 0) {
        fail_msg("%s/%u: %s", role_to_string(id->role), id->index, err.msg);
    }
    assert_int_equal(got, len);
    assert_memory_equal(text, data, len);
    assert_int_equal(text[len], '\0');
}

static void assert_none(struct store *s, const char *uid, const struct replica_id *id)
{
    char *text = NULL;
    size_t len;
    struct err err = {0};
    assert_int_equal(s->ops->get_log(s, uid, id, &text, &len, &err), -ENOENT);
    assert_has(err.msg, "there is no log of ");
}

TEST(test_logs_are_kept_byte_by_byte)
{
    _cleanup_(fixture_done) struct fixture f;
    struct store *s = open_with_run(&f);
    size_t len = 3 * 1024 * 1024 + 7;
    unsigned char *log = xmalloc(len);
    for (size_t i = 0; i < len; i++) {
        log[i] = (unsigned char)(i * i >> 7); /* with NULs and no valid UTF-8 */
    }
    assert_int_equal(save(s, UID, 3, 1, 0, log, len, NULL), 0);
    assert_whole_attempt(s, log, len);
    char *text = NULL;
    size_t got = 1;
    struct replica_id empty = {{3, 1, 0}, ROLE_TRAINER, 0}, missing = {{3, 1, 0}, ROLE_TRAINER, 1};
    assert_int_equal(s->ops->get_log(s, UID, &empty, &text, &got, NULL), 0);
    assert_int_equal(got, 0);
    free(text);
    struct err err = {0};
    assert_int_equal(s->ops->get_log(s, UID, &missing, &text, &got, &err), -ENOENT);
    assert_has(err.msg, "trainer/1");
    store_close(s);
    struct stat st;
    assert_int_equal(stat(f.path, &st), 0);
    assert_true((size_t)st.st_size < len / 2); /* compressed */
    free(log);
}

#define GANG 300 /* of each role; their logs are more than a row */

/* Of a replica of a trial: 60 to 250 steps. Owned. */
static char *make_log(uint32_t trial, enum role role, uint32_t index, size_t *ret_len)
{
    struct buf out = BUF_INIT;
    uint64_t random = trial * 1000003 + index * 2 + (role == ROLE_TRAINER);
    unsigned end = 0;
    for (uint32_t i = 0; i < 60 + (index * 37 + trial) % 191; i++) {
        const unsigned ns = 400000000 + splitmix_below(&random, 1 << 23);
        end += ns / 1000;
        buf_printf(&out,
                   "{\"type\":\"step\",\"role\":\"%s\",\"index\":%u,\"step\":%u,\"t_us\":%u,"
                   "\"step_ns\":%u,\"loss\":%u.%04u}\n",
                   role_to_string(role), index, i, end, ns, index % 3, ns % 10000);
    }
    *ret_len = out.len;
    return buf_take(&out);
}

static void save_gang(struct store *s, uint32_t trial)
{
    _cleanup_(attempt_row_done) struct attempt_row row = {.id = {0, trial, 0},
                                                          .outcome = ATTEMPT_SUCCEEDED};
    struct replica_log logs[2 * GANG];
    for (uint32_t i = 0; i < 2 * GANG; i++) { /* in no order; every second index */
        const uint32_t k = (i * 7 + 3) % (2 * GANG);
        const enum role role = k < GANG ? ROLE_TRAINER : ROLE_PSERVER;
        logs[i].id = (struct replica_id){row.id, role, 1 + 2 * (k % GANG)};
        logs[i].data = make_log(trial, role, logs[i].id.index, &logs[i].len);
    }
    assert_int_equal(s->ops->save_attempt(s, UID, &row, &terms, logs, 2 * GANG, NULL, NULL), 0);
    for (uint32_t i = 0; i < 2 * GANG; i++) {
        free((void *)(uintptr_t)logs[i].data);
    }
}

static int64_t count_rows(const struct fixture *f, const char *sql)
{
    _cleanup_(freep) char *n = ask_sql(f, sql);
    return atoll(n);
}

TEST(test_logs_of_gangs_share_rows)
{
    _cleanup_(fixture_done) struct fixture f;
    struct store *s = open_with_run(&f);
    save_gang(s, 0);
    save_gang(s, 1);
    for (uint32_t i = 0; i < 4 * GANG;
         i++) { /* one after the other, and now and then from another trial */
        const uint32_t trial = i % 100 == 99 ? 1 - i / (2 * GANG) : i / (2 * GANG);
        const struct replica_id id = {
            {0, trial, 0}, i / GANG % 2 == 0 ? ROLE_TRAINER : ROLE_PSERVER, 1 + 2 * (i % GANG)};
        size_t len;
        _cleanup_(freep) char *log = make_log(trial, id.role, id.index, &len);
        assert_log(s, UID, &id, log, len);
        if (i % 100 == 0) {
            s->ops->rest(s);
        }
    }
    assert_none(s, UID, &(struct replica_id){{0, 0, 0}, ROLE_TRAINER, 0});
    assert_none(s, UID, &(struct replica_id){{0, 0, 0}, ROLE_TRAINER, 2});
    assert_none(s, UID, &(struct replica_id){{0, 0, 0}, ROLE_PSERVER, UINT32_MAX});
    assert_none(s, UID, &(struct replica_id){{0, 2, 0}, ROLE_TRAINER, 1});
    assert_none(s, UID, &(struct replica_id){{0, 0, 0}, ROLE_WORKER, 1});
    store_close(s);
    assert_in_range(count_rows(&f, "SELECT count(*) FROM log"), 5, 20);
    const int64_t bytes = count_rows(&f, "SELECT sum(length(zstd)) FROM log");
    size_t len;
    free(make_log(0, ROLE_TRAINER, 95, &len)); /* of 155 steps, as on the average */
    assert_true((size_t)bytes * 5 < len * 4 * GANG);
}

/* Longer than what a row of several has: with lines, without any, and beside short ones. */
TEST(test_a_long_log_has_a_row)
{
    _cleanup_(fixture_done) struct fixture f;
    struct store *s = open_with_run(&f);
    const size_t len = ((size_t)9 << 20) + 11;
    _cleanup_(freep) char *lines = xmalloc(len), *one_line = xmalloc(len);
    for (size_t i = 0; i < len; i++) {
        lines[i] = i % 41 == 40 ? '\n' : (char)('0' + i % 10);
        one_line[i] = (char)('a' + i * i % 23);
    }
    struct attempt_row row = {.id = {0, 0, 0}, .outcome = ATTEMPT_SUCCEEDED};
    const struct replica_log logs[] = {{{row.id, ROLE_TRAINER, 0}, "short", 5},
                                       {{row.id, ROLE_TRAINER, 1}, lines, len},
                                       {{row.id, ROLE_TRAINER, 2}, one_line, len},
                                       {{row.id, ROLE_TRAINER, 3}, "", 0},
                                       {{row.id, ROLE_TRAINER, 4}, "last", 4}};
    assert_int_equal(s->ops->save_attempt(s, UID, &row, &terms, logs, 5, NULL, NULL), 0);
    for (size_t i = 0; i < 10; i++) {
        const struct replica_log *log = &logs[i * 3 % 5];
        assert_log(s, UID, &log->id, log->data, log->len);
    }
    assert_none(s, UID, &(struct replica_id){row.id, ROLE_TRAINER, 5});
    store_close(s);
    assert_int_equal(count_rows(&f, "SELECT count(*) FROM log"), 4); /* the last two share one */
}

/* Two logs of the same length keep their own text, in both orders of reading. */
TEST(test_logs_of_one_length)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(store_closep) struct store *s = open_with_run(&f);
    struct attempt_row row = {.outcome = ATTEMPT_SUCCEEDED};
    for (uint32_t t = 0; t < 2; t++) {
        row.id.trial = t;
        const struct replica_log logs[] = {{{row.id, ROLE_TRAINER, 0}, t == 0 ? "ab" : "cd", 2},
                                           {{row.id, ROLE_TRAINER, 1}, "e", 1}};
        assert_int_equal(s->ops->save_attempt(s, UID, &row, &terms, logs, 2, NULL, NULL), 0);
    }
    assert_log(s, UID, &(struct replica_id){{0, 0, 0}, ROLE_TRAINER, 0}, "ab", 2);
    assert_log(s, UID, &(struct replica_id){{0, 1, 0}, ROLE_TRAINER, 0}, "cd", 2);
}

TEST(test_damaged_packs_are_named)
{
    static const struct {
        const char *sql, *text;
    } rows[] = {
        {"UPDATE log SET packed = 3", "a log is packed in an unknown way"},
        {"UPDATE log SET zstd = X''", "a log cannot be unpacked"},
        {"UPDATE log SET zstd = CAST(zstd || X'00' AS BLOB)", "a log has bytes after its end"},
        /* A frame that holds "x". */
        {"UPDATE log SET zstd = X'28B52FFD200109000078'", "the number of logs that share a row"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(fixture_done) struct fixture f;
        _cleanup_(store_closep) struct store *s = open_with_run(&f);
        struct attempt_row row = {.id = {3, 1, 0}, .outcome = ATTEMPT_SUCCEEDED};
        const struct replica_log logs[] = {{{row.id, ROLE_PSERVER, 0}, "hello", 5},
                                           {{row.id, ROLE_PSERVER, 1}, "world", 5}};
        assert_int_equal(s->ops->save_attempt(s, UID, &row, &terms, logs, 2, NULL, NULL), 0);
        fixture_exec(&f, rows[i].sql);
        char *text = NULL;
        size_t len;
        struct err err = {0};
        const struct replica_id id = logs[0].id;
        assert_int_equal(s->ops->get_log(s, UID, &id, &text, &len, &err), -EBADMSG);
        assert_has(err.msg, rows[i].text);
        assert_has(err.msg, f.path);
    }
}

TEST(test_they_are_read_where_nothing_can_be_written)
{
    _cleanup_(fixture_done) struct fixture f;
    struct store *written = open_with_run(&f);
    assert_int_equal(save(written, UID, 3, 1, 0, "step 1\nstep 2\n", 14, NULL), 0);
    store_close(written);
    assert_int_equal(chmod(f.path, 0444), 0);
    assert_int_equal(chmod(f.folder, 0555), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) { /* as somebody who may read alone */
        struct store *s = NULL;
        char *text = NULL;
        size_t len = 0;
        const struct replica_id id = {{3, 1, 0}, ROLE_PSERVER, 0};
        const bool is_read = (geteuid() != 0 || setuid(65534) == 0) &&
                             store_open(f.url, false, &s, NULL) == 0 &&
                             s->ops->get_log(s, UID, &id, &text, &len, NULL) == 0 && len == 14;
        _exit(is_read ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(chmod(f.folder, 0755), 0);
    assert_int_equal(status, 0);
}
