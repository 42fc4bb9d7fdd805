/* The small parts of the local launcher: CPUs, the child's environment, classes of errors. */
#include <fcntl.h>
#include <unistd.h>

#include "tests/test.h"
#include "base/str.h"
#include "run/processes/child.h"
#include "run/processes/cpus.h"

static const struct cpus_row {
    const char *name;
    uint32_t pservers, trainers, workers, threads, cpus;
    enum role role;
    uint32_t index;
    bool is_pinned;
    struct cpu_range range;
} cpus_rows[] = {
    {"trainer 0", 1, 2, 0, 1, 3, ROLE_TRAINER, 0, true, {0, 1}},
    {"trainer 1", 1, 2, 0, 1, 3, ROLE_TRAINER, 1, true, {1, 1}},
    {"pserver behind the trainers", 1, 2, 0, 1, 3, ROLE_PSERVER, 0, true, {2, 1}},
    {"one CPU too few", 1, 2, 0, 1, 2, ROLE_TRAINER, 0, false, {0}},
    {"threads side by side", 2, 2, 0, 4, 10, ROLE_TRAINER, 1, true, {4, 4}},
    {"a pserver has one", 2, 2, 0, 4, 10, ROLE_PSERVER, 1, true, {9, 1}},
    {"workers", 0, 0, 3, 2, 6, ROLE_WORKER, 2, true, {4, 2}},
    {"a launcher has those of its workers", 0, 0, 3, 2, 6, ROLE_LAUNCHER, 0, true, {0, 6}},
    {"and not those of servers", 2, 2, 0, 1, 4, ROLE_LAUNCHER, 0, true, {0, 2}},
    {"no CPU known", 0, 1, 0, 1, 0, ROLE_TRAINER, 0, false, {0}},
    {"threads unset", 0, 1, 0, 0, 1, ROLE_TRAINER, 0, true, {0, 1}},
    {"no overflow", 0, 10000, 0, 4000000000U, 64, ROLE_TRAINER, 9999, false, {0}},
};

TEST(cpus_do_not_overlap)
{
    for (size_t i = 0; i < sizeof(cpus_rows) / sizeof(*cpus_rows); i++) {
        const struct cpus_row *row = &cpus_rows[i];
        struct gang_spec gang = {
            .replicas = {[ROLE_PSERVER] = row->pservers,
                         [ROLE_TRAINER] = row->trainers,
                         [ROLE_WORKER] = row->workers},
            .threads = row->threads,
        };
        struct cpu_range range = {0};
        bool is_pinned = cpus_for_member(&gang, row->cpus, row->role, row->index, &range);
        if (is_pinned != row->is_pinned || range.first != row->range.first ||
            range.count != row->range.count) {
            fail_msg("%s: pinned %d at %u+%u, expected %d at %u+%u", row->name, is_pinned,
                     range.first, range.count, row->is_pinned, row->range.first, row->range.count);
        }
    }
}

TEST(first_threads_come_before_second_threads)
{
    static const struct {
        const char *name;
        uint32_t n;
        struct cpu cpus[6];
        int order[6];
    } rows[] = {
        {"none", 0, {{0}}, {0}},
        {"one thread a core", 3, {{0, 0}, {1, 1}, {2, 2}}, {0, 1, 2}},
        {"neighbours share", 4, {{0, 0}, {1, 0}, {2, 2}, {3, 2}}, {0, 2, 1, 3}},
        {"halves share", 4, {{0, 0}, {1, 1}, {2, 0}, {3, 1}}, {0, 1, 2, 3}},
        {"a mask with one second thread", 3, {{1, 0}, {2, 2}, {3, 2}}, {1, 2, 3}},
        {"four threads a core",
         6,
         {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 4}, {5, 4}},
         {0, 4, 1, 5, 2, 3}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cpu cpus[6];
        memcpy(cpus, rows[i].cpus, sizeof(cpus));
        cpus_spread(cpus, rows[i].n);
        for (uint32_t k = 0; k < rows[i].n; k++) {
            if (cpus[k].cpu != rows[i].order[k]) {
                fail_msg("%s: place %u is CPU %d, expected %d", rows[i].name, k, cpus[k].cpu,
                         rows[i].order[k]);
            }
        }
    }
}

static void strings_free(char **list)
{
    for (char **s = list; *s != NULL; s++) {
        free(*s);
    }
    free(list);
}

TEST(the_contract_wins)
{
    assert_int_equal(setenv("HOME", "/ours", 1), 0);
    assert_int_equal(setenv("TMPDIR", "/tmp", 1), 0);
    assert_int_equal(setenv("BENCHD_POINT", "99", 1), 0);
    assert_int_equal(setenv("NCCL_DEBUG", "INFO", 1), 0);
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "0,1", 1), 0);
    char *contract[] = {
        "HOME=/theirs",           "A=1", "AB=2", "A=3", "BENCHD_SECRET_FD=77", "BENCHD_ARENA_FD=78",
        "CUDA_VISIBLE_DEVICES=1", NULL};
    char *extra[] = {"BENCHD_SECRET_FD=3", "BENCHD_ARENA_FD=4", NULL};
    char **env = child_env_build(contract, extra);
    assert_string_equal(child_env_get(env, "HOME"), "/theirs");
    assert_string_equal(child_env_get(env, "TMPDIR"), "/tmp");
    assert_string_equal(child_env_get(env, "A"), "3");
    assert_string_equal(child_env_get(env, "AB"), "2");
    assert_string_equal(child_env_get(env, "BENCHD_SECRET_FD"), "3");
    assert_string_equal(child_env_get(env, "BENCHD_ARENA_FD"), "4");
    assert_string_equal(child_env_get(env, "NCCL_DEBUG"), "INFO");
    assert_string_equal(child_env_get(env, "CUDA_VISIBLE_DEVICES"), "1");
    assert_null(child_env_get(env, "BENCHD_POINT"));
    assert_null(child_env_get(env, "HOM"));
    for (size_t i = 0; contract[i] != NULL; i++) {
        _cleanup_(freep) char *name = xstrndup(contract[i], strcspn(contract[i], "=") + 1);
        int n = 0;
        for (char **e = env; *e != NULL; e++) {
            n += str_has_prefix(*e, name);
        }
        if (n != 1) { /* getenv takes the first, others the last */
            fail_msg("%s is there %d times, expected once", name, n);
        }
    }
    strings_free(env);
}

static void make_file(const char *folder, const char *name, mode_t mode)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
}

/* Two folders: `first` holds "both" and "data", which cannot be executed; `last` can run "both". */
TEST(a_program_is_the_first_in_path_that_can_be_executed)
{
    char first[] = "/tmp/benchd-first-XXXXXX", last[] = "/tmp/benchd-last-XXXXXX";
    assert_non_null(mkdtemp(first));
    assert_non_null(mkdtemp(last));
    make_file(first, "both", 0600);
    make_file(first, "data", 0600);
    make_file(last, "both", 0700);
    _cleanup_(freep) char *path = xasprintf("%s::/no/such/folder:%s", first, last);
    _cleanup_(freep) char *both = xasprintf("%s/both", last);
    const struct {
        const char *name;
        int r;
        const char *file;
    } rows[] = {
        {"both", 0, both},
        {"data", -EACCES, "(none)"},
        {"neither", -ENOENT, "(none)"},
        {"./here", 0, "./here"},
    };
    char *files[4] = {NULL};
    int rs[4];
    for (size_t i = 0; i < 4; i++) {
        rs[i] = child_find_program(rows[i].name, path, &files[i], NULL);
    }
    assert_int_equal(test_remove_folder(first), 0);
    assert_int_equal(test_remove_folder(last), 0);
    for (size_t i = 0; i < 4; i++) {
        const char *file = files[i] == NULL ? "(none)" : files[i];
        if (rs[i] != rows[i].r || !str_eq(file, rows[i].file)) {
            fail_msg("%s: %d '%s', expected %d '%s'", rows[i].name, rs[i], file, rows[i].r,
                     rows[i].file);
        }
        free(files[i]);
    }
}

TEST(errors_have_a_class)
{
    static const struct {
        int code;
        enum failure_class failure;
    } rows[] = {
        {EAGAIN, FAILURE_INFRASTRUCTURE},     {ENOMEM, FAILURE_INFRASTRUCTURE},
        {EADDRINUSE, FAILURE_INFRASTRUCTURE}, {ENOENT, FAILURE_PERMANENT},
        {EACCES, FAILURE_PERMANENT},          {EINVAL, FAILURE_PERMANENT},
        {EMFILE, FAILURE_PERMANENT},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (launcher_classify_errno(rows[i].code) != rows[i].failure) {
            fail_msg("%s: %d, expected %d", strerror(rows[i].code),
                     launcher_classify_errno(rows[i].code), rows[i].failure);
        }
    }
}
