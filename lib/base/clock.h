/* The machine's clocks; the one place that reads them outside the event loop. */
#pragma once

#include <stdint.h>

int64_t clock_monotonic_ns(void); /* CLOCK_MONOTONIC: durations, never wall time */
int64_t clock_boottime_ns(void);  /* CLOCK_BOOTTIME: like monotonic, but also counts suspend */
int64_t clock_unix_ms(void);      /* CLOCK_REALTIME: dates for people and rows */
/* The date as this process counts it: the machine's at the first call, and from then on the time
 * that has passed (CLOCK_BOOTTIME). Setting the machine's clock does not move a deadline, a grace
 * period or a time to live that begins and ends within the process. The next process takes the
 * machine's clock again. */
int64_t clock_steady_unix_ms(void);
int64_t clock_process_cpu_ns(void);
int64_t clock_thread_cpu_ns(void); /* of the calling thread */

#define CLOCK_RFC3339_SIZE 32
/* "2026-11-20T08:52:51Z" into buf; pure. */
void clock_format_rfc3339(int64_t unix_ms, char buf[static CLOCK_RFC3339_SIZE]);
