/* See prose.h. */
#include "report/prose.h"

#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "result/curves.h"
#include "result/number.h"

#define MS_PER_NS 1e-6

static uint32_t size_of(const struct point_result *p)
{
    return point_size(p->point);
}

static const char *word_of(const struct curve *c)
{
    return point_size_word(c->points.items[0]->point);
}

/* "pservers 2, ": what distinguishes this curve; nothing if it is the only one. */
static void put_name(const struct layout *l, const struct curve *c, struct buf *out)
{
    const struct point_words words = {
        .spec = l->result->def->spec,
        .names = {l->result->curves.names.items, l->result->curves.names.len, 0},
        .systems = l->words.systems,
    };
    words_put_point(&words, c->points.items[0]->point, "", out);
    buf_puts(out, out->len == 0 ? "" : ", ");
}

/* Sentences of a line are joined by "; ". */
static void begin_part(struct buf *out)
{
    buf_puts(out, out->len == 0 ? "" : "; ");
}

static bool is_of_copies(const struct layout *l, const struct curve *c)
{
    const struct spec *spec = l->result->def->spec;
    return system_is_copies(&spec->systems.items[c->points.items[0]->point->system]);
}

bool prose_doubts_job(const struct point_result *p)
{
    return p != NULL && metric_of_point(p, METRIC_UNMET)->estimate.known;
}

/* ---- the verdict ---- */

static void put_copies(const struct point_result *p, const char *doubted, struct buf *out)
{
    buf_printf(out, "%u ", size_of(p));
    if (doubted != NULL) {
        buf_printf(out, "%ss or as many ", doubted);
    }
    buf_puts(out, "independent copies: ");
    words_put_figure(&p->throughput, out);
    const bool has_mean = p->kept != NULL && p->kept->has_job_log; /* no sum of them is known */
    buf_puts(out, has_mean ? ", the mean of what each states of a whole job" : " together");
    buf_puts(out, doubted != NULL ? "; no process listened on MASTER_PORT"
                                  : ", which is no scaling of one program");
}

static void put_verdict(const struct layout *l, const struct curve *c, struct buf *out)
{
    const struct point_result *p = curve_widest(c);
    if (p == NULL) {
        return;
    }
    if (is_of_copies(l, c) || prose_doubts_job(p)) {
        put_copies(p, is_of_copies(l, c) ? NULL : word_of(c), out);
        return;
    }
    const struct estimate *e = &point_figure(p, FIGURE_EFFICIENCY)->estimate;
    begin_part(out);
    buf_printf(out, "%u %ss: ", size_of(p), word_of(c));
    if (!e->known || p->point->baseline_index == p->point->index) {
        words_put_figure(&p->throughput, out);
        return;
    }
    number_format(point_figure(p, FIGURE_SPEEDUP)->estimate.value, out);
    buf_printf(out, "x (%.1f%%", 100 * e->value);
    if (e->has_interval) {
        buf_printf(out, "; 95%%: %.1f..%.1f%%", 100 * e->low, 100 * e->high);
    }
    buf_putc(out, ')');
}

/* ---- the model ---- */

/* "2 numbers of trainers, 3 are needed" */
static void put_why_not(const struct curve *c, struct buf *out)
{
    const struct scaling_fit *usl = &c->usl;
    if (c->n_sizes < SCALING_MIN_SIZES) {
        buf_printf(out, "%zu numbers of %ss, %d are needed", c->n_sizes, word_of(c),
                   SCALING_MIN_SIZES);
    } else if (usl->gap == SCALING_FEW_SIZES) {
        buf_printf(out, "%zu of %zu numbers of %ss have 3 trials, %d are needed", c->n_trusted,
                   c->n_sizes, word_of(c), SCALING_MIN_SIZES);
    } else if (usl->gap == SCALING_FITTED) {
        buf_puts(out, "the trials contradict the USL (p ");
        number_format(usl->misfit_p, out);
        buf_putc(out, ')');
    } else {
        buf_puts(out, "no USL curve fits the trials");
    }
}

/* " (95%: 4..7)", " (95%: 4 or more)", " (95%: unknown)"; numbers from 1 on. */
static void put_ends(const struct scaling_range *x, struct buf *out)
{
    if (x->low <= 1 && isinf(x->high)) {
        buf_puts(out, " (95%: unknown)");
        return;
    }
    buf_printf(out, " (95%%: %.0f", floor(x->low));
    if (isinf(x->high)) {
        buf_puts(out, " or more)");
    } else {
        buf_printf(out, "..%.0f)", ceil(x->high));
    }
}

static void put_peak(const struct curve *c, struct buf *out)
{
    const struct scaling_peak *peak = &c->peak;
    if (peak->is_within) {
        buf_printf(out, "most throughput with %.0f %ss", peak->at.value, word_of(c));
        put_ends(&peak->at, out);
        return;
    }
    buf_printf(out, "no peak up to %.0f %ss", peak->limit, word_of(c));
    if (peak->at.low <= 1) {
        buf_puts(out, ", but that is not certain (95%)");
    } else if (peak->at.low < peak->limit) {
        buf_printf(out, ", but a peak at %.0f or more is not excluded (95%%)", floor(peak->at.low));
    }
}

/* Two sizes have no model, which needs no reason unless `says_few` asks for it. */
static void put_model(const struct curve *c, bool says_few, struct buf *out)
{
    if (scaling_fit_holds(&c->usl)) {
        begin_part(out);
        put_peak(c, out);
    } else if (says_few || c->n_sizes >= SCALING_MIN_SIZES) {
        begin_part(out);
        buf_puts(out, "no model: ");
        put_why_not(c, out);
    }
}

/* ---- the loss ---- */

/* Only where the interval shows a loss, and not of two sizes: their efficiency says it. */
static void put_loss(const struct curve *c, struct buf *out)
{
    const struct curve_loss *loss = &c->loss;
    const struct estimate *kept = &loss->kept;
    if (loss->from == NULL || c->n_sizes < 3 || !kept->has_interval || kept->high >= 1) {
        return;
    }
    begin_part(out);
    buf_printf(out,
               "biggest loss between %u and %u %ss: %.1f%% of each one's throughput (95%%: "
               "%.1f..%.1f%%)",
               size_of(loss->from), size_of(loss->to), word_of(c), 100 * (1 - kept->value),
               100 * (1 - kept->high), 100 * (1 - kept->low));
    if (loss->has_phases && loss->phase_ns > 0) {
        buf_printf(out, "; %s grew most, by ", loss->phase);
        number_format(MS_PER_NS * loss->phase_ns, out);
        buf_puts(out, " ms a step");
    }
}

void prose_scaling_add(struct texts *lines, const struct layout *l, bool is_full)
{
    size_t n = 0;
    vec_each (const struct curve, c, &l->result->curves.list) {
        _cleanup_(buf_done) struct buf name = BUF_INIT, text = BUF_INIT;
        put_name(l, c, &name);
        put_verdict(l, c, &text);
        if (!is_of_copies(l, c) && !prose_doubts_job(curve_widest(c))) {
            put_model(c, is_full, &text);
            put_loss(c, &text);
        }
        if (text.len > 0 && (++n <= SCALING_LINES_MAX || is_full)) {
            *vec_push(&lines->list) = xasprintf("%s%s", buf_cstr(&name), buf_cstr(&text));
        }
    }
    if (!is_full && n > SCALING_LINES_MAX) {
        *vec_push(&lines->list) = xasprintf("%zu more curve%s: benchctl results RUN --by curve",
                                            n - SCALING_LINES_MAX, plural(n - SCALING_LINES_MAX));
    }
}
