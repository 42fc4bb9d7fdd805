/* How long threads ran and waited: of made-up processes, and of this one.
 * tests/run/test_foreign_cpu.c has programs that take a CPU from each other. */
#include <pthread.h>
#include <unistd.h>

#include "tests/test.h"
#include "base/clock.h"
#include "host/cpu_wait.h"

#define MS INT64_C(1000000)
#define UNKNOWN (-1) /* in rows */

/* ---- made-up programs ---- */

/* A process: ticks of 10 ms of its own and of those that it has waited for, its one thread in ms,
 * and who started it. Or another thread of a process, which has no ticks. */
struct made_up {
    int pid, parent, own, waited_for, run_ms, wait_ms;
    int thread_of;
    const char *schedstat; /* its text; NULL: by the numbers */
};

static void watch_at(struct cpu_watch *w, const struct made_up *all, size_t n, int64_t t_ms)
{
    char root[] = "/tmp/benchd-watch-XXXXXX", text[256];
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < n && all[i].pid != 0; i++) {
        const struct made_up *p = &all[i];
        const int of = p->thread_of != 0 ? p->thread_of : p->pid;
        (void)snprintf(text, sizeof(text), "%d (a) b 1) S 1 1 1 0 -1 4 1 2 3 4 %d %d %d %d 20 0\n",
                       p->pid, p->own - p->own / 2, p->own / 2, p->waited_for, 0);
        if (p->thread_of == 0) {
            test_write_file(text, "%s/proc/%d/stat", root, p->pid);
        }
        (void)snprintf(text, sizeof(text), "%d000000 %d000000 1\n", p->run_ms, p->wait_ms);
        test_write_file(p->schedstat == NULL ? text : p->schedstat, "%s/proc/%d/task/%d/schedstat",
                        root, of, p->pid);
        text[0] = '\0';
        for (size_t j = 0; j < n; j++) {
            const size_t len = strlen(text);
            if (all[j].parent == p->pid) {
                (void)snprintf(text + len, sizeof(text) - len, "%d ", all[j].pid);
            }
        }
        test_write_file(text, "%s/proc/%d/task/%d/children", root, of, p->pid);
    }
    cpu_watch_look(root, w, t_ms * MS);
    assert_int_equal(test_remove_folder(root), 0);
}

/* Two looks, at 100 and at 200 ms. */
TEST(programs)
{
    /* clang-format off */
    static const struct {
        const char *name;
        struct made_up begin[4], end[4];
        int from_ms, to_ms; /* between which the time is asked for */
        int used_ms, run_ms, wait_ms; /* run_ms UNKNOWN: that and waits are not known */
        bool has_guard;
    } rows[] = {
        {"one process", {{7, 1, 1, 0, 10, 1}}, {{7, 1, 5, 0, 50, 31}}, 100, 200, 40, 40, 30},
        {"a part of the time", {{7, 1, 1, 0, 10, 1}}, {{7, 1, 5, 0, 50, 41}}, 150, 175, 10, 10, 10},
        {"more than was looked at", {{7, 1, 1, 0, 10, 1}}, {{7, 1, 5, 0, 50, 31}}, 0, 300, 40, 40, 30},
        {"its children's children", {{7, 1, 1, 0, 10, 1}, {8, 7, 1, 0, 10, 0}, {9, 8, 1, 0, 10, 1}},
         {{7, 1, 1, 0, 10, 1}, {8, 7, 2, 0, 20, 3}, {9, 8, 3, 0, 30, 5}}, 100, 200, 30, 30, 7},
        {"its guard does not count", {{7, 1, 0, 0, 1, 1}, {8, 7, 1, 0, 10, 0}},
         {{7, 1, 0, 0, 2, 90}, {8, 7, 3, 0, 30, 5}}, 100, 200, 20, 20, 5, .has_guard = true},
        {"another's child", {{7, 1, 1, 0, 10, 1}, {8, 3, 1, 0, 10, 0}},
         {{7, 1, 3, 0, 30, 1}, {8, 3, 9, 0, 90, 0}}, 100, 200, 20, 20, 0},
        {"as much again is of a child that no look has seen: it waited alike",
         {{7, 1, 0, 0, 0, 0}}, {{7, 1, 20, 20, 200, 100}}, 100, 200, 400, 400, 200},
        {"most is of children that no look has seen", {{7, 1, 0, 0, 0, 0}}, {{7, 1, 1, 9, 10, 10}},
         100, 200, 100, UNKNOWN, 0},
        {"a child that is gone keeps what was seen", {{7, 1, 0, 0, 0, 0}, {8, 7, 3, 0, 30, 9}},
         {{7, 1, 4, 3, 40, 6}}, 100, 200, 40, 40, 6},
        {"ticks are coarse", {{7, 1, 0, 0, 9, 0}}, {{7, 1, 1, 0, 19, 4}}, 100, 200, 10, 10, 4},
        {"a tick of one that slept is no doubt", {{7, 1, 0, 0, 9, 1}}, {{7, 1, 1, 0, 10, 3}}, 100, 200, 10, 1, 2},
        {"the kernel counts no waits", {{7, 1, 1, 0, 0, 0}}, {{7, 1, 5, 0, 0, 0}}, 100, 200, 40, UNKNOWN, 0},
        {"threads add up, in whatever order they are listed",
         {{7, 1, 1, 0, 10, 1}, {12, 0, 0, 0, 5, 6, .thread_of = 7}, {100, 0, 0, 0, 1, 1, .thread_of = 7}},
         {{7, 1, 6, 0, 50, 31}, {12, 0, 0, 0, 6, 8, .thread_of = 7}, {100, 0, 0, 0, 2, 2, .thread_of = 7}},
         100, 200, 50, 42, 33},
        {"what a thread has started", {{7, 1, 0, 0, 0, 0}, {8, 0, 0, 0, 0, 0, .thread_of = 7}},
         {{7, 1, 0, 0, 0, 0}, {8, 0, 0, 0, 0, 0, .thread_of = 7}, {9, 8, 5, 0, 50, 2}}, 100, 200, 50, 50, 2},
        {"its number has a new owner", {{7, 1, 1, 0, 10, 1}, {8, 0, 0, 0, 9, 9, .thread_of = 7}},
         {{7, 1, 5, 0, 50, 31}, {8, 0, 0, 0, 10, 3, .thread_of = 7}}, 100, 200, 40, 50, 33},
        {"damaged at the end", {{7, 1, 1, 0, 10, 1}}, {{7, 1, 9, 0, .schedstat = "160\n"}}, 100, 200, 80, UNKNOWN, 0},
        {"negative at the end", {{7, 1, 1, 0, 10, 1}}, {{7, 1, 9, 0, .schedstat = "160 -5 9\n"}}, 100, 200, 80, UNKNOWN, 0},
        {"more than a thread can have run", {{7, 1, 1, 0, 10, 1}},
         {{7, 1, 9, 0, .schedstat = "9223372036854775807 50 9\n"}}, 100, 200, 80, UNKNOWN, 0},
        {"nothing is there", {{0}}, {{0}}, 100, 200, 0, 0, 0},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(cpu_watch_done) struct cpu_watch w = {.pid = 7, .has_guard = rows[i].has_guard};
        watch_at(&w, rows[i].begin, 4, 100);
        watch_at(&w, rows[i].end, 4, 200);
        const struct cpu_count c = cpu_watch_between(&w, rows[i].from_ms * MS, rows[i].to_ms * MS);
        assert_int_equal(c.used_ns, rows[i].used_ms * MS);
        assert_int_equal(c.is_known, rows[i].run_ms != UNKNOWN);
        assert_true(!c.is_known || c.run_ns == rows[i].run_ms * MS);
        assert_true(!c.is_known || c.wait_ns == rows[i].wait_ms * MS);
    }
}

/* ---- this process ---- */

static void skip_without_counts(void)
{
    struct cpu_watch w = {.pid = getpid()};
    cpu_watch_look("", &w, 0);
    const bool is_counted = w.counts.items[0].run_ns > 0;
    cpu_watch_done(&w);
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
    _cleanup_(cpu_watch_done) struct cpu_watch w = {.pid = getpid()};
    pthread_t thread;
    cpu_watch_look("", &w, 0);
    assert_int_equal(pthread_create(&thread, NULL, run_a_little, NULL), 0);
    cpu_watch_look("", &w, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)run_a_little(NULL);
    cpu_watch_look("", &w, 2);
    const struct cpu_count c = cpu_watch_between(&w, 0, 2);
    assert_true(c.is_known && c.run_ns >= 15 * MS); /* the kernel adds up at its ticks */
    assert_true(c.used_ns >= 30 * MS && c.run_ns <= c.used_ns + 30 * MS);
}
