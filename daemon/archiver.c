/* See daemon_internal.h. */
#include "daemon/daemon_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "config.h"
#include "load/loaded_run.h"

#define RETRY_NS (5 * INT64_C(1000000000))
#define RETRY_DOUBLINGS_MAX 6                 /* to 320 s */
#define IDLE_NS (600 * INT64_C(1000000000))   /* others may write to the store, too */
#define RESTORE_MAX_BYTES ((size_t)256 << 20) /* packed: in memory */
#define ENDING RUN_FILE_ENDING RUN_FILE_ZSTD
#define NAME_MAX_BYTES 200 /* The archive's name has this much of the run's. */

/* What a job has done, for the loop. */
struct done {
    enum { DID_NOTHING, DID_PUT, DID_RESTORE, DID_HAD, DID_SKIP } what;
    char *name, *uid; /* the run's, or NULL; owned */
    int r;            /* A job with a negative result is tried again. */
    struct err err;   /* also of DID_SKIP */
};

struct archiver {
    uv_work_t work;
    struct bucket *bucket;
    char *new_mark, *store_url;
    const struct run_env *env;
    struct run_queue *queue;
    bool is_working, is_abandoned;
    int64_t next_ns;     /* no job before that */
    unsigned n_failures; /* since the last job that succeeded */
    uint64_t n_ended;    /* runs, when the job began */
    /* The job alone uses the rest while it works. */
    bool is_listed;
    struct texts names; /* to restore: the last one is next */
    struct texts uids;  /* in the archive, or not to be put there; sorted */
    struct done done;
};

/* ---- a job, on a thread of the pool ---- */

static void add_uid(struct archiver *a, const char *uid)
{
    size_t at;
    if (!vec_search(&a->uids.list, it, strcmp(*it, uid), &at)) {
        *vec_insert(&a->uids.list, at) = xstrdup(uid);
    }
}

static int list(struct archiver *a)
{
    const int r = bucket_list(a->bucket, ENDING, &a->names, &a->done.err);
    if (r < 0) {
        vec_free(&a->names.list);
        return r;
    }
    vec_each (char *const, name, &a->names.list) {
        _cleanup_(freep) char *stem = xstrndup(*name, strlen(*name) - strlen(ENDING));
        const char *dot = strrchr(stem, '.');
        add_uid(a, dot == NULL ? stem : dot + 1);
    }
    a->is_listed = true;
    return 0;
}

/* A name that two runs had is the later one's, as run_accept.c has it. The name that is left for
 * the run; owned. */
static int free_name(struct store *s, const struct run_row *row, char **ret, struct err *err)
{
    _cleanup_(run_row_done) struct run_row other = {0};
    const int r = s->ops->get_run(s, row->name, &other, err);
    if (r < 0) {
        return r;
    }
    const bool is_later = row->created_unix_ms >= other.created_unix_ms;
    _cleanup_(freep) char *name = xasprintf("%s-%.8s", row->name, is_later ? other.uid : row->uid);
    if (is_later) {
        *ret = xstrdup(row->name);
        return s->ops->rename_run(s, other.uid, name, err);
    }
    *ret = take_ptr(name);
    return 0;
}

static int store_run(struct archiver *a, struct store *file, const struct run_row *row)
{
    struct store *s = NULL;
    struct err *err = &a->done.err;
    struct run_brief brief;
    int r = store_open(a->store_url, false, &s, err);
    if (r >= 0 && s->ops->get_brief(s, row->uid, &brief, NULL) < 0) {
        _cleanup_(freep) char *name = NULL;
        r = run_file_put(file, row->name, s, err);
        if (r == -EEXIST && (r = free_name(s, row, &name, err)) >= 0) {
            r = run_file_put(file, name, s, err);
        }
        a->done.what = DID_RESTORE;
    }
    store_close(s);
    return r;
}

/* The run of the file `packed`, made anew in the file `path`. */
static int read_archive(const struct archiver *a, const struct buf *packed, const char *path,
                        struct store **ret, struct run_row *row, struct err *err)
{
    _cleanup_(freep) char *room = NULL;
    struct store *theirs = NULL;
    struct run_file_head head = {0};
    FILE *in = fmemopen(packed->data, packed->len, "rb");
    int r = in == NULL ? err_set_errno(err, errno, "an archive") : 0;
    r = r < 0 ? r : run_file_room(a->new_mark, &room, err);
    r = r < 0 ? r : run_file_unpack(in, room, RUN_FILE_MAX_BYTES, err);
    r = r < 0 ? r : run_file_open(room, &theirs, &head, err);
    r = r < 0 ? r : run_file_take(theirs, path, ret, err);
    r = r < 0 ? r : run_file_run(*ret, row, err);
    run_file_head_done(&head);
    store_close(theirs);
    if (room != NULL) {
        (void)unlink(room); /* as put() does */
    }
    if (in != NULL) {
        (void)fclose(in); /* it was only read */
    }
    return r;
}

/* One that is damaged stays damaged: it is skipped. */
static int restore(struct archiver *a, const char *name)
{
    _cleanup_(buf_done) struct buf packed = BUF_INIT;
    _cleanup_(run_row_done) struct run_row row = {0};
    _cleanup_(freep) char *path = NULL;
    struct store *file = NULL;
    struct err *err = &a->done.err;
    int r = bucket_get(a->bucket, name, RESTORE_MAX_BYTES, &packed, err);
    if (r < 0 && r != -E2BIG && r != -ENOENT) {
        return r;
    }
    a->done.name = xstrdup(name);
    const int room = r < 0 ? 0 : run_file_room(a->new_mark, &path, err);
    r = r < 0 || room < 0 ? r : read_archive(a, &packed, path, &file, &row, err);
    buf_done(&packed);
    if (r < 0 && !run_file_may_work_later(r)) {
        a->done.what = DID_SKIP;
        r = 0;
    } else if (r >= 0 && room >= 0) {
        a->done.uid = xstrdup(row.uid);
        r = store_run(a, file, &row);
    }
    store_close(file);
    if (path != NULL) {
        (void)unlink(path); /* as put() does */
    }
    return room < 0 ? room : r;
}

/* The next one, or the store is not new any more. */
static int restore_next(struct archiver *a)
{
    if (a->names.list.len == 0) {
        return unlink(a->new_mark) < 0 && errno != ENOENT
                   ? err_set_errno(&a->done.err, errno, "remove '%s'", a->new_mark)
                   : 0;
    }
    const int r = restore(a, a->names.list.items[a->names.list.len - 1]);
    if (r >= 0) {
        free(a->names.list.items[--a->names.list.len]);
        a->done.what = a->done.what == DID_NOTHING ? DID_HAD : a->done.what;
    }
    return r;
}

/* A run that a process drives has not ended for every reader. */
static bool is_wanted(struct archiver *a, struct store *s, const struct finished_run *run)
{
    size_t at;
    return !vec_search(&a->uids.list, it, strcmp(*it, run->uid), &at) &&
           s->ops->probe_run(s, run->uid, NULL) != -EBUSY;
}

/* The run as a file that was read whole, compressed. */
static int pack(struct store *s, const char *uid, const char *path, struct buf *out,
                struct err *err)
{
    char digest[RUN_FILE_DIGEST_SIZE];
    struct run_file_head head = {0};
    struct store *file = NULL;
    size_t n_lost = 0;
    int r = run_file_make(s, uid, &RUN_FILE_ALL, "benchd " BENCHD_VERSION, path, digest, err);
    r = r < 0 ? r : run_file_open(path, &file, &head, err);
    r = r < 0 ? r : run_file_read(file, &n_lost, err);
    run_file_head_done(&head);
    store_close(file);
    return r < 0 ? r : run_file_send(path, true, out, err);
}

static int put(struct archiver *a, struct store *s, const struct finished_run *run)
{
    _cleanup_(buf_done) struct buf file = BUF_INIT;
    _cleanup_(freep) char *name = xasprintf("%.*s.%s" ENDING, NAME_MAX_BYTES, run->name, run->uid);
    struct err *err = &a->done.err;
    a->done.name = xstrdup(run->name);
    a->done.uid = xstrdup(run->uid);
    _cleanup_(freep) char *path = NULL;
    int r = run_file_room(a->new_mark, &path, err);
    if (r < 0) {
        return r;
    }
    r = pack(s, run->uid, path, &file, err);
    (void)unlink(path); /* run_file_sweep unlinks what stays */
    if (run_file_may_work_later(r)) {
        return r;
    }
    /* What cannot be read now cannot be read later; or it was erased in between. */
    a->done.what = r == -ENOENT ? DID_HAD : r < 0 ? DID_SKIP : DID_PUT;
    r = r < 0 ? 0 : bucket_put(a->bucket, name, &file, err);
    if (r >= 0) {
        add_uid(a, run->uid);
    }
    return r;
}

static int put_next(struct archiver *a)
{
    struct store *s = NULL;
    _cleanup_(finished_runs_done) struct finished_runs runs = {0};
    struct err *err = &a->done.err;
    int r = store_open_reader(a->store_url, NULL, NULL, &s, err);
    r = r < 0 ? r : s->ops->list_finished(s, 0, SIZE_MAX, &runs, err);
    for (size_t i = 0; r >= 0 && i < runs.oldest.len && a->done.what == DID_NOTHING; i++) {
        if (is_wanted(a, s, &runs.oldest.items[i])) {
            r = put(a, s, &runs.oldest.items[i]);
        }
    }
    store_close(s);
    return r;
}

static void work(uv_work_t *request)
{
    struct archiver *a = request->data;
    int r = a->is_listed ? 0 : list(a);
    if (r >= 0 && access(a->new_mark, F_OK) == 0) {
        r = restore_next(a);
    } else {
        texts_done(&a->names);
    }
    a->done.r = r < 0 || a->done.what != DID_NOTHING ? r : put_next(a);
}

/* ---- the loop ---- */

static void report(struct archiver *a)
{
    const struct done *d = &a->done;
    struct daemon_counters *counters = a->env->counters;
    const bool has_failed = d->r < 0 || d->what == DID_SKIP;
    counters->archive_failures += has_failed;
    counters->archived += !has_failed && d->what == DID_PUT;
    if (has_failed && d->uid != NULL && (d->what == DID_PUT || d->what == DID_SKIP)) {
        event_recorder_emit(a->env->events, d->name, d->uid, EVENT_WARNING, "ArchiveFailed",
                            d->err.msg);
    } else if (d->what == DID_RESTORE && !has_failed) {
        run_queue_restored(a->queue, a->env, d->uid);
    }
    log_event(has_failed ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
              d->r < 0             ? "the archive fails, retrying"
              : has_failed         ? "an archive was left out"
              : d->what == DID_PUT ? "a run was archived"
                                   : "a run was restored from the archive",
              "run", d->name == NULL ? "" : d->name, "err", has_failed ? d->err.msg : "", NULL);
}

static void done(struct archiver *a)
{
    free(a->done.name);
    free(a->done.uid);
    a->done = (struct done){0};
}

static void dispose(struct archiver *a)
{
    done(a);
    bucket_free(a->bucket);
    texts_done(&a->names);
    texts_done(&a->uids);
    free(a->new_mark);
    free(a->store_url);
    free(a);
}

static void on_worked(uv_work_t *request, int status)
{
    struct archiver *a = request->data;
    (void)status; /* cancelled only if it is abandoned */
    a->is_working = false;
    if (a->is_abandoned) {
        dispose(a);
        return;
    }
    const struct done *d = &a->done;
    const unsigned n = a->n_failures;
    a->n_failures = d->r < 0 ? n + 1 : 0;
    a->next_ns = d->r < 0 ? clock_monotonic_ns() +
                                (RETRY_NS << (n < RETRY_DOUBLINGS_MAX ? n : RETRY_DOUBLINGS_MAX))
                 : d->what == DID_NOTHING ? clock_monotonic_ns() + IDLE_NS
                                          : 0;
    if (d->r < 0 || (d->what != DID_NOTHING && d->what != DID_HAD)) {
        report(a);
    }
    done(a);
    a->env->wake(a->env->ctx);
}

static uint64_t n_ended(const struct daemon_counters *c)
{
    return array_sum(c->runs_finished, DAEMON_N_PHASES, n, *n);
}

void archiver_look(struct archiver *a)
{
    const bool has_news =
        a != NULL && a->n_failures == 0 && n_ended(a->env->counters) != a->n_ended;
    if (a == NULL || a->is_working || (!has_news && clock_monotonic_ns() < a->next_ns)) {
        return;
    }
    a->n_ended = n_ended(a->env->counters);
    a->is_working = true;
    (void)uv_queue_work(a->env->loop, &a->work, work,
                        on_worked); /* fails without a callback only */
}

struct archiver *archiver_new(struct bucket *bucket_take, const char *new_mark,
                              const struct run_env *env, struct run_queue *q)
{
    struct archiver *a = xnew(struct archiver);
    *a = (struct archiver){.bucket = bucket_take,
                           .new_mark = xstrdup(new_mark),
                           .store_url = xstrdup(env->options.store),
                           .env = env,
                           .queue = q};
    a->work.data = a;
    return a;
}

void archiver_free(struct archiver *a)
{
    if (a == NULL) {
        return;
    }
    if (!a->is_working) {
        dispose(a);
        return;
    }
    a->is_abandoned = true;
    bucket_stop(a->bucket);
    (void)uv_cancel((uv_req_t *)&a->work); /* fails while it works: then on_worked frees later */
}
