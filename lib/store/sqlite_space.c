/* A disk that is full. SQLite needs space to delete rows, so a file next to the store,
 * FILE.reserve, holds some for that: it goes when a deletion needs it, and comes back when
 * there is enough again. */
#include "store/sqlite_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"

#define CHECKPOINT_PAGES 1000         /* SQLite's default */
#define ROOM_BYTES (INT64_C(2) << 20) /* with less a store that was full stays so */

static char *reserve_path(const struct sqlite_store *s)
{
    return xasprintf("%s.reserve", s->path);
}

static int64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

static int64_t wal_bytes(const struct sqlite_store *s)
{
    _cleanup_(freep) char *wal = xasprintf("%s-wal", s->path);
    return size_of(wal);
}

static int64_t free_bytes(const struct sqlite_store *s)
{
    struct statvfs fs;
    return statvfs(s->path, &fs) == 0 ? (int64_t)fs.f_bavail * (int64_t)fs.f_frsize : 0;
}

bool space_release_reserve(struct sqlite_store *s)
{
    _cleanup_(freep) char *path = reserve_path(s);
    if (unlink(path) < 0) {
        return false;
    }
    s->is_full = true; /* until try_space has found room */
    if (s->db != NULL) {
        /* A checkpoint at the next commit would use up what is for deletions. */
        (void)sqlite3_wal_autocheckpoint(s->db, 0); /* never fails */
    }
    return true;
}

/* Waits for no other process: what a reader still reads stays in the WAL until a later deletion. */
static int give_wal_back(struct sqlite_store *s)
{
    const bool is_wait_shared = s->is_wait_shared;
    const int64_t wait_left_ms = s->wait_left_ms;
    s->is_wait_shared = true;
    s->wait_left_ms = 0;
    const int r = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    s->is_wait_shared = is_wait_shared;
    s->wait_left_ms = wait_left_ms;
    return r;
}

void space_after_deletion(struct sqlite_store *s)
{
    /* The file may have to grow first by what only the WAL has: up to 4 MiB and one attempt. */
    const int r = give_wal_back(s);
    const bool is_busy = (r & 0xff) == SQLITE_BUSY; /* more space would not help */
    if (r != SQLITE_OK && !is_busy && space_release_reserve(s)) {
        (void)give_wal_back(s); /* else after the next deletion */
    }
}

int space_keep_reserve(struct store *base, int64_t bytes, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    s->reserve_bytes = bytes;
    _cleanup_(freep) char *path = reserve_path(s);
    if (size_of(path) == bytes) {
        return 0;
    }
    if (free_bytes(s) < bytes + ROOM_BYTES) {
        return err_set(err, ENOSPC, "store '%s': no space for a reserve of %lld MiB", s->path,
                       (long long)(bytes >> 20));
    }
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return err_set_errno(err, errno, "reserve file '%s'", path);
    }
    int code = posix_fallocate(fd, 0, (off_t)bytes);
    code = code == 0 && ftruncate(fd, (off_t)bytes) < 0 ? errno : code;
    (void)close(fd);
    if (code != 0) {
        (void)unlink(path); /* a part of it does not help */
        return err_set_errno(err, code, "reserve file '%s'", path);
    }
    return 0;
}

void space_get(struct store *base, struct store_space *ret)
{
    const struct sqlite_store *s = sqlite_store_of(base);
    *ret = (struct store_space){.is_full = s->is_full, .bytes = size_of(s->path) + wal_bytes(s)};
    struct statvfs fs;
    if (statvfs(s->path, &fs) == 0) {
        ret->disk_bytes = (int64_t)fs.f_blocks * (int64_t)fs.f_frsize;
        ret->disk_free_bytes = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
    }
}

int space_get_used(struct store *base, int64_t *ret_bytes, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    return sql_get_int(s, ret_bytes, err,
                       "SELECT (page_count - freelist_count) * page_size "
                       "FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
                       "");
}

/* A disk may have bytes and no inodes, of which each claim of a run needs one. */
static int try_file(const struct sqlite_store *s, struct err *err)
{
    _cleanup_(freep) char *path = xasprintf("%s.try", s->path);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return err_set_errno(err, errno, "file '%s'", path);
    }
    (void)close(fd);
    (void)unlink(path); /* a file that stays is harmless */
    return 0;
}

/* Writes one page, as it is. */
static int write_version(struct sqlite_store *s, struct err *err)
{
    int64_t version = 0;
    const int r = sql_get_int(s, &version, err, "PRAGMA user_version", "");
    _cleanup_(freep) char *sql = xasprintf("PRAGMA user_version = %d", (int)version);
    return r < 0 ? r : sql_exec(s, sql, err);
}

int space_try(struct store *base, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    const int64_t free_now = free_bytes(s), wal = wal_bytes(s);
    int64_t reusable = 0; /* pages of deleted rows, which the next rows use */
    (void)sql_get_int(s, &reusable, NULL,
                      "SELECT freelist_count * page_size "
                      "FROM pragma_freelist_count, pragma_page_size",
                      ""); /* if it fails, the trial write says why */
    if (free_now + (wal < reusable ? wal : reusable) < ROOM_BYTES) {
        return err_set(err, ENOSPC, "store '%s': disk full; free some space", s->path);
    }
    if (s->reserve_bytes > 0) {
        (void)space_keep_reserve(base, s->reserve_bytes, NULL); /* else at the next try */
    }
    int r = try_file(s, err);
    r = r < 0 ? r : sql_in_transaction(s, err, write_version(s, err));
    if (r >= 0) {
        (void)sqlite3_wal_autocheckpoint(s->db, CHECKPOINT_PAGES); /* never fails */
    }
    return r;
}
