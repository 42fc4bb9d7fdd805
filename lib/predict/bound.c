/* See bound.h. */
#include "predict/bound.h"

#include <math.h>

#include "base/str.h"
#include "network/layer_def.h"
#include "spec/profile.h"

/* ---- the inputs of a point ---- */

static bool is_native(const struct run_def *def, const struct point *p)
{
    return str_eq(def->spec->systems.items[p->system].profile, PROFILE_NATIVE);
}

static double compute_s(const struct run_def *def, const struct point *p,
                        const struct bound_assumptions *a)
{
    const bool is_other =
        (a->is_of_layers && !is_native(def, p)) || (a->threads > 0 && a->threads != p->threads);
    return is_other              ? NAN
           : a->batch_size == 0  ? a->step_s
           : p->worker_batch > 0 ? a->step_s * (double)p->worker_batch / (double)a->batch_size
                                 : NAN;
}

/* Only benchworker is sure to train the model of the definition. */
static double bytes_of(const struct run_def *def, const struct point *p,
                       const struct bound_assumptions *a)
{
    const struct model_def *model = model_def_find(def->spec->workload.model);
    if (!isnan(a->bytes) || !is_native(def, p) || model == NULL) {
        return a->bytes;
    }
    return (double)model_def_n_params(model) *
           (point_exchange(def->spec, p).wire == EXCHANGE_WIRE_BF16 ? 2 : 4);
}

static void add_traffic(const struct run_def *def, const struct point *p, double bytes,
                        struct bound_inputs *ret)
{
    const struct exchange_mode mode = point_exchange(def->spec, p).mode;
    const double period = exchange_mode_period(&mode), n = ret->n_replicas;
    if (p->exchange == EXCHANGE_PSERVER) {
        ret->replica.out = ret->replica.in = bytes / period;
        ret->server.out = ret->server.in = n * bytes / p->replicas[ROLE_PSERVER] / period;
        /* The last gradient of a step must reach a server, and the sum must return. */
        ret->n_latencies = mode.kind == EXCHANGE_SYNC ? 2 / period : 0;
    } else if (p->exchange == EXCHANGE_ALL_REDUCE && n > 1) {
        ret->replica.out = ret->replica.in = 2 * (n - 1) / n * bytes;
        /* In benchworker's ring it goes once round before its worker has the sum. */
        ret->n_latencies = is_native(def, p) ? n : 1;
    } else if (p->exchange == EXCHANGE_OTHER) {
        ret->replica.out = ret->replica.in = NAN;
    }
}

struct bound_inputs bound_inputs_of(const struct run_def *def, const struct point *point,
                                    const struct bound_assumptions *a)
{
    const bool is_shaped = point->link.bits_per_s > 0;
    const double bits = (double)point->link.bits_per_s;
    struct bound_inputs in = {
        .n_replicas = point_training_replicas(point),
        .batch_size = point->worker_batch,
        .is_scaled =
            a->batch_size > 0 && point->worker_batch > 0 && a->batch_size != point->worker_batch,
        .compute_s = compute_s(def, point, a),
        .latency_s = is_shaped ? (double)point->link.delay_ns / 1e9 : a->latency_s,
        .replica_bytes_per_s = (is_shaped ? bits : a->link_bits_per_s) / 8,
        .server_bytes_per_s = (is_shaped ? bits : a->server_link_bits_per_s) / 8,
        .server_s_per_byte = a->server_s_per_byte,
        .server_threads = point->server_threads > 0 ? point->server_threads : 1,
    };
    add_traffic(def, point, bytes_of(def, point, a), &in);
    return in;
}

/* ---- the bound ---- */

/* No bytes take no time, even where the time of one is unknown. */
static double seconds_of(double bytes, double s_per_byte)
{
    return bytes == 0 ? 0 : bytes * s_per_byte;
}

static double link_seconds(const struct bound_traffic *t, double bytes_per_s)
{
    return seconds_of(fmax(t->out, t->in), 1 / bytes_per_s);
}

struct bound bound_of(const struct bound_inputs *in)
{
    const double server_cpu_s = seconds_of(in->server.out + in->server.in, in->server_s_per_byte);
    struct bound b = {
        .seconds =
            {
                [BOUND_COMPUTE] = in->compute_s + in->n_latencies * in->latency_s,
                [BOUND_REPLICA_LINK] = link_seconds(&in->replica, in->replica_bytes_per_s),
                [BOUND_SERVER_LINK] = link_seconds(&in->server, in->server_bytes_per_s),
                [BOUND_SERVER_CPU] = server_cpu_s / in->server_threads,
            },
        .limit = BOUND_COUNT,
        .step_s = NAN,
    };
    for (enum bound_limit i = 0; i < BOUND_COUNT; i++) {
        if (b.seconds[i] > 0 && !(b.seconds[i] <= b.step_s)) {
            b.step_s = b.seconds[i];
            b.limit = i;
        }
    }
    const double batch = in->batch_size > 0 ? (double)in->batch_size : 1;
    b.samples_per_s = (double)in->n_replicas * batch / b.step_s;
    return b;
}
