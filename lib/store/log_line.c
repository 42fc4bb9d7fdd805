/* See log_line.h. */
#include "store/log_line.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads all digits from *at, which has one, and one point among them. */
static bool read_number(const char **at, const char *end, struct log_number *ret)
{
    const char *p = *at;
    uint64_t digits = 0;
    size_t n = 0, decimals = 0, significant = 0;
    bool has_point = false;
    for (; p < end; p++) {
        if (is_digit(*p)) {
            if (++n > LOG_NUMBER_MAX_DIGITS) {
                return false;
            }
            digits = digits * 10 + (uint64_t)(*p - '0');
            significant += digits > 0;
            decimals += has_point;
        } else if (*p == '.' && !has_point && end - p > 1 && is_digit(p[1])) {
            has_point = true;
        } else {
            break;
        }
    }
    const size_t least = significant > decimals + 1 ? significant : decimals + 1;
    *ret = (struct log_number){digits, (uint8_t)decimals, (uint8_t)(n - least)};
    *at = p;
    return true;
}

bool log_line_split(const char *line, size_t len, struct buf *form,
                    struct log_number numbers[LOG_LINE_MAX_NUMBERS], size_t *ret_n)
{
    const char *end = line + len, *literal = line;
    size_t n = 0;
    buf_clear(form);
    if (memchr(line, LOG_LINE_SLOT, len) != NULL) {
        return false;
    }
    for (const char *p = line; p < end;) {
        if (!is_digit(*p)) {
            p++;
            continue;
        }
        buf_append(form, literal, (size_t)(p - literal));
        buf_putc(form, LOG_LINE_SLOT);
        if (n == LOG_LINE_MAX_NUMBERS || !read_number(&p, end, &numbers[n++])) {
            return false;
        }
        literal = p;
    }
    buf_append(form, literal, (size_t)(end - literal));
    *ret_n = n;
    return true;
}

bool log_line_match(const char *form, size_t form_len, const char *line, size_t len,
                    struct log_number numbers[LOG_LINE_MAX_NUMBERS])
{
    const char *f = form, *form_end = form + form_len, *p = line, *end = line + len;
    for (size_t n = 0;; n++) {
        const char *slot = memchr(f, LOG_LINE_SLOT, (size_t)(form_end - f));
        const size_t literal = (size_t)((slot == NULL ? form_end : slot) - f);
        if ((size_t)(end - p) < literal || (literal > 0 && memcmp(p, f, literal) != 0)) {
            return false;
        }
        p += literal;
        if (slot == NULL) {
            return p == end;
        }
        if (p == end || !is_digit(*p) || !read_number(&p, end, &numbers[n])) {
            return false;
        }
        f = slot + 1;
    }
}

static size_t count_digits(uint64_t value)
{
    size_t n = 1;
    for (; value >= 10; value /= 10) {
        n++;
    }
    return n;
}

static size_t length_of(const struct log_number *number)
{
    const size_t digits = count_digits(number->digits), least = (size_t)number->decimals + 1;
    return (digits > least ? digits : least) + number->zeros;
}

bool log_number_is_good(const struct log_number *number)
{
    return length_of(number) <= LOG_NUMBER_MAX_DIGITS;
}

size_t log_number_print(const struct log_number *number, char *out)
{
    const size_t n = length_of(number), len = n + (number->decimals > 0);
    uint64_t rest = number->digits;
    for (size_t i = len, k = 0; i-- > 0; k++) {
        if (number->decimals > 0 && k == number->decimals) {
            out[i] = '.';
            continue;
        }
        out[i] = (char)('0' + rest % 10);
        rest /= 10;
    }
    return len;
}
