/* Emulated trainers in a definition: workload.compute and workload.trace. See spec_internal.h and
 * docs/exchange.md, "Emulated trainers". */
#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/emulation_limits.h"
#include "doc/openapi_check.h"
#include "spec/profile.h"
#include "spec/schemas.h"
#include "spec/spec_internal.h"
#include "spec/spec_load.h"

char *trace_text(const struct trace *trace)
{
    struct buf out = BUF_INIT;
    vec_each (const struct trace_layer, l, &trace->layers) {
        buf_printf(&out, "%s%s=%lld:%lld", l == trace->layers.items ? "" : ",", l->name,
                   (long long)l->forward_ns, (long long)l->backward_ns);
    }
    return buf_take(&out);
}

int64_t trace_step_ns(const struct trace *trace)
{
    return vec_sum(&trace->layers, l, l->forward_ns + l->backward_ns);
}

/* ---- fields ---- */

/* All layers by one factor, so that they are a step of this length. */
static void scale(struct trace *trace, int64_t step_ns)
{
    const double factor = (double)step_ns / (double)trace_step_ns(trace);
    vec_each (struct trace_layer, l, &trace->layers) {
        l->forward_ns = (int64_t)llround((double)l->forward_ns * factor);
        l->backward_ns = (int64_t)llround((double)l->backward_ns * factor);
    }
}

static void read_trace(struct reading *r, const struct place *place)
{
    struct trace *trace = &r->spec->workload.trace;
    const struct place layers = place_get(place, "layers");
    place_items (item, place, "layers") {
        *vec_push(&trace->layers) = (struct trace_layer){
            .name = xstrdup_or_null(place_text(&item, "name")), /* NULL: noted */
            .forward_ns = 1000 * place_int(&item, "forwardMicroseconds", 0),
            .backward_ns = 1000 * place_int(&item, "backwardMicroseconds", 0),
        };
    }
    trace->jitter_ratio = place_number(place, "jitter", 0);
    const int64_t step_ms = place_int(place, "stepMilliseconds", 0);
    if (trace->layers.len > 0 && trace_step_ns(trace) == 0) {
        reader_complain(r->diags, &layers, "record them: benchworker bench -o trace",
                        "all layers together take no time");
    } else if (trace->layers.len > 0 && step_ms > 0) {
        scale(trace, step_ms * 1000000);
    }
}

void spec_read_compute(struct reading *r, const struct place *workload)
{
    struct workload *w = &r->spec->workload;
    w->compute = place_enum(workload, "compute", compute_names, COMPUTE_REAL);
    struct place trace = place_get(workload, "trace");
    if (trace.node != NULL) {
        read_trace(r, &trace);
    }
    struct place compute = place_get(workload, "compute");
    if (w->compute == COMPUTE_EMULATED && trace.node == NULL) {
        reader_complain(r->diags, &compute, "add the times that benchworker bench -o trace prints",
                        "compute Emulated needs a trace: the times of the layers");
    } else if (trace.node != NULL &&
               (compute.node == NULL || str_eq_or_null(tree_get_text(workload->node, "compute"),
                                                       compute_names[COMPUTE_REAL]))) {
        reader_complain_key(r->diags, &trace,
                            compute.node == NULL ? "add 'compute: Emulated', or remove it"
                                                 : "write 'compute: Emulated', or remove it",
                            "a trace is of emulated trainers, and these compute");
    }
}

int spec_load_trace(const char *text, size_t len, struct trace *ret, int64_t *ret_batch_size,
                    struct diags *diags)
{
    int64_t batch_size = 0;
    struct spec spec = {0};
    struct diags found = {0};
    struct reading r = {.diags = &found, .spec = &spec};
    struct node *root = NULL;
    if (tree_parse(text, len, &TREE_LIMITS_DEFAULT, &root, &found) == 0) {
        const struct place top = place_root(root, schema_trace());
        schema_check(&found, &top);
        read_trace(&r, PLACE(&top, "trace"));
        batch_size = place_int(&top, "batchSize", 0);
        tree_free(root);
    }
    const bool is_wrong = found.list.len > 0;
    diags_move(diags, &found);
    if (is_wrong) {
        trace_done(&spec.workload.trace);
        return -EINVAL;
    }
    *ret = spec.workload.trace;
    *ret_batch_size = batch_size;
    return 0;
}

/* ---- rules between fields ---- */

/* Has the sweep several values of that name? */
static bool varies(const struct sweep *sweep, const char *name)
{
    if (vec_any(&sweep->axes, it, str_eq(it->name, name) && it->values.len > 1)) {
        return true;
    }
    const struct value *first = NULL;
    vec_each (const struct params, point, &sweep->points) {
        const struct value *v = params_get(point, name);
        if (v != NULL && first != NULL && !value_eq(v, first)) {
            return true;
        }
        first = first == NULL ? v : first;
    }
    return false;
}

static void check_sweep(struct reading *r)
{
    static const char *const names[] = {"batch_size", "threads"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (varies(&r->spec->sweep, names[i])) {
            _cleanup_(freep) char *message =
                xasprintf("%s is swept, but the times of the trace are those of one", names[i]);
            spec_complain_axis(r, names[i], "keep one value, and record a trace for each", message);
        }
    }
}

static void check_systems(struct reading *r)
{
    struct place list = place_get(&r->at, "systems");
    struct place compute = place_get(PLACE(&r->at, "workload"), "compute");
    vec_each (const struct system, s, &r->spec->systems) {
        if (!str_eq(s->profile, PROFILE_NATIVE) && list.node != NULL) {
            reader_complain(r->diags, &compute,
                            "write 'compute: Real', or measure benchworker alone",
                            "compute Emulated: only benchworker's trainers and workers can be "
                            "emulated, and system '%s' has profile '%s'",
                            s->name, s->profile);
        }
        if (!exchange_mode_eq(&s->exchange.mode, &EXCHANGE_MODE_SYNC)) {
            char text[EXCHANGE_MODE_TEXT_MAX];
            exchange_mode_text(&s->exchange.mode, text);
            reader_complain(r->diags, &compute,
                            "write 'compute: Real', or exchange after each step",
                            "compute Emulated checks the sums of each step, and system '%s' "
                            "exchanges by '%s'",
                            s->name, text);
        }
        if (s->exchange.transport == EXCHANGE_TRANSPORT_NCCL) {
            reader_complain(r->diags, &compute, "write 'compute: Real', or transport: TCP",
                            "compute Emulated exchanges over TCP, because its trainers stand for "
                            "machines of their own, and system '%s' asks for NCCL",
                            s->name);
        }
    }
}

void spec_check_compute(struct reading *r)
{
    const struct spec *spec = r->spec;
    if (spec->workload.compute != COMPUTE_EMULATED) {
        return;
    }
    check_sweep(r);
    check_systems(r);
    if (spec->warmup_steps + spec->steps > EMULATED_STEPS_MAX) {
        struct place measure = place_get(&r->at, "measure");
        struct place steps = place_get(&measure, "steps");
        reader_complain(r->diags, steps.node != NULL ? &steps : &measure, "measure fewer steps",
                        "%lld warm-up and %lld measured steps; compute Emulated takes at most %d "
                        "together, because the sums of each are computed before",
                        (long long)spec->warmup_steps, (long long)spec->steps, EMULATED_STEPS_MAX);
    }
}
