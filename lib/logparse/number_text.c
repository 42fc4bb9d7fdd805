/* See number_text.h. */
#include "logparse/number_text.h"

#include <math.h>
#include <string.h>

#include "base/ascii.h"
#include "base/parse.h"
#include "base/rfc3339.h"
#include "base/str.h"

#define NUMBER_MAX_CHARS 48
#define EXACT_DIGITS 15 /* so many decimal digits are a whole number in a double, exactly */
#define NS_PER_S INT64_C(1000000000)
#define FIRST_YEAR 1970
#define LAST_YEAR 2200 /* nanoseconds since 1970 fit 64 bits, and so do differences */

static const double powers_of_ten[EXACT_DIGITS + 1] = {
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/* Digits with at most one point: most of what a log has. The quotient of two exact numbers is the
 * number that strtod reads. */
static bool read_plain(const char *text, size_t len, double *ret)
{
    uint64_t digits = 0;
    unsigned n = 0, n_behind = 0;
    bool has_point = false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '.' && !has_point) {
            has_point = true;
        } else if (ascii_is_digit(text[i]) && n < EXACT_DIGITS) {
            digits = digits * 10 + (uint64_t)(text[i] - '0');
            n++;
            n_behind += has_point ? 1 : 0;
        } else {
            return false;
        }
    }
    if (n == 0) {
        return false;
    }
    *ret = (double)digits / powers_of_ten[n_behind];
    return true;
}

/* Copies without commas, which must precede groups of three digits. */
static bool drop_commas(const char *text, size_t len, char copy[static NUMBER_MAX_CHARS])
{
    size_t n = 0, since_comma = 0;
    bool has_comma = false, is_whole = true;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == ',') {
            const bool is_good = is_whole && (has_comma ? since_comma == 3 : n > 0 && n <= 3);
            if (!is_good) {
                return false;
            }
            has_comma = true;
            since_comma = 0;
            continue;
        }
        if (is_whole && !ascii_is_digit(text[i])) {
            is_whole = false;
            if (has_comma && since_comma != 3) {
                return false;
            }
        }
        since_comma++;
        copy[n++] = text[i];
    }
    copy[n] = '\0';
    return !has_comma || !is_whole || since_comma == 3;
}

static bool read_unscaled(const char *text, size_t len, double *ret)
{
    if (read_plain(text, len, ret)) {
        return true;
    }
    const bool is_signed = len > 0 && (text[0] == '-' || text[0] == '+');
    const double sign = is_signed && text[0] == '-' ? -1 : 1;
    text += is_signed ? 1 : 0;
    len -= is_signed ? 1 : 0;
    char copy[NUMBER_MAX_CHARS];
    if (len == 0 || len >= sizeof(copy) || text[0] == '-') {
        return false;
    }
    if (len == 3 && (str_eq_nocase_n(text, "nan", len) || str_eq_nocase_n(text, "inf", len))) {
        *ret = ascii_lower(text[0]) == 'n' ? NAN : sign * INFINITY;
        return true;
    }
    double v;
    if (!drop_commas(text, len, copy) || parse_f64(copy, &v) < 0) {
        return false;
    }
    *ret = sign * v;
    return true;
}

double log_suffix_factor(char c)
{
    static const char suffixes[] = "kKMGBT";
    static const double factors[] = {1e3, 1e3, 1e6, 1e9, 1e9, 1e12, 0};
    const char *at = strchr(suffixes, c);
    return at == NULL ? 0 : factors[at - suffixes];
}

bool log_number(const char *text, size_t len, double *ret)
{
    const double factor = len > 0 ? log_suffix_factor(text[len - 1]) : 0;
    if (!read_unscaled(text, factor > 0 ? len - 1 : len, ret)) {
        return false;
    }
    *ret *= factor > 0 ? factor : 1;
    return true;
}

/* Digits from `*at` on, at most `max`; *at is after them then. -1: none. */
static int64_t read_digits(const char *text, size_t len, size_t *at, size_t max)
{
    const size_t start = *at;
    int64_t v = 0;
    while (*at < len && *at - start < max && ascii_is_digit(text[*at])) {
        v = v * 10 + (text[(*at)++] - '0');
    }
    return *at == start ? -1 : v;
}

/* The nanoseconds of ".651073" or ",490"; 0 without one. */
static int64_t read_fraction_ns(const char *text, size_t len, size_t *at)
{
    if (*at >= len || (text[*at] != '.' && text[*at] != ',')) {
        return 0;
    }
    (*at)++;
    int64_t ns = 0, unit_ns = NS_PER_S;
    for (; *at < len && ascii_is_digit(text[*at]); (*at)++) {
        unit_ns /= 10;
        ns += (text[*at] - '0') * unit_ns;
    }
    return ns;
}

bool log_clock(const char *text, size_t len, double *ret_s)
{
    size_t at = 0;
    int64_t parts[3];
    unsigned n = 0;
    do {
        at += n > 0 ? 1 : 0;
        parts[n] = read_digits(text, len, &at, 9);
    } while (parts[n++] >= 0 && n < 3 && at < len && text[at] == ':');
    if (parts[n - 1] < 0 || n < 2) {
        return false;
    }
    int64_t s = 0;
    for (unsigned i = 0; i < n; i++) {
        s = s * 60 + parts[i];
    }
    const int64_t fraction_ns = read_fraction_ns(text, len, &at);
    *ret_s = (double)s + (double)fraction_ns / (double)NS_PER_S;
    return at == len;
}

/* The date before the time, if there is one. False: it has another form. */
static bool read_date(const char *text, size_t len, size_t *at, bool *ret_has, int64_t *ret_days)
{
    size_t p = *at;
    const int64_t first = read_digits(text, len, &p, 4);
    *ret_has = false;
    *ret_days = 0;
    if (p - *at != 4 || p >= len) {
        return first >= 0;
    }
    int64_t year = FIRST_YEAR, month = first / 100, day = first % 100; /* glog: "0315 " */
    if (text[p] == '-' || text[p] == '/') {
        const char separator = text[p++];
        year = first;
        month = read_digits(text, len, &p, 2);
        if (p >= len || text[p] != separator) {
            return false;
        }
        p++;
        day = read_digits(text, len, &p, 2);
    }
    if (year < FIRST_YEAR || year > LAST_YEAR || month < 1 || month > 12 || day < 1 || day > 31 ||
        p >= len || (text[p] != ' ' && text[p] != 'T')) {
        return false;
    }
    *at = p + 1;
    *ret_has = true;
    *ret_days = days_since_1970(year, month, day);
    return true;
}

/* "Z", "+01:00" or "+0100" in seconds; 0 without one. */
static int64_t read_zone_s(const char *text, size_t len, size_t *at)
{
    if (*at < len && text[*at] == 'Z') {
        (*at)++;
        return 0;
    }
    if (*at >= len || (text[*at] != '+' && text[*at] != '-')) {
        return 0;
    }
    const int64_t sign = text[(*at)++] == '-' ? -1 : 1;
    const int64_t hours = read_digits(text, len, at, 2);
    *at += *at < len && text[*at] == ':' ? 1 : 0;
    const int64_t minutes = read_digits(text, len, at, 2);
    return hours < 0 || minutes < 0 ? 0 : sign * (hours * 3600 + minutes * 60);
}

bool log_stamp_read(const char *text, size_t len, struct log_stamp *ret)
{
    size_t at = 0;
    int64_t days, part[3];
    bool has_date;
    if (!read_date(text, len, &at, &has_date, &days)) {
        return false;
    }
    for (unsigned i = 0; i < 3; i++) {
        if (i > 0 && (at >= len || text[at++] != ':')) {
            return false;
        }
        part[i] = read_digits(text, len, &at, 2);
    }
    if (part[0] < 0 || part[0] > 23 || part[1] < 0 || part[1] > 59 || part[2] < 0 || part[2] > 60) {
        return false;
    }
    const int64_t fraction_ns = read_fraction_ns(text, len, &at);
    const int64_t s =
        days * 86400 + part[0] * 3600 + part[1] * 60 + part[2] - read_zone_s(text, len, &at);
    ret->ns = s * NS_PER_S + fraction_ns;
    ret->has_date = has_date;
    return at == len;
}
