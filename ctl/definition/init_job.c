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

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

/* ---- which kind it is ---- */

/* A later version of the same group is the same kind. */
static bool is_of_group(const char *api_version, const char *other)
{
    const size_t len = strcspn(api_version, "/");
    return len == strcspn(other, "/") && strncmp(api_version, other, len) == 0;
}

static const struct profile *find_profile(const struct init_job_params *p, const json_t *object)
{
    return vec_find_item(
        &p->profiles->list, it,
        it->job != NULL && str_eq(tree_get_text(it->job, "kind"), text_of(object, "kind")) &&
            is_of_group(text_of(object, "apiVersion"), tree_get_text(it->job, "apiVersion")));
}

static int refuse_kind(const struct init_job_params *p, const json_t *object, struct err *err)
{
    _cleanup_(buf_done) struct buf kinds = BUF_INIT;
    vec_each (struct profile *, it, &p->profiles->list) {
        if ((*it)->job != NULL) {
            buf_printf(&kinds, "%s%s (%s)", kinds.len == 0 ? "" : ", ",
                       tree_get_text((*it)->job, "kind"), tree_get_text((*it)->job, "apiVersion"));
        }
    }
    if (*text_of(object, "kind") == '\0' || *text_of(object, "apiVersion") == '\0') {
        return err_set(err, EINVAL,
                       "%s has no apiVersion and kind, as a manifest of Kubernetes has", p->path);
    }
    return err_set(err, EINVAL, "%s is a %s of %s, for which no profile exists; there are %s",
                   p->path, text_of(object, "kind"), text_of(object, "apiVersion"),
                   buf_cstr(&kinds));
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
    static const struct {
        const char *word, *rule;
    } words[] = {{"all_reduce_perf", "nccl-tests"},
                 {"benchworker", "benchworker-train"},
                 {"pretrain_gpt", "megatron"},
                 {"torch_titan", "torchtitan"},
                 {"horovod", "torch-ddp"}};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strstr(text, words[i].word) != NULL) {
            return words[i].rule;
        }
    }
    for (size_t i = 0; i < log_shipped_count; i++) {
        const char *name = log_shipped[i].name;
        if (strlen(name) > 5 && strstr(text, name) != NULL) {
            return name;
        }
    }
    return NULL;
}

/* What the cluster has added, and the names that benchd gives. */
static void strip(json_t *object)
{
    static const char *const kept[] = {"labels", "annotations", NULL};
    json_t *metadata = json_object_get(object, "metadata");
    const char *key;
    json_t *value;
    void *next;
    (void)json_object_del(object, "status"); /* it may be missing */
    json_object_foreach_safe(metadata, next, key, value)
    {
        if (!str_is_one_of(key, kept)) {
            (void)json_object_del(metadata, key); /* it is there */
        }
    }
    (void)json_object_del(json_object_get(metadata, "annotations"),
                          "kubectl.kubernetes.io/last-applied-configuration"); /* as above */
}

/* ---- text ---- */

static void put_value(struct buf *out, const json_t *value, int indent);

static void put_key(struct buf *out, const char *key, const json_t *value, int indent)
{
    init_put_scalar(out, key);
    const bool is_block = json_object_size(value) > 0 || json_array_size(value) > 0;
    buf_printf(out, ":%s", is_block ? "\n" : " ");
    if (is_block) {
        buf_printf(out, "%*s", indent, "");
    }
    put_value(out, value, indent);
}

/* In block style; `out` is at the column `indent`. */
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
            buf_printf(out, "%*s", n++ == 0 ? 0 : indent, "");
            put_key(out, key, item, indent + 2);
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
    if (gpus != NULL) {
        _cleanup_(freep) char *text = json_dumps(gpus, JSON_ENCODE_ANY);
        const bool is_text = text[0] == '"';
        buf_printf(out, ", devices: {value: %.*s}", (int)strlen(text) - 2 * is_text,
                   text + is_text);
    }
    buf_puts(out, "}\n  repeats: {min: 3}  # trials of each point; an interval needs three\n");
}

int init_job_format(const struct init_job_params *p, struct buf *out, struct err *err)
{
    json_auto_t *object = tree_to_json(p->manifest);
    const struct profile *profile = find_profile(p, object);
    if (profile == NULL) {
        return refuse_kind(p, object, err);
    }
    _cleanup_(freep) char *text = json_dumps(object, JSON_COMPACT);
    _cleanup_(freep) char *name =
        p->name != NULL ? xstrdup(p->name)
                        : object_name_make(text_of(json_object_get(object, "metadata"), "name"),
                                           NAME_MAX_LEN, "benchmark");
    strip(object);
    put_definition(out, p, profile, name, object, guess_rule(text));
    return 0;
}
