/* See drive_world.h. */
#include "drive_world.h"

#include "pod/facts.h"

uv_loop_t drive_loop;
static struct kube_cache no_pods;
static struct pods_counters pod_counters;
static const unsigned char key[32];

struct world *open_world(void)
{
    struct world *w = world_new();
    assert_int_equal(uv_loop_init(&drive_loop), 0);
    kube_cache_init(&no_pods, &(struct kube_cache_params){.decode = pod_facts_decode});
    w->env.loop = &drive_loop;
    w->env.pods = &no_pods;
    w->env.pod_counters = &pod_counters;
    w->env.key = key;
    fake_driver_made = 0;
    return w;
}

void close_world(struct run *run, json_t *bmr)
{
    if (run != NULL) {
        run_free(run);
    }
    json_decref(bmr);
    (void)uv_run(&drive_loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&drive_loop), 0);
    kube_cache_done(&no_pods);
}

void ask(struct run *run, json_t *bmr, const char *key_of_spec, bool value)
{
    json_object_set_new(json_object_get(bmr, "spec"), key_of_spec, json_boolean(value));
    update_run(run, bmr);
}

void ask_to_delete(struct run *run, json_t *bmr)
{
    json_object_set_new(json_object_get(bmr, "metadata"), "deletionTimestamp",
                        json_string("2026-01-01T00:00:00Z"));
    update_run(run, bmr);
}

struct run *take_over(struct world *w, json_t *bmr, enum run_phase phase)
{
    struct run *run = accepted_run(w, bmr);
    const struct run_status status = {.phase = phase, .started_unix_ms = 1, .trials_total = 2};
    assert_int_equal(w->env.store->ops->put_status(w->env.store, run->uid, &status, NULL), 0);
    run_free(run);
    run = accepted_run(w, bmr);
    return run;
}

struct run *drive(struct world *w, struct run_queue *q, json_t *bmr)
{
    struct run *run = accepted_run(w, bmr);
    run_queue_add(q, run);
    assert_int_equal(run_queue_advance(q, NULL), 0);
    return run;
}
