/* What must hold, whatever goes wrong. Some promises are kept or broken at one event and are
 * checked there; what depends on everything is checked after each step, or at the end. */
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/phase.h"
#include "core/summary.h"
#include "daemon/run/run.h"
#include "spec/stop_rule.h"
#include "store/store.h"

#define REQUESTS_A_SECOND_MAX 300
#define STEPS_AT_ONCE_MAX 5000
#define LEASE_NS (15 * SIM_S)
#define JUDGED_NS (60 * SIM_S) /* a verdict was stored by then, if its process lived */

/* An attempt as it really went. */
struct truth {
    char *run_uid;
    struct attempt_id id;
    const char *excuse; /* NULL: nothing but benchd has touched it */
};
/* A run as the store has it. */
struct stored {
    char *uid;
    struct run_status status;
    int64_t ended_ns;    /* 0: it has not */
    int64_t wall_off_ns; /* of the process that ended it */
    int64_t judging_ns;  /* when it was judged last; 0: never */
    bool is_judged;
    bool may_judge_again; /* the verdict was lost */
};

/* What a row says of an attempt that was saved. */
struct figures {
    char *run_uid;
    struct attempt_id id;
    double throughput;
};

static struct {
    VEC(struct figures) figures;
    VEC(struct truth) attempts;
    VEC(struct stored) runs;
    int64_t second;
    unsigned n_requests; /* in that second */
    int64_t step_ns;
    unsigned n_steps; /* at that time */
    char open[256];
} promise;

static struct truth *find(const char *run_uid, const struct attempt_id *id)
{
    vec_each (struct truth, t, &promise.attempts) {
        if (str_eq(t->run_uid, run_uid) && attempt_id_eq(&t->id, id)) {
            return t;
        }
    }
    struct truth *t = vec_push(&promise.attempts);
    *t = (struct truth){.run_uid = xstrdup(run_uid), .id = *id};
    return t;
}

static struct stored *find_stored(const char *uid)
{
    vec_each (struct stored, s, &promise.runs) {
        if (str_eq(s->uid, uid)) {
            return s;
        }
    }
    return NULL;
}

void promise_excuse(const char *run_uid, const struct attempt_id *id, const char *why)
{
    find(run_uid, id)->excuse = why;
}

/* ---- nothing runs away ---- */

void promise_request_sent(void)
{
    if (sim.now_ns / SIM_S != promise.second) {
        promise.second = sim.now_ns / SIM_S;
        promise.n_requests = 0;
    }
    if (++promise.n_requests > REQUESTS_A_SECOND_MAX) {
        sim_broken("more than %d requests in a second", REQUESTS_A_SECOND_MAX);
    }
}

void promise_after_step(void)
{
    if (sim.now_ns != promise.step_ns) {
        promise.step_ns = sim.now_ns;
        promise.n_steps = 0;
    }
    if (++promise.n_steps > STEPS_AT_ONCE_MAX) {
        sim_broken("time stands still: a busy loop");
    }
}

/* ---- who writes ---- */

/* "create pod 'run-0-p0t0a0-trainer-0'" */
static const struct sim_run *run_of_pod(const char *what)
{
    static const char *const words = "create pod '";
    for (size_t i = user_count(); str_has_prefix(what, words) && i > 0; i--) {
        const char *name = what + strlen(words);
        const struct sim_run *r = user_get(i - 1); /* the youngest of the name */
        if (str_has_prefix(name, r->name) && str_has_prefix(name + strlen(r->name), "-p")) {
            return r;
        }
    }
    return NULL;
}

void promise_write_sent(const struct sim_process *p, const char *what)
{
    const struct sim_object *lease = server_find(KIND_LEASES, "benchd");
    const json_t *spec = lease == NULL ? NULL : json_object_get(lease->json, "spec");
    const char *holder = json_string_value(json_object_get(spec, "holderIdentity"));
    const bool is_others =
        holder != NULL && *holder != '\0' && !str_eq(holder, process_identity(p));
    /* A backup may bring back the name of a process that is gone, or a Lease that is free although
     * somebody had it; the next renewal shows that. */
    if ((is_others || user_rival_leads()) && !fault_was_on(FAULT_RESTORE, LEASE_NS)) {
        sim_broken("%s writes (%s) while %s holds the Lease", process_name(p), what,
                   user_rival_leads() ? "another benchd" : holder);
    }
    const struct sim_run *run = run_of_pod(what);
    const struct stored *stored = run == NULL || run->uid == NULL ? NULL : find_stored(run->uid);
    if (stored != NULL && run_phase_is_final(stored->status.phase)) {
        sim_broken("%s: %s of a run that is %s", process_name(p), what,
                   run_phase_to_string(stored->status.phase));
    }
}

/* ---- one attempt at a time, or one a lane ---- */

void promise_pod_created(const struct sim_pod *p)
{
    (void)find(p->run_uid, &p->id.attempt);
    hostile_check_pod(p);
    soon_accepted();
}

void promise_container_started(const struct sim_pod *p)
{
    place_check_others(p);
}

/* ---- a gang that runs is left alone ---- */

bool promise_has_row(const struct sim_pod *p)
{
    for (size_t i = 0; i < disk_n_attempts(); i++) {
        const struct disk_attempt *a = disk_get_attempt(i);
        if (str_eq(a->run_uid, p->run_uid) && attempt_id_eq(&a->id, &p->id.attempt)) {
            return true;
        }
    }
    return false;
}

/* A run that was parked while another one had its turn is Running in the store, as the other one
 * is: a process that starts then may take either first. */
static bool has_parked(void)
{
    return fault_was_on(FAULT_DISK_BAD_RUN, INT64_MAX / 2) ||
           (sim_has_bad_disk(sim.seed) && fault_was_on(FAULT_DISK_BUSY, INT64_MAX / 2));
}

void promise_pod_deleted(const struct sim_pod *p)
{
    const struct sim_run *run = user_find(p->run_uid);
    if (run == NULL || run->is_hostile || run->wishes != 0 || run->is_lost || run->back_ns != 0 ||
        find(p->run_uid, &p->id.attempt)->excuse != NULL || promise_has_row(p)) {
        return;
    }
    if (has_parked()) {
        promise_excuse(p->run_uid, &p->id.attempt, "a parked run has its turn");
        return;
    }
    if (place_lacks_room(p) || soon_may_be_late(run) ||
        printer_was_apart(p->run_uid, &p->id.attempt)) {
        return;
    }
    if (p->is_phase_told) {
        sim_broken("benchd deletes %s, which has ended, and its row is not stored", p->name);
    }
    if (node_is_alive(p) && !p->is_deleting) {
        sim_broken("benchd deletes %s, which runs, and nothing had happened to it", p->name);
    }
}

/* ---- results ---- */

static const struct sim_pod *container_of(const char *run_uid, const struct replica_id *id,
                                          uint64_t nonce, const char *what)
{
    const struct sim_pod *p = node_find_nonce(nonce);
    if (p == NULL || !str_eq(p->run_uid, run_uid) || !replica_id_eq(&p->id, id)) {
        sim_broken("%s of p%ut%ua%u %d/%u is of container %" PRIu64 ", which is %s", what,
                   id->attempt.point, id->attempt.trial, id->attempt.number, (int)id->role,
                   id->index, nonce, p == NULL ? "unknown" : p->name);
    }
    return p;
}

static void check_replica(const char *run_uid, const struct attempt_row *row,
                          const struct replica_row *r)
{
    const bool has_won = row->outcome == ATTEMPT_SUCCEEDED;
    if (r->summary == NULL) {
        if (has_won && r->id.role == ROLE_TRAINER) {
            sim_broken("an attempt succeeded without a summary of trainer/%u", r->id.index);
        }
        return;
    }
    if (sim_prints(sim.seed)) {
        return; /* printer_check_row */
    }
    const struct sim_pod *p = container_of(run_uid, &r->id, r->summary->samples, "a summary");
    if (has_won && !(p->container.has_ended && p->container.exit_code == 0)) {
        sim_broken("an attempt succeeded, but %s did not", p->name);
    }
}

/* A member that still ran when its attempt had failed is cut, and its log with it. */
static bool has_whole_log(const struct attempt_row *row, const struct replica_id *id)
{
    vec_each (const struct replica_row, r, &row->replicas) {
        if (replica_id_eq(&r->id, id)) {
            return r->exit_code >= 0 && row->outcome == ATTEMPT_SUCCEEDED;
        }
    }
    sim_broken("a log of a replica that is not in the row");
}

static void check_log(const char *run_uid, const struct attempt_row *row,
                      const struct replica_log *log)
{
    _cleanup_(freep) char *text = xstrndup(log->data, log->len);
    /* Logs are read by name: an earlier pod that had it may be back. */
    const bool is_doubtful = row->outcome == ATTEMPT_VOID && fault_was_on(FAULT_RESTORE, LEASE_NS);
    const bool is_rotated = row->outcome != ATTEMPT_SUCCEEDED && sim_prints(sim.seed);
    if (is_doubtful || is_rotated || strstr(text, "benchd: the log could not be read") != NULL) {
        return;
    }
    static const char *const words = "container ";
    if (!str_has_prefix(text, words)) {
        sim_broken("a log begins with '%.60s'", text);
    }
    const uint64_t nonce = strtoull(text + strlen(words), NULL, 10);
    logs_check(container_of(run_uid, &log->id, nonce, "a log"), text, has_whole_log(row, &log->id));
}

static void check_cause(const char *run_uid, const struct attempt_row *row)
{
    const struct sim_run *run = user_find(run_uid);
    const struct truth *t = find(run_uid, &row->id);
    /* Its own deletions, of which a process that starts then cannot know whose they are. */
    const bool is_cut =
        run != NULL && ((run->wishes & (WISH_CANCEL | WISH_SUSPEND)) != 0 || soon_may_be_late(run));
    if (printer_explains(run_uid, row) || (is_cut && row->outcome == ATTEMPT_VOID) ||
        (run != NULL && rows_explains(run, row))) {
        return;
    }
    if (row->outcome == ATTEMPT_SUCCEEDED || t->excuse != NULL || run == NULL || run->is_hostile ||
        (run->wishes & WISH_DELETE) != 0 || run->is_lost || run->back_ns != 0) {
        return;
    }
    sim_broken("attempt p%ut%ua%u is %s (%s), and nothing had happened to it", row->id.point,
               row->id.trial, row->id.number, attempt_outcome_to_string(row->outcome),
               row->error == NULL ? "" : row->error);
}

static void check_only_one(const char *run_uid, const struct attempt_row *row)
{
    unsigned n = 0;
    for (size_t i = 0; i < disk_n_attempts(); i++) {
        const struct disk_attempt *a = disk_get_attempt(i);
        n += str_eq(a->run_uid, run_uid) && a->id.point == row->id.point &&
             a->id.trial == row->id.trial && attempt_outcome_decides(a->outcome);
    }
    if (n > 1 && attempt_outcome_decides(row->outcome)) {
        sim_broken("p%ut%u is decided twice", row->id.point, row->id.trial);
    }
}

void promise_attempt_saved(const char *run_uid, const struct attempt_row *row,
                           const struct replica_log *logs, size_t n_logs)
{
    const struct stored *stored = find_stored(run_uid);
    if (stored != NULL && run_phase_is_final(stored->status.phase)) {
        sim_broken("an attempt of a run that is %s is saved",
                   run_phase_to_string(stored->status.phase));
    }
    vec_each (const struct replica_row, r, &row->replicas) {
        check_replica(run_uid, row, r);
        bool has_log = false;
        for (size_t i = 0; i < n_logs; i++) {
            has_log = has_log || replica_id_eq(&logs[i].id, &r->id);
        }
        if (r->exit_code >= 0 && !has_log) {
            sim_broken("p%ut%ua%u is saved without the log of %d/%u", row->id.point, row->id.trial,
                       row->id.number, (int)r->id.role, r->id.index);
        }
    }
    for (size_t i = 0; i < n_logs; i++) {
        check_log(run_uid, row, &logs[i]);
    }
    check_cause(run_uid, row);
    rows_check(run_uid, row);
    check_only_one(run_uid, row);
    const uint32_t sizes[ROLE_COUNT] = {!sim_prints(sim.seed), row->id.point + 1, 0,
                                        0}; /* user.c, definition() */
    *vec_push(&promise.figures) =
        (struct figures){xstrdup(run_uid), row->id, throughput_of_attempt(row, sizes)};
}

void promise_status_saved(const char *run_uid, const struct run_status *status)
{
    struct stored *s = find_stored(run_uid);
    if (s == NULL) {
        s = vec_push(&promise.runs);
        *s = (struct stored){.uid = xstrdup(run_uid)};
    } else if (run_phase_is_final(s->status.phase)) {
        sim_broken("a run that is %s is written again as %s", run_phase_to_string(s->status.phase),
                   run_phase_to_string(status->phase));
    }
    s->status = *status;
    s->ended_ns = run_phase_is_final(status->phase) ? sim.now_ns : 0;
    s->wall_off_ns = process_wall_off_ns();
}

/* ---- a finished run costs nothing ---- */

void promise_attempts_read(const char *run_uid)
{
    const struct stored *s = find_stored(run_uid);
    if (s != NULL && run_phase_is_final(s->status.phase)) {
        sim_broken("the attempts of a run that is %s are read",
                   run_phase_to_string(s->status.phase));
    }
}

static void judging_began(const char *run_uid)
{
    struct stored *s = find_stored(run_uid);
    if (s == NULL || s->ended_ns == 0) {
        sim_broken("%s is judged before its end", run_uid);
    }
    if (s->judging_ns != 0 && !s->may_judge_again) {
        sim_broken("a run that is %s is judged again", run_phase_to_string(s->status.phase));
    }
    s->judging_ns = sim.now_ns;
    s->may_judge_again = false;
}

void promise_verdict_saved(const char *run_uid, bool is_stored)
{
    struct stored *s = find_stored(run_uid);
    if (s == NULL || s->ended_ns == 0 || s->is_judged) {
        sim_broken("%s gets a verdict %s", run_uid,
                   s != NULL && s->is_judged ? "twice" : "before its end");
    }
    s->is_judged = is_stored;
    s->may_judge_again = !is_stored;
}

/* What it knew and had not stored is lost with it: a verdict. */
void promise_process_gone(void)
{
    vec_each (struct stored, s, &promise.runs) {
        if (s->judging_ns != 0 && !s->is_judged && sim.now_ns - s->judging_ns < JUDGED_NS) {
            s->may_judge_again = true;
        }
    }
}

struct summarize_run *__real_summarize_run_start(struct uv_loop_s *loop, const char *store_url,
                                                 const char *uid, summarize_run_done_fn on_done,
                                                 void *ctx);
struct summarize_run *__wrap_summarize_run_start(struct uv_loop_s *loop, const char *store_url,
                                                 const char *uid, summarize_run_done_fn on_done,
                                                 void *ctx);
struct summarize_run *__wrap_summarize_run_start(struct uv_loop_s *loop, const char *store_url,
                                                 const char *uid, summarize_run_done_fn on_done,
                                                 void *ctx)
{
    judging_began(uid);
    return __real_summarize_run_start(loop, store_url, uid, on_done, ctx);
}

static bool is_final_phase(const char *phase)
{
    static const char *const finals[] = {"Succeeded", "PartiallyFailed", "Failed", "Cancelled"};
    for (size_t i = 0; i < sizeof(finals) / sizeof(finals[0]); i++) {
        if (str_eq(phase, finals[i])) {
            return true;
        }
    }
    return false;
}

void promise_status_applied(const char *run_uid, const char *phase, bool is_change,
                            int64_t process_began_ns)
{
    struct sim_run *r = user_find(run_uid);
    const struct stored *s = find_stored(run_uid);
    if (r == NULL || s == NULL || s->ended_ns == 0) {
        return;
    }
    if (is_final_phase(phase) && s->judging_ns == 0) {
        sim_broken("%s is %s in its object before it is judged", r->name, phase);
    }
    if (!is_change && r->settled_ns != 0 && process_began_ns > r->settled_ns) {
        sim_broken("the status of %s is written again as it was, %d s after its end", r->name,
                   (int)((sim.now_ns - s->ended_ns) / SIM_S));
    }
    r->settled_ns = sim.now_ns;
}

/* ---- results and objects stay ---- */

void promise_object_expires(const char *run_uid)
{
    const struct sim_run *r = user_find(run_uid);
    const struct stored *s = find_stored(run_uid);
    if (r == NULL || !r->is_brief) {
        sim_broken("benchd deletes the object of %s, which does not expire",
                   r == NULL ? run_uid : r->name);
    }
    const bool is_early =
        s != NULL && (s->ended_ns == 0 || (s->wall_off_ns == process_wall_off_ns() &&
                                           sim.now_ns < s->ended_ns + (SIM_TTL_S - 1) * SIM_S));
    if (is_early) {
        sim_broken("benchd deletes the object of %s before its time to live is over", r->name);
    }
}

/* If a backup brings its object back, the run begins anew. */
static void forget_stored(const char *uid)
{
    struct stored *s = find_stored(uid);
    if (s != NULL) {
        free(s->uid);
        *s = promise.runs.items[--promise.runs.len];
    }
}

void promise_results_erased(const char *run_uid)
{
    const struct sim_run *r = user_find(run_uid);
    if (r == NULL) {
        sim_broken("results of a run that nobody created are erased: %s", run_uid);
    }
    forget_stored(run_uid);
    if ((r->wishes & WISH_ERASE) != 0 || soon_is_back_unseen(r)) {
        return;
    }
    if (r->gone_ns == 0 || ((r->wishes & WISH_DELETE) == 0 && !r->is_lost)) {
        sim_broken("the results of %s are erased, and nobody deleted it", r->name);
    }
    if (!sim.has_stepped && sim.now_ns < r->gone_ns + (SIM_UNDELETE_S - 1) * SIM_S) {
        sim_broken("the results of %s are erased %d s after its object was deleted", r->name,
                   (int)((sim.now_ns - r->gone_ns) / SIM_S));
    }
}

const struct run_status *promise_end_of(const char *run_uid, int64_t *ret_ended_ns)
{
    const struct stored *s = find_stored(run_uid);
    if (s == NULL || s->ended_ns == 0) {
        return NULL;
    }
    *ret_ended_ns = s->ended_ns;
    return &s->status;
}

/* ---- the end ---- */

/* "run-0 has not ended" */
static bool is_open(const char *name, const char *what)
{
    (void)snprintf(promise.open, sizeof(promise.open), "%s %s", name, what);
    return false;
}

/* One that ended in the future, as the date is now, may take hours to expire. */
static bool ended_in_future(const struct stored *s)
{
    return s != NULL && s->wall_off_ns > process_wall_off_ns();
}

/* Its name is that of such a run, which came back from a backup. */
static bool waits_for_future(const struct sim_run *r)
{
    const struct sim_object *o = server_find(KIND_RUNS, r->name);
    return o != NULL && ended_in_future(find_stored(o->uid));
}

bool promise_is_settled(const char **ret_why)
{
    *ret_why = promise.open;
    if (user_is_suspended()) {
        return is_open("a run", "is suspended");
    }
    for (size_t i = 0; i < user_count(); i++) {
        const struct sim_run *r = user_get(i);
        if (r->uid == NULL && waits_for_future(r)) {
            continue;
        }
        if (r->uid == NULL) {
            return is_open(r->name, "is not created yet");
        }
        const bool is_deleted = (r->wishes & WISH_DELETE) != 0 || r->is_lost;
        const struct stored *s = find_stored(r->uid);
        const bool is_brief = r->is_brief && s != NULL && !ended_in_future(s);
        if ((is_deleted || is_brief) && user_object_of(r) != NULL) {
            return is_open(r->name, is_deleted ? "is deleted and still there" : "has not expired");
        }
        const bool has_expired = r->is_brief && user_object_of(r) == NULL;
        if (!is_deleted && !has_expired && !is_final_phase(user_phase_in_object(r))) {
            return is_open(r->name, "has not ended");
        }
        if (disk_is_claimed(r->uid)) { /* one that is parked is let go when it is tried again */
            return is_open(r->name, "has ended and still has an open file");
        }
    }
    for (size_t i = 0; i < node_count(); i++) {
        const struct sim_pod *p = node_get(i);
        if (p->object != NULL && !p->container.has_ended && p->rejection == NULL) {
            return is_open(p->name, "is still there");
        }
    }
    return process_is_running() ? true : is_open("benchd", "does not run");
}

static const struct figures *find_figures(const struct disk_attempt *a)
{
    vec_each (const struct figures, f, &promise.figures) {
        if (str_eq(f->run_uid, a->run_uid) && attempt_id_eq(&f->id, &a->id)) {
            return f;
        }
    }
    return NULL;
}

/* A point has as many trials as its first ones ask for, and no more. */
static void check_stop_rule(const struct sim_run *r, const struct stored *s, uint32_t point)
{
    const struct spec spec = {
        .min_repeats = SIM_MIN_TRIALS, .repeats = SIM_MAX_TRIALS, .stop = {true, SIM_HALF_WIDTH}};
    double values[SIM_MAX_TRIALS];
    uint32_t n = 0;
    for (uint32_t trial = 0; trial < SIM_MAX_TRIALS; trial++) {
        for (size_t i = 0; i < disk_n_attempts(); i++) {
            const struct disk_attempt *a = disk_get_attempt(i);
            const struct figures *f = find_figures(a);
            if (str_eq(a->run_uid, r->uid) && a->id.point == point && a->id.trial == trial &&
                a->outcome == ATTEMPT_SUCCEEDED && f != NULL && f->throughput > 0) {
                values[n++] = f->throughput;
            }
        }
    }
    const uint32_t needed = stop_rule_needed(&spec, values, n);
    if (n > needed || (n < needed && s->status.phase == RUN_SUCCEEDED)) {
        sim_broken("%s is %s with %u trials of point %u, which needs %u", r->name, s->status.reason,
                   n, point, needed);
    }
}

static void check_run(const struct sim_run *r)
{
    const struct stored *s = find_stored(r->uid);
    uint32_t n_won = 0;
    bool has_failed = false;
    for (size_t i = 0; i < disk_n_attempts(); i++) {
        const struct disk_attempt *a = disk_get_attempt(i);
        if (str_eq(a->run_uid, r->uid)) {
            n_won += a->outcome == ATTEMPT_SUCCEEDED;
            has_failed = has_failed || a->outcome == ATTEMPT_FAILED ||
                         a->outcome == ATTEMPT_METRICS_UNAVAILABLE; /* see check_cause */
        }
    }
    if (r->is_hostile) {
        if (str_eq(user_phase_in_object(r), "Succeeded")) {
            sim_broken("%s asks for what is benchd's own, and is Succeeded", r->name);
        }
        return;
    }
    if (s == NULL) {
        if ((r->wishes & WISH_CANCEL) == 0) {
            sim_broken("%s ended as '%s' and is not in the store", r->name,
                       user_phase_in_object(r));
        }
        return;
    }
    const char *phase = run_phase_to_string(s->status.phase);
    if (!r->is_brief && !str_eq(phase, user_phase_in_object(r))) {
        sim_broken("%s is %s in the store and %s in its object", r->name, phase,
                   user_phase_in_object(r));
    }
    for (uint32_t i = 0; r->stops_early && i < r->n_points; i++) {
        check_stop_rule(r, s, i);
    }
    if (s->status.phase == RUN_SUCCEEDED && n_won != r->n_trials && !r->stops_early) {
        sim_broken("%s succeeded with %u of %u trials", r->name, n_won, r->n_trials);
    }
    const bool is_late = str_eq(s->status.reason, "DeadlineExceeded");
    if (is_late && !soon_may_be_late(r)) {
        sim_broken("%s has passed its deadline with %d s of its own", r->name,
                   (int)(r->own_ns / SIM_S));
    }
    /* Its object was lost, which cancels it, and came back. */
    const bool was_lost = r->back_ns != 0 && s->status.phase == RUN_CANCELLED;
    if (s->status.phase != RUN_SUCCEEDED && (r->wishes & WISH_CANCEL) == 0 && !has_failed &&
        !is_late && !was_lost) {
        sim_broken("%s is %s (%s), and nobody wanted that", r->name, phase, s->status.message);
    }
}

void promise_at_end(void)
{
    const char *why;
    if (!promise_is_settled(&why)) {
        sim_broken("it was settled, and now %s", why);
    }
    disk_check(process_store());
    for (size_t i = 0; i < user_count(); i++) {
        const struct sim_run *r = user_get(i);
        if (r->uid != NULL && (r->wishes & WISH_DELETE) == 0 && !r->is_lost) {
            check_run(r);
        }
    }
}
