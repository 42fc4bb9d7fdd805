/* Preloaded into benchd, shifts its real-time clock, and no other: by the seconds (a native
 * int64_t) at the start of the file that CLOCK_STEP names, which a test may change at any time. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *step_s;

__attribute__((constructor)) static void map_step(void)
{
    const char *path = getenv("CLOCK_STEP");
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = fd >= 0 ? mmap(NULL, sizeof(*step_s), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (mapped == MAP_FAILED) {
        abort(); /* a test that steps no clock would pass */
    }
    (void)close(fd);
    step_s = mapped;
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
    const long r = syscall(SYS_clock_gettime, id, ret);
    if (r == 0 && step_s && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        ret->tv_sec += *step_s;
    }
    return (int)r;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    (void)zone;
    struct timespec now;
    const int r = clock_gettime(CLOCK_REALTIME, &now);
    *ret = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return r;
}

time_t time(time_t *ret)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (ret) {
        *ret = now.tv_sec;
    }
    return now.tv_sec;
}
