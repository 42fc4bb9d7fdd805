/* A disk that is full, a real one: a tmpfs of 20 MiB. What can be read stays readable, runs can be
 * deleted, and the store goes on when there is space. */
#include "store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <sqlite3.h>

#define DISK "size=20m"
#define N_INODES 12
#define DISK_OF_FEW_FILES DISK ",nr_inodes=12"
#define RESERVE_BYTES (6 << 20)

/* The linker has the store call this one before it waits for another connection. */
static int n_sleeps;

int __wrap_sqlite3_sleep(int ms);
int __wrap_sqlite3_sleep(int ms)
{
    n_sleeps++;
    return ms;
}

static char big_log[400000]; /* random, so it does not shrink */

/* False: it cannot be done here, and the test is skipped. */
static bool mount_disk(const struct fixture *f, const char *options)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", f->folder, "tmpfs", 0, options) == 0;
}

static void unmount_disk(struct fixture *f)
{
    assert_int_equal(umount(f->folder), 0);
    assert_int_equal(rmdir(f->folder), 0);
}

static bool exists(const struct fixture *f, const char *name)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", f->folder, name);
    return access(path, F_OK) == 0;
}

/* A file of somebody else that takes all there is. */
static void fill_disk(const struct fixture *f)
{
    _cleanup_(freep) char *path = xasprintf("%s/filler", f->folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_true(fd >= 0);
    for (int n_pages = 0; write(fd, big_log, 4096) > 0; n_pages++) {
        assert_true(n_pages < 5120); /* else another disk than that of 20 MiB is filled */
    }
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(close(fd), 0);
}

/* One that takes so much. */
static void take_space(const struct fixture *f, off_t n_bytes)
{
    _cleanup_(freep) char *path = xasprintf("%s/filler", f->folder);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(posix_fallocate(fd, 0, n_bytes), 0);
    assert_int_equal(close(fd), 0);
}

static void empty_disk(const struct fixture *f)
{
    _cleanup_(freep) char *path = xasprintf("%s/filler", f->folder);
    assert_int_equal(unlink(path), 0);
}

static bool is_full(struct store *s)
{
    struct store_space space;
    s->ops->get_space(s, &space);
    return space.is_full;
}

static void put(struct store *s, const char *uid)
{
    _cleanup_(run_row_done) struct run_row run = make_run(uid, uid, 1);
    run.object_ns = xstrdup("ns");
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
}

/* Saves attempts until the disk is full; returns how many fit. */
static uint32_t save_until_full(struct store *s)
{
    struct err err = {0};
    for (uint32_t n = 0; n < 1000; n++) {
        const int r = save(s, UID, n, 0, 0, big_log, sizeof(big_log), &err);
        if (r < 0) {
            assert_int_equal(r, -ENOSPC);
            assert_has(err.msg, "': disk full; free some space, then try again");
            return n;
        }
    }
    fail_msg("the disk is never full");
    return 0;
}

TEST(a_full_disk)
{
    _cleanup_(unmount_disk) struct fixture f = fixture_make();
    if (!mount_disk(&f, DISK)) {
        (void)rmdir(f.folder);
        skip(); /* not root, or no mount namespaces */
    }
    struct store *s = fixture_open(&f);
    put(s, UID);
    put(s, "other");
    put(s, "third");
    assert_int_equal(s->ops->keep_reserve(s, RESERVE_BYTES, NULL), 0);
    assert_true(exists(&f, "results.db.reserve"));
    assert_false(is_full(s));
    const uint32_t n_saved = save_until_full(s);
    assert_true(n_saved > 0);
    assert_true(is_full(s));
    fill_disk(&f);
    /* Everything that was saved is there, also for who opens it now. */
    assert_int_equal(count_attempts(s, UID), n_saved);
    store_close(s);
    s = fixture_open(&f);
    assert_int_equal(s->ops->keep_reserve(s, RESERVE_BYTES, NULL),
                     exists(&f, "results.db.reserve") ? 0 : -ENOSPC);
    assert_int_equal(count_attempts(s, UID), n_saved);
    struct err err = {0};
    assert_int_equal(save(s, UID, 999, 0, 0, big_log, sizeof(big_log), &err), -ENOSPC);
    assert_int_equal(s->ops->try_space(s, &err), -ENOSPC);
    assert_true(is_full(s));
    /* Deletions work, and are remembered, also those of before benchd was started. */
    static const char *const live[] = {UID, "other"};
    size_t n_deleted;
    assert_int_equal(s->ops->sync_objects(s, "ns", live, 2, 66, &n_deleted, NULL), 0);
    assert_int_equal(n_deleted, 1);
    assert_true(is_full(s));
    struct run_brief brief;
    assert_int_equal(s->ops->get_brief(s, "third", &brief, NULL), 0);
    assert_int_equal(brief.deleted_unix_ms, 66);
    assert_int_equal(s->ops->set_object(s, "other", NULL, 77, NULL), 0);
    assert_int_equal(s->ops->get_brief(s, "other", &brief, NULL), 0);
    assert_int_equal(brief.deleted_unix_ms, 77);
    assert_int_equal(s->ops->delete_run(s, UID, NULL), 0);
    assert_int_equal(s->ops->get_brief(s, UID, &brief, NULL), -ENOENT);
    /* What the deletion has freed is enough to go on. */
    assert_true(is_full(s));
    assert_int_equal(s->ops->try_space(s, NULL), 0);
    assert_false(is_full(s));
    put(s, UID);
    assert_int_equal(save(s, UID, 0, 0, 0, big_log, sizeof(big_log), NULL), 0);
    assert_true(save_until_full(s) > 1);
    assert_true(is_full(s));
    assert_int_equal(s->ops->delete_run(s, UID, NULL), 0); /* the next one, too */
    /* There is space: the reserve is made again, and attempts are saved. */
    empty_disk(&f);
    put(s, UID);
    assert_int_equal(s->ops->try_space(s, NULL), 0);
    assert_false(is_full(s));
    assert_true(exists(&f, "results.db.reserve"));
    assert_int_equal(save(s, UID, 0, 0, 0, big_log, sizeof(big_log), NULL), 0);
    store_close(s);
}

TEST(a_reserve_is_as_large_as_its_keeper_says)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    _cleanup_(store_closep) struct store *s = fixture_open(&f), *other = fixture_open(&f);
    _cleanup_(freep) char *path = xasprintf("%s.reserve", f.path);
    for (int64_t bytes = RESERVE_BYTES; bytes > 1 << 20; bytes /= 2) {
        struct stat st;
        assert_int_equal(s->ops->keep_reserve(s, bytes, NULL), 0);
        assert_int_equal(other->ops->try_space(other, NULL), 0); /* who keeps none leaves it */
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, bytes);
    }
    assert_int_equal(unlink(path), 0);
}

/* There are bytes, so SQLite writes, but no file can be made. */
TEST(a_disk_without_inodes_is_full)
{
    _cleanup_(unmount_disk) struct fixture f = fixture_make();
    if (!mount_disk(&f, DISK_OF_FEW_FILES)) {
        (void)rmdir(f.folder);
        skip(); /* not root, or no mount namespaces */
    }
    struct store *s = fixture_open(&f);
    put(s, UID);
    int n_files = 0;
    for (int fd; n_files < N_INODES; n_files++) {
        _cleanup_(freep) char *path = xasprintf("%s/%d", f.folder, n_files);
        if ((fd = open(path, O_WRONLY | O_CREAT, 0600)) < 0) {
            assert_int_equal(errno, ENOSPC);
            break;
        }
        assert_int_equal(close(fd), 0);
    }
    assert_in_range(n_files, 1, N_INODES - 1);
    struct err err = {0};
    assert_int_equal(s->ops->claim_run(s, UID, &err), -ENOSPC);
    assert_true(is_full(s));
    put(s, "other"); /* what needs no file goes on */
    assert_int_equal(s->ops->try_space(s, &err), -ENOSPC);
    _cleanup_(freep) char *first = xasprintf("%s/0", f.folder);
    assert_int_equal(unlink(first), 0);
    assert_int_equal(s->ops->try_space(s, &err), 0);
    assert_false(is_full(s));
    assert_int_equal(s->ops->claim_run(s, UID, &err), 0);
    store_close(s);
}

/* The loop neither waits for somebody who reads a long document, nor gives its reserve for that. */
TEST(a_deletion_waits_for_no_reader)
{
    _cleanup_(unmount_disk) struct fixture f = fixture_make();
    if (!mount_disk(&f, DISK)) {
        (void)rmdir(f.folder);
        skip(); /* not root, or no mount namespaces */
    }
    struct store *s = fixture_open(&f), *reader = NULL;
    put(s, UID);
    put(s, "other");
    assert_int_equal(s->ops->keep_reserve(s, RESERVE_BYTES, NULL), 0);
    take_space(&f, RESERVE_BYTES);
    const uint32_t n_saved = save_until_full(s);
    empty_disk(&f); /* room for the deletion, and for what only the WAL has */
    assert_true(is_full(s));
    assert_int_equal(store_open_reader(f.url, NULL, NULL, &reader, NULL), 0);
    assert_int_equal(reader->ops->begin_read(reader, NULL), 0);
    assert_int_equal(count_attempts(reader, UID), n_saved);
    n_sleeps = 0;
    assert_int_equal(s->ops->delete_run(s, "other", NULL), 0);
    assert_int_equal(n_sleeps, 0);
    assert_true(exists(&f, "results.db.reserve"));
    assert_int_equal(count_attempts(reader, UID), n_saved);
    reader->ops->end_read(reader);
    store_close(reader);
    store_close(s);
}

int main(void)
{
    uint64_t x = 88172645463325252;
    for (size_t i = 0; i < sizeof(big_log); i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        big_log[i] = (char)x;
    }
    return test_run_all(NULL);
}
