/* Times and costs from a measured run, see calibrate.h. A summary has phases by the clock and CPU time of the whole
 * process: the CPU time of a server is dealt to its phases by their share of its work. So what other processes took
 * from it meanwhile is not counted. */
#include "predict/calibrate.h"

#include <math.h>

#include "core/summary.h"
#include "network/def.h"
#include "result/limit.h"
#include "result/transport.h"

/* ---- computing ---- */

static const struct point_result *find_smallest(const struct result *r)
{
    const struct point_result *best = NULL;
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        const struct point_result *p = &r->points[i];
        const struct point *it = p->point;
        if (it->replicas[ROLE_TRAINER] == 0 || phase_times_of(p, ROLE_TRAINER).n == 0) {
            continue;
        }
        if (best == NULL || it->replicas[ROLE_TRAINER] < best->point->replicas[ROLE_TRAINER] ||
            (it->replicas[ROLE_TRAINER] == best->point->replicas[ROLE_TRAINER] &&
             it->replicas[ROLE_PSERVER] < best->point->replicas[ROLE_PSERVER])) {
            best = p;
        }
    }
    return best;
}

struct spread {
    double sum, squares;
    size_t n;
};

/* Squares of the step times less the mean of their trial, which may have its own. */
static void add_series(struct spread *all, const struct replica_result *r)
{
    struct summary s;
    if (summary_read_usable(r->row->summary_json, &r->row->id, &s, NULL) < 0) {
        return;
    }
    double mean_us = 0;
    for (uint32_t i = 0; i < s.n_series; i++) {
        mean_us += s.series_us[i] / s.n_series;
    }
    for (uint32_t i = 0; i < s.n_series && s.n_series > 1; i++) {
        const double d = s.series_us[i] / mean_us - 1;
        all->squares += d * d * s.series_k; /* a mean of k varies less */
        all->sum += 1;
    }
    all->n += s.n_series > 1;
    summary_done(&s);
}

/* Of the step times of one trainer without others. */
static double jitter_of(const struct point_result *p)
{
    struct spread all = {0};
    if (p->point->replicas[ROLE_TRAINER] != 1 || p->point->replicas[ROLE_PSERVER] != 0) {
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

/* What the trainers of a point need beyond computing; of emulated ones that is all of their CPU time. */
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

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

int calibrate(const struct result *r, struct calibration *ret, struct err *err)
{
    struct exchange_sums sums = {0};
    struct transports used = {0};
    const struct point_result *p = find_smallest(r);
    if (p == NULL) {
        return err_set(err, EINVAL, "run '%s' has no trainer that says how long it computed",
                       r->def->name);
    }
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        if (r->points[i].point->replicas[ROLE_PSERVER] > 0) {
            transports_add(&used, &r->points[i]);
            add_servers(&sums, &r->points[i]);
            add_trainers(&sums, r, &r->points[i]);
        }
    }
    const struct phase_times t = phase_times_of(p, ROLE_TRAINER);
    const struct model_def *model = model_def_find(r->def->spec->workload.model);
    const bool is_alone = p->point->exchange == EXCHANGE_NONE && model != NULL;
    *ret = (struct calibration){
        .point = p->point->index,
        .batch_size = p->point->batch_size,
        .threads = p->point->threads,
        .forward_s = t.phase_s[PHASE_DATA] + t.phase_s[PHASE_FORWARD],
        .backward_s = t.phase_s[PHASE_BACKWARD],
        .jitter_ratio = jitter_of(p),
        .costs =
            {
                .receive = ratio(sums.receive_s, sums.bytes_rx),
                .send = ratio(sums.send_s, sums.bytes_tx),
                .update = ratio(sums.update_s, sums.param_bytes),
                .trainer = ratio(sums.trainer_s, sums.trainer_bytes),
                .local_update = is_alone ? t.phase_s[PHASE_UPDATE] /
                                               ((double)model_def_n_params(model) * sizeof(float))
                                         : 0,
            },
        .server_bytes = (uint64_t)(sums.bytes_rx + sums.bytes_tx),
        .shares_memory = used.used[EXCHANGE_TRANSPORT_SHARED_MEMORY],
    };
    return 0;
}
