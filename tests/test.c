/* See test.h. */
#include "tests/test.h"

#include <errno.h>

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
