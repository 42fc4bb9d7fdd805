/* See machines.h, and result_parts.h. */
#include "result/machines.h"

#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "core/environment.h"
#include "core/json_field.h"
#include "result/nodes.h"
#include "result/result_parts.h"

#define MAX_KINDS 3 /* values named in one difference; the rest is counted */

/* In the order in which differences are listed. */
/* clang-format off */
static const struct {
    const char *key, *name;
} machine_keys[MACHINE_KEY_COUNT] = {
    {"cpu_model", "CPU"}, {"caches", "caches"}, {"cpu_features", "CPU features"},
    {"cgroup_cpu_limit", "CPU limit"}, {"blas", "BLAS"}, {"blas_core", "BLAS core"},
    {"kernel", "kernel"}, {"clock_source", "clock source"}, {"cpu_governor", "CPU governor"},
    {"gpu_driver", "GPU driver"}, {"build", "build"}, {"source", "source"},
    {"compiler", "compiler"}, {"build_options", "build options"}, {"image_id", "image"},
    {"accelerator", "accelerator"}, {"framework", "framework"}, {"system", "system"},
    {"cuda", "CUDA"}, {"nccl", "NCCL"},
    {"global_batch_size", "batch of the job"}, {"instance_type", "instance type"},
    {"zone", "zone"}, {"node_labels", "node labels"}, {"kubernetes", "Kubernetes"},
    {"work", "work"}, {"program", "program"}, {"program_folder", "folder of the program"},
    {"versions", "versions"}, {"transport", "transport"},
};
/* clang-format on */

const char *machine_key_name(size_t key)
{
    return machine_keys[key].name;
}

void machines_add_value(struct machines *m, size_t key, const char *text)
{
    struct texts *values = &m->values[key];
    size_t at;
    if (!vec_search(&values->list, it, strcmp(*it, text), &at)) {
        *vec_insert(&values->list, at) = xstrdup(text);
    }
}

char *machines_to_text(const struct machines *m)
{
    json_t *o = json_object();
    for (size_t k = 0; k < MACHINE_KEY_COUNT; k++) {
        if (m->values[k].list.len > 0) {
            json_object_set_new(o, machine_keys[k].key,
                                JSON_ARRAY_OF(vec_each (char *, text, &m->values[k].list),
                                              json_string_nocheck(*text)));
        }
    }
    char *text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return text;
}

bool machines_add_text(struct machines *m, const char *text)
{
    json_t *o = json_loads(text, 0, NULL);
    for (size_t k = 0; k < MACHINE_KEY_COUNT; k++) {
        size_t i;
        json_t *value;
        json_array_foreach (json_object_get(o, machine_keys[k].key), i, value) {
            if (json_is_string(value)) {
                machines_add_value(m, k, json_string_value(value));
            }
        }
    }
    json_decref(o);
    return o != NULL;
}

void machines_merge(struct machines *m, const struct machines *other)
{
    for (size_t k = 0; k < MACHINE_KEY_COUNT; k++) {
        vec_each (char *, text, &other->values[k].list) {
            machines_add_value(m, k, *text);
        }
    }
}

static bool texts_eq(const struct texts *x, const struct texts *y)
{
    return x->list.len == y->list.len &&
           vec_all(&x->list, it, str_eq(*it, y->list.items[it - x->list.items]));
}

bool machines_are_same(const struct machines *a, const struct machines *b, size_t key)
{
    /* Both may say that it is unknown: two tarballs, or files that were not read, may differ. */
    const char *name = machine_keys[key].key;
    const bool is_of_program = str_eq(name, "source") || str_has_prefix(name, "program");
    return texts_eq(&a->values[key], &b->values[key]) &&
           !vec_any(&a->values[key].list, text, is_of_program && str_has_prefix(*text, "unknown"));
}

bool machines_eq(const struct machines *a, const struct machines *b)
{
    return array_all(a->values, MACHINE_KEY_COUNT, it, texts_eq(it, &b->values[it - a->values]));
}

char *machines_join(const struct machines *m, size_t key)
{
    const struct texts *values = &m->values[key];
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < values->list.len && i < MAX_KINDS; i++) {
        buf_printf(&out, "%s%s", i == 0 ? "" : " and ", values->list.items[i]);
    }
    if (values->list.len > MAX_KINDS) {
        buf_printf(&out, " and %zu more", values->list.len - MAX_KINDS);
    }
    if (values->list.len == 0) {
        buf_puts(&out, "unknown");
    }
    return buf_take(&out);
}

void machines_done(struct machines *m)
{
    for (size_t k = 0; k < MACHINE_KEY_COUNT; k++) {
        texts_done(&m->values[k]);
    }
}

/* ---- what replicas ran on ---- */

void machines_add_trial(struct machines *m, const struct trial_result *t)
{
    const json_t *added = NULL; /* most replicas have the facts of the one before */
    trial_each_replica (r, t) {
        const json_t *facts = r->environment.facts;
        for (size_t k = 0; k < MACHINE_KEYS_COMPARED && facts != added; k++) {
            _cleanup_(freep) char *text =
                environment_value_text(json_object_get(facts, machine_keys[k].key));
            if (text != NULL) {
                machines_add_value(m, k, text);
            }
        }
        added = facts;
        const enum exchange_transport transport = replica_summary(r)->transport;
        if (transport != EXCHANGE_TRANSPORT_AUTO) {
            machines_add_value(m, MACHINE_TRANSPORT, exchange_transport_names[transport]);
        }
    }
}

/* Most replicas of a kind share their facts. NULL: they say nothing. */
static struct hardware *find_kind(struct result *r, json_t *facts)
{
    static const char *const keys[HARDWARE_TEXTS] = {
        [HARDWARE_CPU_MODEL] = "cpu_model", [HARDWARE_BLAS_CORE] = "blas_core",
        [HARDWARE_KERNEL] = "kernel",       [HARDWARE_BUILD] = "build",
        [HARDWARE_SOURCE] = "source",
    };
    struct hardware *known = vec_find(&r->hardware, it, it->facts == facts);
    if (known != NULL) {
        return known;
    }
    struct hardware h = {.facts = facts};
    for (size_t i = 0; i < HARDWARE_TEXTS; i++) {
        h.texts[i] = environment_text(facts, keys[i]);
    }
    if (array_all(h.texts, HARDWARE_TEXTS, it, *it == NULL)) {
        return NULL;
    }
    vec_each (struct hardware, it, &r->hardware) {
        if (array_all(it->texts, HARDWARE_TEXTS, text,
                      str_eq_or_null(*text, h.texts[text - it->texts]))) {
            return it;
        }
    }
    json_incref(facts);
    *vec_push(&r->hardware) = h;
    return &r->hardware.items[r->hardware.len - 1];
}

void hardware_collect(struct result *r, const struct point_result *p, struct machines *machines)
{
    point_each_replica (it, p) {
        struct hardware *kind = find_kind(r, it->environment.facts);
        while (kind != NULL && kind->of_system.len <= p->point->system) {
            *vec_push(&kind->of_system) = 0;
        }
        if (kind != NULL) {
            kind->of_system.items[p->point->system]++;
            kind->n_replicas++;
        }
        nodes_count(r, it, kind == NULL ? NULL : kind->cpu_model);
    }
    point_each_success (t, p) {
        machines_add_trial(machines, t);
    }
}

void hardware_done(struct hardware *h)
{
    json_decref(h->facts);
    vec_done(&h->of_system);
}
