/* See launcher_fixture.h. */
#include "launcher_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "tests/test.h"
#include "base/parse.h"
#include "base/str.h"

#define LIMIT_MS 120000 /* a sanitizer, beside other tests, takes ten times as long */

static void count_change(void *ctx)
{
    ((struct fixture *)ctx)->n_changes++;
}

static void count_record(void *ctx, const struct replica_id *id, const struct record *record)
{
    (void)id;
    (void)record;
    ((struct fixture *)ctx)->n_records++;
}

/* The first signal handle of a process opens a pipe that libuv keeps for good. */
static void open_signal_pipe(void)
{
    uv_loop_t loop;
    uv_signal_t handle;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(uv_signal_init(&loop, &handle), 0);
    uv_close((uv_handle_t *)&handle, NULL);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static int count_fds(void)
{
    int n = 0;
    for (int fd = 0; fd < 4096; fd++) {
        n += fcntl(fd, F_GETFD) >= 0;
    }
    return n;
}

static void on_limit(uv_timer_t *timer)
{
    ((struct fixture *)timer->data)->is_late = 1;
}

void fixture_open_with(struct fixture *f, const char *benchworker, size_t log_max_bytes)
{
    open_signal_pipe();
    *f = (struct fixture){.n_fds = count_fds()};
    assert_int_equal(uv_loop_init(&f->loop), 0);
    assert_int_equal(uv_timer_init(&f->loop, &f->limit), 0);
    f->limit.data = f;
    struct err err = {0};
    int r = processes_new(&(struct processes_params){.loop = &f->loop,
                                                     .benchworker = benchworker,
                                                     .log_max_bytes = log_max_bytes},
                          &f->launcher, &err);
    if (r < 0) {
        fail_msg("processes_new: %s", err.msg);
    }
    f->launcher->on_change = count_change;
    f->launcher->on_record = count_record;
    f->launcher->ctx = f;
}

void fixture_open(struct fixture *f, size_t log_max_bytes)
{
    _cleanup_(freep) char *path = xasprintf("%s/tests/run/fake_worker", getenv("BENCHD_BUILD_DIR"));
    fixture_open_with(f, path, log_max_bytes);
}

void fixture_close(struct fixture *f)
{
    f->launcher->ops->free(f->launcher);
    uv_close((uv_handle_t *)&f->limit, NULL);
    assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    int n_fds = count_fds();
    if (n_fds != f->n_fds) {
        fail_msg("%d descriptors are open, expected %d", n_fds, f->n_fds);
    }
}

void fixture_prepare(struct fixture *f, uint32_t attempt, uint32_t pservers, uint32_t trainers)
{
    struct gang_spec gang = {
        .attempt.number = attempt,
        .threads = 1,
        .replicas =
            {[ROLE_PSERVER] = pservers, [ROLE_TRAINER] = trainers, [ROLE_WORKER] = f->workers},
        .is_emulated = f->is_emulated,
        .is_probed = f->is_probed};
    struct err err = {0};
    if (f->launcher->ops->prepare(f->launcher, &gang, &f->addresses, &err) < 0) {
        fail_msg("prepare: %s", err.msg);
    }
}

void fixture_open_one(struct fixture *f)
{
    fixture_open(f, 0);
    fixture_prepare(f, 0, 0, 1);
}

struct replica_id fixture_id(uint32_t attempt, enum role role, uint32_t index)
{
    return (struct replica_id){.attempt.number = attempt, .role = role, .index = index};
}

void fixture_create(struct fixture *f, const struct replica_id *id, const char *const *argv,
                    const char *listen)
{
    char *env[] = {
        xasprintf("BENCHD_ROLE=%s", role_to_string(id->role)),
        xasprintf("BENCHD_INDEX=%u", id->index),
        xasprintf("BENCHD_ATTEMPT=%u", id->attempt.number),
        xasprintf("BENCHD_LISTEN=%s",
                  listen != NULL ? listen : f->addresses.of_role[id->role][id->index]),
        NULL,
    };
    struct replica_spec spec = {.id = *id, .argv = (char **)argv, .envp = env, .log = f->log};
    struct err err = {0};
    int r = f->launcher->ops->create(f->launcher, &spec, &err);
    for (size_t i = 0; env[i] != NULL; i++) {
        free(env[i]);
    }
    if (r < 0) {
        fail_msg("create: %s", err.msg);
    }
}

static const struct observed_replica *find(const struct observed_replica *all, size_t n,
                                           const struct replica_id *id)
{
    for (size_t i = 0; i < n; i++) {
        if (all[i].id.attempt.number == id->attempt.number && all[i].id.role == id->role &&
            all[i].id.index == id->index) {
            return &all[i];
        }
    }
    return NULL;
}

struct observed_replica fixture_get(struct fixture *f, const struct replica_id *id)
{
    _cleanup_(freep) struct observed_replica *all = NULL;
    size_t n = 0;
    assert_int_equal(f->launcher->ops->observe(f->launcher, &all, &n, NULL), 0);
    const struct observed_replica *it = find(all, n, id);
    assert_non_null(it);
    struct observed_replica copy = *it;
    return copy;
}

size_t fixture_count(struct fixture *f)
{
    _cleanup_(freep) struct observed_replica *all = NULL;
    size_t n = 0;
    assert_int_equal(f->launcher->ops->observe(f->launcher, &all, &n, NULL), 0);
    return n;
}

struct replica_output fixture_output(struct fixture *f, const struct replica_id *id)
{
    struct replica_output output;
    assert_int_equal(f->launcher->ops->collect(f->launcher, id, &output, NULL), 0);
    return output;
}

/* One turn of the loop, which waits for something to happen. */
static void turn(struct fixture *f, const char *what)
{
    (void)uv_run(&f->loop, UV_RUN_ONCE);
    if (f->is_late) {
        fail_msg("not within %d ms: %s", LIMIT_MS, what);
    }
}

static void limit_start(struct fixture *f)
{
    f->is_late = 0;
    uv_update_time(&f->loop);
    assert_int_equal(uv_timer_start(&f->limit, on_limit, LIMIT_MS, 0), 0);
}

void fixture_wait_state(struct fixture *f, const struct replica_id *id, enum replica_state state)
{
    limit_start(f);
    while (fixture_get(f, id).state != state) {
        turn(f, "the state");
    }
    (void)uv_timer_stop(&f->limit);
}

void fixture_wait_ended(struct fixture *f, const struct replica_id *id)
{
    limit_start(f);
    while (!replica_state_is_final(fixture_get(f, id).state)) {
        turn(f, "the end");
    }
    (void)uv_timer_stop(&f->limit);
}

void fixture_wait_gone(struct fixture *f, pid_t pid)
{
    limit_start(f);
    while (kill(pid, 0) == 0) {
        turn(f, "that it is reaped");
    }
    (void)uv_timer_stop(&f->limit);
}

const char *fixture_wait_log(struct fixture *f, const struct replica_id *id, const char *text)
{
    limit_start(f);
    for (;;) {
        const char *at = strstr(fixture_output(f, id).log, text);
        if (at != NULL) {
            (void)uv_timer_stop(&f->limit);
            return at + strlen(text);
        }
        turn(f, text);
    }
}

pid_t fixture_pid(struct fixture *f, const struct replica_id *id)
{
    const char *text = fixture_wait_log(f, id, "pid ");
    _cleanup_(freep) char *number = xstrndup(text, strcspn(text, "\n"));
    int64_t pid = 0;
    assert_int_equal(parse_i64(number, &pid), 0);
    return (pid_t)pid;
}

void fixture_assert_gone(const char *who, pid_t pid)
{
    if (kill(pid, 0) == 0 || errno != ESRCH) {
        fail_msg("%s: process %d is still there", who, pid);
    }
}

void fixture_wait_quiet(struct fixture *f)
{
    limit_start(f);
    uv_unref((uv_handle_t *)&f->limit);
    while (uv_loop_alive(&f->loop)) {
        turn(f, "quiet");
    }
    uv_ref((uv_handle_t *)&f->limit);
    (void)uv_timer_stop(&f->limit);
}
