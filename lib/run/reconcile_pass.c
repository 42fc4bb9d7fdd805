/* One reconcile pass of the driver, see reconcile_pass.h. */
#include "run/reconcile_pass.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/summary.h"
#include "decide/policy_end.h"
#include "decide/policy_overlap.h"
#include "decide/reconcile.h"
#include "run/attempt.h"
#include "run/attempt_packer.h"
#include "run/prometheus.h"
#include "spec/profile.h"

#define BUSY_RETRY_MS 1000 /* another process writes to the store */
#define FULL_RETRY_MS 5000 /* the disk of the store is full */

/* Does a decision need more of a row than its outcome? */
static bool depends_on_figures(const struct run_def *def)
{
    return def->spec->stop.is_set;
}

/* What the store has acknowledged. */
static void remember(struct reconcile_pass *p, const struct attempt_row *row)
{
    const struct run_def *def = p->params.def;
    const bool is_known = row->id.point < def->matrix.n_points;
    attempt_history_add(&p->history,
                        &(struct history_row){
                            .id = row->id,
                            .outcome = row->outcome,
                            .error = row->error,
                            .throughput = is_known && depends_on_figures(def)
                                              ? throughput_of_attempt(
                                                    row, def->matrix.points[row->id.point].replicas)
                                              : NAN,
                        });
}

static int read_rows(struct reconcile_pass *p, const struct attempt_wanted *wanted, struct err *err)
{
    struct store *store = p->params.store;
    const char *uid = p->params.def->uid;
    struct attempt_row *rows = NULL;
    size_t n = 0;
    int r = wanted == NULL ? store->ops->list_outcomes(store, uid, &rows, &n, err)
                           : store->ops->list_wanted(store, uid, wanted, &rows, &n, err);
    if (r < 0) {
        return err_wrap(err, r, "read the attempts of run '%s'", p->params.def->name);
    }
    for (size_t i = 0; i < n; i++) {
        remember(p, &rows[i]);
        attempt_row_done(&rows[i]);
    }
    free(rows);
    return 0;
}

/* An attempt that was preempted has no row: its event counts. */
static void count_event(struct reconcile_pass *p, const char *reason)
{
    p->history.counts.preempted += str_eq(reason, PREEMPTED_EVENT);
}

static int read_events(struct reconcile_pass *p, struct err *err)
{
    struct store *store = p->params.store;
    struct event_row *events = NULL;
    size_t n = 0;
    int r = store->ops->list_events(store, p->params.def->uid, &events, &n, err);
    for (size_t i = 0; i < n; i++) {
        count_event(p, events[i].reason);
        free(events[i].reason);
        free(events[i].note);
    }
    free(events);
    return r < 0 ? err_wrap(err, r, "read the events of run '%s'", p->params.def->name) : 0;
}

int reconcile_pass_init(struct reconcile_pass *p, const struct driver_params *params,
                        struct err *err)
{
    *p = (struct reconcile_pass){.params = *params, .status = params->status};
    const struct run_def *def = params->def;
    attempt_history_init(&p->history, def);
    int r = read_events(p, err);
    if (r < 0 || !depends_on_figures(def)) {
        return r < 0 ? r : read_rows(p, NULL, err);
    }
    for (uint32_t i = 0; i < def->matrix.n_points && r == 0; i++) {
        /* One point at a time: with their replicas the rows of a run may be
         * larger than the memory. */
        r = read_rows(p, &(struct attempt_wanted){.point = i, .trial = -1, .number = -1}, err);
    }
    return r;
}

void reconcile_pass_done(struct reconcile_pass *p)
{
    attempt_packer_free(p->packer);
    attempt_history_done(&p->history);
    vec_each (struct failed_create, s, &p->failed_create) {
        free(s->message);
    }
    vec_done(&p->failed_create);
    free(p->unknown_metrics);
}

static int64_t now_unix_ms(const struct reconcile_pass *p)
{
    const struct wall_clock *clock = &p->params.clock;
    return clock->unix_ms == NULL ? clock_steady_unix_ms() : clock->unix_ms(clock->ctx);
}

/* The launcher's replicas and the failed_create ones; the caller owns the array. */
static int observe(struct reconcile_pass *p, struct observed_replica **ret, size_t *ret_n,
                   struct err *err)
{
    struct launcher *launcher = p->params.launcher;
    struct observed_replica *replicas = NULL;
    size_t n = 0;
    int r = launcher->ops->observe(launcher, &replicas, &n, err);
    if (r < 0) {
        return err_wrap(err, r, "observe the replicas");
    }
    if (p->failed_create.len > 0) {
        replicas = xreallocarray(replicas, n + p->failed_create.len, sizeof(*replicas));
    }
    vec_each (struct failed_create, s, &p->failed_create) {
        replicas[n++] = (struct observed_replica){
            .id = s->id,
            .state = REPLICA_FAILED,
            .failure = s->failure,
            .exit_code = -1,
            .ended_unix_ms = s->ended_unix_ms,
            .message = s->message,
        };
    }
    *ret = replicas;
    *ret_n = n;
    return 0;
}

/* Trainer 0 of benchworker looks at the machine where it can; around all other
 * attempts the launcher does. */
static bool is_probed(const struct run_def *def, const struct point *point)
{
    const struct system *system = &def->spec->systems.items[point->system];
    const struct exchange_mode mode = point_exchange(def->spec, point).mode;
    return system->log != NULL || !str_eq(system->profile, PROFILE_NATIVE) ||
           !noise_worker_looks(point->exchange, def->spec->warmup_steps > 0, &mode);
}

static int try_create(struct reconcile_pass *p, const struct replica_id *id, struct err *err)
{
    const struct run_def *def = p->params.def;
    struct launcher *launcher = p->params.launcher;
    const struct point *point = &def->matrix.points[id->attempt.point];
    struct gang_spec gang = {.attempt = id->attempt,
                             .threads = (uint32_t)point->threads,
                             .is_emulated = def->spec->workload.compute == COMPUTE_EMULATED,
                             .is_probed = is_probed(def, point),
                             .link = point->link};
    memcpy(gang.replicas, point->replicas, sizeof(gang.replicas));
    struct gang_addresses addresses;
    int r = launcher->ops->prepare(launcher, &gang, &addresses, err);
    if (r < 0) {
        return r;
    }
    struct replica_spec spec = {.id = *id};
    r = launcher->ops->takes_ids ? 0 : replica_spec_build(def, id, &addresses, &spec, err);
    if (r < 0) {
        return r;
    }
    r = launcher->ops->create(launcher, &spec, err);
    replica_spec_done(&spec);
    return r;
}

/* False: it is failed_create now, so the rest of the plan is out of date. */
static bool create(struct reconcile_pass *p, const struct replica_id *id)
{
    struct err err;
    int r = try_create(p, id, &err);
    if (r >= 0) {
        return true;
    }
    *vec_push(&p->failed_create) = (struct failed_create){
        .id = *id,
        .failure = launcher_classify_errno(-r),
        .ended_unix_ms = now_unix_ms(p),
        .message = xstrdup(err.msg),
    };
    return false;
}

/* cleanPodPolicy may keep a pod that has ended, so that people can inspect it. */
static bool keeps_ended_pod(const struct reconcile_pass *p, const struct observed_replica *replica)
{
    const struct history_attempt *row = attempt_history_find(&p->history, &replica->id.attempt);
    const bool has_ended = replica->state == REPLICA_SUCCEEDED || replica->state == REPLICA_FAILED;
    return row != NULL && has_ended &&
           cleanup_keeps_ended(p->params.def->spec->run_policy.clean_pod_policy, row->outcome);
}

static void delete (struct reconcile_pass *p, const struct replica_id *id,
                    const struct observed_replica *seen, size_t n_seen)
{
    struct failed_create *failed = vec_find(&p->failed_create, it, replica_id_eq(&it->id, id));
    if (failed != NULL) {
        free(failed->message);
        *failed = p->failed_create.items[--p->failed_create.len];
    } else {
        p->params.launcher->ops->remove(
            p->params.launcher, id,
            array_any(seen, n_seen, it, replica_id_eq(&it->id, id) && keeps_ended_pod(p, it)));
    }
}

/* An attempt takes the time from when its last member ran to when all had ended, however long that
 * waited and whether or not any process looked. One that is ended takes until now; one of
 * which nothing ran takes no time. */
static void set_times(struct attempt_row *row, const struct observed_replica *seen, size_t n_seen,
                      int64_t now_ms)
{
    int64_t start_ms = 0, end_ms = 0;
    for (size_t i = 0; i < n_seen; i++) {
        const struct observed_replica *r = &seen[i];
        if (attempt_id_eq(&r->id.attempt, &row->id)) {
            const int64_t ms = r->ended_unix_ms == 0      ? now_ms
                               : r->finished_unix_ms == 0 ? r->ended_unix_ms
                                                          : r->finished_unix_ms;
            start_ms = r->started_unix_ms > start_ms ? r->started_unix_ms : start_ms;
            end_ms = ms > end_ms ? ms : end_ms;
        }
    }
    row->ended_unix_ms = end_ms;
    row->started_unix_ms = start_ms == 0 || start_ms > end_ms ? end_ms : start_ms;
}

/* How much of its time a gang was whole. */
static void add_overlap(const struct run_def *def, struct attempt_output *output,
                        const struct observed_replica *seen, size_t n_seen)
{
    const uint32_t *sizes = def->matrix.points[output->row.id.point].replicas;
    _cleanup_(metrics_done) struct metrics metrics = {0};
    if (output->row.outcome == ATTEMPT_SUCCEEDED && member_count(sizes) > 1) {
        struct overlap overlap;
        overlap_find(seen, n_seen, &output->row.id, sizes, &overlap);
        metrics_set(&metrics, METRIC_START_SPREAD, overlap.start_spread_s);
        metrics_set(&metrics, METRIC_SHARED, overlap.shared_ratio);
        attempt_add_metrics(output, sizes, &metrics);
    }
}

static int write_attempt(struct reconcile_pass *p, struct attempt_output *output,
                         const struct packed_logs *packed, struct err *err)
{
    struct store *store = p->params.store;
    const struct run_def *def = p->params.def;
    const struct trial_terms terms = run_def_terms(def, output->row.id.point);
    const int r = store->ops->save_attempt(store, def->uid, &output->row, &terms,
                                           output->logs.items, output->logs.len, packed, err);
    if (r < 0) {
        return r; /* the store's message names the attempt */
    }
    if (p->params.events.attempt != NULL) {
        p->params.events.attempt(p->params.events.ctx, &output->row);
    }
    remember(p, &output->row);
    return 0;
}

/* -EAGAIN: outputs are being fetched or packed. */
static int save_packed(struct reconcile_pass *p, const struct action *action, struct err *err)
{
    struct attempt_output *output;
    struct packed_logs *packed;
    int r = attempt_packer_get(p->packer, &action->save.id, &output, &packed, err);
    if (r < 0) {
        return r;
    }
    attempt_set_verdict(&output->row, action); /* it may be another one by now */
    r = write_attempt(p, output, packed, err);
    if (r == 0) {
        attempt_packer_drop(p->packer, &action->save.id);
    }
    return r;
}

static int add_metrics(struct reconcile_pass *p, struct attempt_output *output, struct err *err);

static int save(struct reconcile_pass *p, const struct action *action,
                const struct observed_replica *seen, size_t n_seen, struct err *err)
{
    if (p->packer != NULL && attempt_packer_has(p->packer, &action->save.id)) {
        return save_packed(p, action, err);
    }
    struct attempt_output output;
    int r = attempt_collect(p->params.launcher, action, seen, n_seen, &output, err);
    if (r < 0) {
        return r;
    }
    set_times(&output.row, seen, n_seen, now_unix_ms(p));
    add_overlap(p->params.def, &output, seen, n_seen);
    r = add_metrics(p, &output, err);
    if (r < 0) {
        attempt_output_done(&output);
        return r;
    }
    if (p->packer != NULL) {
        attempt_packer_start(p->packer, &output);
        return -EAGAIN;
    }
    r = write_attempt(p, &output, NULL, err);
    attempt_output_done(&output);
    return r;
}

/* The wanted status, except that a lane names an attempt only when all its members are known to
 * exist, or when it goes. */
static struct run_status status_so_far(const struct reconcile_pass *p,
                                       const struct run_status *status)
{
    struct run_status s = *status;
    const struct launcher *launcher = p->params.launcher;
    for (size_t i = 0; i < LANES_MAX && launcher->ops->is_settling != NULL; i++) {
        const struct run_lane *lane = &status->lanes[i];
        if ((lane->has_current || i == 0) && !lane->is_cut_short &&
            launcher->ops->is_settling(launcher, lane->has_current ? &lane->current : NULL)) {
            s.lanes[i] = p->status.lanes[i];
        }
    }
    return s;
}

/* 1: written, 0: nothing to write yet. */
static int patch_status(struct reconcile_pass *p, const struct run_status *wanted, struct err *err)
{
    struct store *store = p->params.store;
    const struct run_status status = status_so_far(p, wanted);
    if (run_status_eq(&status, &p->status)) {
        return 0;
    }
    int r = store->ops->put_status(store, p->params.def->uid, &status, err);
    if (r < 0) {
        return err_wrap(err, r, "write the run's status");
    }
    p->status = status;
    if (p->params.events.status != NULL) {
        p->params.events.status(p->params.events.ctx, &p->status);
    }
    return 1;
}

static int emit(struct reconcile_pass *p, const struct action *a, struct err *err)
{
    struct store *store = p->params.store;
    struct event_row row = {
        .unix_ms = now_unix_ms(p),
        .type = a->event.type,
        .reason = (char *)a->event.reason, /* borrowed: the store copies */
        .note = (char *)a->event.note,
    };
    int r = store->ops->add_event(store, p->params.def->uid, &row, err);
    if (r < 0) {
        return err_wrap(err, r, "write an event");
    }
    count_event(p, a->event.reason);
    if (p->params.events.event != NULL) {
        p->params.events.event(p->params.events.ctx, row.type, row.reason, row.note);
    }
    return 0;
}

/* -EAGAIN: Prometheus has not answered. What stays unknown is an event, once for the same cause. */
static int add_metrics(struct reconcile_pass *p, struct attempt_output *output, struct err *err)
{
    _cleanup_(buf_done) struct buf why = BUF_INIT;
    struct prometheus *prometheus = p->params.prometheus;
    int r = 0;
    if (p->params.def->spec->metrics.len == 0 || output->row.outcome != ATTEMPT_SUCCEEDED) {
        return 0;
    }
    if (prometheus == NULL) {
        buf_puts(&why, "no Prometheus is known; add --prometheus URL");
    } else {
        r = prometheus_add(prometheus, p->params.def, output, &why);
    }
    if (r < 0 || why.len == 0 ||
        (p->unknown_metrics != NULL && str_eq(p->unknown_metrics, buf_cstr(&why)))) {
        return r;
    }
    const struct attempt_id *id = &output->row.id;
    struct action event = {.kind = ACTION_EMIT_EVENT, .event.type = EVENT_WARNING};
    text_put(event.event.reason, sizeof(event.event.reason), "MetricUnknown");
    text_put(event.event.note, sizeof(event.event.note), "since point %u, trial %u: %s", id->point,
             id->trial, buf_cstr(&why));
    free(p->unknown_metrics);
    p->unknown_metrics = buf_take(&why);
    return emit(p, &event, err);
}

/* What applying a plan has led to. */
struct applied {
    bool is_changed; /* something was done */
    int64_t wait_ms; /* until the next pass; -1: no time was asked for */
};

/* 1: apply the next action. 0: the rest of the plan is out of date or must wait. Or an error. */
static int apply(struct reconcile_pass *p, const struct action *a,
                 const struct observed_replica *seen, size_t n_seen, struct applied *applied,
                 struct err *err)
{
    int r = 0;
    switch (a->kind) {
    case ACTION_CREATE_REPLICA:
        applied->is_changed = true;
        return create(p, &a->replica);
    case ACTION_DELETE_REPLICA:
        applied->is_changed = true;
        delete (p, &a->replica, seen, n_seen);
        break;
    case ACTION_SAVE_RESULT:
        r = save(p, a, seen, n_seen, err);
        if (r == -EAGAIN) {
            return 0; /* outputs are being fetched or packed; on_change follows */
        }
        applied->is_changed = true;
        break;
    case ACTION_PATCH_STATUS:
        r = patch_status(p, &a->status, err);
        applied->is_changed |= r > 0;
        break;
    case ACTION_EMIT_EVENT:
        r = emit(p, a, err);
        break;
    case ACTION_REQUEUE_AFTER:
        if (applied->wait_ms < 0 || a->requeue_ms < applied->wait_ms) {
            applied->wait_ms = a->requeue_ms;
        }
        break;
    }
    return r < 0 ? r : 1;
}

static bool is_removing(const struct reconcile_pass *p)
{
    const struct launcher *launcher = p->params.launcher;
    return launcher->ops->is_removing != NULL && launcher->ops->is_removing(launcher);
}

/* The first action after the deletions of a plan that ends or suspends the run; NULL: it does
 * neither. */
static const struct action *find_end(const struct plan *plan)
{
    const struct action *first = plan->actions.items;
    bool is_end = false;
    vec_each (const struct action, a, &plan->actions) {
        is_end =
            is_end || (a->kind == ACTION_PATCH_STATUS &&
                       (run_phase_is_final(a->status.phase) || a->status.phase == RUN_SUSPENDED));
        first = a->kind == ACTION_DELETE_REPLICA ? a + 1 : first;
    }
    return is_end ? first : NULL;
}

static struct run_wait wait_of(const struct reconcile_pass *p)
{
    const struct launcher *launcher = p->params.launcher;
    struct run_wait wait = {0};
    if (launcher->ops->wait != NULL) {
        launcher->ops->wait(launcher, &wait);
    }
    return wait;
}

/* The status that ends the run cannot be written yet: says why. */
static int tell_late_end(struct reconcile_pass *p, struct applied *applied, struct err *err)
{
    const struct run_wait wait = wait_of(p);
    struct action event = {.kind = ACTION_EMIT_EVENT, .event.type = EVENT_WARNING};
    text_put(event.event.reason, sizeof(event.event.reason), "%s", wait.reason);
    text_put(event.event.note, sizeof(event.event.note), "%s", wait.text);
    int r = wait_is_news(&wait, &p->status) ? emit(p, &event, err) : 0;
    struct run_status status = p->status;
    wait_put(&wait, &status);
    r = r < 0 ? r : patch_status(p, &status, err);
    applied->is_changed |= r > 0;
    return r < 0 ? r : 0;
}

static int apply_all(struct reconcile_pass *p, const struct plan *plan,
                     const struct observed_replica *seen, size_t n_seen, struct applied *applied,
                     struct err *err)
{
    const struct action *end = find_end(plan);
    vec_each (struct action, a, &plan->actions) {
        if (a == end && is_removing(p)) {
            /* Nothing removes replicas of a run that has ended, so first
             * confirm that they are gone. */
            return tell_late_end(p, applied, err);
        }
        int r = apply(p, a, seen, n_seen, applied, err);
        if (r <= 0) {
            return r;
        }
    }
    return 0;
}

/* While the disk is full a run that has started cannot go on: its start moves, as in any wait for
 * others. One that is paused moves it when that is over. */
static void skip_full_time(struct reconcile_pass *p, int64_t now_ms)
{
    const bool is_counting = p->status.started_unix_ms > 0 && p->status.ended_unix_ms == 0;
    if (p->full_unix_ms > 0 && is_counting && now_ms > p->full_unix_ms) {
        p->status.started_unix_ms += now_ms - p->full_unix_ms;
    }
    p->full_unix_ms = 0;
}

int reconcile_pass_once(struct reconcile_pass *p, int64_t *ret_wait_ms, struct err *err)
{
    _cleanup_(freep) struct observed_replica *seen = NULL;
    size_t n_seen = 0;
    struct launcher *launcher = p->params.launcher;
    if (launcher->ops->end_after_steps != NULL) {
        launcher->ops->end_after_steps(launcher);
    }
    int r = observe(p, &seen, &n_seen, err);
    if (r < 0) {
        return r;
    }
    const int64_t now_ms = now_unix_ms(p);
    skip_full_time(p, now_ms);
    struct observed observed = {
        .def = p->params.def,
        .request = p->request,
        .wait = wait_of(p),
        .now_unix_ms = now_ms,
        .status = p->status,
        .replicas = seen,
        .n_replicas = n_seen,
        .where = p->params.where,
        .history = &p->history,
    };
    struct plan plan = {0};
    reconcile(&observed, &plan);
    struct applied applied = {.wait_ms = -1};
    r = apply_all(p, &plan, seen, n_seen, &applied, err);
    plan_done(&plan);
    if (r == -EBUSY) { /* nothing was written; what is still due is planned anew */
        *ret_wait_ms = BUSY_RETRY_MS;
        return PASS_WAIT;
    }
    if (r == -ENOSPC && p->params.waits_for_space) { /* the same; pods and their results stay */
        p->full_unix_ms = now_ms;
        *ret_wait_ms = FULL_RETRY_MS;
        return PASS_WAIT;
    }
    if (r < 0) {
        return r;
    }
    *ret_wait_ms = applied.wait_ms;
    if (applied.is_changed) {
        return PASS_AGAIN;
    }
    const bool is_paused = p->request == REQUEST_SUSPEND && p->status.phase == RUN_SUSPENDED;
    const bool is_over = (run_phase_is_final(p->status.phase) || is_paused) && !is_removing(p);
    return is_over && n_seen == 0 ? PASS_FINISHED : PASS_WAIT;
}

/* The store may be what is broken, so only listeners hear why it takes so long. */
static void say_late_end(struct reconcile_pass *p)
{
    const struct run_wait wait = wait_of(p);
    if (wait_is_news(&wait, &p->status)) {
        wait_put(&wait, &p->status);
        if (p->params.events.status != NULL) {
            p->params.events.status(p->params.events.ctx, &p->status);
        }
        if (p->params.events.event != NULL) {
            p->params.events.event(p->params.events.ctx, EVENT_WARNING, wait.reason, wait.text);
        }
    }
}

bool reconcile_pass_abandon(struct reconcile_pass *p)
{
    struct observed_replica *seen = NULL;
    size_t n_seen = 0;
    if (observe(p, &seen, &n_seen, NULL) < 0) {
        return true; /* the launcher is broken; its free() ends the replicas that it knows */
    }
    for (size_t i = 0; i < n_seen; i++) {
        delete (p, &seen[i].id, NULL, 0);
    }
    free(seen);
    say_late_end(p);
    return !is_removing(p);
}

bool reconcile_pass_stop(struct reconcile_pass *p)
{
    struct launcher *launcher = p->params.launcher;
    say_late_end(p);
    return launcher->ops->stop_creating == NULL || launcher->ops->stop_creating(launcher);
}
