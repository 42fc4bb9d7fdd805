/* Memory goes back to the system when what it was for is gone. */
#include <link.h>
#include <unistd.h>

#include "tests/test.h"
#include "daemon/memory.h"

#define N_BLOCKS 100000
#define KEPT_EVERY 4999

struct resident {
    size_t all, of_files; /* bytes */
};

static struct resident resident_now(void)
{
    size_t all = 0, of_files = 0;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    FILE *f = fopen("/proc/self/statm", "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*u %zu %zu", &all, &of_files), 2);
    (void)fclose(f);
    return (struct resident){all * page, of_files * page};
}

static size_t resident(void)
{
    return resident_now().all;
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

/* Reads a byte of each page of code. Returns how many bytes of code there are. */
static int touch(struct dl_phdr_info *object, size_t size, void *ctx)
{
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
            const volatile char *code = (const char *)(object->dlpi_addr + segment->p_vaddr);
            for (size_t at = 0; at < segment->p_filesz; at += 1024) {
                (void)code[at];
            }
            *(size_t *)ctx += segment->p_filesz;
        }
    }
    return 0;
}

TEST(code_is_unmapped)
{
    size_t n_code = 0;
    (void)dl_iterate_phdr(touch, &n_code);
    const struct resident before = resident_now();
    memory_rest();
    const struct resident after = resident_now();
    assert_true(n_code > (1 << 20));
    if (after.of_files + n_code / 2 > before.of_files) {
        fail_msg("of %zu KiB of code %zu KiB stay", n_code / 1024,
                 (after.of_files + n_code - before.of_files) / 1024);
    }
}

int main(void)
{
    memory_set_up();
    return test_run_all(NULL);
}
