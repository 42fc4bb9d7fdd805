/* Logs of pods: which are followed or read, and what of them is stored and shown. */
#include <errno.h>
#include <malloc.h>

#include "tests/core/summary_fixture.h"
#include "base/buf.h"
#include "core/record.h"
#include "pods_world.h"

static void write_start(struct buf *log, uint32_t index, const char *host)
{
    const struct record_who who = {ROLE_TRAINER, index, 0};
    _cleanup_(json_decrefp) json_t *environment = json_pack("{s:s}", "host", host);
    record_write_start(log, &who, environment);
}

static int collect(struct world *w, const struct replica_id *id, struct replica_output *ret)
{
    const int r = w->launcher->ops->collect(w->launcher, id, ret, NULL);
    turn(w);
    return r;
}

/* Collects the log of a pod that has ended, which is `text`. */
static void read_log(struct world *w, const struct replica_id *id, const char *text,
                     struct replica_output *ret)
{
    assert_int_equal(collect(w, id, ret), -EAGAIN);
    answer(w, fake_kube_open(0), 0, text);
    assert_int_equal(collect(w, id, ret), 0);
}

/* The pods of a gang whose system has a log rule; ends_after: its steps, 0: by itself. */
static void open_ruled_pods(struct world *w, const char *log, uint32_t ends_after)
{
    world_open_with_log(w, POD_BY_DNS, log);
    w->def->spec->ends_after_steps = ends_after > 0;
    w->def->spec->steps = ends_after > 0 ? ends_after : w->def->spec->steps;
    create_gang(w, 0);
    open_gates(w);
    assert_int_equal(accept_pods(w, w->pods), 3);
}

/* A log may hold lines of others: what a trainer prints is its own business. */
TEST(a_log_that_was_read_is_stored_and_not_shown)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], ENDED);
    struct replica_output output;
    assert_int_equal(collect(&w, &ids[2], &output), -EAGAIN);
    _cleanup_(buf_done) struct buf log = BUF_INIT;
    write_start(&log, 1, "mine");
    write_start(&log, 0, "another's");
    answer(&w, fake_kube_open(0), 0, buf_cstr(&log));
    assert_int_equal(collect(&w, &ids[2], &output), 0);
    assert_environment(output.environment,
                       "{\"host\":\"mine\",\"program\":\"unknown (image without a digest)\"}");
    assert_int_equal(output.log_len, log.len);
    assert_int_equal(w.n_records, 0); /* the live view shows what happens now */
}

#define IMAGE(id)                                                                                  \
    "{\"phase\":\"Succeeded\",\"containerStatuses\":[{\"name\":\"main\",\"containerID\":\"c://"    \
    "1\","                                                                                         \
    "\"imageID\":\"" id "\",\"state\":{\"terminated\":{\"exitCode\":0}}}]}"

/* A tag may mean another program tomorrow. */
TEST(an_image_is_known_by_its_digest)
{
    static const struct {
        const char *status, *facts;
    } rows[] = {
        {IMAGE("r@sha256:1"), "{\"host\":\"mine\",\"image_id\":\"r@sha256:1\"}"},
        {IMAGE("r:latest"), "{\"host\":\"mine\",\"image_id\":\"r:latest\","
                            "\"program\":\"unknown (image without a digest)\"}"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(world_close) struct world w;
        world_open_pods(&w);
        notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], rows[i].status);
        struct replica_output output;
        _cleanup_(buf_done) struct buf log = BUF_INIT;
        write_start(&log, 1, "mine");
        read_log(&w, &ids[2], buf_cstr(&log), &output);
        assert_environment(output.environment, rows[i].facts);
    }
}

#define SIMULATED                                                                                  \
    "{\"phase\":\"Succeeded\",\"containerStatuses\":[{\"name\":\"main\","                          \
    "\"state\":{\"terminated\":{\"exitCode\":0}}}]}"

/* A fake node has no log to read. */
TEST(a_simulated_pod_has_no_log)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], SIMULATED);
    struct replica_output output = {0};
    assert_int_equal(collect(&w, &ids[2], &output), 0);
    assert_true(output.is_simulated);
    assert_int_equal(output.log_len, 0);
    assert_int_equal(fake_kube_n_open(), 0);
}

TEST(trainer_0_is_followed_the_others_are_read)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], RUNNING);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], RUNNING);
    answer_slices(&w);
    assert_true(fake_kube.is_following);
    assert_string_equal(fake_kube.follow.pod, "test-abcde-p0t0a0-trainer-0");
    _cleanup_(buf_done) struct buf line = BUF_INIT;
    const struct record_who who = {ROLE_TRAINER, 0, 0};
    const struct record_step step = {.step = 1, .samples = 8};
    record_write_step(&line, &who, &step);
    fake_kube.follow.on_line(fake_kube.follow.ctx, buf_cstr(&line), line.len - 1);
    assert_int_equal(w.n_records, 1);
    const struct record_who others[] = {
        {ROLE_TRAINER, 0, 1}, {ROLE_TRAINER, 1, 0}, {ROLE_PSERVER, 0, 0}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        _cleanup_(buf_done) struct buf other =
            BUF_INIT; /* what it prints of somebody else is not its record */
        record_write_step(&other, &others[i], &step);
        fake_kube.follow.on_line(fake_kube.follow.ctx, buf_cstr(&other), other.len - 1);
        buf_append(&line, other.data, other.len);
    }
    assert_int_equal(w.n_records, 1);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], ENDED);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], ENDED);
    assert_true(fake_kube.has_container_ended);
    struct replica_output output;
    assert_int_equal(collect(&w, &ids[1], &output), -EAGAIN);
    assert_int_equal(collect(&w, &ids[2], &output), -EAGAIN);
    assert_int_equal(collect(&w, &ids[2], &output), -EAGAIN);
    assert_int_equal(fake_kube_n_open(), 1); /* read once */
    answer(&w, fake_kube_open(0), 0, "hello\n");
    fake_kube.follow.on_end(fake_kube.follow.ctx, 0, NULL);
    assert_int_equal(collect(&w, &ids[1], &output), 0);
    assert_int_equal(output.log_len, line.len);
    assert_int_equal(collect(&w, &ids[2], &output), 0);
    assert_string_equal(output.log, "hello\n");
    assert_int_equal(collect(&w, &ids[0], &output), 0); /* never ran */
    assert_int_equal(output.log_len, 0);
}

#define RULE "{versions: {a: 'p (?<version>)'}, lines: [{kind: Step, pattern: '(?<rate>) im'}]}"

/* Where figures are in logs, every trainer's is followed, and none has ended
 * before its log was read. */
TEST(a_log_rule_makes_summaries)
{
    _cleanup_(world_close) struct world w;
    open_ruled_pods(&w, RULE, 0);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], RUNNING);
    assert_int_equal(fake_kube.n_following, 0); /* a pserver has no figures to wait for */
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], RUNNING);
    assert_int_equal(fake_kube.n_following, 1);
    const struct kube_follow_params first = fake_kube.follow;
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], ENDED); /* so short that nobody saw it run */
    assert_int_equal(fake_kube.n_following, 2);
    const struct kube_follow_params second = fake_kube.follow;
    first.on_line(first.ctx, "step 1", 6);
    first.on_line(first.ctx, "100.5 images/sec", 16);
    assert_int_equal(w.n_records, 1); /* the live view moves */
    const int64_t output_unix_ms = seen(&w, &ids[1])->output_unix_ms;
    assert_true(output_unix_ms > 0);
    uv_sleep(2);
    first.on_break(first.ctx); /* a node that does not show its output is no silent program */
    assert_true(seen(&w, &ids[1])->output_unix_ms > output_unix_ms);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], IMAGE("r@sha256:1"));
    assert_int_equal(seen(&w, &ids[1])->state, REPLICA_RUNNING);
    assert_int_equal(seen(&w, &ids[1])->ended_unix_ms, 0);
    assert_true(seen(&w, &ids[1])->has_exited); /* no limit of the trial counts any more */
    const unsigned n_changes = w.n_changes;
    first.on_end(first.ctx, 0, NULL);
    turn(&w);
    assert_true(w.n_changes > n_changes);
    assert_int_equal(seen(&w, &ids[1])->state, REPLICA_SUCCEEDED);
    assert_false(seen(&w, &ids[1])->has_exited);
    assert_non_null(seen(&w, &ids[1])->summary);
    assert_false(seen(&w, &ids[1])->summary->source.is_job);
    struct replica_output output;
    assert_int_equal(collect(&w, &ids[1], &output), 0);
    const double x = summary_throughput(output.summary);
    assert_true(summary_is_usable(output.summary) && x > 100.49 && x < 100.51);
    assert_string_equal(output.log, "step 1\n100.5 images/sec\n");
    assert_environment(output.environment,
                       "{\"image_id\":\"r@sha256:1\",\"versions\":{\"a\":\"1\"}}");
    /* Half a log is no result. */
    second.on_line(second.ctx, "99 images/sec", 13);
    second.on_end(second.ctx, -ENOENT, &(struct err){.msg = "the pod is gone"});
    turn(&w);
    assert_int_equal(seen(&w, &ids[2])->state, REPLICA_FAILED);
    assert_int_equal(seen(&w, &ids[2])->failure, FAILURE_INFRASTRUCTURE);
    assert_null(seen(&w, &ids[2])->summary);
    assert_string_equal(seen(&w, &ids[2])->message, "the log could not be read: the pod is gone");
}

/* Another attempt may be able to read its log whole, but for one thing: without the right to read
 * logs all attempts end alike. And a program that failed has failed. */
static void follow_lines(const struct kube_follow_params *of, const char *line, int n)
{
    for (int i = 0; i < n; i++) {
        of->on_line(of->ctx, line, strlen(line));
    }
}

/* Both have printed them, or one that speaks for both has. Their pods are removed. */
TEST(an_attempt_ends_after_its_steps)
{
    static const char of_each[] = "torch-ddp";
    static const char of_job[] =
        "{lines: [{kind: Step, scope: Job, pattern: '(?<rate>) images/sec'}]}";
    static const char *const logs[] = {of_each, of_job};
    for (size_t i = 0; i < N_ROWS(logs); i++) {
        _cleanup_(world_close) struct world w;
        open_ruled_pods(&w, logs[i], 3);
        notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], RUNNING);
        const struct kube_follow_params first = fake_kube.follow;
        notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], RUNNING);
        const struct kube_follow_params second = fake_kube.follow;
        const int n_before = fake_kube.n_following;
        follow_lines(&first, "100.5 images/sec", 2);
        turn(&w);
        assert_int_equal(seen(&w, &ids[1])->state, REPLICA_RUNNING);
        follow_lines(&first, "100.5 images/sec", 2);
        turn(&w);
        if (logs[i] == of_each) {
            assert_int_equal(seen(&w, &ids[1])->state, REPLICA_RUNNING);
            follow_lines(&second, "100.5 images/sec", 3);
            turn(&w);
        }
        assert_int_equal(fake_kube.n_following, n_before - 2);
        for (int k = 1; k < 3; k++) {
            assert_int_equal(seen(&w, &ids[k])->state, REPLICA_SUCCEEDED);
            assert_int_equal(seen(&w, &ids[k])->summary != NULL, k == 1 || logs[i] == of_each);
        }
        struct replica_output output;
        assert_int_equal(collect(&w, &ids[1], &output), 0);
        assert_int_equal(output.log_len, 4 * strlen("100.5 images/sec\n"));
        w.launcher->ops->remove(w.launcher, &ids[1], true); /* one that runs is not left there */
        turn(&w);
        assert_int_equal(fake_kube_open(fake_kube_n_open() - 1)->req.method, KUBE_DELETE);
    }
}

TEST(a_log_that_is_not_whole_costs_the_attempt)
{
    static const struct {
        const char *status;
        int r;
        enum replica_state state;
        enum failure_class failure;
    } rows[] = {
        {ENDED, -ENODATA, REPLICA_FAILED, FAILURE_INFRASTRUCTURE},
        {ENDED, -ETIMEDOUT, REPLICA_FAILED, FAILURE_INFRASTRUCTURE},
        {ENDED, -EACCES, REPLICA_SUCCEEDED, FAILURE_NONE},
        {"{\"phase\":\"Failed\"," CONTAINER("{\"terminated\":{\"exitCode\":3}}") "}", -ENODATA,
         REPLICA_FAILED, FAILURE_PERMANENT},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(world_close) struct world w;
        open_ruled_pods(&w, "torch-ddp", 0);
        notify(&w, KUBE_CHANGE_UPDATED, w.pods[1],
               "{\"phase\":\"Running\"," CONTAINER(
                   "{\"running\":{\"startedAt\":\"2026-11-20T08:52:50Z\"}}") "}");
        const struct kube_follow_params log = fake_kube.follow;
        assert_true(log.file_bytes == (10 << 20) && log.saw_wait);
        assert_int_equal(log.started_unix_ms, 1795164770000);
        log.on_line(log.ctx, "99 images/sec", 13);
        notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], rows[i].status);
        log.on_end(log.ctx, rows[i].r, &(struct err){.msg = "lines may be missing"});
        turn(&w);
        const struct observed_replica *r = seen(&w, &ids[1]);
        assert_int_equal(r->state, rows[i].state);
        assert_int_equal(r->failure, rows[i].failure);
        assert_null(r->summary);
        const bool has_failed_itself = rows[i].failure == FAILURE_PERMANENT;
        assert_int_equal(strstr(r->message, "lines may be missing") == NULL, has_failed_itself);
        struct replica_output output;
        assert_int_equal(collect(&w, &ids[1], &output), 0);
        assert_string_equal(output.log, "99 images/sec\nbenchd: the log could not be read: lines "
                                        "may be missing\n");
    }
}

/* After a restart the container may have printed for long. */
TEST(who_takes_over_has_not_seen_the_beginning)
{
    _cleanup_(world_close) struct world w;
    open_ruled_pods(&w, "torch-ddp", 0);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], RUNNING);
    assert_true(kube_cache_put(&w.cache, w.pods[1]));
    w.launcher->ops->free(w.launcher);
    make_launcher(&w, POD_BY_DNS);
    turn(&w);
    assert_false(fake_kube.follow.saw_wait);
    notify(&w, KUBE_CHANGE_ADDED, w.pods[2], NULL);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], RUNNING); /* this one it has seen */
    assert_true(fake_kube.follow.saw_wait);
}

TEST(a_log_without_a_figure_says_so)
{
    _cleanup_(world_close) struct world w;
    open_ruled_pods(&w, "tf-cnn-benchmarks", 0);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], RUNNING);
    const struct kube_follow_params first = fake_kube.follow;
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], RUNNING);
    const struct kube_follow_params second = fake_kube.follow;
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], ENDED);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], ENDED);
    first.on_line(first.ctx, "done", 4);
    first.on_end(first.ctx, 0, NULL);
    second.on_line(second.ctx, "total images/sec: 12.5", 22);
    second.on_end(second.ctx, 0, NULL);
    turn(&w);
    assert_string_equal(seen(&w, &ids[1])->message,
                        "no line of 1 matched the log rule tf-cnn-benchmarks\nthe only line:\n"
                        "  1: done\n");
    assert_true(seen(&w, &ids[2])->summary->source.is_job);
}

/* The members of an attempt share what their logs may take. What is longer keeps
 * its head and its tail. */
TEST(large_gangs_have_shorter_logs)
{
    static const struct {
        uint32_t trainers;
        size_t limit;
    } rows[] = {{2, 10485760}, {63, 1048576}, {400, 167353}, {20000, 3355}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(world_close) struct world w;
        world_open(&w, POD_BY_DNS);
        const struct gang_spec gang = {
            .replicas = {[ROLE_PSERVER] = 1, [ROLE_TRAINER] = rows[i].trainers}};
        struct gang_addresses addresses;
        const struct replica_spec spec = {.id = ids[2]};
        assert_int_equal(w.launcher->ops->prepare(w.launcher, &gang, &addresses, NULL), 0);
        assert_int_equal(w.launcher->ops->create(w.launcher, &spec, NULL), 0);
        turn(&w);
        open_gates(&w);
        assert_int_equal(accept_pods(&w, w.pods), 1);
        notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], ENDED);
        struct replica_output output;
        assert_int_equal(collect(&w, &ids[2], &output), -EAGAIN);
        assert_non_null(strstr(fake_kube_open(0)->req.path, "limitBytes=33554432"));
        struct buf log = BUF_INIT;
        buf_puts(&log, "the first line\n");
        while (log.len < 2 * rows[i].limit) {
            buf_puts(&log, "a line in between\n");
        }
        buf_puts(&log, "Traceback: the last line\n");
        answer(&w, fake_kube_open(0), 0, buf_cstr(&log));
        buf_done(&log);
        assert_int_equal(collect(&w, &ids[2], &output), 0);
        assert_in_range(output.log_len, rows[i].limit * 9 / 10, rows[i].limit + 100);
        assert_non_null(strstr(output.log, "bytes dropped here"));
        assert_int_equal(strncmp(output.log, "the first line\n", 15), 0);
        assert_string_equal(output.log + output.log_len - 25, "Traceback: the last line\n");
    }
}

/* Bytes that the program holds; 0 where a sanitizer does not count them. */
static size_t heap_bytes(void)
{
    const struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* What is kept of all logs together, in memory and for the store, does not grow with the gang. */
TEST(the_budget_holds_for_hundreds)
{
    enum { N = 400 };
    const size_t budget = (size_t)64 << 20;
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_DNS);
    w.def->matrix.points[0].replicas[ROLE_PSERVER] = N;
    /* The point has two trainers, whose addresses each body names; they are never created. */
    const struct gang_spec gang = {.replicas = {[ROLE_PSERVER] = N, [ROLE_TRAINER] = 2}};
    struct gang_addresses addresses;
    struct replica_spec spec = {.id = ids[0]};
    assert_int_equal(w.launcher->ops->prepare(w.launcher, &gang, &addresses, NULL), 0);
    for (uint32_t i = 0; i < N; i++) {
        spec.id.index = i;
        assert_int_equal(w.launcher->ops->create(w.launcher, &spec, NULL), 0);
    }
    turn(&w);
    open_gates(&w);
    _cleanup_(freep) json_t **pods = xnew_array(json_t *, N);
    assert_int_equal(accept_pods(&w, pods), N);
    for (size_t i = 0; i < N; i++) {
        notify(&w, KUBE_CHANGE_UPDATED, pods[i], ENDED);
    }
    struct replica_output output;
    for (uint32_t i = 0; i < N; i++) {
        spec.id.index = i;
        assert_int_equal(collect(&w, &spec.id, &output), -EAGAIN);
    }
    turn(&w);
    const size_t before = heap_bytes();
    _cleanup_(buf_done) struct buf log = BUF_INIT;
    while (log.len < 200000) { /* 80 MB together */
        buf_printf(&log, "line %zu, as long as such lines are: loss 2.31, 12.5 images/s\n",
                   log.len);
    }
    for (struct kube_call *call; (call = fake_kube_open(0)) != NULL;) {
        fake_kube_answer(call, 0, buf_cstr(&log));
    }
    turn(&w);
    size_t kept = 0;
    for (uint32_t i = 0; i < N; i++) {
        spec.id.index = i;
        assert_int_equal(collect(&w, &spec.id, &output), 0);
        kept += output.log_len;
        assert_non_null(strstr(output.log, "bytes dropped here"));
    }
    const size_t held = heap_bytes() - before;
    print_message("# %d replicas: %zu bytes kept, %zu held\n", N, kept, held);
    assert_in_range(kept, budget / 2, budget + N * 100);
    if (before > 0) {
        assert_true(held < budget + budget / 8);
    }
    for (size_t i = 0; i < N; i++) {
        json_decref(pods[i]);
    }
}

/* It should have written records. */
TEST(a_log_without_records_says_which_rule_reads_it)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], ENDED);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], ENDED);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], ENDED);
    struct replica_output output;
    assert_int_equal(collect(&w, &ids[1], &output), -EAGAIN);
    answer(&w, fake_kube_open(0), 0, "5 img/s\n");
    for (int i = 0; i < 2; i++) { /* asked again, it says the same */
        assert_int_equal(collect(&w, &ids[1], &output), 0);
        assert_string_equal(output.failure, "the shipped log rule torch-ddp reads 1 line, "
                                            "5 samples/s: write 'log: torch-ddp' in the system\n"
                                            "the only line:\n  1: 5 img/s\n");
    }
    for (int i = 0; i < 3; i += 2) { /* a server, and a trainer that is not the first */
        read_log(&w, &ids[i], "5 img/s\n", &output);
        assert_null(output.failure);
    }
}

TEST(a_log_that_cannot_be_read_says_so)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], ENDED);
    struct replica_output output;
    assert_int_equal(collect(&w, &ids[2], &output), -EAGAIN);
    answer(&w, fake_kube_open(0), -EIO, "dial tcp");
    assert_int_equal(collect(&w, &ids[2], &output), 0);
    assert_string_equal(output.log, "benchd: the log could not be read: dial tcp\n");
    assert_null(output.failure);
}

/* A request that is sent again brings its log from the start. */
TEST(a_log_that_is_read_again_is_stored_once)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], ENDED);
    struct replica_output output;
    assert_int_equal(collect(&w, &ids[2], &output), -EAGAIN);
    const struct kube_call *call = fake_kube_open(0);
    call->options.on_data(call->ctx, "half a l", 8);
    call->options.on_again(call->ctx);
    answer(&w, fake_kube_open(0), 0, "half a line\n");
    assert_int_equal(collect(&w, &ids[2], &output), 0);
    assert_string_equal(output.log, "half a line\n");
}

#define STARTED_AGAIN                                                                              \
    "{\"phase\":\"Succeeded\",\"containerStatuses\":[{\"name\":\"main\","                          \
    "\"containerID\":\"c://2\",\"restartCount\":1,"                                                \
    "\"state\":{\"terminated\":{\"exitCode\":0}}}]}"

/* The log of a container that was started again has lost what came before. */
TEST(a_restart_is_noted)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], RUNNING); /* trainer 0 is followed */
    answer_slices(&w);
    fake_kube.follow.on_line(fake_kube.follow.ctx, "before", 6);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], STARTED_AGAIN);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], STARTED_AGAIN);
    fake_kube.follow.on_line(fake_kube.follow.ctx, "after", 5);
    fake_kube.follow.on_end(fake_kube.follow.ctx, 0, NULL);
    struct replica_output output;
    assert_int_equal(collect(&w, &ids[1], &output), 0);
    assert_string_equal(output.log, "before\n[benchd: the container was started again here; output "
                                    "may be missing]\nafter\n");
    read_log(&w, &ids[2], "after\n", &output);
    assert_string_equal(output.log, "[benchd: the container was started again here; output may be "
                                    "missing]\nafter\n");
}
