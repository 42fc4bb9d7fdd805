/* What a run has in addition to its pods, see pod_gates.h. */
#include "run/pods/pod_gates.h"

#include <errno.h>

#include "base/mem.h"
#include "kube/json.h"
#include "pod/body.h"
#include "run/pods/pods_internal.h"

#define NOT_ANSWERED "the API server does not answer the creation of "

static const struct {
    const struct kube_resource *resource;
    const char *kind; /* for people */
} gates[GATE_COUNT] = {
    [GATE_SECRET] = {&kube_secrets, "Secret"},
    [GATE_SERVICE] = {&kube_services, "Service"},
    [GATE_POLICY] = {&kube_network_policies, "NetworkPolicy"},
};

void pod_gates_init(struct pod_gates *g, struct pods *owner)
{
    const struct pods_params *params = &owner->params;
    json_t *const bodies[GATE_COUNT] = {
        [GATE_SECRET] =
            pod_secret_body(params->def, params->secret, params->secret_len, params->ssh),
        [GATE_SERVICE] = params->naming == POD_BY_DNS ? pod_service_body(params->def) : NULL,
        [GATE_POLICY] = params->has_policy ? pod_policy_body(params->def) : NULL,
    };
    for (int i = 0; i < GATE_COUNT; i++) {
        g->list[i] = (struct pod_gate){
            .owner = owner,
            .resource = gates[i].resource,
            .kind = gates[i].kind,
            .body = bodies[i],
            .step = bodies[i] == NULL ? GATE_OPEN : GATE_SHUT,
        };
    }
}

void pod_gates_done(struct pod_gates *g)
{
    for (int i = 0; i < GATE_COUNT; i++) {
        kube_call_cancel(g->list[i].call);
        json_decref(g->list[i].body);
        free(g->list[i].refusal);
        pod_trouble_clear(&g->list[i].trouble);
    }
    *g = (struct pod_gates){0};
}

bool pod_gates_are_open(const struct pod_gates *g)
{
    return array_all(g->list, GATE_COUNT, it, it->step == GATE_OPEN);
}

void pod_gates_shut(struct pod_gates *g)
{
    for (int i = 0; i < GATE_COUNT; i++) {
        struct pod_gate *gate = &g->list[i];
        if (gate->body != NULL && gate->step == GATE_OPEN) {
            gate->step = GATE_SHUT;
            gate->due_ns = 0;
        }
    }
}

char *pod_gates_take_refusal(struct pod_gates *g)
{
    struct pod_gate *refused = array_find(g->list, GATE_COUNT, it, it->refusal != NULL);
    return refused == NULL ? NULL : take_ptr(refused->refusal);
}

static void heard(struct pod_gate *g, enum pod_gate_step step)
{
    g->call = NULL;
    g->step = step;
    g->due_ns = g->owner->params.now_ns() + POD_RETRY_NS; /* of SHUT */
    if (step == GATE_OPEN) {
        pod_trouble_clear(&g->trouble);
    }
    pods_tick_soon(g->owner);
}

static void try_again(struct pod_gate *g, int r, const struct kube_response *res, const char *words)
{
    heard(g, GATE_SHUT);
    g->due_ns = g->owner->params.now_ns() + pod_trouble_note(&g->trouble, r, res, words);
}

/* Posted again later: the next attempt needs it too. */
static void refuse(struct pod_gate *g, const char *message)
{
    free(g->refusal);
    g->refusal = xstrdup(message);
    heard(g, GATE_SHUT);
}

static void on_found(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_gate *g = ctx;
    json_auto_t *object = NULL;
    struct err parsed = *err;
    r = r < 0 ? r : kube_json_load(res->body, res->body_len, &object, &parsed);
    if (r == 0 && pod_is_owned(g->owner->params.def, object)) {
        heard(g, GATE_OPEN);
    } else if (r == 0) {
        _cleanup_(freep) char *message =
            xasprintf("a %s '%s' exists already and does not belong to this run; delete it",
                      g->kind, kube_json_metadata(object, "name"));
        refuse(g, message);
    } else if (r == -ENOENT || pods_is_transient(g->owner, r, res)) {
        try_again(g, r, res, parsed.msg);
    } else {
        refuse(g, parsed.msg);
    }
}

static void on_posted(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_gate *g = ctx;
    /* benchd may not read Secrets. The name holds the run's uid, and any key that all members share
     * will do. */
    const bool is_secret = g->resource == &kube_secrets;
    if (r == 0 || (r == -EEXIST && is_secret)) {
        heard(g, GATE_OPEN);
    } else if (r == -EEXIST) {
        heard(g, GATE_TAKEN);
    } else if (pods_is_transient(g->owner, r, res)) {
        try_again(g, r, res, err->msg);
    } else {
        refuse(g, err->msg);
    }
}

bool pod_gates_wait(const struct pod_gates *g, struct run_wait *ret)
{
    const struct pod_gate *gate = array_find(g->list, GATE_COUNT, it, it->step != GATE_OPEN);
    if (gate == NULL) {
        return false;
    }
    const char *words = gate->trouble.words;
    pod_wait_say(ret, pod_answer_reason(gate->trouble.code), "%s%s",
                 words != NULL ? words : NOT_ANSWERED "the run's ",
                 words != NULL ? "" : gate->kind);
    ret->is_unanswered = words == NULL;
    return words != NULL;
}

static void post(struct pod_gate *g)
{
    const struct pods_params *params = &g->owner->params;
    struct kube_request req;
    kube_request_create(g->resource, params->ns, g->body, KUBE_WRITE, &req);
    g->step = GATE_POSTING;
    g->call = kube_call(params->client, &req, KUBE_ONCE, on_posted, g);
}

static void look(struct pod_gate *g)
{
    const struct pods_params *params = &g->owner->params;
    struct kube_request req;
    kube_request_get(g->resource, params->ns, kube_json_metadata(g->body, "name"), &req);
    g->step = GATE_CHECKING;
    g->call = kube_call(params->client, &req, KUBE_ONCE, on_found, g);
}

void pod_gates_send(struct pod_gates *g, int64_t now_ns)
{
    for (int i = 0; i < GATE_COUNT; i++) {
        struct pod_gate *gate = &g->list[i];
        if (gate->step == GATE_SHUT && now_ns >= gate->due_ns) {
            post(gate);
        } else if (gate->step == GATE_TAKEN) {
            look(gate);
        }
    }
}
