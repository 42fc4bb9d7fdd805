/* See run_world.h. */
#include "run_world.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tests/store/store_folder.h"

static void on_wake(void *ctx)
{
    ((struct world *)ctx)->n_wakes++;
}

struct world *world_new(void)
{
    struct world *w = xnew(struct world);
    fake_kube_reset();
    w->env.store = store_in_folder(w->folder, w->url);
    assert_int_equal(uv_loop_init(&w->loop), 0);
    kube_cache_init(&w->benchmarks, &(struct kube_cache_params){0});
    kube_cache_init(&w->runs, &(struct kube_cache_params){.decode = bmr_facts_decode});
    w->env.benchmarks = &w->benchmarks;
    w->env.runs = &w->runs;
    w->env.loop = &w->loop;
    w->env.options.store = w->url;
    event_recorder_init(&w->events, NULL, "ns", "me");
    w->env.ns = "ns";
    w->env.options.replica_account = "replicas";
    w->env.are_objects_known = true;
    w->env.events = &w->events;
    w->env.counters = &w->counters;
    w->env.wake = on_wake;
    w->env.ctx = w;
    return w;
}

void world_freep(struct world **p)
{
    struct world *w = *p;
    let_summarize(w); /* abandoned ones end too */
    assert_int_equal(uv_loop_close(&w->loop), 0);
    kube_cache_done(&w->benchmarks);
    kube_cache_done(&w->runs);
    store_close(w->env.store);
    store_folder_remove(w->folder);
    free(w);
    fake_kube_reset();
}

void let_summarize(struct world *w)
{
    (void)uv_run(&w->loop, UV_RUN_DEFAULT); /* until nothing is left to do */
}

json_t *parse(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, 0, &error);
    if (value == NULL) {
        fail_msg("%s: %s", error.text, text);
    }
    return value;
}

json_t *make_bmr(const char *uid, const char *spec, const char *status)
{
    _cleanup_(freep) char *text =
        xasprintf("{\"metadata\":{\"name\":\"r1\",\"uid\":\"%s\","
                  "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":%s,\"status\":%s}",
                  uid, spec, status);
    return parse(text);
}

json_t *inline_bmr(const char *uid)
{
    _cleanup_(freep) char *spec = xasprintf("{\"definition\":" DEFINITION "}", 5);
    return make_bmr(uid, spec, "{}");
}

static const struct bmr_facts *show(struct world *w, json_t *bmr)
{
    assert_true(kube_cache_put(&w->runs, bmr));
    const json_t *name = json_object_get(json_object_get(bmr, "metadata"), "name");
    return kube_cache_get(&w->runs, json_string_value(name))->facts;
}

struct run *new_run(struct world *w, json_t *bmr)
{
    return run_new(&w->env, show(w, bmr));
}

void update_run(struct run *run, json_t *bmr)
{
    run_update(run, show(run->env->ctx, bmr));
}

/* The first open call for an object of the API server, or NULL. */
static struct kube_call *open_read(void)
{
    struct kube_call *call = NULL;
    for (size_t k = 0; (call = fake_kube_open(k)) != NULL && call->req.method != KUBE_GET; k++) {
    }
    return call;
}

void answer_reads(json_t *bmr, json_t *benchmark)
{
    struct kube_call *call;
    while ((call = open_read()) != NULL) {
        const bool is_run = strstr(call->req.path, "/benchmarkruns/") != NULL;
        _cleanup_(freep) char *text = json_dumps(is_run ? bmr : benchmark, JSON_COMPACT);
        fake_kube_answer(call, text == NULL ? -ENOENT : 0, text == NULL ? "not found" : text);
    }
}

static void show_benchmark(struct world *w, json_t *benchmark)
{
    if (benchmark != NULL) {
        json_object_set_new(benchmark, "metadata", json_pack("{s:s}", "name", "b"));
        assert_true(kube_cache_put(&w->benchmarks, benchmark));
    }
}

int take(struct run *run, json_t *bmr, json_t *benchmark)
{
    struct err err = {0};
    show_benchmark(run->env->ctx, benchmark);
    const struct bmr_facts *facts = show(run->env->ctx, bmr);
    int r = run_accept(run, facts, true, &err);
    while (r == 0 && run->life == LIFE_READING) {
        answer_reads(bmr, benchmark);
        r = run->life != LIFE_READING ? 0 : run_accept(run, facts, true, &err);
    }
    if (r < 0) {
        fail_msg("run_accept: %s", err.msg);
    }
    return r;
}

struct kube_call *open_call(size_t i)
{
    struct kube_call *call;
    for (size_t k = 0; (call = fake_kube_open(k)) != NULL; k++) {
        if (strstr(call->req.path, "/events") == NULL && i-- == 0) {
            return call;
        }
    }
    return NULL;
}

size_t answer_checks(int r, const char *text)
{
    size_t n = 0;
    struct kube_call *call;
    /* The last first: the words do not depend on whose answer comes first. */
    while (((call = open_call(1)) != NULL || (call = open_call(0)) != NULL) &&
           strstr(call->req.path, "dryRun=All") != NULL) {
        assert_int_equal(call->req.method, KUBE_POST);
        assert_non_null(strstr(call->req.path, "fieldValidation=Strict"));
        fake_kube_answer(call, r, text);
        n++;
    }
    return n;
}

int take_good(struct run *run, json_t *bmr, json_t *benchmark)
{
    const int r = take(run, bmr, benchmark);
    return answer_checks(0, "{}") > 0 ? take(run, bmr, benchmark) : r;
}

struct run *accepted_run(struct world *w, json_t *bmr)
{
    struct run *run = new_run(w, bmr);
    assert_int_equal(take_good(run, bmr, NULL), 1);
    return run;
}
