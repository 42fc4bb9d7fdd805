/* See result_dump.h. Each struct has a list of all its fields in their order. The list makes an
 * initialiser without names as well, in which a missing field is an error of the compiler, even
 * where it hides in padding. */
#include "result_dump.h"

#pragma GCC diagnostic error "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wmissing-braces" /* of zeroes */

/* What a field is: how it is written, and how a zero of it looks in an initialiser. */
#define DUMP(kind, name) DUMP_##kind(name)
#define ZERO(kind, name) ZERO_##kind,

#define DUMP_INT(name) buf_printf(out, " " #name "=%lld", (long long)it->name);
#define ZERO_INT 0
#define DUMP_REAL(name) buf_printf(out, " " #name "=%a", it->name);
#define ZERO_REAL 0
#define DUMP_TEXT(name) buf_printf(out, " " #name "=%s", it->name == NULL ? "(none)" : it->name);
#define ZERO_TEXT NULL
#define DUMP_INTS(name)                                                                            \
    for (size_t k = 0; k < sizeof(it->name) / sizeof(it->name[0]); k++) {                          \
        buf_printf(out, " " #name "[%zu]=%lld", k, (long long)it->name[k]);                        \
    }
#define ZERO_INTS                                                                                  \
    {                                                                                              \
        0                                                                                          \
    }
#define DUMP_REALS(name)                                                                           \
    for (size_t k = 0; k < sizeof(it->name) / sizeof(it->name[0]); k++) {                          \
        buf_printf(out, " " #name "[%zu]=%a", k, it->name[k]);                                     \
    }
#define ZERO_REALS ZERO_INTS
/* A pointer or a list whose content is written by who knows how long it is, or that is not kept. */
#define DUMP_POINTER(name)
#define ZERO_POINTER NULL
#define DUMP_LIST(name)
#define ZERO_LIST                                                                                  \
    {                                                                                              \
        0                                                                                          \
    }
#define DUMP_NOT_KEPT(name)
#define ZERO_NOT_KEPT NULL

#define STRUCT(type, FIELDS)                                                                       \
    static void dump_##type(struct buf *out, const struct type *it)                                \
    {                                                                                              \
        static const struct type all_fields = {FIELDS(ZERO)};                                      \
        (void)all_fields;                                                                          \
        FIELDS(DUMP)                                                                               \
    }
#define INNER(type, name)                                                                          \
    buf_puts(out, " " #name "{");                                                                  \
    dump_##type(out, &it->name);                                                                   \
    buf_puts(out, "}");

/* ---- parts ---- */

#define CONTRAST(F)                                                                                \
    F(REAL, value)                                                                                 \
    F(REAL, variance)                                                                              \
    F(REAL, df) F(INT, is_staged) F(REAL, common) F(REAL, common_df) F(REAL, scale)
STRUCT(contrast, CONTRAST)
#define DUMP_contrast(name) INNER(contrast, name)
#define ZERO_contrast                                                                              \
    {                                                                                              \
        0                                                                                          \
    }

#define ESTIMATE(F)                                                                                \
    F(INT, known)                                                                                  \
    F(REAL, value) F(INT, has_interval) F(REAL, low) F(REAL, high) F(INT, method) F(contrast, logs)
STRUCT(estimate, ESTIMATE)
#define DUMP_estimate(name) INNER(estimate, name)
#define ZERO_estimate                                                                              \
    {                                                                                              \
        0                                                                                          \
    }

#define FIGURE(F) F(estimate, estimate) F(TEXT, unit) F(TEXT, scope) F(INT, batch)
STRUCT(figure, FIGURE)
#define DUMP_figure(name) INNER(figure, name)
#define ZERO_figure                                                                                \
    {                                                                                              \
        {0}, NULL, NULL, 0                                                                         \
    }

#define SUMMARY_SOURCE(F)                                                                          \
    F(TEXT, rule) F(TEXT, method) F(INT, unit) F(INT, is_job) F(REAL, accuracy_last)
STRUCT(summary_source, SUMMARY_SOURCE)
#define DUMP_summary_source(name) INNER(summary_source, name)
#define ZERO_summary_source                                                                        \
    {                                                                                              \
        NULL, NULL, 0, 0, 0                                                                        \
    }

#define SUMMARY_LAST(F) F(INT, trainer) F(INT, steps) F(INT, wait_ns)
STRUCT(summary_last, SUMMARY_LAST)
#define DUMP_summary_last(name) INNER(summary_last, name)
#define ZERO_summary_last                                                                          \
    {                                                                                              \
        0                                                                                          \
    }

#define SUMMARY_STALENESS(F) F(INT, slices) F(REAL, mean) F(INT, max)
STRUCT(summary_staleness, SUMMARY_STALENESS)
#define DUMP_summary_staleness(name) INNER(summary_staleness, name)
#define ZERO_summary_staleness                                                                     \
    {                                                                                              \
        0                                                                                          \
    }

#define NOISE_PROBE(F) F(INT, spins_per_s) F(INT, copy_bytes_per_s) F(INT, flops_per_s)
STRUCT(noise_probe, NOISE_PROBE)
#define DUMP_noise_probe(name) INNER(noise_probe, name)
#define ZERO_noise_probe                                                                           \
    {                                                                                              \
        0                                                                                          \
    }

#define NOISE(F)                                                                                   \
    F(noise_probe, before)                                                                         \
    F(noise_probe, after)                                                                          \
    F(INT, busy_ns) F(INT, steal_ns) F(INT, cpu_run_ns) F(INT, cpu_wait_ns) F(INT, by_launcher)
STRUCT(noise, NOISE)
#define DUMP_noise(name) INNER(noise, name)
#define ZERO_noise                                                                                 \
    {                                                                                              \
        {0}, {0}, 0, 0, 0, 0, 0                                                                    \
    }

#define SUMMARY(F)                                                                                 \
    F(INT, samples)                                                                                \
    F(INT, duration_ns)                                                                            \
    F(INT, steps)                                                                                  \
    F(INTS, phase_ns)                                                                              \
    F(INT, bytes_tx)                                                                               \
    F(INT, bytes_rx)                                                                               \
    F(REAL, loss_first)                                                                            \
    F(REAL, loss_last)                                                                             \
    F(INT, throttled_ns)                                                                           \
    F(INT, throttled_periods)                                                                      \
    F(INT, max_rss_bytes)                                                                          \
    F(INT, cpu_ns)                                                                                 \
    F(NOT_KEPT, environment_digest)                                                                \
    F(INT, series_k)                                                                               \
    F(INT, n_series)                                                                               \
    F(POINTER, series_us)                                                                          \
    F(summary_source, source)                                                                      \
    F(POINTER, evaluations)                                                                        \
    F(LIST, metrics)                                                                               \
    F(summary_last, last)                                                                          \
    F(summary_staleness, staleness) F(noise, noise) F(INT, transport)
STRUCT(summary, SUMMARY)
#define DUMP_summary(name) INNER(summary, name)
#define ZERO_summary                                                                               \
    {                                                                                              \
        .steps = 0                                                                                 \
    }

#define STEP_TIMES(F) F(REAL, sum_s) F(REAL, fall)
STRUCT(step_times, STEP_TIMES)
#define DUMP_step_times(name) INNER(step_times, name)
#define ZERO_step_times                                                                            \
    {                                                                                              \
        0, 0                                                                                       \
    }

#define REPLICA_SPEED(F) F(INT, kind) F(REAL, step_ns)
STRUCT(replica_speed, REPLICA_SPEED)
#define DUMP_replica_speed(name) INNER(replica_speed, name)
#define ZERO_replica_speed                                                                         \
    {                                                                                              \
        0                                                                                          \
    }

#define STEP_SERIES(F) F(POINTER, us) F(INT, n) F(INT, k)
STRUCT(step_series, STEP_SERIES)
#define DUMP_step_series(name) INNER(step_series, name)
#define ZERO_step_series                                                                           \
    {                                                                                              \
        0                                                                                          \
    }

#define TIME_TO_ACCURACY(F) F(INT, state) F(REAL, s) F(REAL, best)
STRUCT(time_to_accuracy, TIME_TO_ACCURACY)
#define DUMP_time_to_accuracy(name) INNER(time_to_accuracy, name)
#define ZERO_time_to_accuracy                                                                      \
    {                                                                                              \
        0                                                                                          \
    }

#define ACCURACY_AFTER(F) F(INT, state) F(REAL, accuracy)
STRUCT(accuracy_after, ACCURACY_AFTER)
#define DUMP_accuracy_after(name) INNER(accuracy_after, name)
#define ZERO_accuracy_after                                                                        \
    {                                                                                              \
        0                                                                                          \
    }

/* ---- rows ---- */

#define ATTEMPT_ID(F) F(INT, point) F(INT, trial) F(INT, number)
STRUCT(attempt_id, ATTEMPT_ID)
#define DUMP_attempt_id(name) INNER(attempt_id, name)
#define ZERO_attempt_id                                                                            \
    {                                                                                              \
        0                                                                                          \
    }

#define REPLICA_ID(F) F(attempt_id, attempt) F(INT, role) F(INT, index)
STRUCT(replica_id, REPLICA_ID)
#define DUMP_replica_id(name) INNER(replica_id, name)
#define ZERO_replica_id                                                                            \
    {                                                                                              \
        {0}, 0, 0                                                                                  \
    }

#define REPLICA_ROW(F)                                                                             \
    F(replica_id, id)                                                                              \
    F(INT, exit_code)                                                                              \
    F(INT, signal)                                                                                 \
    F(TEXT, failure)                                                                               \
    F(POINTER, summary_json)                                                                       \
    F(POINTER, environment_json) /* texts: not kept */                                             \
    F(POINTER, reading_json) F(INT, log_bytes)
STRUCT(replica_row, REPLICA_ROW)

#define ATTEMPT_ROW(F)                                                                             \
    F(attempt_id, id)                                                                              \
    F(INT, outcome)                                                                                \
    F(INT, started_unix_ms)                                                                        \
    F(INT, ended_unix_ms) F(TEXT, error) F(INT, simulated) F(LIST, replicas)
STRUCT(attempt_row, ATTEMPT_ROW)

/* ---- results ---- */

#define REPLICA_RESULT(F)                                                                          \
    F(POINTER, row)                                                                                \
    F(INT, has_summary)                                                                            \
    F(summary, summary)                                                                            \
    F(step_times, steps)                                                                           \
    F(replica_speed, speed) F(NOT_KEPT, environment) F(TEXT, node) F(INT, hardware) F(TEXT, doubt)
STRUCT(replica_result, REPLICA_RESULT)

#define TRIAL_RESULT(F)                                                                            \
    F(INT, trial)                                                                                  \
    F(INT, attempt)                                                                                \
    F(INT, has_ended)                                                                              \
    F(INT, outcome)                                                                                \
    F(INT, phase)                                                                                  \
    F(REAL, throughput)                                                                            \
    F(TEXT, unit)                                                                                  \
    F(INT, batch)                                                                                  \
    F(TEXT, error)                                                                                 \
    F(TEXT, details)                                                                               \
    F(POINTER, row)                                                                                \
    F(POINTER, replicas)                                                                           \
    F(INT, n_replicas)                                                                             \
    F(step_series, steps)                                                                          \
    F(REAL, others_share)                                                                          \
    F(REAL, cpus)                                                                                  \
    F(LIST, metrics)                                                                               \
    F(time_to_accuracy, to_accuracy)                                                               \
    F(accuracy_after, after) F(POINTER, noise) F(INT, evaluations_k) F(INT, evaluations_from)
STRUCT(trial_result, TRIAL_RESULT)

#define WARMUP(F) F(INT, state) F(INT, steps) F(REAL, change)
STRUCT(warmup, WARMUP)
#define DUMP_warmup(name) INNER(warmup, name)
#define ZERO_warmup                                                                                \
    {                                                                                              \
        0                                                                                          \
    }

#define STEP_MEANS(F) F(REALS, phase_ns) F(REAL, step_ns) F(INT, n_replicas)
STRUCT(step_means, STEP_MEANS)
#define DUMP_step_means(name) INNER(step_means, name)
#define ZERO_step_means                                                                            \
    {                                                                                              \
        {0}, 0, 0                                                                                  \
    }

#define POINT_KEPT(F)                                                                              \
    F(figure, efficiency_per_pod)                                                                  \
    F(figure, efficiency_per_cpu)                                                                  \
    F(warmup, warmup)                                                                              \
    F(step_means, steps)                                                                           \
    F(INT, has_step_lines)                                                                         \
    F(INT, has_log)                                                                                \
    F(INT, has_staleness) F(TEXT, doubt) F(REAL, p_of_fall) F(TEXT, split_node)
STRUCT(point_kept, POINT_KEPT)

#define POINT_GOAL(F)                                                                              \
    F(figure, time_to_accuracy)                                                                    \
    F(figure, time_speedup)                                                                        \
    F(figure, time_efficiency) F(figure, time_cost) F(figure, accuracy_after_time)
STRUCT(point_goal, POINT_GOAL)

#define POINT_RESULT(F)                                                                            \
    F(POINTER, point)                                                                              \
    F(POINTER, of)                                                                                 \
    F(INT, phase)                                                                                  \
    F(figure, throughput)                                                                          \
    F(figure, speedup)                                                                             \
    F(figure, efficiency)                                                                          \
    F(POINTER, goal)                                                                               \
    F(POINTER, kept)                                                                               \
    F(INT, n_reached)                                                                              \
    F(INT, n_after)                                                                                \
    F(REAL, cpus)                                                                                  \
    F(REAL, throughput_min)                                                                        \
    F(REAL, throughput_max)                                                                        \
    F(LIST, metrics)                                                                               \
    F(POINTER, trials)                                                                             \
    F(INT, n_trials)                                                                               \
    F(INT, n_succeeded)                                                                            \
    F(INT, n_required) F(POINTER, machines)
STRUCT(point_result, POINT_RESULT)

#define THRESHOLD_RESULT(F)                                                                        \
    F(POINTER, threshold) F(INT, point) F(estimate, estimate) F(INT, verdict)
STRUCT(threshold_result, THRESHOLD_RESULT)

#define HARDWARE(F)                                                                                \
    F(TEXT, cpu_model)                                                                             \
    F(TEXT, blas_core)                                                                             \
    F(TEXT, kernel) F(TEXT, build) F(TEXT, source) F(INT, n_replicas) F(LIST, of_system)
STRUCT(hardware, HARDWARE)

#define PAIR_EFFECT(F) F(INT, n_pairs) F(estimate, ratio) F(REAL, p)
STRUCT(pair_effect, PAIR_EFFECT)
#define DUMP_pair_effect(name) INNER(pair_effect, name)
#define ZERO_pair_effect                                                                           \
    {                                                                                              \
        0                                                                                          \
    }

#define NODE_RESULT(F)                                                                             \
    F(TEXT, name)                                                                                  \
    F(TEXT, cpu_model)                                                                             \
    F(INT, n_replicas)                                                                             \
    F(INT, n_points)                                                                               \
    F(INT, n_compared)                                                                             \
    F(INT, n_slower)                                                                               \
    F(REAL, excess)                                                                                \
    F(REAL, p) F(REAL, throttled_s) F(REAL, measured_s) F(pair_effect, pairs) F(LIST, walk)
STRUCT(node_result, NODE_RESULT)

#define SLOW_REPLICA(F)                                                                            \
    F(INT, point)                                                                                  \
    F(replica_id, id)                                                                              \
    F(TEXT, node)                                                                                  \
    F(INT, by) F(REAL, excess) F(REAL, spread) F(INT, n_others) F(INT, n_slow) F(INT, n_trials)
STRUCT(slow_replica, SLOW_REPLICA)

#define WARNING(F) F(INT, code) F(TEXT, message)
STRUCT(warning, WARNING)

#define RESULT(F)                                                                                  \
    F(POINTER, def)                                                                                \
    F(POINTER, source)                                                                             \
    F(INT, phase)                                                                                  \
    F(INT, simulated)                                                                              \
    F(TEXT, price)                                                                                 \
    F(POINTER, points)                                                                             \
    F(POINTER, goals)                                                                              \
    F(POINTER, kept)                                                                               \
    F(LIST, machines)                                                                              \
    F(LIST, thresholds)                                                                            \
    F(LIST, skipped)                                                                               \
    F(LIST, hardware)                                                                              \
    F(LIST, nodes)                                                                                 \
    F(LIST, pairs)                                                                                 \
    F(LIST, slow)                                                                                  \
    F(LIST, curves) F(LIST, invalid) F(LIST, seen) F(LIST, warnings)
STRUCT(result, RESULT)

/* ---- the whole ---- */

static void dump_trial(struct buf *out, const struct trial_result *t)
{
    buf_puts(out, "\n trial");
    dump_trial_result(out, t);
    for (size_t i = 0; i < t->steps.n; i++) {
        buf_printf(out, " %a", t->steps.us[i]);
    }
    vec_each (const struct metric_value, m, &t->metrics.list) {
        buf_printf(out, " %s=%a", m->name, m->value);
    }
    if (t->row != NULL) {
        buf_puts(out, "\n  row");
        dump_attempt_row(out, t->row);
    }
    for (size_t i = 0; i < t->n_replicas; i++) {
        buf_puts(out, "\n  replica");
        dump_replica_result(out, &t->replicas[i]);
        buf_puts(out, "\n  its row");
        dump_replica_row(out, t->replicas[i].row);
    }
}

static void dump_point(struct buf *out, const struct result *r, uint32_t i)
{
    const struct point_result *p = &r->points[i];
    buf_printf(out, "\npoint %u of %d", i, p->point == &r->def->matrix.points[i]);
    dump_point_result(out, p);
    dump_point_goal(out, p->goal);
    if (p->kept != NULL) {
        dump_point_kept(out, p->kept);
    }
    for (size_t k = 0; k < MACHINE_KEY_COUNT; k++) {
        vec_each (char *const, text, &p->machines->values[k].list) {
            buf_printf(out, " %s=%s", machine_key_name(k), *text);
        }
    }
    for (size_t k = 0; k < p->n_trials; k++) {
        dump_trial(out, &p->trials[k]);
    }
}

void result_dump(const struct result *r, struct buf *out)
{
    buf_puts(out, "result");
    dump_result(out, r);
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        dump_point(out, r, i);
    }
    vec_each (const struct threshold_result, t, &r->thresholds) {
        buf_printf(out, "\nthreshold %zu", (size_t)(t->threshold - r->def->spec->thresholds.items));
        dump_threshold_result(out, t);
    }
    vec_each (const struct threshold *, t, &r->skipped) {
        buf_printf(out, "\nskipped %zu", (size_t)(*t - r->def->spec->thresholds.items));
    }
    vec_each (const struct hardware, h, &r->hardware) {
        buf_puts(out, "\nhardware");
        dump_hardware(out, h);
    }
    vec_each (const struct node_result, n, &r->nodes) {
        buf_puts(out, "\nnode");
        dump_node_result(out, n);
    }
    vec_each (const struct slow_replica, s, &r->slow) {
        buf_puts(out, "\nslow");
        dump_slow_replica(out, s);
    }
    vec_each (const struct attempt_row *const, row, &r->invalid) {
        buf_puts(out, "\ninvalid");
        dump_attempt_row(out, *row);
    }
    vec_each (const struct warning, w, &r->warnings) {
        buf_puts(out, "\nwarning");
        dump_warning(out, w);
    }
    buf_puts(out, "\n");
}
