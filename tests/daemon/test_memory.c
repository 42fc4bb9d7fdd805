/* Memory goes back to the system when what it was for is gone. */
#include <unistd.h>

#include "tests/test.h"
#include "daemon/memory.h"

#define N_BLOCKS 100000
#define KEPT_EVERY 4999

static size_t resident(void)
{
    size_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*u %zu", &pages), 1);
    (void)fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Blocks of all small sizes, a few of which stay. */
TEST(goes_back)
{
    void **blocks = xnew_array(void *, N_BLOCKS);
    memory_rest();
    const size_t before = resident();
    for (size_t i = 0; i < N_BLOCKS; i++) {
        blocks[i] = xcalloc(1, 16 + i * 37 % 1000);
    }
    assert_true(resident() > before + (20 << 20));
    for (size_t i = 0; i < N_BLOCKS; i++) {
        if (i % KEPT_EVERY != 0) {
            free(blocks[i]);
        }
    }
    memory_rest();
    const size_t after = resident();
    if (after > before + (1 << 20)) {
        fail_msg("%zu KiB stay", (after - before) / 1024);
    }
    for (size_t i = 0; i < N_BLOCKS; i += KEPT_EVERY) {
        free(blocks[i]);
    }
    free(blocks);
}

int main(void)
{
    memory_set_up();
    return test_run_all(NULL);
}
