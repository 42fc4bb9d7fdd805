/* A credential plugin's process, see exec_plugin.h. Edge file: libuv, signals.
 *
 *   RUNNING --exits--> EXITED --its output ends, or 2 s later--> on_done, closing
 *      '-- too late, too much output --> KILLED --exits--> on_done, closing
 */
#include "kube/exec_plugin.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/texts.h"
#include "base/vec.h"

#define REST_MS 2000 /* for output after the end; a child of its own may hold the pipe */
#define TERM_MS 2000 /* between TERM and KILL */

#define FDS_WITHOUT_CLOSE_RANGE 4096 /* in kernels before 5.11 */

struct kube_plugin {
    struct kube_plugin_params params;
    uv_process_t process;
    uv_pipe_t out;
    uv_timer_t timer;
    unsigned n_handles; /* not yet closed */
    bool has_process;   /* the handle */
    bool has_exited, is_out_open;
    bool is_cancelled, is_over;
    bool is_term_sent;
    int64_t exit_code;
    int signal;
    struct buf output;
    struct err failure; /* why it was killed; code 0: it was not */
    char chunk[16384];
};

/* --- life --- */

static void on_handle_closed(uv_handle_t *handle)
{
    struct kube_plugin *p = handle->data;
    if (--p->n_handles > 0) {
        return;
    }
    void (*on_closed)(void *ctx) = p->params.on_closed;
    void *ctx = p->params.ctx;
    buf_done(&p->output);
    free(p);
    on_closed(ctx);
}

static void close_output(struct kube_plugin *p)
{
    if (p->is_out_open) {
        p->is_out_open = false;
        uv_close((uv_handle_t *)&p->out, on_handle_closed);
    }
}

static const char *command_of(const struct kube_plugin *p)
{
    return p->params.exec->argv[0];
}

/* "; install it" or so, cut to one line. */
static void add_hint(const struct kube_exec *exec, struct err *err)
{
    const char *hint = exec->install_hint;
    if (hint == NULL) {
        return;
    }
    while (*hint == '\n' || *hint == ' ') {
        hint++;
    }
    const struct err cause = *err;
    (void)err_set(err, cause.code, "%s; %.*s", cause.msg, (int)strcspn(hint, "\r\n"), hint);
}

static void judge(const struct kube_plugin *p, struct err *ret)
{
    if (p->failure.code != 0) {
        *ret = p->failure;
    } else if (p->signal != 0) {
        (void)err_set(ret, EIO, "'%s' was killed by signal %d", command_of(p), p->signal);
    } else if (p->exit_code != 0) {
        (void)err_set(ret, EIO, "'%s' exited with code %lld", command_of(p),
                      (long long)p->exit_code);
    }
    if (ret->code != 0) {
        add_hint(p->params.exec, ret);
    }
}

static void end(struct kube_plugin *p)
{
    if (p->is_over) {
        return;
    }
    p->is_over = true;
    close_output(p);
    uv_close((uv_handle_t *)&p->timer, on_handle_closed);
    if (p->has_process) {
        uv_close((uv_handle_t *)&p->process, on_handle_closed);
    }
    if (p->is_cancelled) {
        return;
    }
    struct err err = {0};
    judge(p, &err);
    p->params.on_done(p->params.ctx, -err.code, buf_cstr(&p->output), p->output.len, &err);
}

static void end_if_complete(struct kube_plugin *p)
{
    if (p->has_exited && !p->is_out_open) {
        end(p);
    }
}

/* --- its end --- */

/* The whole group, where it leads one. */
static void send_signal(const struct kube_plugin *p, int signal)
{
    if (!p->has_exited) {
        /* Fails only where it has just ended. */
        (void)kill(p->params.is_interactive ? p->process.pid : -p->process.pid, signal);
    }
}

static void on_timer(uv_timer_t *timer);

static void start_timer(struct kube_plugin *p, uint64_t wait_ms)
{
    uv_update_time(p->params.loop);
    (void)uv_timer_start(&p->timer, on_timer, wait_ms, 0); /* not closing */
}

static void stop_it(struct kube_plugin *p, int signal)
{
    close_output(p);
    send_signal(p, signal);
    p->is_term_sent = true;
    start_timer(p, TERM_MS);
    end_if_complete(p);
}

static void on_timer(uv_timer_t *timer)
{
    struct kube_plugin *p = timer->data;
    if (p->has_exited) {
        end(p);
    } else if (p->is_term_sent) {
        send_signal(p, SIGKILL);
    } else {
        (void)err_set(&p->failure, ETIMEDOUT, "'%s' did not end within %llu s", command_of(p),
                      (unsigned long long)(p->params.timeout_ms / 1000));
        stop_it(p, SIGTERM);
    }
}

static void on_process_exit(uv_process_t *process, int64_t exit_code, int signal)
{
    struct kube_plugin *p = process->data;
    /* What it started may not have obeyed; its group has its number as long as one lives. Without a
     * group of its own the number is free again, maybe another process's. */
    if (p->is_term_sent && !p->params.is_interactive) {
        send_signal(p, SIGKILL);
    }
    p->has_exited = true;
    p->exit_code = exit_code;
    p->signal = signal;
    start_timer(p, REST_MS);
    end_if_complete(p);
}

/* --- its output --- */

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *ret)
{
    (void)wanted;
    struct kube_plugin *p = handle->data;
    *ret = uv_buf_init(p->chunk, sizeof(p->chunk)); /* read before the next one */
}

static void on_out(uv_stream_t *stream, ssize_t n, const uv_buf_t *data)
{
    struct kube_plugin *p = stream->data;
    if (n < 0) {
        close_output(p);
        end_if_complete(p);
    } else if (n > 0 && buf_try_append(&p->output, data->base, (size_t)n) < 0) {
        (void)err_set(&p->failure, E2BIG, "'%s' printed more than %zu bytes", command_of(p),
                      KUBE_PLUGIN_OUTPUT_MAX);
        stop_it(p, SIGTERM);
    }
}

/* --- its start --- */

/* An owned list of borrowed texts; *info is owned by the caller. */
static char **environment_of(const struct kube_plugin_params *params, char *info)
{
    VEC(char *) env = {0};
    for (char *const *v = params->environment; v != NULL && *v != NULL; v++) {
        if (!str_has_prefix(*v, "KUBERNETES_EXEC_INFO=") && !str_list_sets(params->exec->env, *v)) {
            *vec_push(&env) = *v;
        }
    }
    for (char *const *v = params->exec->env; *v != NULL; v++) {
        *vec_push(&env) = *v;
    }
    *vec_push(&env) = info;
    *vec_push(&env) = NULL;
    return env.items;
}

static int open_output(struct kube_plugin *p, uv_file *ret_write_end)
{
    uv_file fds[2];
    int r = uv_pipe(fds, UV_NONBLOCK_PIPE, 0);
    if (r < 0) {
        return r;
    }
    (void)uv_pipe_init(p->params.loop, &p->out, 0); /* cannot fail */
    p->out.data = p;
    p->n_handles++;
    p->is_out_open = true;
    *ret_write_end = fds[1];
    r = uv_pipe_open(&p->out, fds[0]);
    if (r < 0) {
        (void)close(fds[0]); /* nothing has used it */
    }
    return r;
}

/* libcurl's sockets are open to every child: the connections to the API server, too. */
static void hide_descriptors(void)
{
    if (close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0) {
        return;
    }
    for (int fd = STDERR_FILENO + 1; fd < FDS_WITHOUT_CLOSE_RANGE; fd++) {
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC); /* fails for those that are not open */
    }
}

static int spawn(struct kube_plugin *p, const char *info)
{
    _cleanup_(fd_close) uv_file out = -1; /* the child has its copy */
    int r = open_output(p, &out);
    _cleanup_(freep) char *variable = xasprintf("KUBERNETES_EXEC_INFO=%s", info);
    _cleanup_(freep) char **env = environment_of(&p->params, variable);
    const bool has_person = p->params.is_interactive;
    uv_stdio_container_t stdio[] = {
        {.flags = has_person ? UV_INHERIT_FD : UV_IGNORE, .data.fd = STDIN_FILENO},
        {.flags = UV_INHERIT_FD, .data.fd = out},
        {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
    };
    const uv_process_options_t options = {
        .exit_cb = on_process_exit,
        .file = p->params.exec->argv[0],
        .args = p->params.exec->argv,
        .env = env,
        .flags = has_person ? 0 : UV_PROCESS_DETACHED,
        .stdio_count = 3,
        .stdio = stdio,
    };
    if (r >= 0) {
        p->has_process = true; /* also where it fails */
        p->n_handles++;
        hide_descriptors();
        r = uv_spawn(p->params.loop, &p->process, &options);
    }
    return r;
}

static int start(struct kube_plugin *p, struct err *err)
{
    const struct kube_exec *exec = p->params.exec;
    if (exec->mode == KUBE_EXEC_ALWAYS && !p->params.is_interactive) {
        return err_set(err, ENOTTY,
                       "'%s' needs a terminal (interactiveMode: Always), and there is none; use "
                       "another context",
                       exec->argv[0]);
    }
    const int r = spawn(p, p->params.info);
    if (r < 0) {
        (void)err_set(err, -r, "cannot run '%s': %s", exec->argv[0], uv_strerror(r));
        add_hint(exec, err);
        return r;
    }
    /* Fails only for a handle that is closed or not readable. */
    (void)uv_read_start((uv_stream_t *)&p->out, on_alloc, on_out);
    start_timer(p, p->params.timeout_ms);
    return 0;
}

int kube_plugin_start(const struct kube_plugin_params *params, struct kube_plugin **ret,
                      struct err *err)
{
    struct kube_plugin *p = xnew(struct kube_plugin);
    p->params = *params;
    buf_init(&p->output, KUBE_PLUGIN_OUTPUT_MAX);
    (void)uv_timer_init(params->loop, &p->timer); /* cannot fail */
    p->timer.data = p->process.data = p;
    p->n_handles = 1;
    const int r = start(p, err);
    if (r < 0) {
        p->is_cancelled = true;
        end(p);
        return r;
    }
    *ret = p;
    return 0;
}

void kube_plugin_cancel(struct kube_plugin *p)
{
    p->is_cancelled = true;
    stop_it(p, SIGKILL);
}
