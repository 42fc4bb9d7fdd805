/* Sizes and durations as people read them. Pure. */
#pragma once

#include <stdint.h>

#define HUMAN_SIZE 32

/* kubectl's form: 45s, 3m12s, 26m, 2h5m, 31h, 3d4h, 12d. Negative spans count as 0. */
void human_duration(int64_t ms, char buf[static HUMAN_SIZE]);
/* Memory: 512Mi, 5Gi, 1.5Gi; exact multiples of a unit have no decimals. */
void human_bytes(int64_t bytes, char buf[static HUMAN_SIZE]);
/* CPUs: 10, 400m, 1600. */
void human_millicores(int64_t millicores, char buf[static HUMAN_SIZE]);

/* 90s, 10m, 1h30m to milliseconds; -EINVAL for anything else, for 0, and for
 * more than 36500 days. */
int human_parse_duration(const char *text, int64_t *ret_ms);

/* "2%" or "0.02": a ratio from 0 to below 1; else a negative errno. */
int human_parse_share(const char *text, double *ret);
