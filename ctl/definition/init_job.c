/* See init_job.h. */
#include "ctl/definition/init_job.h"

#include <errno.h>
#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "ctl/definition/init_file.h"
#include "doc/json_pointer.h"
#include "logparse/shipped_rules.h"
#include "spec/name.h"

#define NAME_MAX_LEN 24 /* a run's name adds six characters */

/* ---- which kind it is ---- */

/* A later version of the same group is the same kind. */
static bool is_of(const struct node *job, const char *api_version, const char *kind)
{
    const char *own = tree_get_text(job, "apiVersion");
    return str_eq_or_null(tree_get_text(job, "kind"), kind) &&
           strncmp(own, api_version, strcspn(own, "/") + 1) == 0;
}

static int find_profile(const struct init_job_params *p, const struct profile **ret,
                        struct err *err)
{
    const char *api_version = tree_get_text(p->manifest, "apiVersion");
    const char *kind = tree_get_text(p->manifest, "kind");
    _cleanup_(buf_done) struct buf kinds = BUF_INIT;
    if (kind == NULL || api_version == NULL) {
        return err_set(err, EINVAL,
                       "%s has no apiVersion and kind, as a manifest of Kubernetes has", p->path);
    }
    vec_each (struct profile *, it, &p->profiles->list) {
        const struct node *job = (*it)->job;
        if (job != NULL && is_of(job, api_version, kind)) {
            *ret = *it;
            return 0;
        }
        if (job != NULL) {
            buf_printf(&kinds, "%s%s (%s)", kinds.len == 0 ? "" : ", ", tree_get_text(job, "kind"),
                       tree_get_text(job, "apiVersion"));
        }
    }
    return err_set(err, EINVAL, "%s is a %s of %s, for which no profile exists; there are %s",
                   p->path, kind, api_version, buf_cstr(&kinds));
}

/* ---- what the manifest says ---- */

/* How many workers it has, by the first field that gets their number. */
static int64_t count_workers(const struct profile *profile, const json_t *object)
{
    const struct node *set = tree_get(profile->job, "set");
    int64_t n = 0;
    for (size_t i = 0; set != NULL && i < set->n_children && n == 0; i++) {
        const char *path = tree_get_text(set->children[i], "path");
        if (str_eq_or_null(tree_get_text(set->children[i], "from"), "workers")) {
            n = json_integer_value(json_pointer_get(object, path));
        }
    }
    return n < 1 ? 1 : n;
}

/* The rule for a program that the manifest names; NULL: it names none. Static. */
static const char *guess_rule(const char *text)
{
    static const char *const words[][2] = {
        {"all_reduce_perf", "nccl-tests"}, {"benchworker", "benchworker-train"},
        {"pretrain_gpt", "megatron"},      {"torch_titan", "torchtitan"},
        {"horovod", "torch-ddp"},
    };
    const char *const(*known)[2] =
        array_find(words, COUNT_OF(words), it, strstr(text, (*it)[0]) != NULL);
    const struct embedded *shipped = array_find(
        log_shipped, log_shipped_count, it, strlen(it->name) > 5 && strstr(text, it->name) != NULL);
    return known != NULL ? (*known)[1] : shipped != NULL ? shipped->name : NULL;
}

/* Without what the cluster has added, and the names that benchd gives. */
static void strip(json_t *object)
{
    const json_t *metadata = json_object_get(object, "metadata");
    json_t *notes = json_object_get(metadata, "annotations");
    (void)json_object_del(object, "status"); /* they may be missing */
    (void)json_object_del(notes, "kubectl.kubernetes.io/last-applied-configuration");
    json_t *kept = json_pack("{s:O*, s:O*}", "labels", json_object_get(metadata, "labels"),
                             "annotations", notes);
    if (metadata != NULL) {
        (void)json_object_set_new(object, "metadata", kept); /* fails without memory only */
    } else {
        json_decref(kept);
    }
}

/* ---- text ---- */

/* In block style; `out` is at the column `indent`, or after a key. */
static void put_value(struct buf *out, const json_t *value, int indent)
{
    const char *key;
    json_t *item;
    size_t i, n = 0;
    if (json_is_string(value)) {
        init_put_scalar(out, json_string_value(value));
        buf_putc(out, '\n');
    } else if (json_object_size(value) > 0) {
        json_object_foreach ((json_t *)value, key, item) { /* only read */
            const bool is_block = json_object_size(item) > 0 || json_array_size(item) > 0;
            buf_printf(out, "%*s", n++ == 0 ? 0 : indent, "");
            init_put_scalar(out, key);
            buf_printf(out, is_block ? ":\n%*s" : ":%*s", is_block ? indent + 2 : 1, "");
            put_value(out, item, indent + 2);
        }
    } else if (json_array_size(value) > 0) {
        json_array_foreach (value, i, item) {
            buf_printf(out, "%*s- ", i == 0 ? 0 : indent, "");
            put_value(out, item, indent + 2);
        }
    } else {
        _cleanup_(freep) char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        buf_printf(out, "%s\n", text);
    }
}

static void put_sweep(struct buf *out, int64_t n)
{
    buf_puts(out, "  sweep:\n    grid: {workers: [1");
    for (int64_t i = 2; i < n; i *= 2) {
        buf_printf(out, ", %lld", (long long)i);
    }
    buf_printf(out, ", %lld]}  # the manifest has %lld\n", (long long)(n < 2 ? 2 : n),
               (long long)n);
}

static void put_definition(struct buf *out, const struct init_job_params *p,
                           const struct profile *profile, const char *name, const json_t *object,
                           const char *rule)
{
    buf_printf(
        out,
        "# From benchctl init -f %s. What to do next:\n"
        "#   kubectl apply -n benchd -f manifests/jobs/%s.yaml   lets benchd make them\n"
        "#   benchctl run FILE                                   measures all points\n"
        "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata:\n  name: %s\nspec:\n"
        "  systems:  # each is a row of the table\n  - name: %s\n"
        "    profile: %s  # which fields have the number of workers, and where its pods are\n"
        "    # which lines of the log are figures: a rule that ships, or one of your own%s\n"
        "    log: %s\n    job:\n"
        "      # values that the object gets at each point, such as\n"
        "      # set: [{path: /spec/..., from: batch_size}]\n"
        "      template:\n        ",
        p->path, profile->name, name, name, profile->name,
        rule == NULL ? "; nothing in the manifest shows which" : "",
        rule == NULL ? "torch-ddp" : rule);
    put_value(out, object, 8);
    buf_printf(out,
               "  workload:\n    model: %s  # a name for the tables\n"
               "    batchSize: 32  # samples a step of each worker; must be what the program uses\n"
               "    exchange: {kind: AllReduce}\n",
               name);
    put_sweep(out, count_workers(profile, object));
    buf_puts(out, "  roles:\n    worker: {replicas: {from: workers}");
    const json_t *gpus =
        json_pointer_get(object, "/spec/trainer/resourcesPerNode/limits/nvidia.com~1gpu");
    if (json_is_string(gpus)) {
        buf_printf(out, ", devices: {value: %s}", json_string_value(gpus));
    } else if (gpus != NULL) {
        buf_printf(out, ", devices: {value: %lld}", (long long)json_integer_value(gpus));
    }
    buf_puts(out, "}\n  repeats: {min: 3}  # trials of each point; an interval needs three\n");
}

int init_job_format(const struct init_job_params *p, struct buf *out, struct err *err)
{
    const struct profile *profile = NULL;
    const int r = find_profile(p, &profile, err);
    if (r < 0) {
        return r;
    }
    json_auto_t *object = tree_to_json(p->manifest);
    _cleanup_(freep) char *text = json_dumps(object, JSON_COMPACT);
    const char *own = tree_get_text(tree_get(p->manifest, "metadata"), "name");
    _cleanup_(freep) char *name =
        p->name != NULL ? xstrdup(p->name) : object_name_make(own ?: "", NAME_MAX_LEN, "benchmark");
    strip(object);
    put_definition(out, p, profile, name, object, guess_rule(text));
    return 0;
}
