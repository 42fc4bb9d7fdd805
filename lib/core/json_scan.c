/* See json_scan.h. */
#include "core/json_scan.h"

#include <math.h>
#include <string.h>

#include "base/parse.h"

#define MAX_DIGITS 18 /* of a whole number: it fits into int64 */
#define MAX_NUMBER 32 /* characters of any number; ours have 24 at most */

static char peek(const struct json_scan *s)
{
    return s->at < s->end ? *s->at : '\0';
}

static bool take(struct json_scan *s, char c)
{
    if (peek(s) != c || s->at == s->end) {
        return false;
    }
    s->at++;
    return true;
}

static bool take_word(struct json_scan *s, const char *word)
{
    const size_t len = strlen(word);
    if ((size_t)(s->end - s->at) < len || memcmp(s->at, word, len) != 0) {
        return false;
    }
    s->at += len;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t take_digits(struct json_scan *s)
{
    const char *from = s->at;
    while (is_digit(peek(s))) {
        s->at++;
    }
    return (size_t)(s->at - from);
}

bool json_scan_open(struct json_scan *s)
{
    return take(s, '{');
}

int json_scan_next(struct json_scan *s, struct json_span *ret_key)
{
    /* No value ends with a brace that opens, so this is the first member. */
    const bool is_first = s->at[-1] == '{';
    if (take(s, '}')) {
        return 0;
    }
    return (is_first || take(s, ',')) && json_scan_text(s, ret_key) && take(s, ':') ? 1 : -1;
}

bool json_scan_is_over(const struct json_scan *s)
{
    return s->at == s->end;
}

bool json_scan_text(struct json_scan *s, struct json_span *ret)
{
    if (!take(s, '"')) {
        return false;
    }
    const char *from = s->at;
    while (s->at < s->end && *s->at != '"') {
        if (*s->at < ' ' || *s->at > '~' || *s->at == '\\') {
            return false;
        }
        s->at++;
    }
    *ret = (struct json_span){from, (size_t)(s->at - from)};
    return take(s, '"');
}

bool json_scan_int(struct json_scan *s, int64_t *ret)
{
    const bool is_negative = take(s, '-');
    const char *from = s->at;
    const size_t n = take_digits(s);
    const char next = peek(s);
    if (n == 0 || n > MAX_DIGITS || (*from == '0' && (n > 1 || is_negative)) || next == '.' ||
        next == 'e' || next == 'E') {
        return false;
    }
    int64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        value = 10 * value + (from[i] - '0');
    }
    *ret = is_negative ? -value : value;
    return true;
}

/* Its point and exponent; false: it has neither, or they are not as JSON has them. */
static bool take_rest_of_real(struct json_scan *s)
{
    bool is_real = false;
    if (take(s, '.')) {
        if (take_digits(s) == 0) {
            return false;
        }
        is_real = true;
    }
    if (take(s, 'e') || take(s, 'E')) {
        (void)(take(s, '+') || take(s, '-'));
        return take_digits(s) > 0;
    }
    return is_real;
}

bool json_scan_number(struct json_scan *s, double *ret)
{
    if (take_word(s, "null")) {
        *ret = NAN;
        return true;
    }
    const char *from = s->at;
    int64_t whole;
    if (json_scan_int(s, &whole)) {
        *ret = (double)whole;
        return true;
    }
    s->at = from;
    (void)take(s, '-');
    const char *digits = s->at;
    const size_t n = take_digits(s);
    if (n == 0 || (*digits == '0' && n > 1) || !take_rest_of_real(s)) {
        return false;
    }
    char text[MAX_NUMBER];
    const size_t len = (size_t)(s->at - from);
    if (len >= sizeof(text)) {
        return false;
    }
    memcpy(text, from, len);
    text[len] = '\0';
    return parse_f64(text, ret) == 0 && isfinite(*ret);
}

bool json_scan_bool(struct json_scan *s, bool *ret)
{
    *ret = take_word(s, "true");
    return *ret || take_word(s, "false");
}

bool json_scan_null(struct json_scan *s)
{
    return take_word(s, "null");
}

bool json_span_is(const struct json_span *span, const char *text)
{
    return strlen(text) == span->len && memcmp(span->text, text, span->len) == 0;
}
