/* Writing records, see record.h; record_read.c is the other half. Called by the worker.
 * record_read.c accepts whatever is written here: counters are limited to what JSON readers
 * hold, texts are made UTF-8. */
#include "core/record_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "core/series.h"

#define MESSAGE_MAX_BYTES 4096

static_assert(SUMMARY_MAX_SERIES == SERIES_MAX, "one limit, two headers");

static const char *const phase_names[PHASE_COUNT] = {
    [PHASE_DATA] = "data",       [PHASE_FORWARD] = "forward", [PHASE_BACKWARD] = "backward",
    [PHASE_SEND] = "send",       [PHASE_WAIT] = "wait",       [PHASE_UPDATE] = "update",
    [PHASE_RECEIVE] = "receive",
};

static const char *const type_names[RECORD_TYPE_COUNT] = {
    [RECORD_START] = "start",
    [RECORD_STEP] = "step",
    [RECORD_SUMMARY] = "summary",
    [RECORD_ERROR] = "error",
};

const char *const summary_unit_names[SUMMARY_UNIT_COUNT] = {
    [UNIT_SAMPLES] = "samples", [UNIT_STEPS] = "steps", [UNIT_WORDS] = "words",
    [UNIT_TOKENS] = "tokens",   [UNIT_GB] = "GB",       [UNIT_RUNS] = "runs",
};

const char *phase_to_string(enum phase phase)
{
    return phase_names[phase];
}

const char *record_type_to_string(enum record_type type)
{
    return type_names[type];
}

bool record_is_digest(const char *s)
{
    return strlen(s) == RECORD_DIGEST_CHARS && strspn(s, "0123456789abcdef") == RECORD_DIGEST_CHARS;
}

void summary_drop_series(struct summary *s)
{
    free(s->series_us);
    free(s->evaluations);
    s->series_us = NULL;
    s->n_series = 0;
    s->evaluations = NULL;
}

void summary_done(struct summary *s)
{
    summary_drop_series(s);
    free(s->source.rule);
    free(s->source.method);
    free(s->environment_digest);
    s->source.rule = s->source.method = s->environment_digest = NULL;
}

void record_done(struct record *r)
{
    switch (r->type) {
    case RECORD_START:
        json_decref(r->start.environment);
        break;
    case RECORD_STEP:
        break;
    case RECORD_SUMMARY:
        summary_done(&r->summary);
        break;
    case RECORD_ERROR:
        free(r->error.peer);
        free(r->error.message);
        break;
    }
    *r = (struct record){.type = RECORD_STEP};
}

/* Takes `object`. */
static void write_line(struct buf *out, json_t *object)
{
    _cleanup_(freep) char *line = json_dumps(object, JSON_COMPACT);
    assert(line != NULL); /* fails only on values that the functions below never make */
    buf_puts(out, line);
    buf_putc(out, '\n');
    json_decref(object);
}

static void set_count(json_t *object, const char *key, uint64_t value)
{
    uint64_t max = INT64_MAX; /* JSON readers, jansson too, count in int64 */
    json_object_set_new(object, key, json_integer((json_int_t)(value > max ? max : value)));
}

/* A negative time is a mistake of the caller's clock; the line stays valid. */
static void set_time(json_t *object, const char *key, int64_t value)
{
    json_object_set_new(object, key, json_integer(value < 0 ? 0 : value));
}

static void set_number(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, isfinite(value) ? json_real(value) : json_null());
}

static void set_phases(json_t *object, const int64_t phase_ns[PHASE_COUNT])
{
    json_t *phases = json_object();
    for (int i = 0; i < PHASE_COUNT; i++) {
        set_time(phases, phase_names[i], phase_ns[i]);
    }
    json_object_set_new(object, "phase_ns", phases);
}

static json_t *new_record(enum record_type type, const struct record_who *who)
{
    json_t *o = json_object();
    json_object_set_new(o, "benchd", json_integer(RECORD_VERSION));
    json_object_set_new(o, "type", json_string(record_type_to_string(type)));
    json_object_set_new(o, "role", json_string(role_to_string(who->role)));
    set_count(o, "index", who->index);
    set_count(o, "attempt", who->attempt);
    return o;
}

void record_write_start(struct buf *out, const struct record_who *who, json_t *environment)
{
    json_t *o = new_record(RECORD_START, who);
    json_object_set(o, "environment", environment);
    write_line(out, o);
}

void record_write_step(struct buf *out, const struct record_who *who,
                       const struct record_step *step)
{
    json_t *o = new_record(RECORD_STEP, who);
    set_count(o, "step", step->step);
    if (step->warmup) {
        json_object_set_new(o, "warmup", json_true());
    }
    set_time(o, "t_ns", step->t_ns);
    set_time(o, "step_ns", step->step_ns);
    set_count(o, "samples", step->samples);
    set_number(o, "loss", step->loss);
    set_phases(o, step->phase_ns);
    set_count(o, "bytes_tx", step->bytes_tx);
    set_count(o, "bytes_rx", step->bytes_rx);
    write_line(out, o);
}

static json_t *text_of_bytes(const char *text)
{
    struct buf clean = BUF_INIT;
    buf_put_utf8(&clean, text, MESSAGE_MAX_BYTES);
    json_t *value = json_stringn(buf_cstr(&clean), clean.len);
    buf_done(&clean);
    return value;
}

void record_write_error(struct buf *out, const struct record_who *who, int code, const char *peer,
                        const char *message)
{
    json_t *o = new_record(RECORD_ERROR, who);
    json_object_set_new(o, "code", json_integer(code));
    json_object_set_new(o, "peer", peer == NULL ? json_null() : text_of_bytes(peer));
    json_object_set_new(o, "message", text_of_bytes(message));
    write_line(out, o);
}

static void set_evaluations(json_t *object, const struct evaluations *e)
{
    json_t *times = json_array(), *accuracies = json_array();
    for (uint32_t i = 0; i < e->n; i++) {
        json_array_append_new(times, json_integer(e->list[i].t_ms));
        json_array_append_new(accuracies, json_integer(e->list[i].accuracy_ppm));
    }
    json_t *o = json_object();
    set_count(o, "k", e->k);
    set_time(o, "end_ms", e->end_ms);
    json_object_set_new(o, "t_ms", times);
    json_object_set_new(o, "accuracy_ppm", accuracies);
    json_object_set_new(object, "evaluations", o);
}

static void set_series(json_t *object, const int64_t *step_ns, size_t n, size_t max)
{
    struct series series;
    struct buf data = BUF_INIT;
    series_encode(step_ns, n, max, &series, &data);
    json_t *o = json_object();
    set_count(o, "k", series.k);
    set_count(o, "n", series.n);
    json_object_set_new(o, "min", json_integer(series.min));
    json_object_set_new(o, "data", json_stringn(buf_cstr(&data), data.len));
    json_object_set_new(object, "series", o);
    buf_done(&data);
}

static void set_source(json_t *object, const struct summary_source *source)
{
    json_t *o = json_object();
    json_object_set_new(o, "rule", json_string(source->rule));
    json_object_set_new(o, "method", json_string(source->method));
    json_object_set_new(o, "unit", json_string(summary_unit_names[source->unit]));
    json_object_set_new(o, "scope", json_string(source->is_job ? "job" : "replica"));
    set_number(o, "accuracy_last", source->accuracy_last);
    json_object_set_new(object, "log", o);
}

static void set_probe(json_t *object, const char *key, const struct noise_probe *probe)
{
    if (probe->spins_per_s > 0) {
        json_t *o = json_object();
        set_count(o, "spins_per_s", probe->spins_per_s);
        set_count(o, "copy_bytes_per_s", probe->copy_bytes_per_s);
        json_object_set_new(object, key, o);
    }
}

static void set_noise(json_t *object, const struct noise *noise)
{
    json_t *o = json_object();
    set_probe(o, "before", &noise->before);
    set_probe(o, "after", &noise->after);
    if (noise->busy_ns > 0) {
        set_time(o, "busy_ns", noise->busy_ns);
        set_time(o, "steal_ns", noise->steal_ns);
    }
    if (noise->cpu_run_ns > 0) {
        set_time(o, "cpu_run_ns", noise->cpu_run_ns);
        set_time(o, "cpu_wait_ns", noise->cpu_wait_ns);
    }
    if (noise->by_launcher) {
        json_object_set_new(o, "launcher", json_true());
    }
    if (json_object_size(o) > 0) {
        json_object_set(object, "noise", o);
    }
    json_decref(o);
}

char *record_replace_noise(const char *line, const struct noise *noise)
{
    json_t *o = json_loads(line, 0, NULL);
    if (!json_is_object(o)) {
        json_decref(o);
        return NULL;
    }
    set_noise(o, noise);
    char *text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return text;
}

void record_write_summary(struct buf *out, const struct record_who *who, const struct summary *s,
                          const int64_t *step_ns, size_t n)
{
    assert(s->environment_digest == NULL || record_is_digest(s->environment_digest));
    json_t *o = new_record(RECORD_SUMMARY, who);
    set_count(o, "samples", s->samples);
    set_time(o, "duration_ns", s->duration_ns);
    set_count(o, "steps", s->steps);
    set_phases(o, s->phase_ns);
    set_count(o, "bytes_tx", s->bytes_tx);
    set_count(o, "bytes_rx", s->bytes_rx);
    set_number(o, "loss_first", s->loss_first);
    set_number(o, "loss_last", s->loss_last);
    set_time(o, "throttled_ns", s->throttled_ns);
    set_count(o, "throttled_periods", s->throttled_periods);
    set_count(o, "max_rss_bytes", s->max_rss_bytes);
    if (s->cpu_ns > 0) {
        set_time(o, "cpu_ns", s->cpu_ns);
    }
    json_object_set_new(o, "environment_digest",
                        s->environment_digest == NULL ? json_null()
                                                      : json_string(s->environment_digest));
    if (s->source.rule != NULL) {
        set_source(o, &s->source);
    }
    const bool is_evaluated = s->evaluations != NULL && s->evaluations->n > 0;
    if (is_evaluated) {
        set_evaluations(o, s->evaluations);
    }
    if (s->last.steps > 0) {
        json_t *last = json_object();
        set_count(last, "trainer", s->last.trainer);
        set_count(last, "steps", s->last.steps);
        set_time(last, "wait_ns", s->last.wait_ns);
        json_object_set_new(o, "last", last);
    }
    if (s->staleness.slices > 0) {
        json_t *staleness = json_object();
        set_count(staleness, "slices", s->staleness.slices);
        set_number(staleness, "mean", s->staleness.mean);
        set_count(staleness, "max", s->staleness.max);
        json_object_set_new(o, "staleness", staleness);
    }
    if (s->late.slices > 0) {
        json_t *late = json_object();
        set_count(late, "slices", s->late.slices);
        set_count(late, "dropped", s->late.dropped);
        set_count(late, "trainer", s->late.trainer);
        set_count(late, "most", s->late.most);
        json_object_set_new(o, "late", late);
    }
    set_noise(o, &s->noise);
    if (s->transport != EXCHANGE_TRANSPORT_AUTO) {
        json_object_set_new(o, "transport", json_string(exchange_transport_names[s->transport]));
    }
    const bool is_long = is_evaluated || s->staleness.slices > 0 || s->late.slices > 0;
    if (n != 0) {
        set_series(o, step_ns, n, is_long ? SUMMARY_MAX_SERIES_EVALUATED : SERIES_MAX);
    }
    size_t before = out->len;
    write_line(out, o);
    /* Every number has its longest form in tests/core/test_record_summary.c,
     * which holds this limit. */
    assert(out->len - before <= SUMMARY_MAX_BYTES);
    (void)before;
}

char *record_environment_canonical(const json_t *environment)
{
    char *text = json_dumps(environment, JSON_COMPACT | JSON_SORT_KEYS);
    assert(text != NULL);
    return text;
}
