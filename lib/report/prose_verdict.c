/* See prose.h. */
#include "report/prose.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "base/vec_walk.h"
#include "result/choice.h"
#include "result/number.h"

#define MAX_TIES 3         /* named */
#define MAX_NAMED 3        /* of the points without figures */
#define PRINTS_AS_1 1.0005 /* below it, four digits say 1.000 */

static struct choice_line *add(struct prose_verdict *lines, const char *label,
                               struct buf *text_take)
{
    struct choice_line *line = vec_push(&lines->list);
    *line = (struct choice_line){.label = xstrdup(label), .text = buf_take(text_take)};
    return line;
}

static void put_point(const struct layout *l, const struct point_result *p, struct buf *out)
{
    if (layout_has_words(l)) {
        layout_describe_point(l, p->point->index, out);
    } else {
        buf_puts(out, "the only point");
    }
}

/* ---- the verdict ---- */

static bool has_own_baseline(const struct point_result *p)
{
    return p->point->baseline_index == p->point->index;
}

/* The baseline is not one of the points to choose from, and may be the better choice. "is", "may
 * be"; NULL: neither. */
static const char *baseline_is_faster(const struct point_result *fastest)
{
    const struct estimate *speedup = &fastest->speedup.estimate;
    if (!speedup->known || has_own_baseline(fastest) || speedup->value >= 1) {
        return NULL;
    }
    return speedup->has_interval && speedup->high < 1 ? "is" : "may be";
}

static const struct point_result *baseline_of(const struct layout *l, const struct choice *c)
{
    return &l->result->points[c->fastest->point->baseline_index];
}

/* A swept one is a point like others, and weighed with them. What is printed as 1.000 is
 * not shown to be more. */
static bool baseline_may_be_as_fast(const struct layout *l, const struct choice *c)
{
    const struct estimate *speedup = &c->fastest->speedup.estimate;
    return speedup->known && baseline_of(l, c)->point->is_baseline && speedup->has_interval &&
           speedup->value >= 1 && speedup->low < PRINTS_AS_1;
}

/* ", with 1 replica instead of 3". */
static void put_fewer_replicas(const struct layout *l, const struct choice *c, struct buf *out)
{
    const uint32_t few = point_pods(baseline_of(l, c)->point);
    const uint32_t many = point_pods(c->fastest->point);
    if (few < many) {
        buf_printf(out, ", with %" PRIu32 " replica%s instead of %" PRIu32, few, plural(few), many);
    }
}

/* A reader of the verdict alone must not pay for replicas without a proven benefit. */
static void put_baseline(const struct layout *l, const struct choice *c, size_t n_others,
                         struct buf *out)
{
    const char *faster = baseline_is_faster(c->fastest);
    if (faster != NULL) {
        buf_printf(out, "%sthe baseline %s faster than %s", n_others > 0 ? "; " : "", faster,
                   n_others > 0 ? "all of them" : "the only point");
    } else if (baseline_may_be_as_fast(l, c)) {
        buf_printf(out, "%s may be as fast",
                   n_others == 0 ? "the baseline" : "; but the baseline of the fastest");
        put_fewer_replicas(l, c, out);
    }
}

/* Some of the other points are not shown to be slower. */
static void put_doubt(const struct choice *c, struct buf *out)
{
    const size_t n = c->ties.len + c->n_unsure;
    if (c->n_slower == 0 && n == 1) {
        buf_puts(out, "no clear winner: the other point is not significantly slower");
    } else if (c->n_slower == 0) {
        buf_printf(out, "no clear winner: none of the other %zu points is significantly slower", n);
    } else {
        buf_printf(out, "%zu of %zu points may be the fastest, the other%s %s slower", n + 1,
                   n + 1 + c->n_slower, plural(c->n_slower), c->n_slower == 1 ? "is" : "are");
    }
    buf_puts(out, c->n_unsure == 0 ? "; more repeats may tell them apart"
                                   : "; to decide, each point needs 3 trials or more");
}

/* Which point to choose, and how sure that is. */
static void add_verdict(struct prose_verdict *lines, const struct layout *l, const struct choice *c)
{
    struct buf text = BUF_INIT;
    const size_t n_others = c->ties.len + c->n_unsure + c->n_slower;
    if (n_others > 0 && c->n_slower == n_others) {
        put_point(l, c->fastest, &text);
        buf_printf(&text, " is the fastest of the %zu points compared%s: %s", n_others + 1,
                   l->result->def->cpus > 0 ? ", on this machine" : "",
                   n_others == 1 ? "the other one is slower, with 95% confidence"
                                 : "every other one is slower, each with 95% confidence");
    } else if (n_others > 0) {
        put_doubt(c, &text);
    }
    put_baseline(l, c, n_others, &text);
    if (text.len > 0) {
        add(lines, "Choice", &text);
    }
}

/* ---- figures ---- */

/* The other trials that the median is made of. */
static void put_trials(const struct point_result *p, struct buf *out)
{
    if (p->n_succeeded < 2) {
        buf_puts(out, ", from one trial");
        return;
    }
    buf_printf(out, ", the median of %zu trials from ", p->n_succeeded);
    number_format(figure_shown_value(&p->throughput, p->throughput_min), out);
    buf_puts(out, " to ");
    number_format(figure_shown_value(&p->throughput, p->throughput_max), out);
}

static void add_fastest(struct prose_verdict *lines, const struct layout *l, const struct choice *c)
{
    struct buf text = BUF_INIT;
    const struct point_result *p = c->fastest;
    put_point(l, p, &text);
    buf_puts(&text, " with ");
    words_put_figure(&p->throughput, &text);
    put_trials(p, &text);
    const struct estimate *speedup = &p->speedup.estimate;
    if (speedup->known && !has_own_baseline(p)) {
        buf_puts(&text, "; ");
        words_put_estimate(speedup, "times its baseline", &text);
        buf_puts(&text, ", at an efficiency of ");
        words_put_percent(&p->efficiency.estimate, &text);
    }
    add(lines, "Highest throughput", &text);
}

static void put_change(double ratio, struct buf *out)
{
    buf_printf(out, "%.1f%% %s", 100 * fabs(1 - ratio), ratio > 1 ? "faster" : "slower");
}

/* "63.5% slower (95%: 51.2..72.9%)", "1.2% slower (95%: 3.1% slower to 0.7%
 * faster)": than the fastest. */
static void put_slower(const struct choice *c, const struct point_result *p, struct buf *out)
{
    const struct estimate ratio = choice_ratio(c, p);
    put_change(ratio.value, out);
    if (!ratio.has_interval) {
        return;
    }
    buf_puts(out, " (95%: ");
    if (ratio.high < 1) {
        buf_printf(out, "%.1f..%.1f%%", 100 * (1 - ratio.high), 100 * (1 - ratio.low));
    } else {
        put_change(ratio.low, out);
        buf_puts(out, " to ");
        put_change(ratio.high, out);
    }
    buf_putc(out, ')');
}

/* "2 trainers with 140.0 samples/s (...), 63.5% slower (...)". */
static void put_other(const struct layout *l, const struct choice *c, const struct point_result *p,
                      struct buf *out)
{
    put_point(l, p, out);
    buf_puts(out, " with ");
    words_put_figure(&p->throughput, out);
    buf_puts(out, ", ");
    put_slower(c, p, out);
}

static void add_ties(struct prose_verdict *lines, const struct layout *l, const struct choice *c)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < c->ties.len && i < MAX_TIES; i++) {
        buf_puts(&text, i == 0 ? "" : "; ");
        put_other(l, c, c->ties.items[i], &text);
    }
    if (c->ties.len > MAX_TIES) {
        buf_printf(&text, "; and %zu more", c->ties.len - MAX_TIES);
    }
    if (c->ties.len > 0) {
        add(lines, "May be as fast", &text);
    }
}

static void add_widest(struct prose_verdict *lines, const struct layout *l, const struct choice *c)
{
    const struct point_result *p = c->widest != NULL ? c->widest : c->most_efficient;
    if (p == NULL) {
        return;
    }
    const char *role = point_size_word(p->point);
    const struct estimate *e = &p->efficiency.estimate;
    _cleanup_(buf_done) struct buf text = BUF_INIT, label = BUF_INIT;
    if (c->widest == NULL) {
        buf_printf(&text, "no point with more %ss than its baseline reaches that; the nearest is ",
                   role);
    }
    put_point(l, p, &text);
    buf_puts(&text, " at ");
    words_put_percent(e, &text);
    if (e->has_interval && e->low > 1) {
        buf_puts(&text, "; more than the ideal, which needs an explanation: see the warnings");
    } else if (c->widest != NULL && !c->widest_is_sure) {
        buf_puts(&text, e->has_interval ? "; not certain, because the interval reaches below"
                                        : "; not certain, because there is no interval");
    }
    buf_printf(&label, "Most %ss at %.0f%% efficiency or more%s", role, 100 * CHOICE_EFFICIENCY,
               c->n_as_wide > 1 ? ", the fastest of them" : "");
    add(lines, buf_cstr(&label), &text);
}

static const char model_meaning[] =
    "A model is a curve fitted to the trials (the Universal Scalability Law, USL). It predicts the "
    "throughput with other numbers of replicas, and the number above which more do not pay off.";

/* The question of a run that scales something: how far each curve comes, and what it loses. */
static void add_scaling(struct prose_verdict *lines, const struct layout *l)
{
    const size_t first = lines->list.len;
    prose_scaling_add(lines, l, "Scaling", false);
    if (vec_any(&l->result->curves.list, c, c->n_sizes >= SCALING_MIN_SIZES)) {
        lines->list.items[first].meaning = model_meaning;
    }
}

/* Swept points of a run that has ended, some of which were measured. */
static void add_unmeasured(struct prose_verdict *lines, const struct layout *l)
{
    const struct result *r = l->result;
    size_t n = 0;
    _cleanup_(buf_done) struct buf names = BUF_INIT, text = BUF_INIT;
    result_each_swept (p, r) {
        if (!p->throughput.estimate.known && ++n <= MAX_NAMED) {
            buf_puts(&names, n == 1 ? "" : "; ");
            put_point(l, p, &names);
        }
    }
    if (n > MAX_NAMED) {
        buf_printf(&names, "; and %zu more", n - MAX_NAMED);
    }
    if (n > 0 && n < r->def->matrix.n_swept && run_phase_is_final(r->phase)) {
        buf_printf(&text, "%zu of %" PRIu32 " points: %s", n, r->def->matrix.n_swept,
                   buf_cstr(&names));
        add(lines, "Without figures", &text);
    }
}

static void add_caveat(struct prose_verdict *lines, const char *label, struct buf *text_take)
{
    add(lines, label, text_take)->is_caveat = true;
}

/* What makes all figures something else than what they seem to be. */
static void add_caveats(struct prose_verdict *lines, const struct layout *l)
{
    const struct result *r = l->result;
    struct buf text = BUF_INIT;
    if (spec_is_imported(r->def->spec)) {
        buf_puts(&text, "These figures were read from old logs; benchd measured none of them.");
        add_caveat(lines, "Imported", &text);
    }
    if (r->simulated) {
        buf_puts(
            &text,
            "The pods were fake, so these figures test benchd and say nothing about training.");
        add_caveat(lines, "Simulated", &text);
    }
    if (r->def->spec->workload.compute == COMPUTE_EMULATED) {
        buf_printf(&text,
                   "The %s are emulated: they sleep instead of computing, so compare the figures "
                   "within this run only.",
                   matrix_training_words(&r->def->matrix).many);
        add_caveat(lines, "Emulated", &text);
    }
    if (!run_phase_is_final(r->phase)) {
        buf_puts(&text, "The run has not ended.");
        add_caveat(lines, "Preliminary", &text);
    }
}

/* How far the verdict holds elsewhere, so it comes after the verdict. */
static void add_starved(struct prose_verdict *lines, const struct layout *l, const struct choice *c)
{
    const struct run_def *def = l->result->def;
    if (def->rehearsal && def->spec->workload.compute != COMPUTE_EMULATED) {
        struct buf text = BUF_INIT;
        prose_cpus_describe(l, c->fastest, &text);
        add_caveat(lines, "Too few CPUs", &text);
    }
}

bool prose_verdict_say(const struct warning *w)
{
    return w->code == WARNING_REHEARSAL || w->code == WARNING_SIMULATED;
}

void prose_verdict_init(struct prose_verdict *lines, const struct layout *l)
{
    *lines = (struct prose_verdict){0};
    _cleanup_(choice_done) struct choice c;
    choice_init(&c, l->result);
    struct buf text = BUF_INIT;
    const bool is_choice = layout_has_systems_alone(l); /* of a system, and nothing is scaled */
    add_caveats(lines, l);
    if (!is_choice) {
        add_scaling(lines, l);
        add_widest(lines, l, &c);
    }
    if (c.units_differ) {
        buf_puts(&text, "unknown, because the points' throughputs have different units");
        add(lines, "Choice", &text);
        add_starved(lines, l, &c);
    } else if (c.fastest == NULL) {
        buf_puts(&text, "Nothing has been measured.");
        add(lines, "", &text);
        add_starved(lines, l, &c);
    } else {
        add_verdict(lines, l, &c);
        add_starved(lines, l, &c);
        add_fastest(lines, l, &c);
        add_ties(lines, l, &c);
    }
    if (is_choice) {
        add_widest(lines, l, &c);
    }
    add_unmeasured(lines, l);
}

void prose_verdict_done(struct prose_verdict *lines)
{
    vec_each (struct choice_line, line, &lines->list) {
        free(line->label);
        free(line->text);
    }
    vec_done(&lines->list);
}
