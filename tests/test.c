/* See test.h. */
#include "tests/test.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <sys/stat.h>

static struct CMUnitTest tests[256];
static size_t n_tests;

static void call(void **state)
{
    ((test_fn)*state)();
}

void test_add(const char *name, test_fn run)
{
    if (n_tests == N_ROWS(tests)) {
        abort();
    }
    tests[n_tests++] = (struct CMUnitTest){name, call, .initial_state = (void *)run};
}

void test_write_file(const char *text, const char *fmt, ...)
{
    char path[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(path, sizeof(path), fmt, args);
    va_end(args);
    for (char *slash = path; (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

int test_remove_folder(const char *path)
{
    return nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void assert_near(const char *what, double expected, double actual, double relative)
{
    if (!(fabs(actual - expected) <= relative * fabs(expected))) {
        fail_msg("%s: expected %.17g, got %.17g", what, expected, actual);
    }
}

int test_run_all(const char *only)
{
    size_t n = 0;
    for (size_t i = 0; i < n_tests; i++) {
        if (only == NULL || strcmp(tests[i].name, only) == 0) {
            tests[n++] = tests[i];
        }
    }
    if (n == 0) { /* cmocka would pass */
        (void)fprintf(stderr, "there is no test %s\n", only == NULL ? "in this program" : only);
        return 1;
    }
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return _cmocka_run_group_tests(program_invocation_short_name, tests, n, NULL, NULL);
}

__attribute__((weak)) int main(int argc, char **argv)
{
    return test_run_all(argc > 1 ? argv[1] : NULL);
}
