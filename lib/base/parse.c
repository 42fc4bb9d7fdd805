/* Strict number parsing, see parse.h. The only file that calls strto*. */
#include "base/parse.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/mem.h"

int parse_i64(const char *s, int64_t *ret)
{
    const char *digits = *s == '-' ? s + 1 : s;
    if (!ascii_is_digit(*digits)) {
        return -EINVAL;
    }
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (*end != '\0') {
        return -EINVAL;
    }
    if (errno == ERANGE) {
        return -ERANGE;
    }
    *ret = v;
    return 0;
}

int parse_u64(const char *s, uint64_t *ret)
{
    if (!ascii_is_digit(*s)) {
        return -EINVAL;
    }
    char *end;
    errno = 0;
    unsigned long long v = strtoull(s, &end, 10);
    if (*end != '\0') {
        return -EINVAL;
    }
    if (errno == ERANGE) {
        return -ERANGE;
    }
    *ret = v;
    return 0;
}

int parse_i64_in(const char *s, int64_t min, int64_t max, int64_t *ret)
{
    int64_t v;
    int r = parse_i64(s, &v);
    if (r < 0) {
        return r;
    }
    if (v < min || v > max) {
        return -ERANGE;
    }
    *ret = v;
    return 0;
}

/* Parses the number at the front of s; *ret_rest points after it, also if it is too large. */
static int parse_number(const char *s, double *ret, const char **ret_rest)
{
    const char *p = *s == '-' ? s + 1 : s;
    if (!ascii_is_digit(*p) && !(*p == '.' && ascii_is_digit(p[1]))) {
        return -EINVAL;
    }
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
        return -EINVAL;
    }
    char *end;
    errno = 0;
    double v = strtod(s, &end);
    *ret_rest = end;
    if (errno == ERANGE && isinf(v)) {
        return -ERANGE;
    }
    *ret = v;
    return 0;
}

int parse_f64(const char *s, double *ret)
{
    double v;
    const char *rest;
    int r = parse_number(s, &v, &rest);
    if (r == 0) {
        *ret = v;
    }
    return r != -EINVAL && *rest != '\0' ? -EINVAL : r; /* "4e0740856bed" is no number */
}

struct suffix {
    const char *text;
    double factor;
};

static const struct suffix quantity_suffixes[] = {
    {"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},    {"", 1},        {"k", 1e3},
    {"M", 1e6},     {"G", 1e9},     {"T", 1e12},    {"P", 1e15},    {"Ki", 0x1p10},
    {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50},
};

static int parse_quantity(const char *s, double unit, int64_t *ret)
{
    double v;
    const char *rest;
    int r = parse_number(s, &v, &rest);
    if (r < 0) {
        return r;
    }
    if (v < 0) {
        return -ERANGE;
    }
    for (size_t i = 0; i < COUNT_OF(quantity_suffixes); i++) {
        if (strcmp(rest, quantity_suffixes[i].text) == 0) {
            double scaled = v * quantity_suffixes[i].factor * unit;
            double whole = nearbyint(scaled);
            /* 0.1 * 1000 must give 100: only a real fraction is rounded up. */
            double up = fabs(scaled - whole) <= 1e-9 * (whole + 1) ? whole : ceil(scaled);
            if (up >= 0x1p63) {
                return -ERANGE;
            }
            *ret = (int64_t)up;
            return 0;
        }
    }
    return -EINVAL;
}

int parse_cpu_millicores(const char *s, int64_t *ret)
{
    return parse_quantity(s, 1000, ret);
}

int parse_mem_bytes(const char *s, int64_t *ret)
{
    return parse_quantity(s, 1, ret);
}

int parse_age_ms(const char *s, int64_t *ret)
{
    static const struct {
        char letter;
        int64_t ms;
    } units[] = {{'m', 60000}, {'h', 3600000}, {'d', 86400000}};
    const size_t len = strlen(s);
    char number[8];
    if (len < 2 || len > sizeof(number)) {
        return -EINVAL;
    }
    memcpy(number, s, len - 1);
    number[len - 1] = '\0';
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        int64_t n;
        if (s[len - 1] == units[i].letter) {
            const int r = parse_i64_in(number, 1, 36500, &n);
            if (r == 0) {
                *ret = n * units[i].ms;
            }
            return r;
        }
    }
    return -EINVAL;
}
