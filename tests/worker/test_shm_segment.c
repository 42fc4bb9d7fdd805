/* Memory that a machine does not have. What segments hold and who may write them: test_shm.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "worker/comm/shm_segment.h"

/* It is refused before the first page is taken. The gradients, which would be reserved next, are none, so that a segment that
 * does not refuse it takes no memory either. */
static void what_no_machine_has_is_refused_at_once(void **state)
{
    (void)state;
    const struct shm_layout layout = shm_layout_of_two(0, (size_t)1 << 47, 1); /* 512 TiB */
    struct shm_segment s;
    struct err err = {0};
    assert_int_equal(shm_segment_new(&s, &layout, &err), -ENOMEM);
    assert_non_null(strstr(err.msg, "this machine has no "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_machine_has_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
