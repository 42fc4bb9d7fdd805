/* benchctl try FILE in a cluster: for each system of the definition, it creates a BenchmarkRun of
 * the smallest point and reads the logs of its pods until they have a figure. It is deleted then,
 * whatever came of it. See cluster_internal.h. Edge file: libuv. */
#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "ctl/cluster/cluster_internal.h"
#include "ctl/try/try_common.h"
#include "kube/json.h"
#include "kube/log_cursor.h"
#include "pod/facts.h"
#include "run/log_reader.h"
#include "spec/log_rule.h"

#define POLL_MS 500
#define LOG_BYTES_MAX ((uint64_t)1 << 20) /* of a pod, from its beginning */
#define REPORT_WAIT_MS 15000              /* for benchd to serve what it wrote into the object */
/* Should this program be killed, benchd ends the run and deletes it by itself. */
#define ORPHAN_DEADLINE_S 120
#define ORPHAN_TTL_S 60

struct trying {
    struct cluster *c;
    struct try_options options;
    uv_signal_t signals[CLUSTER_N_SIGNALS];
    bool is_interrupted;
    /* of one trial */
    struct try_trial *trial; /* borrowed; `seen` is of the last look at the logs */
    const char *name;        /* of its BenchmarkRun; borrowed */
    int64_t end_ns;
    bool has_log;
    bool is_gone; /* somebody else has deleted it */
    struct run_status status;
};

/* ---- waiting ---- */

static void on_signal(uv_signal_t *handle, int signum)
{
    (void)signum;
    struct trying *t = handle->data;
    t->is_interrupted = true;
}

/* A signal ends it early. Nothing else happens in the loop until then. */
static void wait_a_moment(struct trying *t)
{
    (void)poll(NULL, 0, POLL_MS);
    (void)uv_run(&t->c->loop, UV_RUN_NOWAIT); /* calls on_signal */
}

/* ---- logs ---- */

/* Of a pod, as a launcher would have seen it. */
struct reading {
    struct trying *t;
    struct replica_id id;
    struct log_reader *log; /* NULL: the system's replicas write records */
    struct kube_log_cursor cursor;
    struct buf text; /* without time stamps */
    bool is_enough;
};

static void on_step(void *ctx, const struct record *record)
{
    struct reading *r = ctx;
    r->is_enough |= try_seen_record(&r->t->trial->seen, &r->id, record);
}

static void on_line(void *ctx, const char *line, size_t len)
{
    struct reading *r = ctx;
    const size_t begin = r->text.len;
    buf_append(&r->text, line, len);
    buf_putc(&r->text, '\n');
    const struct replica_text text = {.data = r->text.data + begin,
                                      .len = len + 1,
                                      .t_ns = r->cursor.last_ns > 0 ? r->cursor.last_ns : 0};
    r->is_enough |= try_seen_output(&r->t->trial->seen, &r->id, &text);
    struct record record;
    if (r->log != NULL) {
        log_reader_feed(r->log, LOG_STDOUT, r->text.data + begin, len + 1, r->cursor.last_ns);
    } else if (record_read(line, len, &record, NULL) > 0) {
        on_step(r, &record);
        record_done(&record);
    }
}

static bool read_log(struct trying *t, uint32_t index, const char *text, size_t len)
{
    struct reading r = {
        .t = t,
        .id = {.role = point_leading_role(&t->trial->small->matrix.points[0]), .index = index}};
    const struct log_parser_params params = log_rule_params(t->trial->small, &r.id);
    r.log = params.rule == NULL ? NULL : log_reader_new(&params, &r.id, on_step, &r);
    kube_log_cursor_init(&r.cursor, 0, on_line, &r);
    kube_log_cursor_feed(&r.cursor, text, len);
    kube_log_cursor_end(&r.cursor, true);
    kube_log_cursor_done(&r.cursor);
    log_reader_free(r.log);
    buf_done(&r.text);
    return r.is_enough;
}

static int64_t index_of(const json_t *pod)
{
    const json_t *labels = json_object_get(json_object_get(pod, "metadata"), "labels");
    const char *text = json_string_value(json_object_get(labels, "benchd.io/replica-index"));
    int64_t index;
    return text != NULL && parse_i64_in(text, 0, SPEC_MAX_REPLICAS, &index) == 0 ? index : -1;
}

/* 1: enough is known now. A pod whose container has not begun has no log yet. */
static int look_at_pod(struct trying *t, const json_t *pod, struct err *err)
{
    const struct kube_log_options options = {
        .container = json_string_value(json_object_get(pod_main_container(pod), "name")),
        .timestamps = true,
        .limit_bytes = LOG_BYTES_MAX,
    };
    const int64_t index = index_of(pod);
    struct kube_request req;
    _cleanup_(cluster_answer_done) struct cluster_answer a = {0};
    if (index < 0) {
        return 0;
    }
    kube_request_log(t->c->ns, kube_json_metadata(pod, "name"), &options, &req);
    const int r = cluster_call(t->c, t->c->client, &req, &a);
    if (r < 0) {
        *err = a.err;
        return r == -EACCES ? r : 0;
    }
    t->has_log = t->has_log || a.body.len > 0;
    return read_log(t, (uint32_t)index, buf_cstr(&a.body), a.body.len);
}

/* All logs anew: they are small, and so nothing must be remembered. */
static int look_at_logs(struct trying *t, struct err *err)
{
    _cleanup_(freep) char *selector =
        xasprintf("benchd.io/run=%s,benchd.io/role=%s", t->name,
                  role_to_string(point_leading_role(&t->trial->small->matrix.points[0])));
    json_auto_t *list = NULL;
    int r = cluster_get_list(t->c, &kube_pods, t->c->ns, selector, &list, err);
    if (r < 0) {
        return r == -EACCES ? r : 0; /* the next look may succeed */
    }
    struct try_seen *seen = &t->trial->seen;
    const struct try_seen before = *seen;
    try_seen_done(seen);
    try_seen_init(seen, t->trial->small, before.steps);
    seen->unpaced_steps = before.unpaced_steps;
    seen->learns = before.learns;
    const json_t *items = json_object_get(list, "items");
    r = 0;
    for (size_t i = 0; i < json_array_size(items) && r >= 0; i++) {
        const int one = look_at_pod(t, json_array_get(items, i), err);
        r = one < 0 || one > 0 ? one : r;
    }
    return r;
}

/* ---- the run ---- */

/* -ENOENT: it is gone. */
static int look_at_run(struct trying *t, struct err *err)
{
    json_auto_t *object = NULL;
    const int r = cluster_get_object(t->c, &kube_benchmark_runs, t->name, &object, err);
    if (r >= 0) {
        object_read_status(object, &t->status);
    }
    return r == -ENOENT || r == -EACCES ? r : 0; /* others pass */
}

static int watch(struct trying *t, enum try_end *ret, struct err *err)
{
    for (;;) {
        int r = look_at_run(t, err);
        if (r >= 0 && run_phase_is_final(t->status.phase)) {
            *ret = TRY_ENDED;
            return 0;
        }
        r = r < 0 ? r : look_at_logs(t, err);
        if (r < 0) {
            return r;
        }
        if (r > 0 || t->is_interrupted || clock_monotonic_ns() >= t->end_ns) {
            *ret = t->is_interrupted ? TRY_INTERRUPTED : r > 0 ? TRY_ENOUGH : TRY_TIMED_OUT;
            return 0;
        }
        wait_a_moment(t);
    }
}

struct stored {
    struct cluster *c;
    const struct loaded_run *run;
};

static bool get_log(void *ctx, const struct replica_id *id, struct buf *out)
{
    const struct stored *stored = ctx;
    return cluster_get_log(&stored->c->backend, stored->run, id, out) == EXIT_OK;
}

/* benchd writes the object before it can be asked for the end. */
static int load_ended(struct trying *t, struct loaded_run *ret, struct err *err)
{
    const int64_t end_ns = clock_monotonic_ns() + REPORT_WAIT_MS * INT64_C(1000000);
    for (;;) {
        const int r = cluster_load_document(t->c, t->name, &t->status, ret, err);
        const bool is_there = r >= 0 && (ret->result == NULL || ret->n_rows > 0);
        if (is_there || t->is_interrupted || clock_monotonic_ns() >= end_ns) {
            return r;
        }
        if (r >= 0) {
            loaded_run_done(ret);
        }
        wait_a_moment(t);
    }
}

/* It came to its own end: benchd has its figures, or says why it has no figures. */
static enum exit_code take_ended(struct trying *t)
{
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    struct err err = {0};
    const int r = load_ended(t, &run, &err);
    if (r < 0) {
        return cli_error(cluster_exit_code(r), NULL, "run/%s has ended (%s): %s", t->name,
                         run_phase_to_string(t->status.phase), err.msg);
    }
    struct stored stored = {t->c, &run};
    if (run.result == NULL || run.n_rows == 0) {
        buf_printf(&t->trial->out, "%s\n",
                   t->status.message[0] == '\0' ? "no trial was started" : t->status.message);
    } else {
        try_take_result(t->trial, run.result, get_log, &stored);
    }
    return EXIT_OK;
}

static enum exit_code conclude(struct trying *t)
{
    struct try_trial *trial = t->trial;
    if (trial->end == TRY_ENDED) {
        return take_ended(t);
    }
    if (t->has_log) {
        trial->has_figure = try_seen_format(&trial->seen, &trial->out);
    } else {
        buf_printf(&trial->out, "no pod has printed anything%s%s\n",
                   t->status.message[0] == '\0' ? "" : "; ", t->status.message);
    }
    return EXIT_OK;
}

static enum exit_code follow(struct trying *t)
{
    struct err err = {0};
    t->end_ns = clock_monotonic_ns() + t->options.timeout_ms * INT64_C(1000000);
    t->has_log = t->is_gone = false;
    t->status = (struct run_status){0};
    const int r = watch(t, &t->trial->end, &err);
    t->is_gone = r == -ENOENT;
    return r == -ENOENT ? cli_error(EXIT_NOT_FOUND, NULL, "run/%s was deleted", t->name)
           : r < 0      ? cluster_error(r, &err)
                        : conclude(t);
}

/* ---- one trial ---- */

static enum exit_code remove_run(struct trying *t, const char *name)
{
    _cleanup_(freep) char *done = NULL;
    const enum exit_code code = cluster_delete_run(&t->c->backend, name, &done);
    if (code != EXIT_OK && code != EXIT_NOT_FOUND) {
        cli_note(t->c->backend.cli, "run/%s is left: benchctl delete %s %s", name, name,
                 t->c->backend.where);
    }
    return code;
}

static enum exit_code run_trial(void *ctx, struct try_trial *trial)
{
    struct trying *t = ctx;
    const struct spec *spec = trial->small->spec;
    const struct object_run_params params = {.benchmark = spec->name,
                                             .definition = spec->definition};
    _cleanup_(freep) char *name = NULL;
    enum exit_code code = cluster_create_run(t->c, &params, &name);
    if (code == EXIT_OK) {
        t->trial = trial;
        t->name = name;
        code = follow(t);
    }
    if (name != NULL && !t->is_gone) {
        const enum exit_code removed = remove_run(t, name);
        code = code == EXIT_OK ? removed : code;
    }
    return code;
}

enum exit_code cluster_try(struct backend *b)
{
    _cleanup_(cluster_source_done) struct cluster_source source = {0};
    struct trying t = {.c = (struct cluster *)b};
    enum exit_code code = try_options_take(b->cli, &t.options);
    code = code == EXIT_OK ? cluster_source_open(t.c, &source) : code;
    code = code == EXIT_OK ? cluster_find_benchd(t.c) : code;
    if (code == EXIT_OK) {
        const bool has_profiles = source.is_builtin || !source.is_reference;
        const struct try_params params = {
            .cli = b->cli,
            .def = source.def,
            .profiles = has_profiles ? &source.profiles : NULL,
            .options = &t.options,
            .deadline_s = t.options.timeout_ms / 1000 + ORPHAN_DEADLINE_S,
            .ttl_s = ORPHAN_TTL_S,
            .run = run_trial,
            .ctx = &t,
        };
        cluster_signals_start(t.c, t.signals, on_signal, &t);
        code = try_each_system(&params);
        cluster_signals_close(t.c, t.signals);
    }
    return code;
}
