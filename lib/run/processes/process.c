/* One replica as a local process, see process.h. */
#include "run/processes/process.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/texts.h"
#include "core/environment.h"
#include "core/record.h"
#include "core/summary.h"
#include "host/host.h"

static void replace_take(char **slot, char *value)
{
    free(*slot);
    *slot = value;
}

/* The quickest on its way shows best when the measured steps began. */
static void note_step(struct process *p, const struct record_step *step)
{
    const int64_t now_ns = clock_monotonic_ns(), from_ns = now_ns - step->t_ns;
    if (!step->warmup) {
        const bool is_quickest = p->measured_from_ns == 0 || from_ns < p->measured_from_ns;
        p->measured_from_ns = is_quickest ? from_ns : p->measured_from_ns;
        p->measured_to_ns = now_ns;
    }
}

/* `said` is what the program says of its environment, or of it the machine. */
static void set_environment(struct process *p, const json_t *said)
{
    json_auto_t *all = json_copy((json_t *)said);
    (void)json_object_update_missing(all, p->identity);      /* NULL adds nothing, */
    (void)json_object_set(all, "versions", p->end.versions); /* here neither */
    environment_done(&p->environment);
    p->environment = environment_of(all, p->node, NULL);
}

static void keep_record(struct process *p, const struct record *record)
{
    p->has_record = true;
    switch (record->type) {
    case RECORD_START:
        set_environment(p, record->start.environment);
        break;
    case RECORD_SUMMARY:
        summary_free(p->end.summary);
        p->end.summary = summary_copy(&record->summary);
        p->measured_to_ns = p->measured_to_ns != 0 ? p->measured_to_ns : clock_monotonic_ns();
        break;
    case RECORD_ERROR:
        replace_take(&p->error_message, xstrdup(record->error.message));
        p->has_blamed = record_read_peer(record->error.peer, &p->blamed_role, &p->blamed_index);
        break;
    case RECORD_STEP:
        note_step(p, &record->step);
        break;
    }
}

static void on_line(void *ctx, const char *line, size_t len)
{
    struct process *p = ctx;
    struct record record;
    struct err err;
    if (p->log != NULL) {
        return; /* stream_read has given it the bytes */
    }
    int r = line[0] == '{' ? record_read(line, len, &record, &err) : 0;
    if (r < 0 && p->end.why == NULL) {
        p->end.why = xasprintf("damaged record: %s", err.msg);
    }
    if (r <= 0) {
        return;
    }
    const struct record_who *who = &record.who;
    if (who->role != p->id.role || who->index != p->id.index ||
        who->attempt != p->id.attempt.number) {
        if (p->end.why == NULL) {
            p->end.why = xasprintf("a record claims to be from %s/%u of attempt %u",
                                   role_to_string(who->role), who->index, who->attempt);
        }
    } else {
        keep_record(p, &record);
        if (p->launcher->on_record != NULL && !p->is_removed) {
            p->launcher->on_record(p->launcher->ctx, &p->id, &record);
        }
    }
    record_done(&record);
}

/* A step that its log rule has found. */
static void on_step(void *ctx, const struct record *record)
{
    struct process *p = ctx;
    note_step(p, &record->step);
    if (p->launcher->on_record != NULL && !p->is_removed) {
        p->launcher->on_record(p->launcher->ctx, &p->id, record);
    }
}

struct process *process_new(uv_loop_t *loop, struct launcher *launcher, const struct replica_id *id,
                            char **argv_take, char **envp_take, const char *node,
                            size_t log_max_bytes, const struct log_parser_params *log)
{
    struct process *p = xnew(struct process);
    p->launcher = launcher;
    p->loop = loop;
    p->id = *id;
    p->argv = argv_take;
    p->envp = envp_take;
    p->node = node;
    p->state = REPLICA_PENDING;
    p->exit_code = -1;
    p->streams[0].fd = p->streams[1].fd = -1;
    capture_init(&p->capture, log_max_bytes, on_line, p);
    p->log_params = *log;
    p->log_params.role = id->role;
    p->log = log->rule == NULL ? NULL : log_reader_new(log, id, on_step, p);
    return p;
}

static void process_free(struct process *p)
{
    str_list_free(p->argv);
    str_list_free(p->envp);
    capture_done(&p->capture);
    log_reader_free(p->log);
    free(p->message);
    log_reader_end_done(&p->end);
    environment_done(&p->environment);
    free(p->error_message);
    free(p->cpus);
    json_decref(p->identity);
    free(p);
}

static void handle_closed(struct process *p)
{
    p->n_handles--;
    if (p->is_closing && p->n_handles == 0) {
        process_free(p);
    }
}

static void on_poll_closed(uv_handle_t *handle)
{
    handle_closed(((struct process_stream *)handle->data)->owner);
}

static void on_timer_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

static void stream_close(struct process_stream *s)
{
    if (s->fd >= 0) {
        uv_close((uv_handle_t *)&s->poll, on_poll_closed);
        fd_close(&s->fd);
    }
}

static void take_output(struct process *p, enum capture_stream which, const char *data, size_t len)
{
    const struct replica_text text = {which == CAPTURE_STDERR, data, len, clock_monotonic_ns()};
    p->output_unix_ms = clock_steady_unix_ms();
    capture_feed(&p->capture, which, data, len);
    if (p->launcher->on_output != NULL && !p->is_removed) {
        p->launcher->on_output(p->launcher->ctx, &p->id, &text);
    }
    if (p->log != NULL) {
        const enum log_reader_steps before = log_reader_steps(p->log);
        log_reader_feed(p->log, text.is_stderr ? LOG_STDERR : LOG_STDOUT, data, len, text.t_ns);
        if (log_reader_steps(p->log) != before && p->launcher->on_change != NULL) {
            p->launcher->on_change(p->launcher->ctx);
        }
    }
}

/* Reads at most `budget` bytes. False: the stream has ended, or nothing more is there now. */
static bool stream_read(struct process_stream *s, size_t budget)
{
    char chunk[65536];
    while (s->fd >= 0 && budget > 0) {
        ssize_t n = read(s->fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return false;
        }
        if (n <= 0) {
            stream_close(s);
            return false;
        }
        take_output(s->owner, s->which, chunk, (size_t)n);
        budget -= (size_t)n < budget ? (size_t)n : budget;
    }
    return true;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct process_stream *s = poll->data;
    (void)status;                    /* an error shows as the end of the stream when read */
    (void)events;                    /* only READABLE was asked for */
    (void)stream_read(s, 4 * 65536); /* the rest keeps the handle readable; others go first */
}

static int stream_open(struct process *p, enum capture_stream which, int fd)
{
    struct process_stream *s = &p->streams[which];
    int r = uv_poll_init(p->loop, &s->poll, fd);
    if (r < 0) {
        (void)close(fd); /* a pipe's read end */
        return r;
    }
    s->poll.data = s;
    s->fd = fd;
    s->which = which;
    s->owner = p;
    p->n_handles++;
    return uv_poll_start(&s->poll, UV_READABLE, on_readable);
}

void process_fail_start(struct process *p, int code, const char *message)
{
    p->state = REPLICA_FAILED;
    p->failure = launcher_classify_errno(code);
    p->ended_unix_ms = clock_steady_unix_ms();
    replace_take(&p->message, xstrdup(message));
}

void process_start(struct process *p, const struct child_params *how)
{
    struct err err;
    int r = child_spawn(how, &p->child, &err);
    if (r < 0) {
        process_fail_start(p, -r, err.msg);
        return;
    }
    p->is_alive = true;
    p->state = REPLICA_RUNNING;
    p->started_unix_ms = p->output_unix_ms = clock_steady_unix_ms();
    r = stream_open(p, CAPTURE_STDOUT, p->child.out_fd);
    int r2 = stream_open(p, CAPTURE_STDERR, p->child.err_fd);
    if (r < 0 || r2 < 0) {
        (void)err_set_errno(&err, r < 0 ? -r : -r2, "watch the output");
        process_fail_start(p, err.code, err.msg);
        child_signal(&p->child, CHILD_KILL);
    }
}

static char *describe_end(const struct process *p)
{
    if (p->signal != 0) {
        return xasprintf("killed by signal %d", p->signal);
    }
    const char *words =
        p->error_message != NULL ? p->error_message : capture_last_words(&p->capture);
    if (p->exit_code == 0) {
        return xstrdup_or_null(p->end.why);
    }
    if (p->has_blamed) {
        return xstrdup(words);
    }
    return *words == '\0' ? xasprintf("exit code %d", p->exit_code)
                          : xasprintf("exit code %d: %s", p->exit_code, words);
}

/* A program that wrote a record uses records: no log rule applies to its log. The first trainer's
 * output is used for those of all: trying the rules takes some 10 ms of the loop. */
static void explain_silence(struct process *p)
{
    const bool is_unread = p->log == NULL && p->end.why == NULL && !p->has_record;
    if (p->id.role != ROLE_PSERVER && p->id.index == 0 && p->end.summary == NULL &&
        (p->log != NULL || is_unread)) {
        size_t len;
        const char *text = capture_text(&p->capture, &len);
        p->end.why = log_reader_advise(p->end.why, text, len, &p->log_params);
    }
}

static void end_log(struct process *p)
{
    capture_end(&p->capture);
    if (p->log != NULL) {
        log_reader_end(p->log, clock_monotonic_ns(), &p->end);
        p->measured_to_ns = p->measured_to_ns == 0 ? clock_monotonic_ns() : p->measured_to_ns;
    }
}

void process_complete(struct process *p)
{
    stream_close(&p->streams[0]);
    stream_close(&p->streams[1]);
    end_log(p);
    p->ended_unix_ms = clock_steady_unix_ms();
    p->exit_code = 0;
    p->state = REPLICA_SUCCEEDED;
    replace_take(&p->message, describe_end(p));
}

static void finish(struct process *p, int status)
{
    p->is_alive = false;
    if (p->state == REPLICA_SUCCEEDED) {
        return; /* it was completed before */
    }
    for (int i = 0; i < 2; i++) {
        /* All it wrote is in the pipe. A process that escaped may go on writing: read a bounded
         * amount. */
        (void)stream_read(&p->streams[i], (size_t)16 << 20);
        stream_close(&p->streams[i]);
    }
    end_log(p);
    if (p->state == REPLICA_FAILED) {
        return; /* its output could not be watched, so it was killed */
    }
    p->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    p->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    p->ended_unix_ms = clock_steady_unix_ms();
    bool is_ok = p->signal == 0 && p->exit_code == 0;
    if (is_ok) {
        explain_silence(p);
    }
    p->state = is_ok ? REPLICA_SUCCEEDED : REPLICA_FAILED;
    p->failure = is_ok ? FAILURE_NONE : failure_classify_exit(p->exit_code, p->signal, false);
    replace_take(&p->message, describe_end(p));
}

bool process_is_reapable(const struct process *p)
{
    siginfo_t info = {0};
    return p->is_alive &&
           waitid(P_PID, (id_t)p->child.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0;
}

bool process_reap(struct process *p)
{
    int status = 0;
    if (!p->is_alive || waitpid(p->child.pid, &status, WNOHANG) != p->child.pid) {
        return false;
    }
    finish(p, status);
    return true;
}

static void on_grace_over(uv_timer_t *timer)
{
    struct process *p = timer->data;
    if (p->is_alive) {
        child_signal(&p->child, CHILD_KILL);
    }
}

void process_end(struct process *p)
{
    if (!p->is_alive || p->is_removed) {
        return;
    }
    child_signal(&p->child, CHILD_TERM);
    (void)uv_timer_init(p->loop, &p->kill_timer); /* cannot fail */
    p->kill_timer.data = p;
    p->n_handles++;
    uv_update_time(
        p->loop); /* a slow store may have blocked the loop: the grace period starts now */
    /* Cannot fail: the callback is not NULL and the handle is not closing. */
    (void)uv_timer_start(&p->kill_timer, on_grace_over, PROCESS_TERM_GRACE_MS, 0);
}

/* Waits until the child has ended or the deadline has passed. False: this kernel has no pidfds. */
static bool wait_for_end(pid_t pid, int64_t deadline_ns)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0); /* glibc has a function for it only since 2.36 */
    if (fd < 0) {
        return false;
    }
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    int r;
    do {
        int64_t left_ms = (deadline_ns - clock_monotonic_ns()) / 1000000;
        r = poll(&ended, 1, left_ms > 0 ? (int)left_ms : 0);
    } while (r < 0 && errno == EINTR); /* SIGCHLD, for one */
    (void)close(fd);                   /* nothing was written */
    return true;
}

void process_wait(struct process *p, int64_t deadline_ns)
{
    if (!p->is_alive) {
        return;
    }
    /* A child that hangs in the kernel past the deadline is left to init. */
    int flags = wait_for_end(p->child.pid, deadline_ns) ? WNOHANG : 0;
    int status = 0;
    if (waitpid(p->child.pid, &status, flags) == p->child.pid) {
        finish(p, status);
    }
}

void process_close(struct process *p)
{
    p->is_closing = true;
    stream_close(&p->streams[0]);
    stream_close(&p->streams[1]);
    if (p->kill_timer.data != NULL) {
        uv_close((uv_handle_t *)&p->kill_timer, on_timer_closed);
    }
    if (p->n_handles == 0) {
        process_free(p);
    }
}

bool process_measured(const struct process *p, int64_t *ret_from_ns, int64_t *ret_to_ns,
                      double *ret_throughput)
{
    const struct summary *s = p->end.summary;
    if (!summary_is_usable(s)) {
        return false;
    }
    const bool has_begin = p->log == NULL && p->measured_from_ns != 0;
    *ret_from_ns = has_begin ? p->measured_from_ns : p->measured_to_ns - s->duration_ns;
    *ret_to_ns = *ret_from_ns + s->duration_ns;
    *ret_throughput = summary_throughput(s);
    return true;
}

static int64_t unix_ms_of(int64_t monotonic_ns)
{
    return monotonic_ns == 0
               ? 0
               : clock_steady_unix_ms() - (clock_monotonic_ns() - monotonic_ns) / 1000000;
}

void process_observe(const struct process *p, struct observed_replica *ret)
{
    const bool has_ended = replica_state_is_final(p->state);
    *ret = (struct observed_replica){
        .id = p->id,
        .state = p->state,
        .failure = p->failure,
        .exit_code = p->exit_code,
        .ended_unix_ms = p->ended_unix_ms,
        .started_unix_ms = p->started_unix_ms,
        .seen_unix_ms = p->started_unix_ms,
        .measured_from_unix_ms = has_ended ? unix_ms_of(p->measured_from_ns) : 0,
        .measured_to_unix_ms = has_ended ? unix_ms_of(p->measured_to_ns) : 0,
        .output_unix_ms = p->output_unix_ms,
        .summary = p->end.summary,
        .has_log_rule = p->log != NULL,
        .message = p->message,
        .has_blamed = p->has_blamed,
        .blamed_role = p->blamed_role,
        .blamed_index = p->blamed_index,
    };
}

void process_output(struct process *p, struct replica_output *ret)
{
    if (p->environment.facts == NULL) { /* without a start record: the machine, but not its CPUs */
        json_auto_t *here = host_environment("");
        (void)json_object_del(here, "cpuset"); /* it is there */
        if (p->cpus != NULL) {
            (void)json_object_set_new(here, "cpuset", json_string(p->cpus)); /* ASCII */
        }
        set_environment(p, here);
    }
    int64_t from_ns, to_ns;
    double throughput;
    const bool has_measured =
        p->measured_to_ns != 0 && process_measured(p, &from_ns, &to_ns, &throughput);
    *ret = (struct replica_output){
        .measured_to_unix_ms = has_measured ? unix_ms_of(to_ns) : 0,
        .summary = p->end.summary,
        .environment = &p->environment,
        .reading = p->end.reading,
        .exit_code = p->exit_code,
        .signal = p->signal,
        .failure = p->message,
    };
    ret->log = capture_text(&p->capture, &ret->log_len);
}
