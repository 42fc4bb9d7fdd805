/* See hardware.h. */
#include "result/hardware.h"

#include "base/str.h"
#include "core/environment.h"

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
    static const char *const keys[] = {"blas_core", "build", "cpu_model",
                                       "kernel",    "node",  "source"};
    char *texts[6];
    environment_texts(replica->row->environment_json, keys, 6, texts);
    struct hardware h = {
        .blas_core = texts[0],
        .build = texts[1],
        .cpu_model = texts[2],
        .kernel = texts[3],
        .source = texts[5],
        .n_replicas = 1,
    };
    replica->node = texts[4];
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

void hardware_collect(struct result *r, struct point_result *p)
{
    for (size_t j = 0; j < p->n_trials; j++) {
        const struct trial_result *t = &p->trials[j];
        for (size_t k = 0; t->phase == TRIAL_SUCCEEDED && k < t->n_replicas; k++) {
            const char *environment = t->replicas[k].row->environment_json;
            if (environment != NULL) {
                count(r, &t->replicas[k]);
                machines_add(&p->machines, environment);
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
