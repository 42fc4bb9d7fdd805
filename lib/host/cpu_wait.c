/* See cpu_wait.h. */
#include "host/cpu_wait.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/parse.h"

#define LINE_MAX_BYTES 128 /* three numbers of 20 digits at most */

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

void cpu_wait_look_done(struct cpu_wait_look *look)
{
    vec_done(&look->threads);
}

void cpu_wait_look(const char *root, struct cpu_wait_look *look)
{
    cpu_wait_look_done(look);
    _cleanup_(freep) char *path = xasprintf("%s/proc/self/task", root);
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct cpu_wait_thread thread;
        if (read_thread(dirfd(dir), entry->d_name,
                        &thread)) { /* not ".", nor one that has just ended */
            *vec_push(&look->threads) = thread;
        }
    }
    (void)closedir(dir);
    if (look->threads.len > CPU_WAIT_MAX_THREADS) {
        cpu_wait_look_done(look);
    } else {
        array_sort(look->threads.items, look->threads.len, sizeof(look->threads.items[0]), by_tid);
    }
}

struct cpu_wait_time cpu_wait_between(const struct cpu_wait_look *begin,
                                      const struct cpu_wait_look *end)
{
    static const struct cpu_wait_time unknown;
    struct cpu_wait_time sum = {0};
    size_t seen = 0;
    vec_each (const struct cpu_wait_thread, it, &end->threads) {
        struct cpu_wait_thread t = *it;
        if (seen < begin->threads.len && begin->threads.items[seen].tid == t.tid) {
            t.run_ns -= begin->threads.items[seen].run_ns;
            t.wait_ns -= begin->threads.items[seen].wait_ns;
            seen++;
        }
        if (t.run_ns < 0 || t.wait_ns < 0) {
            return unknown; /* the number belongs to another thread now */
        }
        sum.run_ns += t.run_ns;
        sum.wait_ns += t.wait_ns;
    }
    const bool all_are_there = begin->threads.len > 0 && seen == begin->threads.len;
    return all_are_there && sum.run_ns > 0 ? sum : unknown;
}
