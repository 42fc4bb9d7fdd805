/* See record_internal.h. The order is that of the line. */
#include "core/record_internal.h"

#define MEMBER(type, member)                                                                       \
    .offset = offsetof(struct type, member), .size = sizeof(((struct type *)NULL)->member)
#define IF(type, member) .guard = {MEMBER(type, member)}
#define FIELDS(list, ...)                                                                          \
    {                                                                                              \
        list, sizeof(list) / sizeof((list)[0]), __VA_ARGS__                                        \
    }

static const char *const type_names[] = {
    [RECORD_START] = "start",
    [RECORD_STEP] = "step",
    [RECORD_SUMMARY] = "summary",
    [RECORD_ERROR] = "error",
};
static const char *const scope_names[] = {"replica", "job"};
const char *const summary_unit_names[SUMMARY_UNIT_COUNT] = {
    [UNIT_SAMPLES] = "samples", [UNIT_STEPS] = "steps", [UNIT_WORDS] = "words",
    [UNIT_TOKENS] = "tokens",   [UNIT_GB] = "GB",       [UNIT_RUNS] = "runs",
};

/* clang-format off */
static const struct field head[] = {
    {"type", FIELD_WORD, true, MEMBER(record, type), .words = type_names, .n_words = 4},
    {"role", FIELD_WORD, true, MEMBER(record, who.role), .words = role_names, .n_words = ROLE_COUNT},
    {"index", FIELD_32, true, MEMBER(record, who.index)},
    {"attempt", FIELD_32, true, MEMBER(record, who.attempt)},
};
const struct fields record_head_fields = FIELDS(head, NULL);

#define PHASE(name, phase) [phase] = {name, FIELD_TIME, false, .offset = (phase) * sizeof(int64_t)}
static const struct field phases[PHASE_COUNT] = {
    PHASE("data", PHASE_DATA), PHASE("forward", PHASE_FORWARD), PHASE("backward", PHASE_BACKWARD),
    PHASE("send", PHASE_SEND), PHASE("wait", PHASE_WAIT), PHASE("update", PHASE_UPDATE),
    PHASE("receive", PHASE_RECEIVE),
};
static const struct fields phase_fields = FIELDS(phases, NULL);

static const struct field start[] = {
    {"environment", FIELD_TREE, true, MEMBER(record_start, environment)},
};
static const struct field step[] = {
    {"step", FIELD_32, true, MEMBER(record_step, step)},
    {"warmup", FIELD_FLAG, false, MEMBER(record_step, warmup), IF(record_step, warmup)},
    {"t_ns", FIELD_TIME, true, MEMBER(record_step, t_ns)},
    {"step_ns", FIELD_TIME, true, MEMBER(record_step, step_ns)},
    {"samples", FIELD_32, true, MEMBER(record_step, samples)},
    {"loss", FIELD_NUMBER, false, MEMBER(record_step, loss)},
    {"phase_ns", FIELD_OBJECT, false, MEMBER(record_step, phase_ns), .fields = &phase_fields},
    {"bytes_tx", FIELD_COUNT, false, MEMBER(record_step, bytes_tx)},
    {"bytes_rx", FIELD_COUNT, false, MEMBER(record_step, bytes_rx)},
};
static const struct field error[] = {
    {"code", FIELD_32, true, MEMBER(record_error, code), .most = 255},
    {"peer", FIELD_TEXT, false, MEMBER(record_error, peer)},
    {"message", FIELD_TEXT, true, MEMBER(record_error, message)},
};

static const struct field source[] = {
    {"rule", FIELD_NAME, true, MEMBER(summary_source, rule), .most = SUMMARY_RULE_SIZE - 1},
    {"method", FIELD_NAME, true, MEMBER(summary_source, method), .most = SUMMARY_METHOD_SIZE - 1},
    {"unit", FIELD_WORD, true, MEMBER(summary_source, unit), .words = summary_unit_names, .n_words = SUMMARY_UNIT_COUNT},
    {"scope", FIELD_WORD, true, MEMBER(summary_source, is_job), .words = scope_names, .n_words = 2},
    {"accuracy_last", FIELD_NUMBER, false, MEMBER(summary_source, accuracy_last)},
};
static const struct fields source_fields = FIELDS(source, NULL);

static const struct field evaluations[] = {
    {"k", FIELD_32, true, MEMBER(evaluations, k), .least = 1},
    {"end_ms", FIELD_TIME, true, MEMBER(evaluations, end_ms), .most = EVALUATION_MAX_MS},
};
const struct fields record_evaluations_fields = FIELDS(evaluations, NULL);

static const struct field last[] = {
    {"trainer", FIELD_32, true, MEMBER(summary_last, trainer)},
    {"steps", FIELD_32, true, MEMBER(summary_last, steps)},
    {"wait_ns", FIELD_TIME, true, MEMBER(summary_last, wait_ns)},
};
static const struct fields last_fields = FIELDS(last, NULL);

static const struct field staleness[] = {
    {"slices", FIELD_COUNT, true, MEMBER(summary_staleness, slices)},
    {"mean", FIELD_NUMBER, false, MEMBER(summary_staleness, mean)},
    {"max", FIELD_COUNT, true, MEMBER(summary_staleness, max)},
};
static int check_staleness(const json_t *object, const void *read, struct err *err)
{
    const struct summary_staleness *s = read;
    (void)object;
    return s->mean >= 0 ? 0 : err_set(err, EPROTO, "'mean' must be a number, 0 or more");
}
static const struct fields staleness_fields = FIELDS(staleness, check_staleness);

static const struct field late[] = {
    {"slices", FIELD_COUNT, true, MEMBER(summary_late, slices)},
    {"dropped", FIELD_COUNT, true, MEMBER(summary_late, dropped)},
    {"trainer", FIELD_32, true, MEMBER(summary_late, trainer)},
    {"most", FIELD_COUNT, true, MEMBER(summary_late, most)},
};
static int check_late(const json_t *object, const void *read, struct err *err)
{
    const struct summary_late *s = read;
    (void)object;
    return s->dropped <= s->slices && s->most <= s->dropped
               ? 0
               : err_set(err, EPROTO, "'most' is a part of 'dropped', and that of 'slices'");
}
static const struct fields late_fields = FIELDS(late, check_late);

static const struct field probe[] = {
    {"spins_per_s", FIELD_COUNT, true, MEMBER(noise_probe, spins_per_s)},
    {"copy_bytes_per_s", FIELD_COUNT, true, MEMBER(noise_probe, copy_bytes_per_s)},
};
static const struct fields probe_fields = FIELDS(probe, NULL);

static const struct field noise[] = {
    {"before", FIELD_OBJECT, false, MEMBER(noise, before), IF(noise, before.spins_per_s), .fields = &probe_fields},
    {"after", FIELD_OBJECT, false, MEMBER(noise, after), IF(noise, after.spins_per_s), .fields = &probe_fields},
    {"busy_ns", FIELD_TIME, false, MEMBER(noise, busy_ns), IF(noise, busy_ns)},
    {"steal_ns", FIELD_TIME, false, MEMBER(noise, steal_ns), IF(noise, busy_ns)},
    {"cpu_run_ns", FIELD_TIME, false, MEMBER(noise, cpu_run_ns), IF(noise, cpu_run_ns)},
    {"cpu_wait_ns", FIELD_TIME, false, MEMBER(noise, cpu_wait_ns), IF(noise, cpu_run_ns)},
    {"launcher", FIELD_FLAG, false, MEMBER(noise, by_launcher), IF(noise, by_launcher)},
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
    return n->cpu_run_ns == 0 || json_object_get(object, "cpu_wait_ns") != NULL
               ? 0
               : err_set(err, EPROTO, "'cpu_wait_ns' is missing");
}
const struct fields record_noise_fields = FIELDS(noise, check_noise);

static const struct field series[] = {
    {"k", FIELD_32, true, MEMBER(series_text, series.k), .least = 1},
    {"n", FIELD_32, true, MEMBER(series_text, series.n), .least = 1, .most = SERIES_MAX},
    /* the codes of all int64 nanoseconds are far within */
    {"min", FIELD_32, true, MEMBER(series_text, series.min), .least = -(1 << 20), .most = 1 << 20},
    {"data", FIELD_TEXT, true, MEMBER(series_text, data)},
};
const struct fields record_series_fields = FIELDS(series, NULL);

static const struct field summary[] = {
    {"samples", FIELD_COUNT, true, MEMBER(summary, samples)},
    {"duration_ns", FIELD_TIME, true, MEMBER(summary, duration_ns)},
    {"steps", FIELD_32, true, MEMBER(summary, steps)},
    {"phase_ns", FIELD_OBJECT, false, MEMBER(summary, phase_ns), .fields = &phase_fields},
    {"bytes_tx", FIELD_COUNT, false, MEMBER(summary, bytes_tx)},
    {"bytes_rx", FIELD_COUNT, false, MEMBER(summary, bytes_rx)},
    {"loss_first", FIELD_NUMBER, false, MEMBER(summary, loss_first)},
    {"loss_last", FIELD_NUMBER, false, MEMBER(summary, loss_last)},
    {"throttled_ns", FIELD_TIME, false, MEMBER(summary, throttled_ns)},
    {"throttled_periods", FIELD_COUNT, false, MEMBER(summary, throttled_periods)},
    {"max_rss_bytes", FIELD_COUNT, false, MEMBER(summary, max_rss_bytes)},
    {"cpu_ns", FIELD_TIME, false, MEMBER(summary, cpu_ns), IF(summary, cpu_ns)},
    {"environment_digest", FIELD_DIGEST, false, MEMBER(summary, environment_digest)},
    {"log", FIELD_OBJECT, false, MEMBER(summary, source), IF(summary, source.rule), .fields = &source_fields},
    {"evaluations", FIELD_EVALUATIONS, false, MEMBER(summary, evaluations), IF(summary, evaluations)},
    {"last", FIELD_OBJECT, false, MEMBER(summary, last), IF(summary, last.steps), .fields = &last_fields},
    {"staleness", FIELD_OBJECT, false, MEMBER(summary, staleness), IF(summary, staleness.slices), .fields = &staleness_fields},
    {"late", FIELD_OBJECT, false, MEMBER(summary, late), IF(summary, late.slices), .fields = &late_fields},
    {"noise", FIELD_OBJECT, false, MEMBER(summary, noise), .fields = &record_noise_fields},
    {"transport", FIELD_WORD, false, MEMBER(summary, transport), IF(summary, transport), .words = exchange_transport_names, .n_words = EXCHANGE_TRANSPORT_COUNT, .least = EXCHANGE_TRANSPORT_TCP},
    {"series", FIELD_SERIES},
};
/* clang-format on */

const struct fields *const record_type_fields[] = {
    [RECORD_START] = &(const struct fields)FIELDS(start, NULL),
    [RECORD_STEP] = &(const struct fields)FIELDS(step, NULL),
    [RECORD_SUMMARY] = &(const struct fields)FIELDS(summary, NULL),
    [RECORD_ERROR] = &(const struct fields)FIELDS(error, NULL),
};

const char *phase_to_string(enum phase phase)
{
    return phases[phase].key;
}
