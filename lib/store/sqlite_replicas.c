/* Replicas in the SQLite store: a row each, with a column for every member of a summary
 * (core/record_members.c) under the name of its JSON key, that of an object in front. What a
 * replica does not say is NULL. Environments are there once per run. */
#include "store/sqlite_store.h"

#include <errno.h>
#include <math.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/environment.h"
#include "core/record_members.h"
#include "result/replicas.h"

/* The columns before those of the summary. */
#define HEAD                                                                                       \
    "point, trial, attempt, role, replica_index, exit_code, signal, failure, log_bytes, "          \
    "environment, host, node, cpu_mhz, steps_sum_s, steps_fall, steps_median_ns, reading"
enum { ROLE_AT = 3, ENVIRONMENT_AT = 9, SUMMARY_AT = 17 };

#define SUMMARY_MEMBERS record_type_members[RECORD_SUMMARY]

/* ---- statements ---- */

/* ", KEY" of each column. Returns how many there are. */
static int put_columns(const struct record_members *members, const char *prefix, struct buf *out)
{
    int n = 0;
    for (const struct record_member *m = members->list; m < members->list + members->n; m++) {
        if (m->kind == MEMBER_OBJECT) {
            _cleanup_(freep) char *inner = xasprintf("%s%s_", prefix, m->key);
            n += put_columns(m->members, inner, out);
        } else {
            buf_printf(out, ", %s%s", prefix, m->key);
            n++;
        }
    }
    return n;
}

void replicas_finalize(struct sqlite_store *s)
{
    sqlite3_finalize(s->insert_replica); /* NULL is fine */
    sqlite3_finalize(s->select_replicas);
    sqlite3_finalize(s->select_attempts);
    s->insert_replica = s->select_replicas = s->select_attempts = NULL;
    for (size_t i = 0; i < COUNT_OF(s->environments.list); i++) {
        json_decref(s->environments.list[i].facts);
        s->environments.list[i].facts = NULL;
    }
}

/* Statements with so many columns take longer to prepare than to run: the store keeps them. */
static int prepare_insert(struct sqlite_store *s, struct err *err)
{
    _cleanup_(buf_done) struct buf sql = BUF_INIT;
    if (s->insert_replica != NULL) {
        return 0;
    }
    buf_puts(&sql, "INSERT INTO replica (run_uid, step_ns, " HEAD);
    const int n = put_columns(SUMMARY_MEMBERS, "", &sql);
    buf_puts(&sql, ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
                   "(SELECT id FROM environment WHERE run_uid = ?1 AND facts = ?12), ?13, ?14, "
                   "?15, ?16, ?17, ?18, ?19");
    for (int i = 0; i < n; i++) {
        buf_puts(&sql, ", ?");
    }
    buf_puts(&sql, ")");
    return sql_prepare(s, &s->insert_replica, err, buf_cstr(&sql), "");
}

static int prepare_select(struct sqlite_store *s, struct err *err)
{
    _cleanup_(buf_done) struct buf sql = BUF_INIT;
    if (s->select_replicas != NULL) {
        return 0;
    }
    buf_puts(&sql, "SELECT " HEAD);
    (void)put_columns(SUMMARY_MEMBERS, "", &sql);
    buf_puts(&sql, " FROM replica WHERE run_uid = ? AND point BETWEEN ? AND ? AND "
                   "trial BETWEEN ? AND ? AND attempt BETWEEN ? AND ? "
                   "ORDER BY point, trial, attempt, role, replica_index");
    return sql_prepare(s, &s->select_replicas, err, buf_cstr(&sql), "");
}

/* ---- writing ---- */

static int bind_json(sqlite3_stmt *q, int at, json_t *value_take)
{
    _cleanup_(freep) char *text =
        value_take == NULL ? NULL : json_dumps(value_take, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(value_take);
    return sqlite3_bind_text(q, at, text, -1, SQLITE_TRANSIENT);
}

static int bind_text(sqlite3_stmt *q, int at, const char *text)
{
    return sqlite3_bind_text(q, at, text, -1, SQLITE_STATIC); /* NULL: null */
}

/* As a record writes it: a count too large is the largest, a negative time 0. */
static int bind_member(sqlite3_stmt *q, int at, const struct record_member *m, const void *value)
{
    switch (m->kind) {
    case MEMBER_32:
        return sqlite3_bind_int64(q, at,
                                  m->least < 0 ? (int64_t) * (const int32_t *)value
                                               : (int64_t) * (const uint32_t *)value);
    case MEMBER_COUNT:
        return sqlite3_bind_int64(
            q, at, *(const int64_t *)value < 0 ? INT64_MAX : *(const int64_t *)value);
    case MEMBER_TIME:
        return sqlite3_bind_int64(q, at, *(const int64_t *)value < 0 ? 0 : *(const int64_t *)value);
    case MEMBER_NUMBER:
        return isfinite(*(const double *)value) ? sqlite3_bind_double(q, at, *(const double *)value)
                                                : sqlite3_bind_null(q, at);
    case MEMBER_FLAG:
        return sqlite3_bind_int64(q, at, *(const bool *)value);
    case MEMBER_WORD:
        return bind_text(
            q, at,
            m->words[m->size == sizeof(bool) ? *(const bool *)value : *(const unsigned *)value]);
    case MEMBER_TEXT:
    case MEMBER_NAME:
    case MEMBER_DIGEST:
        return bind_text(q, at, *(char *const *)value);
    case MEMBER_TREE:
    case MEMBER_OBJECT:
    case MEMBER_EVALUATIONS:
    case MEMBER_METRICS:
        return bind_json(q, at, record_member_to_json(m, value));
    case MEMBER_SERIES: {
        const struct series *series = value;
        return sqlite3_bind_blob64(q, at, series->data, SERIES_BYTES(series->n), SQLITE_STATIC);
    }
    }
    return SQLITE_MISUSE;
}

/* `from` NULL: the object is not there. */
static int bind_members(sqlite3_stmt *q, int *at, const struct record_members *members,
                        const char *from)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; i < members->n && rc == SQLITE_OK; i++) {
        const struct record_member *m = &members->list[i];
        const char *value = from != NULL && record_has_member(m, from) ? from + m->offset : NULL;
        if (m->kind == MEMBER_OBJECT) {
            rc = bind_members(q, at, m->members, value);
        } else {
            rc = value == NULL ? sqlite3_bind_null(q, *at) : bind_member(q, *at, m, value);
            ++*at;
        }
    }
    return rc;
}

static int insert_replica(struct sqlite_store *s, const char *uid, const struct replica_row *rep,
                          const char *facts, struct err *err)
{
    const struct environment *e = &rep->environment;
    const struct step_times steps = step_times_of(rep->summary);
    const double step_ns = replica_speed_of(rep->id.role, rep->summary, &steps).step_ns;
    _cleanup_(freep) char *reading = json_dumps(rep->reading, JSON_COMPACT); /* NULL of NULL */
    sqlite3_stmt *q = s->insert_replica;
    int at = 2 + SUMMARY_AT + 1;
    int r = sql_bind(s, q, err, "sriiisiiisisssrrrrs", uid, step_ns > 0 ? step_ns : NAN,
                     (int64_t)rep->id.attempt.point, (int64_t)rep->id.attempt.trial,
                     (int64_t)rep->id.attempt.number, role_to_string(rep->id.role),
                     (int64_t)rep->id.index, (int64_t)rep->exit_code, (int64_t)rep->signal,
                     rep->failure, (int64_t)rep->log_bytes, facts, e->host, e->node,
                     e->cpu_mhz > 0 ? e->cpu_mhz : NAN, steps.sum_s, steps.fall, steps.median_ns,
                     reading);
    const int rc = bind_members(q, &at, SUMMARY_MEMBERS, (const char *)rep->summary);
    r = r < 0 ? r : rc != SQLITE_OK ? sql_error(s, rc, err) : sql_step(s, q, err);
    if (r < 0 && sqlite3_extended_errcode(s->db) == SQLITE_CONSTRAINT_PRIMARYKEY) {
        r = err_set(err, ENOTRECOVERABLE, "%s/%u is there twice", role_to_string(rep->id.role),
                    rep->id.index);
    }
    sql_rest(q);
    return r;
}

int replicas_insert(struct sqlite_store *s, const char *uid, const struct attempt_row *row,
                    struct err *err)
{
    int r = prepare_insert(s, err);
    _cleanup_(freep) char *before = NULL; /* most replicas have the same facts */
    vec_each (const struct replica_row, rep, &row->replicas) {
        const json_t *own = rep->environment.facts;
        char *facts = own == NULL ? NULL : record_environment_canonical(own);
        if (r >= 0 && facts != NULL && (before == NULL || !str_eq(before, facts))) {
            r = sql_run(s, err,
                        "INSERT INTO environment (run_uid, facts) VALUES (?, ?) "
                        "ON CONFLICT DO NOTHING",
                        "ss", uid, facts);
        }
        r = r < 0 ? r : insert_replica(s, uid, rep, facts, err);
        free(before);
        before = facts;
    }
    return r < 0 ? r : 0;
}

/* ---- reading ---- */

static int read_series(sqlite3_stmt *q, int at, struct series *ret, struct err *err)
{
    const size_t len = SERIES_BYTES(ret->n);
    if ((size_t)sqlite3_column_bytes(q, at) != len) {
        return err_set(err, EPROTO, "'data' is not %zu bytes", len);
    }
    ret->data = xmemdup(sqlite3_column_blob(q, at), len);
    return 0;
}

static int read_member(sqlite3_stmt *q, int at, const struct record_member *m, void *value,
                       struct err *err)
{
    switch (m->kind) {
    case MEMBER_32:
    case MEMBER_COUNT:
    case MEMBER_TIME:
        return record_set_whole(m, value, sqlite3_column_int64(q, at), err);
    case MEMBER_NUMBER:
        *(double *)value = sqlite3_column_double(q, at);
        return isfinite(*(double *)value) ? 0 : err_set(err, EPROTO, "'%s' is infinite", m->key);
    case MEMBER_FLAG:
        *(bool *)value = sqlite3_column_int64(q, at) == 1;
        return *(bool *)value ? 0 : err_set(err, EPROTO, "'%s' is not 1", m->key);
    case MEMBER_WORD:
    case MEMBER_TEXT:
    case MEMBER_NAME:
    case MEMBER_DIGEST:
        return record_set_text(m, value, (const char *)sqlite3_column_text(q, at), err);
    case MEMBER_TREE:
    case MEMBER_OBJECT:
    case MEMBER_EVALUATIONS:
    case MEMBER_METRICS: {
        const char *text = (const char *)sqlite3_column_text(q, at);
        json_auto_t *o = text == NULL ? NULL : json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        return record_set_object(m, value, o, err);
    }
    case MEMBER_SERIES:
        return read_series(q, at, value, err);
    }
    return 0;
}

/* Of a column that is NULL: may the member be without a value, as those before it are? */
static bool may_be_null(const struct record_member *m, const char *into)
{
    switch (m->kind) {
    case MEMBER_NUMBER:
        return true;
    case MEMBER_TEXT:
    case MEMBER_NAME:
    case MEMBER_DIGEST:
        return !m->is_required;
    default:
        return m->guard.size > 0 && !record_has_member(m, into);
    }
}

static int read_column(sqlite3_stmt *q, int at, const struct record_member *m, char *into,
                       struct err *err)
{
    const bool is_null = sqlite3_column_type(q, at) == SQLITE_NULL;
    if (into == NULL) {
        return is_null ? 0 : err_set(err, EPROTO, "'%s' is there alone", m->key);
    }
    if (!is_null) {
        return read_member(q, at, m, into + m->offset, err);
    }
    if (m->kind == MEMBER_NUMBER) {
        *(double *)(into + m->offset) = NAN;
    }
    return may_be_null(m, into) ? 0 : err_set(err, EPROTO, "'%s' is missing", m->key);
}

/* As record_read_members; an object that is not there has no first column, and no other. */
static int read_members(sqlite3_stmt *q, int *at, const struct record_members *members, char *into,
                        struct err *err)
{
    int r = 0;
    for (size_t i = 0; i < members->n && r >= 0; i++) {
        const struct record_member *m = &members->list[i];
        if (m->kind == MEMBER_OBJECT) {
            const bool is_there =
                into != NULL && (m->guard.size == 0 || sqlite3_column_type(q, *at) != SQLITE_NULL);
            r = read_members(q, at, m->members, is_there ? into + m->offset : NULL, err);
            if (r >= 0 && is_there && !record_has_member(m, into)) {
                r = err_set(err, EPROTO, "'%s' says nothing", m->key);
            }
        } else {
            r = read_column(q, (*at)++, m, into, err);
        }
    }
    return r < 0 || into == NULL || members->check == NULL ? r : members->check(NULL, into, err);
}

/* Borrowed until the next call. */
static int read_facts(struct sqlite_store *s, int64_t id, json_t **ret, struct err *err)
{
    struct environment_cache *cache = &s->environments;
    for (size_t i = 0; i < COUNT_OF(cache->list); i++) {
        if (cache->list[i].facts != NULL && cache->list[i].id == id) {
            *ret = cache->list[i].facts;
            return 0;
        }
    }
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    const int r = sql_first(s, &q, err, "SELECT facts FROM environment WHERE id = ?", "i", id);
    json_t *facts = r > 0 ? environment_parse((const char *)sqlite3_column_text(q, 0)) : NULL;
    if (facts == NULL) {
        return r < 0 ? r : sql_damaged(s, err, "the environment of a replica");
    }
    json_decref(cache->list[cache->next].facts);
    cache->list[cache->next].id = id;
    *ret = cache->list[cache->next].facts = facts;
    cache->next = (cache->next + 1) % COUNT_OF(cache->list);
    return 0;
}

/* The columns before the summary. */
static int read_head(struct sqlite_store *s, sqlite3_stmt *q, struct replica_row *rep,
                     struct err *err)
{
    struct environment *e = &rep->environment;
    struct step_times *steps = &rep->steps;
    int64_t environment;
    const char *role, *reading;
    int r = sql_read(s, q, ROLE_AT, err, "buiinclttpprpb", &role, &rep->id.index, &rep->exit_code,
                     &rep->signal, &rep->failure, &rep->log_bytes, &environment, &e->host, &e->node,
                     &e->cpu_mhz, &steps->sum_s, &steps->fall, &steps->median_ns, &reading);
    if (r < 0) {
        return r;
    }
    const int kind = role == NULL ? -1 : role_from_string(role);
    const bool has_start = sqlite3_column_type(q, ENVIRONMENT_AT) != SQLITE_NULL;
    const bool is_placed = e->host != NULL || e->node != NULL || !isnan(e->cpu_mhz);
    rep->id.role = (enum role)kind;
    e->cpu_mhz = isnan(e->cpu_mhz) ? 0 : e->cpu_mhz;
    utf8_mend(rep->failure); /* what programs printed; as all documents have it */
    rep->reading = environment_parse(reading);
    if (kind < 0) {
        return sql_damaged(s, err, "unknown role of a replica");
    }
    if (rep->reading == NULL && reading != NULL) {
        return sql_damaged(s, err, "the reading of a log");
    }
    if (!has_start) {
        return is_placed ? sql_damaged(s, err, "the place of a replica") : 0;
    }
    r = read_facts(s, environment, &e->facts, err);
    json_incref(e->facts); /* NULL is fine */
    return r;
}

/* Adds the replica to row->replicas; on error, maybe a part of it. */
static int read_replica(struct sqlite_store *s, sqlite3_stmt *q, struct attempt_row *row,
                        struct err *err)
{
    struct replica_row *rep = vec_push(&row->replicas);
    struct err fault = {0};
    *rep = (struct replica_row){.id.attempt = row->id, .is_stored = true};
    int at = SUMMARY_AT;
    int r = read_head(s, q, rep, err);
    rep->summary = sqlite3_column_type(q, at) == SQLITE_NULL || r < 0 ? NULL : xnew(struct summary);
    if (r >= 0 && read_members(q, &at, SUMMARY_MEMBERS, (char *)rep->summary, &fault) < 0) {
        _cleanup_(freep) char *what = xasprintf("the summary of a replica: %s", fault.msg);
        r = sql_damaged(s, err, what);
    }
    return r;
}

/* Both lists have the same order: one walk puts the replicas into their attempts. */
static int read_all(struct sqlite_store *s, sqlite3_stmt *q, struct attempt_row *rows, size_t n,
                    struct err *err)
{
    int r;
    size_t i = 0;
    while ((r = sql_step(s, q, err)) > 0) {
        struct attempt_id id;
        if ((r = sql_read(s, q, 0, err, "uuu", &id.point, &id.trial, &id.number)) < 0) {
            return r;
        }
        while (i < n && !attempt_id_eq(&rows[i].id, &id)) {
            i++;
        }
        r = i == n ? sql_damaged(s, err, "replicas without their attempt")
                   : read_replica(s, q, &rows[i], err);
        if (r < 0) {
            return r;
        }
    }
    return r;
}

int replicas_read(struct sqlite_store *s, const char *uid, const struct attempt_range *range,
                  struct attempt_row *rows, size_t n, struct err *err)
{
    int r = prepare_select(s, err);
    if (r < 0) {
        return r;
    }
    sqlite3_stmt *q = s->select_replicas;
    r = sql_bind(s, q, err, "siiiiii", uid, range->low[0], range->high[0], range->low[1],
                 range->high[1], range->low[2], range->high[2]);
    r = r < 0 ? r : read_all(s, q, rows, n, err);
    sql_rest(q);
    return r;
}
