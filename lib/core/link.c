/* See link.h. */
#include "core/link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

struct unit {
    const char *name;
    double factor;
};
static const struct unit rate_units[] = {{"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}, {NULL, 0}};
/* "us" and "ms" before "s", with which they end too. */
static const struct unit delay_units[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};

static int parse_quantity(const char *text, const struct unit *units, double min, double max,
                          double *ret)
{
    const size_t len = strlen(text);
    for (const struct unit *u = units; u->name != NULL; u++) {
        const size_t n = strlen(u->name);
        char digits[24];
        double value;
        if (len <= n || len - n >= sizeof(digits) || strcmp(text + len - n, u->name) != 0) {
            continue;
        }
        memcpy(digits, text, len - n);
        digits[len - n] = '\0';
        if (parse_f64(digits, &value) < 0 || !(value * u->factor >= min) ||
            value * u->factor > max) {
            return -EINVAL;
        }
        *ret = value * u->factor;
        return 0;
    }
    return -EINVAL;
}

int link_parse_rate(const char *text, uint64_t *ret)
{
    double bits;
    const int r = parse_quantity(text, rate_units, LINK_BITS_PER_S_MIN, LINK_BITS_PER_S_MAX, &bits);
    *ret = r < 0 ? *ret : (uint64_t)(bits + 0.5);
    return r;
}

int link_parse_any_rate(const char *text, double *ret)
{
    return parse_quantity(text, rate_units, 1, 1e15, ret);
}

int link_parse_delay(const char *text, int64_t *ret)
{
    double ns;
    const int r = parse_quantity(text, delay_units, 0, LINK_DELAY_NS_MAX, &ns);
    *ret = r < 0 ? *ret : (int64_t)(ns + 0.5);
    return r;
}

int link_parse(const char *text, struct link *ret)
{
    struct link link = {0};
    char rate[LINK_TEXT_MAX];
    const char *space = strchr(text, ' ');
    const size_t len = space == NULL ? strlen(text) : (size_t)(space - text);
    if (strcmp(text, "none") == 0) {
        *ret = link;
        return 0;
    }
    if (len >= sizeof(rate)) {
        return -EINVAL;
    }
    memcpy(rate, text, len);
    rate[len] = '\0';
    if (link_parse_rate(rate, &link.bits_per_s) < 0 ||
        (space != NULL && link_parse_delay(space + 1, &link.delay_ns) < 0)) {
        return -EINVAL;
    }
    *ret = link;
    return 0;
}

void link_text(const struct link *link, char ret[static LINK_TEXT_MAX])
{
    const double bits = (double)link->bits_per_s;
    int n = link->bits_per_s == 0 ? snprintf(ret, LINK_TEXT_MAX, "none")
            : bits >= 1e9         ? snprintf(ret, LINK_TEXT_MAX, "%.12ggbit", bits / 1e9)
                                  : snprintf(ret, LINK_TEXT_MAX, "%.12gmbit", bits / 1e6);
    if (link->delay_ns > 0) {
        (void)snprintf(ret + n, LINK_TEXT_MAX - (size_t)n, " %.12gms",
                       (double)link->delay_ns / 1e6);
    }
}

bool link_eq(const struct link *a, const struct link *b)
{
    return a->bits_per_s == b->bits_per_s && a->delay_ns == b->delay_ns;
}

double link_queue_bytes(const struct link *link)
{
    return (double)link->bits_per_s / 8 * 0.05 + 2 * LINK_SEGMENT_BYTES;
}
