/* The store: the real one (SQLite) in a folder of its own, whose calls can fail or be the last
 * thing that a process does. What a call acknowledged is kept here too, and must be there again
 * after each start: all of it, once, unchanged. */
#include "sim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/phase.h"
#include "core/summary.h"
#include "store/store.h"

struct kept {
    struct disk_attempt attempt;
    char *text; /* everything of the row, as text; owned */
};

static struct {
    char url[256];
    const struct store_ops *real;
    struct store_ops ops;
    VEC(struct kept) attempts;
    VEC(char *) claims; /* of the process that runs: uids, owned */
    bool is_full;       /* a write found it so, and none has succeeded since */
} disk;

void disk_begin(const char *folder)
{
    (void)snprintf(disk.url, sizeof(disk.url), "sqlite:%s/results.db", folder);
}

size_t disk_n_attempts(void)
{
    return disk.attempts.len;
}

const struct disk_attempt *disk_get_attempt(size_t i)
{
    return &disk.attempts.items[i].attempt;
}

/* ---- what was acknowledged ---- */

static char *text_of(const struct attempt_row *row)
{
    struct buf text = BUF_INIT;
    buf_printf(&text, "p%ut%ua%u %d %lld %lld %s", row->id.point, row->id.trial, row->id.number,
               (int)row->outcome, (long long)row->started_unix_ms, (long long)row->ended_unix_ms,
               row->error == NULL ? "" : row->error);
    vec_each (const struct replica_row, r, &row->replicas) {
        _cleanup_(freep) char *summary =
            r->summary == NULL ? NULL : summary_write(r->summary, &r->id);
        buf_printf(&text, " | %d/%u %d %d %s %s %zu", (int)r->id.role, r->id.index, r->exit_code,
                   r->signal, r->failure == NULL ? "" : r->failure, summary == NULL ? "" : summary,
                   (size_t)r->log_bytes);
    }
    return buf_take(&text);
}

static struct kept *find(const char *uid, const struct attempt_id *id)
{
    vec_each (struct kept, k, &disk.attempts) {
        if (str_eq(k->attempt.run_uid, uid) && attempt_id_eq(&k->attempt.id, id)) {
            return k;
        }
    }
    return NULL;
}

static void keep(const char *uid, const struct attempt_row *row)
{
    if (find(uid, &row->id) != NULL) {
        return; /* saved again: changes nothing */
    }
    *vec_push(&disk.attempts) =
        (struct kept){{xstrdup(uid), row->id, (int)row->outcome}, text_of(row)};
}

static void erase(const char *uid)
{
    for (size_t i = disk.attempts.len; i > 0; i--) {
        struct kept *k = &disk.attempts.items[i - 1];
        if (str_eq(k->attempt.run_uid, uid)) {
            free(k->attempt.run_uid);
            free(k->text);
            *k = disk.attempts.items[--disk.attempts.len];
        }
    }
}

static size_t check_run(struct store *s, const char *uid)
{
    _cleanup_(freep) struct attempt_row *rows;
    size_t n;
    struct err err;
    if (disk.real->list_wanted(s, uid, &(struct attempt_wanted){-1, -1, -1}, &rows, &n, &err) < 0) {
        sim_broken("the attempts of %s cannot be read: %s", uid, err.msg);
    }
    for (size_t i = 0; i < n; i++) {
        const struct kept *k = find(uid, &rows[i].id);
        _cleanup_(freep) char *text = text_of(&rows[i]);
        if (k == NULL) {
            sim_broken("an attempt that nobody saved: %s", text);
        }
        if (!str_eq(text, k->text)) {
            sim_broken("an attempt was '%s' and is '%s'", k->text, text);
        }
        attempt_row_done(&rows[i]);
    }
    return n;
}

void disk_check(struct store *s)
{
    _cleanup_(freep) struct run_row *rows;
    size_t n, n_attempts = 0;
    struct err err;
    if (disk.real->list_runs(s, &rows, &n, &err) < 0) {
        sim_broken("the runs cannot be read: %s", err.msg);
    }
    for (size_t i = 0; i < n; i++) {
        n_attempts += check_run(s, rows[i].uid);
        run_row_done(&rows[i]);
    }
    if (n_attempts != disk.attempts.len) {
        sim_broken("%zu attempts are stored, %zu were acknowledged", n_attempts, disk.attempts.len);
    }
}

/* ---- the calls ---- */

/* Before a write: it may fail, or never happen. `is_reserved`: a full disk has room for it. */
static int begin_write_of(const char *uid, bool is_reserved, struct err *err)
{
    process_crash_within();
    const struct fault *bad;
    if (fault_is_on(FAULT_DISK_BAD_RUN, &bad)) {
        const struct sim_run *run = user_get(bad->n % user_count());
        if (run->uid != NULL && str_eq(run->uid, uid)) {
            sim_trace("disk: %.8s cannot be written", uid);
            return err_set(err, EBADMSG, "simulated: a damaged row");
        }
    }
    if (fault_is_on(FAULT_DISK_FULL, NULL) && !is_reserved) {
        sim_trace("disk: full");
        disk.is_full = true;
        soon_refused(FAULT_DISK_FULL);
        return err_set(err, ENOSPC, "simulated: no space left on device");
    }
    if (fault_is_on(FAULT_DISK_BUSY, NULL)) {
        static const int errors[] = {EIO, EROFS, EACCES, EPERM, ENOMEM, EBADMSG};
        const int code = sim_has_bad_disk(sim.seed) ? errors[sim.seed / 16 % 6] : EBUSY;
        sim_trace("disk: %s", strerrorname_np(code));
        return err_set(err, code, "simulated: %s", strerror(code));
    }
    disk.is_full = disk.is_full && is_reserved;
    return 0;
}

static int begin_write(const char *uid, struct err *err)
{
    return begin_write_of(uid, false, err);
}

static int put_run(struct store *s, const struct run_row *row, struct err *err)
{
    int r = begin_write(row->uid, err);
    r = r < 0 ? r : disk.real->put_run(s, row, err);
    process_crash_within();
    return r;
}

static int put_status(struct store *s, const char *uid, const struct run_status *status,
                      struct err *err)
{
    int r = begin_write(uid, err);
    r = r < 0 ? r : disk.real->put_status(s, uid, status, err);
    if (r >= 0) {
        sim_trace("disk: %.8s is %s %s, %u of %u done", uid, run_phase_to_string(status->phase),
                  status->reason, status->trials_done, status->trials_total);
        promise_status_saved(uid, status);
    }
    process_crash_within();
    return r;
}

static int rename_run(struct store *s, const char *uid, const char *name, struct err *err)
{
    int r = begin_write(uid, err);
    r = r < 0 ? r : disk.real->rename_run(s, uid, name, err);
    process_crash_within();
    return r;
}

static int delete_run(struct store *s, const char *uid, struct err *err)
{
    int r = begin_write_of(uid, true, err);
    r = r < 0 ? r : disk.real->delete_run(s, uid, err);
    if (r >= 0) {
        sim_trace("disk: %.8s is deleted", uid);
        promise_results_erased(uid);
        erase(uid);
    }
    process_crash_within();
    return r;
}

static int set_object(struct store *s, const char *uid, const char *ns, int64_t deleted_unix_ms,
                      struct err *err)
{
    int r = begin_write_of(uid, true, err);
    r = r < 0 ? r : disk.real->set_object(s, uid, ns, deleted_unix_ms, err);
    process_crash_within();
    return r;
}

static int sync_objects(struct store *s, const char *ns, const char *const *uids, size_t n,
                        int64_t now_unix_ms, size_t *ret_n_deleted, struct err *err)
{
    int r = begin_write_of("", true, err);
    r = r < 0 ? r : disk.real->sync_objects(s, ns, uids, n, now_unix_ms, ret_n_deleted, err);
    process_crash_within();
    return r;
}

static void get_space(struct store *s, struct store_space *ret)
{
    disk.real->get_space(s, ret);
    ret->is_full = disk.is_full;
}

static int try_space(struct store *s, struct err *err)
{
    (void)s;
    if (fault_is_on(FAULT_DISK_FULL, NULL)) {
        return err_set(err, ENOSPC, "simulated: no space left on device");
    }
    disk.is_full = false;
    return 0;
}

/* ---- claims: each is an open file ---- */

static int claim_run(struct store *s, const char *uid, struct err *err)
{
    int r = disk.real->claim_run(s, uid, err);
    if (r >= 0) {
        *vec_push(&disk.claims) = xstrdup(uid);
    }
    return r;
}

static void release_run(struct store *s, const char *uid)
{
    disk.real->release_run(s, uid);
    for (size_t i = disk.claims.len; i > 0; i--) {
        if (str_eq(disk.claims.items[i - 1], uid)) {
            free(disk.claims.items[i - 1]);
            disk.claims.items[i - 1] = disk.claims.items[--disk.claims.len];
        }
    }
}

bool disk_is_claimed(const char *uid)
{
    vec_each (char *, it, &disk.claims) {
        if (str_eq(*it, uid)) {
            return true;
        }
    }
    return false;
}

bool disk_has_run(struct store *s, const char *uid)
{
    struct run_brief brief;
    return disk.real->get_brief(s, uid, &brief, NULL) >= 0;
}

static int save_attempt(struct store *s, const char *uid, const struct attempt_row *row,
                        const struct trial_terms *terms, const struct replica_log *logs,
                        size_t n_logs, const struct packed_logs *packed, struct err *err)
{
    int r = begin_write(uid, err);
    r = r < 0 ? r : disk.real->save_attempt(s, uid, row, terms, logs, n_logs, packed, err);
    if (r >= 0) {
        sim_trace("disk: %.8s p%ut%ua%u is %s%s%s", uid, row->id.point, row->id.trial,
                  row->id.number, attempt_outcome_to_string(row->outcome),
                  row->error == NULL ? "" : ": ", row->error == NULL ? "" : row->error);
        keep(uid, row);
        promise_attempt_saved(uid, row, logs, n_logs);
    }
    process_crash_within();
    return r;
}

static int put_verdict(struct store *s, const char *uid, const struct run_verdict *verdict,
                       struct err *err)
{
    int r = begin_write(uid, err);
    r = r < 0 ? r : disk.real->put_verdict(s, uid, verdict, err);
    if (r >= 0) {
        sim_trace("disk: %.8s is judged", uid);
    }
    promise_verdict_saved(uid, r >= 0);
    process_crash_within();
    return r;
}

static int list_outcomes(struct store *s, const char *uid, struct attempt_row **ret, size_t *ret_n,
                         struct err *err)
{
    promise_attempts_read(uid);
    return disk.real->list_outcomes(s, uid, ret, ret_n, err);
}

static int add_event(struct store *s, const char *uid, const struct event_row *row, struct err *err)
{
    int r = begin_write(uid, err);
    r = r < 0 ? r : disk.real->add_event(s, uid, row, err);
    process_crash_within();
    return r;
}

const char *disk_url(void)
{
    return disk.url;
}

int disk_open(struct store **ret)
{
    struct err err;
    int r = store_open(disk.url, true, ret, &err);
    if (r < 0) {
        sim_broken("the store cannot be opened: %s", err.msg);
    }
    disk.real = (*ret)->ops;
    while (disk.claims.len > 0) { /* those of the process before are gone */
        free(disk.claims.items[--disk.claims.len]);
    }
    disk.is_full = false;
    disk.ops = *disk.real;
    disk.ops.put_run = put_run;
    disk.ops.put_status = put_status;
    disk.ops.rename_run = rename_run;
    disk.ops.delete_run = delete_run;
    disk.ops.save_attempt = save_attempt;
    disk.ops.add_event = add_event;
    disk.ops.put_verdict = put_verdict;
    disk.ops.list_outcomes = list_outcomes;
    disk.ops.set_object = set_object;
    disk.ops.sync_objects = sync_objects;
    disk.ops.get_space = get_space;
    disk.ops.try_space = try_space;
    disk.ops.claim_run = claim_run;
    disk.ops.release_run = release_run;
    (*ret)->ops = &disk.ops;
    return 0;
}
