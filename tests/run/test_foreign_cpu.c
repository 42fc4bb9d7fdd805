/* How long foreign programs ran and waited for CPUs, as the local launcher counts it. */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/test.h"
#include "launcher_fixture.h"

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

static atomic_int n_clock_reads; /* two a look */
int64_t __real_clock_thread_cpu_ns(void);
int64_t __wrap_clock_thread_cpu_ns(void);
int64_t __wrap_clock_thread_cpu_ns(void)
{
    return __real_clock_thread_cpu_ns() + (n_clock_reads++ < 5 ? 0 : INT64_C(1000000000));
}

/* The host takes the CPU for a second in the third look: the next ones are not 200 s later. */
TEST(what_a_host_takes_is_not_the_cost_of_a_look)
{
    _cleanup_(fixture_close) struct fixture f;
    fixture_open_one(&f);
    const struct replica_id id = fixture_id(0, ROLE_TRAINER, 0);
    fixture_create(&f, &id, ARGV("sleep", "60"), NULL);
    while (n_clock_reads < 10 && fixture_get(&f, &id).state == REPLICA_RUNNING) {
        (void)uv_run(&f.loop, UV_RUN_ONCE);
    }
    assert_in_range(n_clock_reads, 10, 99);
}

/* Another program that never sleeps. */
static pid_t start_rival(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            __asm__ volatile("");
        }
    }
    return pid;
}

/* A program that never sleeps has waited when it has not run, whatever else the machine does. What
 * it ran it knows itself, and what all its threads have waited the kernel has told it. */
TEST(a_foreign_program_waits_for_its_cpu)
{
    static const struct {
        const char *name, *how;
        bool has_server, has_rival;
    } rows[] = {
        {"by itself", "self", false, false},
        {"a child runs", "child", false, false},
        {"another program has its CPU", "self", false, true},
        {"another program has its child's", "child", false, true},
        {"a server without a summary has it, which is no other program", "self", true, false},
    };
    cpu_set_t all, one;
    const double ran = 0.4e9;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(fixture_close) struct fixture f;
        fixture_open(&f, 0);
        fixture_prepare(&f, 0, rows[i].has_server, 1);
        const struct replica_id server = fixture_id(0, ROLE_PSERVER, 0);
        const struct replica_id trainer = fixture_id(0, ROLE_TRAINER, 0);
        const pid_t rival = rows[i].has_rival ? start_rival() : -1;
        _cleanup_(freep) char *program =
            xasprintf("%s/tests/run/fake_worker", getenv("BENCHD_BUILD_DIR"));
        if (rows[i].has_server) {
            fixture_create(&f, &server, ARGV("sh", "-c", "while :; do :; done"), NULL);
        }
        const int64_t created_ns = clock_monotonic_ns();
        fixture_create(&f, &trainer, ARGV(program, "pid", "spin", rows[i].how), NULL);
        char *rest;
        const double took = strtod(fixture_wait_log(&f, &trainer, "spun "), NULL);
        processes_look(f.launcher); /* at a child that has ended and is still to be waited for */
        assert_int_equal(kill(fixture_pid(&f, &trainer), SIGUSR1), 0);
        const double whole = strtod(fixture_wait_log(&f, &trainer, "in all "), &rest);
        const double told = strtod(rest, NULL);
        fixture_wait_ended(&f, &trainer);
        const double lived = (double)(clock_monotonic_ns() - created_ns); /* with its start */
        const struct summary *s = fixture_output(&f, &trainer).summary;
        const struct noise *n = &s->noise;
        const double waited = took - ran, server_ns = rows[i].has_server ? lived : 0;
        print_message("# row '%s': took %.0f of %.0f ms, ran %.0f, waited %.0f, was told %.0f, "
                      "its CPU was busy %.0f\n",
                      rows[i].name, took / 1e6, whole / 1e6, (double)n->cpu_run_ns / 1e6,
                      (double)n->cpu_wait_ns / 1e6, told / 1e6, (double)n->busy_ns / 1e6);
        assert_true(n->by_launcher);
        assert_int_equal(s->cpu_ns, n->cpu_run_ns);
        assert_in_range(n->cpu_run_ns, (int64_t)(0.85 * ran), (int64_t)(1.15 * ran + server_ns));
        assert_true((double)n->cpu_wait_ns > 0.8 * waited - 0.05 * ran);
        assert_true((double)n->cpu_wait_ns < 1.2 * (told + lived - whole + server_ns) + 0.15 * ran);
        assert_true(!rows[i].has_rival || (double)n->cpu_wait_ns > 0.2 * took);
        assert_in_range(n->busy_ns, (int64_t)(0.85 * took), (int64_t)(1.15 * lived) + 50000000);
        if (rival > 0) {
            assert_int_equal(kill(rival, SIGKILL), 0);
            assert_int_equal(waitpid(rival, NULL, 0), rival);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}
