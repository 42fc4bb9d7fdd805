/* The text format, see expo.h. */
#include "daemon/web/expo.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "result/number.h"

#define MAX_LABEL_BYTES 256 /* of a value; names of Kubernetes objects have at most 253 */

void expo_begin(struct expo *e, const struct expo_family *family)
{
    static const char *const kinds[] = {
        [EXPO_GAUGE] = "gauge", [EXPO_COUNTER] = "counter", [EXPO_HISTOGRAM] = "histogram"};
    e->family = family;
    buf_printf(e->out, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help, family->name,
               kinds[family->kind]);
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
