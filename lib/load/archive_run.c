/* See archive_run.h. */
#include "load/archive_run.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "config.h"
#include "core/attempt_json.h"
#include "core/json_field.h"
#include "report/sheets.h"
#include "result/result_build.h"
#include "store/run_document.h"

#define MAX_NAME 253 /* of an object in Kubernetes */
#define RECORDS "records.json"

/* ---- what follows from the records ---- */

/* What members are made of. */
struct parts {
    const struct loaded_run *run;
    /* Each once, with the replicas that say it, by the head of its SHA-256: there may be as many as
     * replicas, and their texts need more memory than there is. */
    VEC(struct environment {
        char key[16];
        uint32_t n;
    })
    environments;
};

static void put_json(json_t *document_take, struct buf *out)
{
    _cleanup_(freep) char *text = json_dumps(document_take, JSON_INDENT(1));
    json_decref(document_take);
    buf_printf(out, "%s\n", text == NULL ? "" : text);
}

static void make_definition(const struct parts *p, enum sheet_form form, struct buf *out)
{
    (void)form;
    put_json(json_incref(p->run->def->spec->definition), out);
}

static struct environment environment_of(const char *text)
{
    char sha256[ARCHIVE_SHA256_SIZE] = "";
    struct environment e = {.n = 1};
    (void)archive_sha256(text, strlen(text), sha256, NULL); /* members report it */
    memcpy(e.key, sha256, sizeof(e.key));
    return e;
}

static int compare_environments(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(((struct environment *)NULL)->key));
}

static void add_environments(struct parts *p, const struct attempt_row *row)
{
    vec_each (const struct replica_row, replica, &row->replicas) {
        if (replica->environment_json != NULL) {
            *vec_push(&p->environments) = environment_of(replica->environment_json);
        }
    }
}

static void count_environments(struct parts *p)
{
    struct environment *list = p->environments.items;
    size_t n = 0;
    array_sort(list, p->environments.len, sizeof(*list), compare_environments);
    vec_each (const struct environment, e, &p->environments) {
        if (n > 0 && compare_environments(&list[n - 1], e) == 0) {
            list[n - 1].n++;
        } else {
            list[n++] = *e;
        }
    }
    p->environments.len = n;
}

/* In the order in which they appear. A text that is no JSON stays a text. */
static void make_environment(const struct parts *p, enum sheet_form form, struct buf *out)
{
    (void)form;
    struct json_lists w;
    size_t left = p->environments.len;
    json_lists_begin(&w, NULL, 1, out);
    for (size_t i = 0; i < p->run->n_rows && left > 0; i++) {
        vec_each (const struct replica_row, replica, &loaded_run_row(p->run, i)->replicas) {
            const char *text = replica->environment_json;
            const struct environment key = environment_of(text == NULL ? "" : text);
            struct environment *e = bsearch(&key, p->environments.items, p->environments.len,
                                            sizeof(key), compare_environments);
            if (text != NULL && e != NULL && e->n > 0) {
                json_t *environment = json_loads(text, 0, NULL);
                environment = environment == NULL ? json_string(text) : environment;
                json_lists_add(&w, json_pack("{s:I, s:o}", "replicas", (json_int_t)e->n,
                                             "environment", environment));
                e->n = 0;
                left--;
            }
        }
    }
    json_lists_end(&w);
}

static void make_tables(const struct parts *p, enum sheet_form form, struct buf *out)
{
    struct sheet sheet;
    sheet_init(&sheet, form, NULL);
    sheet_points(&sheet, p->run->result);
    sheet_write(&sheet, out);
}

static const struct derived {
    const char *name;
    void (*make)(const struct parts *p, enum sheet_form form, struct buf *out);
    enum sheet_form form; /* of tables */
} derived[] = {
    {"definition.json", make_definition, 0},
    {"environment.json", make_environment, 0},
    {"tables/result.json", make_tables, SHEET_JSON},
    {"tables/points.csv", make_tables, SHEET_CSV},
    {"tables/results.md", make_tables, SHEET_MARKDOWN},
};
#define FIRST_LOG (1 + COUNT_OF(derived)) /* index of a member */

/* ---- writing ---- */

static char *log_name(const struct replica_id *id)
{
    return xasprintf("logs/p%ut%ua%u-%s-%u.log", id->attempt.point, id->attempt.trial,
                     id->attempt.number, role_to_string(id->role), id->index);
}

int archive_run_add_log(struct archive *a, const struct replica_id *id, const struct buf *log,
                        struct err *err)
{
    if (log->len == 0) {
        return 0;
    }
    _cleanup_(freep) char *name = log_name(id);
    buf_append(archive_begin_member(a, name), log->data, log->len);
    return archive_end_member(a, err);
}

/* And collects what else only the rows say, since each look at them reads them from the store. */
static void make_records(struct parts *p, json_t *document_take, struct buf *out,
                         struct replica_ids *with_log)
{
    struct json_lists w;
    json_lists_begin(&w, document_take, 1, out);
    json_lists_open(&w, "attempts");
    for (size_t i = 0; i < p->run->n_rows; i++) {
        const struct attempt_row *row = loaded_run_row(p->run, i);
        json_lists_add(&w, attempt_row_to_json(row));
        add_environments(p, row);
        vec_each (const struct replica_row, replica, &row->replicas) {
            if (replica->log_bytes > 0) {
                *vec_push(&with_log->list) = replica->id;
            }
        }
    }
    json_lists_end(&w);
    count_environments(p);
}

int archive_run_new(const struct loaded_run *run, const char *near, struct archive *ret,
                    struct replica_ids *with_log, struct err *err)
{
    struct archive a = {0};
    struct parts parts = {.run = run};
    json_t *document = run_document_to_json(&run->row, NULL, 0, run->events, run->n_events);
    if (document == NULL) {
        return err_set(err, EBADMSG, "run '%s': its stored definition is not JSON", run->row.name);
    }
    int r = archive_new(near, "benchctl " BENCHD_VERSION, run->row.name, &a, err);
    if (r < 0) {
        json_decref(document);
        return r;
    }
    make_records(&parts, document, archive_begin_member(&a, RECORDS), with_log);
    r = archive_end_member(&a, err);
    for (size_t i = 0; i < COUNT_OF(derived) && r >= 0; i++) {
        derived[i].make(&parts, derived[i].form, archive_begin_member(&a, derived[i].name));
        r = archive_end_member(&a, err);
    }
    vec_done(&parts.environments);
    r = r < 0 ? r : loaded_run_check_read(run, err);
    if (r < 0) {
        archive_done(&a);
        return r;
    }
    *ret = a;
    return 0;
}

/* ---- reading ---- */

/* Names go into lists and file names of whoever imports the run. */
static bool is_name(const char *text)
{
    const size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.");
    return len > 0 && len <= MAX_NAME && text[len] == '\0' && text[0] != '.' && text[0] != '-';
}

static int check_names(const struct loaded_run *run, struct err *err)
{
    if (!is_name(run->row.name) || !is_name(run->row.uid)) {
        return err_set(err, EPROTO, "the run has a name or a uid that no run has");
    }
    if (!str_eq(run->row.benchmark, run->def->spec->name)) {
        return err_set(err, EPROTO, "the run is of '%s', its definition is '%s'",
                       run->row.benchmark, run->def->spec->name);
    }
    return 0;
}

static int load_document(const struct buf *records, struct loaded_run *ret, struct err *err)
{
    struct run_document d = {0};
    int r = run_document_read(records, ARCHIVE_MAX_JSON_BYTES, &d, err);
    *ret = loaded_run_of_document(&d);
    if (r < 0) {
        return r;
    }
    if (ret->row.definition_json == NULL) {
        return err_set(err, EPROTO, "the run has no definition");
    }
    if (!run_phase_is_final(ret->row.status.phase)) {
        return err_set(err, EPROTO, "the run has not ended (%s)",
                       run_phase_to_string(ret->row.status.phase));
    }
    if (store_load_run_def(&ret->row, &ret->def, err) < 0) {
        err->code = EPROTO;
        return -EPROTO;
    }
    if ((r = check_names(ret, err)) < 0) {
        return r;
    }
    ret->result = result_build(ret->def, ret->row.status.phase, ret->rows, ret->n_rows);
    return 0;
}

int archive_run_load(const struct archive *a, struct loaded_run *ret, struct err *err)
{
    const struct buf *records = archive_find(a, RECORDS);
    if (records == NULL) {
        return err_set(err, EPROTO, "member '" RECORDS "' is missing");
    }
    struct loaded_run run;
    struct err own = {0};
    int r = load_document(records, &run, &own);
    if (r >= 0 && !str_eq(run.row.name, a->run)) {
        r = err_set(&own, EPROTO, "the run is '%s', the manifest says '%s'", run.row.name, a->run);
    }
    if (r < 0) {
        loaded_run_done(&run);
        return err_set(err, own.code, "member '" RECORDS "': %s", own.msg);
    }
    *ret = run;
    return 0;
}

const struct buf *archive_run_next_log(const struct archive *a, const struct replica_id *id,
                                       size_t *at)
{
    const size_t i = FIRST_LOG + *at;
    _cleanup_(freep) char *name = log_name(id);
    if (i >= a->members.len || !str_eq(a->members.items[i].name, name)) {
        return NULL;
    }
    (*at)++;
    return &a->members.items[i].data;
}

/* ---- checking ---- */

/* Whole numbers are counts, dates and sizes: no machine computes another one. */
static bool is_same_word(const char *a, size_t a_len, const char *b, size_t b_len)
{
    if (a_len == b_len && memcmp(a, b, a_len) == 0) {
        return true;
    }
    _cleanup_(freep) char *x_text = xstrndup(a, a_len), *y_text = xstrndup(b, b_len);
    double x, y;
    return (strpbrk(x_text, ".e") != NULL || strpbrk(y_text, ".e") != NULL) &&
           parse_f64(x_text, &x) == 0 && parse_f64(y_text, &y) == 0 &&
           fabs(x - y) <= 1e-9 * fmax(fabs(x), fabs(y));
}

static size_t word_len(const char *text)
{
    const size_t len = strspn(text, BUF_ALNUM ".-+");
    return len == 0 && text[0] != '\0' ? 1 : len;
}

/* Both end with a NUL after their bytes and have no other NUL: they are texts that we made, or
 * compared equal up to there. */
static bool is_same_text(const struct buf *ours, const struct buf *theirs)
{
    const char *a = buf_cstr(ours), *b = buf_cstr(theirs);
    const char *b_end = b + theirs->len;
    while (*a != '\0' && b < b_end) {
        const size_t a_len = word_len(a), b_len = word_len(b);
        if (b_len == 0 || !is_same_word(a, a_len, b, b_len)) {
            return false;
        }
        a += a_len;
        b += b_len;
    }
    return *a == '\0' && b == b_end;
}

static int check_derived(const struct archive *a, const struct parts *p, size_t i, struct err *err)
{
    const struct archive_member *m = &a->members.items[1 + i];
    struct buf ours = BUF_INIT;
    derived[i].make(p, derived[i].form, &ours);
    const bool is_same = is_same_text(&ours, &m->data);
    buf_done(&ours);
    return is_same ? 0
                   : err_set(err, EPROTO,
                             "member '%s' does not follow from " RECORDS " (written by %s)",
                             m->name, a->program);
}

static int check_order(const struct archive *a, struct err *err)
{
    for (size_t i = 0; i < FIRST_LOG; i++) {
        const char *expected = i == 0 ? RECORDS : derived[i - 1].name;
        if (i >= a->members.len || !str_eq(a->members.items[i].name, expected)) {
            return err_set(err, EPROTO, "member '%s' is missing, or not where it belongs",
                           expected);
        }
    }
    return 0;
}

int archive_run_check(const struct archive *a, const struct loaded_run *run, struct err *err)
{
    struct parts parts = {.run = run};
    for (size_t i = 0; i < run->n_rows; i++) {
        add_environments(&parts, &run->rows[i]);
    }
    count_environments(&parts);
    int r = check_order(a, err);
    for (size_t i = 0; i < COUNT_OF(derived) && r >= 0; i++) {
        r = check_derived(a, &parts, i, err);
    }
    vec_done(&parts.environments);
    size_t n_logs = 0;
    for (size_t i = 0; i < run->n_rows && r >= 0; i++) {
        vec_each (const struct replica_row, replica, &run->rows[i].replicas) {
            (void)archive_run_next_log(a, &replica->id, &n_logs); /* moves on where it is there */
        }
    }
    if (r >= 0 && FIRST_LOG + n_logs < a->members.len) {
        r = err_set(err, EPROTO,
                    "member '%s' belongs to no replica of the run, or is not where it belongs",
                    a->members.items[FIRST_LOG + n_logs].name);
    }
    return r;
}

/* ---- out of the store ---- */

static int add_log(struct store *s, const char *uid, const struct replica_id *id, struct archive *a,
                   struct err *err)
{
    _cleanup_(freep) char *text = NULL;
    size_t len = 0;
    const int r = s->ops->get_log(s, uid, id, &text, &len, err);
    return r >= 0         ? archive_run_add_log(a, id, &(struct buf){.data = text, .len = len}, err)
           : r == -ENOENT ? 0 /* it printed nothing */
                          : r;
}

int archive_store_pack(struct store *s, const char *uid, const char *near, struct buf *out,
                       struct err *err)
{
    struct run_row row = {0};
    struct loaded_run run = {0};
    _cleanup_(archive_done) struct archive a = {0};
    int r = s->ops->get_run(s, uid, &row, err);
    r = r < 0 ? r : loaded_run_read(s, &row, &run, err);
    struct replica_ids with_log = {0};
    r = r < 0 ? r : archive_run_new(&run, near, &a, &with_log, err);
    loaded_run_done(&run); /* compression needs memory, too */
    vec_each (const struct replica_id, id, &with_log.list) {
        r = r < 0 ? r : add_log(s, uid, id, &a, err);
    }
    vec_done(&with_log.list);
    return r < 0 ? r : archive_write(&a, out, err);
}

/* ---- into the store ---- */

struct ready { /* what save_attempt takes of one attempt */
    struct trial_terms terms;
    VEC(struct replica_log) logs; /* borrowed */
    struct packed_attempt *packed;
};

static int make_ready(const struct store_ops *ops, const struct archive *a,
                      const struct loaded_run *run, const struct attempt_row *row, size_t *at,
                      struct ready *ret, struct err *err)
{
    ret->terms = run_def_terms(run->def, row->id.point);
    vec_each (const struct replica_row, replica, &row->replicas) {
        const struct buf *text = archive_run_next_log(a, &replica->id, at);
        if (text != NULL) {
            *vec_push(&ret->logs) = (struct replica_log){replica->id, text->data, text->len};
        }
    }
    return ops->pack_attempt(row, &ret->terms, ret->logs.items, ret->logs.len, &ret->packed, err);
}

static int put_all(struct store *s, const struct loaded_run *run, const struct ready *ready,
                   struct err *err)
{
    int r = s->ops->put_run(s, &run->row, err);
    for (size_t i = 0; i < run->n_rows && r >= 0; i++) {
        r = s->ops->save_attempt(s, run->row.uid, &run->rows[i], &ready[i].terms,
                                 ready[i].logs.items, ready[i].logs.len, ready[i].packed, err);
    }
    for (size_t i = 0; i < run->n_events && r >= 0; i++) {
        r = s->ops->add_event(s, run->row.uid, &run->events[i], err);
    }
    return r;
}

/* What takes long is done before others have to wait. */
int archive_store_put(struct store *s, const struct archive *a, const struct loaded_run *run,
                      struct err *err)
{
    _cleanup_(freep) struct ready *ready = xnew_array(struct ready, run->n_rows);
    size_t at = 0;
    int r = 0;
    for (size_t i = 0; i < run->n_rows && r >= 0; i++) {
        r = make_ready(s->ops, a, run, &run->rows[i], &at, &ready[i], err);
    }
    if (r >= 0 && (r = s->ops->begin_write(s, err)) >= 0) {
        r = s->ops->end_write(s, put_all(s, run, ready, err), err);
    }
    for (size_t i = 0; i < run->n_rows; i++) {
        s->ops->free_packed(ready[i].packed);
        vec_done(&ready[i].logs);
    }
    return r;
}
