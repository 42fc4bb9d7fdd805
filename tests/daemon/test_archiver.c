/* The archive is tried again, later each time, when the store's disk is full. What an archive has,
 * and a restore from it, are in tests/e2e/test_archive.py. */
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_world.h"

#include "base/mem.h"
#include "daemon/daemon_internal.h"
#include "store/run_file.h"

#define SECOND_NS INT64_C(1000000000)

static _Atomic int64_t now_ns = SECOND_NS;
static atomic_int n_full; /* the next calls find the disk full */

int64_t __wrap_clock_monotonic_ns(void);
int64_t __wrap_clock_monotonic_ns(void)
{
    return now_ns;
}

__typeof__(run_file_make) __real_run_file_make, __wrap_run_file_make;
int __wrap_run_file_make(struct store *from, const char *uid, const struct run_file_parts *parts,
                         const char *program, const char *path, char *digest, struct err *err)
{
    return n_full-- > 0 ? err_set(err, ENOSPC, "disk full")
                        : __real_run_file_make(from, uid, parts, program, path, digest, err);
}

static void put(struct world *w)
{
    _cleanup_(freep) char *spec = xasprintf(DEFINITION, 5);
    _cleanup_(freep) char *definition = xasprintf(
        "{\"apiVersion\":\"benchd.io/v1alpha1\",\"kind\":\"Benchmark\",\"metadata\":{\"name\":"
        "\"b\"},\"spec\":%s}",
        spec);
    const struct run_row row = {.uid = (char *)"u",
                                .name = (char *)"r",
                                .benchmark = (char *)"b",
                                .definition_json = definition,
                                .status = {.phase = RUN_CANCELLED, .ended_unix_ms = 1000}};
    assert_int_equal(w->env.store->ops->put_run(w->env.store, &row, NULL), 0);
}

TEST(a_full_disk)
{
    _cleanup_(world_freep) struct world *w = world_new();
    _cleanup_(freep) char *folder = xasprintf("%s/archive", w->folder);
    _cleanup_(freep) char *mark = xasprintf("%s/new", w->folder);
    _cleanup_(freep) char *file = xasprintf("%s/r.u.benchd.db.zst", folder);
    struct bucket *bucket = NULL;
    struct run_queue q = {0};
    put(w);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(bucket_open(folder, getenv, &bucket, NULL), 0);
    struct archiver *a = archiver_new(bucket, mark, &w->env, &q);
    static const struct {
        int64_t wait_s;
        uint64_t failures, archived;
    } rows[] = {{0, 1, 0}, {0, 1, 0}, {4, 1, 0}, {1, 2, 0}, {9, 2, 0}, {1, 2, 1}, {599, 2, 1}};
    n_full = 2;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        now_ns += rows[i].wait_s * SECOND_NS;
        archiver_look(a);
        (void)uv_run(&w->loop, UV_RUN_DEFAULT);
        assert_int_equal(w->counters.archive_failures, rows[i].failures);
        assert_int_equal(w->counters.archived, rows[i].archived);
        assert_int_equal(access(file, F_OK), rows[i].archived > 0 ? 0 : -1);
    }
    archiver_free(a);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(folder), 0);
}
