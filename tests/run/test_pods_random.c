/* Random histories of the pod launcher: a cluster that answers late, fails, loses answers and shows
 * pods late, a driver that creates, collects and removes, and an outsider who deletes pods. At each
 * step: nothing is asked for twice at a time, no pod is created while one of an earlier attempt may
 * run, each change is reported, and a tick is to come while there are members. When the faults
 * stop, everything is removed, and a new attempt runs to its end.
 *
 * The seed of a failure is printed; BENCHD_PROP_SEED=N runs that world alone. */
#include <inttypes.h>

#include "tests/test.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/str.h"
#include "random_cluster.h"
#include "pod/facts.h"
#include "run/pods/pods_internal.h"
#include "test_def.h"

#define BUDGET_MS 1500
#define STEPS 250
#define CALM_S 150 /* without faults: longer than any wait of the launcher */

static int64_t fake_now_ns(void)
{
    return now_ns;
}

/* ---- the driver ---- */

static struct replica_id member_id(uint32_t attempt, size_t i)
{
    return (struct replica_id){
        {.number = attempt}, i == 0 ? ROLE_PSERVER : ROLE_TRAINER, i == 0 ? 0 : (uint32_t)i - 1};
}

static void know(struct world *w, char ret[static 512])
{
    const struct launcher_ops *ops = w->launcher->ops;
    _cleanup_(freep) struct observed_replica *list;
    size_t n, len = 0;
    assert_int_equal(ops->observe(w->launcher, &list, &n, NULL), 0);
    for (size_t i = 0; i < n && len < 400; i++) {
        len += (size_t)snprintf(ret + len, 512 - len, "%u/%d/%u:%d ", list[i].id.attempt.number,
                                list[i].id.role, list[i].id.index, list[i].state);
    }
    len += (size_t)snprintf(ret + len, 512 - len, "settling %d removing %d",
                            ops->is_settling(w->launcher, NULL), ops->is_removing(w->launcher));
    struct run_wait wait;
    ops->wait(w->launcher, &wait);
    len += (size_t)snprintf(ret + len, 512 - len, " wait '%.20s %.60s'", wait.reason, wait.text);
    for (size_t i = 0; i < GANG; i++) {
        struct replica_output output;
        const struct replica_id id = member_id(w->attempt - 1, i);
        if (w->is_asked[i]) {
            len += (size_t)snprintf(ret + len, 512 - len, " %d",
                                    ops->collect(w->launcher, &id, &output, NULL));
        }
    }
}

static void driver_create(struct world *w)
{
    const struct launcher_ops *ops = w->launcher->ops;
    const uint32_t attempt = w->attempt++;
    const struct gang_spec gang = {.attempt.number = attempt,
                                   .replicas = {[ROLE_PSERVER] = 1, [ROLE_TRAINER] = GANG - 1}};
    struct gang_addresses addresses;
    for (size_t i = 0; i < GANG; i++) {
        const struct replica_spec spec = {.id = member_id(attempt, i)};
        w->is_asked[i] = false;
        assert_int_equal(ops->prepare(w->launcher, &gang, &addresses, NULL), 0);
        assert_int_equal(ops->create(w->launcher, &spec, NULL), 0);
    }
}

static bool driver_collect(struct world *w, const struct observed_replica *list, size_t n)
{
    bool is_complete = true;
    for (size_t i = 0; i < n; i++) {
        struct replica_output output;
        const int r = w->launcher->ops->collect(w->launcher, &list[i].id, &output, NULL);
        check(w, r == 0 || r == -EAGAIN, "what is observed can be collected");
        is_complete = is_complete && r == 0;
        for (size_t k = 0; k < GANG; k++) {
            const struct replica_id id = member_id(w->attempt - 1, k);
            if (r == -EAGAIN && replica_id_eq(&id, &list[i].id)) {
                w->is_asked[k] = true;
            }
        }
    }
    return is_complete;
}

static void driver_remove(struct world *w, const struct observed_replica *list, size_t n)
{
    const struct launcher_ops *ops = w->launcher->ops;
    memset(w->is_asked, 0, sizeof(w->is_asked));
    for (size_t i = 0; i < n; i++) {
        const bool has_ended =
            list[i].state == REPLICA_SUCCEEDED || list[i].state == REPLICA_FAILED;
        const bool is_left = !w->is_calm && has_ended && below(w, 4) == 0;
        ops->remove(w->launcher, &list[i].id, is_left);
    }
}

static void drive(struct world *w)
{
    _cleanup_(freep) struct observed_replica *list;
    size_t n, n_ended = 0;
    assert_int_equal(w->launcher->ops->observe(w->launcher, &list, &n, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        n_ended += replica_state_is_final(list[i].state);
    }
    if (n == 0) {
        if (!w->is_calm) {
            driver_create(w);
        }
    } else if (w->is_ending || n_ended == n || fault(w, 12)) {
        if (fault(w, 2) || driver_collect(w, list, n)) {
            driver_remove(w, list, n);
        }
    }
    know(w, w->known);
}

static void on_change(void *ctx)
{
    struct world *w = ctx;
    w->n_changes++;
    know(w, w->known);
    if (fault(w, 8)) {
        drive(w);
    }
}

static void on_record(void *ctx, const struct replica_id *id, const struct record *record)
{
    (void)ctx;
    (void)id;
    (void)record;
}

static void start_launcher(struct world *w)
{
    static const unsigned char secret[32] = {1};
    w->launcher = pods_new(&(struct pods_params){
        .loop = &w->loop,
        .cache = &w->cache,
        .ns = "ns",
        .def = w->def,
        .naming = w->naming,
        .secret = secret,
        .secret_len = sizeof(secret),
        .counters = &w->counters,
        .now_ns = fake_now_ns,
    });
    if (w->seed % 2 == 0) {
        pods_limit_wait(w->launcher, -1); /* over when it begins: dates are of another clock */
    }
    w->launcher->on_change = on_change;
    w->launcher->on_record = on_record;
    w->launcher->ctx = w;
    know(w, w->known);
}

static void restart_launcher(struct world *w)
{
    w->launcher->ops->free(w->launcher);
    w->launcher = NULL;
    relist(w); /* a new process begins with a list */
    memset(w->is_asked, 0, sizeof(w->is_asked));
    start_launcher(w);
}

/* ---- worlds ---- */

static void turn(struct world *w)
{
    (void)uv_run(&w->loop, UV_RUN_NOWAIT);
    const struct pods *l = (const struct pods *)w->launcher;
    check(w, l->members.len == 0 || uv_is_active((const uv_handle_t *)&l->timer),
          "a tick is to come");
    char now[512];
    know(w, now);
    if (!str_eq(now, w->known)) {
        print_message("# known: %s\n# now:   %s\n", w->known, now);
        check(w, false, "a change was not reported");
    }
}

static void pass_ms(struct world *w, int64_t ms)
{
    struct pods *l = (struct pods *)w->launcher;
    now_ns += ms * 1000000;
    if (uv_is_active((const uv_handle_t *)&l->timer)) {
        pods_tick_soon(l);
    }
}

static void step(struct world *w)
{
    switch (below(w, 16)) {
    case 0:
    case 1:
    case 2:
    case 3:
        answer_one(w);
        break;
    case 4:
    case 5:
    case 6:
        tell(w);
        break;
    case 7:
    case 8:
        kubelet(w);
        break;
    case 9:
    case 10:
        pass_ms(w, below(w, 4) == 0 ? 2000 : 500);
        break;
    case 11:
        drive(w);
        break;
    case 12:
        follow_on(w);
        break;
    case 13:
        if (below(w, 4) == 0) {
            outsider(w);
        }
        break;
    case 14:
        if (below(w, 4) == 0) {
            relist(w);
        }
        break;
    default:
        if (below(w, 10) == 0) {
            restart_launcher(w);
        }
        break;
    }
    if (below(w, 3) > 0) { /* else more happens in the same iteration of the loop */
        turn(w);
    }
}

/* Everything that is under way comes to its end. */
static void pass_calm_s(struct world *w, int s)
{
    for (int i = 0; i < 2 * s; i++) {
        for (size_t k = 0; k < 10 && (w->calls.len > 0 || w->watch.len > 0); k++) {
            answer_one(w);
            tell(w);
            turn(w);
        }
        kubelet(w);
        follow_on(w);
        if (i % 4 == 0) {
            drive(w);
        }
        pass_ms(w, 500);
        turn(w);
    }
}

static void calm_down(struct world *w)
{
    w->is_calm = w->is_ending = true;
    relist(w);
    turn(w);
    pass_calm_s(w, CALM_S);
    const struct pods *l = (const struct pods *)w->launcher;
    check(w, l->members.len == 0, "everything is removed");
    check(w, w->calls.len == 0 && w->follows.len == 0, "nothing is asked for");
    vec_each (struct server_pod, p, &w->pods) {
        check(w, p->step == POD_REPORTED, "no pod is left that runs");
    }
    w->is_ending = false;
    driver_create(w);
    const uint64_t n_created = w->counters.created;
    know(w, w->known);
    pass_calm_s(w, CALM_S);
    check(w, l->members.len == 0 && w->counters.created == n_created + GANG,
          "a later attempt runs to its end");
}

static void one_world(uint64_t seed)
{
    struct world w = {.seed = seed, .random = seed, .naming = seed % 2 ? POD_BY_DNS : POD_BY_IP};
    the_world = &w;
    now_ns = 1000 * INT64_C(1000000000);
    assert_int_equal(uv_loop_init(&w.loop), 0);
    w.def = test_def_new(&(struct test_def_params){
        .grid = "{pservers: [1], trainers: [2]}", .baseline_trainers = 2, .repeats = 1});
    kube_cache_init(&w.cache, &(struct kube_cache_params){
                                  .decode = pod_facts_decode, .on_change = on_pod, .ctx = &w});
    start_launcher(&w);
    for (int i = 0; i < STEPS; i++) {
        step(&w);
    }
    calm_down(&w);
    w.launcher->ops->free(w.launcher);
    (void)uv_run(&w.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w.loop), 0);
    assert_int_equal(w.calls.len, 0);
    vec_each (struct server_pod, p, &w.pods) {
        json_decref(p->json);
    }
    vec_each (struct told, t, &w.watch) {
        json_decref(t->json);
    }
    vec_done(&w.pods);
    vec_done(&w.watch);
    vec_done(&w.calls);
    vec_done(&w.follows);
    kube_cache_done(&w.cache);
    run_def_free(w.def);
}

TEST(worlds)
{
    uint64_t seed = 0;
    const char *text = getenv("BENCHD_PROP_SEED");
    if (text != NULL) {
        assert_int_equal(parse_u64(text, &seed), 0);
        one_world(seed);
        return;
    }
    const char *ms = getenv("BENCHD_PROP_MS");
    uint64_t budget_ms = BUDGET_MS;
    if (ms != NULL) {
        assert_int_equal(parse_u64(ms, &budget_ms), 0);
    }
    const int64_t end_ns = clock_monotonic_ns() + (int64_t)budget_ms * 1000000;
    while (clock_monotonic_ns() < end_ns) {
        one_world(++seed);
    }
    print_message("# %" PRIu64 " worlds\n", seed);
}
