/* What a reader must know before believing the numbers of a result: a function for each rule of the
 * table in result.h. */
#include <math.h>
#include <stdarg.h>

#include "base/str.h"
#include "result/nodes.h"
#include "result/noise.h"
#include "result/result_parts.h"
#include "result/warmup.h"
#include "spec/log_rule.h"

#define CAUSE_MAX_BYTES 256
#define MAX_NAMED 5 /* points that one warning names; it counts the others */
/* Steps fall if the second half is faster by 5%, in trial after trial. */
#define FALL_ALPHA 0.05
/* Step times are stored within 0.02%; beyond 1% a clock is wrong. */
#define TIME_SLACK 0.01
#define GPU_THROTTLED_MIN 0.01 /* of the readings in the measured time */
#define LUCKY_EFFICIENCY 1.05  /* without an interval */
#define SHARED_MIN 0.9         /* of the measured time */

#define NAME(code, name, find) [WARNING_##code] = (name),
const char *const warning_code_names[] = {WARNINGS(NAME)};

__attribute__((format(printf, 3, 4))) static void warn(struct result *r, enum warning_code code,
                                                       const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct warning w = {.code = code, .message = xvasprintf(fmt, ap)};
    va_end(ap);
    *vec_push(&r->warnings) = w;
}

typedef bool point_holds_fn(const struct point_result *p);

/* The points for which it holds, of the first n: "point 3", "points 0, 1 and 2", "points 0, 1, 2,
 * 3, 4 and 7 more". Owned; NULL: none. */
static char *points_that(const struct result *r, uint32_t n, point_holds_fn *holds)
{
    struct buf text = BUF_INIT;
    const size_t all = array_sum(r->points, n, p, (size_t)holds(p));
    size_t named = 0;
    if (all == 0) {
        return NULL;
    }
    buf_puts(&text, all == 1 ? "point " : "points ");
    for (uint32_t i = 0; i < n && named < MAX_NAMED; i++) {
        if (holds(&r->points[i])) {
            const char *before = named == 0 ? "" : named + 1 == all ? " and " : ", ";
            buf_printf(&text, "%s%u", before, i);
            named++;
        }
    }
    if (all > MAX_NAMED) {
        buf_printf(&text, " and %zu more", all - MAX_NAMED);
    }
    return buf_take(&text);
}

static void lint_kind_of_run(struct result *r)
{
    const struct run_def *def = r->def;
    if (def->rehearsal && def->spec->workload.compute == COMPUTE_EMULATED) {
        warn(r, WARNING_REHEARSAL,
             "rehearsal: the %s are emulated, they sleep instead of computing; compare its numbers "
             "only with each other",
             matrix_training_words(&def->matrix).many);
    } else if (def->rehearsal) {
        const struct point *busiest = matrix_busiest(&def->matrix);
        warn(r, WARNING_REHEARSAL,
             "rehearsal: point %u needs %lld busy threads, but the run had %lld CPUs; compare its "
             "numbers only with each other",
             busiest->index, (long long)point_busy_threads(busiest), (long long)def->cpus);
    }
    if (run_options_lanes(&def->options) > 1) {
        warn(r, WARNING_PARALLEL,
             "parallel: up to %u trials ran at a time, on nodes of their own but with one network, "
             "and may have slowed each other; compare its numbers only with runs of as many",
             def->options.trials);
    }
    if (r->simulated) {
        warn(r, WARNING_SIMULATED,
             "simulated: the pods were fake; compare its numbers only with each other");
    }
    if (spec_is_imported(def->spec)) {
        warn(r, WARNING_IMPORTED,
             "imported: the figures were read from old logs; machine, build and what else ran "
             "there are unknown");
    }
}

static bool has_one_trial(const struct point_result *p)
{
    return p->n_succeeded == 1;
}

static void lint_one_trial(struct result *r)
{
    _cleanup_(freep) char *points = points_that(r, r->def->matrix.n_points, has_one_trial);
    if (points != NULL) {
        warn(r, WARNING_ONE_TRIAL, "only one trial at %s: the spread is unknown", points);
    }
}

/* Does a log rule make some system's figures? The events of MLPerf are of the whole job always. */
static bool reads_logs(const struct result *r)
{
    return vec_any(&r->def->spec->systems, system,
                   system->log != NULL && system->log->format != LOG_RULE_MLPERF);
}

static const struct estimate *efficiency_of(const struct point_result *p)
{
    return &point_figure(p, FIGURE_EFFICIENCY)->estimate;
}

static bool is_above_one(const struct point_result *p)
{
    const struct estimate *e = efficiency_of(p);
    return e->known && (e->has_interval ? e->low > 1 : e->value > LUCKY_EFFICIENCY);
}

static void lint_efficiency(struct result *r)
{
    const uint32_t n = r->def->matrix.n_swept;
    _cleanup_(freep) char *points = points_that(r, n, is_above_one);
    if (points != NULL) {
        const bool is_certain =
            array_all(r->points, n, p, !is_above_one(p) || efficiency_of(p)->has_interval);
        warn(r, WARNING_EFFICIENCY_ABOVE_ONE,
             "efficiency is %s above 1 at %s: point and baseline differ in more than their number "
             "of %s%s",
             is_certain ? "significantly" : "far", points, matrix_size_words(&r->def->matrix).many,
             reads_logs(r) ? "; a log whose lines have the rate of the whole job needs 'scope: "
                             "Job' in its rule, and a program that divides its batch among its "
                             "workers 'batchScope: Job'"
                           : "");
    }
}

static void lint_throttled(struct result *r)
{
    const size_t n = r->seen.n_throttled;
    const struct replica_id *worst_id = &r->seen.throttled;
    if (n > 0) {
        warn(r, WARNING_THROTTLED,
             "%zu %s throttled by a CPU limit; the worst is %s/%u of point %u, trial %u: %.1f%% of "
             "its time",
             n, n == 1 ? "replica was" : "replicas were", role_to_string(worst_id->role),
             worst_id->index, worst_id->attempt.point, worst_id->attempt.trial,
             100 * r->seen.worst_throttled);
    }
}

/* Returns the trial with a metric, times `sign`, that is furthest beyond a bound; NULL if no trial
 * is beyond it. */
static const struct trial_result *find_beyond(const struct result *r, const char *name, double sign,
                                              double bound, size_t *ret_n, uint32_t *ret_point)
{
    const struct trial_result *worst = NULL;
    *ret_n = 0;
    result_each_point (p, r) {
        point_each_success (t, p) {
            const double value = sign * metrics_get(&t->metrics, name);
            if (value >= sign * bound && ++*ret_n > 0 &&
                (worst == NULL || value > sign * metrics_get(&worst->metrics, name))) {
                worst = t;
                *ret_point = p->point->index;
            }
        }
    }
    return worst;
}

/* Such a trial counts, but it would be faster with another temperature or power limit. */
static void lint_gpu_throttled(struct result *r)
{
    static const char *const reasons[][2] = {{"power_cap_ratio", "a power limit"},
                                             {"thermal_ratio", "its temperature"},
                                             {"hw_slow_ratio", "a hardware slowdown"}};
    size_t n;
    uint32_t point;
    const char *const *reason = reasons[0], *const name = "throttled_ratio";
    const struct trial_result *t = find_beyond(r, name, 1, GPU_THROTTLED_MIN, &n, &point);
    if (t != NULL) {
        const struct metrics *m = &t->metrics;
        for (size_t i = 1; i < COUNT_OF(reasons); i++) {
            const bool is_more = metrics_get(m, reasons[i][0]) > metrics_get(m, reason[0]);
            reason = is_more ? reasons[i] : reason;
        }
        warn(r, WARNING_GPU_THROTTLED,
             "%zu trial%s on a GPU that was slowed; the worst is trial %u of point %u: %.0f%% of "
             "its time, mostly by %s; %s in the figures",
             n, n == 1 ? " ran" : "s ran", t->trial, point, 100 * metrics_get(m, name), reason[1],
             n == 1 ? "it counts" : "they count");
    }
}

static void lint_partial_gangs(struct result *r)
{
    size_t n;
    uint32_t point;
    const struct trial_result *t = find_beyond(r, METRIC_SHARED, -1, SHARED_MIN, &n, &point);
    if (t != NULL) {
        warn(r, WARNING_PARTIAL_GANG,
             "replicas measured together only for a part of %zu trial%s; the worst is trial %u of "
             "point %u: for %.0f%%, starts %.1f s apart; %s in the figures",
             n, n == 1 ? "" : "s", t->trial, point, 100 * metrics_get(&t->metrics, METRIC_SHARED),
             metrics_get(&t->metrics, METRIC_START_SPREAD), n == 1 ? "it counts" : "they count");
    }
}

static void lint_copies(struct result *r)
{
    vec_each (const struct system, system, &r->def->spec->systems) {
        uint32_t most = 1;
        result_each_swept (p, r) {
            const bool is_own = &r->def->spec->systems.items[p->point->system] == system;
            const uint32_t n = is_own ? point_training_replicas(p->point) : 0;
            most = n > most ? n : most;
        }
        if (most > 1 && system_is_copies(system)) {
            warn(r, WARNING_COPIES,
                 "%u independent copies of %s: profile none gives them no way to find each other. "
                 "Write the profile of its framework; or its exchange by a name, such as {kind: "
                 "Ring}, if it reads BENCHD_WORKER_ADDRS",
                 most, system->name);
        }
    }
    size_t n;
    uint32_t point;
    if (find_beyond(r, METRIC_UNMET, 1, 0, &n, &point) != NULL) {
        warn(r, WARNING_COPIES,
             "no process listened on MASTER_PORT at point %u: its replicas are independent copies, "
             "unless they meet in another way. Connect them, or write 'profile: none'",
             point);
    }
}

static void lint_hardware(struct result *r)
{
    const struct hardware *first = vec_find(&r->hardware, h, h->cpu_model != NULL);
    const struct hardware *other =
        vec_find(&r->hardware, h, h->cpu_model != NULL && !str_eq(h->cpu_model, first->cpu_model));
    if (other != NULL) {
        warn(r, WARNING_MIXED_HARDWARE, "mixed hardware: replicas ran on '%s' and on '%s'",
             first->cpu_model, other->cpu_model);
    }
}

/* Such a point has a warning that says when, even if its steps also fall. */
static bool settles_late(const struct point_result *p)
{
    return p->kept->warmup.state == WARMUP_SHORT;
}

static bool falls(const struct point_result *p)
{
    return !settles_late(p) && p->kept->p_of_fall <= FALL_ALPHA;
}

static bool never_settles(const struct point_result *p)
{
    return p->kept->warmup.state == WARMUP_NEVER && !falls(p);
}

/* The latest change of the points for which it holds. */
static const struct warmup *latest(const struct result *r, point_holds_fn *holds)
{
    const struct warmup *last = NULL;
    result_each_point (p, r) {
        if (holds(p) && (last == NULL || p->kept->warmup.steps > last->steps)) {
            last = &p->kept->warmup;
        }
    }
    return last;
}

static void lint_steady_state(struct result *r)
{
    const uint32_t n = r->def->matrix.n_points;
    _cleanup_(freep) double *p = xnew_array(double, n);
    for (uint32_t i = 0; i < n; i++) {
        p[i] = r->points[i].kept->p_of_fall;
    }
    significance_adjust(p, n, p);
    for (uint32_t i = 0; i < n; i++) {
        r->points[i].kept->p_of_fall = p[i];
    }
    _cleanup_(freep) char *late = points_that(r, n, settles_late);
    _cleanup_(freep) char *falling = points_that(r, n, falls);
    _cleanup_(freep) char *never = points_that(r, n, never_settles);
    const char *skip = reads_logs(r) ? ", or skip in a log rule whose lines have no number" : "";
    if (late != NULL) {
        const struct warmup *w = latest(r, settles_late);
        const long long warmup = r->def->spec->warmup_steps, steps = warmup + (long long)w->steps;
        warn(r, WARNING_SHORT_WARMUP,
             "warm-up of %lld steps is too short at %s: times settle after step %lld (%.0f%% %s "
             "before); raise measure.warmupSteps to %lld%s",
             warmup, late, steps, 100 * fabs(expm1(w->change)), w->change > 0 ? "slower" : "faster",
             steps, skip);
    }
    if (falling != NULL) {
        warn(r, WARNING_NO_STEADY_STATE,
             "no steady state at %s: later steps are faster by %d%% or more; raise "
             "measure.warmupSteps%s",
             falling, (int)lrint(100 * WARMUP_FALL_MIN), skip);
    }
    if (never != NULL) {
        const struct warmup *w = latest(r, never_settles);
        warn(r, WARNING_NO_STEADY_STATE,
             "no steady state at %s: times still change after measured step %zu (%.0f%% %s "
             "before), too late for a warm-up; measure more steps, or find what changes",
             never, w->steps, 100 * fabs(expm1(w->change)), w->change > 0 ? "slower" : "faster");
    }
}

/* Steps follow one another in the measured time, so together they cannot take longer. */
static void lint_time(struct result *r)
{
    if (r->seen.has_backwards) {
        const struct replica_id *id = &r->seen.backwards;
        warn(r, WARNING_NON_MONOTONIC_TIME,
             "time ran backwards: the steps of %s/%u of point %u, trial %u, take %.3f s, more than "
             "the measured %.3f s",
             role_to_string(id->role), id->index, id->attempt.point, id->attempt.trial,
             r->seen.steps_s, r->seen.duration_s);
    }
}

static void lint_slow_nodes(struct result *r)
{
    vec_each (struct node_result, n, &r->nodes) {
        if (node_result_is_slow(n)) {
            warn(r, WARNING_SLOW_NODE,
                 "node '%s' is %.0f%% slower than the others, in %u of %u points by %d%% or more: "
                 "its replicas need that much more time a step",
                 n->name, 100 * n->excess, n->n_slower, n->n_compared, (int)lrint(100 * SPEED_MIN));
        }
    }
}

static void lint_units(struct result *r)
{
    const uint32_t n = r->def->matrix.n_points;
    const struct point_result *first = array_find(r->points, n, p, p->throughput.estimate.known);
    const struct point_result *other = array_find(
        r->points, n, p,
        p->throughput.estimate.known && !str_eq(p->throughput.unit, first->throughput.unit));
    if (other != NULL) {
        warn(r, WARNING_MIXED_UNITS,
             "mixed units: point %u has %s, point %u %s; they are not compared, and what would "
             "divide the one by the other has no speedup",
             first->point->index, first->throughput.unit, other->point->index,
             other->throughput.unit);
    }
}

/* How many there are, and the worst one with what it had; the JSON has the probes of all. */
static void lint_noise(struct result *r)
{
    _cleanup_(noisy_trials_done) struct noisy_trials noisy;
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    noisy_trials_find(r, &noisy);
    const size_t n = noisy.list.len;
    if (n == 0) {
        return;
    }
    noisy_trial_describe(&noisy.list.items[0], &text);
    warn(r, WARNING_NOISY_TRIAL,
         "%zu noisy trial%s %s in the figures, %s%s; run again when nothing else uses the machine "
         "(benchctl describe shows the noise of each trial)",
         n, n == 1 ? "" : "s", n == 1 ? "counts" : "count", n == 1 ? "" : "the worst is ",
         buf_cstr(&text));
}

/* Names the first attempt in the order of points, trials, attempts. */
static void lint_invalid(struct result *r)
{
    const struct attempt_row *first = NULL;
    vec_each (const struct attempt_row *, it, &r->invalid) {
        first = first == NULL || attempt_id_compare(&(*it)->id, &first->id) < 0 ? *it : first;
    }
    if (first == NULL) {
        return;
    }
    _cleanup_(buf_done) struct buf cause = BUF_INIT; /* the store may hold any bytes */
    buf_put_utf8(&cause, first->error == NULL ? "" : first->error, CAUSE_MAX_BYTES);
    warn(r, WARNING_INVALID_TRIAL,
         "%zu attempt%s on a noisy machine %s repeated and count%s in no table: point %u, trial "
         "%u, attempt %u: %s%s",
         r->invalid.len, r->invalid.len == 1 ? "" : "s", r->invalid.len == 1 ? "was" : "were",
         r->invalid.len == 1 ? "s" : "", first->id.point, first->id.trial, first->id.number,
         buf_cstr(&cause), r->invalid.len == 1 ? "" : "; benchctl describe has the others");
}

/* "256 from trainers=1, 512 from trainers=4": each value with the point from which on it holds.
 * Returns how many there are. */
static size_t put_changes(const struct result *r, size_t key, struct buf *out)
{
    const struct point_result *before = NULL;
    size_t n = 0;
    result_each_swept (p, r) {
        if (before == NULL || !machines_are_same(p->machines, before->machines, key)) {
            _cleanup_(freep) char *value = machines_join(p->machines, key);
            buf_printf(out, "%s%s from ", n++ == 0 ? "" : ", ", value);
            params_format(&p->point->params, ",", out);
        }
        before = p;
    }
    return n;
}

/* Some logs say the batch of the job, or the sizes of the model: another one is other work. */
static void lint_work(struct result *r)
{
    _cleanup_(buf_done) struct buf batches = BUF_INIT, work = BUF_INIT;
    if (put_changes(r, MACHINE_BATCH, &batches) > 1) {
        warn(r, WARNING_MIXED_BATCHES,
             "the batch of the job differs: %s; an efficiency compares different work",
             buf_cstr(&batches));
    }
    if (put_changes(r, MACHINE_WORK, &work) > 1) {
        warn(r, WARNING_MIXED_WORK,
             "the logs name different work: %s; these points are not one curve and have no speedup",
             buf_cstr(&work));
    }
}

/* The first line, or else the first witness that is missing. */
static void lint_doubts(struct result *r)
{
    const struct point_result *worst = NULL;
    result_each_swept (p, r) {
        if (p->kept->doubt != NULL && (worst == NULL || p->kept->verdict > worst->kept->verdict)) {
            worst = p;
        }
    }
    if (worst != NULL) {
        warn(r,
             worst->kept->verdict == LOG_VERDICT_DOUBTFUL ? WARNING_DOUBTFUL_LOG
                                                          : WARNING_ONE_WITNESS,
             "the figure of point %u: %s; results --by line shows the lines", worst->point->index,
             worst->kept->doubt);
    }
}

static void lint_counted_warmup(struct result *r)
{
    const struct spec *spec = r->def->spec;
    const struct system *systems = spec->systems.items;
    const struct point_result *p = array_find(
        r->points, r->def->matrix.n_swept, it,
        log_rule_counts_warmup(systems[it->point->system].log) && it->kept->has_step_lines);
    if (p != NULL && spec->warmup_steps > 0) {
        warn(r, WARNING_WARMUP_COUNTED,
             "the figures of %s include the warm-up: its lines have no step number, so "
             "measure.warmupSteps %lld has no effect; %s",
             systems[p->point->system].name, (long long)spec->warmup_steps,
             spec_is_imported(spec)
                 ? "import --write-rule FILE --warmup N writes a rule that leaves them out"
                 : "benchctl try FILE --write finds the number, or adds 'skip: {lines: N}' to the "
                   "rule");
    }
}

/* Returns a node on which two replicas of one device each ran in a trial, or NULL. Borrowed. */
static const char *split_node(const struct point_result *p)
{
    const char *node = NULL;
    point_each_success (t, p) {
        json_auto_t *nodes = json_object();
        trial_each_replica (it, t) {
            const bool trains = it->id.role == point_training_role(p->point);
            const char *own = trains ? it->environment.node : NULL;
            if (own != NULL && json_object_get(nodes, own) != NULL) {
                node = result_node_name(p->of, own);
            } else if (own != NULL) {
                json_object_set_new(nodes, own, json_true());
            }
        }
    }
    return node;
}

static void lint_split_nodes(struct result *r)
{
    const struct point_result *p =
        array_find(r->points, r->def->matrix.n_swept, it, it->kept->split_node != NULL);
    if (p != NULL) {
        warn(r, WARNING_SPLIT_NODE,
             "node '%s' had several pods of one device each at point %u: between pods NCCL cannot "
             "use NVLink, so the figures are lower than the node's; run one pod a node, with all "
             "of its devices",
             p->kept->split_node, p->point->index);
    }
}

static void see_replica(struct lint_seen *seen, const struct replica_row *r)
{
    const double duration_s = (double)replica_summary(r)->duration_ns / 1e9;
    const double throttled_s = (double)replica_summary(r)->throttled_ns / 1e9;
    if (throttled_s > 0 && duration_s > 0) {
        seen->n_throttled++;
        if (throttled_s / duration_s > seen->worst_throttled) {
            seen->worst_throttled = throttled_s / duration_s;
            seen->throttled = r->id;
        }
    }
    /* The time of a log's summary follows from its figure, which may be a median. */
    const bool is_own = replica_summary(r)->source.rule == NULL; /* without a summary, no sum */
    const double sum_s = seen->has_backwards || !is_own ? NAN : replica_steps(r).sum_s;
    if (sum_s > (1 + TIME_SLACK) * duration_s) {
        seen->has_backwards = true;
        seen->backwards = r->id;
        seen->steps_s = sum_s;
        seen->duration_s = duration_s;
    }
}

void result_lint_point(struct result *r, struct point_result *p)
{
    const bool has_one_each =
        p->point->devices > 0 && p->point->devices == point_training_replicas(p->point);
    point_each_replica (it, p) {
        see_replica(&r->seen, it);
    }
    p->kept->p_of_fall = warmup_p_of_fall(p);
    /* In pods. Processes of one machine reach each other's GPUs. */
    p->kept->split_node = r->def->cpus > 0 || !has_one_each ? NULL : split_node(p);
}

#define FIND(code, name, find) find,
static void (*const rules[])(struct result *r) = {WARNINGS(FIND)};

void result_lint(struct result *r)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        if (rules[i] != NULL) {
            rules[i](r);
        }
    }
}
