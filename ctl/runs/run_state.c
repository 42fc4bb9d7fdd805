/* See run_state.h. */
#include "ctl/runs/run_state.h"

#include "core/attempt_json.h"
#include "core/json_field.h"
#include "store/run_document.h"

static bool find(const struct attempt_ids *ids, struct attempt_id id, size_t *ret)
{
    return vec_search(&ids->list, it, attempt_id_compare(it, &id), ret);
}

bool attempt_ids_has(const struct attempt_ids *ids, struct attempt_id id)
{
    size_t at;
    return find(ids, id, &at);
}

bool attempt_ids_add(struct attempt_ids *ids, struct attempt_id id)
{
    size_t at;
    if (find(ids, id, &at)) {
        return false;
    }
    *vec_insert(&ids->list, at) = id;
    return true;
}

void attempt_ids_done(struct attempt_ids *ids)
{
    vec_done(&ids->list);
}

static int read_status(const json_t *o, struct run_status *ret, struct err *err)
{
    int r = run_status_counts_from_json(o, ret, err);
    if (r < 0) {
        return r;
    }
    ret->started_unix_ms = fact_date(o, "started");
    ret->ended_unix_ms = fact_date(o, "ended");
    const json_t *current = json_object_get(o, "current");
    struct attempt_id id;
    if (json_is_object(current) && (r = attempt_id_from_json(current, &id, err)) >= 0) {
        ret->has_current = true;
        ret->current = id;
    }
    return r;
}

static int read_step(const json_t *o, const struct run_status *st, struct replica_step *ret,
                     struct err *err)
{
    int64_t index, step, step_ns, samples;
    const char *role;
    int r;
    if ((r = json_field_text(o, "role", &role, err)) < 0 ||
        (r = json_field_int(o, "index", 0, UINT32_MAX, &index, err)) < 0 ||
        (r = json_field_int(o, "step", 0, UINT32_MAX, &step, err)) < 0 ||
        (r = json_field_int(o, "stepNs", 0, INT64_MAX, &step_ns, err)) < 0 ||
        (r = json_field_int(o, "samples", 0, UINT32_MAX, &samples, err)) < 0) {
        return r;
    }
    const int kind = role_from_string(role);
    if (kind < 0) {
        return err_set(err, EPROTO, "role '%s' is unknown", role);
    }
    *ret = (struct replica_step){
        .id = {st->current, (enum role)kind, (uint32_t)index},
        .of = {.step = (uint32_t)step,
               .warmup = json_is_true(json_object_get(o, "warmup")),
               .step_ns = step_ns,
               .samples = (uint32_t)samples},
    };
    return 0;
}

int run_state_read(const json_t *document, struct run_state *ret, struct err *err)
{
    struct run_state state = {0};
    int r = read_status(document, &state.status, err);
    const json_t *progress = json_object_get(document, "progress");
    if (r >= 0 && json_is_object(progress) && state.status.has_current) {
        state.has_step = true;
        r = read_step(progress, &state.status, &state.step, err);
    }
    size_t i;
    const json_t *item;
    json_array_foreach (json_object_get(document, "attempts"), i, item) {
        struct attempt_id id;
        if (r >= 0 && (r = attempt_id_from_json(item, &id, err)) >= 0) {
            (void)attempt_ids_add(&state.attempts, id);
        }
    }
    if (r < 0) {
        attempt_ids_done(&state.attempts);
        return r;
    }
    *ret = state;
    return 0;
}
