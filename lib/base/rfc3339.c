/* See rfc3339.h. */
#include "base/rfc3339.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/str.h"
#include "base/clock.h"

#define NS_PER_S INT64_C(1000000000)

struct cursor {
    const char *s, *end;
    bool is_bad;
};

static int number(struct cursor *c, int digits)
{
    int value = 0;
    for (; digits > 0; digits--) {
        if (c->s == c->end || !ascii_is_digit(*c->s)) {
            c->is_bad = true;
            return 0;
        }
        value = value * 10 + (*c->s++ - '0');
    }
    return value;
}

static char one_of(struct cursor *c, const char *set)
{
    for (; c->s < c->end && *set != '\0'; set++) {
        if (*c->s == *set) {
            return *c->s++;
        }
    }
    c->is_bad = true;
    return '\0';
}

static int64_t fraction_ns(struct cursor *c)
{
    int64_t value = 0, scale = NS_PER_S / 10;
    for (; c->s < c->end && ascii_is_digit(*c->s); c->s++, scale /= 10) {
        value += (*c->s - '0') * scale; /* digits beyond the ninth are ignored */
    }
    return value;
}

/* Counted in years that begin in March. */
int64_t days_since_1970(int64_t year, int64_t month, int64_t day)
{
    const int64_t y = month <= 2 ? year - 1 : year;
    const int64_t m = month <= 2 ? month + 9 : month - 3;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

int rfc3339_parse(const char *s, size_t len, int64_t *ret_unix_ns)
{
    struct cursor c = {s, s + len, false};
    const int year = number(&c, 4);
    one_of(&c, "-");
    const int month = number(&c, 2);
    one_of(&c, "-");
    const int day = number(&c, 2);
    one_of(&c, "Tt");
    const int hour = number(&c, 2);
    one_of(&c, ":");
    const int minute = number(&c, 2);
    one_of(&c, ":");
    const int second = number(&c, 2);
    int64_t ns = 0;
    if (c.s < c.end && *c.s == '.') {
        c.s++;
        ns = fraction_ns(&c);
    }
    const char zone = one_of(&c, "Zz+-");
    int64_t offset_s = 0;
    if (zone == '+' || zone == '-') {
        offset_s = number(&c, 2) * 3600;
        one_of(&c, ":");
        offset_s += number(&c, 2) * 60;
        offset_s = zone == '-' ? -offset_s : offset_s;
    }
    if (c.is_bad || c.s != c.end || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 ||
        minute > 59 || second > 60) {
        return -EINVAL;
    }
    if (year < 1970 || year > 2200) {
        *ret_unix_ns = year < 1970 ? INT64_MIN : INT64_MAX;
        return -ERANGE;
    }
    const int64_t seconds =
        days_since_1970(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset_s;
    *ret_unix_ns = seconds * NS_PER_S + ns;
    return 0;
}

void rfc3339_format_micro(int64_t unix_ms, char buf[static RFC3339_MICRO_SIZE])
{
    char date[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(unix_ms, date); /* ends with 'Z', which gives way to the fraction */
    (void)snprintf(buf, RFC3339_MICRO_SIZE, "%.19s.%03" PRId64 "000Z", date, unix_ms % 1000);
}
