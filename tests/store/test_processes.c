/* Several processes at one store: they write at the same time, and one is killed in the
 * middle of its writing. */
#include "store_fixture.h"

#include <signal.h>
#include <sys/wait.h>

#include <sqlite3.h>

#define N_WRITERS 3
#define N_ATTEMPTS 12

/* In a child: no cmocka asserts, the exit code tells. Every child opens the file for itself. */
static int write_run(const struct fixture *f, int writer)
{
    struct store *s = NULL;
    if (store_open(f->url, true, &s, NULL) < 0) {
        return 1;
    }
    char uid[16];
    (void)snprintf(uid, sizeof(uid), "uid-%d", writer);
    struct run_row run = make_run(uid, uid, writer);
    int r = s->ops->put_run(s, &run, NULL);
    run_row_done(&run);
    for (uint32_t i = 0; i < N_ATTEMPTS && r >= 0; i++) {
        r = save(s, uid, 0, i, 0, "hello", 5, NULL);
    }
    store_close(s);
    return r < 0 ? 2 : 0;
}

TEST(test_writers_at_the_same_time)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    pid_t pids[N_WRITERS];
    for (int i = 0; i < N_WRITERS; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            _exit(write_run(&f, i)); /* the file is new for all of them */
        }
    }
    for (int i = 0; i < N_WRITERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    _cleanup_(store_closep) struct store *s = fixture_open(&f);
    for (int i = 0; i < N_WRITERS; i++) {
        char uid[16];
        (void)snprintf(uid, sizeof(uid), "uid-%d", i);
        assert_int_equal(count_attempts(s, uid), N_ATTEMPTS);
    }
}

/* The linker has save_attempt call this one (meson.build) after it began to read: another process
 * then tries to write, without waiting. */
static sqlite3 *other; /* NULL: nobody tries */
static int other_rc;
struct sqlite_store;
int __real_sql_count_runs(struct sqlite_store *s, const char *uid, int64_t *ret, struct err *err);
int __wrap_sql_count_runs(struct sqlite_store *s, const char *uid, int64_t *ret, struct err *err);
int __wrap_sql_count_runs(struct sqlite_store *s, const char *uid, int64_t *ret, struct err *err)
{
    const int r = __real_sql_count_runs(s, uid, ret, err);
    if (other != NULL) {
        other_rc = sqlite3_exec(other, "UPDATE run SET message = 'x'", NULL, NULL, NULL);
    }
    return r;
}

/* What a transaction has read stays true until it writes; else SQLite would refuse its write. */
TEST(test_nobody_writes_between_a_read_and_its_write)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(store_closep) struct store *s = open_with_run(&f);
    assert_int_equal(sqlite3_open(f.path, &other), SQLITE_OK);
    other_rc = -1;
    struct err err = {0};
    const int r = save(s, UID, 3, 1, 0, "hello", 5, &err);
    if (r != 0 || other_rc != SQLITE_BUSY) {
        fail_msg("expected 0, and %d for the other; got %d '%s', and %d", SQLITE_BUSY, r, err.msg,
                 other_rc);
    }
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    other = NULL;
    assert_whole_attempt(s, "hello", 5);
}

/* The same of the lock of a folder where a file is to be made: another process makes it first. */
static struct fixture made; /* its store is copied */
static char *copy_sql;      /* NULL: no other process makes a file */
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
    if (copy_sql != NULL) {
        fixture_exec(&made, copy_sql);
    }
    return __real_flock(fd, operation);
}

TEST(test_a_file_that_another_process_has_made_is_taken)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    store_close(open_with_run(&made));
    copy_sql = xasprintf("VACUUM INTO '%s'", f.path);
    _cleanup_(store_closep) struct store *s = fixture_open(&f);
    struct run_brief brief;
    assert_int_equal(s->ops->get_brief(s, UID, &brief, NULL), 0);
    free(copy_sql);
    copy_sql = NULL;
    fixture_done(&made);
}

/* Writes for ever; tells through the pipe that another attempt is kept. */
static void write_for_ever(const struct fixture *f, int tell)
{
    struct store *s = NULL;
    if (store_open(f->url, true, &s, NULL) < 0 || s->ops->claim_run(s, UID, NULL) < 0) {
        _exit(1);
    }
    for (uint32_t i = 0;; i++) {
        if (save(s, UID, 0, i, 0, "hello", 5, NULL) < 0 || write(tell, "x", 1) != 1) {
            _exit(2);
        }
    }
}

TEST(test_kill_in_the_middle)
{
    for (int round = 1; round <= 8; round++) {
        _cleanup_(fixture_done) struct fixture f;
        _cleanup_(store_closep) struct store *s = open_with_run(&f);
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        pid_t pid = fork();
        if (pid == 0) {
            close(fds[0]); /* the parent's death ends the child by SIGPIPE */
            write_for_ever(&f, fds[1]);
        }
        close(fds[1]);
        size_t told = 0;
        char byte;
        while (told < (size_t)round && read(fds[0], &byte, 1) == 1) {
            told++;
        }
        assert_int_equal(told, round);
        assert_int_equal(kill(pid, SIGKILL), 0);
        int status = 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        while (read(fds[0], &byte, 1) == 1) { /* told before it died */
            told++;
        }
        close(fds[0]);
        size_t kept = count_attempts(s, UID);
        assert_true(kept == told || kept == told + 1); /* the last one may be unacknowledged */
        assert_int_equal(s->ops->claim_run(s, UID, NULL), 0); /* the dead one's right is void */
        assert_int_equal(save(s, UID, 1, 0, 0, "hello", 5, NULL), 0);
    }
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_DFL);
    return test_run_all(NULL);
}
