/* The text format, see expo.h. */
#include "daemon/web/expo.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "result/number.h"

#define TOTAL "_total"
#define MAX_LABEL_BYTES 256 /* of a value; names of Kubernetes objects have at most 253 */

const char *expo_content_type(enum expo_format format)
{
    return format == EXPO_OPENMETRICS ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                      : "text/plain; version=0.0.4; charset=utf-8";
}

/* One media range of an Accept header, cut out of it. */
struct range {
    char type[64];
    char version[16]; /* "": any */
    double q;
};

/* Copies text[0..len) without the blanks around it; "" if it does not fit,
 * which no known word does. */
static void take_word(const char *text, size_t len, char *ret, size_t size)
{
    while (len > 0 && strchr(" \t\"", text[0]) != NULL) {
        text++, len--;
    }
    while (len > 0 && strchr(" \t\"", text[len - 1]) != NULL) {
        len--;
    }
    ret[0] = '\0';
    if (len < size) {
        memcpy(ret, text, len);
        ret[len] = '\0';
    }
}

static void take_parameter(const char *text, size_t len, struct range *range)
{
    const char *eq = memchr(text, '=', len);
    char name[16], value[16];
    if (eq == NULL) {
        return;
    }
    take_word(text, (size_t)(eq - text), name, sizeof(name));
    take_word(eq + 1, len - (size_t)(eq - text) - 1, value, sizeof(value));
    if (strcasecmp(name, "version") == 0) {
        memcpy(range->version, value, sizeof(value));
    } else if (strcasecmp(name, "q") == 0 && parse_f64(value, &range->q) < 0) {
        range->q = 0; /* unreadable: not wanted */
    }
}

static struct range take_range(const char *text, size_t len)
{
    struct range range = {.q = 1};
    for (bool is_type = true;; is_type = false) {
        const char *semicolon = memchr(text, ';', len);
        const size_t part = semicolon == NULL ? len : (size_t)(semicolon - text);
        if (is_type) {
            take_word(text, part, range.type, sizeof(range.type));
        } else {
            take_parameter(text, part, &range);
        }
        if (semicolon == NULL) {
            return range;
        }
        text += part + 1;
        len -= part + 1;
    }
}

static bool has_version(const struct range *range, const char *version)
{
    return range->version[0] == '\0' || str_eq(range->version, version);
}

enum expo_format expo_negotiate(const char *accept)
{
    double openmetrics = 0, text = 0;
    while (accept != NULL && *accept != '\0') {
        const size_t len = strcspn(accept, ",");
        const struct range range = take_range(accept, len);
        if (strcasecmp(range.type, "application/openmetrics-text") == 0 &&
            has_version(&range, "1.0.0")) {
            openmetrics = fmax(openmetrics, range.q);
        } else if (strcasecmp(range.type, "text/plain") == 0 && has_version(&range, "0.0.4")) {
            text = fmax(text, range.q);
        }
        accept += len + (accept[len] == ',');
    }
    return openmetrics > 0 && openmetrics >= text ? EXPO_OPENMETRICS : EXPO_TEXT;
}

void expo_begin(struct expo *e, const struct expo_family *family)
{
    size_t len = strlen(family->name);
    if (family->kind == EXPO_COUNTER && e->format == EXPO_OPENMETRICS) {
        len -= strlen(TOTAL); /* there the suffix belongs to the sample, not to the family */
    }
    static const char *const kinds[] = {
        [EXPO_GAUGE] = "gauge", [EXPO_COUNTER] = "counter", [EXPO_HISTOGRAM] = "histogram"};
    e->family = family;
    buf_printf(e->out, "# HELP %.*s %s\n# TYPE %.*s %s\n", (int)len, family->name, family->help,
               (int)len, family->name, kinds[family->kind]);
}

static void put_value(struct buf *out, double value)
{
    if (isinf(value)) {
        buf_puts(out, value > 0 ? "+Inf" : "-Inf");
    } else {
        number_format_exact(value, out);
    }
}

static void put_label_value(struct buf *out, const char *value)
{
    _cleanup_(buf_done) struct buf clean = BUF_INIT;
    buf_put_utf8(&clean, value, MAX_LABEL_BYTES);
    for (const char *c = buf_cstr(&clean); *c != '\0'; c++) {
        if (*c == '\n') {
            buf_puts(out, "\\n");
            continue;
        }
        if (*c == '\\' || *c == '"') {
            buf_putc(out, '\\');
        }
        buf_putc(out, *c);
    }
}

static void put_series(struct expo *e, const char *suffix, const struct expo_label *labels,
                       size_t n_labels, double value)
{
    buf_printf(e->out, "%s%s", e->family->name, suffix);
    for (size_t i = 0; i < n_labels; i++) {
        buf_printf(e->out, "%c%s=\"", i == 0 ? '{' : ',', labels[i].name);
        put_label_value(e->out, labels[i].value);
        buf_putc(e->out, '"');
    }
    buf_puts(e->out, n_labels > 0 ? "} " : " ");
    put_value(e->out, value);
    buf_putc(e->out, '\n');
    e->n_series++;
}

void expo_sample(struct expo *e, const struct expo_label *labels, size_t n_labels, double value)
{
    if (!isnan(value)) {
        put_series(e, "", labels, n_labels, value);
    }
}

void expo_histogram(struct expo *e, const struct expo_label *labels, size_t n_labels,
                    const struct histogram *h)
{
    struct expo_label with_bound[EXPO_MAX_LABELS + 1];
    uint64_t n = 0;
    assert(n_labels <= EXPO_MAX_LABELS);
    for (size_t i = 0; i < n_labels; i++) {
        with_bound[i] = labels[i];
    }
    for (size_t i = 0; i <= HISTOGRAM_N_BOUNDS; i++) { /* each bucket holds those before it */
        _cleanup_(buf_done) struct buf bound = BUF_INIT;
        put_value(&bound, i < HISTOGRAM_N_BOUNDS ? (double)histogram_bounds_ns[i] / 1e9 : INFINITY);
        with_bound[n_labels] = (struct expo_label){"le", buf_cstr(&bound)};
        n += h->counts[i];
        put_series(e, "_bucket", with_bound, n_labels + 1, (double)n);
    }
    put_series(e, "_sum", labels, n_labels, (double)h->sum_ns / 1e9);
    put_series(e, "_count", labels, n_labels, (double)n);
}

void expo_end(struct expo *e)
{
    if (e->format == EXPO_OPENMETRICS) {
        buf_puts(e->out, "# EOF\n");
    }
}
