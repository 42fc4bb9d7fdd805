/* `benchworker pserver`: keeps some slices of the parameters and their Adam state for the trainers
 * of one trial. It computes the initial values itself instead of receiving them
 * (model_init_params). */
#include <math.h>
#include <string.h>

#include "base/exit_code.h"
#include "base/mem.h"
#include "worker/comm/ps/ps_server.h"
#include "worker/learner.h"
#include "worker/model/adam.h"
#include "worker/report.h"
#include "worker/role_verb.h"

/* The initial parameters of the threads' slices, in order; owned. */
static float *initial_params(const struct role_env *e, const struct slices *slices)
{
    const uint32_t self = (uint32_t)e->index;
    float *own = xnew_array(float, slices_process_params(slices, self, slices->n_threads) + 1);
    _cleanup_(freep) float *all = xnew_array(float, slices->n_params);
    model_init_params(e->model, (uint64_t)e->seed, all);
    size_t at = 0;
    for (uint32_t t = 0; t < slices->n_threads; t++) {
        for (uint32_t i = slices_server(slices, self, t); i < slices->n; i += slices->n_servers) {
            struct slice s = slices_get(slices, i);
            memcpy(own + at, all + s.offset, s.len * sizeof(float));
            at += s.len;
        }
    }
    return own;
}

static int write_summary(struct report *report, struct ps_server_stats *stats, struct err *err)
{
    struct summary *s = &report->summary;
    *s = (struct summary){
        .duration_ns = stats->duration_ns,
        .steps = (uint32_t)stats->n_rounds,
        .bytes_tx = stats->bytes_tx,
        .bytes_rx = stats->bytes_rx,
        .cpu_ns = stats->cpu_ns,
        .last = {stats->last_trainer, stats->n_last, stats->last_wait_ns},
        .staleness = {stats->n_stale,
                      stats->n_stale > 0 ? (double)stats->staleness_sum / (double)stats->n_stale
                                         : 0,
                      stats->staleness_max},
        .loss_first = NAN,
        .loss_last = NAN,
    };
    s->phase_ns[PHASE_SEND] = stats->send_ns;
    s->phase_ns[PHASE_WAIT] = stats->wait_ns;
    s->phase_ns[PHASE_UPDATE] = stats->update_ns;
    s->phase_ns[PHASE_RECEIVE] = stats->receive_ns;
    report->step_ns.len = stats->n_rounds;
    report->step_ns.items = take_ptr(stats->round_ns);
    return report_summary(report, err);
}

static int run_replica(const struct role_env *e, struct report *report)
{
    struct ps_server_params p = {
        .n_trainers = (uint32_t)e->n_trainers,
        .slices = role_env_slices(e),
        .wire = e->wire,
        .mode = e->mode,
        .early_bytes = PS_SERVER_EARLY_BYTES,
        .apply = e->mode.local_steps > 0 ? learner_apply_average : learner_apply_adam,
    };
    struct err err = {0};
    int r = role_env_meet(e, &p.gang, &err);
    r = r < 0 ? r : report_start(report, e, &err);
    if (r < 0) {
        fd_close(&p.gang.listen_fd); /* no connection has been accepted */
        return report_error(report, r == -EINVAL ? EXIT_USAGE : EXIT_WORKER_RESOURCE, NULL, err.msg,
                            NULL);
    }
    struct adam adam = ADAM_DEFAULT;
    adam_init(&adam, e->mode.local_steps > 0 ? 0
                                             : slices_process_params(&p.slices, (uint32_t)e->index,
                                                                     p.slices.n_threads));
    p.apply_ctx = &adam;
    p.params = initial_params(e, &p.slices);

    struct ps_server_stats stats = {0};
    struct fault fault;
    int code = EXIT_OK;
    report_barrier(report); /* a server counts what the machine did before the barrier, too */
    const int served = ps_server_run(&p, &stats, &fault, &err);
    report_measured(report);
    if (served < 0) {
        char peer[32];
        frame_id_name(&fault.peer, peer);
        code = report_error(report, fault.exit_code, fault.has_peer ? peer : NULL, err.msg, NULL);
    } else if (write_summary(report, &stats, &err) < 0) {
        code = report_error(report, EXIT_WORKER_RESOURCE, NULL, err.msg, NULL);
    }
    ps_server_stats_done(&stats);
    adam_done(&adam);
    free(p.params);
    return code;
}

int role_pserver(int argc, char *const *argv)
{
    return role_run(ROLE_PSERVER, argc, argv, run_replica);
}
