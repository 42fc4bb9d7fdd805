/* See hardware.h. */
#include "result/hardware.h"

#include "base/str.h"

static char *text_of(const json_t *environment, const char *key)
{
    const char *s = json_string_value(json_object_get(environment, key));
    return s == NULL ? NULL : xstrdup(s);
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : str_eq(a, b);
}

static bool same_machine(const struct hardware *a, const struct hardware *b)
{
    return same_text(a->cpu_model, b->cpu_model) && same_text(a->blas_core, b->blas_core) &&
           same_text(a->kernel, b->kernel) && same_text(a->build, b->build) &&
           same_text(a->source, b->source);
}

static void count(struct result *r, struct replica_result *replica)
{
    json_t *environment = json_loads(replica->row->environment_json, 0, NULL);
    if (environment == NULL) {
        return; /* the store does not check it; a damaged text describes no machine */
    }
    struct hardware h = {
        .cpu_model = text_of(environment, "cpu_model"),
        .blas_core = text_of(environment, "blas_core"),
        .kernel = text_of(environment, "kernel"),
        .build = text_of(environment, "build"),
        .source = text_of(environment, "source"),
        .n_replicas = 1,
    };
    replica->node = text_of(environment, "node");
    json_decref(environment);
    if (same_machine(&h, &(struct hardware){0})) {
        return; /* no start record: only what the launcher adds to it */
    }
    vec_each (struct hardware, seen, &r->hardware) {
        if (same_machine(seen, &h)) {
            seen->n_replicas++;
            replica->hardware = (size_t)(seen - r->hardware.items);
            hardware_done(&h);
            return;
        }
    }
    replica->hardware = r->hardware.len;
    *vec_push(&r->hardware) = h;
}

void hardware_collect(struct result *r)
{
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        for (size_t j = 0; j < r->points[i].n_trials; j++) {
            const struct trial_result *t = &r->points[i].trials[j];
            for (size_t k = 0; t->phase == TRIAL_SUCCEEDED && k < t->n_replicas; k++) {
                if (t->replicas[k].row->environment_json != NULL) {
                    count(r, &t->replicas[k]);
                }
            }
        }
    }
}

void hardware_done(struct hardware *h)
{
    free(h->cpu_model);
    free(h->blas_core);
    free(h->kernel);
    free(h->build);
    free(h->source);
}
