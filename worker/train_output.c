#include "worker/train_output.h"

#include <math.h>
#include <stdio.h>

#include "worker/kernels/blas.h"

static FILE *people(const struct train_output *o)
{
    return o->json ? stderr : stdout;
}

static int flush(const struct train_output *o, struct err *err)
{
    errno = 0;
    if (fflush(people(o)) != 0 || ferror(people(o))) {
        return err_set_errno(err, errno == 0 ? EIO : errno, "write to %s",
                             o->json ? "stderr" : "stdout");
    }
    return 0;
}

int train_output_begin(struct train_output *o, const struct train_params *params, const char *model,
                       const char *source, bool json, struct err *err)
{
    *o = (struct train_output){
        .json = json,
        .epochs = params->epochs,
        .env = {.role = ROLE_TRAINER,
                .model_name = model,
                .data = source,
                .threads = params->threads,
                .seed = (int64_t)params->seed},
        .summary = {.loss_first = NAN, .loss_last = NAN},
    };
    report_init(&o->report, &o->env);
    fprintf(people(o),
            "%s on %s: %zu samples, batch %u, seed %llu, %u thread%s, OpenBLAS core %s%s\n", model,
            source, dataset_size(params->train), params->batch, (unsigned long long)params->seed,
            params->threads, params->threads == 1 ? "" : "s", blas_core(),
            params->dropout ? "" : ", no dropout");
    int r = flush(o, err);
    return r < 0 || !json ? r : report_start(&o->report, &o->env, err);
}

static int on_epoch(void *ctx, const struct train_epoch *e, struct err *err)
{
    struct train_output *o = ctx;
    double train_s = (double)e->train_ns / 1e9;
    fprintf(people(o),
            "epoch %llu/%llu   loss %.4f   train accuracy %.4f   %.1f samples/s in %.1f s",
            (unsigned long long)e->epoch + 1, (unsigned long long)o->epochs, e->loss,
            e->train_accuracy, (double)e->samples / train_s, train_s);
    if (!isnan(e->test_accuracy)) {
        fprintf(people(o), "   test accuracy %.4f in %.1f s", e->test_accuracy,
                (double)e->test_ns / 1e9);
    }
    fputc('\n', people(o));
    return flush(o, err);
}

static int on_step(void *ctx, const struct train_step *step, struct err *err)
{
    struct train_output *o = ctx;
    if (!o->json) {
        return 0;
    }
    struct summary *s = &o->summary;
    struct record_step record = {
        .step = (uint32_t)step->step,
        .step_ns = step->data_ns + step->forward_ns + step->backward_ns + step->update_ns,
        .samples = step->samples,
        .loss = step->loss,
    };
    record.phase_ns[PHASE_DATA] = step->data_ns;
    record.phase_ns[PHASE_FORWARD] = step->forward_ns;
    record.phase_ns[PHASE_BACKWARD] = step->backward_ns;
    record.phase_ns[PHASE_UPDATE] = step->update_ns;
    s->duration_ns += record.step_ns; /* training only, without the tests between epochs */
    record.t_ns = s->duration_ns;
    s->loss_first = s->steps == 0 ? step->loss : s->loss_first;
    s->loss_last = step->loss;
    s->steps++;
    s->samples += step->samples;
    for (int i = 0; i < PHASE_COUNT; i++) {
        s->phase_ns[i] += record.phase_ns[i];
    }
    *vec_push(&o->step_ns) = record.step_ns;
    return report_step(&o->report, &record, err);
}

struct train_reporter train_output_reporter(struct train_output *o)
{
    return (struct train_reporter){.step = on_step, .epoch = on_epoch, .ctx = o};
}

int train_output_end(struct train_output *o, struct err *err)
{
    return o->json ? report_summary(&o->report, &o->summary, o->step_ns.items, o->step_ns.len, err)
                   : 0;
}

void train_output_error(struct train_output *o, int exit_code, const char *message)
{
    if (o->json) {
        (void)report_error(&o->report, exit_code, NULL, message, NULL); /* returns exit_code */
    } else {
        fprintf(stderr, "benchworker train: %s\n", message);
    }
}

void train_output_done(struct train_output *o)
{
    report_done(&o->report);
    summary_done(&o->summary);
    vec_done(&o->step_ns);
}
