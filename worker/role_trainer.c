/* `benchworker trainer` and `benchworker worker`: warm-up steps, the barrier,
 * measured steps, the summary.
 *
 * A step ends with its backward pass. The new parameters come while the next step computes: forward
 * waits for those of a layer before it reads them. Only the last step, and the last one of the
 * warm-up, wait for all.
 *
 * Trainer i of N takes samples i, i+N, ... of each global batch, and dropout is keyed by (step,
 * trainer), so the result is a pure function of the settings. A worker is a trainer that has other
 * workers in place of servers. On an error it reports to its peers, writes an error record and one
 * line to stderr, and exits with a code of base/exit_code.h. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "core/summary.h"
#include "exchange/ring_plan.h"
#include "host/probe.h"
#include "worker/comm/nccl/exchange_nccl.h"
#include "worker/comm/ps/exchange_ps.h"
#include "worker/comm/ring/exchange_ring.h"
#include "worker/data/dataset.h"
#include "worker/emulation.h"
#include "worker/learner.h"
#include "worker/model/adam.h"
#include "worker/report.h"
#include "worker/role_verb.h"

struct trainer {
    const struct role_env *env;
    struct report *report;
    struct exchange *exchange;
    struct dataset *data;
    struct learner learner;
    /* Without servers, or with local steps. It is that of all parameters, or of a worker's own. */
    struct adam adam;
    struct emulation emulation; /* with e->is_emulated only, in place of data and learner */
    int64_t barrier_ns;
    struct model_hooks hooks;
    bool is_in_exchange; /* the last step's parameters may not be all there */
    int64_t want_ns;     /* waited for parameters in this forward pass */
    int want_result;     /* the first failure of it */
    struct err want_err;
    /* The backward pass under way: */
    uint64_t step;    /* warm-up steps included */
    size_t final_at;  /* gradients from this offset on are final */
    int64_t local_ns; /* spent on updates of local steps */
};

/* Called from the communication thread. Rule zero: it ends the process below main, because the main
 * thread may be in the middle of a step of many seconds and every replica must exit within ten. */
static void die_of_fault(void *ctx, const struct exchange_fault *fault, const char *message)
{
    struct report *report = ctx;
    bool is_first;
    (void)report_error(report, fault->exit_code, fault->peer[0] != '\0' ? fault->peer : NULL,
                       message, &is_first);
    if (is_first) {
        _exit(fault->exit_code);
    }
}

static struct exchange_owner owner_of(const struct trainer *t)
{
    const struct role_env *e = t->env;
    return (struct exchange_owner){
        .watches_main = !e->is_emulated, /* it uses no CPU time */
        .checksums = t->emulation.arena.checksums,
        .n_checksums = (uint64_t)(e->warmup_steps + e->steps),
        .on_fault = die_of_fault,
        .ctx = t->report,
    };
}

static int open_ring(struct trainer *t, struct err *err)
{
    const struct role_env *e = t->env;
    const uint32_t n_ranks = (uint32_t)e->n_trainers, self = (uint32_t)e->index;
    const bool is_nccl = e->transport == EXCHANGE_TRANSPORT_NCCL && n_ranks > 1;
    struct exchange_ring_params p = {
        .slices = role_env_slices(e),
        .window_bytes = RING_WINDOW_BYTES,
        .apply = learner_apply_adam,
        .apply_ctx = &t->adam,
        .owner = owner_of(t),
    };
    adam_init(&t->adam, is_nccl ? exchange_nccl_part(p.slices.n_params, n_ranks, self)
                                : slices_server_params(&p.slices, self));
    const int r = role_env_meet(e, &p.gang, err);
    if (r < 0) {
        return r;
    }
    if (n_ranks > 1) {
        p.next = e->peer_addrs[ring_next(n_ranks, self)];
    }
    return (is_nccl ? exchange_nccl_new : exchange_ring_new)(&p, &t->exchange, err);
}

static int open_exchange(struct trainer *t, struct err *err)
{
    const struct role_env *e = t->env;
    if (e->exchange == EXCHANGE_ALL_REDUCE) {
        return open_ring(t, err);
    }
    if (e->exchange == EXCHANGE_NONE) { /* an emulated trainer has nothing to update */
        size_t n = e->is_emulated ? 0 : model_def_n_params(e->model);
        adam_init(&t->adam, n);
        t->exchange = exchange_none_new(learner_apply_adam, &t->adam, n);
        return 0;
    }
    if (e->mode.local_steps > 0) {
        adam_init(&t->adam, model_def_n_params(e->model));
    }
    struct exchange_ps_params p = {
        .servers = e->peer_addrs,
        .slices = role_env_slices(e),
        .wire = e->wire,
        .discards_params = e->is_emulated,
        .owner = owner_of(t),
    };
    const int r = role_env_meet(e, &p.gang, err);
    return r < 0 ? r : exchange_ps_new(&p, &t->exchange, err);
}

/* A hook of the model. */
static void want(void *ctx, size_t offset, size_t n)
{
    struct trainer *t = ctx;
    if (t->is_in_exchange && t->want_result >= 0) {
        const int64_t begin_ns = clock_monotonic_ns();
        t->want_result = t->exchange->ops->need(t->exchange, offset, n, &t->want_err);
        t->want_ns += clock_monotonic_ns() - begin_ns;
    }
}

/* With local steps (core/exchange_kind.h) Adam updates each range of the trainer's own parameters
 * as soon as its gradients are final: they are still in the caches, and in the last of the steps
 * the new parameters, which the trainer then sends, can leave at once. */
static void update_locally(struct trainer *t, size_t offset)
{
    struct model *model = t->learner.model;
    const int64_t begin_ns = clock_monotonic_ns();
    adam_apply(&t->adam, t->step + 1, offset, t->final_at - offset,
               model_param_data(model) + offset, model_grad_data(model) + offset, 1.0f);
    t->final_at = offset;
    t->local_ns += clock_monotonic_ns() - begin_ns;
}

/* A hook of the model. */
static void ready(void *ctx, size_t offset)
{
    struct trainer *t = ctx;
    const struct exchange_mode *mode = &t->env->mode;
    if (mode->local_steps > 0) {
        update_locally(t, offset);
    }
    if (exchange_mode_follows(mode, t->step)) {
        t->exchange->ops->ready(t->exchange, offset);
    }
}

static int open_model(struct trainer *t, struct err *err)
{
    const struct role_env *e = t->env;
    struct model_params p = {
        .def = e->model,
        .batch = (uint32_t)e->batch_size,
        .threads = (uint32_t)e->threads,
        .seed = (uint64_t)e->seed,
        .dropout = true,
    };
    int r = learner_init(&t->learner, &p, err);
    if (r == 0) {
        model_set_hooks(t->learner.model, &t->hooks);
        /* A ring applies in its own thread, while the model computes. */
        t->adam.threads =
            e->exchange == EXCHANGE_ALL_REDUCE ? NULL : model_threads(t->learner.model);
    }
    return r;
}

static void read_batch(struct trainer *t, uint64_t step)
{
    const struct role_env *e = t->env;
    struct data_batch batch = {
        .shuffle = true,
        .first = step * (uint64_t)e->batch_size * (uint64_t)e->n_trainers + (uint64_t)e->index,
        .stride = (uint64_t)e->n_trainers,
        .n = (uint32_t)e->batch_size,
    };
    dataset_read(t->data, &batch, t->learner.x, t->learner.labels);
}

static int begin_exchange(struct trainer *t, uint64_t step, struct err *err)
{
    const struct exchange_ops *ops = t->exchange->ops;
    if (!t->env->is_emulated) {
        float *params = model_param_data(t->learner.model);
        const bool is_local = t->env->mode.local_steps > 0;
        return ops->begin(t->exchange, is_local ? params : model_grad_data(t->learner.model),
                          params, err);
    }
    return ops->begin(t->exchange, emulation_grads(&t->emulation, step), t->emulation.arena.params,
                      err);
}

/* Waits for what is left of the exchange that is under way, and adds its times to the record. */
static int end_exchange(struct trainer *t, struct record_step *record, struct err *err)
{
    struct exchange_times times = {0};
    const int r = t->exchange->ops->end(t->exchange, &times, err);
    t->is_in_exchange = false;
    record->phase_ns[PHASE_SEND] += times.send_ns;
    record->phase_ns[PHASE_WAIT] += times.wait_ns;
    record->phase_ns[PHASE_UPDATE] += times.update_ns;
    record->phase_ns[PHASE_RECEIVE] += times.receive_ns;
    record->bytes_tx += times.bytes_tx;
    record->bytes_rx += times.bytes_rx;
    return r;
}

static int forward(struct trainer *t, uint64_t step, struct record_step *record, int64_t *at,
                   struct err *err)
{
    struct learner *l = &t->learner;
    const struct model_key key = {step, (uint32_t)t->env->index};
    t->want_ns = 0;
    if (t->env->is_emulated) {
        emulation_forward(&t->emulation, step, &t->hooks);
        record->loss = NAN;
    } else {
        record->loss = model_forward(l->model, l->x, l->labels, record->samples, key);
    }
    if (t->want_result < 0) {
        *err = t->want_err;
        return t->want_result;
    }
    report_lap(record, PHASE_FORWARD, at);
    record->phase_ns[PHASE_FORWARD] -= t->want_ns; /* it is in the times of the exchange */
    return t->env->is_emulated ? 0 : learner_check_loss(record->loss, step, err);
}

/* The exchange of this step goes on while the next one computes, unless nothing comes after it. */
static bool hides_exchange(const struct role_env *e, uint64_t step)
{
    const uint64_t warmup = (uint64_t)e->warmup_steps, all = warmup + (uint64_t)e->steps;
    return e->exchange != EXCHANGE_NONE && step + 1 != warmup && step + 1 != all;
}

static void backward(struct trainer *t, struct record_step *record, int64_t *at)
{
    t->local_ns = 0;
    if (t->env->is_emulated) {
        emulation_backward(&t->emulation, &t->hooks);
    } else {
        t->final_at = model_n_params(t->learner.model);
        model_backward(t->learner.model);
    }
    report_lap(record, PHASE_BACKWARD, at);
    record->phase_ns[PHASE_BACKWARD] -= t->local_ns;
    record->phase_ns[PHASE_UPDATE] += t->local_ns;
}

/* `step` counts warm-up steps too. */
static int one_step(struct trainer *t, uint64_t step, struct record_step *ret, struct err *err)
{
    const struct role_env *e = t->env;
    int64_t begin_ns = clock_monotonic_ns();
    int64_t at = begin_ns;
    struct record_step record = {.samples = (uint32_t)e->batch_size};
    if (!e->is_emulated) {
        read_batch(t, step);
    }
    report_lap(&record, PHASE_DATA, &at);
    int r = forward(t, step, &record, &at, err);
    if (r >= 0 && t->is_in_exchange) {
        r = end_exchange(t, &record, err);
    }
    t->step = step;
    const bool exchanges = exchange_mode_follows(&e->mode, step);
    if (r >= 0 && exchanges) {
        r = begin_exchange(t, step, err);
    }
    if (r < 0) {
        return r;
    }
    t->is_in_exchange = exchanges;
    at = clock_monotonic_ns();
    backward(t, &record, &at);
    if (exchanges && !hides_exchange(e, step)) {
        r = end_exchange(t, &record, err);
        if (r < 0) {
            return r;
        }
    }
    record.step_ns = clock_monotonic_ns() - begin_ns;
    *ret = record;
    return 0;
}

/* Trainer 0 alone looks at the machine, while the others of the gang wait: at the barrier, which it
 * has not reached, and after the last step, when all have their parameters. */
static void probe(const struct trainer *t, struct noise_probe *ret)
{
    const struct role_env *e = t->env;
    if (e->index == 0 && noise_worker_looks(e->exchange, e->warmup_steps > 0, &e->mode)) {
        const struct probe_limits limits = probe_limits_of("");
        report_aside_begin(t->report);
        probe_run(&limits, ret);
        host_forget_max_rss();
    }
}

static int train(struct trainer *t, struct err *err)
{
    const struct role_env *e = t->env;
    uint64_t warmup = (uint64_t)e->warmup_steps;
    uint64_t all = warmup + (uint64_t)e->steps;
    for (uint64_t step = 0; step < all; step++) {
        struct record_step record;
        if (step == warmup) {
            probe(t, &t->report->summary.noise.before);
            int r = t->exchange->ops->barrier(t->exchange, err);
            if (r < 0) {
                return r;
            }
            t->barrier_ns = clock_monotonic_ns();
            report_barrier(t->report);
        }
        int r = one_step(t, step, &record, err);
        if (r < 0) {
            return r;
        }
        record.warmup = step < warmup;
        record.step = (uint32_t)(record.warmup ? step : step - warmup);
        if (!record.warmup) {
            record.t_ns = clock_monotonic_ns() - t->barrier_ns;
        }
        r = report_step(t->report, &record, err);
        if (r < 0) {
            return r;
        }
    }
    report_measured(t->report);
    if (e->exchange == EXCHANGE_PSERVER ||
        (e->exchange == EXCHANGE_ALL_REDUCE && e->n_trainers > 1)) {
        t->report->summary.transport = e->transport == EXCHANGE_TRANSPORT_NCCL
                                           ? EXCHANGE_TRANSPORT_NCCL
                                           : EXCHANGE_TRANSPORT_TCP;
    }
    probe(t, &t->report->summary.noise.after);
    return t->exchange->ops->goodbye(t->exchange, err);
}

static void print_digest(const struct trainer *t)
{
    uint8_t digest[AUTH_DIGEST_SIZE];
    struct model *model = t->learner.model;
    auth_sha256(model_param_data(model), model_n_params(model) * sizeof(float), digest);
    (void)fputs("params_digest ", stderr);
    for (size_t i = 0; i < sizeof(digest); i++) {
        (void)fprintf(stderr, "%02x", digest[i]);
    }
    (void)fputc('\n', stderr);
}

static int print_accuracy(struct trainer *t, struct err *err)
{
    const struct role_env *e = t->env;
    struct dataset *test = NULL;
    const int r = dataset_open(e->data, DATA_TEST, (uint64_t)e->seed, &test, err);
    if (r >= 0) {
        (void)fprintf(stderr, "test_accuracy %.4f\n",
                      learner_accuracy(&t->learner, test, (uint32_t)e->batch_size));
        dataset_free(test);
    }
    return r;
}

/* Reports the error to the peers and to stderr; returns the exit code. */
static int fail(struct trainer *t, int exit_code, const struct err *err)
{
    struct exchange_fault fault = {0};
    if (t->exchange != NULL) {
        t->exchange->ops->fault(t->exchange, &fault);
        if (fault.exit_code == 0) {
            t->exchange->ops->abandon(t->exchange, exit_code, err->msg);
        }
    }
    int code = fault.exit_code != 0 ? fault.exit_code : exit_code;
    return report_error(t->report, code, fault.peer[0] != '\0' ? fault.peer : NULL, err->msg, NULL);
}

/* Runs the trainer from start to end. Returns its exit code. */
static int run(struct trainer *t)
{
    const struct role_env *e = t->env;
    struct err err = {0};
    if (report_start(t->report, e, &err) < 0) {
        return fail(t, EXIT_WORKER_RESOURCE, &err);
    }
    if (e->is_emulated && emulation_open(e, &t->emulation, &err) < 0) {
        return fail(t, err.code == EINVAL ? EXIT_USAGE : EXIT_WORKER_RESOURCE, &err);
    }
    if (open_exchange(t, &err) < 0) {
        const bool is_resource = err.code == EAGAIN || err.code == EMFILE ||
                                 err.code == EADDRINUSE || err.code == EADDRNOTAVAIL ||
                                 err.code == ELIBACC || err.code == ENODEV || err.code == EIO;
        return fail(t, is_resource ? EXIT_WORKER_RESOURCE : EXIT_USAGE, &err);
    }
    if (!e->is_emulated &&
        dataset_open(e->data, DATA_TRAIN, (uint64_t)e->seed, &t->data, &err) < 0) {
        return fail(t, err.code == EINVAL ? EXIT_USAGE : EXIT_WORKER_DATA, &err);
    }
    if (!e->is_emulated && open_model(t, &err) < 0) {
        return fail(t, EXIT_WORKER_RESOURCE, &err);
    }
    if (train(t, &err) < 0) {
        return fail(t, err.code == EDOM ? EXIT_WORKER_DIVERGED : EXIT_WORKER_RESOURCE, &err);
    }
    if (e->prints_digest) {
        print_digest(t);
    }
    if (e->prints_accuracy && print_accuracy(t, &err) < 0) {
        return fail(t, EXIT_WORKER_DATA, &err);
    }
    if (report_summary(t->report, &err) < 0) {
        return fail(t, EXIT_WORKER_RESOURCE, &err);
    }
    return EXIT_OK;
}

static int run_replica(const struct role_env *e, struct report *report)
{
    struct trainer t = {.env = e, .report = report, .adam = ADAM_DEFAULT};
    t.hooks = (struct model_hooks){want, ready, &t};
    int code = run(&t);
    if (t.exchange != NULL) {
        t.exchange->ops->free(
            t.exchange); /* with the gradients of the model, which are not read any more */
    }
    dataset_free(t.data);
    learner_done(&t.learner);
    emulation_done(&t.emulation);
    adam_done(&t.adam);
    return code;
}

int role_trainer(int argc, char *const *argv)
{
    return role_run(ROLE_TRAINER, argc, argv, run_replica);
}

int role_worker(int argc, char *const *argv)
{
    return role_run(ROLE_WORKER, argc, argv, run_replica);
}
