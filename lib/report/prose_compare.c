/* See prose.h. */
#include "report/prose.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "result/noise.h"

#define MAX_ONLY 10 /* points of one side that one line names; the rest is counted */

/* "2%", "1.5%": 100 times a ratio, with no more digits than it has. */
#define PERCENT "%.3g%%"

bool compare_trials(const struct comparison *c, size_t *ret_base, size_t *ret_candidate)
{
    const struct compared_point *first = &c->points.items[0];
    if (!vec_all(&c->points, p,
                 p->base->n_succeeded == first->base->n_succeeded &&
                     p->candidate->n_succeeded == first->candidate->n_succeeded)) {
        return false;
    }
    *ret_base = first->base->n_succeeded;
    *ret_candidate = first->candidate->n_succeeded;
    return true;
}

bool compare_any_interval(const struct comparison *c)
{
    return vec_any(&c->points, p, p->ratio.estimate.has_interval);
}

/* The largest change among points of that kind, as a share of the base. */
static double largest(const struct comparison *c, enum change change)
{
    double most = 0;
    vec_each (const struct compared_point, p, &c->points) {
        if (p->change == change) {
            most = fmax(most, fabs(p->ratio.estimate.value - 1));
        }
    }
    return most;
}

/* ---- how it was done ---- */

static void say_figures(struct notes *lines, const struct comparison *c)
{
    const struct figure f = figure_shown(&c->points.items[0].base->throughput);
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    size_t n_base, n_candidate;
    if (compare_trials(c, &n_base, &n_candidate)) {
        buf_printf(&text, " %zu+%zu", n_base, n_candidate);
    }
    notes_add(lines, NOTE_INFO,
              "Throughput: %s of the whole %s, median over%s trials. Ratio: candidate / %s%s.",
              f.unit, f.scope, buf_cstr(&text),
              c->axis == NULL && c->whole.known ? "mean of the base's level" : "base",
              compare_any_interval(c) ? ", with its 95% interval"
              : c->axis == NULL       ? "; intervals need 3 trials on both sides"
                                      : "; intervals need 3 pairs");
}

/* "No change shown" is no statement about its size: the intervals are. */
static void say_allowed_loss(struct notes *lines, const struct comparison *c)
{
    double most = c->threshold_ratio;
    vec_each (const struct compared_point, p, &c->points) {
        if (p->change == CHANGE_NONE) {
            most = fmax(most, 1 - p->ratio.estimate.low);
        }
    }
    if (most > c->threshold_ratio) {
        notes_add(lines, NOTE_INFO,
                  "Where no change is shown, the intervals still allow a loss of up to " PERCENT
                  ".",
                  100 * most);
    }
}

/* The point whose loss is known worst; NULL if one shows nothing. */
static const struct paired *vaguest(const struct comparison *c)
{
    const struct paired *most = &c->points.items[0].shown;
    vec_each (const struct compared_point, p, &c->points) {
        if (!p->shown.known) {
            return NULL;
        }
        most = p->shown.error > most->error ? &p->shown : most;
    }
    return most;
}

/* What these data can show at all, and what it would take to show the margin. */
static void put_resolution(const struct comparison *c, struct buf *out)
{
    const struct paired *most = vaguest(c);
    const double margin = -log1p(-c->margin.ratio);
    if (most == NULL || paired_resolution(most) <= margin) {
        return;
    }
    buf_printf(out, "This machine can show " PERCENT " with %zu %s; ",
               -100 * expm1(-paired_resolution(most)), most->n,
               c->axis != NULL ? "repeats" : "runs of the base's level");
    const size_t n = c->axis == NULL ? 0 : paired_n_resolving(most, margin);
    buf_printf(out, PERCENT " needs ", 100 * c->margin.ratio);
    if (n > 0) {
        buf_printf(out, "about %zu.", n);
    } else if (c->axis != NULL) {
        buf_puts(out, "a quieter one.");
    } else {
        buf_puts(out, "both builds in one run: gate --ab.");
    }
}

static void say_margin(struct notes *lines, const struct comparison *c)
{
    if (c->whole_margin == MARGIN_NOT_ASKED) {
        return;
    }
    size_t n = 0;
    double low = INFINITY;
    vec_each (const struct compared_point, p, &c->points) {
        n += p->margin == MARGIN_NOT_SLOWER;
        low = fmin(low, p->shown.known ? exp(paired_low_95(&p->shown)) : 0);
    }
    _cleanup_(buf_done) struct buf limit = BUF_INIT;
    if (low > 0) {
        buf_printf(&limit, "; the lowest limit is a ratio of %.4g", low);
    }
    notes_add(lines, NOTE_INFO,
              "Not slower than " PERCENT
              ": shown at %zu of %zu point%s, each by its one-sided 95%% limit%s.",
              100 * c->margin.ratio, n, c->points.len, plural(c->points.len), buf_cstr(&limit));
    buf_clear(&limit);
    put_resolution(c, &limit);
    if (limit.len > 0) {
        notes_add(lines, NOTE_INFO, "%s", buf_cstr(&limit));
    }
}

/* The trials of two runs do not show how far runs differ; other runs do. */
static void say_history(struct notes *lines, const struct comparison *c)
{
    if (c->axis == NULL && c->whole.known) {
        notes_add(lines, NOTE_INFO,
                  "Usual spread: the %zu runs of the base's level (one definition, machine and "
                  "build, and as fast) differ by " PERCENT ".",
                  c->whole.n, 100 * expm1(c->whole.sd));
    }
}

/* What a change is: docs/contracts/compare.md has the tests. */
static void say_rule(struct notes *lines, const struct comparison *c)
{
    const size_t shown = vec_sum(&c->points, p, (size_t)p->shown.known);
    if (shown > 0) {
        notes_add(lines, NOTE_INFO,
                  "Slower or faster: P (of %s), adjusted for %zu point%s, is at most %g, and the "
                  "change is at least " PERCENT ".",
                  c->axis != NULL ? "pairs" : "runs", shown, plural(shown), COMPARE_NAMED_ALPHA,
                  100 * c->threshold_ratio);
        if (!isnan(c->whole_p_adjusted)) {
            notes_add(lines, NOTE_INFO, "All points together: P %s %.4f.",
                      c->whole_p_adjusted < 0.0001 ? "<" : "=", fmax(c->whole_p_adjusted, 0.0001));
        }
    }
    say_margin(lines, c);
    say_history(lines, c);
    say_allowed_loss(lines, c);
}

/* ---- what is not alike ---- */

static void say_only(struct notes *lines, const struct result *r,
                     const struct point_result *const *points, size_t n)
{
    for (size_t i = 0; i < n && i < MAX_ONLY; i++) {
        const struct point *point = points[i]->point;
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        buf_printf(&text, "only in %s: point %u (%s", r->def->name, point->index,
                   r->def->spec->systems.items[point->system].label);
        vec_each (const struct param, p, &point->params.list) {
            buf_printf(&text, ", %s ", p->name);
            value_format(&p->value, &text);
        }
        buf_putc(&text, ')');
        notes_add(lines, NOTE_ONLY, "%s", buf_cstr(&text));
    }
    if (n > MAX_ONLY) {
        notes_add(lines, NOTE_ONLY, "%zu more points only in %s: see -o json", n - MAX_ONLY,
                  r->def->name);
    }
}

/* The point, or the whole, that others explain most of. */
static const struct compared_busy *busiest(const struct comparison *c)
{
    const struct compared_busy *most = NULL;
    vec_each (const struct compared_point, p, &c->points) {
        if (p->change == CHANGE_MACHINE_BUSY &&
            (most == NULL || fabs(p->busy.explained) > fabs(most->explained))) {
            most = &p->busy;
        }
    }
    return most == NULL && c->whole_change == CHANGE_MACHINE_BUSY ? &c->busy : most;
}

static void say_machine_busy(struct notes *lines, const struct comparison *c)
{
    const struct compared_busy *busy = busiest(c);
    if (busy == NULL) {
        return;
    }
    const size_t n = c->counts[CHANGE_MACHINE_BUSY];
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    if (n > 0) {
        buf_printf(&text, "at %zu point%s", n, plural(n));
    } else {
        buf_puts(&text, "of all points together");
    }
    notes_add(
        lines, NOTE_WARNING,
        "the change %s may come from other programs on the machine: while threads waited for CPUs, "
        "others took %.0f%% of the speed of the base's runs and %.0f%% of the candidate's%s, which "
        "explains a ratio of %.3f; %.3f remain%s; run it again on a quiet machine, or sweep both "
        "in one run and compare RUN --axis NAME",
        buf_cstr(&text), 100 * busy->base_share, 100 * busy->candidate_share,
        n > 1 ? " (where it differs most)" : "", exp(busy->explained), exp(busy->alone.mean),
        busy->p_adjusted <= COMPARE_NAMED_ALPHA ? ", less than that" : " and show no change");
}

/* What other programs took of the compared trials' speed, on average. NaN: not known of all. */
static double others_of(const struct comparison *c)
{
    double sum = 0;
    size_t n = 0;
    vec_each (const struct compared_point, p, &c->points) {
        point_each_success (a, p->base) {
            sum += a->others_share;
        }
        point_each_success (b, p->candidate) {
            sum += b->others_share;
        }
        n += p->base->n_succeeded + p->candidate->n_succeeded;
    }
    return sum / (double)n;
}

/* Why points have no answer, and what gives them one. The verdict says how many they are. */
static void say_undecided(struct notes *lines, const struct comparison *c)
{
    const size_t repeats = c->repeats_to_decide;
    if (c->counts[CHANGE_SPREAD_UNKNOWN] > 0) {
        notes_add(lines, NOTE_WARNING,
                  "%d runs of the base's definition, machine and build say how much two equal runs "
                  "differ here, and there %s %zu; run the base again, or sweep both in one run and "
                  "compare RUN --axis NAME",
                  RUN_SPREAD_MIN_RUNS, c->n_base_runs == 1 ? "is" : "are", c->n_base_runs);
    }
    say_machine_busy(lines, c);
    if (c->counts[CHANGE_INCONCLUSIVE] > 0 || c->whole_change == CHANGE_INCONCLUSIVE) {
        notes_add(lines, NOTE_WARNING, "inconclusive: P is at most %g, but not %g", COMPARE_ALPHA,
                  COMPARE_NAMED_ALPHA);
    }
    if (repeats > 0) {
        notes_add(lines, NOTE_WARNING, "--repeats %zu%s would likely give the answer", repeats,
                  c->axis == NULL ? " on both sides" : "");
    }
    const double others = others_of(c);
    if (c->axis != NULL && repeats > 0 && others >= NOISE_OTHERS_BOUND) {
        notes_add(lines, NOTE_WARNING,
                  "other programs took %.0f%% of the speed of these trials; on a quiet machine "
                  "fewer repeats show more",
                  100 * others);
    }
    if (c->counts[CHANGE_NOT_MEASURED] > 0) {
        notes_add(lines, NOTE_WARNING,
                  "a point has no throughput on one side; benchctl results RUN shows why");
    }
}

static void say_kind(struct notes *lines, const struct comparison *c)
{
    if (c->base->def->spec->workload.compute == COMPUTE_EMULATED) {
        notes_add(lines, NOTE_WARNING,
                  "rehearsal: %s slept instead of computing; the ratios hold for such runs only",
                  matrix_training_words(&c->base->def->matrix).many);
    } else if (c->base->def->rehearsal) {
        notes_add(lines, NOTE_WARNING,
                  "rehearsal: processes waited for CPUs%s; the ratios hold for such runs only",
                  c->axis == NULL ? " in both runs" : "");
    }
    _cleanup_(buf_done) struct buf modes = BUF_INIT;
    if (c->axis != NULL && str_eq(c->axis, "system") && spec_mixes_modes(c->base->def->spec)) {
        spec_put_modes(c->base->def->spec, &modes);
        notes_add(lines, NOTE_WARNING, "mixed modes: %s; the systems train in different ways",
                  buf_cstr(&modes));
    }
    const struct result *sides[] = {c->base, c->candidate};
    for (size_t i = 0; i < (c->axis == NULL ? 2 : 1); i++) {
        if (spec_is_imported(sides[i]->def->spec)) {
            notes_add(lines, NOTE_WARNING,
                      "run/%s was read from old logs: its machine and its build are unknown",
                      sides[i]->def->name);
        }
    }
    if (c->axis == NULL && strcmp(c->base->def->uid, c->candidate->def->uid) == 0) {
        notes_add(lines, NOTE_WARNING, "both sides are the same run");
    }
}

/* ---- the verdict ---- */

/* "of 4 points 2 Slower by up to 5%, 2 TooFew". */
static void put_changes(const struct comparison *c, struct buf *out)
{
    const char *separator = "";
    buf_printf(out, "of %zu point%s ", c->points.len, plural(c->points.len));
    for (int i = 0; i < CHANGE_COUNT; i++) {
        const enum change change = (enum change)i;
        const size_t n = c->counts[change];
        if (n == 0) {
            continue;
        }
        buf_printf(out, "%s%zu %s", separator, n, change_names[change]);
        if (change == CHANGE_SLOWER || change == CHANGE_FASTER) {
            buf_printf(out, " by %s" PERCENT, n > 1 ? "up to " : "", 100 * largest(c, change));
        }
        separator = ", ";
    }
}

/* "25% slower" */
static void put_change(double ratio, struct buf *out)
{
    if (fabs(ratio - 1) < 0.00005) {
        buf_puts(out, "as fast");
    } else {
        buf_printf(out, PERCENT " %s", 100 * fabs(ratio - 1), ratio < 1 ? "slower" : "faster");
    }
}

/* Of two runs whose spread is not known: what they measured, and what that leaves open. */
static void put_two_runs(const struct comparison *c, struct buf *out)
{
    const struct estimate *e = &c->geomean_ratio.estimate;
    if (c->axis != NULL || c->n_base_runs >= RUN_SPREAD_MIN_RUNS) {
        return;
    }
    put_change(e->value, out);
    buf_puts(out, " in these two runs");
    if (e->has_interval) {
        const bool is_plain = (e->low < 1) == (e->high < 1); /* the two limits are of one kind */
        const double near = e->high < 1 ? e->high : e->low, far = e->high < 1 ? e->low : e->high;
        buf_puts(out, " (95% within the runs: ");
        if (is_plain) {
            buf_printf(out, PERCENT " to ", 100 * fabs(near - 1));
        } else {
            put_change(near, out);
            buf_puts(out, " to ");
        }
        put_change(far, out);
        buf_putc(out, ')');
    }
    buf_puts(out, "; how much whole runs differ is unknown from ");
    if (c->n_base_runs == 1) {
        buf_puts(out, "one run a side; ");
    } else {
        buf_printf(out, "%zu runs of the base; ", c->n_base_runs);
    }
}

/* What was asked comes first. */
static void put_margin(const struct comparison *c, struct buf *out)
{
    const char *const words[] = {
        [MARGIN_NOT_SLOWER] = "not slower than ",
        [MARGIN_SLOWER] = c->margin.is_default ? "slower; allowed is " : "slower than ",
        [MARGIN_INCONCLUSIVE] = "not shown to be no slower than ",
    };
    if (c->whole_margin != MARGIN_NOT_ASKED) {
        buf_printf(out, "%s" PERCENT "%s; ", words[c->whole_margin], 100 * c->margin.ratio,
                   c->whole_margin == MARGIN_NOT_SLOWER ? " (95%)" : "");
    }
}

static void say_verdict(struct notes *lines, const struct comparison *c)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    comparison_describe_side(c, false, &text);
    buf_puts(&text, " compared with ");
    comparison_describe_side(c, true, &text);
    buf_puts(&text, ": ");
    put_two_runs(c, &text);
    put_margin(c, &text);
    put_changes(c, &text);
    if (c->only_base.len > 0) {
        buf_printf(&text, ", %zu point%s of the base %s missing", c->only_base.len,
                   plural(c->only_base.len), c->only_base.len == 1 ? "is" : "are");
    }
    if (c->whole_change == CHANGE_SLOWER || c->whole_change == CHANGE_FASTER) {
        buf_printf(&text, ", all points together %s by " PERCENT,
                   c->whole_change == CHANGE_SLOWER ? "slower" : "faster",
                   100 * fabs(c->geomean_ratio.estimate.value - 1));
    }
    buf_putc(&text, '.');
    notes_add(lines, NOTE_VERDICT, "%s", buf_cstr(&text));
}

void prose_compare_init(struct notes *lines, const struct comparison *c)
{
    *lines = (struct notes){0};
    say_figures(lines, c);
    say_rule(lines, c);
    vec_each (const struct difference, d, &c->differences) {
        notes_add(lines, NOTE_DIFFERS, "%s %s -> %s", d->what, d->base, d->candidate);
    }
    say_only(lines, c->base, c->only_base.items, c->only_base.len);
    say_only(lines, c->candidate, c->only_candidate.items, c->only_candidate.len);
    say_undecided(lines, c);
    say_kind(lines, c);
    say_verdict(lines, c);
}
