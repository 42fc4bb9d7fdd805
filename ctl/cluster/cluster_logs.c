/* benchctl logs RUN --follow: watches the pods of the run and prints the logs of the selected ones
 * as they come, one pod after another. See cluster_internal.h.
 *
 * It selects trainer or worker 0 (or --role, --index) of every attempt, or of those that
 * --point, --trial and --attempt select. It ends with the run, or with the attempt if
 * exactly one is selected. */

#include "base/mem.h"
#include "base/str.h"
#include "core/role.h"
#include "ctl/cluster/cluster_internal.h"
#include "ctl/runs/object.h"
#include "ctl/runs/run_state.h"
#include "kube/follow.h"
#include "kube/informer.h"
#include "kube/json.h"
#include "pod/facts.h"

struct following {
    struct cluster *c;
    const char *run_name, *run_uid;
    bool of_any_role; /* no role is selected: follow whoever trains */
    bool is_one;      /* exactly one attempt is selected: stop when it ends */
    uv_signal_t signals[CLUSTER_N_SIGNALS];
    uv_timer_t timer; /* frees follows, which must not be freed in their own callbacks */
    struct kube_informer *pods, *runs;
    struct kube_follow *follow; /* NULL: no log is being printed */
    char *pod, *pod_uid;        /* of it */
    VEC(char *) seen;           /* uids of pods whose log was printed or is being printed; owned */
    bool is_follow_over;
    bool is_run_over;
    bool is_over;
    enum exit_code code;
};

static void on_timer(uv_timer_t *timer);

/* Looks again at once, but from the loop: follows must not be freed by their own callbacks. */
static void wake(struct following *f)
{
    (void)uv_timer_start(&f->timer, on_timer, 0, 0); /* a timer that is initialised */
}

static void on_line(void *ctx, const char *line, size_t len)
{
    struct following *f = ctx;
    if (f->is_over) {
        return; /* the rest of the same chunk */
    }
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    buf_append(&out, line, len);
    buf_putc(&out, '\n');
    f->code = cli_print(&out);
    f->is_over = f->code != EXIT_OK;
}

static void on_log_end(void *ctx, int r, const struct err *err)
{
    struct following *f = ctx;
    if (r == -EACCES) {
        f->is_over = true;
        f->code = cli_error(EXIT_NOT_AUTHORISED, NULL, "%s", err->msg);
    } else if (r < 0) {
        cli_note(f->c->backend.cli, "%s", err->msg);
    }
    f->is_follow_over = true;
    wake(f);
}

/* Attempts with a launcher; its log replaces those of the other replicas. */
static void find_led(const struct following *f, const struct kube_cache *cache,
                     struct attempt_ids *ret)
{
    for (size_t i = 0; f->of_any_role && i < cache->objects.len; i++) {
        const struct pod_facts *pod = cache->objects.items[i]->facts;
        if (pod->has_id && pod->id.role == ROLE_LAUNCHER) {
            (void)attempt_ids_add(ret, pod->id.attempt); /* it may be there */
        }
    }
}

/* Its log is to be read: of a selected role, or of whoever leads its gang. */
static bool is_selected(const struct following *f, const struct attempt_ids *led,
                        const struct pod_facts *pod)
{
    const uint32_t sizes[ROLE_COUNT] = {[ROLE_LAUNCHER] = attempt_ids_has(led, pod->id.attempt)};
    return !f->of_any_role || (pod->has_id && role_leads(pod->id.role, sizes));
}

static bool has_started(const struct pod_facts *pod)
{
    return pod->main != NULL && pod->main->step >= POD_STEP_RUNNING;
}

static bool has_ended(const struct pod_facts *pod)
{
    return pod_is_over(pod) || (pod->main != NULL && pod->main->step == POD_STEP_TERMINATED);
}

static bool was_seen(const struct following *f, const char *uid)
{
    return str_index(uid, (const char *const *)f->seen.items, f->seen.len) >= 0;
}

static void begin(struct following *f, const struct kube_object *object)
{
    const struct pod_facts *pod = object->facts;
    const struct kube_follow_params params = {.ns = f->c->ns,
                                              .pod = object->name,
                                              .container =
                                                  *pod->container == '\0' ? NULL : pod->container,
                                              .on_line = on_line,
                                              .on_end = on_log_end,
                                              .ctx = f};
    cli_note(f->c->backend.cli, "==> %s", object->name);
    *vec_push(&f->seen) = xstrdup(object->uid);
    f->pod = xstrdup(object->name);
    f->pod_uid = xstrdup(object->uid);
    f->is_follow_over = false;
    f->follow = kube_follow_new(f->c->client, &params);
    if (has_ended(pod)) {
        kube_follow_container_ended(f->follow);
    }
}

static void end_follow(struct following *f)
{
    kube_follow_free(f->follow);
    f->follow = NULL;
    free(f->pod);
    free(f->pod_uid);
    f->pod = f->pod_uid = NULL;
}

/* Starts with the oldest pod that was not printed yet, if none is being printed. */
static void next(struct following *f)
{
    if (f->follow != NULL && f->is_follow_over) {
        end_follow(f);
        f->is_over = f->is_over || f->is_one;
    }
    if (f->follow != NULL || f->is_over) {
        return;
    }
    const struct kube_object *oldest = NULL;
    int64_t oldest_ms = 0;
    const struct kube_cache *cache = kube_informer_cache(f->pods);
    _cleanup_(attempt_ids_done) struct attempt_ids led = {0};
    find_led(f, cache, &led);
    for (size_t i = 0; i < cache->objects.len; i++) {
        const struct kube_object *object = cache->objects.items[i];
        const struct pod_facts *pod = object->facts;
        if (!was_seen(f, object->uid) && is_selected(f, &led, pod) && has_started(pod) &&
            (oldest == NULL || pod->created_unix_ms < oldest_ms)) {
            oldest = object;
            oldest_ms = pod->created_unix_ms;
        }
    }
    if (oldest != NULL) {
        begin(f, oldest);
    } else if (f->is_run_over) {
        f->is_over = true;
        if (f->seen.len == 0) {
            cli_note(f->c->backend.cli,
                     "run/%s has ended and none of its selected pods is left; for the stored logs: "
                     "benchctl logs %s %s",
                     f->run_name, f->run_name, f->c->backend.where);
        }
    }
}

static void on_pod(void *ctx, enum kube_change change, const struct kube_object *pod)
{
    struct following *f = ctx;
    const bool is_followed = f->follow != NULL && str_eq(f->pod_uid, pod->uid);
    if (is_followed && (change == KUBE_CHANGE_REMOVED || has_ended(pod->facts))) {
        kube_follow_container_ended(f->follow);
    }
    wake(f);
}

static void on_run(void *ctx, enum kube_change change, const struct kube_object *run)
{
    struct following *f = ctx;
    struct run_status status;
    json_auto_t *object = kube_json_kept(run->facts);
    object_read_status(object, &status);
    if (str_eq(run->uid, f->run_uid) &&
        (change == KUBE_CHANGE_REMOVED || run_phase_is_final(status.phase))) {
        f->is_run_over = true;
        wake(f);
    }
}

static void on_synced(void *ctx)
{
    struct following *f = ctx;
    wake(f);
}

/* A run that was deleted before the first list is not in it, and no watch reports its deletion. */
static void on_runs_synced(void *ctx)
{
    struct following *f = ctx;
    const struct kube_object *run = kube_cache_get(kube_informer_cache(f->runs), f->run_name);
    if ((run == NULL || !str_eq(run->uid, f->run_uid)) && !f->is_run_over) {
        f->is_over = true;
        f->code = cli_error(EXIT_NOT_FOUND, NULL, "run/%s was deleted", f->run_name);
    }
}

/* Ends if a watch is forbidden, or its kind is not installed: waiting would not help. */
static bool is_refused(struct following *f, const struct kube_informer *informer)
{
    const struct err *err = kube_reflector_error(kube_informer_reflector(informer));
    if (err == NULL || (err->code != EACCES && err->code != ENOENT)) {
        return false;
    }
    f->is_over = true;
    f->code = cluster_error(-err->code, err);
    return true;
}

static void on_timer(uv_timer_t *timer)
{
    struct following *f = timer->data;
    if (is_refused(f, f->pods) || is_refused(f, f->runs)) {
        return;
    }
    /* Before the first list nothing is known: an ended run may still have pods. */
    if (kube_reflector_is_synced(kube_informer_reflector(f->pods))) {
        next(f);
    }
    if (!f->is_over) {
        (void)uv_timer_start(&f->timer, on_timer, 1000, 0); /* to notice lasting failures */
    }
}

static void on_signal(uv_signal_t *handle, int signum)
{
    (void)signum;
    struct following *f = handle->data;
    f->is_over = true;
    f->code = EXIT_INTERRUPTED;
}

static void put_label(struct buf *out, const char *name, int64_t value)
{
    if (value != NOT_GIVEN) {
        buf_printf(out, ",benchd.io/%s=%lld", name, (long long)value);
    }
}

static char *pod_selector(const char *run, const struct log_wanted *w)
{
    struct buf out = BUF_INIT;
    buf_printf(&out, "benchd.io/run=%s", run);
    if (w->role != NOT_GIVEN) {
        buf_printf(&out, ",benchd.io/role=%s", role_to_string((enum role)w->role));
    }
    put_label(&out, "replica-index", w->index == NOT_GIVEN ? 0 : w->index);
    put_label(&out, "point", w->attempt.point);
    put_label(&out, "trial", w->attempt.trial);
    put_label(&out, "attempt", w->attempt.number);
    return buf_take(&out);
}

static void start(struct following *f, const char *pods, const char *run)
{
    uv_loop_t *loop = &f->c->loop;
    cluster_signals_start(f->c, f->signals, on_signal, f);
    (void)uv_timer_init(loop, &f->timer); /* always 0 */
    f->timer.data = f;
    wake(f);
    const struct kube_reflector_params of_pods = {.resource = &kube_pods,
                                                  .ns = f->c->ns,
                                                  .label_selector = pods,
                                                  .decode = pod_facts_decode,
                                                  .on_change = on_pod,
                                                  .on_synced = on_synced,
                                                  .ctx = f};
    const struct kube_reflector_params of_runs = {.resource = &kube_benchmark_runs,
                                                  .ns = f->c->ns,
                                                  .field_selector = run,
                                                  .on_change = on_run,
                                                  .on_synced = on_runs_synced,
                                                  .ctx = f};
    f->pods = kube_informer_new(f->c->client, &of_pods);
    f->runs = kube_informer_new(f->c->client, &of_runs);
}

static void end(struct following *f)
{
    if (f->follow != NULL) {
        end_follow(f);
    }
    kube_informer_free(f->pods);
    kube_informer_free(f->runs);
    uv_close((uv_handle_t *)&f->timer, NULL);
    cluster_signals_close(f->c, f->signals);
    vec_free(&f->seen);
}

enum exit_code cluster_follow_logs(struct backend *b, const char *what,
                                   const struct log_wanted *wanted)
{
    struct cluster *c = (struct cluster *)b;
    json_auto_t *object = NULL;
    enum exit_code code = cluster_find_object(c, what, &object);
    if (code != EXIT_OK) {
        return code;
    }
    const char *name = kube_json_metadata(object, "name");
    struct following *f = xnew(struct following);
    f->c = c;
    f->run_name = name;
    f->run_uid = kube_json_metadata(object, "uid");
    f->of_any_role = wanted->role == NOT_GIVEN;
    f->is_one = wanted->attempt.point != NOT_GIVEN && wanted->attempt.trial != NOT_GIVEN &&
                wanted->attempt.number != NOT_GIVEN;
    _cleanup_(freep) char *pods = pod_selector(name, wanted);
    _cleanup_(freep) char *run = xasprintf("metadata.name=%s", name);
    start(f, pods, run);
    while (!f->is_over) {
        (void)uv_run(&c->loop, UV_RUN_ONCE);
    }
    end(f);
    code = f->code;
    free(f);
    return code;
}
