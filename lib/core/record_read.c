/* Reading records, see record.h; record.c is the other half. Lines come from processes that we did
 * not write: every length, type and range is checked here, so that the rest of the program can
 * believe a struct record. */
#include "core/record_members.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

int record_set_whole(const struct record_member *m, void *at, int64_t value, struct err *err)
{
    const int64_t limit = m->kind == MEMBER_32 ? UINT32_MAX : INT64_MAX;
    const int64_t most = m->most == 0 ? limit : m->most;
    if (value < m->least || value > most) {
        return err_set(err, EPROTO, "'%s' is %lld, not in %lld..%lld", m->key, (long long)value,
                       (long long)m->least, (long long)most);
    }
    if (m->kind == MEMBER_32) {
        *(uint32_t *)at = (uint32_t)value;
    } else {
        *(int64_t *)at = value;
    }
    return 0;
}

static int read_whole(const json_t *v, const struct record_member *m, void *at, struct err *err)
{
    return json_is_integer(v) ? record_set_whole(m, at, json_integer_value(v), err)
                              : err_set(err, EPROTO, "'%s' is not a whole number", m->key);
}

static int read_word(const char *text, const struct record_member *m, void *at, struct err *err)
{
    for (int i = (int)m->least; i < m->n_words; i++) {
        if (str_eq(text, m->words[i])) {
            if (m->size == sizeof(bool)) {
                *(bool *)at = i != 0;
            } else {
                *(unsigned *)at = (unsigned)i;
            }
            return 0;
        }
    }
    return err_set(err, EPROTO, "'%s' is unknown: '%.32s'", m->key, text);
}

static int check_text(const char *text, const struct record_member *m, struct err *err)
{
    const size_t len = strlen(text);
    if (m->kind == MEMBER_DIGEST &&
        (len != RECORD_DIGEST_CHARS || strspn(text, "0123456789abcdef") != len)) {
        return err_set(err, EPROTO, "'%s' is not 64 hex digits", m->key);
    }
    for (const char *c = text; m->kind == MEMBER_NAME && *c != '\0'; c++) {
        if (*c < ' ' || *c > '~') {
            return err_set(err, EPROTO, "'%s' is not plain text", m->key);
        }
    }
    if (m->kind == MEMBER_NAME && (len == 0 || len > (size_t)m->most)) {
        return err_set(err, EPROTO, "'%s' has %zu characters, not 1 to %lld", m->key, len,
                       (long long)m->most);
    }
    return 0;
}

int record_set_text(const struct record_member *m, void *at, const char *text, struct err *err)
{
    if (m->kind == MEMBER_WORD) {
        return read_word(text, m, at, err);
    }
    const int r = check_text(text, m, err);
    if (r >= 0) {
        *(char **)at = xstrdup(text);
    }
    return r;
}

static int read_text(const json_t *v, const struct record_member *m, void *at, struct err *err)
{
    const char *text = json_string_value(v);
    if (text == NULL) {
        return json_is_null(v) && !m->is_required
                   ? 0
                   : err_set(err, EPROTO, "'%s' is not a string", m->key);
    }
    return record_set_text(m, at, text, err);
}

/* An entry of a list; null: it is unknown. */
static int read_ppm(const json_t *list, const char *key, uint32_t i, int64_t max, uint32_t *ret,
                    struct err *err)
{
    const json_t *v = json_array_get(list, i);
    const int64_t ppm = json_is_integer(v) ? json_integer_value(v) : -1;
    *ret = json_is_null(v) ? EVALUATION_UNKNOWN : (uint32_t)ppm;
    return json_is_null(v) || (ppm >= 0 && ppm <= max)
               ? 0
               : err_set(err, EPROTO, "'%s': entry %u is not from 0 to %lld", key, i,
                         (long long)max);
}

/* `losses` may be NULL. */
static int read_evaluation(const json_t *times, const json_t *accuracies, const json_t *losses,
                           struct evaluations *e, struct err *err)
{
    const json_t *t = json_array_get(times, e->n);
    const int64_t t_ms = json_is_integer(t) ? json_integer_value(t) : -1;
    struct evaluation *added = &e->list[e->n];
    const int64_t before_ms = e->n == 0 ? 0 : e->list[e->n - 1].t_ms;
    if (t_ms < before_ms || t_ms > e->end_ms) {
        return err_set(err, EPROTO, "'t_ms': entry %u is not a time that rises up to 'end_ms'",
                       e->n);
    }
    *added = (struct evaluation){.t_ms = t_ms, .loss_ppm = EVALUATION_UNKNOWN};
    int r = read_ppm(accuracies, "accuracy_ppm", e->n, EVALUATION_PPM, &added->accuracy_ppm, err);
    if (r >= 0 && losses != NULL) {
        r = read_ppm(losses, "loss_ppm", e->n, INT64_C(1) * EVALUATION_LOSS_MAX * EVALUATION_PPM,
                     &added->loss_ppm, err);
    }
    if (r >= 0 && added->accuracy_ppm == EVALUATION_UNKNOWN &&
        added->loss_ppm == EVALUATION_UNKNOWN) {
        r = err_set(err, EPROTO, "entry %u has neither an accuracy nor a loss", e->n);
    }
    e->n++;
    return r;
}

static int read_evaluations(const json_t *o, struct evaluations **ret, struct err *err)
{
    struct evaluations e = {0};
    const json_t *times = json_object_get(o, "t_ms");
    const json_t *accuracies = json_object_get(o, "accuracy_ppm");
    const json_t *losses = json_object_get(o, "loss_ppm");
    const size_t n = json_array_size(times); /* 0: no array */
    int r = record_read_members(o, &record_evaluations_members, &e, err);
    if (r >= 0 && (n == 0 || n > EVALUATIONS_MAX || json_array_size(accuracies) != n ||
                   (losses != NULL && json_array_size(losses) != n))) {
        return err_set(err, EPROTO,
                       "'t_ms', 'accuracy_ppm' and 'loss_ppm' are not lists of the same 1 to %d "
                       "entries",
                       EVALUATIONS_MAX);
    }
    while (r >= 0 && e.n < n) {
        r = read_evaluation(times, accuracies, losses, &e, err);
    }
    if (r >= 0) {
        e.n_of_last = e.k;
        *ret = xnew(struct evaluations);
        **ret = e;
    }
    return r;
}

int record_set_object(const struct record_member *m, void *at, const json_t *v, struct err *err)
{
    if (!json_is_object(v)) {
        return err_set(err, EPROTO, "'%s' is not an object", m->key);
    }
    if (m->kind == MEMBER_TREE) {
        *(json_t **)at = json_incref((json_t *)v);
        return 0;
    }
    const int r = m->kind == MEMBER_OBJECT        ? record_read_members(v, m->members, at, err)
                  : m->kind == MEMBER_EVALUATIONS ? read_evaluations(v, at, err)
                                                  : metrics_from_json(v, METRICS_MAX, at, err);
    return r < 0 ? err_wrap(err, r, "'%s'", m->key) : 0;
}

static int read_member(const json_t *v, const struct record_member *m, void *at, struct err *err)
{
    switch (m->kind) {
    case MEMBER_32:
    case MEMBER_COUNT:
    case MEMBER_TIME:
        return read_whole(v, m, at, err);
    case MEMBER_NUMBER:
        *(double *)at = json_is_number(v) ? json_number_value(v) : NAN;
        return v == NULL || json_is_null(v) || json_is_number(v)
                   ? 0
                   : err_set(err, EPROTO, "'%s' is neither a number nor null", m->key);
    case MEMBER_FLAG:
        *(bool *)at = json_is_true(v);
        return json_is_boolean(v) ? 0
                                  : err_set(err, EPROTO, "'%s' is neither true nor false", m->key);
    case MEMBER_WORD:
    case MEMBER_TEXT:
    case MEMBER_NAME:
    case MEMBER_DIGEST:
        return read_text(v, m, at, err);
    case MEMBER_TREE:
    case MEMBER_OBJECT:
    case MEMBER_EVALUATIONS:
    case MEMBER_METRICS:
        return record_set_object(m, at, v, err);
    case MEMBER_SERIES:
        return series_read(json_string_value(v), at, err);
    }
    return 0;
}

int record_read_members(const json_t *o, const struct record_members *members, void *into,
                        struct err *err)
{
    for (const struct record_member *m = members->list; m < members->list + members->n; m++) {
        const json_t *v = json_object_get(o, m->key);
        if (v == NULL && m->is_required) {
            return err_set(err, EPROTO, "'%s' is missing", m->key);
        }
        if (v == NULL && m->kind != MEMBER_NUMBER) {
            continue;
        }
        const int r = read_member(v, m, (char *)into + m->offset, err);
        if (r < 0) {
            return r;
        }
    }
    return members->check == NULL ? 0 : members->check(o, into, err);
}

static int read_record(const json_t *o, struct record *r, struct err *err)
{
    const json_t *version = json_object_get(o, "benchd");
    if (json_integer_value(version) != RECORD_VERSION) {
        return err_set(err, EPROTO, "version %lld, this program reads version %d",
                       (long long)json_integer_value(version), RECORD_VERSION);
    }
    const int result = record_read_members(o, &record_head_members, r, err);
    return result < 0 ? result
                      : record_read_members(o, record_type_members[r->type], &r->start, err);
}

/* Whether a text that is no whole JSON object claims to be a record: our key, as record.c spells
 * it, anywhere in it. The output of another thread may precede it or be inside it. */
static bool claims(const char *line, size_t len)
{
    static const char key[] = "{\"benchd\":";
    return memmem(line, len, key, sizeof(key) - 1) != NULL;
}

int record_read(const char *line, size_t len, struct record *ret, struct err *err)
{
    if (len > RECORD_LINE_MAX_BYTES) {
        return !claims(line, RECORD_LINE_MAX_BYTES)
                   ? 0
                   : err_set(err, EPROTO, "record: line of %zu bytes exceeds %d", len,
                             RECORD_LINE_MAX_BYTES);
    }
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
    const int r = read_record(o, &record, err);
    json_decref(o);
    if (r < 0) {
        record_done(&record);
        return err_wrap(err, r, "record");
    }
    *ret = record;
    return 1;
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
