/* The repair of OpenBLAS's CPU detection: the program runs itself with OPENBLAS_CORETYPE=Haswell,
 * which OpenBLAS reads when it is loaded, and forgets the variable in main: as if it had been
 * detected so. */
#include "tests/test.h"
#include "child_program.h"
#include "worker/kernels/blas.h"

#if defined(__x86_64__) /* OpenBLAS's cores of other CPUs are not repaired */
static char *self;

static const char *probe(const char *mode, const char *repaired)
{
    static struct child c;
    char *argv[] = {self, (char *)(uintptr_t)mode, NULL};
    c.argv = argv;
    assert_int_equal(setenv("OPENBLAS_CORETYPE", "Haswell", 1), 0);
    if (repaired != NULL) {
        assert_int_equal(setenv("BENCHWORKER_BLAS_REPAIRED", repaired, 1), 0);
    }
    child_run(&c);
    assert_int_equal(unsetenv("OPENBLAS_CORETYPE"), 0);
    assert_int_equal(unsetenv("BENCHWORKER_BLAS_REPAIRED"), 0);
    assert_int_equal(c.exit_code, 0);
    return c.out;
}

TEST(repairs_a_wrong_core)
{
    assert_string_equal(probe("detected", NULL), cpu_has_avx512() ? "SkylakeX" : "Haswell");
}

TEST(only_once)
{
    assert_string_equal(probe("detected", "1"), "Haswell");
}

TEST(respects_the_user)
{
    assert_string_equal(probe("chosen", NULL), "Haswell");
}

#endif

TEST(says_what_it_is)
{
    assert_non_null(strstr(blas_config(), "OpenBLAS"));
    assert_true(strlen(blas_core()) > 0);
    assert_int_equal(strstr(cpu_features(), "avx2") != NULL, cpu_has_avx2());
    assert_int_equal(strstr(cpu_features(), "avx512vl") != NULL, cpu_has_avx512());
#if defined(__aarch64__)
    assert_non_null(strstr(cpu_features(), "asimd"));
#endif
}

int main(int argc, char **argv)
{
#if defined(__x86_64__)
    if (argc == 2) {
        if (strcmp(argv[1], "detected") == 0) {
            (void)unsetenv("OPENBLAS_CORETYPE"); /* fails for a bad name only */
        }
        blas_repair(argv);
        printf("%s", blas_core());
        return 0;
    }
    self = argv[0];
#else
    (void)argc, (void)argv;
#endif
    return test_run_all(NULL);
}
