/* See address_list.h. */
#include "core/address_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "base/parse.h"

/* ---- writing ---- */

void address_list_write(char *const *addresses, uint32_t n, struct buf *out)
{
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(out, "%s%s", i == 0 ? "" : ",", addresses[i]);
    }
}

/* What all addresses begin and end with, without the digits on either side of what differs. */
struct ends {
    size_t prefix, suffix; /* bytes */
};

static struct ends ends_of(char *const *addresses, uint32_t n)
{
    const char *first = addresses[0];
    const size_t first_len = strlen(first);
    struct ends f = {first_len, first_len};
    for (uint32_t i = 1; i < n; i++) {
        const size_t len = strlen(addresses[i]);
        size_t k = 0;
        while (k < f.prefix && k < len && addresses[i][k] == first[k]) {
            k++;
        }
        f.prefix = k;
        k = 0;
        while (k < f.suffix && k < len && addresses[i][len - 1 - k] == first[first_len - 1 - k]) {
            k++;
        }
        f.suffix = k;
    }
    while (f.prefix > 0 && ascii_is_digit(first[f.prefix - 1])) {
        f.prefix--;
    }
    while (f.suffix > 0 && ascii_is_digit(first[first_len - f.suffix])) {
        f.suffix--;
    }
    return f;
}

/* The number between these ends, as it would be written again; false: something else is there. */
static bool number_in(const char *address, const struct ends *f, uint32_t *ret)
{
    const size_t len = strlen(address);
    if (len <= f->prefix + f->suffix) {
        return false;
    }
    const size_t n_digits = len - f->prefix - f->suffix;
    const char *begin = address + f->prefix;
    if (n_digits > 10 || (n_digits > 1 && begin[0] == '0')) {
        return false;
    }
    char text[16];
    memcpy(text, begin, n_digits);
    text[n_digits] = '\0';
    int64_t number;
    if (!ascii_is_digit(text[0]) || parse_i64_in(text, 0, UINT32_MAX, &number) < 0) {
        return false;
    }
    *ret = (uint32_t)number;
    return true;
}

void address_list_write_pattern(char *const *addresses, uint32_t n, struct buf *out)
{
    const struct ends f = n < 2 ? (struct ends){0} : ends_of(addresses, n);
    _cleanup_(freep) uint32_t *numbers = xnew_array(uint32_t, (size_t)n + 1);
    bool are_numbers = n >= 2, is_range = true;
    for (uint32_t i = 0; are_numbers && i < n; i++) {
        are_numbers = number_in(addresses[i], &f, &numbers[i]);
        is_range = is_range && are_numbers && numbers[i] == (uint64_t)numbers[0] + i;
    }
    if (!are_numbers) {
        address_list_write(addresses, n, out);
        return;
    }
    buf_append(out, addresses[0], f.prefix);
    if (is_range) {
        buf_printf(out, "{%u..%u", numbers[0], numbers[n - 1]);
    } else {
        for (uint32_t i = 0; i < n; i++) {
            buf_printf(out, "%c%u", i == 0 ? '{' : ',', numbers[i]);
        }
    }
    buf_printf(out, "}%s", addresses[0] + strlen(addresses[0]) - f.suffix);
}

/* ---- reading ---- */

struct reading {
    const char *text; /* of the element that is read */
    size_t len;
    uint32_t n, max; /* addresses so far, and at most */
    address_fn on_address;
    void *ctx;
};

static int complain(const struct reading *r, struct err *err)
{
    return err_set(err, EINVAL,
                   "'%.*s' is not HOST:PORT, and not a pattern such as name-{0..19}:7164",
                   (int)(r->len < 200 ? r->len : 200), r->text);
}

static int give(struct reading *r, const char *prefix, size_t prefix_len, const char *item,
                size_t item_len, const char *suffix, size_t suffix_len, struct err *err)
{
    if (r->n++ == r->max) {
        return err_set(err, EINVAL, "'%.*s': more than %u addresses",
                       (int)(r->len < 200 ? r->len : 200), r->text, r->max);
    }
    _cleanup_(freep) char *address = xasprintf("%.*s%.*s%.*s", (int)prefix_len, prefix,
                                               (int)item_len, item, (int)suffix_len, suffix);
    return r->on_address(r->ctx, address, err);
}

/* "0..19": 1, and the numbers. "1,5": 0. -EINVAL: half of a range, or one that goes down. */
static int range_of(const char *inner, size_t len, uint32_t *ret_first, uint32_t *ret_last)
{
    _cleanup_(freep) char *text = xstrndup(inner, len);
    char *dots = strstr(text, "..");
    int64_t first, last;
    if (dots == NULL) {
        return 0;
    }
    *dots = '\0';
    if (parse_i64_in(text, 0, UINT32_MAX, &first) < 0 ||
        parse_i64_in(dots + 2, first, UINT32_MAX, &last) < 0) {
        return -EINVAL;
    }
    *ret_first = (uint32_t)first;
    *ret_last = (uint32_t)last;
    return 1;
}

/* One element with a brace in it, from `open` to `close`. */
static int expand(struct reading *r, const char *open, const char *close, struct err *err)
{
    const size_t prefix_len = (size_t)(open - r->text);
    const size_t inner_len = (size_t)(close - open) - 1;
    const size_t suffix_len = (size_t)(r->text + r->len - close) - 1;
    uint32_t first = 0, last = 0;
    int result = range_of(open + 1, inner_len, &first, &last);
    if (result < 0 || memchr(close + 1, '{', suffix_len) != NULL ||
        memchr(close + 1, '}', suffix_len) != NULL) {
        return complain(r, err);
    }
    if (result == 1) {
        for (uint64_t i = first; i <= last && result >= 0; i++) {
            char number[16];
            const int len = snprintf(number, sizeof(number), "%u", (uint32_t)i);
            result = give(r, r->text, prefix_len, number, (size_t)len, close + 1, suffix_len, err);
        }
        return result < 0 ? result : 0;
    }
    for (const char *at = open + 1; result >= 0;) {
        const size_t left = (size_t)(close - at);
        const char *comma = memchr(at, ',', left);
        const size_t len = comma == NULL ? left : (size_t)(comma - at);
        if (len == 0) {
            return complain(r, err);
        }
        result = give(r, r->text, prefix_len, at, len, close + 1, suffix_len, err);
        if (comma == NULL) {
            break;
        }
        at = comma + 1;
    }
    return result < 0 ? result : 0;
}

/* Up to the comma that no brace encloses. */
static size_t element_length(const char *text)
{
    size_t len = 0;
    bool is_inside = false;
    for (; text[len] != '\0' && (is_inside || text[len] != ','); len++) {
        is_inside = text[len] == '{' || (is_inside && text[len] != '}');
    }
    return len;
}

int address_list_read(const char *text, uint32_t max, address_fn on_address, void *ctx,
                      struct err *err)
{
    struct reading r = {.max = max, .on_address = on_address, .ctx = ctx};
    for (const char *at = text; at != NULL;) {
        r.text = at;
        r.len = element_length(at);
        const char *open = memchr(at, '{', r.len);
        const char *close = memchr(at, '}', r.len);
        int result;
        if (open != NULL && close != NULL && open < close) {
            result = expand(&r, open, close, err);
        } else if (open != NULL || close != NULL) {
            result = complain(&r, err);
        } else {
            result = give(&r, at, r.len, "", 0, "", 0, err);
        }
        if (result < 0) {
            return result;
        }
        at = at[r.len] == ',' ? at + r.len + 1 : NULL;
    }
    return 0;
}
