/* What this process uses, read for each scrape of /metrics. Edge file: /proc/self and the clock. */
#pragma once

/* NaN: the kernel does not say. */
struct process_use {
    double cpu_s; /* of all threads, since the start */
    double virtual_bytes, resident_bytes;
    double open_fds, max_fds;
};
struct process_use process_use_read(void);
