/* See pod_nodes.h. */
#include "run/pods/pod_nodes.h"

#include "base/mem.h"
#include "base/str.h"
#include "core/environment.h"
#include "core/json_field.h"
#include "core/record.h"
#include "kube/json.h"
#include "run/pods/pods_internal.h"

static struct pod_node *find(const struct pods *l, const struct pod_member *m)
{
    return vec_find_item(&l->nodes.list, it,
                         attempt_id_eq(&it->attempt, &m->id.attempt) &&
                             str_eq_or_null(it->name, m->state.node));
}

static void put(json_t *facts, const char *key, const char *prefix, const char *value)
{
    if (*value != '\0') {
        json_object_set_new(facts, key, json_sprintf("%s%s", prefix, value));
    }
}

/* GPU feature discovery writes both forms of the driver's version; older ones only the second. */
static void put_driver(json_t *facts, const json_t *labels)
{
    const char *full = fact_text(labels, "nvidia.com/cuda.driver-version.full");
    const char *major = fact_text(labels, "nvidia.com/cuda.driver.major");
    _cleanup_(freep) char *parts =
        xasprintf("%s.%s.%s", major, fact_text(labels, "nvidia.com/cuda.driver.minor"),
                  fact_text(labels, "nvidia.com/cuda.driver.rev"));
    put(facts, "gpu_driver", "nvidia ", *full != '\0' ? full : *major != '\0' ? parts : "");
}

static json_t *read_labels(const json_t *labels, const struct node_labels *wanted)
{
    json_t *facts = json_object();
    json_auto_t *more = json_object();
    put(facts, "instance_type", "", fact_text(labels, "node.kubernetes.io/instance-type"));
    put(facts, "zone", "", fact_text(labels, "topology.kubernetes.io/zone"));
    put(facts, "accelerator", "", fact_text(labels, "nvidia.com/gpu.product"));
    put_driver(facts, labels);
    for (const char *const *key = wanted->more; *key != NULL; key++) {
        put(more, *key, "", fact_text(labels, *key));
    }
    if (json_object_size(more) > 0) {
        json_object_set(facts, "node_labels", more);
    }
    return facts;
}

static void on_node(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)err; /* what cannot be read is unknown */
    struct pod_node *n = ctx;
    struct node_labels *wanted = n->owner->params.node_labels;
    json_t *node = NULL;
    n->call = NULL;
    if (r == 0 && kube_json_load_lean(res->body, res->body_len, &node, NULL) == 0) {
        n->facts =
            read_labels(json_object_get(json_object_get(node, "metadata"), "labels"), wanted);
        json_decref(node);
    }
    wanted->is_denied |= kube_lacks_right(res);
    vec_each (struct pod_node *, it, &n->owner->nodes.list) {
        if (wanted->is_denied) { /* the others would be, too */
            kube_call_cancel((*it)->call);
            (*it)->call = NULL;
        }
    }
    vec_each (struct pod_member *, it, &n->owner->members) {
        (*it)->has_news |= wanted->is_denied || attempt_id_eq(&(*it)->id.attempt, &n->attempt);
    }
    pods_tick_soon(n->owner);
}

static void on_version(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)err; /* what cannot be read is unknown */
    struct pods *l = ctx;
    json_t *version = NULL;
    l->nodes.version_call = NULL;
    if (r == 0 && kube_json_load_lean(res->body, res->body_len, &version, NULL) == 0) {
        l->nodes.kubernetes = xstrdup(fact_text(version, "gitVersion"));
        json_decref(version);
    }
    vec_each (struct pod_member *, it, &l->members) {
        (*it)->has_news = true;
    }
    pods_tick_soon(l);
}

static void node_free(struct pod_node *n)
{
    kube_call_cancel(n->call);
    json_decref(n->facts);
    free(n->name);
    free(n);
}

static void drop_unused(struct pods *l)
{
    for (size_t i = l->nodes.list.len; i-- > 0;) {
        struct pod_node *n = l->nodes.list.items[i];
        if (!vec_any(&l->members, it, attempt_id_eq(&(*it)->id.attempt, &n->attempt))) {
            node_free(n);
            l->nodes.list.items[i] = l->nodes.list.items[--l->nodes.list.len];
        }
    }
}

bool pod_nodes_ask(struct pods *l, struct pod_member *m)
{
    static const struct kube_resource nodes = {"", "v1", "nodes", "node"};
    static const struct kube_call_options options = {.max_tries = 2,
                                                     .timeout_ns = 5 * INT64_C(1000000000)};
    struct pod_node *n = find(l, m);
    struct kube_request req;
    if (l->params.node_labels != NULL && !l->nodes.has_asked_version) {
        kube_request_raw("/version", "get the version", &req);
        l->nodes.version_call = kube_call(l->params.client, &req, &options, on_version, l);
        l->nodes.has_asked_version = true;
    }
    if (n == NULL && m->life < MEMBER_DYING_POSTING && m->state.node != NULL &&
        l->params.node_labels != NULL && !l->params.node_labels->is_denied) {
        kube_request_get(&nodes, NULL, m->state.node, &req);
        n = xnew(struct pod_node);
        *n = (struct pod_node){.owner = l, .attempt = m->id.attempt};
        n->name = xstrdup(m->state.node);
        n->call = kube_call(l->params.client, &req, &options, on_node, n);
        *vec_push(&l->nodes.list) = n;
    }
    m->has_asked_node = true;
    return l->nodes.version_call != NULL || (n != NULL && n->call != NULL);
}

static bool is_starting(const struct pod_gang *g)
{
    return vec_any(&g->owner->members, it,
                   pod_gang_has(g, *it) && pod_member_started_unix_ms(*it) == 0);
}

void pod_nodes_tick(struct pods *l)
{
    drop_unused(l);
    vec_each (struct pod_gang *, gang, &l->gangs) {
        const bool is_time = !is_starting(*gang);
        vec_each (struct pod_member *, it, &l->members) {
            if (is_time && pod_gang_has(*gang, *it) && !(*it)->has_asked_node) {
                (void)pod_nodes_ask(l, *it);
            }
        }
    }
}

/* Does the replica have whole GPUs of its node? */
static bool has_gpus(const struct matrix *matrix, const struct replica_id *id)
{
    const struct point *p = &matrix->points[id->attempt.point];
    return id->attempt.point < matrix->n_points && p->devices > 0 && !p->has_slices &&
           role_leads(id->role, p->replicas);
}

void pod_nodes_add(const struct pods *l, const struct pod_member *m, json_t **environment)
{
    if (*environment == NULL) {
        return;
    }
    const struct pod_node *n = find(l, m);
    json_t *all = json_copy(*environment);
    json_auto_t *facts = n != NULL && n->facts != NULL ? json_copy(n->facts) : json_object();
    put(facts, "kubernetes", "", l->nodes.kubernetes ?: "");
    if (!has_gpus(&l->params.def->matrix, &m->id)) { /* others use those of the node */
        (void)json_object_del(facts, "accelerator"); /* it may not be there */
        (void)json_object_del(facts, "gpu_driver");
    }
    const char *key;
    json_t *value;
    json_object_foreach (facts, key, value) {
        const json_t *own = json_object_get(all, key);
        if (own == NULL || json_is_null(own)) {
            (void)json_object_set(all, key, value); /* fails without memory only */
        }
    }
    json_decref(*environment);
    *environment = all;
}

void pod_nodes_done(struct pod_nodes *n)
{
    vec_each (struct pod_node *, it, &n->list) {
        node_free(*it);
    }
    vec_done(&n->list);
    kube_call_cancel(n->version_call);
    free(n->kubernetes);
}
