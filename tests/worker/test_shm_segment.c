/* Memory that a machine does not have. What segments hold and who may write them: test_shm.c. */
#include <errno.h>

#include "tests/test.h"
#include "worker/comm/shm/shm_segment.h"

/* It is refused before the first page is taken. The gradients, which would be reserved next, are
 * none, so that a segment that does not refuse it takes no memory either. */
TEST(what_no_machine_has_is_refused_at_once)
{
    const struct shm_layout layout = shm_layout_of_two(0, (size_t)1 << 47, 1); /* 512 TiB */
    struct shm_segment s;
    struct err err = {0};
    assert_int_equal(shm_segment_new(&s, &layout, &err), -ENOMEM);
    assert_non_null(strstr(err.msg, "this machine has no "));
}
