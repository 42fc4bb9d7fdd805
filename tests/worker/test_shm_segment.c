/* Memory that a machine does not have. What segments hold and who may write them: test_shm.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "worker/comm/shm_segment.h"

/* More than there is: it is refused before the first page is taken. A limit stands in for the machine's end. */
static void what_no_machine_has_is_refused_at_once(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they map more than any limit */
#else
    const struct shm_layout layout = shm_layout_of((size_t)64 << 20, 1); /* 512 MiB */
    struct shm_segment s;
    struct err err = {0};
    struct rlimit all, little;
    assert_int_equal(getrlimit(RLIMIT_AS, &all), 0);
    little = all;
    little.rlim_cur = (rlim_t)256 << 20;
    assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
    const int r = shm_segment_new(&s, &layout, &err);
    assert_int_equal(setrlimit(RLIMIT_AS, &all), 0);
    assert_int_equal(r, -ENOMEM);
    assert_non_null(strstr(err.msg, "this machine has no "));
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_machine_has_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
