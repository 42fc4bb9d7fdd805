/* See result_parts.h and result.h: what the row that decides a trial says of it. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "core/environment.h"
#include "core/summary.h"
#include "result/flops.h"
#include "result/noise.h"
#include "result/result_parts.h"

#define ERROR_MAX_BYTES 4096

const char *const result_units[] = {
    [UNIT_SAMPLES] = "samples/s", [UNIT_STEPS] = "steps/s",
    [UNIT_WORDS] = "words/s",     [UNIT_TOKENS] = "tokens/s",
    [UNIT_GB] = "GB/s",           [UNIT_RUNS] = "runs/s",
    [UNIT_IMAGES] = "images/s",   [UNIT_SEQUENCES] = "sequences/s",
};
static const char scope_job[] = "job";
static const char scope_replica[] = "replica";

struct figure trial_throughput(const struct trial_result *t)
{
    const bool known = !isnan(t->throughput);
    return (struct figure){.estimate = {.known = known, .value = known ? t->throughput : 0},
                           .unit = t->unit,
                           .scope = scope_job,
                           .batch = t->batch};
}

bool replica_is_rated(const struct replica_row *r)
{
    return r->summary != NULL && r->id.role != ROLE_PSERVER && summary_fault(r->summary) == NULL;
}

struct figure replica_throughput(const struct replica_row *r)
{
    struct figure f = {.unit = result_units[UNIT_SAMPLES], .scope = scope_replica};
    if (replica_is_rated(r)) {
        f.estimate.known = true;
        f.estimate.value = summary_throughput(r->summary);
        f.unit = result_units[r->summary->source.unit];
        f.scope = r->summary->source.is_job ? scope_job : scope_replica;
    }
    return f;
}

/* What those that lead say: the trial's steps; of the first, how good the model was, and when. */
static void take_leading(struct trial_result *t, const struct trial_terms *terms)
{
    trial_each_replica (r, t) {
        if (r->summary == NULL || r->id.role != terms->leading) {
            continue;
        }
        if (r->id.index == 0 && t->steps.n == 0) {
            t->steps = step_series_of(r->summary);
        }
        const struct evaluations *e = r->summary->evaluations;
        if (e == NULL || (t->evaluations_k > 0 && t->evaluations_from < r->id.index)) {
            continue;
        }
        t->evaluations_k = e->k;
        t->evaluations_from = r->id.index;
        if (terms->goal.kind != GOAL_NONE) {
            t->to_accuracy = accuracy_time_to(e, terms->goal);
        }
        if (terms->accuracy_after_s > 0) {
            t->after = accuracy_after(e, terms->accuracy_after_s);
        }
    }
}

/* Each as the mean over the replicas that say it. */
static void take_metrics(struct trial_result *t, enum role leading)
{
    struct metrics counts = {0};
    trial_each_replica (r, t) {
        vec_each (const struct metric_value, m, &replica_summary(r)->metrics.list) {
            if (r->id.role == leading && !str_is_one_of(m->name, metric_names_made)) {
                metrics_add(&t->metrics, m->name, m->value);
                metrics_add(&counts, m->name, 1);
            }
        }
    }
    vec_each (struct metric_value, m, &t->metrics.list) {
        m->value /= metrics_get(&counts, m->name);
    }
    metrics_done(&counts);
}

/* The accelerator of all that lead; NULL: unknown, or there are several. Borrowed. */
static const char *accelerator_of(const struct trial_result *t, enum role leading)
{
    const char *name = NULL;
    trial_each_replica (r, t) {
        const char *own = environment_text(r->environment.facts, "accelerator");
        if (r->id.role == leading) {
            if (own == NULL || (name != NULL && !str_eq(own, name))) {
                return NULL;
            }
            name = own;
        }
    }
    return name;
}

/* Of a replica that trains on CPUs: the peak is that of a core, as a probe measured it, times
 * the threads. NaN: unknown, as of a program that does not say its threads and one that is
 * emulated. Fills the operations for a sample, if the definition does not have them. */
static double cpu_peak(const struct trial_result *t, const struct trial_terms *terms,
                       enum summary_unit unit, double *flops)
{
    const struct replica_row *r = trial_prober(t);
    const json_t *facts = r == NULL ? NULL : r->environment.facts;
    if (r == NULL || terms->precision != PRECISION_FP32 ||
        accelerator_of(t, terms->leading) != NULL || environment_text(facts, "compute") != NULL) {
        return NAN;
    }
    const struct noise *n = &r->summary->noise;
    const double core = fmax((double)n->before.flops_per_s, (double)n->after.flops_per_s);
    if (isnan(*flops) && unit == UNIT_SAMPLES) {
        *flops = environment_number(facts, "flops_per_sample");
    }
    return core / 1e12 * environment_number(facts, "threads");
}

/* What is not known is NaN, and not set. On CPUs all of it is, or nothing. */
static void put_utilization(struct trial_result *t, const struct trial_terms *terms)
{
    const int unit = str_index(t->unit, result_units, SUMMARY_UNIT_COUNT);
    const bool on_cpus = terms->devices == 0;
    double flops = flops_of_unit(&terms->flops, (enum summary_unit)unit);
    const double peak = on_cpus ? cpu_peak(t, terms, (enum summary_unit)unit, &flops)
                                : flops_peak(accelerator_of(t, terms->leading), terms->precision);
    const uint32_t n = on_cpus ? terms->n_leading : terms->devices;
    const double tflops = t->throughput * flops / n / 1e12;
    if (!on_cpus || (peak > 0 && !isnan(tflops))) {
        metrics_set(&t->metrics, "tflops", tflops);
        metrics_set(&t->metrics, "mfu", tflops / peak);
        metrics_set(&t->metrics, FLOPS_CPU_PEAK, on_cpus ? peak : NAN);
    }
}

/* X = sum over trainers (or workers) of samples / duration. If one has no numbers, there is no X.
 * Where some trainers say the job's throughput (log rules of scope Job), X is the mean of what they
 * say, and the others need no numbers. */
static void sum_trainers(struct trial_result *t, const struct trial_terms *terms)
{
    const char *role = role_to_string(terms->leading);
    double sum = 0;
    unsigned n_of_job = 0;
    trial_each_replica (r, t) {
        const struct figure f = replica_throughput(r);
        if (f.estimate.known && f.scope == scope_job) {
            sum += f.estimate.value;
            t->unit = f.unit;
            n_of_job++;
        }
    }
    if (n_of_job > 0) {
        t->throughput = sum / n_of_job; /* phase: as of the outcome, Succeeded */
        return;
    }
    t->phase = TRIAL_METRICS_UNAVAILABLE;
    for (uint32_t i = 0; i < terms->n_leading; i++) {
        const struct replica_row *r = attempt_row_find_replica(t->row, (int)terms->leading, i);
        if (r == NULL || !replica_is_rated(r)) {
            _cleanup_(freep) char *why = summary_explain(r == NULL ? NULL : r->summary);
            t->error = xasprintf("%s/%u %s", role, i, why);
            return;
        }
        const struct figure f = replica_throughput(r);
        if (i > 0 && f.unit != t->unit) {
            t->error = xasprintf("%s/0 has %s and %s/%u %s, which do not add up", role, t->unit,
                                 role, i, f.unit);
            return;
        }
        sum += f.estimate.value;
        t->unit = f.unit;
    }
    t->phase = TRIAL_SUCCEEDED;
    t->throughput = sum;
}

/* What a launcher says of a log without a figure (run/log_reader.h), or of a program that failed,
 * has several lines; the first is in the error, if that was known before the log was read. */
static void take_details(struct trial_result *t)
{
    trial_each_replica (r, t) {
        const char *failure = r->failure;
        const char *newline = failure == NULL ? NULL : strchr(failure, '\n');
        if (newline == NULL || newline[1] == '\0') {
            continue;
        }
        _cleanup_(freep) char *first = xstrndup(failure, (size_t)(newline - failure));
        struct buf clean = BUF_INIT; /* JSON must be UTF-8 */
        const bool is_said = t->error != NULL && strstr(t->error, first) != NULL;
        if (is_said || (t->details == NULL && t->outcome == ATTEMPT_METRICS_UNAVAILABLE)) {
            buf_put_utf8(&clean, is_said ? newline + 1 : failure, ERROR_MAX_BYTES);
            free(t->details);
            t->details = buf_take(&clean);
        }
        if (is_said) {
            return;
        }
    }
}

void result_begin_trial(struct trial_result *t)
{
    t->throughput = NAN;
    t->unit = result_units[UNIT_SAMPLES];
    t->batch = 0;
    t->to_accuracy = accuracy_time_to(NULL, (struct goal){0});
    t->after = accuracy_after(NULL, 0);
    t->others_share = t->cpus = NAN;
    t->phase = TRIAL_PENDING;
}

void trial_take_outcome(struct trial_result *t, enum run_phase run_phase)
{
    result_begin_trial(t);
    t->attempt = t->row->id.number;
    t->has_ended = true;
    t->outcome = t->row->outcome;
    switch (t->row->outcome) {
    case ATTEMPT_SUCCEEDED:
        t->phase = TRIAL_SUCCEEDED;
        return;
    case ATTEMPT_VOID:
    case ATTEMPT_INVALID: /* not decided: the next attempt runs, or the run ended before it could */
        t->phase = run_phase == RUN_RUNNING ? TRIAL_RUNNING : TRIAL_PENDING;
        break;
    case ATTEMPT_FAILED:
        t->phase = TRIAL_FAILED;
        break;
    case ATTEMPT_METRICS_UNAVAILABLE:
        t->phase = TRIAL_METRICS_UNAVAILABLE;
        break;
    }
    if (t->row->error != NULL) {
        struct buf clean = BUF_INIT; /* a cause quotes processes; JSON must be UTF-8 */
        buf_put_utf8(&clean, t->row->error, ERROR_MAX_BYTES);
        t->error = buf_take(&clean);
    }
}

void trial_build(struct trial_result *t, const struct trial_terms *terms, enum run_phase run_phase)
{
    if (t->row == NULL) {
        result_begin_trial(t);
        return;
    }
    trial_take_outcome(t, run_phase);
    take_leading(t, terms);
    if (t->row->outcome == ATTEMPT_SUCCEEDED) {
        sum_trainers(t, terms);
        t->others_share = others_cpu_of_trial(t, terms->leading);
        take_metrics(t, terms->leading);
    }
    if (t->phase == TRIAL_SUCCEEDED) {
        put_utilization(t, terms);
        /* NaN if it has other replicas, or one has no limit or did not say. */
        t->cpus = trial_count_replicas(t) == terms->n_pods ? 0 : NAN;
        trial_each_replica (r, t) {
            const double cpus = environment_number(r->environment.facts, "cgroup_cpu_limit");
            t->cpus += cpus > 0 ? cpus : NAN;
        }
    }
    if (t->outcome == ATTEMPT_METRICS_UNAVAILABLE || t->outcome == ATTEMPT_FAILED) {
        take_details(t);
    }
}

void trial_assign_row(struct trial_result *t, const struct attempt_row *row)
{
    const bool is_void = !attempt_outcome_decides(row->outcome);
    const struct attempt_row *old = t->row;
    const bool was_void = old != NULL && !attempt_outcome_decides(old->outcome);
    /* The lowest of those that decide, should there be two; the last of the others. */
    if (old == NULL || (is_void != was_void ? was_void
                        : is_void           ? row->id.number > old->id.number
                                            : row->id.number < old->id.number)) {
        t->row = row;
    }
}

void trial_done(struct trial_result *t)
{
    step_series_done(&t->steps);
    metrics_done(&t->metrics);
    free(t->noise);
    free(t->error);
    free(t->details);
}
