/* What a process reads of itself, compared with what it does. */
#include <fcntl.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/test.h"
#include "base/clock.h"
#include "daemon/web/metrics.h"

#define MANY 5
#define SIZE ((size_t)64 << 20)

static int count_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 4096; fd++) {
        n += fcntl(fd, F_GETFD) >= 0;
    }
    return n;
}

TEST(descriptors)
{
    int fds[MANY];
    struct rlimit files;
    const struct process_use before = process_use_read();
    for (size_t i = 0; i < MANY; i++) {
        fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(fds[i] >= 0);
    }
    assert_true(process_use_read().open_fds == before.open_fds + MANY);
    for (size_t i = 0; i < MANY; i++) {
        (void)close(fds[i]);
    }
    assert_int_equal(count_descriptors(), (int)before.open_fds);
    assert_int_equal(count_descriptors(), (int)process_use_read().open_fds);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    assert_true(before.max_fds == (double)files.rlim_cur);
}

/* Memory that is mapped is resident when it is written to. */
TEST(memory)
{
    const struct process_use before = process_use_read();
    char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(memory != MAP_FAILED);
    const struct process_use mapped = process_use_read();
    assert_true(mapped.resident_bytes < before.resident_bytes + (double)SIZE / 2);
    memset(memory, 1, SIZE);
    assert_true(process_use_read().resident_bytes >= before.resident_bytes + (double)SIZE / 2);
    (void)munmap(memory, SIZE);
}

TEST(cpu_time)
{
    const int64_t began_ns = clock_process_cpu_ns();
    const struct process_use before = process_use_read();
    while (clock_process_cpu_ns() - began_ns < 50000000) {
    }
    const double used_s = process_use_read().cpu_s - before.cpu_s;
    assert_true(before.cpu_s > 0 && used_s > 0.01 && used_s < 60);
}
