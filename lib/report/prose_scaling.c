/* See prose.h. */
#include "report/prose.h"

#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "result/curves.h"
#include "result/number.h"

#define MS_PER_NS 1e-6

static uint32_t trainers_of(const struct point_result *p)
{
    return point_training_replicas(p->point);
}

static const char *role_of(const struct curve *c)
{
    return role_to_string(point_training_role(c->points.items[0]->point));
}

/* "pservers 2": what distinguishes this curve; nothing if it is the only one. Owned. */
static char *curve_name(const struct layout *l, const struct curve *c)
{
    struct buf name = BUF_INIT;
    const struct point_words words = {
        .spec = l->result->def->spec,
        .names = {l->result->curves.names.items, l->result->curves.names.len, 0},
        .systems = l->words.systems,
    };
    words_put_point(&words, c->points.items[0]->point, layout_form(l), &name);
    return buf_take(&name);
}

/* Sentences of a line are joined by "; ". */
static void begin_part(struct buf *out)
{
    buf_puts(out, out->len == 0 ? "" : "; ");
}

/* ---- the verdict ---- */

static void put_verdict(const struct curve *c, struct buf *out)
{
    const struct point_result *p = curve_widest(c);
    if (p == NULL) {
        return;
    }
    const struct estimate *e = &p->efficiency.estimate;
    begin_part(out);
    buf_printf(out, "%u %ss: ", trainers_of(p), role_of(c));
    if (!e->known || p->point->baseline_index == p->point->index) {
        words_put_figure(&p->throughput, out);
        return;
    }
    number_format(p->speedup.estimate.value, out);
    buf_printf(out, "x (%.1f%%", 100 * e->value);
    if (e->has_interval) {
        buf_printf(out, "; 95%%: %.1f..%.1f%%", 100 * e->low, 100 * e->high);
    }
    buf_putc(out, ')');
}

/* ---- the model ---- */

static bool has_model(const struct curve *c)
{
    return scaling_fit_holds(&c->fits[SCALING_USL]);
}

/* "2 numbers of trainers, 3 are needed" */
static void put_why_not(const struct curve *c, struct buf *out)
{
    const struct scaling_fit *usl = &c->fits[SCALING_USL];
    if (c->n_sizes < SCALING_MIN_SIZES) {
        buf_printf(out, "%zu numbers of %ss, %d are needed", c->n_sizes, role_of(c),
                   SCALING_MIN_SIZES);
    } else if (usl->gap == SCALING_FEW_SIZES) {
        buf_printf(out, "%zu of %zu numbers of %ss have 3 trials, %d are needed", c->n_trusted,
                   c->n_sizes, role_of(c), SCALING_MIN_SIZES);
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
        buf_printf(out, "most throughput with %.0f %ss", peak->at.value, role_of(c));
        put_ends(&peak->at, out);
        return;
    }
    buf_printf(out, "no peak up to %.0f %ss", peak->limit, role_of(c));
    if (peak->at.low <= 1) {
        buf_puts(out, ", but that is not certain (95%)");
    } else if (peak->at.low < peak->limit) {
        buf_printf(out, ", but a peak at %.0f or more is not excluded (95%%)", floor(peak->at.low));
    }
}

static void put_useful(const struct curve *c, struct buf *out)
{
    const struct scaling_useful *u = &c->useful;
    const bool is_open = u->upto.value >= u->limit;
    if (u->upto.value <= 1) {
        buf_printf(out, "; a second %s adds less than %.0f%% of the throughput of one", role_of(c),
                   100 * SCALING_USEFUL_GAIN);
        if (u->upto.high > 1) {
            buf_printf(out, ", but up to %.0f%s may add more (95%%)", u->upto.high,
                       u->upto.high >= u->limit ? " or more" : "");
        }
        return;
    }
    buf_printf(out, "; each %s adds %.0f%% or more of the throughput of one, up to %.0f",
               role_of(c), 100 * SCALING_USEFUL_GAIN, u->upto.value);
    if (u->upto.low >= u->limit) {
        buf_puts(out, " at least");
    } else {
        buf_printf(out, "%s (95%%: %.0f..%.0f%s)", is_open ? " or more" : "", u->upto.low,
                   u->upto.high, u->upto.high >= u->limit ? " or more" : "");
    }
}

static void put_model(const struct curve *c, struct buf *out)
{
    begin_part(out);
    if (has_model(c)) {
        put_peak(c, out);
        put_useful(c, out);
    } else {
        buf_puts(out, "no model: ");
        put_why_not(c, out);
    }
}

/* ---- why there is no model, said once of the curves that share the reason ---- */

struct reason {
    char *text;       /* owned */
    struct buf names; /* "pservers 1; pservers 2", of the first curves */
    size_t n;         /* curves */
};
struct reasons {
    VEC(struct reason) list;
};

/* The one like it; where there is no such, it is made, of no curves yet. */
static struct reason *find_reason(const struct reasons *reasons, const struct curve *c)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    struct reason *found = NULL;
    put_why_not(c, &text);
    vec_each (struct reason, r, &reasons->list) {
        found = str_eq(r->text, buf_cstr(&text)) ? r : found;
    }
    return found;
}

static void add_reason(struct reasons *reasons, const struct layout *l, const struct curve *c)
{
    struct reason *r = find_reason(reasons, c);
    if (r == NULL) {
        struct buf text = BUF_INIT;
        put_why_not(c, &text);
        r = vec_push(&reasons->list);
        *r = (struct reason){.text = buf_take(&text), .names = BUF_INIT};
    }
    if (r->n++ < SCALING_LINES_MAX) {
        _cleanup_(freep) char *name = curve_name(l, c);
        buf_printf(&r->names, "%s%s", r->n > 1 ? "; " : "", name);
    }
}

static void reasons_done(struct reasons *reasons)
{
    vec_each (struct reason, r, &reasons->list) {
        free(r->text);
        buf_done(&r->names);
    }
    vec_done(&reasons->list);
}

static bool is_skipped(const struct curve *c, unsigned parts)
{
    return c->n_sizes < SCALING_MIN_SIZES && (parts & SCALING_SKIP_SMALL) != 0;
}

/* Reasons are gathered of all curves, those without a line too. Returns the number of curves. */
static size_t reasons_init(struct reasons *reasons, const struct layout *l, unsigned parts)
{
    size_t n = 0;
    *reasons = (struct reasons){0};
    vec_each (const struct curve, c, &l->result->curves.list) {
        if (is_skipped(c, parts)) {
            continue;
        }
        n++;
        if ((parts & SCALING_MODEL) != 0 && (parts & SCALING_SHARE_REASONS) != 0 && !has_model(c)) {
            add_reason(reasons, l, c);
        }
    }
    return n;
}

/* "no model of pservers 1; pservers 2: 2 numbers of trainers, 3 are needed" */
static bool is_shared(const struct reasons *reasons, const struct curve *c)
{
    const struct reason *r = find_reason(reasons, c);
    return r != NULL && r->n > 1;
}

/* "no model of pservers 1; pservers 2: 2 numbers of trainers, 3 are needed" */
static void add_shared(struct prose_verdict *lines, const struct reasons *reasons, size_t n_curves)
{
    vec_each (const struct reason, r, &reasons->list) {
        if (r->n < 2) {
            continue;
        }
        struct buf text = BUF_INIT;
        if (r->n == n_curves) {
            buf_puts(&text, "no curve has a model: ");
        } else {
            buf_printf(&text, "no model of %s", buf_cstr(&r->names));
            if (r->n > SCALING_LINES_MAX) {
                buf_printf(&text, "; and %zu more", r->n - SCALING_LINES_MAX);
            }
            buf_puts(&text, ": ");
        }
        buf_puts(&text, r->text);
        *vec_push(&lines->list) =
            (struct choice_line){.label = xstrdup(""), .text = buf_take(&text)};
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
               trainers_of(loss->from), trainers_of(loss->to), role_of(c), 100 * (1 - kept->value),
               100 * (1 - kept->high), 100 * (1 - kept->low));
    if (loss->has_phases && loss->phase_ns > 0) {
        buf_printf(out, "; %s grew most, by ", loss->phase);
        number_format(MS_PER_NS * loss->phase_ns, out);
        buf_puts(out, " ms a step");
    }
}

void prose_scaling_init(struct prose_verdict *lines, const struct layout *l, unsigned parts,
                        size_t max)
{
    *lines = (struct prose_verdict){0};
    _cleanup_(reasons_done) struct reasons reasons;
    const size_t n = reasons_init(&reasons, l, parts);
    size_t i = 0;
    vec_each (const struct curve, c, &l->result->curves.list) {
        if (is_skipped(c, parts) || (++i > max && max > 0)) {
            continue;
        }
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        if ((parts & SCALING_VERDICT) != 0) {
            put_verdict(c, &text);
        }
        if ((parts & SCALING_MODEL) != 0 && (has_model(c) || !is_shared(&reasons, c))) {
            put_model(c, &text);
        }
        if ((parts & SCALING_LOSS) != 0) {
            put_loss(c, &text);
        }
        if (text.len > 0) {
            *vec_push(&lines->list) =
                (struct choice_line){.label = curve_name(l, c), .text = buf_take(&text)};
        }
    }
    add_shared(lines, &reasons, n);
    if (max > 0 && n > max) {
        *vec_push(&lines->list) = (struct choice_line){
            .label = xstrdup(""),
            .text = xasprintf("%zu more curve%s: benchctl results RUN --by curve", n - max,
                              n - max == 1 ? "" : "s"),
        };
    }
}
