/* See record_members.h. The order is that of the line. */
#include "core/record_members.h"

static const char *const type_names[] = {
    [RECORD_START] = "start",
    [RECORD_STEP] = "step",
    [RECORD_SUMMARY] = "summary",
    [RECORD_ERROR] = "error",
};
static const char *const scope_names[] = {"replica", "job"};
const char *const summary_unit_names[SUMMARY_UNIT_COUNT] = {
    [UNIT_SAMPLES] = "samples", [UNIT_STEPS] = "steps",
    [UNIT_WORDS] = "words",     [UNIT_TOKENS] = "tokens",
    [UNIT_GB] = "GB",           [UNIT_RUNS] = "runs",
    [UNIT_IMAGES] = "images",   [UNIT_SEQUENCES] = "sequences",
};

/* clang-format off */
static const struct record_member head[] = {
    {"type", MEMBER_WORD, true, AT(record, type), .words = type_names, .n_words = 4},
    {"role", MEMBER_WORD, true, AT(record, who.role), .words = role_names, .n_words = ROLE_COUNT},
    {"index", MEMBER_32, true, AT(record, who.index)},
    {"attempt", MEMBER_32, true, AT(record, who.attempt)},
};
const struct record_members record_head_members = MEMBERS(head, NULL);

#define PHASE(name, phase) [phase] = {name, MEMBER_TIME, false, .offset = (phase) * sizeof(int64_t)}
static const struct record_member phases[PHASE_COUNT] = {
    PHASE("data", PHASE_DATA), PHASE("forward", PHASE_FORWARD), PHASE("backward", PHASE_BACKWARD),
    PHASE("send", PHASE_SEND), PHASE("wait", PHASE_WAIT), PHASE("update", PHASE_UPDATE),
    PHASE("receive", PHASE_RECEIVE),
};
static const struct record_members phase_members = MEMBERS(phases, NULL);

static const struct record_member start[] = {
    {"environment", MEMBER_TREE, true, AT(record_start, environment)},
};
static const struct record_member step[] = {
    {"step", MEMBER_32, true, AT(record_step, step)},
    {"warmup", MEMBER_FLAG, false, AT(record_step, warmup), IF(record_step, warmup)},
    {"t_ns", MEMBER_TIME, true, AT(record_step, t_ns)},
    {"step_ns", MEMBER_TIME, true, AT(record_step, step_ns)},
    {"samples", MEMBER_32, true, AT(record_step, samples)},
    {"loss", MEMBER_NUMBER, false, AT(record_step, loss)},
    {"phase_ns", MEMBER_OBJECT, false, AT(record_step, phase_ns), .members = &phase_members},
    {"bytes_tx", MEMBER_COUNT, false, AT(record_step, bytes_tx)},
    {"bytes_rx", MEMBER_COUNT, false, AT(record_step, bytes_rx)},
};
static const struct record_member error[] = {
    {"code", MEMBER_32, true, AT(record_error, code), .most = 255},
    {"peer", MEMBER_TEXT, false, AT(record_error, peer)},
    {"message", MEMBER_TEXT, true, AT(record_error, message)},
};

static const struct record_member source[] = {
    {"rule", MEMBER_NAME, true, AT(summary_source, rule), .most = SUMMARY_RULE_SIZE - 1},
    {"method", MEMBER_NAME, true, AT(summary_source, method), .most = SUMMARY_METHOD_SIZE - 1},
    {"unit", MEMBER_WORD, true, AT(summary_source, unit), .words = summary_unit_names, .n_words = SUMMARY_UNIT_COUNT},
    {"scope", MEMBER_WORD, true, AT(summary_source, is_job), .words = scope_names, .n_words = 2},
    {"accuracy_last", MEMBER_NUMBER, false, AT(summary_source, accuracy_last)},
};
static const struct record_members source_members = MEMBERS(source, NULL);

static const struct record_member evaluations[] = {
    {"k", MEMBER_32, true, AT(evaluations, k), .least = 1},
    {"end_ms", MEMBER_TIME, true, AT(evaluations, end_ms), .most = EVALUATION_MAX_MS},
};
const struct record_members record_evaluations_members = MEMBERS(evaluations, NULL);

static const struct record_member last[] = {
    {"trainer", MEMBER_32, true, AT(summary_last, trainer)},
    {"steps", MEMBER_32, true, AT(summary_last, steps)},
    {"wait_ns", MEMBER_TIME, true, AT(summary_last, wait_ns)},
};
static const struct record_members last_members = MEMBERS(last, NULL);

static const struct record_member staleness[] = {
    {"slices", MEMBER_COUNT, true, AT(summary_staleness, slices)},
    {"mean", MEMBER_NUMBER, false, AT(summary_staleness, mean)},
    {"max", MEMBER_COUNT, true, AT(summary_staleness, max)},
};
static int check_staleness(const json_t *object, const void *read, struct err *err)
{
    const struct summary_staleness *s = read;
    (void)object;
    return s->mean >= 0 ? 0 : err_set(err, EPROTO, "'mean' must be a number, 0 or more");
}
static const struct record_members staleness_members = MEMBERS(staleness, check_staleness);

static const struct record_member probe[] = {
    {"spins_per_s", MEMBER_COUNT, true, AT(noise_probe, spins_per_s)},
    {"copy_bytes_per_s", MEMBER_COUNT, true, AT(noise_probe, copy_bytes_per_s)},
    {"flops_per_s", MEMBER_COUNT, false, AT(noise_probe, flops_per_s), IF(noise_probe, flops_per_s)},
};
static const struct record_members probe_members = MEMBERS(probe, NULL);

static const struct record_member noise[] = {
    {"before", MEMBER_OBJECT, false, AT(noise, before), IF(noise, before.spins_per_s), .members = &probe_members},
    {"after", MEMBER_OBJECT, false, AT(noise, after), IF(noise, after.spins_per_s), .members = &probe_members},
    {"busy_ns", MEMBER_TIME, false, AT(noise, busy_ns), IF(noise, busy_ns)},
    {"steal_ns", MEMBER_TIME, false, AT(noise, steal_ns), IF(noise, busy_ns)},
    {"cpu_run_ns", MEMBER_TIME, false, AT(noise, cpu_run_ns), IF(noise, cpu_run_ns)},
    {"cpu_wait_ns", MEMBER_TIME, false, AT(noise, cpu_wait_ns), IF(noise, cpu_run_ns)},
    {"launcher", MEMBER_FLAG, false, AT(noise, by_launcher), IF(noise, by_launcher)},
};
static int check_noise(const json_t *object, const void *read, struct err *err)
{
    const struct noise *n = read;
    if (n->steal_ns > n->busy_ns) {
        return err_set(err, EPROTO, "'steal_ns' is more than 'busy_ns'");
    }
    if (n->cpu_run_ns == 0 && n->cpu_wait_ns > 0) {
        return err_set(err, EPROTO, "'cpu_wait_ns' needs a 'cpu_run_ns' above 0");
    }
    return n->cpu_run_ns == 0 || object == NULL || json_object_get(object, "cpu_wait_ns") != NULL
               ? 0
               : err_set(err, EPROTO, "'cpu_wait_ns' is missing");
}
const struct record_members record_noise_members = MEMBERS(noise, check_noise);

static const struct record_member series[] = {
    {"k", MEMBER_32, true, AT(series, k), .least = 1},
    {"n", MEMBER_32, true, AT(series, n), .least = 1, .most = SERIES_MAX},
    /* the codes of all int64 nanoseconds are far within */
    {"min", MEMBER_32, true, AT(series, min), .least = -(1 << 20), .most = 1 << 20},
    {"data", MEMBER_SERIES, true},
};
static const struct record_members series_members = MEMBERS(series, NULL);

static const struct record_member summary[] = {
    {"samples", MEMBER_COUNT, true, AT(summary, samples)},
    {"duration_ns", MEMBER_TIME, true, AT(summary, duration_ns)},
    {"steps", MEMBER_32, true, AT(summary, steps)},
    {"phase_ns", MEMBER_OBJECT, false, AT(summary, phase_ns), .members = &phase_members},
    {"bytes_tx", MEMBER_COUNT, false, AT(summary, bytes_tx)},
    {"bytes_rx", MEMBER_COUNT, false, AT(summary, bytes_rx)},
    {"loss_first", MEMBER_NUMBER, false, AT(summary, loss_first)},
    {"loss_last", MEMBER_NUMBER, false, AT(summary, loss_last)},
    {"throttled_ns", MEMBER_TIME, false, AT(summary, throttled_ns)},
    {"throttled_periods", MEMBER_COUNT, false, AT(summary, throttled_periods)},
    {"max_rss_bytes", MEMBER_COUNT, false, AT(summary, max_rss_bytes)},
    {"cpu_ns", MEMBER_TIME, false, AT(summary, cpu_ns), IF(summary, cpu_ns)},
    {"environment_digest", MEMBER_DIGEST, false, AT(summary, environment_digest)},
    {"log", MEMBER_OBJECT, false, AT(summary, source), IF(summary, source.rule), .members = &source_members},
    {"evaluations", MEMBER_EVALUATIONS, false, AT(summary, evaluations), IF(summary, evaluations)},
    {"metrics", MEMBER_METRICS, false, AT(summary, metrics), IF(summary, metrics.list.len)},
    {"last", MEMBER_OBJECT, false, AT(summary, last), IF(summary, last.steps), .members = &last_members},
    {"staleness", MEMBER_OBJECT, false, AT(summary, staleness), IF(summary, staleness.slices), .members = &staleness_members},
    {"noise", MEMBER_OBJECT, false, AT(summary, noise), .members = &record_noise_members},
    {"transport", MEMBER_WORD, false, AT(summary, transport), IF(summary, transport), .words = exchange_transport_names, .n_words = EXCHANGE_TRANSPORT_COUNT, .least = EXCHANGE_TRANSPORT_TCP},
    {"series", MEMBER_OBJECT, false, AT(summary, series), IF(summary, series.n), .members = &series_members},
};
/* clang-format on */

const struct record_members *const record_type_members[] = {
    [RECORD_START] = &(const struct record_members)MEMBERS(start, NULL),
    [RECORD_STEP] = &(const struct record_members)MEMBERS(step, NULL),
    [RECORD_SUMMARY] = &(const struct record_members)MEMBERS(summary, NULL),
    [RECORD_ERROR] = &(const struct record_members)MEMBERS(error, NULL),
};

const char *phase_to_string(enum phase phase)
{
    return phases[phase].key;
}
