/* Times and costs from a measured run, see calibrate.h. A summary has phases by the clock and CPU
 * time of the whole process: the CPU time of a server is dealt to its phases by their share of its
 * work. So the time that other processes took from it is not counted. */
#include "predict/calibrate.h"

#include <math.h>

#include "core/summary.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "network/layer_def.h"
#include "predict/fit.h"
#include "result/phases.h"
#include "result/point_transport.h"
#include "spec/profile.h"

/* Another system of the run computes and exchanges in its own way. */
static bool is_native(const struct result *r, const struct point *p)
{
    return str_eq(r->def->spec->systems.items[p->system].profile, PROFILE_NATIVE);
}

/* ---- computing ---- */

static struct phase_times training_times(const struct point_result *p)
{
    return phase_times_of(p, point_training_role(p->point));
}

static double computing_s(const struct phase_times *t)
{
    return t->phase_s[PHASE_DATA] + t->phase_s[PHASE_FORWARD] + t->phase_s[PHASE_BACKWARD];
}

/* With the fewest others; of this batch and these threads, unless they are 0. */
static const struct point_result *find_smallest(const struct result *r, int64_t batch_size,
                                                int64_t threads)
{
    const struct point_result *best = NULL;
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        const struct point_result *p = &r->points[i];
        const struct point *it = p->point;
        const uint32_t n = point_training_replicas(it);
        if (!is_native(r, it) || n == 0 || training_times(p).n == 0 ||
            (threads > 0 && it->threads != threads) ||
            (batch_size > 0 && it->batch_size != batch_size)) {
            continue;
        }
        const uint32_t n_best = best == NULL ? UINT32_MAX : point_training_replicas(best->point);
        if (n < n_best ||
            (n == n_best && it->replicas[ROLE_PSERVER] < best->point->replicas[ROLE_PSERVER])) {
            best = p;
        }
    }
    return best;
}

static struct pass pass_of(const struct point_result *p)
{
    const struct phase_times t = training_times(p);
    return (struct pass){p->point->batch_size, t.phase_s[PHASE_DATA] + t.phase_s[PHASE_FORWARD],
                         t.phase_s[PHASE_BACKWARD]};
}

static void add_passes(const struct result *r, int64_t threads, struct passes *ret)
{
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        const int64_t batch_size = r->points[i].point->batch_size;
        const struct point_result *p = vec_any(ret, it, it->batch_size == batch_size)
                                           ? NULL
                                           : find_smallest(r, batch_size, threads);
        if (p != NULL) {
            *vec_push(ret) = pass_of(p);
        }
    }
}

struct spread {
    double sum, squares;
    size_t n;
};

/* Squares of the step times less the mean of their trial, which may have its own. */
static void add_series(struct spread *all, const struct replica_result *r)
{
    struct summary s;
    if (summary_read(r->row->summary_json, &r->row->id, &s, NULL) < 0) {
        return;
    }
    const double mean_us = array_sum(s.series_us, s.n_series, it, *it / s.n_series);
    for (uint32_t i = 0; i < s.n_series && s.n_series > 1; i++) {
        const double d = s.series_us[i] / mean_us - 1;
        all->squares += d * d * s.series_k; /* a mean of k varies less */
        all->sum += 1;
    }
    all->n += s.n_series > 1;
    summary_done(&s);
}

/* Of the step times of one trainer or worker without others. */
static double jitter_of(const struct point_result *p)
{
    struct spread all = {0};
    if (point_training_replicas(p->point) != 1 || p->point->replicas[ROLE_PSERVER] != 0) {
        return NAN;
    }
    for (size_t i = 0; i < p->n_trials; i++) {
        const struct trial_result *t = &p->trials[i];
        for (size_t k = 0; t->phase == TRIAL_SUCCEEDED && k < t->n_replicas; k++) {
            add_series(&all, &t->replicas[k]);
        }
    }
    const double df = all.sum - (double)all.n;
    return df > 0 ? sqrt(all.squares / df) : NAN;
}

/* ---- costs of the exchange ---- */

/* With another wire or mode a byte costs something else, and is of more
 * parameters or of more updates. */
static bool exchanges_as_simulated(const struct result *r, const struct point *p)
{
    const struct exchange_mode mode = point_mode(r->def->spec, p);
    return is_native(r, p) && exchange_mode_eq(&mode, &EXCHANGE_MODE_SYNC) &&
           point_wire(r->def->spec, p) == EXCHANGE_WIRE_FP32 && p->server_threads == 0;
}

struct exchange_sums { /* CPU seconds and bytes, a step of each replica, over the points */
    double receive_s, send_s, update_s, bytes_rx, bytes_tx, param_bytes;
    double trainer_s, trainer_bytes;
};

static void add_servers(struct exchange_sums *sums, const struct point_result *p)
{
    const struct phase_times t = phase_times_of(p, ROLE_PSERVER);
    const double n_trainers = p->point->replicas[ROLE_TRAINER];
    const double work_s =
        t.phase_s[PHASE_RECEIVE] + t.phase_s[PHASE_UPDATE] + t.phase_s[PHASE_SEND];
    if (t.n == 0 || isnan(t.cpu_s) || work_s == 0) {
        return;
    }
    const double cpu = t.cpu_s / work_s;
    sums->receive_s += t.phase_s[PHASE_RECEIVE] * cpu;
    sums->send_s += t.phase_s[PHASE_SEND] * cpu;
    sums->update_s += t.phase_s[PHASE_UPDATE] * cpu;
    sums->bytes_rx += t.bytes_rx;
    sums->bytes_tx += t.bytes_tx;
    sums->param_bytes += t.bytes_tx / n_trainers;
}

/* What the trainers of a point need beyond computing; of emulated ones that is
 * all of their CPU time. */
static void add_trainers(struct exchange_sums *sums, const struct result *r,
                         const struct point_result *p)
{
    const struct phase_times t = phase_times_of(p, ROLE_TRAINER);
    const bool sleeps = r->def->spec->workload.compute == COMPUTE_EMULATED;
    const struct point_result *base = &r->points[p->point->baseline_index];
    double compute_s = 0;
    if (!sleeps) {
        const struct phase_times alone = phase_times_of(base, ROLE_TRAINER);
        if (base->point->replicas[ROLE_PSERVER] > 0 ||
            base->point->batch_size != p->point->batch_size || alone.n == 0) {
            return;
        }
        compute_s = alone.cpu_s - alone.phase_s[PHASE_UPDATE];
    }
    const double own_s = t.cpu_s - compute_s, bytes = t.bytes_tx + t.bytes_rx;
    if (t.n > 0 && own_s > 0 && bytes > 0) {
        sums->trainer_s += own_s;
        sums->trainer_bytes += bytes;
    }
}

/* One worker, or one trainer without servers, with the point's batch; NULL if none exists. */
static const struct point_result *find_alone(const struct result *r, const struct point *of)
{
    return array_find(r->points, r->def->matrix.n_points, p,
                      is_native(r, p->point) && point_training_replicas(p->point) == 1 &&
                          p->point->exchange != EXCHANGE_PSERVER &&
                          p->point->batch_size == of->batch_size &&
                          p->point->threads == of->threads && training_times(p).n > 0);
}

/* CPU seconds of a step that are no exchange, of one that is alone. A ring of one applies the
 * optimiser in its communication thread, so its CPU time is more than that of computing: that is
 * taken by the clock. */
static double compute_cpu_s(const struct point_result *alone)
{
    const struct phase_times t = training_times(alone);
    return alone->point->exchange == EXCHANGE_NONE
               ? t.cpu_s - t.phase_s[PHASE_UPDATE]
               : computing_s(&t) * (double)alone->point->threads;
}

/* What the workers of a point need beyond computing; of emulated ones that is all of their CPU
 * time. False: unknown. */
static bool read_worker(const struct result *r, const struct point_result *p, double param_bytes,
                        struct fit_row *ret)
{
    const struct phase_times t = phase_times_of(p, ROLE_WORKER);
    const bool sleeps = r->def->spec->workload.compute == COMPUTE_EMULATED;
    const struct point_result *alone = sleeps ? NULL : find_alone(r, p->point);
    if (p->point->exchange != EXCHANGE_ALL_REDUCE || !exchanges_as_simulated(r, p->point) ||
        t.n == 0 || isnan(t.cpu_s) || (!sleeps && alone == NULL)) {
        return false;
    }
    const double own_s = t.cpu_s - (sleeps ? 0 : compute_cpu_s(alone));
    if (isnan(own_s)) {
        return false;
    }
    *ret = (struct fit_row){t.bytes_tx + t.bytes_rx, param_bytes / p->point->replicas[ROLE_WORKER],
                            fmax(own_s, 0)};
    return true;
}

/* Sent and received bytes, and updated ones, explain the CPU time of workers at points with
 * several numbers of them: the more there are, the smaller is the part of each. Returns the
 * bytes of the former. */
static double add_workers(const struct result *r, double param_bytes, struct gang_costs *ret)
{
    _cleanup_(freep) struct fit_row *rows = xnew_array(struct fit_row, r->def->matrix.n_points);
    size_t n = 0;
    double bytes = 0;
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        if (read_worker(r, &r->points[i], param_bytes, &rows[n])) {
            bytes += rows[n].x;
            n++;
        }
    }
    const struct fit f = fit_costs(rows, n);
    ret->worker = f.a;
    ret->worker_update = f.b;
    return bytes;
}

int calibrate(const struct result *r, struct calibration *ret, struct err *err)
{
    struct exchange_sums sums = {0};
    struct transports used = {0};
    const struct point_result *p = find_smallest(r, 0, 0);
    if (p == NULL) {
        return err_set(
            err, EINVAL,
            "run '%s' has no trainer or worker of benchworker that says how long it computed",
            r->def->name);
    }
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        if (!exchanges_as_simulated(r, r->points[i].point)) {
            continue;
        }
        if (r->points[i].point->replicas[ROLE_PSERVER] > 0) {
            transports_add(&used, &r->points[i]);
            add_servers(&sums, &r->points[i]);
            add_trainers(&sums, r, &r->points[i]);
        } else if (r->points[i].point->exchange == EXCHANGE_ALL_REDUCE) {
            transports_add(&used, &r->points[i]);
        }
    }
    const struct pass own = pass_of(p);
    const struct model_def *model = model_def_find(r->def->spec->workload.model);
    const double param_bytes =
        model == NULL ? 0 : (double)model_def_n_params(model) * sizeof(float);
    *ret = (struct calibration){
        .point = p->point->index,
        .batch_size = p->point->batch_size,
        .threads = p->point->threads,
        .forward_s = own.forward_s,
        .backward_s = own.backward_s,
        .jitter_ratio = jitter_of(p),
        .costs =
            {
                .receive = fit_cost(sums.receive_s, sums.bytes_rx),
                .send = fit_cost(sums.send_s, sums.bytes_tx),
                .update = fit_cost(sums.update_s, sums.param_bytes),
                .trainer = fit_cost(sums.trainer_s, sums.trainer_bytes),
                .local_update = p->point->exchange == EXCHANGE_NONE
                                    ? fit_cost(training_times(p).phase_s[PHASE_UPDATE], param_bytes)
                                    : 0,
            },
        .server_bytes = (uint64_t)(sums.bytes_rx + sums.bytes_tx),
        .shares_memory = used.used[EXCHANGE_TRANSPORT_SHARED_MEMORY],
    };
    ret->worker_bytes = (uint64_t)add_workers(r, param_bytes, &ret->costs);
    add_passes(r, ret->threads, &ret->passes);
    return 0;
}

void calibration_done(struct calibration *c)
{
    vec_done(&c->passes);
}
