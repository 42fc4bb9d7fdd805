/* Records of a replica, see report.h. */
#include "worker/report.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/build_info.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/mem.h"
#include "config.h"
#include "worker/comm/nccl/nccl_api.h"
#include "worker/kernels/blas.h"

#define RETRY_MS 10

void report_init(struct report *r, const struct role_env *e)
{
    *r = (struct report){
        .who = {e->role, (uint32_t)e->index, (uint32_t)e->attempt},
        .summary_file = e->summary_file,
        .summary = {.loss_first = NAN, .loss_last = NAN},
        .watch.pid = getpid(),
    };
    (void)pthread_mutex_init(&r->mutex, NULL); /* default attributes: cannot fail */
}

void report_done(struct report *r)
{
    (void)pthread_mutex_destroy(&r->mutex);
    cpu_watch_done(&r->watch);
    summary_done(&r->summary);
    vec_done(&r->step_ns);
}

static int write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -errno;
        }
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Writes the line and frees it. */
static int put_line(struct report *r, struct buf *line, struct err *err)
{
    (void)pthread_mutex_lock(&r->mutex); /* cannot fail: initialised, not recursive */
    int code = write_all(STDOUT_FILENO, line->data, line->len);
    (void)pthread_mutex_unlock(&r->mutex);
    buf_done(line);
    return code < 0 ? err_set_errno(err, -code, "write a record to stdout") : 0;
}

int report_start(struct report *r, const struct role_env *e, struct err *err)
{
    json_auto_t *o = host_environment("");
    const bool is_nccl = e->transport == EXCHANGE_TRANSPORT_NCCL && e->n_trainers > 1;
    _cleanup_(freep) char *nccl = is_nccl ? nccl_version_here() : NULL;
    const struct {
        const char *key;
        json_t *value;
    } rows[] = {
        {"blas", json_string(blas_config())},
        {"blas_core", json_string(blas_core())},
        {"cpu_features", json_string(cpu_features())},
        {"denormals", json_string(cpu_flushes_denormals() ? "Zero" : "Kept")},
        {"threads", json_integer(e->role != ROLE_PSERVER ? e->threads : e->server_threads)},
        {"build", json_string("benchworker " BENCHD_VERSION)},
        {"source", json_string(build_source())},
        {"compiler", json_string(build_compiler())},
        {"build_options", json_string(build_options())},
        {"model", json_string(e->model_name)},
        {"seed", json_integer(e->seed)},
        {"flops_per_sample", json_integer((json_int_t)model_def_flops_per_sample(e->model))},
        {"compute", e->is_emulated ? json_string("Emulated") : NULL},
        {"nccl", json_string(nccl)}, /* json_string returns NULL for NULL */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        (void)json_object_set_new(o, rows[i].key, rows[i].value); /* omits NULL */
    }
    host_digest(o, r->environment_digest);
    struct buf line = BUF_INIT;
    record_write_start(&line, &r->who, o);
    return put_line(r, &line, err);
}

void report_lap(struct record_step *step, enum phase phase, int64_t *at_ns)
{
    const int64_t now_ns = clock_monotonic_ns();
    step->phase_ns[phase] = now_ns - *at_ns;
    *at_ns = now_ns;
}

static void count_step(struct report *r, const struct record_step *step)
{
    struct summary *s = &r->summary;
    s->loss_first = s->steps == 0 ? step->loss : s->loss_first;
    s->loss_last = step->loss;
    s->steps++;
    *vec_push(&r->step_ns) = step->step_ns;
    s->samples += step->samples;
    s->bytes_tx += step->bytes_tx;
    s->bytes_rx += step->bytes_rx;
    for (int i = 0; i < PHASE_COUNT; i++) {
        s->phase_ns[i] += step->phase_ns[i];
    }
    s->duration_ns = step->t_ns;
    s->cpu_ns = r->barrier_cpu_ns == 0 ? 0 : clock_process_cpu_ns() - r->barrier_cpu_ns;
}

int report_step(struct report *r, const struct record_step *step, struct err *err)
{
    struct buf line = BUF_INIT;
    if (!step->warmup) {
        count_step(r, step);
    }
    record_write_step(&line, &r->who, step);
    return put_line(r, &line, err);
}

void report_barrier(struct report *r)
{
    r->barrier_cpu_ns = clock_process_cpu_ns();
    cpu_watch_look("", &r->watch, 0);
}

void report_aside_begin(struct report *r)
{
    const uint64_t max_rss_bytes = host_max_rss_bytes();
    r->max_rss_bytes = max_rss_bytes > r->max_rss_bytes ? max_rss_bytes : r->max_rss_bytes;
}

void report_measured(struct report *r)
{
    cpu_watch_look("", &r->watch, 1);
}

static int put_file(const char *path, const struct buf *line, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        return err_set_errno(err, errno, "summary file '%s'", path);
    }
    int code = write_all(fd, line->data, line->len);
    if (close(fd) < 0 && code == 0) {
        code = -errno;
    }
    return code < 0 ? err_set_errno(err, -code, "summary file '%s'", path) : 0;
}

int report_summary(struct report *r, struct err *err)
{
    struct summary *s = &r->summary;
    const struct cpu_count c = cpu_watch_between(&r->watch, 0, 1);
    s->throttled_ns = c.throttling.time_ns;
    s->throttled_periods = c.throttling.periods;
    s->noise.busy_ns = c.cpus.busy_ns;
    s->noise.steal_ns = c.cpus.steal_ns;
    s->noise.cpu_run_ns = c.is_known ? c.run_ns : 0;
    s->noise.cpu_wait_ns = c.is_known && c.run_ns > 0 ? c.wait_ns : 0;
    report_aside_begin(r); /* the last look at the peak */
    s->max_rss_bytes = r->max_rss_bytes;
    s->environment_digest = r->environment_digest[0] == '\0' ? NULL : r->environment_digest;
    _cleanup_(buf_done) struct buf line = BUF_INIT;
    summary_set_series(s, r->step_ns.items, r->step_ns.len);
    record_write_summary(&line, &r->who, s);
    summary_drop_series(s);
    s->environment_digest = NULL; /* it was borrowed */
    const int result = r->summary_file != NULL ? put_file(r->summary_file, &line, err) : 0;
    return result < 0 ? result : put_line(r, &line, err);
}

/* False if the other thread has not released the mutex by then: its write is stuck. */
static bool lock_in_time(struct report *r)
{
    for (int waited_ms = 0; waited_ms < REPORT_PATIENCE_MS; waited_ms += RETRY_MS) {
        if (pthread_mutex_trylock(&r->mutex) == 0) {
            return true;
        }
        (void)poll(NULL, 0, RETRY_MS); /* sleeps */
    }
    return pthread_mutex_trylock(&r->mutex) == 0;
}

/* Gives up if no reader makes room for the line. A pipe that is ready takes PIPE_BUF bytes without
 * a wait, and the line of an error is shorter. */
static void put_in_time(int fd, const struct buf *line)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    if (poll(&p, 1, REPORT_PATIENCE_MS) > 0) {
        (void)write_all(fd, line->data, line->len); /* the exit code says it too */
    }
}

int report_error(struct report *r, int exit_code, const char *peer, const char *message,
                 bool *ret_first)
{
    const bool is_locked = lock_in_time(r);
    const bool is_first = !is_locked || !r->failed;
    struct buf line = BUF_INIT;
    if (is_locked && is_first) {
        r->failed = true;
        record_write_error(&line, &r->who, exit_code, peer, message);
        put_in_time(STDOUT_FILENO, &line);
        buf_clear(&line);
    }
    if (is_first) {
        buf_printf(&line, "benchworker %s/%u: %s\n", role_to_string(r->who.role), r->who.index,
                   message);
        put_in_time(STDERR_FILENO, &line);
    }
    buf_done(&line);
    if (is_locked) {
        (void)pthread_mutex_unlock(&r->mutex);
    }
    if (ret_first != NULL) {
        *ret_first = is_first;
    }
    return exit_code;
}

int role_run(enum role role, int argc, char *const *argv,
             int (*run)(const struct role_env *e, struct report *r))
{
    struct role_env e;
    struct err err = {0};
    const int r = role_env_read(role, argc, argv, &e, &err);
    if (r < 0) {
        (void)fprintf(stderr, "benchworker %s: %s\n", role_to_string(role), err.msg);
        return EXIT_USAGE;
    }
    if (r > 0) {
        return EXIT_OK;
    }
    struct report report;
    report_init(&report, &e);
    const int code = run(&e, &report);
    report_done(&report);
    role_env_done(&e);
    return code;
}
