/* See prose.h. */
#include "report/prose.h"

#include <math.h>

#include "result/curves.h"
#include "result/number.h"

#define MS_PER_NS 1e-6
#define LEAST_SHARE 0.001 /* of a step with the most workers: a term that is named */

static const char *word_of(const struct curve *c)
{
    return point_size_word(c->points.items[0]->point);
}

void prose_curve_put(const struct layout *l, const struct curve *c, const char *tail,
                     struct buf *out)
{
    const size_t begin = out->len;
    const struct point_words words = {
        .spec = l->result->def->spec,
        .names = {l->result->curves.names.items, l->result->curves.names.len, 0},
        .systems = l->words.systems,
    };
    words_put_point(&words, c->points.items[0]->point, "", out);
    buf_puts(out, out->len == begin ? "" : tail);
}

/* Sentences of a line are joined by "; ". */
static void begin_part(struct buf *out)
{
    buf_puts(out, out->len == 0 ? "" : "; ");
}

static bool says_copies(const struct layout *l, const struct point_result *p)
{
    return system_is_copies(&l->result->def->spec->systems.items[p->point->system]);
}

bool prose_is_copies(const struct layout *l, const struct point_result *p)
{
    return says_copies(l, p) || metric_of_point(p, METRIC_UNMET)->estimate.known;
}

/* ---- the verdict ---- */

void prose_copies_put(const struct layout *l, const struct point_result *p, struct buf *out)
{
    const bool is_doubted = !says_copies(l, p);
    buf_printf(out, "%u ", point_size(p->point));
    if (is_doubted) {
        buf_printf(out, "%ss or as many ", point_size_word(p->point));
    }
    buf_puts(out, "independent copies: ");
    words_put_figure(&p->throughput, out);
    const bool has_mean = p->kept != NULL && p->kept->has_job_log; /* no sum of them is known */
    buf_puts(out, has_mean ? ", the mean of what each states of a whole job" : " together");
    buf_puts(out, is_doubted ? "; no process listened on MASTER_PORT"
                             : ", which is no scaling of one program");
}

static void put_verdict(const struct layout *l, const struct point_result *p, struct buf *out)
{
    if (p == NULL) {
        return;
    }
    if (prose_is_copies(l, p)) {
        prose_copies_put(l, p, out);
        return;
    }
    const struct estimate *e = &point_figure(p, FIGURE_EFFICIENCY)->estimate;
    begin_part(out);
    buf_printf(out, "%u %ss: ", point_size(p->point), point_size_word(p->point));
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

/* ---- the law ---- */

/* "2 numbers of trainers, 3 are needed" */
static void put_why_not(const struct curve *c, struct buf *out)
{
    const char *word = word_of(c);
    if (c->n_sizes < SCALING_MIN_SIZES) {
        buf_printf(out, "%zu numbers of %ss, %d are needed", c->n_sizes, word, SCALING_MIN_SIZES);
    } else if (c->law.state == SCALING_FEW_SIZES) {
        buf_printf(out, "%zu of %zu numbers of %ss have 3 trials, %d are needed", c->sizes.len,
                   c->n_sizes, word, SCALING_MIN_SIZES);
    } else if (c->law.state == SCALING_SUPERLINEAR) {
        buf_printf(out, "a step grows faster than the number of %ss", word);
    } else {
        buf_printf(out, "what twice as many %ss give is open by a factor of more than %d", word,
                   SCALING_MAX_RANGE);
    }
}

/* Where throughput stops growing, if it does. */
static void put_end(const struct curve *c, struct buf *out)
{
    const struct scaling_range peak = curve_peak(c), ceiling = curve_ceiling(c);
    if (peak.value <= FORECAST_MAX_FACTOR * c->law.largest.n) {
        buf_printf(out, "; most throughput with %.0f %ss (95%%: %.0f", peak.value, word_of(c),
                   floor(peak.low));
        if (isinf(peak.high)) {
            buf_puts(out, " or more)");
        } else {
            buf_printf(out, "..%.0f)", ceil(peak.high));
        }
    } else if (!isnan(ceiling.value)) {
        struct figure x = c->points.items[0]->throughput;
        x.estimate = (struct estimate){true,        ceiling.value, true,
                                       ceiling.low, ceiling.high,  .method = INTERVAL_MODEL_LOG};
        buf_printf(out, "; with any number of %ss throughput stays below ", word_of(c));
        words_put_figure(&x, out);
    }
}

/* "21.41 ms log2 N"; in parts of the step of the largest size where its time is not known. A batch
 * that is the same at all sizes, or on all workers, is a part of the number. */
static void put_term(const struct curve *c, enum scaling_term term, struct buf *out)
{
    const struct scaling_law *law = &c->law;
    const struct scaling_size *s = &law->largest;
    const char *of = curve_term(c, term).of;
    double number = law->c[term] / (c->is_timed ? 1e-3 : scaling_time(law, s->n, s->batch));
    if (term == SCALING_COMPUTATION && law->is_strong) {
        number *= s->batch;
        of = "/ N";
    } else if (term == (law->is_weak ? SCALING_COMPUTATION : SCALING_CONSTANT)) {
        number *= law->is_weak ? s->batch / s->n : 1;
        of = "";
    }
    number_format(number, out);
    buf_printf(out, "%s%s%s", c->is_timed ? " ms" : "", of[0] == '\0' ? "" : " ", of);
}

void prose_law_put(const struct curve *c, struct buf *out)
{
    buf_printf(out, "a step of N %ss takes ", word_of(c));
    const char *plus = "";
    for (int i = 0; i < SCALING_TERMS; i++) {
        if (curve_term(c, (enum scaling_term)i).share >= LEAST_SHARE) {
            buf_puts(out, plus);
            put_term(c, (enum scaling_term)i, out);
            plus = " + ";
        }
    }
    if (!c->is_timed) {
        buf_printf(out, " times that of %.0f", c->law.largest.n);
    }
    put_end(c, out);
}

void prose_residuals_put(const struct curve *c, struct buf *out)
{
    buf_puts(out, "Steps as measured, compared with the law:");
    vec_each (const struct scaling_size, s, &c->sizes) {
        buf_printf(out, "%s %.0f %s%s %+.1f%%", s == c->sizes.items ? "" : ",", s->n, word_of(c),
                   plural((uint64_t)s->n), 100 * curve_residual(c, s));
    }
    buf_putc(out, '.');
}

/* Two sizes have no law, which needs no reason unless `says_few` asks for it. */
static void put_law(const struct curve *c, bool says_few, struct buf *out)
{
    if (c->law.state == SCALING_FITTED) {
        begin_part(out);
        prose_law_put(c, out);
    } else if (says_few || c->n_sizes >= SCALING_MIN_SIZES) {
        begin_part(out);
        buf_puts(out, "no law: ");
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
               point_size(loss->from->point), point_size(loss->to->point), word_of(c),
               100 * (1 - kept->value), 100 * (1 - kept->high), 100 * (1 - kept->low));
    if (loss->has_phases && loss->phase_ns > 0) {
        buf_printf(out, "; %s grew most, by ", loss->phase);
        number_format(MS_PER_NS * loss->phase_ns, out);
        buf_puts(out, " ms a step");
    }
}

void prose_curve_say(const struct layout *l, const struct curve *c, bool says_few, struct buf *out)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    const struct point_result *widest = curve_widest(c);
    put_verdict(l, widest, &text);
    if (widest == NULL || !prose_is_copies(l, widest)) {
        put_law(c, says_few, &text);
        put_loss(c, &text);
    }
    if (text.len > 0) {
        prose_curve_put(l, c, ", ", out);
        buf_printf(out, "%s.", buf_cstr(&text));
    }
}

void prose_scaling_put(struct sheet *s, const struct layout *l)
{
    struct buf text = BUF_INIT;
    vec_each (const struct curve, c, &l->result->curves.list) {
        prose_curve_say(l, c, false, &text);
        sheet_put_line(s, NULL, &text);
    }
}
