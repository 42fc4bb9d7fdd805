/* Reading records, see record.h; record.c is the other half, record_scan.c the fast way. Called by
 * the driver and by result.c. Lines come from processes that we did not write: every length, type
 * and range is checked here, so that the rest of the program can believe a struct record. */
#include "core/record_internal.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "core/series.h"

enum need { REQUIRED, OPTIONAL };

/* Looks up an integer in [min, max]; a missing optional one leaves *ret alone. */
static int get_int(const json_t *object, const char *key, enum need need, int64_t min, int64_t max,
                   int64_t *ret, struct err *err)
{
    const json_t *v = json_object_get(object, key);
    if (v == NULL) {
        return need == OPTIONAL ? 0 : err_set(err, EPROTO, "'%s' is missing", key);
    }
    if (!json_is_integer(v)) {
        return err_set(err, EPROTO, "'%s' is not a whole number", key);
    }
    int64_t i = json_integer_value(v);
    if (i < min || i > max) {
        return err_set(err, EPROTO, "'%s' is %lld, not in %lld..%lld", key, (long long)i,
                       (long long)min, (long long)max);
    }
    *ret = i;
    return 0;
}

static int get_u32(const json_t *object, const char *key, enum need need, uint32_t *ret,
                   struct err *err)
{
    int64_t i = *ret;
    int r = get_int(object, key, need, 0, UINT32_MAX, &i, err);
    *ret = (uint32_t)i;
    return r;
}

static int get_u64(const json_t *object, const char *key, enum need need, uint64_t *ret,
                   struct err *err)
{
    int64_t i = 0;
    int r = get_int(object, key, need, 0, INT64_MAX, &i, err);
    *ret = (uint64_t)i;
    return r;
}

static int get_time(const json_t *object, const char *key, enum need need, int64_t *ret,
                    struct err *err)
{
    return get_int(object, key, need, 0, INT64_MAX, ret, err);
}

/* NaN if missing or null. */
static int get_number(const json_t *object, const char *key, double *ret, struct err *err)
{
    const json_t *v = json_object_get(object, key);
    if (v != NULL && !json_is_null(v) && !json_is_number(v)) {
        return err_set(err, EPROTO, "'%s' is neither a number nor null", key);
    }
    *ret = json_is_number(v) ? json_number_value(v) : NAN;
    return 0;
}

/* Borrowed; NULL if missing or null. */
static int get_text(const json_t *object, const char *key, enum need need, const char **ret,
                    struct err *err)
{
    const json_t *v = json_object_get(object, key);
    if (need == OPTIONAL && (v == NULL || json_is_null(v))) {
        *ret = NULL;
        return 0;
    }
    if (!json_is_string(v)) {
        return err_set(err, EPROTO, v == NULL ? "'%s' is missing" : "'%s' is not a string", key);
    }
    *ret = json_string_value(v);
    return 0;
}

static int get_object(const json_t *object, const char *key, enum need need, json_t **ret,
                      struct err *err)
{
    json_t *v = json_object_get(object, key);
    if (v == NULL && need == REQUIRED) {
        return err_set(err, EPROTO, "'%s' is missing", key);
    }
    if (v != NULL && !json_is_object(v)) {
        return err_set(err, EPROTO, "'%s' is not an object", key);
    }
    *ret = v;
    return 0;
}

static int get_phases(const json_t *object, int64_t phase_ns[PHASE_COUNT], struct err *err)
{
    json_t *phases = NULL;
    int r = get_object(object, "phase_ns", OPTIONAL, &phases, err);
    for (int i = 0; i < PHASE_COUNT && r >= 0 && phases != NULL; i++) {
        r = get_time(phases, phase_to_string((enum phase)i), OPTIONAL, &phase_ns[i], err);
    }
    return r;
}

/* False if it is not there. */
static int get_flag(const json_t *o, const char *key, bool *ret, struct err *err)
{
    const json_t *value = json_object_get(o, key);
    if (value != NULL && !json_is_boolean(value)) {
        return err_set(err, EPROTO, "'%s' is neither true nor false", key);
    }
    *ret = json_is_true(value);
    return 0;
}

static int read_start(const json_t *o, struct record_start *start, struct err *err)
{
    json_t *environment = NULL;
    int r = get_object(o, "environment", REQUIRED, &environment, err);
    if (r >= 0) {
        start->environment = json_incref(environment);
    }
    return r;
}

static int read_step(const json_t *o, struct record_step *s, struct err *err)
{
    int r;
    if ((r = get_flag(o, "warmup", &s->warmup, err)) < 0 ||
        (r = get_u32(o, "step", REQUIRED, &s->step, err)) < 0 ||
        (r = get_time(o, "t_ns", REQUIRED, &s->t_ns, err)) < 0 ||
        (r = get_time(o, "step_ns", REQUIRED, &s->step_ns, err)) < 0 ||
        (r = get_u32(o, "samples", REQUIRED, &s->samples, err)) < 0 ||
        (r = get_number(o, "loss", &s->loss, err)) < 0 ||
        (r = get_phases(o, s->phase_ns, err)) < 0 ||
        (r = get_u64(o, "bytes_tx", OPTIONAL, &s->bytes_tx, err)) < 0) {
        return r;
    }
    return get_u64(o, "bytes_rx", OPTIONAL, &s->bytes_rx, err);
}

static int read_series(const json_t *o, struct summary *s, struct err *err)
{
    json_t *series = NULL;
    int r = get_object(o, "series", OPTIONAL, &series, err);
    if (r < 0 || series == NULL) {
        return r;
    }
    struct series head = {0};
    int64_t n = 0, min = 0;
    const char *data = NULL;
    if ((r = get_u32(series, "k", REQUIRED, &head.k, err)) < 0 ||
        (r = get_int(series, "n", REQUIRED, 1, SERIES_MAX, &n, err)) < 0 ||
        (r = get_int(series, "min", REQUIRED, -RECORD_SERIES_MIN_LIMIT, RECORD_SERIES_MIN_LIMIT,
                     &min, err)) < 0 ||
        (r = get_text(series, "data", REQUIRED, &data, err)) < 0) {
        return err_wrap(err, r, "'series'");
    }
    if (head.k == 0) {
        return err_set(err, EPROTO, "'series': 'k' is 0");
    }
    head.n = (uint32_t)n;
    head.min = (int32_t)min;
    if (series_decode(&head, data, strlen(data), &s->series_us) < 0) {
        return err_set(err, EPROTO, "'series': 'data' is not base64 of %u numbers of 16 bits",
                       head.n);
    }
    s->series_k = head.k;
    s->n_series = head.n;
    return 0;
}

/* Texts of names and numbers only, as record_write_summary has them. */
/* Owned. */
static int get_plain(const json_t *object, const char *key, char **ret, size_t size,
                     struct err *err)
{
    const char *text = NULL;
    int r = get_text(object, key, REQUIRED, &text, err);
    if (r < 0) {
        return r;
    }
    for (const char *c = text; *c != '\0'; c++) {
        if (*c < ' ' || *c > '~') {
            return err_set(err, EPROTO, "'%s' is not plain text", key);
        }
    }
    const size_t len = strlen(text);
    if (len == 0 || len >= size) {
        return err_set(err, EPROTO, "'%s' has %zu characters, not 1 to %zu", key, len, size - 1);
    }
    *ret = xstrdup(text);
    return 0;
}

static int get_word(const json_t *object, const char *key, const char *const *words, int n,
                    int *ret, struct err *err)
{
    const char *text = NULL;
    int r = get_text(object, key, REQUIRED, &text, err);
    for (int i = 0; i < n && r >= 0; i++) {
        if (strcmp(text, words[i]) == 0) {
            *ret = i;
            return 0;
        }
    }
    return r < 0 ? r : err_set(err, EPROTO, "'%s' is unknown: '%.32s'", key, text);
}

static int read_source(const json_t *o, struct summary_source *s, struct err *err)
{
    static const char *const scopes[] = {"replica", "job"};
    json_t *log = NULL;
    int r = get_object(o, "log", OPTIONAL, &log, err);
    if (r < 0 || log == NULL) {
        return r;
    }
    int unit = 0, scope = 0;
    if ((r = get_plain(log, "rule", &s->rule, SUMMARY_RULE_SIZE, err)) < 0 ||
        (r = get_plain(log, "method", &s->method, SUMMARY_METHOD_SIZE, err)) < 0 ||
        (r = get_word(log, "unit", summary_unit_names, SUMMARY_UNIT_COUNT, &unit, err)) < 0 ||
        (r = get_word(log, "scope", scopes, 2, &scope, err)) < 0 ||
        (r = get_number(log, "accuracy_last", &s->accuracy_last, err)) < 0) {
        return err_wrap(err, r, "'log'");
    }
    s->unit = (enum summary_unit)unit;
    s->is_job = scope == 1;
    return 0;
}

static int read_evaluation(const json_t *times, const json_t *accuracies, struct evaluations *e,
                           struct err *err)
{
    const json_t *t = json_array_get(times, e->n), *a = json_array_get(accuracies, e->n);
    const int64_t t_ms = json_is_integer(t) ? json_integer_value(t) : -1;
    const int64_t ppm = json_is_integer(a) ? json_integer_value(a) : -1;
    const int64_t before_ms = e->n == 0 ? 0 : e->list[e->n - 1].t_ms;
    if (t_ms < before_ms || t_ms > e->end_ms) {
        return err_set(err, EPROTO, "'t_ms': entry %u is not a time that rises up to 'end_ms'",
                       e->n);
    }
    if (ppm < 0 || ppm > ACCURACY_PPM) {
        return err_set(err, EPROTO, "'accuracy_ppm': entry %u is not from 0 to %d", e->n,
                       ACCURACY_PPM);
    }
    e->list[e->n++] = (struct evaluation){t_ms, (uint32_t)ppm};
    return 0;
}

static int read_evaluations(const json_t *o, struct summary *s, struct err *err)
{
    json_t *object = NULL;
    int r = get_object(o, "evaluations", OPTIONAL, &object, err);
    if (r < 0 || object == NULL) {
        return r;
    }
    struct evaluations e = {0};
    const json_t *times = json_object_get(object, "t_ms");
    const json_t *accuracies = json_object_get(object, "accuracy_ppm");
    const size_t n = json_array_size(times); /* 0: no array */
    if ((r = get_u32(object, "k", REQUIRED, &e.k, err)) < 0 ||
        (r = get_int(object, "end_ms", REQUIRED, 0, EVALUATION_MAX_MS, &e.end_ms, err)) < 0) {
        return err_wrap(err, r, "'evaluations'");
    }
    if (e.k == 0 || n == 0 || n > EVALUATIONS_MAX || json_array_size(accuracies) != n) {
        return err_set(err, EPROTO,
                       "'evaluations': 'k' is 0, or 't_ms' and 'accuracy_ppm' are not two lists "
                       "of the same 1 to %d entries",
                       EVALUATIONS_MAX);
    }
    while (e.n < n) {
        if ((r = read_evaluation(times, accuracies, &e, err)) < 0) {
            return err_wrap(err, r, "'evaluations'");
        }
    }
    e.n_of_last = e.k;
    s->evaluations = xnew(struct evaluations);
    *s->evaluations = e;
    return 0;
}

static int read_last(const json_t *o, struct summary_last *last, struct err *err)
{
    json_t *object = NULL;
    int r = get_object(o, "last", OPTIONAL, &object, err);
    if (r < 0 || object == NULL) {
        return r;
    }
    if ((r = get_u32(object, "trainer", REQUIRED, &last->trainer, err)) < 0 ||
        (r = get_u32(object, "steps", REQUIRED, &last->steps, err)) < 0 ||
        (r = get_time(object, "wait_ns", REQUIRED, &last->wait_ns, err)) < 0) {
        return err_wrap(err, r, "'last'");
    }
    return 0;
}

static int read_staleness(const json_t *o, struct summary_staleness *s, struct err *err)
{
    json_t *object = NULL;
    int r = get_object(o, "staleness", OPTIONAL, &object, err);
    if (r < 0 || object == NULL) {
        return r;
    }
    if ((r = get_u64(object, "slices", REQUIRED, &s->slices, err)) < 0 ||
        (r = get_number(object, "mean", &s->mean, err)) < 0 ||
        (r = get_u64(object, "max", REQUIRED, &s->max, err)) < 0) {
        return err_wrap(err, r, "'staleness'");
    }
    if (!(s->mean >= 0)) {
        return err_set(err, EPROTO, "'staleness': 'mean' must be a number, 0 or more");
    }
    return 0;
}

static int read_late(const json_t *o, struct summary_late *late, struct err *err)
{
    json_t *object = NULL;
    int r = get_object(o, "late", OPTIONAL, &object, err);
    if (r < 0 || object == NULL) {
        return r;
    }
    if ((r = get_u64(object, "slices", REQUIRED, &late->slices, err)) < 0 ||
        (r = get_u64(object, "dropped", REQUIRED, &late->dropped, err)) < 0 ||
        (r = get_u32(object, "trainer", REQUIRED, &late->trainer, err)) < 0 ||
        (r = get_u64(object, "most", REQUIRED, &late->most, err)) < 0) {
        return err_wrap(err, r, "'late'");
    }
    if (late->dropped > late->slices || late->most > late->dropped) {
        return err_set(err, EPROTO, "'late': 'most' is a part of 'dropped', and that of 'slices'");
    }
    return 0;
}

static int read_probe(const json_t *noise, const char *key, struct noise_probe *probe,
                      struct err *err)
{
    json_t *object = NULL;
    int r = get_object(noise, key, OPTIONAL, &object, err);
    if (r < 0 || object == NULL) {
        return r;
    }
    if ((r = get_u64(object, "spins_per_s", REQUIRED, &probe->spins_per_s, err)) < 0 ||
        (r = get_u64(object, "copy_bytes_per_s", REQUIRED, &probe->copy_bytes_per_s, err)) < 0) {
        return err_wrap(err, r, "'%s'", key);
    }
    return 0;
}

static int read_noise(const json_t *o, struct noise *noise, struct err *err)
{
    json_t *object = NULL;
    int r = get_object(o, "noise", OPTIONAL, &object, err);
    if (r < 0 || object == NULL) {
        return r;
    }
    if ((r = read_probe(object, "before", &noise->before, err)) < 0 ||
        (r = read_probe(object, "after", &noise->after, err)) < 0 ||
        (r = get_time(object, "busy_ns", OPTIONAL, &noise->busy_ns, err)) < 0 ||
        (r = get_int(object, "steal_ns", OPTIONAL, 0, noise->busy_ns, &noise->steal_ns, err)) < 0 ||
        (r = get_time(object, "cpu_run_ns", OPTIONAL, &noise->cpu_run_ns, err)) < 0 ||
        (r = get_time(object, "cpu_wait_ns", noise->cpu_run_ns > 0 ? REQUIRED : OPTIONAL,
                      &noise->cpu_wait_ns, err)) < 0 ||
        (r = get_flag(object, "launcher", &noise->by_launcher, err)) < 0) {
        return err_wrap(err, r, "'noise'");
    }
    if (noise->cpu_run_ns == 0 && noise->cpu_wait_ns > 0) {
        return err_set(err, EPROTO, "'noise': 'cpu_wait_ns' needs a 'cpu_run_ns' above 0");
    }
    return 0;
}

static int read_transport(const json_t *o, enum exchange_transport *ret, struct err *err)
{
    const char *text = NULL;
    const int r = get_text(o, "transport", OPTIONAL, &text, err);
    if (r < 0 || text == NULL) {
        return r;
    }
    const int transport = exchange_transport_from_string(text);
    if (transport <= EXCHANGE_TRANSPORT_AUTO) {
        return err_set(err, EPROTO, "'transport' is not one that carries numbers");
    }
    *ret = (enum exchange_transport)transport;
    return 0;
}

static int read_summary(const json_t *o, struct summary *s, struct err *err)
{
    int r;
    const char *digest = NULL;
    if ((r = get_u64(o, "samples", REQUIRED, &s->samples, err)) < 0 ||
        (r = get_time(o, "duration_ns", REQUIRED, &s->duration_ns, err)) < 0 ||
        (r = get_u32(o, "steps", REQUIRED, &s->steps, err)) < 0 ||
        (r = get_phases(o, s->phase_ns, err)) < 0 ||
        (r = get_u64(o, "bytes_tx", OPTIONAL, &s->bytes_tx, err)) < 0 ||
        (r = get_u64(o, "bytes_rx", OPTIONAL, &s->bytes_rx, err)) < 0 ||
        (r = get_number(o, "loss_first", &s->loss_first, err)) < 0 ||
        (r = get_number(o, "loss_last", &s->loss_last, err)) < 0 ||
        (r = get_time(o, "throttled_ns", OPTIONAL, &s->throttled_ns, err)) < 0 ||
        (r = get_u64(o, "throttled_periods", OPTIONAL, &s->throttled_periods, err)) < 0 ||
        (r = get_u64(o, "max_rss_bytes", OPTIONAL, &s->max_rss_bytes, err)) < 0 ||
        (r = get_time(o, "cpu_ns", OPTIONAL, &s->cpu_ns, err)) < 0 ||
        (r = get_text(o, "environment_digest", OPTIONAL, &digest, err)) < 0) {
        return r;
    }
    if (digest != NULL) {
        if (!record_is_digest(digest)) {
            return err_set(err, EPROTO, "'environment_digest' is not 64 hex digits");
        }
        s->environment_digest = xstrdup(digest);
    }
    r = read_source(o, &s->source, err);
    r = r < 0 ? r : read_evaluations(o, s, err);
    r = r < 0 ? r : read_last(o, &s->last, err);
    r = r < 0 ? r : read_staleness(o, &s->staleness, err);
    r = r < 0 ? r : read_late(o, &s->late, err);
    r = r < 0 ? r : read_noise(o, &s->noise, err);
    r = r < 0 ? r : read_transport(o, &s->transport, err);
    return r < 0 ? r : read_series(o, s, err);
}

static int read_error(const json_t *o, struct record_error *e, struct err *err)
{
    int64_t code = 0;
    const char *peer = NULL, *message = NULL;
    int r;
    if ((r = get_int(o, "code", REQUIRED, 0, 255, &code, err)) < 0 ||
        (r = get_text(o, "peer", OPTIONAL, &peer, err)) < 0 ||
        (r = get_text(o, "message", REQUIRED, &message, err)) < 0) {
        return r;
    }
    e->code = (int)code;
    e->peer = peer == NULL ? NULL : xstrdup(peer);
    e->message = xstrdup(message);
    return 0;
}

static int read_common(const json_t *o, struct record *r, struct err *err)
{
    int64_t version = 0;
    const char *type = "", *role = "";
    int result;
    if ((result = get_int(o, "benchd", REQUIRED, INT64_MIN, INT64_MAX, &version, err)) < 0) {
        return result;
    }
    if (version != RECORD_VERSION) {
        return err_set(err, EPROTO, "version %lld, this program reads version %d",
                       (long long)version, RECORD_VERSION);
    }
    if ((result = get_text(o, "type", REQUIRED, &type, err)) < 0 ||
        (result = get_text(o, "role", REQUIRED, &role, err)) < 0 ||
        (result = get_u32(o, "index", REQUIRED, &r->who.index, err)) < 0 ||
        (result = get_u32(o, "attempt", REQUIRED, &r->who.attempt, err)) < 0) {
        return result;
    }
    int known_role = role_from_string(role);
    if (known_role < 0) {
        return err_set(err, EPROTO, "unknown role '%.32s'", role);
    }
    r->who.role = (enum role)known_role;
    for (int i = 0; i < RECORD_TYPE_COUNT; i++) {
        if (strcmp(type, record_type_to_string((enum record_type)i)) == 0) {
            r->type = (enum record_type)i;
            return 0;
        }
    }
    return err_set(err, EPROTO, "unknown type '%.32s'", type);
}

static int read_object(const json_t *o, struct record *r, struct err *err)
{
    int result = read_common(o, r, err);
    if (result < 0) {
        return result;
    }
    switch (r->type) {
    case RECORD_START:
        return read_start(o, &r->start, err);
    case RECORD_STEP:
        return read_step(o, &r->step, err);
    case RECORD_SUMMARY:
        return read_summary(o, &r->summary, err);
    case RECORD_ERROR:
        return read_error(o, &r->error, err);
    }
    return err_set(err, EPROTO, "no reader for type %d", (int)r->type);
}

/* Whether a text that is no whole JSON object claims to be a record: our key, as record.c spells
 * it, anywhere in it. The output of another thread may precede it or be inside it. */
static bool claims(const char *line, size_t len)
{
    static const char key[] = "{\"benchd\":";
    return memmem(line, len, key, sizeof(key) - 1) != NULL;
}

int record_read_tree(const char *line, size_t len, struct record *ret, struct err *err)
{
    json_error_t why;
    json_t *o = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why);
    if (o == NULL) {
        return !claims(line, len)
                   ? 0
                   : err_set(err, EPROTO, "record: column %d: %s", why.column, why.text);
    }
    if (!json_is_integer(json_object_get(o, "benchd"))) { /* another program's JSON */
        json_decref(o);
        return 0;
    }
    struct record record = {.type = RECORD_STEP};
    int r = read_object(o, &record, err);
    json_decref(o);
    if (r < 0) {
        record_done(&record);
        return err_wrap(err, r, "record");
    }
    *ret = record;
    return 1;
}

int record_read(const char *line, size_t len, struct record *ret, struct err *err)
{
    if (len > RECORD_LINE_MAX_BYTES) {
        return !claims(line, RECORD_LINE_MAX_BYTES)
                   ? 0
                   : err_set(err, EPROTO, "record: line of %zu bytes exceeds %d", len,
                             RECORD_LINE_MAX_BYTES);
    }
    return record_scan(line, len, ret) ? 1 : record_read_tree(line, len, ret, err);
}

bool record_read_peer(const char *peer, enum role *ret_role, uint32_t *ret_index)
{
    const char *slash = peer == NULL ? NULL : strchr(peer, '/');
    if (slash == NULL) {
        return false;
    }
    _cleanup_(freep) char *name = xstrndup(peer, (size_t)(slash - peer));
    const int role = role_from_string(name);
    int64_t index;
    if (role < 0 || parse_i64_in(slash + 1, 0, UINT32_MAX, &index) < 0) {
        return false;
    }
    *ret_role = (enum role)role;
    *ret_index = (uint32_t)index;
    return true;
}
