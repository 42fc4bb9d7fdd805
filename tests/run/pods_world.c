#include "pods_world.h"

#include "tests/test.h"
#include "core/record.h"
#include "kube/json.h"
#include "pod/facts.h"
#include "test_def.h"

int64_t world_now_ns;

static int64_t now_ns(void)
{
    return world_now_ns;
}

/* The POST of what an attempt has beside its pods; NULL: none is open. */
static struct kube_call *gate_call(void)
{
    for (size_t i = 0; i < fake_kube_n_open(); i++) {
        struct kube_call *call = fake_kube_open(i);
        if (call->req.method == KUBE_POST && strstr(call->req.path, "/pods") == NULL &&
            strstr(call->req.path, "/workloads") == NULL) {
            return call;
        }
    }
    return NULL;
}

void turn(struct world *w)
{
    struct kube_call *call;
    (void)uv_run(&w->loop, UV_RUN_NOWAIT); /* the launcher holds the loop's only handle */
    while (w->opens_gates && (call = gate_call()) != NULL) {
        fake_kube_answer(call, 0, "{}");
        (void)uv_run(&w->loop, UV_RUN_NOWAIT);
    }
}

void pass_ms(struct world *w, int64_t ms)
{
    world_now_ns += ms * 1000000;
    pods_tick_soon((struct pods *)w->launcher);
    turn(w);
}

void answer(struct world *w, struct kube_call *call, int r, const char *text)
{
    fake_kube_answer(call, r, text);
    turn(w);
}

static void on_change(void *ctx)
{
    ((struct world *)ctx)->n_changes++;
}

static void on_record(void *ctx, const struct replica_id *id, const struct record *record)
{
    (void)id;
    (void)record;
    ((struct world *)ctx)->n_records++;
}

void make_launcher(struct world *w, enum pod_naming naming)
{
    static const unsigned char secret[32] = {1};
    w->launcher = pods_new(&(struct pods_params){
        .loop = &w->loop,
        .cache = &w->cache,
        .ns = "ns",
        .def = w->def,
        .workloads = &w->workloads,
        .naming = naming,
        .account = "replicas",
        .registry = "r.example/team",
        .has_policy = w->has_policy,
        .secret = secret,
        .secret_len = sizeof(secret),
        .counters = &w->counters,
        .now_ns = now_ns,
        .wait = w->wait,
        .denied_wait_ms = w->denied_wait_ms,
    });
    w->launcher->on_change = on_change;
    w->launcher->on_record = on_record;
    w->launcher->ctx = w;
}

void world_open(struct world *w, enum pod_naming naming)
{
    world_open_with_log(w, naming, NULL);
}

void world_open_with_log(struct world *w, enum pod_naming naming, const char *log)
{
    *w = (struct world){0};
    world_now_ns = 1000 * INT64_C(1000000000);
    fake_kube_reset();
    assert_int_equal(uv_loop_init(&w->loop), 0);
    w->def = test_def_new(&(struct test_def_params){.grid = "{pservers: [1], trainers: [2]}",
                                                    .baseline_trainers = 2,
                                                    .repeats = 1,
                                                    .log = log});
    kube_cache_init(&w->cache, &(struct kube_cache_params){.decode = pod_facts_decode});
    kube_cache_init(&w->workload_cache,
                    &(struct kube_cache_params){.decode = workload_facts_decode});
    w->workloads = (struct pod_workloads){.cache = &w->workload_cache, .is_known = true};
    make_launcher(w, naming);
}

void world_open_lanes(struct world *w, uint32_t n_lanes)
{
    world_open(w, POD_BY_IP);
    w->launcher->ops->free(w->launcher);
    (void)uv_run(&w->loop, UV_RUN_DEFAULT);
    run_def_free(w->def);
    w->def = test_def_new(&(struct test_def_params){
        .grid = "{pservers: [1, 2, 3], trainers: [2]}", .baseline_trainers = 2, .repeats = 1});
    w->def->options.trials = n_lanes;
    make_launcher(w, POD_BY_IP);
    open_gates(w);
}

void world_close(struct world *w)
{
    w->launcher->ops->free(w->launcher);
    (void)uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    assert_int_equal(fake_kube_n_open(), 0); /* nothing is left open */
    kube_cache_done(&w->cache);
    kube_cache_done(&w->workload_cache);
    run_def_free(w->def);
    fake_kube_reset();
    drop_pods(&w->pods);
}

const struct replica_id ids[3] = {
    {{0, 0, 0}, ROLE_PSERVER, 0}, {{0, 0, 0}, ROLE_TRAINER, 0}, {{0, 0, 0}, ROLE_TRAINER, 1}};

void create_gang(struct world *w, uint32_t attempt)
{
    const struct gang_spec gang = {.attempt.number = attempt,
                                   .replicas = {[ROLE_PSERVER] = 1, [ROLE_TRAINER] = 2}};
    struct gang_addresses addresses;
    for (size_t i = 0; i < 3; i++) {
        struct replica_spec spec = {.id = ids[i]};
        spec.id.attempt.number = attempt;
        assert_int_equal(w->launcher->ops->prepare(w->launcher, &gang, &addresses, NULL), 0);
        assert_int_equal(w->launcher->ops->create(w->launcher, &spec, NULL), 0);
    }
    turn(w);
}

void remove_gang(struct world *w)
{
    for (size_t i = 0; i < 3; i++) {
        w->launcher->ops->remove(w->launcher, &ids[i], false);
    }
    turn(w);
}

void open_gates(struct world *w)
{
    w->opens_gates = true;
    turn(w);
}

void world_open_gang(struct world *w)
{
    world_open(w, POD_BY_DNS);
    create_gang(w, 0);
    open_gates(w);
}

void answer_all(struct world *w, enum kube_method method, int r, const char *text)
{
    struct kube_call *call;
    while ((call = fake_kube_open(0)) != NULL && call->req.method == method) {
        answer(w, call, r, text);
    }
}

void answer_slices(struct world *w)
{
    answer_all(w, KUBE_PATCH, 0, "{}");
}

json_t *pod_of(const struct kube_call *call)
{
    json_t *pod = json_loads(call->req.body, 0, NULL);
    json_t *metadata = json_object_get(pod, "metadata");
    json_object_set(metadata, "uid", json_object_get(metadata, "name"));
    return pod;
}

void notify_soon(struct world *w, enum kube_change change, json_t *pod)
{
    _cleanup_(freep) struct pod_facts *facts = pod_facts_decode(pod);
    const struct kube_object object = {.name = kube_json_metadata(pod, "name"),
                                       .uid = kube_json_metadata(pod, "uid"),
                                       .facts = facts};
    pods_notify(w->launcher, change, &object);
}

void notify(struct world *w, enum kube_change change, json_t *pod, const char *status)
{
    if (status != NULL) {
        json_t *value = json_loads(status, 0, NULL);
        assert_non_null(value);
        json_object_set_new(pod, "status", value);
    }
    notify_soon(w, change, pod);
    turn(w);
}

size_t accept_pods(struct world *w, json_t *ret[3])
{
    size_t n = 0;
    struct kube_call *call;
    while ((call = fake_kube_open(0)) != NULL && call->req.method == KUBE_POST) {
        json_decref(ret[n]);
        ret[n] = pod_of(call);
        answer(w, call, 0, "{}"); /* its body is not looked at */
        notify(w, KUBE_CHANGE_ADDED, ret[n++], NULL);
    }
    return n;
}

void world_open_pods(struct world *w)
{
    world_open_gang(w);
    assert_int_equal(accept_pods(w, w->pods), 3);
}

const struct observed_replica *seen(struct world *w, const struct replica_id *id)
{
    static struct observed_replica copy;
    _cleanup_(freep) struct observed_replica *list;
    size_t n;
    const struct observed_replica *found = NULL;
    assert_int_equal(w->launcher->ops->observe(w->launcher, &list, &n, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        if (replica_id_eq(&list[i].id, id)) {
            copy = list[i];
            found = &copy;
        }
    }
    return found;
}

struct run_wait wait_of(const struct world *w)
{
    struct run_wait wait;
    w->launcher->ops->wait(w->launcher, &wait);
    return wait;
}

void create_server(struct world *w, uint32_t point, uint32_t attempt)
{
    const struct gang_spec gang = {{point, 0, attempt}, {[ROLE_PSERVER] = 1}};
    const struct replica_spec spec = {.id = {gang.attempt, ROLE_PSERVER, 0}};
    struct gang_addresses addresses;
    assert_int_equal(w->launcher->ops->prepare(w->launcher, &gang, &addresses, NULL), 0);
    assert_int_equal(w->launcher->ops->create(w->launcher, &spec, NULL), 0);
    turn(w);
}

void drop_pods(json_t *(*pods)[3])
{
    for (size_t i = 0; i < 3; i++) {
        json_decref((*pods)[i]);
    }
}
