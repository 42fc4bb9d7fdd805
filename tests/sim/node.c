/* The scheduler, the kubelets and the containers. A pod is scheduled, its container starts; when
 * a gang is complete it trains, each trainer writes its records and its summary and ends, then
 * the servers end. Who loses a peer ends with exit code 11. The API hears of all this some time
 * later, the phase last. */
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/record.h"
#include "base/rfc3339.h"

#define N_STEPS 3
static VEC(struct sim_pod *) pods; /* also those whose containers outlive them */
static uint64_t nonces;

size_t node_count(void)
{
    return pods.len;
}

struct sim_pod *node_get(size_t i)
{
    return pods.items[i];
}

struct sim_pod *node_find_nonce(uint64_t nonce)
{
    vec_each (struct sim_pod *, it, &pods) {
        if ((*it)->container.nonce == nonce) {
            return *it;
        }
    }
    return NULL;
}

static bool runs(const struct sim_pod *p)
{
    return p->container.has_started && !p->container.has_ended;
}

bool node_is_alive(const struct sim_pod *p)
{
    return runs(p) && p->object != NULL;
}

/* Nodes take their time. */
static int64_t delay(int64_t min_ns, int64_t max_ns)
{
    return sim_time(DRAW_NODE, min_ns, max_ns) * (fault_is_on(FAULT_SLOW_NODES, NULL) ? 8 : 1);
}

bool node_must_wait(struct sim_pod *p, void (*happen)(void *ctx))
{
    const struct fault *f;
    if (p->is_node_gone || !fault_is_on(FAULT_NODE_LOST, &f)) {
        return p->is_node_gone; /* for ever */
    }
    sim_at(f->at_ns + f->length_ns + delay(10 * SIM_MS, 2 * SIM_S), happen, p);
    return true;
}

/* ---- what the API is told ---- */

/* A date of the API: whole seconds. Owned. */
static json_t *date_of(int64_t at_ns)
{
    char text[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(sim_unix_ms() - (sim.now_ns - at_ns) / SIM_MS, text);
    return json_string(text);
}

static json_t *container_state(const struct sim_pod *p)
{
    const struct sim_container *c = &p->container;
    if (!c->has_started) {
        return json_pack("{s:{s:s}}", "waiting", "reason", "ContainerCreating");
    }
    if (!c->has_ended) {
        return json_pack("{s:{s:o}}", "running", "startedAt", date_of(c->started_ns));
    }
    json_t *state = json_pack("{s:{s:i, s:s, s:o, s:o}}", "terminated", "exitCode", c->exit_code,
                              "reason", c->exit_code == 0 ? "Completed" : "Error", "startedAt",
                              date_of(c->started_ns), "finishedAt", date_of(c->ended_ns));
    if (p->message != NULL) {
        json_object_set_new(json_object_get(state, "terminated"), "message",
                            json_string(p->message));
    }
    return state;
}

static const char *phase_of(const struct sim_pod *p)
{
    const struct sim_container *c = &p->container;
    return p->rejection != NULL || p->is_collected ? "Failed"
           : !c->has_started                       ? "Pending"
           : !c->has_ended || !p->is_phase_told    ? "Running"
           : c->exit_code == 0                     ? "Succeeded"
                                                   : "Failed";
}

/* Of the worlds above 40, one in sixteen. */
bool node_has_mesh(void)
{
    return sim.seed > 40 && sim.seed % 16 == 14;
}

/* Of the worlds above 40 another one in sixteen: some pods are not set up for a while. */
static bool has_bad_volumes(void)
{
    return sim.seed > 40 && sim.seed % 16 == 10;
}

void node_admit(json_t *pod)
{
    json_t *containers = json_object_get(json_object_get(pod, "spec"), "containers");
    if (node_has_mesh()) {
        json_array_insert_new(containers, 0,
                              json_pack("{s:s, s:s}", "name", SIM_MESH, "image", "mesh"));
    }
}

/* The one that benchd asked for. */
static const json_t *own_container(const json_t *pod)
{
    const json_t *spec = json_object_get(pod, "spec");
    return json_array_get(json_object_get(spec, "containers"), node_has_mesh() ? 1 : 0);
}

static json_t *container_status(const struct sim_pod *p, const char *name, json_t *state_take)
{
    return json_pack("{s:s, s:s, s:o}", "name", name, "containerID",
                     p->container.has_started ? "containerd://c" : "", "state", state_take);
}

/* A mesh that ends well when the container beside it ends, however that does. */
static json_t *mesh_status(const struct sim_pod *p)
{
    json_t *state = container_state(p);
    if (p->container.has_ended) {
        json_decref(state);
        state = json_pack("{s:{s:i, s:s}}", "terminated", "exitCode", 0, "reason", "Completed");
    }
    return container_status(p, SIM_MESH, state);
}

static json_t *container_statuses(const struct sim_pod *p)
{
    const json_t *own = own_container(p->object->json);
    json_t *list = json_array();
    if (node_has_mesh()) {
        json_array_append_new(list, mesh_status(p));
    }
    json_array_append_new(list, container_status(p, json_string_value(json_object_get(own, "name")),
                                                 container_state(p)));
    return list;
}

/* Owned. */
static char *ip_of(const struct sim_pod *p)
{
    return xasprintf("10.0.%d.%d", (int)(p->container.nonce / 250 % 250),
                     (int)(p->container.nonce % 250 + 1));
}

static void report(struct sim_pod *p)
{
    if (p->object == NULL) {
        return;
    }
    json_t *status = json_pack("{s:s}", "phase", phase_of(p));
    if (p->is_scheduled) {
        json_object_set_new(status, "containerStatuses", container_statuses(p));
    }
    json_t *conditions = place_conditions(p);
    if (p->is_scheduled && !p->container.has_started &&
        (has_bad_volumes() || sim_has_meddler(sim.seed))) {
        json_array_append_new(
            conditions,
            json_pack("{s:s, s:s}", "type", "PodReadyToStartContainers", "status", "False"));
    }
    json_object_set_new(status, "conditions", conditions);
    if (p->container.has_started) {
        _cleanup_(freep) char *ip = ip_of(p);
        json_object_set_new(status, "podIP", json_string(ip));
    }
    if (p->rejection != NULL) {
        json_object_set_new(status, "reason", json_string(p->rejection));
        json_object_set_new(status, "message", json_string("simulated"));
    }
    if (json_equal(status, json_object_get(p->object->json, "status"))) {
        json_decref(status);
        return;
    }
    json_object_set_new(p->object->json, "status", status);
    server_changed(p->object);
    if (strcmp(phase_of(p), "Running") != 0) {
        sim_trace("kubelet: %s is %s", p->name, phase_of(p));
    }
}

static void tell_phase(void *ctx)
{
    struct sim_pod *p = ctx;
    if (node_must_wait(p, tell_phase)) {
        return;
    }
    p->is_phase_told = true;
    report(p);
    if (p->is_deleting && p->object != NULL) {
        server_remove(p->object);
    }
}

static void tell(void *ctx)
{
    struct sim_pod *p = ctx;
    if (node_must_wait(p, tell)) {
        return;
    }
    report(p);
    if (p->container.has_ended && !p->is_phase_told) {
        sim_after(delay(10 * SIM_MS, 1500 * SIM_MS), tell_phase, p);
    }
}

static void tell_later(struct sim_pod *p)
{
    sim_after(delay(10 * SIM_MS, 1200 * SIM_MS), tell, p);
}

static struct record_who who(const struct sim_pod *p)
{
    return (struct record_who){p->id.role, p->id.index, p->id.attempt.number};
}

/* ---- the end of a container ---- */

static void lose_peer(void *ctx);

bool node_is_of_gang(const struct sim_pod *a, const struct sim_pod *b)
{
    return str_eq(a->run_uid, b->run_uid) && attempt_id_eq(&a->id.attempt, &b->id.attempt);
}

static void end(struct sim_pod *p, int exit_code)
{
    if (!runs(p)) {
        return;
    }
    p->container.has_ended = true;
    p->container.exit_code = exit_code;
    p->container.ended_ns = sim.now_ns;
    sim_trace("node: %s ends with %d", p->name, exit_code);
    logs_feed(p);
    tell_later(p);
    for (size_t i = 0; i < pods.len && exit_code != 0 && !sim_prints(sim.seed); i++) {
        if (pods.items[i] != p && node_is_of_gang(p, pods.items[i]) && runs(pods.items[i])) {
            sim_after(delay(50 * SIM_MS, 6 * SIM_S), lose_peer, pods.items[i]);
        }
    }
}

static void end_saying(struct sim_pod *p, int exit_code, char *line_take)
{
    if (!runs(p)) {
        free(line_take);
        return;
    }
    p->message = xstrdup(line_take);
    logs_print(p, line_take);
    end(p, exit_code);
}

static void lose_peer(void *ctx)
{
    struct sim_pod *p = ctx;
    struct buf line = BUF_INIT;
    const struct record_who me = who(p);
    record_write_error(&line, &me, 11, p->id.role == ROLE_TRAINER ? "pserver/0" : "trainer/0",
                       "lost");
    end_saying(p, 11, buf_take(&line));
}

static void serve_end(void *ctx)
{
    struct sim_pod *p = ctx;
    end(p, 0);
}

/* The servers end after the last trainer. */
static void trainer_ended(const struct sim_pod *trainer)
{
    vec_each (struct sim_pod *, it, &pods) {
        if (node_is_of_gang(*it, trainer) && (*it)->id.role == ROLE_TRAINER &&
            !((*it)->container.has_ended && (*it)->container.exit_code == 0)) {
            return;
        }
    }
    vec_each (struct sim_pod *, it, &pods) {
        if (node_is_of_gang(*it, trainer) && (*it)->id.role == ROLE_PSERVER) {
            sim_after(delay(10 * SIM_MS, 2 * SIM_S), serve_end, *it);
        }
    }
}

static void finish_training(void *ctx)
{
    struct sim_pod *p = ctx;
    if (!runs(p)) {
        return;
    }
    const struct record_who me = who(p);
    const int64_t step_ns[N_STEPS] = {SIM_S, SIM_S, SIM_S};
    const int64_t samples_per_s = 100 + (int64_t)(p->container.nonce % 7); /* a noise of 2% */
    struct summary summary = {.samples = p->container.nonce,
                              .duration_ns = (int64_t)p->container.nonce * SIM_S / samples_per_s,
                              .steps = N_STEPS,
                              .loss_first = 2,
                              .loss_last = 1};
    struct buf line = BUF_INIT;
    summary_set_series(&summary, step_ns, N_STEPS);
    record_write_summary(&line, &me, &summary);
    summary_done(&summary);
    end_saying(p, 0, buf_take(&line));
    trainer_ended(p);
}

static void step(void *ctx)
{
    struct sim_pod *p = ctx;
    if (!runs(p)) {
        return;
    }
    uint32_t n = 0;
    vec_each (struct sim_line, line, &p->lines) {
        n += strstr(line->text, "\"step\",") != NULL ||
             strstr(line->text, "\"type\":\"step\"") != NULL;
    }
    const struct record_who me = who(p);
    const struct record_step record = {
        .step = n, .t_ns = sim.now_ns - p->trains_ns, .step_ns = SIM_S, .samples = 16, .loss = 1};
    struct buf line = BUF_INIT;
    record_write_step(&line, &me, &record);
    logs_print(p, buf_take(&line));
    const int64_t wait_ns = delay(SIM_S / 2, 4 * SIM_S) * (sim.is_slow ? 40 : 1);
    sim_after(wait_ns, n + 1 < N_STEPS ? step : finish_training, p);
}

/* ---- the start ---- */

/* Its host name leads to it, where its pod has one. */
static bool is_found(const struct sim_pod *p)
{
    const json_t *spec = p->object == NULL ? NULL : json_object_get(p->object->json, "spec");
    const char *host = json_string_value(json_object_get(spec, "hostname"));
    _cleanup_(freep) char *ip = ip_of(p);
    return host == NULL ||
           server_resolves(json_string_value(json_object_get(spec, "subdomain")), host, ip);
}

#define PEERS_NS (300 * SIM_S)    /* benchworker gives up */
#define RESTARTED_NS (60 * SIM_S) /* after an outage benchd has a Lease again */

static void train_if_complete(void *ctx)
{
    struct sim_pod *p = ctx;
    uint32_t n = 0;
    bool are_found = true;
    vec_each (struct sim_pod *, it, &pods) {
        if (node_is_of_gang(*it, p) && runs(*it)) {
            n++;
            are_found = are_found && is_found(*it);
        }
    }
    if (n < p->n_servers + p->n_trainers) {
        return;
    }
    if (!are_found && sim.now_ns - p->container.started_ns > PEERS_NS) {
        if (fault_was_on(FAULT_REFUSE, RESTARTED_NS)) {
            promise_excuse(p->run_uid, &p->id.attempt, "benchd could not write their addresses");
        }
        lose_peer(p);
        return;
    }
    if (!are_found) { /* they look it up again and again */
        sim_after(delay(200 * SIM_MS, SIM_S), train_if_complete, p);
        return;
    }
    vec_each (struct sim_pod *, it, &pods) {
        if (node_is_of_gang(*it, p) && (*it)->id.role == ROLE_TRAINER) {
            (*it)->trains_ns = sim.now_ns;
            sim_after(delay(SIM_S, 3 * SIM_S), step, *it);
        }
    }
}

/* The kubelet waits for the Secret of a pod's run. */
static bool lacks_secret(const struct sim_pod *p)
{
    const struct sim_run *run = user_find(p->run_uid);
    if (!sim_has_meddler(sim.seed) || run == NULL) {
        return false;
    }
    _cleanup_(freep) char *name = xasprintf("%s-%.8s-key", run->name, run->uid);
    _cleanup_(freep) char *pod = json_dumps(p->object->json, JSON_COMPACT);
    return strstr(pod, name) != NULL && server_find(KIND_SECRETS, name) == NULL;
}

static void start(void *ctx)
{
    struct sim_pod *p = ctx;
    if (node_must_wait(p, start)) {
        return;
    }
    if (p->object == NULL || p->is_deleting || p->rejection != NULL) {
        return;
    }
    if (lacks_secret(p)) {
        promise_excuse(p->run_uid, &p->id.attempt, "its Secret is gone");
        sim_after(delay(SIM_S, 10 * SIM_S), start, p);
        return;
    }
    p->container.has_started = true;
    p->container.started_ns = sim.now_ns;
    p->container.nonce = ++nonces;
    sim_trace("node: %s starts as container %" PRIu64, p->name, p->container.nonce);
    promise_container_started(p);
    logs_print(p,
               xasprintf("container %" PRIu64 " of %s %s\n", p->container.nonce, p->name, p->uid));
    if (sim_prints(sim.seed) && !node_is_disowned(p)) {
        printer_start(p);
        logs_shout_perhaps(p);
        tell_later(p);
        return;
    }
    _cleanup_(json_decrefp) json_t *environment =
        json_pack("{s:s, s:I}", "host", "node-1", "container", (json_int_t)p->container.nonce);
    const struct record_who me = who(p);
    struct buf line = BUF_INIT;
    record_write_start(&line, &me, environment);
    logs_print(p, buf_take(&line));
    logs_shout_perhaps(p);
    tell_later(p);
    if (node_is_disowned(p)) {
        sim_after(delay(SIM_S, 40 * SIM_S), serve_end, p);
    } else {
        train_if_complete(p);
    }
}

#define PULL_MAX_NS (30 * SIM_S)
#define SETUP_MAX_NS (280 * SIM_S) /* benchd gives it up after 300 s */

/* How long its image or its volumes are not there. */
static int64_t setup_ns(const struct sim_pod *p)
{
    if (sim_prints(sim.seed) && sim_one_in(DRAW_PRINTER, 4)) { /* its image is pulled */
        return sim_time(DRAW_PRINTER, 2 * SIM_S, PULL_MAX_NS);
    }
    if (!has_bad_volumes() || !sim_one_in(DRAW_SETUP, 8)) {
        return 0;
    }
    const int64_t wait_ns = sim_time(DRAW_SETUP, 20 * SIM_S, 400 * SIM_S);
    if (wait_ns > SETUP_MAX_NS) {
        promise_excuse(p->run_uid, &p->id.attempt, "a pod is not set up");
    }
    sim_trace("node: %s is not set up for %lld s", p->name, (long long)(wait_ns / SIM_S));
    return wait_ns;
}

static void schedule(void *ctx)
{
    struct sim_pod *p = ctx;
    if (p->object == NULL || p->rejection != NULL) {
        return;
    }
    if (place_must_wait(p, schedule)) {
        tell_later(p);
        return;
    }
    p->is_scheduled = true;
    p->scheduled_ns = sim.now_ns;
    json_object_set_new(json_object_get(p->object->json, "spec"), "nodeName",
                        json_string(p->id.index % 2 == 0 ? "node-0" : "node-1"));
    server_changed(p->object);
    tell_later(p);
    const struct fault *f;
    if (fault_is_on(FAULT_NO_ROOM, &f) && sim_one_in(DRAW_FAULT, f->n)) {
        p->rejection = "OutOfcpu";
        sim_trace("kubelet: %s is rejected", p->name);
        return;
    }
    sim_after(setup_ns(p) + delay(100 * SIM_MS, 4 * SIM_S), start, p);
}

static uint32_t env_number(const json_t *pod, const char *name)
{
    const json_t *env = json_object_get(own_container(pod), "env");
    for (size_t i = 0; i < json_array_size(env); i++) {
        const json_t *item = json_array_get(env, i);
        if (str_eq(json_string_value(json_object_get(item, "name")), name)) {
            return (uint32_t)strtoul(json_string_value(json_object_get(item, "value")), NULL, 10);
        }
    }
    sim_broken("a pod without %s in its environment", name);
}

struct sim_pod *node_new_pod(struct sim_object *o)
{
    struct sim_pod *p = xnew(struct sim_pod);
    const json_t *owners = json_object_get(json_object_get(o->json, "metadata"), "ownerReferences");
    const char *owner = json_string_value(json_object_get(json_array_get(owners, 0), "uid"));
    *p = (struct sim_pod){
        .object = o,
        .name = xstrdup(o->name),
        .uid = xstrdup(o->uid),
        .run_uid = xstrdup(owner == NULL ? "" : owner),
        .n_servers = env_number(o->json, "BENCHD_PSERVERS"),
        .n_trainers = env_number(o->json, "BENCHD_TRAINERS"),
        .id = {{env_number(o->json, "BENCHD_POINT"), env_number(o->json, "BENCHD_TRIAL"),
                env_number(o->json, "BENCHD_ATTEMPT")},
               strstr(o->name, "pserver") != NULL ? ROLE_PSERVER : ROLE_TRAINER,
               env_number(o->json, "BENCHD_INDEX")},
    };
    *vec_push(&pods) = p;
    queue_pod_created(p);
    promise_pod_created(p);
    if (fault_is_on(FAULT_NODE_LOST, NULL)) {
        promise_excuse(p->run_uid, &p->id.attempt, "node-lost");
    }
    sim_after(delay(10 * SIM_MS, SIM_S), schedule, p);
    return p;
}

/* ---- deletion and mishaps ---- */

static void stop(void *ctx)
{
    struct sim_pod *p = ctx;
    if (node_must_wait(p, stop)) {
        return;
    }
    end(p, 143);
}

static void remove_pod(void *ctx)
{
    struct sim_pod *p = ctx;
    if (node_must_wait(p, remove_pod)) {
        return;
    }
    if (p->object != NULL && !runs(p)) {
        server_remove(p->object);
    }
}

void node_delete_pod(struct sim_pod *p, int64_t grace_s)
{
    if (p->is_deleting) {
        return;
    }
    p->is_deleting = true;
    if (runs(p)) {
        /* TERM; one in eight does not listen and is killed when the grace period is over. */
        const bool is_deaf = sim_one_in(DRAW_NODE, 8);
        sim_after(is_deaf ? grace_s * SIM_S : delay(50 * SIM_MS, 3 * SIM_S), stop, p);
    } else if (!p->container.has_ended || p->is_phase_told) {
        sim_after(delay(10 * SIM_MS, SIM_S), remove_pod, p);
    } /* else tell_phase removes it */
}

void node_forget_pod(struct sim_pod *p)
{
    p->object = NULL;
    if (runs(p)) { /* it was forced: the kubelet finds out */
        sim_after(delay(100 * SIM_MS, 3 * SIM_S), stop, p);
    }
}

/* The garbage collector of pods ends one whose node is gone, and then removes it. */
static void collect(void *ctx)
{
    struct sim_pod *p = ctx;
    if (!p->is_collected) {
        p->is_collected = true;
        report(p);
        sim_after(sim_time(DRAW_NODE, 10 * SIM_MS, SIM_S), collect, p);
    } else if (p->object != NULL) {
        server_remove(p->object);
    }
}

/* Its container is over, as the kubelet knows; one that never started is not taken any more. */
struct sim_pod *node_take_pod_back(struct sim_object *o)
{
    vec_each (struct sim_pod *, it, &pods) {
        struct sim_pod *p = *it;
        if (str_eq(p->uid, o->uid)) {
            p->object = o;
            p->is_deleting = *server_meta(o, "deletionTimestamp") != '\0';
            if (!p->container.has_started && p->rejection == NULL) {
                p->rejection = "UnexpectedAdmissionError";
            }
            if (p->is_node_gone) {
                sim_after(sim_time(DRAW_NODE, SIM_S, 60 * SIM_S), collect, p);
            }
            return p;
        }
    }
    sim_broken("a pod is back that never was there: %s", o->name);
}

static void report_again(void *ctx)
{
    struct sim_pod *p = ctx;
    report(p);
    const bool is_over = !p->container.has_ended || p->is_phase_told;
    if (p->object != NULL && p->is_deleting && !runs(p) && is_over) {
        server_remove(p->object);
    }
}

void node_report_all(void)
{
    vec_each (struct sim_pod *, it, &pods) {
        if ((*it)->object != NULL) {
            sim_after(delay(10 * SIM_MS, 2 * SIM_S), report_again, *it);
        }
    }
}

void node_end(struct sim_pod *p, int exit_code)
{
    end(p, exit_code);
}

void node_evict(struct sim_pod *p)
{
    p->rejection = "Evicted";
    end(p, 137);
    report(p);
}

void node_preempt(struct sim_pod *p, bool by_queue)
{
    vec_each (struct sim_pod *, it, &pods) {
        if ((*it)->object != NULL && (*it == p || (by_queue && node_is_of_gang(*it, p)))) {
            (*it)->preempted_by = by_queue ? PREEMPTED_BY_QUEUE : PREEMPTED_BY_SCHEDULER;
            report(*it);
            server_delete((*it)->object, CASCADE_BACKGROUND);
        }
    }
}

/* There are two nodes: a pod is on one of them by its index. */
void node_delete(const struct sim_pod *p)
{
    const int64_t at_ns = sim.now_ns + sim_time(DRAW_NODE, SIM_S, 60 * SIM_S);
    sim_trace("node: that of %s is gone", p->name);
    vec_each (struct sim_pod *, it, &pods) {
        if ((*it)->object != NULL && (*it)->id.index % 2 == p->id.index % 2) {
            promise_excuse((*it)->run_uid, &(*it)->id.attempt, "its node is gone");
            (*it)->is_node_gone = true;
            end(*it, 137);
            sim_at(at_ns, collect, *it);
        }
    }
}

bool node_is_disowned(const struct sim_pod *p)
{
    return *p->run_uid == '\0';
}

void node_excuse_all(const char *why)
{
    vec_each (struct sim_pod *, it, &pods) {
        if ((*it)->object != NULL) {
            promise_excuse((*it)->run_uid, &(*it)->id.attempt, why);
        }
    }
}
