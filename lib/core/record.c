/* Writing records, see record.h; record_read.c is the other half. Called by the worker.
 * record_read.c accepts whatever is written here: counters are limited to what JSON readers
 * hold, texts are made UTF-8. */
#include "core/record_members.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"

#define MESSAGE_MAX_BYTES 4096

static_assert(SUMMARY_MAX_SERIES == SERIES_MAX, "one limit, two headers");

void summary_drop_series(struct summary *s)
{
    free(s->series.data);
    free(s->evaluations);
    s->series = (struct series){0};
    s->evaluations = NULL;
}

void summary_done(struct summary *s)
{
    summary_drop_series(s);
    free(s->source.rule);
    free(s->source.method);
    free(s->environment_digest);
    metrics_done(&s->metrics);
    s->source.rule = s->source.method = s->environment_digest = NULL;
}

void summary_free(struct summary *s)
{
    if (s != NULL) {
        summary_done(s);
        free(s);
    }
}

struct summary *summary_copy(const struct summary *s)
{
    if (s == NULL) {
        return NULL;
    }
    struct summary *copy = xnew(struct summary);
    *copy = *s;
    copy->series.data = xmemdup(s->series.data, SERIES_BYTES(s->series.n));
    copy->evaluations = xmemdup(s->evaluations, sizeof(*s->evaluations));
    copy->source.rule = xstrdup_or_null(s->source.rule);
    copy->source.method = xstrdup_or_null(s->source.method);
    copy->environment_digest = xstrdup_or_null(s->environment_digest);
    copy->metrics = (struct metrics){0};
    metrics_merge(&copy->metrics, &s->metrics);
    return copy;
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

static json_t *text_of_bytes(const char *text)
{
    struct buf clean = BUF_INIT;
    buf_put_utf8(&clean, text, MESSAGE_MAX_BYTES);
    json_t *value = json_stringn(buf_cstr(&clean), clean.len);
    buf_done(&clean);
    return value;
}

static bool is_zero(const char *bytes, size_t n)
{
    return n > 0 && bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0;
}

bool record_has_member(const struct record_member *m, const void *from)
{
    return !is_zero((const char *)from + m->guard.offset, m->guard.size);
}

static void write_members(json_t *o, const struct record_members *members, const void *from);

static json_t *ppm_to_json(uint32_t ppm)
{
    return ppm == EVALUATION_UNKNOWN ? json_null() : json_integer(ppm);
}

static bool has_loss(const struct evaluations *e)
{
    for (uint32_t i = 0; e != NULL && i < e->n; i++) {
        if (e->list[i].loss_ppm != EVALUATION_UNKNOWN) {
            return true;
        }
    }
    return false;
}

static json_t *evaluations_to_json(const struct evaluations *e)
{
    if (e->n == 0) {
        return NULL;
    }
    json_t *o = json_object(), *times = json_array(), *accuracies = json_array();
    json_t *losses = json_array();
    for (uint32_t i = 0; i < e->n; i++) {
        json_array_append_new(times, json_integer(e->list[i].t_ms));
        json_array_append_new(accuracies, ppm_to_json(e->list[i].accuracy_ppm));
        json_array_append_new(losses, ppm_to_json(e->list[i].loss_ppm));
    }
    write_members(o, &record_evaluations_members, e);
    json_object_set_new(o, "t_ms", times);
    json_object_set_new(o, "accuracy_ppm", accuracies);
    if (has_loss(e)) {
        json_object_set(o, "loss_ppm", losses);
    }
    json_decref(losses);
    return o;
}

json_t *record_members_to_json(const struct record_members *members, const void *from)
{
    json_t *o = json_object();
    write_members(o, members, from);
    if (json_object_size(o) == 0) {
        json_decref(o);
        return NULL;
    }
    return o;
}

static json_t *series_to_json(const struct series *s)
{
    _cleanup_(freep) char *text = base64_dup(s->data, SERIES_BYTES(s->n));
    return json_string(text);
}

json_t *record_member_to_json(const struct record_member *m, const void *at)
{
    switch (m->kind) {
    case MEMBER_32:
        return json_integer(m->least < 0 ? (json_int_t) * (const int32_t *)at
                                         : (json_int_t) * (const uint32_t *)at);
    case MEMBER_COUNT: /* JSON readers, jansson too, count in int64 */
        return json_integer(*(const int64_t *)at < 0 ? INT64_MAX : *(const int64_t *)at);
    case MEMBER_TIME:
        return json_integer(*(const int64_t *)at < 0 ? 0 : *(const int64_t *)at);
    case MEMBER_NUMBER:
        return isfinite(*(const double *)at) ? json_real(*(const double *)at) : json_null();
    case MEMBER_FLAG:
        return json_boolean(*(const bool *)at);
    case MEMBER_WORD:
        return json_string(
            m->words[m->size == sizeof(bool) ? *(const bool *)at : *(const unsigned *)at]);
    case MEMBER_TEXT:
    case MEMBER_NAME:
    case MEMBER_DIGEST:
        return *(char *const *)at == NULL ? json_null() : text_of_bytes(*(char *const *)at);
    case MEMBER_TREE:
        return json_incref(*(json_t *const *)at);
    case MEMBER_OBJECT:
        return record_members_to_json(m->members, at);
    case MEMBER_EVALUATIONS:
        return evaluations_to_json(*(struct evaluations *const *)at);
    case MEMBER_METRICS:
        return metrics_to_json(at);
    case MEMBER_SERIES:
        return series_to_json(at);
    }
    return NULL;
}

static void write_members(json_t *o, const struct record_members *members, const void *from)
{
    for (const struct record_member *m = members->list; m < members->list + members->n; m++) {
        if (record_has_member(m, from)) {
            json_object_set_new(o, m->key,
                                record_member_to_json(m, (const char *)from + m->offset));
        }
    }
}

static json_t *new_record(enum record_type type, const struct record_who *who, const void *body)
{
    const struct record head = {.type = type, .who = *who};
    json_t *o = json_object();
    json_object_set_new(o, "benchd", json_integer(RECORD_VERSION));
    write_members(o, &record_head_members, &head);
    write_members(o, record_type_members[type], body);
    return o;
}

void record_write_start(struct buf *out, const struct record_who *who, json_t *environment)
{
    const struct record_start start = {environment};
    write_line(out, new_record(RECORD_START, who, &start));
}

void record_write_step(struct buf *out, const struct record_who *who,
                       const struct record_step *step)
{
    write_line(out, new_record(RECORD_STEP, who, step));
}

void record_write_error(struct buf *out, const struct record_who *who, int code, const char *peer,
                        const char *message)
{
    const struct record_error error = {code, (char *)peer, (char *)message};
    write_line(out, new_record(RECORD_ERROR, who, &error));
}

void summary_set_series(struct summary *s, const int64_t *step_ns, size_t n)
{
    const bool is_long = s->evaluations != NULL || s->staleness.slices > 0;
    const size_t max = has_loss(s->evaluations) ? SUMMARY_MAX_SERIES_LOSSES
                       : is_long                ? SUMMARY_MAX_SERIES_EVALUATED
                                                : SERIES_MAX;
    const size_t n_max = s->metrics.list.len > 0 ? max / 2 : max;
    free(s->series.data);
    s->series = n == 0 ? (struct series){0} : series_of(step_ns, n, n_max);
}

void record_write_summary(struct buf *out, const struct record_who *who, const struct summary *s)
{
    write_line(out, new_record(RECORD_SUMMARY, who, s));
}

char *record_environment_canonical(const json_t *environment)
{
    char *text = json_dumps(environment, JSON_COMPACT | JSON_SORT_KEYS);
    assert(text != NULL);
    return text;
}
