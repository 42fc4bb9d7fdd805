/* See human.h. */
#include "ctl/cli/human.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

static void two(char *buf, int64_t big, char big_unit, int64_t small, char small_unit)
{
    if (small == 0) {
        (void)snprintf(buf, HUMAN_SIZE, "%lld%c", (long long)big, big_unit);
    } else {
        (void)snprintf(buf, HUMAN_SIZE, "%lld%c%lld%c", (long long)big, big_unit, (long long)small,
                       small_unit);
    }
}

void human_duration(int64_t ms, char buf[static HUMAN_SIZE])
{
    int64_t s = ms > 0 ? ms / 1000 : 0, m = s / 60, h = m / 60, d = h / 24;
    if (s < 120) {
        two(buf, s, 's', 0, 0);
    } else if (m < 10) {
        two(buf, m, 'm', s % 60, 's');
    } else if (m < 180) {
        two(buf, m, 'm', 0, 0);
    } else if (h < 8) {
        two(buf, h, 'h', m % 60, 'm');
    } else if (h < 48) {
        two(buf, h, 'h', 0, 0);
    } else if (d < 8) {
        two(buf, d, 'd', h % 24, 'h');
    } else {
        two(buf, d, 'd', 0, 0);
    }
}

void human_bytes(int64_t bytes, char buf[static HUMAN_SIZE])
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    int unit = 0;
    double value = (double)bytes;
    while (value >= 1024 && unit < 6) {
        value /= 1024;
        unit++;
    }
    int decimals = value == (double)(int64_t)value ? 0 : 1;
    (void)snprintf(buf, HUMAN_SIZE, "%.*f%s", decimals, value, units[unit]);
}

void human_millicores(int64_t millicores, char buf[static HUMAN_SIZE])
{
    if (millicores % 1000 == 0) {
        (void)snprintf(buf, HUMAN_SIZE, "%lld", (long long)(millicores / 1000));
    } else {
        (void)snprintf(buf, HUMAN_SIZE, "%lldm", (long long)millicores);
    }
}

/* A hundred years fit in nanoseconds, also after now. */
#define DURATION_MAX_MS (36500 * INT64_C(86400000))

int human_parse_duration(const char *text, int64_t *ret_ms)
{
    int64_t total_ms = 0;
    while (*text != '\0') {
        const size_t digits = strspn(text, "0123456789");
        const char unit = text[digits];
        const int64_t unit_ms = unit == 'h'   ? 3600000
                                : unit == 'm' ? 60000
                                : unit == 's' ? 1000
                                              : 0;
        _cleanup_(freep) char *number = xstrndup(text, digits);
        int64_t value;
        /* Up to 7 digits: no sum can overflow. */
        if (digits > 7 || unit_ms == 0 || parse_i64(number, &value) < 0) {
            return -EINVAL;
        }
        total_ms += value * unit_ms;
        text += digits + 1;
    }
    if (total_ms == 0 || total_ms > DURATION_MAX_MS) {
        return -EINVAL;
    }
    *ret_ms = total_ms;
    return 0;
}

int human_parse_share(const char *text, double *ret)
{
    const bool is_percent = str_has_suffix(text, "%");
    _cleanup_(freep) char *number = xstrndup(text, strlen(text) - is_percent);
    double value;
    const int r = parse_f64(number, &value);
    if (r < 0) {
        return r;
    }
    value /= is_percent ? 100 : 1;
    if (!(value >= 0 && value < 1)) {
        return -ERANGE;
    }
    *ret = value;
    return 0;
}
