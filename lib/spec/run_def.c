/* A frozen run, see run_def.h. */
#include "spec/run_def.h"

#include <errno.h>

#include "base/mem.h"
#include "base/splitmix.h"
#include "base/str.h"
#include "core/json_field.h"
#include "core/phase.h"

/* ---- the order of trials ---- */

static void shuffle(uint32_t *items, uint32_t n, uint64_t *state)
{
    for (uint32_t i = n; i-- > 1;) {
        uint32_t j = splitmix_below(state, i + 1);
        uint32_t moved = items[i];
        items[i] = items[j];
        items[j] = moved;
    }
}

struct slot *order_slots(uint32_t n_points, uint32_t repeats, enum order_kind order, uint64_t seed)
{
    struct slot *slots = xnew_array(struct slot, (size_t)n_points * repeats + 1);
    struct slot *slot = slots;
    if (order == ORDER_SEQUENTIAL) {
        for (uint32_t point = 0; point < n_points; point++) {
            for (uint32_t trial = 0; trial < repeats; trial++) {
                *slot++ = (struct slot){point, trial};
            }
        }
        return slots;
    }
    uint32_t *points = xnew_array(uint32_t, (size_t)n_points + 1);
    uint64_t state = seed;
    for (uint32_t trial = 0; trial < repeats; trial++) {
        for (uint32_t i = 0; i < n_points; i++) {
            points[i] = i;
        }
        shuffle(points, n_points, &state);
        for (uint32_t i = 0; i < n_points; i++) {
            *slot++ = (struct slot){points[i], trial};
        }
    }
    free(points);
    return slots;
}

/* ---- scheduling ---- */

void scheduling_done(struct scheduling *s)
{
    free(s->queue);
    free(s->priority_class);
    free(s->topology_key);
    *s = (struct scheduling){0};
}

static char *text_of(const json_t *object, const char *key, const char *fallback)
{
    const char *text = json_string_value(json_object_get(object, key));
    return xstrdup_or_null(text != NULL ? text : fallback);
}

int scheduling_read(const char *json, const char *queue, struct scheduling *ret, struct err *err)
{
    json_auto_t *object = json == NULL ? NULL : json_loads(json, 0, NULL);
    const json_t *exclusive = json_object_get(object, "exclusiveNodes");
    const json_int_t trials = json_integer_value(json_object_get(object, "trials"));
    const char *gang = fact_text(object, "gang");
    const bool has_none = str_eq(gang, "None");
    struct scheduling s = {
        .queue = has_none ? NULL : text_of(object, "queueName", queue),
        .priority_class = text_of(object, "priorityClass", NULL),
        .topology_key = text_of(json_object_get(object, "topology"), "key", NULL),
        .exclusive_nodes = json_is_true(exclusive) || trials > 1,
        .trials = trials < 1 || trials > LANES_MAX ? 1 : (uint32_t)trials,
    };
    int r = 0;
    if (has_none && json_object_get(object, "queueName") != NULL) {
        r = err_set(err, EINVAL, "scheduling: gang None has no queue; remove queueName or gang");
    } else if (str_eq(gang, "Kueue") && s.queue == NULL) {
        r = err_set(err, EINVAL,
                    "scheduling: gang Kueue needs a queue; write queueName, or start benchd with "
                    "--queue");
    } else if (s.priority_class != NULL && s.queue == NULL) {
        r = err_set(err, EINVAL,
                    "scheduling.priorityClass is that of a queue; write queueName, or "
                    "priorityClassName into the templates");
    }
    if (r == 0 && trials > 1 && json_is_false(exclusive)) {
        r = err_set(err, EINVAL,
                    "scheduling: with parallelism.trials above 1 each trial has nodes of its own; "
                    "remove exclusiveNodes: false");
    }
    if (r < 0) {
        scheduling_done(&s);
        return r;
    }
    *ret = s;
    return 0;
}

uint32_t scheduling_lanes(const struct scheduling *s)
{
    return s->trials > 1 ? s->trials : 1;
}

json_t *scheduling_to_json(const struct scheduling *s)
{
    json_t *object = json_pack(
        "{s:s*, s:s*, s:o*, s:o*, s:o*}", "queueName", s->queue, "priorityClass", s->priority_class,
        "topology", s->topology_key == NULL ? NULL : json_pack("{s:s}", "key", s->topology_key),
        "exclusiveNodes", s->exclusive_nodes ? json_true() : NULL, "trials",
        s->trials > 1 ? json_integer(s->trials) : NULL);
    if (json_object_size(object) == 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static void put(struct buf *out, const char *what, const char *name)
{
    if (name != NULL) {
        buf_printf(out, "%s%s '%s'", out->len == 0 ? "" : ", ", what, name);
    }
}

void scheduling_put(const struct scheduling *s, struct buf *out)
{
    put(out, "queue", s->queue);
    put(out, "priority class", s->priority_class);
    put(out, "all pods of an attempt where nodes have one value of", s->topology_key);
    if (s->exclusive_nodes) {
        buf_printf(out, "%sexclusive nodes", out->len == 0 ? "" : ", ");
    }
    if (s->trials > 1) {
        buf_printf(out, ", %u trials at a time", s->trials);
    }
}

/* ---- a run ---- */

int run_def_new(struct spec *spec_take, const struct run_def_params *params, struct run_def **ret,
                struct diags *diags)
{
    struct matrix matrix;
    int r = matrix_expand(spec_take, &matrix, diags);
    if (r < 0) {
        spec_free(spec_take);
        return r;
    }
    struct run_def *def = xnew(struct run_def);
    uint32_t repeats = (uint32_t)spec_take->repeats; /* 1..1000 */
    *def = (struct run_def){
        .name = xstrdup(params->name),
        .uid = xstrdup(params->uid),
        .created_unix_ms = params->created_unix_ms,
        .cpus = params->cpus,
        .rehearsal =
            spec_take->workload.compute == COMPUTE_EMULATED ||
            (params->cpus > 0 && point_busy_threads(matrix_busiest(&matrix)) > params->cpus),
        .spec = spec_take,
        .matrix = matrix,
        .slots = order_slots(matrix.n_points, repeats, spec_take->order, spec_take->workload.seed),
        .n_slots = matrix.n_points * repeats,
    };
    *ret = def;
    return 0;
}

void run_def_free(struct run_def *def)
{
    if (def == NULL) {
        return;
    }
    free(def->name);
    free(def->uid);
    spec_free(def->spec);
    scheduling_done(&def->scheduling);
    matrix_done(&def->matrix);
    free(def->slots);
    free(def);
}

struct trial_terms run_def_terms(const struct run_def *def, uint32_t point)
{
    if (point >= def->matrix.n_points) {
        return (struct trial_terms){0};
    }
    const struct point *p = &def->matrix.points[point];
    const enum role leading = point_leading_role(p);
    return (struct trial_terms){
        .leading = leading,
        .n_leading = p->replicas[leading],
        .n_pods = point_pods(p),
        .goal = def->spec->goal,
        .accuracy_after_s = def->spec->accuracy_after_s,
        .flops = def->spec->workload.flops,
        .precision = p->has_slices ? PRECISION_UNKNOWN : def->spec->workload.precision,
        .devices = p->devices,
    };
}
