/* Clocks, see clock.h. Edge file: reads the machine's time. */
#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec ts;
    (void)clock_gettime(id, &ts); /* cannot fail for these ids on Linux */
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t clock_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_boottime_ns(void)
{
    return read_ns(CLOCK_BOOTTIME);
}

int64_t clock_unix_ms(void)
{
    return read_ns(CLOCK_REALTIME) / 1000000;
}

int64_t clock_steady_unix_ms(void)
{
    static atomic_llong offset_ms; /* 0: not known yet */
    const int64_t boottime_ms = clock_boottime_ns() / 1000000;
    long long known_ms = atomic_load(&offset_ms);
    if (known_ms == 0) {
        const long long mine_ms = clock_unix_ms() - boottime_ms;
        /* The first thread wins; known_ms becomes its value. */
        known_ms =
            atomic_compare_exchange_strong(&offset_ms, &known_ms, mine_ms) ? mine_ms : known_ms;
    }
    return boottime_ms + known_ms;
}

int64_t clock_process_cpu_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

void clock_format_rfc3339(int64_t unix_ms, char buf[static CLOCK_RFC3339_SIZE])
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm tm;
    (void)gmtime_r(&seconds, &tm); /* fails only beyond year 2^31 */
    (void)strftime(buf, CLOCK_RFC3339_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm);
}
