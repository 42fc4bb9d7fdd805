/* Whether a cluster can ever hold the gang of each point. What its pods request is
 * compared with what there is in all, of each resource alone. Edge file: it asks a cluster. */
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "core/json_field.h"
#include "ctl/cluster/cluster_internal.h"
#include "pod/replica_spec.h"

#define ENDLESS (INT64_C(1) << 60)

/* Returns thousandths of a quantity, which is a string or a number. Without a quantity there is
 * nothing; one that cannot be read limits nothing. */
static int64_t amount_of(const json_t *quantity)
{
    _cleanup_(freep) char *text = json_is_string(quantity) ? xstrdup(json_string_value(quantity))
                                                           : json_dumps(quantity, JSON_ENCODE_ANY);
    int64_t n = 0;
    return text == NULL || (parse_cpu_millicores(text, &n) == 0 && n < ENDLESS) ? n : ENDLESS;
}

/* The nodes, or parts of a quota, do not have `each` of the resource n times. */
static bool lacks(const json_t *parts, const char *name, int64_t each, int64_t n)
{
    for (size_t i = 0; i < json_array_size(parts) && n > 0; i++) {
        const int64_t has = amount_of(json_object_get(json_array_get(parts, i), name));
        n -= each == 0 ? n : has / each;
    }
    return n > 0;
}

/* What a pod of the role requests: what its container 0 does. Owned. */
static json_t *requests_of(const struct run_def *def, const struct point *p, enum role role)
{
    json_auto_t *template = NULL;
    json_t *requests = json_object();
    if (p->replicas[role] > 0 && replica_template_render(def, p, role, &template, NULL) == 0) {
        const json_t *containers = json_object_get(json_object_get(template, "spec"), "containers");
        const json_t *resources = json_object_get(json_array_get(containers, 0), "resources");
        (void)json_object_update(requests, json_object_get(resources, "limits")); /* NULL: none */
        (void)json_object_update(requests, json_object_get(resources, "requests"));
    }
    return requests;
}

void cluster_put_lack(const struct run_def *def, const struct point *p, const json_t *parts,
                      struct buf *out)
{
    json_auto_t *roles = json_array();
    const char *name;
    json_t *value, *requests;
    size_t i;
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        (void)json_array_append_new(roles, requests_of(def, p, role));
    }
    json_array_foreach (roles, i, requests) {
        json_object_foreach (requests, name, value) {
            const int64_t least = amount_of(value);
            int64_t n = 0, all = 0;
            for (size_t k = 0; k < ROLE_COUNT; k++) {
                const int64_t each = amount_of(json_object_get(json_array_get(roles, k), name));
                n += each >= least ? p->replicas[k] : 0;
                all += each < ENDLESS / (p->replicas[k] + 1) ? each * p->replicas[k] : ENDLESS;
            }
            if (lacks(parts, name, least, n) || lacks(parts, name, 1, all)) {
                buf_printf(out, "point %u has too little %s; ", p->index, name);
                return;
            }
        }
    }
}

int cluster_read_nodes(struct cluster *c, json_t *parts, struct err *err)
{
    static const struct kube_resource nodes = {"", "v1", "nodes", "node"};
    json_auto_t *list = NULL;
    const int r = cluster_get_list(c, &nodes, NULL, &list, err);
    const json_t *node;
    size_t i;
    json_array_foreach (json_object_get(list, "items"), i, node) {
        (void)json_array_append(parts,
                                json_object_get(json_object_get(node, "status"), "allocatable"));
    }
    return r;
}

/* What a cohort lends without a limit is not known. */
int cluster_read_quota(struct cluster *c, const char *queue, json_t *parts, struct err *err)
{
    static const struct kube_resource lq = {"kueue.x-k8s.io", "v1beta2", "localqueues", "queue"};
    static const struct kube_resource cq = {"kueue.x-k8s.io", "v1beta2", "clusterqueues",
                                            "cluster queue"};
    json_auto_t *named = NULL, *owner = NULL;
    struct kube_request req;
    int r = cluster_get_object(c, &lq, queue, &named, err);
    if (r == 0) {
        kube_request_get(&cq, NULL, fact_text(json_object_get(named, "spec"), "clusterQueue"),
                         &req);
        r = cluster_get(c, &req, &owner, err);
    }
    const json_t *spec = json_object_get(owner, "spec"), *group, *flavor, *quota;
    const bool may_borrow = *fact_text(spec, "cohortName") != '\0';
    size_t i, k, m;
    json_array_foreach (json_object_get(spec, "resourceGroups"), i, group) {
        json_array_foreach (json_object_get(group, "flavors"), k, flavor) {
            json_array_foreach (json_object_get(flavor, "resources"), m, quota) {
                const json_t *limit = json_object_get(quota, "borrowingLimit");
                const int64_t loan = !may_borrow ? 0 : limit == NULL ? ENDLESS : amount_of(limit);
                const int64_t all = amount_of(json_object_get(quota, "nominalQuota")) + loan;
                _cleanup_(freep) char *text = xasprintf("%lldm", (long long)all);
                (void)json_array_append_new(parts,
                                            json_pack("{s:s}", fact_text(quota, "name"), text));
            }
        }
    }
    return r;
}

/* What all pods of a point request together; owned. */
static json_t *sums_of(const struct run_def *def, const struct point *p)
{
    json_t *sums = json_object();
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        json_auto_t *requests = requests_of(def, p, role);
        const char *name;
        json_t *value;
        json_object_foreach (requests, name, value) {
            const json_int_t before = json_integer_value(json_object_get(sums, name));
            const int64_t each = amount_of(value);
            const bool is_known = each < ENDLESS / (p->replicas[role] + 1);
            (void)json_object_set_new(
                sums, name, json_integer(before + (is_known ? each * p->replicas[role] : 0)));
        }
    }
    return sums;
}

/* "2 cpu", "12 Gi of memory". */
static void put_amount(const char *name, double thousandths, struct buf *out)
{
    const bool is_memory = str_eq(name, "memory");
    buf_printf(out, "%.4g %s%s", thousandths / 1000 / (is_memory ? 1 << 30 : 1),
               is_memory ? "Gi of " : "", name);
}

/* "the largest point (trainers=100) needs 1600 cpu; the cluster has 48 cpu": of the resource that
 * is short by the largest factor. Nothing if all points fit. */
static void put_need(const struct run_def *def, const json_t *parts, struct buf *out)
{
    double worst = 1;
    for (uint32_t i = 0; i < def->matrix.n_points; i++) {
        const struct point *p = &def->matrix.points[i];
        json_auto_t *sums = sums_of(def, p);
        const char *name;
        const json_t *part;
        json_t *sum;
        size_t k;
        json_object_foreach (sums, name, sum) {
            double has = 0;
            json_array_foreach (parts, k, part) {
                has += (double)amount_of(json_object_get(part, name));
            }
            const double needs = (double)json_integer_value(sum), factor = needs / has;
            if (factor > worst) {
                worst = factor;
                buf_clear(out);
                buf_puts(out, "the largest point (");
                params_format(&p->params, ", ", out);
                buf_puts(out, ") needs ");
                put_amount(name, needs, out);
                buf_puts(out, "; the cluster has ");
                put_amount(name, has, out);
            }
        }
    }
}

/* "trainers=1,2": the sizes of which each point fits. */
static void put_sizes_that_fit(const struct run_def *def, const json_t *parts, struct buf *out)
{
    const struct matrix *m = &def->matrix;
    const char *size = matrix_size_words(m).many;
    int64_t last = 0;
    for (uint32_t i = 0; i < m->n_swept; i++) {
        _cleanup_(buf_done) struct buf lacking = BUF_INIT;
        const struct value *v = params_get(&m->points[i].params, size);
        for (uint32_t k = 0; k < m->n_swept && v != NULL; k++) {
            if (value_eq(params_get(&m->points[k].params, size), v)) {
                cluster_put_lack(def, &m->points[k], parts, &lacking);
            }
        }
        if (v != NULL && v->is_int && v->i > last && lacking.len == 0) {
            buf_printf(out, "%s%s%lld", out->len == 0 ? size : "", out->len == 0 ? "=" : ",",
                       (long long)v->i);
            last = v->i;
        }
    }
}

void cluster_note_room(struct cluster *c, const struct run_def *def)
{
    json_auto_t *parts = json_array();
    _cleanup_(buf_done) struct buf need = BUF_INIT, sizes = BUF_INIT;
    struct err err;
    if (cluster_read_nodes(c, parts, &err) < 0) {
        return;
    }
    put_need(def, parts, &need);
    if (need.len > 0) {
        put_sizes_that_fit(def, parts, &sizes);
        cli_note_prose(c->backend.cli, "note: %s%s%s%s", buf_cstr(&need),
                       sizes.len == 0 ? ", so it waits for more nodes" : ": --set ",
                       buf_cstr(&sizes), sizes.len == 0 ? "" : " fits");
    }
}
