/* See trial_figures.h. */
#include "result/trial_figures.h"

#include <math.h>
#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/str.h"
#include "result/nodes.h"
#include "result/replica_numbers.h"
#include "result/result_parts.h"

enum { HEAD_REPLICAS, HEAD_TEXTS, HEAD_TIMES, HEAD_STEPS, HEAD_COUNT };
enum { ROW_INDEX, ROW_ROLE, ROW_EXIT_CODE, ROW_SIGNAL, ROW_LOG_BYTES, ROW_COUNT };
enum { TEXT_FAILURE, TEXT_NODE, TEXT_RULE, TEXT_METHOD, TEXT_DOUBT, TEXT_HARDWARE };
#define TEXT_COUNT (TEXT_HARDWARE + HARDWARE_TEXTS)

void trial_figures_done(struct trial_figures *f)
{
    trial_done(&f->trial);
    free(f->machines);
    free(f->metrics);
    buf_done(&f->replicas);
}

/* ---- to bytes ---- */

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

#define CODES_PER_OCTAVE 2048.0 /* of a summary's step times (core/series.c) */

static double time_of(uint64_t code)
{
    double us = exp2((double)code / CODES_PER_OCTAVE);
    if (code >> 32 != 0) { /* as the bits of a time are */
        memcpy(&us, &code, sizeof(us));
    }
    return us;
}

/* A time as a summary writes it is a small number; others are their bits. */
static uint64_t code_of(double us)
{
    const double code = rint(CODES_PER_OCTAVE * log2(us));
    return code >= 0 && exp2(code / CODES_PER_OCTAVE) == us ? (uint64_t)code : bits_of(us);
}

/* Texts while they are collected, each once. */
struct text_index {
    json_t *index;    /* owned */
    struct buf bytes; /* owned */
    uint64_t n;
};

static uint64_t add_text(struct text_index *t, const char *text)
{
    if (text == NULL) {
        return 0;
    }
    const json_t *seen = json_object_get(t->index, text);
    if (seen != NULL) {
        return (uint64_t)json_integer_value(seen);
    }
    buf_append(&t->bytes, text, strlen(text) + 1);
    t->n++;
    (void)json_object_set_new_nocheck(t->index, text, json_integer((json_int_t)t->n));
    return t->n;
}

/* n columns, while they are filled replica by replica. */
struct table {
    uint64_t *values; /* owned */
    size_t n_rows;
};

static void put_row(struct table *t, size_t i, const struct replica_row *row)
{
    const uint64_t values[ROW_COUNT] = {row->id.index, row->id.role, (uint32_t)row->exit_code,
                                        (uint32_t)row->signal, row->log_bytes};
    for (size_t k = 0; k < ROW_COUNT; k++) {
        t->values[k * t->n_rows + i] = values[k];
    }
}

static void put_texts(struct table *t, size_t i, const struct replica_result *r, const char *node,
                      const struct hardware *h, struct text_index *texts)
{
    const char *values[TEXT_COUNT] = {r->row->failure, node, r->summary.source.rule,
                                      r->summary.source.method, r->doubt};
    memcpy(values + TEXT_HARDWARE, h->texts, sizeof(h->texts));
    for (size_t k = 0; k < TEXT_COUNT; k++) {
        t->values[(ROW_COUNT + k) * t->n_rows + i] = add_text(texts, values[k]);
    }
}

/* Machines are of succeeded trials only, as in hardware_collect. */
static void put_replica(struct table *t, size_t i, const struct trial_result *trial,
                        struct text_index *texts, struct machines *machines)
{
    const struct replica_result *r = &trial->replicas[i];
    const json_t *environment = trial->phase == TRIAL_SUCCEEDED ? r->environment : NULL;
    struct hardware h;
    _cleanup_(freep) char *node = hardware_read(environment, &h);
    put_row(t, i, r->row);
    put_texts(t, i, r, node, &h, texts);
    hardware_done(&h);
    for (size_t k = 0; k < replica_numbers_count(); k++) {
        t->values[(ROW_COUNT + TEXT_COUNT + k) * t->n_rows + i] = replica_number_get(r, k);
    }
    if (trial->phase == TRIAL_SUCCEEDED) {
        machines_add_replica(machines, r);
    }
}

static void put_numbers(const uint64_t *values, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        char bytes[8];
        for (size_t k = 0; k < sizeof(bytes); k++) {
            bytes[k] = (char)(unsigned char)(values[i] >> (8 * k));
        }
        buf_append(out, bytes, sizeof(bytes));
    }
}

static void put_replicas(const struct trial_result *t, struct machines *machines, struct buf *out)
{
    const size_t n = t->n_replicas,
                 n_values = (ROW_COUNT + TEXT_COUNT + replica_numbers_count()) * n;
    struct table table = {xnew_array(uint64_t, n_values), n};
    struct text_index texts = {.index = json_object()};
    for (size_t i = 0; i < n; i++) {
        put_replica(&table, i, t, &texts, machines);
    }
    const uint64_t head[HEAD_COUNT] = {n, texts.n, t->steps.n, t->steps.k};
    put_numbers(head, HEAD_COUNT, out);
    put_numbers(table.values, n_values, out);
    for (size_t i = 0; i < t->steps.n; i++) {
        const uint64_t code = code_of(t->steps.us[i]);
        put_numbers(&code, 1, out);
    }
    buf_append(out, texts.bytes.data, texts.bytes.len);
    free(table.values);
    buf_done(&texts.bytes);
    json_decref(texts.index);
}

static double seconds_of(const struct trial_result *t, enum role leading)
{
    double seconds = NAN;
    trial_each_replica (r, t) {
        if (r->row->id.role == leading && replica_is_rated(r)) {
            seconds = fmax(seconds, (double)r->summary.duration_ns / 1e9); /* passes NaN over */
        }
    }
    return seconds;
}

bool trial_figures_make(const struct attempt_row *row, const struct trial_terms *terms,
                        struct trial_figures *ret)
{
    if (terms->n_leading == 0) {
        return false;
    }
    struct trial_figures f = {.trial.row = row};
    struct trial_result *t = &f.trial;
    struct machines machines = {0};
    trial_build(t, terms, RUN_SUCCEEDED);
    f.seconds = seconds_of(t, terms->leading);
    put_replicas(t, &machines, &f.replicas);
    f.machines = t->phase == TRIAL_SUCCEEDED ? machines_to_text(&machines) : NULL;
    json_auto_t *metrics = metrics_to_json(&t->metrics);
    f.metrics = json_dumps(metrics, JSON_COMPACT); /* NULL without any */
    const bool is_good = t->phase != TRIAL_SUCCEEDED || f.machines != NULL;
    machines_done(&machines);
    trial_forget_replicas(t);
    t->row = NULL;
    if (!is_good) {
        trial_figures_done(&f);
        return false;
    }
    *ret = f;
    return true;
}

/* ---- and back ---- */

struct array {
    const unsigned char *values;
    size_t n_replicas, n_texts, n_times, n_values;
    const char **texts; /* [0] is NULL, so that a reference is an index; owned */
};

static uint64_t number_at(const unsigned char *values, size_t i)
{
    uint64_t value = 0;
    for (size_t k = 8; k-- > 0;) {
        value = value << 8 | values[8 * i + k];
    }
    return value;
}

static uint64_t value_of(const struct array *a, size_t column, size_t i)
{
    return number_at(a->values, HEAD_COUNT + column * a->n_replicas + i);
}

/* False: there are others, or a reference to none. */
static bool find_texts(struct array *a, const char *at, const char *end)
{
    size_t n = 0;
    a->texts = xnew_array(const char *, a->n_texts + 1);
    while (n < a->n_texts && at < end) {
        const char *nul = memchr(at, '\0', (size_t)(end - at));
        if (nul == NULL) {
            return false;
        }
        a->texts[++n] = at;
        at = nul + 1;
    }
    for (size_t k = ROW_COUNT; k < ROW_COUNT + TEXT_COUNT; k++) {
        for (size_t i = 0; i < a->n_replicas; i++) {
            if (value_of(a, k, i) > a->n_texts) {
                return false;
            }
        }
    }
    return n == a->n_texts && at == end;
}

static bool open_array(const struct buf *bytes, struct array *a)
{
    const size_t n_columns = ROW_COUNT + TEXT_COUNT + replica_numbers_count();
    const size_t room = bytes->len / 8;
    *a = (struct array){.values = (const unsigned char *)bytes->data};
    if (room < HEAD_COUNT) {
        return false;
    }
    const uint64_t n_replicas = number_at(a->values, HEAD_REPLICAS),
                   n_times = number_at(a->values, HEAD_TIMES),
                   n_texts = number_at(a->values, HEAD_TEXTS);
    if (n_replicas > room / n_columns || n_times > STEP_SERIES_MAX || n_texts > bytes->len) {
        return false;
    }
    a->n_replicas = (size_t)n_replicas;
    a->n_texts = (size_t)n_texts;
    a->n_times = (size_t)n_times;
    a->n_values = HEAD_COUNT + n_columns * a->n_replicas + a->n_times;
    return a->n_values <= room &&
           find_texts(a, bytes->data + 8 * a->n_values, bytes->data + bytes->len);
}

static const char *text_at(const struct array *a, size_t i, size_t text)
{
    return a->texts[value_of(a, ROW_COUNT + text, i)];
}

static bool read_row(const struct array *a, size_t i, const struct attempt_id *id,
                     struct replica_row *ret)
{
    const uint64_t role = value_of(a, ROW_ROLE, i), index = value_of(a, ROW_INDEX, i);
    if (role >= ROLE_COUNT || index > UINT32_MAX) {
        return false;
    }
    *ret = (struct replica_row){
        .id = {*id, (enum role)role, (uint32_t)index},
        .exit_code = (int)(int32_t)(uint32_t)value_of(a, ROW_EXIT_CODE, i),
        .signal = (int)(int32_t)(uint32_t)value_of(a, ROW_SIGNAL, i),
        .failure = xstrdup_or_null(text_at(a, i, TEXT_FAILURE)),
        .log_bytes = value_of(a, ROW_LOG_BYTES, i),
    };
    return true;
}

static bool read_replica(const struct array *a, size_t i, struct result *result,
                         struct replica_result *r)
{
    for (size_t k = 0; k < replica_numbers_count(); k++) {
        if (!replica_number_set(r, k, value_of(a, ROW_COUNT + TEXT_COUNT + k, i))) {
            return false;
        }
    }
    const char *rule = text_at(a, i, TEXT_RULE), *method = text_at(a, i, TEXT_METHOD);
    if ((rule == NULL) != (method == NULL)) {
        return false;
    }
    r->summary.source.rule = xstrdup_or_null(rule);
    r->summary.source.method = xstrdup_or_null(method);
    r->doubt = xstrdup_or_null(text_at(a, i, TEXT_DOUBT));
    r->node = nodes_add(result, text_at(a, i, TEXT_NODE));
    struct hardware h = {0};
    for (size_t k = 0; k < HARDWARE_TEXTS; k++) {
        h.texts[k] = (char *)text_at(a, i, TEXT_HARDWARE + k); /* borrowed */
    }
    hardware_count(result, r, &h);
    return true;
}

static bool read_replicas(const struct array *a, struct result *result, struct trial_result *t,
                          struct attempt_row *row)
{
    vec_reserve(&row->replicas, a->n_replicas);
    for (size_t i = 0; i < a->n_replicas; i++) {
        struct replica_row rep;
        if (!read_row(a, i, &row->id, &rep)) {
            return false;
        }
        *vec_push(&row->replicas) = rep;
    }
    t->replicas = xnew_array(struct replica_result, a->n_replicas);
    for (; t->n_replicas < a->n_replicas; t->n_replicas++) {
        struct replica_result *r = &t->replicas[t->n_replicas];
        result_begin_replica(r, &row->replicas.items[t->n_replicas]);
        if (!read_replica(a, t->n_replicas, result, r)) {
            return false;
        }
    }
    t->steps = (struct step_series){.k = (uint32_t)number_at(a->values, HEAD_STEPS)};
    t->steps.us = a->n_times == 0 ? NULL : xnew_array(double, a->n_times);
    for (; t->steps.n < a->n_times; t->steps.n++) {
        t->steps.us[t->steps.n] =
            time_of(number_at(a->values, a->n_values - a->n_times + t->steps.n));
    }
    return true;
}

/* Most attempts of a run have the same. */
static bool read_machines(struct figures_reader *r, struct machines *m, const char *text)
{
    if (text == NULL) {
        return false;
    }
    if (r->text == NULL || !str_eq(r->text, text)) {
        machines_done(&r->machines);
        free(r->text);
        r->text = xstrdup(text);
        if (!machines_add_text(&r->machines, text)) {
            return false;
        }
    }
    machines_merge(m, &r->machines);
    return true;
}

static const char *unit_of(const char *text)
{
    const int unit = text == NULL ? -1 : str_index(text, result_units, SUMMARY_UNIT_COUNT);
    return unit < 0 ? NULL : result_units[unit];
}

/* What a trial says as a whole. */
static bool take_trial(struct trial_result *t, const struct trial_result *f)
{
    t->unit = unit_of(f->unit);
    t->throughput = f->throughput;
    if (t->outcome == ATTEMPT_SUCCEEDED && isnan(f->throughput)) {
        t->phase = TRIAL_METRICS_UNAVAILABLE;
        t->error = xstrdup_or_null(f->error);
    }
    t->details = xstrdup_or_null(f->details);
    t->others_share = f->others_share;
    t->cpus = f->cpus;
    t->to_accuracy = f->to_accuracy;
    t->to_accuracy.state = !isnan(f->to_accuracy.s)      ? TARGET_REACHED
                           : !isnan(f->to_accuracy.best) ? TARGET_NOT_REACHED
                                                         : TARGET_UNKNOWN; /* it is not stored */
    t->after = f->after;
    t->evaluations_k = f->evaluations_k;
    t->evaluations_from = f->evaluations_from;
    return t->unit != NULL && f->after.state < AFTER_STATE_COUNT;
}

static bool take_metrics(struct trial_result *t, const char *text)
{
    json_auto_t *o = text == NULL ? NULL : json_loads(text, 0, NULL);
    return text == NULL || metrics_from_json(o, SIZE_MAX, &t->metrics, NULL) >= 0;
}

void figures_reader_done(struct figures_reader *r)
{
    free(r->text);
    machines_done(&r->machines);
    machines_done(&r->of_point);
}

bool figures_read(struct figures_reader *r, struct attempt_row *row, const struct trial_figures *f)
{
    struct result *result = r->result;
    if (row->id.point >= result->def->matrix.n_points ||
        row->id.trial >= result->points[row->id.point].n_trials) {
        return true;
    }
    struct trial_result *t = &result->points[row->id.point].trials[row->id.trial];
    if (t->row != row) {
        return true;
    }
    trial_take_outcome(t, result->phase);
    if (!take_trial(t, &f->trial) || !take_metrics(t, f->metrics) ||
        (t->phase == TRIAL_SUCCEEDED && !read_machines(r, &r->of_point, f->machines))) {
        return false;
    }
    if (f->replicas.len == 0) {
        return true;
    }
    struct array a;
    const bool is_good = open_array(&f->replicas, &a) && read_replicas(&a, result, t, row);
    free(a.texts);
    if (t->phase == TRIAL_SUCCEEDED) { /* older stores have no transport among the machines */
        trial_each_replica (it, t) {
            machines_add_replica(&r->of_point, it);
        }
    }
    return is_good;
}

bool figures_end_point(struct figures_reader *r, uint32_t point)
{
    struct point_result *p = &r->result->points[point];
    for (size_t j = 0; j < p->n_trials; j++) {
        struct trial_result *t = &p->trials[j];
        if (t->row == NULL) {
            result_begin_trial(t);
        } else if (!t->has_ended) {
            return false;
        }
    }
    result_conclude_point(r->result, point, &r->of_point);
    return true;
}
