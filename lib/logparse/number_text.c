/* See number_text.h. */
#include "logparse/number_text.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/rfc3339.h"
#include "base/str.h"

#define NUMBER_MAX_CHARS 48
#define NS_PER_S INT64_C(1000000000)
#define FIRST_YEAR 1970
#define LAST_YEAR 2200 /* nanoseconds since 1970 fit 64 bits, and so do differences */

/* What people put between thousands. A blank of one byte is not here: it separates columns too. */
static const char *const separators[] = {
    ",", ".", "'", "_", "\xe2\x80\x99", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89"};

static bool has_at(const char *text, size_t len, size_t at, const char *part)
{
    const size_t n = strlen(part);
    return at <= len && len - at >= n && memcmp(text + at, part, n) == 0;
}

static size_t count_digits(const char *text, size_t len, size_t at)
{
    size_t n = 0;
    while (at + n < len && ascii_is_digit(text[at + n])) {
        n++;
    }
    return n;
}

/* Copies the text as a number with `thousands` between groups of three digits and this decimal
 * mark, for parse_f64. False if the text has another form. Three digits after a comma are
 * thousands, unless the number has other separators of thousands or begins with 0. */
static bool copy_as(const char *text, size_t len, const char *thousands, char decimal, char *copy)
{
    size_t at = count_digits(text, len, 0), n = at;
    const bool may_group = at > 0 && at <= 3 && text[0] != '0';
    const size_t step = strlen(thousands) + 3;
    (void)memcpy(copy, text, at);
    while (may_group && has_at(text, len, at, thousands) &&
           count_digits(text, len, at + step - 3) == 3) {
        (void)memcpy(copy + n, text + at + step - 3, 3);
        at += step;
        n += 3;
    }
    const bool is_grouped = n < at;
    const bool has_mark = at < len && text[at] == decimal;
    if (is_grouped && !has_mark && thousands[0] == '.') {
        return false; /* "1.234.567" may be a version */
    }
    if (has_mark) {
        const size_t digits = count_digits(text, len, at + 1);
        const bool is_comma_good =
            n > 0 && digits > 0 && (digits != 3 || is_grouped || (n == 1 && text[0] == '0'));
        if (decimal == ',' && !is_comma_good) {
            return false;
        }
        copy[n] = '.';
        (void)memcpy(copy + n + 1, text + at + 1, digits);
        at += digits + 1;
        n += digits + 1;
    }
    if (at < len && ascii_lower(text[at]) != 'e') {
        return false;
    }
    (void)memcpy(copy + n, text + at, len - at);
    copy[n + len - at] = '\0';
    return true;
}

static bool read_grouped(const char *text, size_t len, double *ret)
{
    char copy[NUMBER_MAX_CHARS];
    for (size_t i = 0; i < COUNT_OF(separators); i++) {
        for (const char *decimal = ".,"; *decimal != '\0'; decimal++) {
            if (*decimal != separators[i][0] && copy_as(text, len, separators[i], *decimal, copy)) {
                return parse_f64(copy, ret) >= 0;
            }
        }
    }
    return false;
}

static bool read_unscaled(const char *text, size_t len, double *ret)
{
    const bool is_signed = len > 0 && (text[0] == '-' || text[0] == '+');
    const double sign = is_signed && text[0] == '-' ? -1 : 1;
    text += is_signed ? 1 : 0;
    len -= is_signed ? 1 : 0;
    if (len == 0 || len >= NUMBER_MAX_CHARS || text[0] == '-') {
        return false;
    }
    if (len == 3 && (str_eq_nocase_n(text, "nan", len) || str_eq_nocase_n(text, "inf", len))) {
        *ret = ascii_lower(text[0]) == 'n' ? NAN : sign * INFINITY;
        return true;
    }
    double v;
    if (!read_grouped(text, len, &v)) {
        return false;
    }
    *ret = sign * v;
    return true;
}

static double suffix_factor(char c)
{
    static const char suffixes[] = "kKMGBT";
    static const double factors[] = {1e3, 1e3, 1e6, 1e9, 1e9, 1e12, 0};
    const char *at = strchr(suffixes, c);
    return at == NULL ? 0 : factors[at - suffixes];
}

bool log_number(const char *text, size_t len, double *ret)
{
    const double factor = len > 0 ? suffix_factor(text[len - 1]) : 0;
    const bool has_blank = factor > 0 && len > 1 && text[len - 2] == ' ';
    if (!read_unscaled(text, len - (factor > 0) - has_blank, ret)) {
        return false;
    }
    *ret *= factor > 0 ? factor : 1;
    return true;
}

/* Reads at most `max` digits from `*at` on and sets *at after them. Returns -1 without a digit. */
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
    size_t at = 0, begin = 0;
    int64_t parts[4], s = 0;
    bool are_two_digits = true;
    unsigned n = 0;
    do {
        at += n > 0 ? 1 : 0;
        begin = at;
        parts[n] = read_digits(text, len, &at, 9);
        are_two_digits = are_two_digits && (n == 0 || at - begin == 2);
    } while (parts[n++] >= 0 && n < 4 && at < len && text[at] == ':');
    if (n < 2 || parts[n - 1] < 0 || (n == 4 && !are_two_digits)) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        s = s * (n == 4 && i == 1 ? 24 : 60) + parts[i];
    }
    const int64_t fraction_ns = read_fraction_ns(text, len, &at);
    *ret_s = (double)s + (double)fraction_ns / (double)NS_PER_S;
    return at == len;
}

/* Reads the date before the time, if the text has one. False if it has another form. */
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
