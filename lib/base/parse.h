/* Strings to numbers; the whole string must match. Return 0, -EINVAL (not a number) or
 * -ERANGE. The result is written only on success. No locale, no leading white space, no sign
 * for unsigned, no hex. */
#pragma once

#include <stdint.h>

int parse_i64(const char *s, int64_t *ret);
int parse_u64(const char *s, uint64_t *ret);
/* With inclusive bounds: -ERANGE outside. */
int parse_i64_in(const char *s, int64_t min, int64_t max, int64_t *ret);
/* Decimal floating point; inf and nan are -EINVAL. */
int parse_f64(const char *s, double *ret);

/* Kubernetes quantities: "400m" CPUs -> 400 millicores, "5Gi" -> bytes; k M G T (1000) and
 * Ki Mi Gi Ti (1024); fractions are rounded up as Kubernetes does. */
int parse_cpu_millicores(const char *s, int64_t *ret);
int parse_mem_bytes(const char *s, int64_t *ret);

/* "7d": 1 to 36500 minutes, hours or days (m, h, d), in milliseconds. */
int parse_age_ms(const char *s, int64_t *ret);
