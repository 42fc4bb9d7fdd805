/* See hardware.h. */
#include "result/hardware.h"

#include "base/mem.h"
#include "base/str.h"
#include "core/environment.h"

static bool same_machine(const struct hardware *a, const struct hardware *b)
{
    bool same = true;
    for (size_t i = 0; i < HARDWARE_TEXTS; i++) {
        same = same && str_eq_or_null(a->texts[i], b->texts[i]);
    }
    return same;
}

void hardware_count(struct result *r, struct replica_result *replica, const struct hardware *h)
{
    if (same_machine(h, &(struct hardware){0})) {
        return; /* no start record: only what the launcher adds to it */
    }
    vec_each (struct hardware, seen, &r->hardware) {
        if (same_machine(seen, h)) {
            seen->n_replicas++;
            replica->hardware = (size_t)(seen - r->hardware.items);
            return;
        }
    }
    replica->hardware = r->hardware.len;
    struct hardware *added = vec_push(&r->hardware);
    added->n_replicas = 1;
    for (size_t i = 0; i < HARDWARE_TEXTS; i++) {
        added->texts[i] = xstrdup_or_null(h->texts[i]);
    }
}

char *hardware_read(const char *environment_json, struct hardware *ret)
{
    static const char *const keys[] = {"blas_core", "build", "cpu_model",
                                       "kernel",    "node",  "source"};
    char *texts[6];
    environment_texts(environment_json, keys, 6, texts);
    *ret = (struct hardware){
        .blas_core = texts[0],
        .build = texts[1],
        .cpu_model = texts[2],
        .kernel = texts[3],
        .source = texts[5],
    };
    return texts[4];
}

void hardware_collect(struct result *r, struct point_result *p)
{
    point_each_trial (t, p) {
        for (size_t k = 0; t->phase == TRIAL_SUCCEEDED && k < t->n_replicas; k++) {
            const char *environment = t->replicas[k].row->environment_json;
            if (environment != NULL) {
                struct hardware h;
                t->replicas[k].node = hardware_read(environment, &h);
                hardware_count(r, &t->replicas[k], &h);
                hardware_done(&h);
                machines_add(&p->machines, environment);
            }
        }
    }
}

void hardware_done(struct hardware *h)
{
    for (size_t i = 0; i < HARDWARE_TEXTS; i++) {
        free(h->texts[i]);
    }
}
