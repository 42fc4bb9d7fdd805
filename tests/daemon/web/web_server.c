/* Serves the runs of a store as benchd would: web_server STORE_URL [ACTIVE_RUN [big]]. Prints its
 * address, ends when stdin does, and prints then how late its loop was at most and how
 * much it worked between two beats, in ns. A run that is not finished is taken for one
 * that is driven; ACTIVE_RUN, which may be finished, shows a step of trainer 0 as if it
 * were. The line "phase NAME" on stdin puts it into that phase; a final phase ends it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/web/web.h"
#include "fake_daemon.h"
#include "store/store.h"

struct served {
    struct run_row *rows;
    size_t n_rows;
    struct run_def **defs;
    struct store *store;
    struct fake_daemon daemon;
    struct daemon_view *view;
};

static int load(struct served *s, const char *active, struct err *err)
{
    int r = s->store->ops->list_runs(s->store, &s->rows, &s->n_rows, err);
    s->defs = r < 0 ? NULL : xnew_array(struct run_def *, s->n_rows + 1);
    for (size_t i = 0; r >= 0 && i < s->n_rows; i++) {
        struct run_row *row = &s->rows[i];
        _cleanup_(run_row_done) struct run_row whole = {0};
        r = s->store->ops->get_run(s->store, row->uid, &whole, err);
        r = r < 0 ? r : store_load_run_def(&whole, &s->defs[i], err);
        struct fake_run *run = vec_push(&s->daemon.runs);
        *run = (struct fake_run){
            .name = row->name,
            .uid = row->uid,
            .benchmark = row->benchmark,
            .def = s->defs[i],
            .created_unix_ms = row->created_unix_ms,
            .status = &row->status,
            .is_active = !run_phase_is_final(row->status.phase),
            .is_stored = true,
        };
        if (active != NULL && str_eq(row->name, active)) {
            run->is_active = true;
            run->wait = (struct daemon_wait){"QuotaExceeded", clock_unix_ms()};
            run->advanced_unix_ms = run->wait.since_unix_ms;
            row->status.has_current = true;
            run->progress = (struct daemon_progress){
                .is_known = true,
                .id = {.role = ROLE_TRAINER},
                .step = 3,
                .step_ns = 250000000,
                .samples = 16,
                .loss = 2.25,
                .seen_unix_ms = clock_unix_ms(),
            };
        }
    }
    return r;
}

/* Runs whose names are so long that /metrics is none of the small responses,
 * which are always sent. */
#define N_LONG 16
#define LONG_NAME 253

static void add_long_names(struct served *s)
{
    static char names[N_LONG][LONG_NAME + 1];
    static const struct run_status queued = {.phase = RUN_QUEUED};
    for (size_t i = 0; i < N_LONG; i++) {
        memset(names[i], (int)('a' + i), LONG_NAME);
        *vec_push(&s->daemon.runs) = (struct fake_run){
            .name = names[i], .uid = names[i], .benchmark = "long", .status = &queued};
    }
}

/* Five leave readers less room than that needs. */
#define BIG_LOG (((size_t)64 << 20) / 5 - 8192)
#define BIG_TEXT (3 << 20) /* of its start record: its document is sent packed */

/* More than one reader's socket holds. No run is driven meanwhile: readers may take all the CPU
 * that it costs, which is much under a sanitizer. */
static int add_big_log(struct served *s, struct err *err)
{
    s->daemon.facts.runs[RUN_RUNNING] = 0;
    _cleanup_(freep) char *text = xmalloc(BIG_LOG);
    memset(text, 'x', BIG_LOG);
    _cleanup_(attempt_row_done) struct attempt_row row = {.id.number = 7, .outcome = ATTEMPT_VOID};
    const struct replica_id id = {.attempt.number = 7, .role = ROLE_TRAINER};
    const struct replica_log log = {id, text, BIG_LOG};
    json_auto_t *environment = json_pack("{s:s%}", "pad", text, (size_t)BIG_TEXT);
    *vec_push(&row.replicas) = (struct replica_row){
        .id = id, .log_bytes = BIG_LOG, .environment = environment_of(environment, NULL, NULL)};
    struct store *store = s->store;
    const struct trial_terms terms = run_def_terms(s->defs[0], 0);
    return store->ops->save_attempt(store, s->rows[0].uid, &row, &terms, &log, 1, NULL, err);
}

static void unload(struct served *s)
{
    for (size_t i = 0; i < s->n_rows; i++) {
        run_def_free(s->defs[i]);
        run_row_done(&s->rows[i]);
    }
    free(s->defs);
    free(s->rows);
    fake_daemon_done(&s->daemon);
    daemon_view_free(s->view);
    store_close(s->store);
}

/* The loop's own pulse, as the Lease's timer would beat in benchd. */
#define PULSE_MS 5
#define BUSY_NS 10000000
struct pulse {
    uv_timer_t timer;
    int64_t last_ns, last_cpu_ns;
    int64_t late_ns; /* the most beyond PULSE_MS between two beats */
    int n_busy;      /* between how many it was on the CPU for more than BUSY_NS */
};

static void on_pulse(uv_timer_t *timer)
{
    struct pulse *p = timer->data;
    const int64_t now_ns = clock_monotonic_ns(), cpu_ns = clock_thread_cpu_ns();
    const int64_t late_ns = now_ns - p->last_ns - PULSE_MS * INT64_C(1000000);
    if (p->last_ns != 0) {
        p->late_ns = late_ns > p->late_ns ? late_ns : p->late_ns;
        p->n_busy += cpu_ns - p->last_cpu_ns > BUSY_NS;
    }
    p->last_ns = now_ns;
    p->last_cpu_ns = cpu_ns;
}

/* Figures of benchd itself, which tests/dashboards/test_queries.py knows. */
static void set_figures(struct daemon_facts *f)
{
    static const char *const resources[DAEMON_N_WATCHES] = {"benchmarks", "benchmarkruns", "pods"};
    f->counters.started_unix_ms = clock_unix_ms();
    f->is_leader = true;
    f->runs[RUN_QUEUED] = 3;
    f->runs[RUN_RUNNING] = 1;
    f->space =
        (struct store_space){.bytes = 5000000, .disk_bytes = 80000000, .disk_free_bytes = 20000000};
    for (unsigned i = 0; i < DAEMON_N_WATCHES; i++) {
        f->watches[i].resource = resources[i];
        f->watches[i].stats.lists = 1;
    }
}

/* The same work again and again, of which one in ten is slow: rates and
 * quantiles have an answer. */
static void work(struct daemon_facts *f)
{
    char path[] = "/api/v1/namespaces/x/pods";
    const struct kube_request req = {.method = KUBE_POST, .path = path};
    for (unsigned i = 0; i < 10; i++) {
        const struct kube_response res = {.http_code = i == 0 ? 429 : 201};
        histogram_add(&f->turns, i == 0 ? 300000000 : 100000);
        histogram_add(&f->statements, i == 0 ? 90000000 : 100000);
        kube_traffic_count(&f->kube.traffic, &req, &res, i == 0 ? 3000000000 : 10000000);
    }
    f->watches[2].stats.watches++;
}

#define WORK_MS 100
struct worker {
    struct served *served;
    uv_timer_t timer;
};

static void on_work(uv_timer_t *timer)
{
    const struct worker *worker = timer->data;
    work(&worker->served->daemon.facts);
    fake_daemon_publish(&worker->served->daemon, worker->served->view);
}

struct serving {
    struct web *web;
    struct worker worker;
    struct pulse pulse;
    struct buf line; /* of stdin, so far */
};

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    static char text[64];
    (void)handle, (void)size;
    *buf = uv_buf_init(text, sizeof(text));
}

static void obey(struct served *s, const char *line)
{
    struct fake_run *run = NULL;
    vec_each (struct fake_run, r, &s->daemon.runs) {
        run = r->is_active || r->progress.is_known ? r : run;
    }
    char phase[32] = "";
    if (run == NULL || sscanf(line, "phase %31s", phase) != 1) {
        return;
    }
    struct run_status *st = (struct run_status *)run->status; /* a row's, see load */
    const int to = run_phase_from_string(phase);
    st->phase = to < 0 ? st->phase : (enum run_phase)to;
    run->is_active = !run_phase_is_final(st->phase);
    fake_daemon_publish(&s->daemon, s->view);
}

/* What is read: lines. */
static void take_lines(struct serving *serving, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (data[i] != '\n') {
            buf_putc(&serving->line, data[i]);
            continue;
        }
        obey(serving->worker.served, buf_cstr(&serving->line));
        buf_clear(&serving->line);
    }
}

static void on_stdin(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    if (n > 0) {
        take_lines(stream->data, buf->base, (size_t)n);
    }
    if (n < 0) {
        struct serving *serving = stream->data;
        uv_close((uv_handle_t *)stream, NULL);
        uv_close((uv_handle_t *)&serving->pulse.timer, NULL);
        uv_close((uv_handle_t *)&serving->worker.timer, NULL);
        web_free(serving->web);
    }
}

static int serve(struct served *s, const char *store_url, struct err *err)
{
    uv_loop_t loop;
    uv_pipe_t in;
    struct serving serving = {.worker = {.served = s}};
    (void)uv_loop_init(&loop);
    s->view = daemon_view_new();
    fake_daemon_publish(&s->daemon, s->view);
    const struct web_params params = {.view = s->view,
                                      .store_url = store_url,
                                      .listen = "127.0.0.1:0",
                                      .tls_cert = getenv("TLS_CERT"),
                                      .tls_key = getenv("TLS_KEY"),
                                      .read_key = getenv("READ_KEY")};
    int r = web_new(&params, &serving.web, err);
    if (r >= 0) {
        printf("%s\n", web_address(serving.web));
        fflush(stdout);
        (void)uv_pipe_init(&loop, &in, 0);
        (void)uv_pipe_open(&in, 0);
        in.data = &serving;
        (void)uv_read_start((uv_stream_t *)&in, on_alloc, on_stdin);
        (void)uv_timer_init(&loop, &serving.pulse.timer);
        serving.pulse.timer.data = &serving.pulse;
        (void)uv_timer_start(&serving.pulse.timer, on_pulse, PULSE_MS, PULSE_MS);
        (void)uv_timer_init(&loop, &serving.worker.timer);
        serving.worker.timer.data = &serving.worker;
        (void)uv_timer_start(&serving.worker.timer, on_work, WORK_MS, WORK_MS);
        (void)uv_run(&loop, UV_RUN_DEFAULT); /* till everything is closed */
        buf_done(&serving.line);
        printf("%lld %d\n", (long long)serving.pulse.late_ns, serving.pulse.n_busy);
    }
    return uv_loop_close(&loop) == 0 ? r : err_set(err, EBUSY, "a handle was left open");
}

int main(int argc, char **argv)
{
    struct served s = {0};
    struct err err = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: web_server STORE_URL [ACTIVE_RUN [big]]\n");
        return 2;
    }
    int r = store_open(argv[1], false, &s.store, &err);
    if (r >= 0) {
        set_figures(&s.daemon.facts);
        r = load(&s, argc > 2 ? argv[2] : NULL, &err);
        if (r >= 0 && argc > 3) {
            add_long_names(&s);
            r = add_big_log(&s, &err);
        }
        r = r < 0 ? r : serve(&s, argv[1], &err);
        unload(&s);
    }
    if (r < 0) {
        fprintf(stderr, "web_server: %s\n", err.msg);
    }
    return r < 0;
}
