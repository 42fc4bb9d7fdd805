/* See cpu_wait.h. */
#include "host/cpu_wait.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

#define LINE_MAX_BYTES 128               /* three numbers of 20 digits at most */
#define TICKS_ERROR_NS INT64_C(30000000) /* of CPU times that are counted in ticks of 10 ms */

/* "RUN WAIT SLICES\n". A kernel that does not count has only zeros there. */
static bool read_thread(int task_fd, const char *name, struct cpu_wait_thread *ret)
{
    _cleanup_(freep) char *path = xasprintf("%s/schedstat", name);
    char line[LINE_MAX_BYTES + 1];
    const int fd = openat(task_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    const ssize_t n = read(fd, line, LINE_MAX_BYTES);
    (void)close(fd); /* read only */
    line[n > 0 ? n : 0] = '\0';
    char *rest = line;
    const char *run = strsep(&rest, " "), *wait = strsep(&rest, " ");
    return wait != NULL && parse_i64_in(name, 1, INT32_MAX, &ret->tid) == 0 &&
           parse_i64_in(run, 0, CPU_WAIT_MAX_NS, &ret->run_ns) == 0 &&
           parse_i64_in(wait, 0, CPU_WAIT_MAX_NS, &ret->wait_ns) == 0;
}

static int by_tid(const void *a, const void *b)
{
    const struct cpu_wait_thread *x = a, *y = b;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Ticks of "PID (NAME) STATE PPID ...": fields 14 to 17 are utime, stime, and those of children
 * that were waited for. A name may have any characters. */
static int64_t used_ticks(const char *root, int64_t pid)
{
    enum { STATE = 3, UTIME = 14, CSTIME = 17 };
    char path[64];
    text_put(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    _cleanup_(freep) char *line = host_read_line(root, path);
    char *rest = line == NULL ? NULL : strrchr(line, ')');
    int64_t sum = 0, ticks;
    (void)strsep(&rest, " "); /* NULL of NULL */
    for (int field = STATE; field <= CSTIME && rest != NULL; field++) {
        const char *word = strsep(&rest, " ");
        if (field >= UTIME && parse_i64_in(word, 0, INT32_MAX, &ticks) == 0) {
            sum += ticks;
        }
    }
    return sum;
}

struct processes {
    VEC(int64_t) list;
};

/* The processes that a thread has started. */
static void add_children(const char *root, int64_t pid, int64_t tid, struct processes *all)
{
    char path[96];
    text_put(path, sizeof(path), "/proc/%lld/task/%lld/children", (long long)pid, (long long)tid);
    _cleanup_(freep) char *line = host_read_line(root, path);
    char *rest = line;
    for (const char *word; (word = strsep(&rest, " ")) != NULL;) {
        int64_t child;
        if (parse_i64_in(word, 1, INT32_MAX, &child) == 0) {
            *vec_push(&all->list) = child;
        }
    }
}

/* Adds the threads of one process, if they count, and in any case what they have started. */
static void add_process(const char *root, int64_t pid, bool counts,
                        struct cpu_wait_threads *threads, struct processes *all)
{
    _cleanup_(freep) char *path = xasprintf("%s/proc/%lld/task", root, (long long)pid);
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct cpu_wait_thread thread;
        if (read_thread(dirfd(dir), entry->d_name,
                        &thread)) { /* not ".", nor one that has just ended */
            if (counts) {
                *vec_push(&threads->list) = thread;
            }
            add_children(root, pid, thread.tid, all);
        }
    }
    (void)closedir(dir);
}

/* Returns their CPU time. Parents come before their children: one that is waited for in between is
 * counted a look later, and not twice. */
static int64_t look_at_all(const char *root, const struct cpu_watch *w,
                           struct cpu_wait_threads *threads)
{
    struct processes all = {0};
    int64_t ticks = 0;
    *vec_push(&all.list) = w->pid;
    for (size_t i = 0; i < all.list.len && threads->list.len <= CPU_WAIT_MAX_THREADS; i++) {
        ticks += used_ticks(root, all.list.items[i]);
        add_process(root, all.list.items[i], i > 0 || !w->has_guard, threads, &all);
    }
    vec_done(&all.list);
    if (threads->list.len > CPU_WAIT_MAX_THREADS) {
        vec_done(&threads->list);
    }
    array_sort(threads->list.items, threads->list.len, sizeof(*threads->list.items), by_tid);
    return ticks * (1000000000 / sysconf(_SC_CLK_TCK));
}

/* What threads of the last look had that are not there now. */
static void add_gone(struct cpu_watch *w, const struct cpu_wait_threads *now)
{
    vec_each (const struct cpu_wait_thread, t, &w->threads.list) {
        size_t at;
        const bool is_there = vec_search(&now->list, it, by_tid(it, t), &at) &&
                              now->list.items[at].run_ns >= t->run_ns &&
                              now->list.items[at].wait_ns >= t->wait_ns;
        w->gone.run_ns += is_there ? 0 : t->run_ns;
        w->gone.wait_ns += is_there ? 0 : t->wait_ns;
    }
}

void cpu_watch_look(const char *root, struct cpu_watch *w, int64_t now_ns)
{
    struct cpu_wait_threads now = {0};
    const int64_t used_ns = look_at_all(root, w, &now);
    add_gone(w, &now);
    vec_done(&w->threads.list);
    w->threads = now;
    *vec_push(&w->counts) = (struct cpu_count){
        .t_ns = now_ns,
        .cpus = host_cpu_time(root, w->cpus),
        .throttling = host_throttling(root),
        .used_ns = used_ns,
        .run_ns = w->gone.run_ns + vec_sum(&now.list, it, it->run_ns),
        .wait_ns = w->gone.wait_ns + vec_sum(&now.list, it, it->wait_ns),
    };
}

static int64_t between(int64_t a, int64_t b, double part)
{
    return a + (int64_t)(part * (double)(b - a));
}

/* At a time within the counts, or else at that end of them. */
static struct cpu_count count_at(const struct cpu_watch *w, int64_t t_ns)
{
    const struct cpu_count *a = w->counts.items, *last = a + w->counts.len - 1;
    while (a < last && a[1].t_ns <= t_ns) {
        a++;
    }
    if (a == last || t_ns <= a->t_ns) {
        return *a;
    }
    const struct cpu_count *b = a + 1;
    const double part = (double)(t_ns - a->t_ns) / (double)(b->t_ns - a->t_ns);
    return (struct cpu_count){
        .cpus = {between(a->cpus.busy_ns, b->cpus.busy_ns, part),
                 between(a->cpus.steal_ns, b->cpus.steal_ns, part)},
        .throttling = {between(a->throttling.time_ns, b->throttling.time_ns, part),
                       a->throttling.periods},
        .used_ns = between(a->used_ns, b->used_ns, part),
        .run_ns = between(a->run_ns, b->run_ns, part),
        .wait_ns = between(a->wait_ns, b->wait_ns, part),
    };
}

struct cpu_count cpu_watch_between(const struct cpu_watch *w, int64_t from_ns, int64_t to_ns)
{
    if (w->counts.len == 0) {
        return (struct cpu_count){0};
    }
    const struct cpu_count from = count_at(w, from_ns), to = count_at(w, to_ns);
    struct cpu_count c = {
        .cpus = host_cpu_between(&from.cpus, &to.cpus),
        .throttling = {to.throttling.time_ns - from.throttling.time_ns,
                       to.throttling.periods - from.throttling.periods},
        .used_ns = to.used_ns - from.used_ns,
        .run_ns = to.run_ns - from.run_ns,
        .wait_ns = to.wait_ns - from.wait_ns,
    };
    const int64_t unseen_ns = c.used_ns - TICKS_ERROR_NS - c.run_ns;
    c.is_known = unseen_ns <= c.run_ns;
    if (c.is_known && unseen_ns > 0) {
        c.wait_ns = (int64_t)((double)c.wait_ns * (double)c.used_ns / (double)c.run_ns);
        c.run_ns = c.used_ns;
    }
    return c;
}

void cpu_watch_done(struct cpu_watch *w)
{
    free(w->cpus);
    vec_done(&w->threads.list);
    vec_done(&w->counts);
}
