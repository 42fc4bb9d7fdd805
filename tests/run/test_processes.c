/* The local launcher with real processes: how replicas end, what is kept of them, what they get. */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/core/summary_fixture.h"
#include "base/clock.h"
#include "base/str.h"
#include "decide/policy_overlap.h"
#include "logparse/shipped_rules.h"
#include "launcher_fixture.h"

FREEP(log_rule_free, struct log_rule)

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})
#define WORKER(...) ARGV("benchworker", __VA_ARGS__)
#define SHELL(script) ARGV("sh", "-c", script)

/* clang-format off */
static const struct end_row {
    const char *name;
    const char *argv[8];
    enum replica_state state;
    enum failure_class failure;
    int exit_code, signal;
    const char *message; /* NULL: none */
} end_rows[] = {
    {"exit 0", {"benchworker", "records", "exit", "0"}, REPLICA_SUCCEEDED, FAILURE_NONE, 0, 0,
     NULL},
    {"exit 3 without a word", {"benchworker", "exit", "3"}, REPLICA_FAILED, FAILURE_PERMANENT, 3, 0,
     "exit code 3"},
    {"exit 10 with last words", {"benchworker", "warn", "no\tsuch data", "exit", "10"},
     REPLICA_FAILED, FAILURE_PERMANENT, 10, 0, "exit code 10: no?such data"},
    {"exit 13", {"benchworker", "warn", "port taken", "exit", "13"}, REPLICA_FAILED,
     FAILURE_INFRASTRUCTURE, 13, 0, "exit code 13: port taken"},
    {"signal", {"benchworker", "signal", "9"}, REPLICA_FAILED, FAILURE_INFRASTRUCTURE, -1, 9,
     "killed by signal 9"},
    {"survivor", {"benchworker", "blame", "trainer/1", "exit", "11"}, REPLICA_FAILED,
     FAILURE_CONSEQUENCE, 11, 0, "silent for 6 s"},
    {"survivor that blames nonsense", {"benchworker", "blame", "nobody/x", "exit", "11"},
     REPLICA_FAILED, FAILURE_CONSEQUENCE, 11, 0, "exit code 11: silent for 6 s"},
    {"damaged record", {"benchworker", "damaged", "exit", "0"}, REPLICA_SUCCEEDED, FAILURE_NONE, 0,
     0, "damaged record: "},
    {"another's record", {"benchworker", "foreign", "exit", "0"}, REPLICA_SUCCEEDED, FAILURE_NONE,
     0, 0, "a record claims to be from trainer/7 of attempt 0"},
    {"foreign, exit 0", {"sh", "-c", "exit 0"}, REPLICA_SUCCEEDED, FAILURE_NONE, 0, 0,
     "it printed nothing; a program that writes to a pipe "},
    {"foreign, exit 0 with a rate", {"sh", "-c", "echo 5 img/s"}, REPLICA_SUCCEEDED, FAILURE_NONE, 0, 0,
     "the shipped log rule torch-ddp reads 1 line, 5 samples/s: write 'log: torch-ddp'"},
    {"foreign, exit 4", {"sh", "-c", "echo sorry >&2; exit 4"}, REPLICA_FAILED, FAILURE_PERMANENT,
     4, 0, "exit code 4: sorry"},
    {"foreign, signal 9", {"sh", "-c", "kill -9 $$"}, REPLICA_FAILED, FAILURE_INFRASTRUCTURE, -1, 9,
     "killed by signal 9"},
    {"foreign, signal 6", {"sh", "-c", "kill -6 $$"}, REPLICA_FAILED, FAILURE_INFRASTRUCTURE, -1, 6,
     "killed by signal 6"},
    {"no such program", {"no-such-program"}, REPLICA_FAILED, FAILURE_PERMANENT, -1, 0,
     "find program 'no-such-program' in PATH: No such file or directory"},
    {"no such file", {"/no/such/file"}, REPLICA_FAILED, FAILURE_PERMANENT, -1, 0,
     "start '/no/such/file': exec: No such file or directory"},
    {"not executable", {"/etc/passwd"}, REPLICA_FAILED, FAILURE_PERMANENT, -1, 0,
     "start '/etc/passwd': exec: Permission denied"},
};
/* clang-format on */

TEST(ends_are_told)
{
    for (size_t i = 0; i < sizeof(end_rows) / sizeof(*end_rows); i++) {
        const struct end_row *row = &end_rows[i];
        _cleanup_(fixture_close) struct fixture f;
        fixture_open_one(&f);
        struct replica_id id = fixture_id(0, ROLE_TRAINER, 0);
        int64_t before_ms = clock_steady_unix_ms();
        fixture_create(&f, &id, row->argv, NULL);
        fixture_wait_state(&f, &id, row->state);
        struct observed_replica seen = fixture_get(&f, &id);
        if (seen.failure != row->failure || seen.exit_code != row->exit_code ||
            fixture_output(&f, &id).signal != row->signal ||
            (seen.summary != NULL) != str_eq(row->argv[1] == NULL ? "" : row->argv[1], "records") ||
            (row->message == NULL) != (seen.message == NULL) ||
            (row->message != NULL && !str_has_prefix(seen.message, row->message))) {
            fail_msg("%s: summary %d failure %d exit %d signal %d message '%s', expected a summary "
                     "of who writes records, %d %d %d '%s'",
                     row->name, seen.summary != NULL, seen.failure, seen.exit_code,
                     fixture_output(&f, &id).signal, seen.message == NULL ? "(none)" : seen.message,
                     row->failure, row->exit_code, row->signal,
                     row->message == NULL ? "(none)" : row->message);
        }
        assert_true(seen.ended_unix_ms >= before_ms);
        fixture_wait_quiet(&f);
    }
}

TEST(a_missing_worker_is_named)
{
    _cleanup_(fixture_close) struct fixture f;
    fixture_open_with(&f, "/no/benchworker", 0);
    fixture_prepare(&f, 0, 0, 1);
    struct replica_id id = fixture_id(0, ROLE_TRAINER, 0);
    fixture_create(&f, &id, WORKER("exit", "0"), NULL);
    assert_string_equal(fixture_get(&f, &id).message,
                        "start '/no/benchworker': exec: No such file or directory");
}

TEST(records_are_kept)
{
    _cleanup_(fixture_close) struct fixture f;
    fixture_open_one(&f);
    struct replica_id id = fixture_id(0, ROLE_TRAINER, 0);
    fixture_create(&f, &id, WORKER("records", "warn", "bye", "blame", "pserver/2"), NULL);
    fixture_wait_state(&f, &id, REPLICA_SUCCEEDED);
    struct observed_replica seen = fixture_get(&f, &id);
    assert_true(summary_is_usable(seen.summary) && seen.has_blamed);
    assert_int_equal(seen.blamed_role, ROLE_PSERVER);
    assert_int_equal(seen.blamed_index, 2);
    struct replica_output output = fixture_output(&f, &id);
    char node[256] = "";
    assert_int_equal(gethostname(node, sizeof(node) - 1), 0);
    _cleanup_(freep) char *environment = xasprintf("{\"host\":\"test\",\"node\":\"%s\"}", node);
    assert_environment(output.environment, environment);
    assert_int_equal(output.summary->samples, 32);
    assert_non_null(strstr(output.log, "\nbye\n"));
    assert_int_equal(output.log_len, strlen(output.log));
    assert_int_equal(f.n_records, 5); /* start, two steps, summary, error */
    assert_int_equal(f.n_changes, 1);
}

/* Observing a program does not end it, however many steps it has made. */
TEST(a_program_without_an_end_is_ended_by_a_step_of_its_own)
{
    _cleanup_(log_rule_freep) struct log_rule *rule = log_shipped_load("torch-ddp");
    _cleanup_(fixture_close) struct fixture f; /* whose parser has the rule until it closes */
    fixture_open_one(&f);
    f.log = (struct log_parser_params){.rule = rule, .role = ROLE_TRAINER, .end_steps = 2};
    struct replica_id id = fixture_id(0, ROLE_TRAINER, 0);
    fixture_create(&f, &id,
                   WORKER("say", "step 1: 80 images/sec", "say", "step 2: 80 images/sec", "say",
                          "step 3: 80 images/sec", "say", "over", "hang"),
                   NULL);
    (void)fixture_wait_log(&f, &id, "over");
    assert_true(f.n_changes > 0); /* it asked for a pass */
    assert_int_equal(fixture_get(&f, &id).state, REPLICA_RUNNING);
    f.launcher->ops->end_after_steps(f.launcher);
    assert_int_equal(fixture_get(&f, &id).state, REPLICA_SUCCEEDED);
    assert_non_null(fixture_get(&f, &id).summary);
    f.launcher->ops->remove(f.launcher, &id, false);
}

/* Of two that ran one after another, the driver finds out by what is observed. */
TEST(processes_say_when_they_measured)
{
    static const uint32_t sizes[ROLE_COUNT] = {[ROLE_TRAINER] = 2};
    _cleanup_(fixture_close) struct fixture f;
    fixture_open(&f, 0);
    fixture_prepare(&f, 0, 0, 2);
    struct observed_replica seen[2];
    for (uint32_t i = 0; i < 2; i++) {
        const struct replica_id id = fixture_id(0, ROLE_TRAINER, i);
        fixture_create(&f, &id, WORKER("records"), NULL);
        fixture_wait_state(&f, &id, REPLICA_RUNNING);
        assert_int_equal(fixture_get(&f, &id).measured_to_unix_ms, 0);
        fixture_wait_state(&f, &id, REPLICA_SUCCEEDED);
        seen[i] = fixture_get(&f, &id);
        assert_true(seen[i].measured_from_unix_ms + 1 >= seen[i].started_unix_ms);
        assert_true(seen[i].measured_from_unix_ms <= seen[i].measured_to_unix_ms + 1);
        assert_true(seen[i].measured_to_unix_ms <= seen[i].ended_unix_ms + 1);
        /* Until the next millisecond, in which nothing of the last one can be. */
        while (clock_steady_unix_ms() <= seen[i].ended_unix_ms + 2) {
        }
    }
    struct overlap overlap;
    overlap_find(seen, 2, &seen[0].id.attempt, sizes, &overlap);
    assert_ptr_equal(overlap.late, &seen[1]);
    assert_ptr_equal(overlap.early, &seen[0]);
    assert_false(overlap.is_for_room);
}

TEST(create_and_remove_are_idempotent)
{
    _cleanup_(fixture_close) struct fixture f;
    fixture_open_one(&f);
    struct replica_id id = fixture_id(0, ROLE_TRAINER, 0), other = fixture_id(1, ROLE_TRAINER, 0);
    f.launcher->ops->remove(f.launcher, &id, false);
    fixture_create(&f, &id, WORKER("pid", "hang"), NULL);
    fixture_create(&f, &id, WORKER("exit", "1"), NULL);
    assert_int_equal(fixture_count(&f), 1);
    assert_int_equal(fixture_get(&f, &id).state, REPLICA_RUNNING);
    struct replica_output output;
    assert_int_equal(f.launcher->ops->collect(f.launcher, &other, &output, NULL), -ENOENT);
    struct replica_spec unprepared = {
        .id = other, .argv = (char *[]){"true", NULL}, .envp = (char *[]){NULL}};
    assert_int_equal(f.launcher->ops->create(f.launcher, &unprepared, NULL), -EINVAL);
    f.launcher->ops->remove(f.launcher, &id, false);
    f.launcher->ops->remove(f.launcher, &id, false);
    assert_int_equal(fixture_count(&f), 0);
    fixture_wait_quiet(&f);
}

TEST(huge_output_keeps_both_ends)
{
    _cleanup_(fixture_close) struct fixture f;
    fixture_open(&f, 64 * 1024);
    fixture_prepare(&f, 0, 0, 1);
    struct replica_id id = fixture_id(0, ROLE_TRAINER, 0);
    fixture_create(&f, &id, WORKER("say", "first", "spam", "8192", "say", "last", "exit", "5"),
                   NULL);
    fixture_wait_state(&f, &id, REPLICA_FAILED);
    struct replica_output output = fixture_output(&f, &id);
    assert_true(output.log_len < 66 * 1024);
    assert_true(str_has_prefix(output.log, "first\n000"));
    assert_true(str_has_suffix(output.log, "\nlast\n"));
    assert_non_null(strstr(output.log, "bytes dropped here: the log outgrew 65536 bytes]\n0000"));
    assert_string_equal(fixture_get(&f, &id).message, "exit code 5: last");
}

TEST(secret_is_the_runs)
{
    char seen[3][200];
    for (int run = 0, n = 0; run < 2; run++) {
        _cleanup_(fixture_close) struct fixture f;
        fixture_open(&f, 0);
        fixture_prepare(&f, 0, 0, 2);
        for (uint32_t i = 0; i < 2 && n < 3; i++, n++) {
            struct replica_id id = fixture_id(0, ROLE_TRAINER, i);
            fixture_create(&f, &id, WORKER("secret"), NULL);
            fixture_wait_state(&f, &id, REPLICA_SUCCEEDED);
            (void)snprintf(seen[n], sizeof(seen[n]), "%s", fixture_output(&f, &id).log);
        }
    }
    assert_true(str_has_prefix(seen[0], "secret 32 "));
    assert_true(str_has_suffix(seen[0], " sealed\n"));
    assert_string_equal(seen[0], seen[1]);     /* each reads from the start */
    assert_string_not_equal(seen[0], seen[2]); /* another run, another secret */
}

TEST(only_the_promised_is_handed_down)
{
    assert_int_equal(setenv("BENCHD_TEST_LEAK", "1", 1), 0);
    const int leak = fcntl(STDERR_FILENO, F_DUPFD, 20); /* not closed by exec */
    assert_true(leak >= 20);
    struct fixture f;
    fixture_open_one(&f);
    struct replica_id a = fixture_id(0, ROLE_TRAINER, 0);
    fixture_create(
        &f, &a, WORKER("fds", "env", "BENCHD_TEST_LEAK", "env", "PATH", "env", "BENCHD_SECRET_FD"),
        NULL);
    fixture_wait_state(&f, &a, REPLICA_SUCCEEDED);
    _cleanup_(freep) char *log = xstrdup(fixture_output(&f, &a).log);
    fixture_close(&f);
    (void)close(leak); /* nothing was written */
    if (!str_has_prefix(log, "fds 0 1 2 3\nenv BENCHD_TEST_LEAK=(none)\nenv PATH=/")) {
        fail_msg("got '%s', expected descriptors 0 to 3, no BENCHD_TEST_LEAK and a PATH", log);
    }
    assert_non_null(strstr(log, "\nenv BENCHD_SECRET_FD=3\n"));
}

/* "arena INODE" of what a replica of the gang has got, or its list of descriptors; owned. */
static char *arena_of(struct fixture *f, uint32_t attempt, enum role role, uint32_t index)
{
    struct replica_id id = fixture_id(attempt, role, index);
    fixture_create(f, &id,
                   WORKER("arena", "fds", "env", "BENCHD_ARENA_FD", "env", "BENCHD_RENDEZVOUS_S"),
                   NULL);
    fixture_wait_state(f, &id, REPLICA_SUCCEEDED);
    return xstrdup(fixture_output(f, &id).log);
}

TEST(emulated_trainers_share_an_arena)
{
    _cleanup_(fixture_close) struct fixture f;
    fixture_open(&f, 0);
    f.is_emulated = true;
    f.workers = 1;
    fixture_prepare(&f, 0, 1, 2);
    _cleanup_(freep) char *server = arena_of(&f, 0, ROLE_PSERVER, 0);
    _cleanup_(freep) char *first = arena_of(&f, 0, ROLE_TRAINER, 0);
    _cleanup_(freep) char *second = arena_of(&f, 0, ROLE_TRAINER, 1);
    assert_string_equal(server, "arena (none)\nfds 0 1 2 3\nenv BENCHD_ARENA_FD=(none)\n"
                                "env BENCHD_RENDEZVOUS_S=600\n");
    assert_true(str_has_suffix(first, ", 0 bytes\nfds 0 1 2 3 4\nenv BENCHD_ARENA_FD=4\n"
                                      "env BENCHD_RENDEZVOUS_S=600\n"));
    assert_string_equal(first, second);
    _cleanup_(freep) char *worker = arena_of(&f, 0, ROLE_WORKER, 0);
    assert_string_equal(first, worker);
    fixture_prepare(&f, 1, 1, 2); /* the next attempt begins with an empty one */
    _cleanup_(freep) char *next = arena_of(&f, 1, ROLE_TRAINER, 0);
    assert_true(str_has_prefix(next, "arena ") && strstr(next, ", 0 bytes\n") != NULL);
    assert_string_not_equal(first, next);
    f.is_emulated = false;
    fixture_prepare(&f, 2, 1, 2);
    _cleanup_(freep) char *real = arena_of(&f, 2, ROLE_TRAINER, 0);
    assert_string_equal(real, "arena (none)\nfds 0 1 2 3\nenv BENCHD_ARENA_FD=(none)\n"
                              "env BENCHD_RENDEZVOUS_S=(none)\n");
}

/* The programs ignore SIGPIPE; exec would hand that down. */
TEST(signals_are_handled_as_usual)
{
    const char *const *const commands[] = {WORKER("signal", "13"), SHELL("kill -13 $$")};
    assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    int signals[2];
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(fixture_close) struct fixture f;
        fixture_open_one(&f);
        struct replica_id id = fixture_id(0, ROLE_TRAINER, 0);
        fixture_create(&f, &id, commands[i], NULL);
        fixture_wait_ended(&f, &id);
        signals[i] = fixture_output(&f, &id).signal;
    }
    assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    assert_int_equal(signals[0], SIGPIPE);
    assert_int_equal(signals[1], SIGPIPE);
}

TEST(cpus_are_not_shared)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    for (uint32_t trainers = 1; trainers <= 2; trainers++) {
        struct fixture f;
        fixture_open(&f, 0);
        fixture_prepare(&f, 0, 1, trainers);
        char seen[3][4096];
        for (uint32_t i = 0; i < trainers + 1; i++) {
            struct replica_id id =
                i == 0 ? fixture_id(0, ROLE_PSERVER, 0) : fixture_id(0, ROLE_TRAINER, i - 1);
            fixture_create(&f, &id, WORKER("cpus"), NULL);
            fixture_wait_state(&f, &id, REPLICA_SUCCEEDED);
            (void)snprintf(seen[i], sizeof(seen[i]), "%s", fixture_output(&f, &id).log);
        }
        fixture_close(&f);
        /* Enough for all: everyone on another one. Not enough: nobody is pinned. */
        if (cpus >= trainers + 1) {
            assert_string_not_equal(seen[0], seen[1]);
            assert_null(strchr(seen[0] + strlen("cpus "), ' '));
        } else {
            assert_string_equal(seen[0], seen[1]);
        }
    }
}

/* A gang shares 512 MiB: of 512 members each has 1 MiB. */
TEST(large_gangs_have_shorter_logs)
{
    _cleanup_(fixture_close) struct fixture f;
    fixture_open(&f, 0);
    fixture_prepare(&f, 0, 1, 511);
    const struct replica_id id = fixture_id(0, ROLE_TRAINER, 0);
    fixture_create(&f, &id, SHELL("yes | head -c 3000000"), NULL);
    fixture_wait_state(&f, &id, REPLICA_SUCCEEDED);
    assert_in_range(fixture_output(&f, &id).log_len, 1000000, (1 << 20) + 100);
}

TEST(ports_are_free_and_reserved)
{
    _cleanup_(fixture_close) struct fixture f;
    fixture_open(&f, 0);
    fixture_prepare(&f, 0, 1, 1);
    _cleanup_(freep) char *taken = xstrdup(f.addresses.of_role[ROLE_TRAINER][0]);
    assert_string_not_equal(taken, f.addresses.of_role[ROLE_PSERVER][0]);
    struct replica_id pserver = fixture_id(0, ROLE_PSERVER, 0);
    struct replica_id trainer = fixture_id(0, ROLE_TRAINER, 0);
    /* The trainer's is reserved still, so nobody else gets it: as if it was occupied. */
    fixture_create(&f, &pserver, WORKER("listen"), taken);
    fixture_wait_state(&f, &pserver, REPLICA_FAILED);
    assert_int_equal(fixture_get(&f, &pserver).exit_code, 13);
    assert_int_equal(fixture_get(&f, &pserver).failure, FAILURE_INFRASTRUCTURE);
    fixture_create(&f, &trainer, WORKER("listen"), NULL);
    fixture_wait_state(&f, &trainer, REPLICA_SUCCEEDED);
    fixture_prepare(&f, 1, 1, 1); /* the next attempt, while this one has members */
    for (uint32_t i = 0; i < 2; i++) {
        struct replica_id id = fixture_id(1, i == 0 ? ROLE_PSERVER : ROLE_TRAINER, 0);
        fixture_create(&f, &id, WORKER("listen"), NULL);
        fixture_wait_state(&f, &id, REPLICA_SUCCEEDED);
    }
}

TEST(an_attempt_that_never_began_keeps_no_port)
{
    struct fixture f;
    fixture_open_one(&f);
    _cleanup_(freep) char *left = xstrdup(f.addresses.of_role[ROLE_TRAINER][0]);
    fixture_prepare(&f, 1, 0, 1);
    struct replica_id id = fixture_id(1, ROLE_TRAINER, 0);
    fixture_create(&f, &id, WORKER("listen"), left);
    fixture_wait_ended(&f, &id);
    const int exit_code = fixture_get(&f, &id).exit_code;
    fixture_close(&f);
    assert_int_equal(exit_code, 0); /* 13: taken */
}

/* Shells whose child ignores TERM; $! is what the shell started. */
#define STUBBORN "trap '' TERM; sh -c 'while :; do sleep 100; done' & echo pid $!; wait"
#define ESCAPED "p=$(setsid -f sh -c 'echo $$; exec sleep 100 >/dev/null 2>&1'); echo pid $p"

TEST(whoever_ignores_term_is_killed)
{
    static const struct {
        const char *name;
        const char *argv[6];
    } rows[] = {
        {"benchworker", {"benchworker", "block", "pid", "hang"}},
        {"foreign, with a child", {"sh", "-c", STUBBORN}},
    };
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(fixture_close) struct fixture f;
        fixture_open_one(&f);
        struct replica_id id = fixture_id(0, ROLE_TRAINER, 0);
        fixture_create(&f, &id, rows[i].argv, NULL);
        pid_t pid = fixture_pid(&f, &id);
        int64_t start_ns = clock_monotonic_ns();
        uv_update_time(&f.loop);
        f.launcher->ops->remove(f.launcher, &id, false);
        assert_int_equal(fixture_count(&f), 0);
        fixture_wait_quiet(&f);
        int64_t took_ms = (clock_monotonic_ns() - start_ns) / 1000000;
        assert_in_range(took_ms, 1900, INT64_MAX);
        fixture_assert_gone(rows[i].name, pid);
    }
}

/* Who handles TERM must be woken to do so. The loop, which would kill it 2000 ms later, does not
 * turn until it has ended. The shell has no child: one that is stopped between fork and exec has
 * the shell's handler, and TERM is lost in it. */
TEST(a_stopped_one_ends_at_term)
{
    static const struct {
        const char *name;
        const char *argv[6];
    } rows[] = {
        {"benchworker", {"benchworker", "leave", "pid", "hang"}},
        {"foreign", {"sh", "-c", "trap 'exit 0' TERM; echo pid $$; while :; do :; done"}},
    };
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(fixture_close) struct fixture f;
        fixture_open_one(&f);
        struct replica_id id = fixture_id(0, ROLE_TRAINER, 0);
        fixture_create(&f, &id, rows[i].argv, NULL);
        const pid_t pid = fixture_pid(&f, &id);
        struct pollfd ended = {.fd = pidfd_open(pid, 0), .events = POLLIN};
        assert_int_equal(kill(-getpgid(pid), SIGSTOP), 0);
        f.launcher->ops->remove(f.launcher, &id, false);
        if (poll(&ended, 1, 60000) != 1) {
            fail_msg("%s: process %d was not woken", rows[i].name, pid);
        }
        (void)close(ended.fd); /* nothing was written */
        fixture_wait_quiet(&f);
    }
}

/* What it writes on its way out belongs to nobody's progress. */
TEST(a_removed_one_reports_no_record)
{
    struct fixture f;
    fixture_open_one(&f);
    struct replica_id id = fixture_id(0, ROLE_TRAINER, 0);
    fixture_create(&f, &id, WORKER("leave", "pid", "hang"), NULL);
    (void)fixture_pid(&f, &id);
    f.launcher->ops->remove(f.launcher, &id, false);
    fixture_wait_quiet(&f);
    const unsigned n_records = f.n_records;
    fixture_close(&f);
    assert_int_equal(n_records, 0);
}

TEST(the_next_attempt_waits_for_the_dying)
{
    struct fixture f;
    fixture_open_one(&f);
    struct replica_id old = fixture_id(0, ROLE_TRAINER, 0), new = fixture_id(1, ROLE_TRAINER, 0);
    fixture_create(&f, &old, WORKER("block", "pid", "hang"), NULL);
    pid_t pid = fixture_pid(&f, &old);
    f.launcher->ops->remove(f.launcher, &old, false);
    fixture_prepare(&f, 1, 0, 1);
    fixture_create(&f, &new, WORKER("exit", "0"), NULL);
    const enum replica_state before = fixture_get(&f, &new).state;
    assert_int_equal(kill(pid, SIGKILL), 0);
    fixture_wait_state(&f, &new, REPLICA_SUCCEEDED);
    fixture_assert_gone("the old one", pid);
    fixture_close(&f);
    assert_int_equal(before, REPLICA_PENDING); /* last: a fixture left open hangs the next tests */
}

/* Of what waits for two that ignore TERM, of which one is gone. After 2000 ms both are killed: who
 * is late shows nothing. */
static enum replica_state state_after_one_of_two(bool *ret_is_late)
{
    _cleanup_(fixture_close) struct fixture f;
    fixture_open(&f, 0);
    fixture_prepare(&f, 0, 0, 2);
    struct replica_id old[2] = {fixture_id(0, ROLE_TRAINER, 0), fixture_id(0, ROLE_TRAINER, 1)};
    struct replica_id new = fixture_id(1, ROLE_TRAINER, 0);
    pid_t pids[2];
    for (int i = 0; i < 2; i++) {
        fixture_create(&f, &old[i], WORKER("block", "pid", "hang"), NULL);
        pids[i] = fixture_pid(&f, &old[i]);
    }
    uv_update_time(&f.loop);
    const int64_t start_ns = clock_monotonic_ns();
    for (int i = 0; i < 2; i++) {
        f.launcher->ops->remove(f.launcher, &old[i], false);
    }
    fixture_prepare(&f, 1, 0, 1);
    fixture_create(&f, &new, WORKER("exit", "0"), NULL);
    assert_int_equal(kill(pids[0], SIGKILL), 0);
    fixture_wait_gone(&f, pids[0]);
    const enum replica_state before = fixture_get(&f, &new).state;
    *ret_is_late = clock_monotonic_ns() - start_ns > INT64_C(1900000000);
    (void)kill(pids[1], SIGKILL); /* its time may be over */
    fixture_wait_state(&f, &new, REPLICA_SUCCEEDED);
    return before;
}

TEST(the_next_attempt_waits_for_all_of_the_dying)
{
    bool is_late;
    enum replica_state before;
    do {
        before = state_after_one_of_two(&is_late);
    } while (is_late);
    assert_int_equal(before, REPLICA_PENDING);
}

TEST(a_waiting_one_can_be_removed)
{
    _cleanup_(fixture_close) struct fixture f;
    fixture_open_one(&f);
    struct replica_id old = fixture_id(0, ROLE_TRAINER, 0), new = fixture_id(1, ROLE_TRAINER, 0);
    fixture_create(&f, &old, WORKER("pid", "hang"), NULL);
    f.launcher->ops->remove(f.launcher, &old, false);
    fixture_prepare(&f, 1, 0, 1);
    fixture_create(&f, &new, WORKER("exit", "0"), NULL);
    f.launcher->ops->remove(f.launcher, &new, false);
    fixture_wait_quiet(&f);
    assert_int_equal(fixture_count(&f), 0);
}

TEST(whoever_escapes_ends_with_the_command)
{
    _cleanup_(fixture_close) struct fixture f;
    fixture_open_one(&f);
    struct replica_id id = fixture_id(0, ROLE_TRAINER, 0);
    fixture_create(&f, &id, SHELL(ESCAPED), NULL);
    pid_t pid = fixture_pid(&f, &id);
    fixture_wait_state(&f, &id, REPLICA_SUCCEEDED);
    fixture_assert_gone("escaped", pid);
}

/* No descriptor left, at each step of a start in turn. */
TEST(a_lack_of_descriptors_is_told)
{
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    enum replica_state last = REPLICA_FAILED;
    for (rlim_t n_free = 0; last == REPLICA_FAILED; n_free++) {
        _cleanup_(fixture_close) struct fixture f;
        fixture_open_one(&f);
        struct replica_id id = fixture_id(0, ROLE_TRAINER, 0);
        struct rlimit few = before;
        few.rlim_cur = (rlim_t)f.n_fds + 12 + n_free;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        fixture_create(&f, &id, WORKER("hang"), NULL);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        struct observed_replica seen = fixture_get(&f, &id);
        last = seen.state;
        if (last == REPLICA_FAILED && !str_has_suffix(seen.message, ": Too many open files")) {
            fail_msg("with %d free: '%s'", (int)n_free, seen.message);
        }
        assert_true(n_free < 30 && (n_free > 0 || last == REPLICA_FAILED));
    }
}

/* Around an attempt that does not look itself: before its first member starts, and when the last
 * that trains has ended. The first summary of one that trains carries it. */
TEST(the_machine_around_an_attempt)
{
    static const struct {
        const char *name;
        bool is_probed;
        const char *first[4], *second[4]; /* what the trainers do; the server hangs */
        int carrier;                      /* -1: none */
    } rows[] = {
        {"the first of two", true, {"benchworker", "records"}, {"benchworker", "records"}, 0},
        {"a foreign one", true, {"sh", "-c", "exit 0"}, {"benchworker", "records"}, 1},
        {"nobody has a summary", true, {"sh", "-c", "exit 0"}, {"sh", "-c", "exit 0"}, -1},
        {"one fails", true, {"benchworker", "records"}, {"benchworker", "exit", "3"}, -1},
        {"they look themselves", false, {"benchworker", "records"}, {"benchworker", "records"}, -1},
    };
    cpu_set_t before, after; /* the probe goes to one CPU and comes back */
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(fixture_close) struct fixture f;
        fixture_open(&f, 0);
        f.is_probed = rows[i].is_probed;
        fixture_prepare(&f, 0, 1, 2);
        const struct replica_id server = fixture_id(0, ROLE_PSERVER, 0);
        const struct replica_id trainers[] = {fixture_id(0, ROLE_TRAINER, 0),
                                              fixture_id(0, ROLE_TRAINER, 1)};
        fixture_create(&f, &server, WORKER("hang"), NULL);
        fixture_create(&f, &trainers[0], rows[i].first, NULL);
        fixture_create(&f, &trainers[1], rows[i].second, NULL);
        fixture_wait_ended(&f, &trainers[0]);
        fixture_wait_ended(&f, &trainers[1]);
        for (int t = 0; t < 2; t++) {
            const struct summary *s = fixture_output(&f, &trainers[t]).summary;
            const struct noise noise = s == NULL ? (struct noise){0} : s->noise;
            const bool carries = t == rows[i].carrier;
            print_message("# row '%s', trainer %d\n", rows[i].name, t);
            assert_int_equal(noise.by_launcher, carries);
            assert_int_equal(noise.before.spins_per_s > 0, carries);
            assert_int_equal(noise.after.spins_per_s > 0, carries);
        }
        assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
        assert_true(CPU_EQUAL(&before, &after));
    }
}

static int64_t free_ends_everything_ms(void)
{
    struct fixture f;
    fixture_open(&f, 0);
    fixture_prepare(&f, 0, 1, 2);
    struct replica_id ids[3] = {fixture_id(0, ROLE_PSERVER, 0), fixture_id(0, ROLE_TRAINER, 0),
                                fixture_id(0, ROLE_TRAINER, 1)};
    fixture_create(&f, &ids[0], WORKER("block", "pid", "hang"), NULL);
    fixture_create(&f, &ids[1], SHELL(STUBBORN), NULL);
    fixture_create(&f, &ids[2], WORKER("pid", "hang"), NULL);
    pid_t pids[3];
    for (int i = 0; i < 3; i++) {
        pids[i] = fixture_pid(&f, &ids[i]);
    }
    int64_t start_ns = clock_monotonic_ns();
    fixture_close(&f);
    const int64_t took_ms = (clock_monotonic_ns() - start_ns) / 1000000;
    fixture_assert_gone("server", pids[0]);
    fixture_assert_gone("shell's child", pids[1]);
    fixture_assert_gone("trainer", pids[2]);
    return took_ms;
}

/* Without the 2000 ms that who ignores TERM has otherwise. A machine that is busy may
 * be late now and then. */
TEST(free_ends_everything)
{
    int64_t took_ms = INT64_MAX;
    for (int tries = 0; took_ms >= 2000 && tries < 10; tries++) {
        took_ms = free_ends_everything_ms();
    }
    assert_in_range(took_ms, 0, 1999);
}
