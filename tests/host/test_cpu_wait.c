/* How long threads ran and waited: made-up processes, and this one beside a
 * program that takes its CPU. */
#include <ftw.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"
#include "base/clock.h"
#include "host/cpu_wait.h"

#define MAX_THREADS 4
#define MS INT64_C(1000000)

/* ---- made-up processes ---- */

struct thread_file {
    const char *tid, *text; /* of its schedstat */
};

static void put_threads(const char *root, const struct thread_file *files)
{
    char path[512];
    const char *const folders[] = {"/proc", "/proc/self", "/proc/self/task"};
    for (size_t i = 0; i < N_ROWS(folders); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", root, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < MAX_THREADS && files[i].tid != NULL; i++) {
        (void)snprintf(path, sizeof(path), "%s/proc/self/task/%s", root, files[i].tid);
        assert_int_equal(mkdir(path, 0700), 0);
        (void)snprintf(path, sizeof(path), "%s/proc/self/task/%s/schedstat", root, files[i].tid);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        assert_true(fputs(files[i].text, f) >= 0);
        assert_int_equal(fclose(f), 0);
    }
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static void look_at(const struct thread_file *files, struct cpu_wait_look *look)
{
    char root[] = "/tmp/benchd-run-queue-XXXXXX";
    assert_non_null(mkdtemp(root));
    if (files[0].tid != NULL) {
        put_threads(root, files);
    }
    cpu_wait_look(root, look);
    assert_int_equal(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

TEST(made_up)
{
    /* clang-format off */
    static const struct {
        const char *name;
        struct thread_file begin[MAX_THREADS], end[MAX_THREADS];
        struct cpu_wait_time time;
    } rows[] = {
        {"one thread", {{"7", "100 10 3\n"}}, {{"7", "160 50 9\n"}}, {60, 40}},
        {"threads add up, in whatever order they are listed",
         {{"7", "100 10 3\n"}, {"12", "5 6 7\n"}, {"100", "1 1 1\n"}},
         {{"100", "2 2 2\n"}, {"7", "160 50 9\n"}, {"12", "6 8 9\n"}}, {62, 43}},
        {"nobody waited", {{"7", "100 10 3\n"}}, {{"7", "160 10 9\n"}}, {60, 0}},
        {"a thread that began since counts whole", {{"7", "100 10 3\n"}},
         {{"7", "160 50 9\n"}, {"8", "3 4 1\n"}}, {63, 44}},
        {"a thread that has ended: nobody knows how long it waited",
         {{"7", "100 10 3\n"}, {"8", "3 4 1\n"}}, {{"7", "160 50 9\n"}}, {0, 0}},
        {"one has ended, another has begun", {{"7", "100 10 3\n"}, {"8", "3 4 1\n"}},
         {{"7", "160 50 9\n"}, {"9", "3 4 1\n"}}, {0, 0}},
        {"its number has a new owner", {{"7", "100 10 3\n"}}, {{"7", "160 9 9\n"}}, {0, 0}},
        {"a kernel that does not count", {{"7", "0 0 0\n"}}, {{"7", "0 0 0\n"}}, {0, 0}},
        {"a kernel that counts no running, though who looks runs", {{"7", "0 10 3\n"}},
         {{"7", "0 50 9\n"}}, {0, 0}},
        {"no such file", {{NULL, NULL}}, {{NULL, NULL}}, {0, 0}},
        {"nothing at the barrier", {{NULL, NULL}}, {{"7", "160 50 9\n"}}, {0, 0}},
        {"nothing at the end", {{"7", "160 50 9\n"}}, {{NULL, NULL}}, {0, 0}},
        {"damaged at the end", {{"7", "100 10 3\n"}}, {{"7", "160\n"}}, {0, 0}},
        {"negative at the end", {{"7", "100 10 3\n"}}, {{"7", "160 -50 9\n"}}, {0, 0}},
        {"more than a thread can have run", {{"7", "100 10 3\n"}},
         {{"7", "9223372036854775807 50 9\n"}}, {0, 0}},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(cpu_wait_look_done) struct cpu_wait_look begin = {0}, end = {0};
        look_at(rows[i].begin, &begin);
        look_at(rows[i].end, &end);
        const struct cpu_wait_time time = cpu_wait_between(&begin, &end);
        assert_int_equal(time.run_ns, rows[i].time.run_ns);
        assert_int_equal(time.wait_ns, rows[i].time.wait_ns);
    }
}

/* ---- this process ---- */

static void skip_without_counts(void)
{
    struct cpu_wait_look look = {0};
    cpu_wait_look("", &look);
    const bool is_counted = look.threads.len > 0;
    cpu_wait_look_done(&look);
    if (!is_counted) {
        print_message("# this kernel does not say how long threads wait\n");
        skip();
    }
}

static void *run_a_little(void *unused)
{
    const int64_t begin_ns = clock_thread_cpu_ns();
    while (clock_thread_cpu_ns() < begin_ns + 20 * MS) {
    }
    return unused;
}

TEST(threads_of_this_process)
{
    skip_without_counts();
    _cleanup_(cpu_wait_look_done) struct cpu_wait_look before = {0}, with = {0}, after = {0};
    pthread_t thread;
    cpu_wait_look("", &before);
    assert_int_equal(pthread_create(&thread, NULL, run_a_little, NULL), 0);
    cpu_wait_look("", &with);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)run_a_little(NULL);
    cpu_wait_look("", &after);
    if (with.threads.len == before.threads.len + 1) { /* it had not ended yet */
        assert_int_equal(cpu_wait_between(&with, &after).run_ns, 0);
    }
    assert_true(cpu_wait_between(&before, &after).run_ns > 0);
}

/* Takes the CPU that it may use, until it is killed or its parent ends. */
static _Noreturn void compete(int ready_fd)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (write(ready_fd, "", 1) != 1) {
        _exit(1);
    }
    for (;;) {
        __asm__ volatile("");
    }
}

/* Two that never sleep share one CPU, so each waits while the other runs, however
 * loaded the machine is. */
TEST(another_program_has_the_cpu)
{
    skip_without_counts();
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    int fds[2];
    char byte;
    assert_int_equal(pipe(fds), 0);
    const pid_t pid = fork(); /* it may use the same one CPU */
    assert_true(pid >= 0);
    if (pid == 0) {
        compete(fds[1]);
    }
    assert_int_equal(read(fds[0], &byte, 1), 1);
    _cleanup_(cpu_wait_look_done) struct cpu_wait_look begin = {0}, end = {0};
    cpu_wait_look("", &begin);
    const int64_t begin_ns = clock_thread_cpu_ns();
    while (clock_thread_cpu_ns() < begin_ns + 300 * MS) {
    }
    cpu_wait_look("", &end);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    const struct cpu_wait_time time = cpu_wait_between(&begin, &end);
    print_message("# ran %.1f ms, waited %.1f ms\n", (double)time.run_ns / 1e6,
                  (double)time.wait_ns / 1e6);
    assert_true(time.run_ns >= 200 * MS); /* the kernel adds up at its ticks */
    assert_true(time.wait_ns >= 30 * MS);
    (void)close(fds[0]);
    (void)close(fds[1]);
}
