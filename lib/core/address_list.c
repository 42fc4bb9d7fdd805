/* See address_list.h. */
#include "core/address_list.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"

#define DIGITS "0123456789"

/* ---- writing ---- */

void address_list_write(char *const *addresses, uint32_t n, struct buf *out)
{
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(out, "%s%s", i == 0 ? "" : ",", addresses[i]);
    }
}

/* The number of a run of digits as it would be written again; false: it is no such number. */
static bool number_of(const char *digits, size_t n, uint32_t *ret)
{
    _cleanup_(freep) char *text = xstrndup(digits, n);
    int64_t number;
    if ((n > 1 && text[0] == '0') || parse_i64_in(text, 0, UINT32_MAX, &number) < 0) {
        return false;
    }
    *ret = (uint32_t)number;
    return true;
}

/* Do all addresses differ from the first one in this run of digits alone, which counts up? */
static bool is_range(char *const *addresses, uint32_t n, size_t at, size_t n_digits,
                     uint32_t *ret_first)
{
    const char *first = addresses[0];
    bool is_same = number_of(first + at, n_digits, ret_first) && *ret_first <= UINT32_MAX - n;
    for (uint32_t i = 1; is_same && i < n; i++) {
        _cleanup_(freep) char *next =
            xasprintf("%.*s%u%s", (int)at, first, *ret_first + i, first + at + n_digits);
        is_same = strcmp(next, addresses[i]) == 0;
    }
    return is_same;
}

void address_list_write_pattern(char *const *addresses, uint32_t n, struct buf *out)
{
    const char *first = n < 2 ? "" : addresses[0];
    for (size_t at = strcspn(first, DIGITS); first[at] != '\0';) {
        const size_t n_digits = strspn(first + at, DIGITS);
        uint32_t number;
        if (is_range(addresses, n, at, n_digits, &number)) {
            buf_printf(out, "%.*s{%u..%u}%s", (int)at, first, number, number + n - 1,
                       first + at + n_digits);
            return;
        }
        at += n_digits + strcspn(first + at + n_digits, DIGITS);
    }
    address_list_write(addresses, n, out);
}

/* ---- reading ---- */

/* Takes the item apart. Returns 1 and the parts of "a-{0..19}:7164", 0 for a text without braces,
 * and -EINVAL for any other text. */
static int split(char *item, int64_t *ret_first, int64_t *ret_last, const char **ret_end)
{
    char *open = strchr(item, '{'), *close = strchr(item, '}');
    if (open == NULL && close == NULL) {
        return 0;
    }
    char *dots = open == NULL ? NULL : strstr(open, "..");
    if (dots == NULL || close == NULL || dots > close || strpbrk(close + 1, "{}") != NULL) {
        return -EINVAL;
    }
    *open = *dots = *close = '\0';
    *ret_end = close + 1;
    const bool is_good = parse_i64_in(open + 1, 0, UINT32_MAX, ret_first) == 0 &&
                         parse_i64_in(dots + 2, *ret_first, UINT32_MAX, ret_last) == 0;
    return is_good ? 1 : -EINVAL;
}

int address_list_read(const char *text, uint32_t max, address_fn on_address, void *ctx,
                      struct err *err)
{
    _cleanup_(freep) char *copy = xstrdup(text);
    char *rest = copy;
    uint32_t n = 0;
    for (char *item; (item = strsep(&rest, ",")) != NULL;) {
        _cleanup_(freep) char *quoted = xasprintf("%.200s", item);
        int64_t first = 0, last = 0;
        const char *end = "";
        const int is_pattern = split(item, &first, &last, &end);
        if (is_pattern < 0) {
            return err_set(err, EINVAL,
                           "'%s' is not HOST:PORT, and not a pattern such as name-{0..19}:7164",
                           quoted);
        }
        for (int64_t i = first; i <= last; i++) {
            if (n++ == max) {
                return err_set(err, EINVAL, "'%s': more than %u addresses", quoted, max);
            }
            _cleanup_(freep) char *address =
                is_pattern ? xasprintf("%s%lld%s", item, (long long)i, end) : xstrdup(item);
            const int r = on_address(ctx, address, err);
            if (r < 0) {
                return r;
            }
        }
    }
    return 0;
}
