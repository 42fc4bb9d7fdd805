/* See run.h. */
#include "daemon/run/run.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/cluster/bmr.h"
#include "daemon/cluster/template_check.h"
#include "kube/json.h"

#define CHECK_TOLD_NS (5 * INT64_C(1000000000)) /* a dry run without an answer is reported */

/* ---- refusal ---- */

static void end_unaccepted(struct run *run, enum run_phase phase, const char *reason,
                           const char *text)
{
    const bool was_cancelled = phase == RUN_CANCELLED;
    run_hold_off(run, reason, text);
    run->status.phase = phase;
    run->status.ended_unix_ms = clock_steady_unix_ms();
    text_put(run->status.reason, sizeof(run->status.reason), "%s", reason);
    text_put(run->status.message, sizeof(run->status.message), "%s", text);
    log_event(was_cancelled ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, "a run was not accepted", "run",
              run->name, "phase", run_phase_to_string(phase), "reason", reason, "err", text, NULL);
    run_emit(run, was_cancelled ? EVENT_NORMAL : EVENT_WARNING, reason, text);
    run_enter(run, LIFE_ON_REFUSED);
}

void run_refuse(struct run *run, const char *reason, const char *text)
{
    end_unaccepted(run, RUN_FAILED, reason, text);
}

/* Back to WAITING, and not tried again at once. */
static void retry_later(struct run *run)
{
    if (run_enter(run, LIFE_ON_SET_BACK)) {
        run->at.retry_ns = clock_monotonic_ns() + RUN_RETRY_NS;
    }
}

/* ---- the store ---- */

/* Its row says all that is asked of it, but the metrics of one that has just ended. */
static void find_ended(struct run *run, const struct run_brief *brief)
{
    run->status = brief->status;
    if (brief->verdict.is_judged) {
        run->verdict = brief->verdict;
    }
    struct err why;
    if (run_ended_lately(run) && run_load_def(run, &why) < 0) {
        log_event(LOG_LEVEL_WARN, "the definition of a finished run cannot be read", "run",
                  run->name, "err", why.msg, NULL);
    }
    run_enter(run, LIFE_ON_FOUND_ENDED);
}

/* The very object that was gone is there again: the cluster's state was restored. */
static int bring_back(struct run *run, struct err *err)
{
    struct store *store = run->env->store;
    int r = store->ops->set_object(store, run->uid, run->env->ns, 0, err);
    if (r == 0) {
        log_event(LOG_LEVEL_INFO, "the object of a run is back, its results stay", "run", run->name,
                  NULL);
    }
    return r;
}

/* 1: the store has it, and it is not finished; 0: it does not, or there is nothing more to do. */
static int load_stored(struct run *run, struct err *err)
{
    struct store *store = run->env->store;
    struct run_brief brief;
    struct err why;
    int r = store->ops->get_brief(store, run->uid, &brief, err);
    if (r < 0) {
        return r == -ENOENT ? 0 : r;
    }
    const bool is_from_archive = !brief.has_object && !brief.verdict.is_judged;
    if ((brief.deleted_unix_ms != 0 || is_from_archive) && (r = bring_back(run, err)) < 0) {
        return r;
    }
    if (run_phase_is_final(brief.status.phase)) {
        find_ended(run, &brief);
        return 0;
    }
    r = run_load_def(run, &why);
    run->status = brief.status;
    if (r < 0) {
        run_refuse(run, "StoredRunUnreadable", why.msg);
    }
    return r < 0 ? 0 : 1;
}

/* Results outlive their object: an earlier run of this name is renamed. */
static int free_name(struct run *run, struct err *err)
{
    struct store *store = run->env->store;
    _cleanup_(run_row_done) struct run_row row = {0};
    int r = store->ops->get_run(store, run->name, &row, err);
    if (r < 0) {
        return r;
    }
    _cleanup_(freep) char *name = xasprintf("%s-%.8s", run->name, row.uid);
    r = store->ops->rename_run(store, row.uid, name, err);
    if (r == -EEXIST) { /* a run was created with that very name */
        free(name);
        name = xasprintf("%s-%s", run->name, row.uid);
        r = store->ops->rename_run(store, row.uid, name, err);
    }
    if (r == 0) {
        _cleanup_(freep) char *note =
            xasprintf("results of an earlier run of this name are kept as '%s'", name);
        run_emit(run, EVENT_NORMAL, "EarlierResults", note);
        log_event(LOG_LEVEL_INFO, "an earlier run was renamed", "run", run->name, "to", name, NULL);
    }
    return r;
}

static int put(struct run *run, const struct run_def *def, struct err *err)
{
    struct store *store = run->env->store;
    _cleanup_(freep) char *definition = run_def_text(def);
    struct run_row row = {
        .uid = def->uid,
        .name = def->name,
        .benchmark = def->spec->name,
        .definition_json = definition,
        .created_unix_ms = def->created_unix_ms,
        .object_ns = (char *)run->env->ns,
    };
    int r = store->ops->put_run(store, &row, err);
    if (r == -EEXIST && (r = free_name(run, err)) == 0) {
        r = store->ops->put_run(store, &row, err);
    }
    return r;
}

/* ---- the definition ---- */

static void on_definition_frozen(void *ctx, int r, const struct kube_response *res,
                                 const struct err *err)
{
    (void)res;
    struct run *run = ctx;
    run->at.freezing.call = NULL;
    if (r == -EINVAL) {
        run_refuse(run, "DefinitionRefused", err->msg);
    } else if (r < 0) {
        retry_later(run);
        log_event(LOG_LEVEL_WARN,
                  "the definition could not be written to the run's status, retrying", "run",
                  run->name, "err", err->msg, NULL);
    }
    run_wake(run);
}

/* Writes status.definition, once: from then on a change of the Benchmark has no effect. Takes
 * `def`, which is what the store will have. */
static void freeze_definition(struct run *run, struct run_def *def)
{
    json_t *definition;
    struct err err;
    if (bmr_definition(def->spec, &definition, &err) < 0) {
        run_refuse(run, "DefinitionTooLarge", err.msg);
        run_def_free(def);
        return;
    }
    json_auto_t *body =
        bmr_apply_body(run->name, run->uid, json_pack("{s:o}", "definition", definition));
    struct kube_request req;
    kube_request_apply(&kube_benchmark_runs, run->env->ns, "status", "benchd-definition", body,
                       &req);
    run_enter(run, LIFE_ON_FREEZE_SENT);
    run->at.freezing.def = def;
    run->at.freezing.call = kube_call(run->env->client, &req, NULL, on_definition_frozen, run);
}

/* The next process may find other answers, while pods of the run are there. */
static void fix_addressing(const struct run *run, struct spec *spec)
{
    if (spec->addressing == ADDRESSING_AUTO) {
        spec->addressing = run->env->has_dns ? ADDRESSING_DNS : ADDRESSING_IP;
        json_object_set_new(json_object_get(spec->definition, "spec"), "addressing",
                            json_string(addressing_names[spec->addressing]));
    }
}

/* ---- templates ---- */

/* Takes `def`. */
static void begin_check(struct run *run, struct run_def *def)
{
    const struct template_check_params params = {.client = run->env->client,
                                                 .ns = run->env->ns,
                                                 .def = def,
                                                 .naming = run_naming(run, def),
                                                 .account = run->env->options.replica_account,
                                                 .registry = run->env->options.registry,
                                                 .wake = run->env->wake,
                                                 .ctx = run->env->ctx};
    struct template_check *check;
    struct err err;
    if (template_check_new(&params, &check, &err) < 0) {
        run_refuse(run, "InvalidTemplate", err.msg);
        run_def_free(def);
        return;
    }
    run_enter(run, LIFE_ON_CHECK_SENT);
    run->at.checking.check = check;
    run->at.checking.def = def;
}

static const char check_fails[] = "TemplateCheckFails";

/* A broken admission webhook looks like this: the run waits, and its status says so. */
static void hold_off_unchecked(struct run *run, const char *text)
{
    const bool is_news = run->refusal.reason != check_fails;
    run_hold_off(run, check_fails, text);
    if (is_news) {
        run_emit(run, EVENT_WARNING, check_fails, text);
        log_event(LOG_LEVEL_WARN, "a template could not be checked, retrying", "run", run->name,
                  "err", text, NULL);
    }
}

/* True: nothing was found against the templates. */
static bool read_verdict(struct run *run)
{
    const int64_t waited_ns =
        clock_monotonic_ns() - template_check_began_ns(run->at.checking.check);
    const char *text;
    switch (template_check_verdict(run->at.checking.check, &text)) {
    case TEMPLATES_GOOD:
        return true;
    case TEMPLATES_CHECKING:
        if (waited_ns > CHECK_TOLD_NS) {
            hold_off_unchecked(run, "the API server does not answer the dry run of the templates");
        }
        break;
    case TEMPLATES_REFUSED: {
        _cleanup_(freep) char *words = xstrdup(text); /* the state that is left owns the text */
        run_refuse(run, "InvalidTemplate", words);
        break;
    }
    case TEMPLATES_NO_ANSWER:
        hold_off_unchecked(run, text);
        retry_later(run);
        break;
    }
    return false;
}

/* ---- acceptance ---- */

/* The store knows nothing of the run, so the object's status says how far it was. A run that has
 * ended stays as it is; any other starts again, and reconcile() reports what was lost. */
static void take_status_over(struct run *run, const struct bmr_facts *facts)
{
    run->status = bmr_run_status(facts);
    if (!run_is_final(run)) {
        run->status.ended_unix_ms = 0;
        run->status.phase = RUN_PENDING;
    }
}

static int claim(struct run *run, struct err *err)
{
    struct store *store = run->env->store;
    struct err why;
    int r = store->ops->claim_run(store, run->uid, &why);
    if (r == 0) {
        run_enter(run, LIFE_ON_CLAIMED);
        return 1;
    }
    if (r == -EBUSY) { /* a benchctl with --store, say */
        run_def_free(run->def);
        run->def = NULL;
        run_hold_off(run, "HeldByAnother", why.msg);
        run_enter(run, LIFE_ON_HELD);
        run->at.retry_ns = clock_monotonic_ns() + RUN_RETRY_NS;
        return 0;
    }
    return err_set(err, -r, "%s", why.msg);
}

/* Nothing was created for it yet, so the cancellation takes effect at once. */
static void cancel_unaccepted(struct run *run)
{
    end_unaccepted(run, RUN_CANCELLED, "CancelRequested", "cancelled before it was accepted");
}

/* A queue gives the place of a whole attempt, and by IP its trainers are made only when its servers
 * run: they would hold the place of all. */
static int check_options(const struct run *run, const struct run_def *def, struct err *err)
{
    if (def->options.queue != NULL && run_naming(run, def) == POD_BY_IP) {
        return err_set(err, EINVAL,
                       "spec.addressing: IP starts the servers first, and queue '%s' admits all "
                       "pods of a trial together; write addressing: DNS, or scheduling.gang: None",
                       def->options.queue);
    }
    const struct system *job = vec_find(&def->spec->systems, it, it->job != NULL);
    if (def->options.trials > 1 && job != NULL) {
        return err_set(err, EINVAL,
                       "parallelism.trials: system '%s' is a job object, and those are measured "
                       "one at a time; remove parallelism",
                       job->name);
    }
    return 0;
}

/* Reads what the object and its Benchmark define. The templates are checked once the object holds
 * what runs. */
static void define(struct run *run, const json_t *bmr)
{
    const struct run_def_params params = {
        .name = run->name, .uid = run->uid, .created_unix_ms = clock_steady_unix_ms()};
    struct run_def *def = NULL;
    struct err why;
    int r =
        bmr_load_run(bmr, run->at.reading.benchmark, run->env->options.queue, &params, &def, &why);
    if (r == -ENOENT) { /* the object has lost its copy: etcd was restored */
        retry_later(run);
        return;
    }
    if (r == 0) {
        fix_addressing(run, def->spec);
        r = check_options(run, def, &why);
    }
    if (r < 0) {
        run_refuse(run, "InvalidDefinition", why.msg);
        run_def_free(def);
        return;
    }
    (bmr_definition_of(bmr) == NULL ? freeze_definition : begin_check)(run, def);
}

/* ---- reading ---- */

/* The answer is read in a turn of run_queue_accept: that takes a tenth of a second if it is large,
 * and several answers may come in one turn of the loop. */
static void on_read(void *ctx, int r, const struct kube_response *res, const struct err *why)
{
    struct run *run = ctx;
    run->at.reading.call = NULL;
    if (r < 0) {
        run_hold_off(run, "DefinitionNotRead", why->msg);
        retry_later(run);
    } else {
        run->at.reading.object = xstrndup(res->body, res->body_len);
    }
    run_wake(run);
}

static void read_object(struct run *run, const struct kube_resource *kind, const char *name)
{
    struct kube_request req;
    kube_request_get(kind, run->env->ns, name, &req);
    run->at.reading.call = kube_call(run->env->client, &req, NULL, on_read, run);
}

static void take_answer(struct run *run)
{
    _cleanup_(freep) char *text = take_ptr(run->at.reading.object);
    json_auto_t *object = NULL;
    struct err err;
    if (kube_json_load_lean(text, strlen(text), &object, &err) < 0) {
        run_hold_off(run, "DefinitionNotRead", err.msg);
        retry_later(run);
    } else if (run->at.reading.needs_benchmark) {
        run->at.reading.needs_benchmark = false;
        run->at.reading.benchmark = json_incref(json_object_get(object, "spec"));
        read_object(run, &kube_benchmark_runs, run->name);
    } else if (str_eq(kube_json_metadata(object, "uid"), run->uid)) {
        define(run, object);
    } else { /* it was replaced: the watch will show that */
        retry_later(run);
    }
}

/* Neither watch retains definitions: each may have a megabyte, and hundreds may be queued. */
static void begin_reading(struct run *run, const struct bmr_facts *facts)
{
    const bool needs_benchmark = facts->benchmark != NULL && !facts->is_frozen;
    if (needs_benchmark && kube_cache_get(run->env->benchmarks, facts->benchmark) == NULL) {
        _cleanup_(freep) char *text =
            xasprintf("there is no Benchmark '%s' in this namespace", facts->benchmark);
        run_hold_off(run, "BenchmarkNotFound", text);
        return;
    }
    run_enter(run, LIFE_ON_READ_SENT);
    run->at.reading.needs_benchmark = needs_benchmark;
    read_object(run, needs_benchmark ? &kube_benchmarks : &kube_benchmark_runs,
                needs_benchmark ? facts->benchmark : run->name);
}

/* ---- acceptance ---- */

/* No answer to the dry runs yet, and nothing new to say about that. */
static bool is_awaited(const struct run *run)
{
    const char *text;
    const int64_t waited_ns =
        clock_monotonic_ns() - template_check_began_ns(run->at.checking.check);
    return template_check_verdict(run->at.checking.check, &text) == TEMPLATES_CHECKING &&
           (waited_ns <= CHECK_TOLD_NS || run->refusal.reason == check_fails);
}

bool run_may_accept(const struct run *run)
{
    switch (run->life) {
    case LIFE_WAITING:
        return !run->asked.is_deleting && clock_monotonic_ns() >= run->at.retry_ns;
    case LIFE_CHECKING:
        return !run->asked.is_deleting && (run->asked.cancel || !is_awaited(run));
    case LIFE_READING:
        return !run->asked.is_deleting && run->at.reading.object != NULL;
    case LIFE_FREEZING:
        return !run->asked.is_deleting && run->at.freezing.call == NULL;
    case LIFE_ACCEPTED:
    case LIFE_DRIVEN:
    case LIFE_DONE:
    case LIFE_ENDED:
    case LIFE_REFUSED:
    case LIFE_PAST:
        break;
    }
    return false;
}

/* Its templates are good: stores what was checked. */
static int accept_checked(struct run *run, struct err *err)
{
    _cleanup_(run_def_freep) struct run_def *def = take_ptr(run->at.checking.def);
    const int r = put(run, def, err);
    if (r < 0) {
        run_enter(run, LIFE_ON_SET_BACK);
        return r;
    }
    run->def = take_ptr(def);
    return claim(run, err);
}

int run_accept(struct run *run, const struct bmr_facts *facts, bool may_read, struct err *err)
{
    if (!run_may_accept(run)) {
        return run_life_is_stored(run->life);
    }
    run->verdict.ttl_s = facts->ttl_s; /* also of one that is never accepted */
    if (run->life == LIFE_READING) {
        take_answer(run);
        return 0;
    }
    if (run->life == LIFE_FREEZING) {
        begin_check(run, take_ptr(run->at.freezing.def));
        return 0;
    }
    const bool was_checking = run->life == LIFE_CHECKING;
    const bool is_checked = was_checking && read_verdict(run);
    if (was_checking && (run->life != LIFE_CHECKING || (!is_checked && !run->asked.cancel))) {
        return 0; /* refused, or no answer: later */
    }
    int r = load_stored(run, err);
    if (r != 0) {
        return r < 0 ? r : claim(run, err);
    }
    if (run->life == LIFE_REFUSED || run->life == LIFE_ENDED) {
        return run->life == LIFE_ENDED;
    }
    take_status_over(run, facts);
    if (run_is_final(run)) {
        run_enter(run, LIFE_ON_FOUND_PAST);
    } else if (run->asked.cancel) {
        cancel_unaccepted(run);
    } else if (was_checking) {
        return accept_checked(run, err);
    } else if (may_read) {
        begin_reading(run, facts);
    }
    return 0;
}
