/* See notes.h. */
#include "report/notes.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "base/vec_walk.h"
#include "report/compare_layout.h"
#include "compare/compare_axis.h"
#include "compare/compare_history.h"

#define MAX_ONLY 10 /* points of one side that one line names; the rest is counted */

/* "2%", "1.5%": 100 times a ratio, with no more digits than it has. */
#define PERCENT "%.3g%%"

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
    if (compare_layout_trials(c, &n_base, &n_candidate)) {
        buf_printf(&text, " %zu+%zu", n_base, n_candidate);
    }
    const bool one_run = c->axis != NULL;
    notes_add(
        lines, NOTE_INFO,
        "Throughput: %s of the whole %s, median over%s trials. Ratio: candidate / base%s; %s.",
        f.unit, f.scope, buf_cstr(&text),
        one_run ? ", geometric mean over the pairs of blocks" : "",
        !compare_layout_any_interval(c)
            ? (one_run ? "intervals need 3 pairs" : "intervals need 3 trials on both sides")
        : one_run ? "95% intervals by Student's t on their logs"
                  : "95% intervals by Welch's t on logs");
}

static void put_p(double p, struct buf *out)
{
    if (p < 0.0001) {
        buf_puts(out, "< 0.0001");
    } else {
        buf_printf(out, "= %.4f", p);
    }
}

static void say_gate(struct notes *lines, const struct comparison *c)
{
    _cleanup_(buf_done) struct buf p = BUF_INIT;
    put_p(c->gate.p, &p);
    notes_add(lines, NOTE_INFO,
              "Test of all points: permutation of trials within points, p %s: %s.", buf_cstr(&p),
              c->gate_rejects ? "the runs differ" : "no difference shown");
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

static void say_whole(struct notes *lines, const struct comparison *c)
{
    if (c->whole.known && !isnan(c->whole_p_adjusted)) {
        _cleanup_(buf_done) struct buf p = BUF_INIT;
        put_p(c->whole_p_adjusted, &p);
        notes_add(lines, NOTE_INFO, "All points together: " PERCENT ", P %s.",
                  100 * (exp(c->whole.mean) - 1), buf_cstr(&p));
    }
}

static void say_margin(struct notes *lines, const struct comparison *c)
{
    if (c->margin == MARGIN_NOT_ASKED) {
        return;
    }
    size_t n = 0;
    double low = INFINITY;
    vec_each (const struct compared_point, p, &c->points) {
        n += p->margin == MARGIN_NOT_SLOWER;
        low = fmin(low, p->paired.known ? exp(paired_low_95(&p->paired)) : 0);
    }
    _cleanup_(buf_done) struct buf limit = BUF_INIT;
    if (low > 0) {
        buf_printf(&limit, "; the lowest limit is a ratio of %.4g", low);
    }
    notes_add(lines, NOTE_INFO,
              "Not slower than " PERCENT
              ": shown at %zu of %zu point%s, each by its one-sided 95%% limit%s.",
              100 * c->margin_ratio, n, c->points.len, plural(c->points.len), buf_cstr(&limit));
}

static void say_axis_rule(struct notes *lines, const struct comparison *c)
{
    const size_t tested = vec_sum(&c->points, p, (size_t)p->paired.known);
    if (tested == 0) {
        return;
    }
    notes_add(
        lines, NOTE_INFO,
        "P: Student's t test on the pairs, adjusted for %zu point%s%s. Slower or faster: P is at "
        "most %g and the change at least " PERCENT ".",
        tested, plural(tested), tested > 1 ? " (Holm) and for all together" : "",
        COMPARE_AXIS_ALPHA, 100 * c->threshold_ratio);
    say_whole(lines, c);
    say_margin(lines, c);
    say_allowed_loss(lines, c);
}

/* The trials of two runs do not show how far runs differ; other runs do. */
static void say_history(struct notes *lines, const struct comparison *c)
{
    if (c->between.known) {
        notes_add(lines, NOTE_INFO,
                  "Usual spread: %zu runs of the base's definition, machine and build differ "
                  "by " PERCENT " (standard deviation, all points together). A change counts from "
                  "P = %g against these.",
                  c->between.n_runs, 100 * expm1(c->between.sd), COMPARE_HISTORY_ALPHA);
    }
}

static void say_rule(struct notes *lines, const struct comparison *c)
{
    const size_t tested = vec_sum(&c->points, p, (size_t)p->welch.known);
    if (tested == 0) {
        return;
    }
    notes_add(lines, NOTE_INFO,
              "P: Welch's t test on log throughput, Benjamini-Hochberg adjusted for %zu point%s.",
              tested, plural(tested));
    say_gate(lines, c);
    notes_add(lines, NOTE_INFO,
              "A point is slower or faster if P and the test of all points are at most %g and the "
              "change is at least " PERCENT ".",
              COMPARE_ALPHA, 100 * c->threshold_ratio);
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
        if (point->batch_size > 0 && params_get(&point->params, "batch_size") == NULL) {
            buf_printf(&text, ", batch_size %lld", (long long)point->batch_size);
        }
        if (params_get(&point->params, "threads") == NULL) {
            buf_printf(&text, ", threads %lld", (long long)point->threads);
        }
        buf_putc(&text, ')');
        notes_add(lines, NOTE_ONLY, "%s", buf_cstr(&text));
    }
    if (n > MAX_ONLY) {
        notes_add(lines, NOTE_ONLY, "%zu more points only in %s: see -o json", n - MAX_ONLY,
                  r->def->name);
    }
}

/* The fewest trials of a side, over the points with a throughput on both. */
static size_t fewest_trials(const struct comparison *c)
{
    size_t least = SIZE_MAX;
    vec_each (const struct compared_point, p, &c->points) {
        const size_t a = p->base->n_succeeded, b = p->candidate->n_succeeded;
        if (p->change != CHANGE_NOT_MEASURED) {
            least = a < least ? a : least;
            least = b < least ? b : least;
        }
    }
    return least;
}

static void say_few(struct notes *lines, const struct comparison *c)
{
    const size_t n = c->counts[CHANGE_TOO_FEW], least = fewest_trials(c);
    if (n == 0) {
        return;
    }
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    buf_printf(&text, "too few trials at %zu point%s (as few as %zu on one side) ", n, plural(n),
               least);
    if (c->repeats_for_all == 0) {
        buf_printf(&text, "to say how large a change may be; run both with --repeats %zu",
                   c->repeats_to_decide);
    } else {
        buf_printf(&text, "to show a change; run both with --repeats %zu", c->repeats_for_all);
        if (c->repeats_for_one > c->repeats_for_all) {
            buf_printf(&text,
                       " to detect a change of all points, with --repeats %zu for one of a single "
                       "point",
                       c->repeats_for_one);
        }
    }
    notes_add(lines, NOTE_WARNING, "%s", buf_cstr(&text));
}

static void say_spread_unknown(struct notes *lines, const struct comparison *c)
{
    const size_t n = c->counts[CHANGE_SPREAD_UNKNOWN];
    if (n > 0) {
        notes_add(
            lines, NOTE_WARNING,
            "the trials differ at %zu point%s (by %s" PERCENT "), but all trials of a run share "
            "the time and the machine, and how much two equal runs differ here is unknown: %zu "
            "run%s found of the base's definition, machine and build, but %d are needed; run the "
            "base again, or sweep both in one run and compare RUN --axis NAME",
            n, plural(n), n > 1 ? "up to " : "", 100 * largest(c, CHANGE_SPREAD_UNKNOWN),
            c->n_base_runs, c->n_base_runs == 1 ? " was" : "s were", RUN_SPREAD_MIN_RUNS);
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
        n > 1 ? " (where it differs most)" : "", exp(busy->explained), exp(busy->alone.difference),
        busy->p_adjusted <= COMPARE_HISTORY_ALPHA ? ", less than that" : " and show no change");
}

static void say_not_measured(struct notes *lines, const struct comparison *c)
{
    if (c->counts[CHANGE_NOT_MEASURED] > 0) {
        notes_add(
            lines, NOTE_WARNING,
            "no answer at %zu point%s without a throughput on one side; benchctl results RUN shows "
            "why",
            c->counts[CHANGE_NOT_MEASURED], plural(c->counts[CHANGE_NOT_MEASURED]));
    }
}

/* Which points have no answer though they were measured, and what gives them one. */
static void say_undecided(struct notes *lines, const struct comparison *c)
{
    const size_t n = c->counts[CHANGE_INCONCLUSIVE], least = fewest_trials(c);
    say_few(lines, c);
    say_spread_unknown(lines, c);
    say_machine_busy(lines, c);
    if (n > 0) {
        notes_add(lines, NOTE_WARNING,
                  "only one of the two tests shows a change at %zu point%s (by %s" PERCENT
                  "); run both with --repeats %zu",
                  n, plural(n), n > 1 ? "up to " : "", 100 * largest(c, CHANGE_INCONCLUSIVE),
                  c->repeats_to_decide);
    }
    if (c->repeats_to_decide == 0 && c->repeats_for_one > 0 && c->n_measured > 1) {
        notes_add(lines, NOTE_WARNING,
                  "%zu trial%s per side can hardly show a change of a single point; run both with "
                  "--repeats %zu",
                  least, plural(least), c->repeats_for_one);
    }
    say_not_measured(lines, c);
}

static void say_axis_undecided(struct notes *lines, const struct comparison *c)
{
    const size_t n_few = c->counts[CHANGE_TOO_FEW], n = c->counts[CHANGE_INCONCLUSIVE];
    if (n_few > 0) {
        notes_add(lines, NOTE_WARNING, "too few pairs at %zu point%s: 3 are needed", n_few,
                  plural(n_few));
    }
    if (n > 0 || c->whole_change == CHANGE_INCONCLUSIVE) {
        notes_add(lines, NOTE_WARNING,
                  "a change %s%s is likely (P at most %g), but not shown (at most %g)",
                  n > 0 ? "of single points" : "of all points together",
                  n > 0 && c->whole_change == CHANGE_INCONCLUSIVE ? " and of all together" : "",
                  COMPARE_ALPHA, COMPARE_AXIS_ALPHA);
    }
    if (c->repeats_to_decide > 0) {
        notes_add(lines, NOTE_WARNING, "--repeats %zu would likely give the answer",
                  c->repeats_to_decide);
    }
    say_not_measured(lines, c);
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

/* "2 of 4 points slower by up to 5%", "1 with too few trials". */
static void put_change(const struct comparison *c, enum change change, bool is_first,
                       struct buf *out)
{
    static const char *const words[] = {
        [CHANGE_INCONCLUSIVE] = "with a change that one test alone shows",
        [CHANGE_SPREAD_UNKNOWN] = "with a change, or this machine's usual spread, which is unknown",
        [CHANGE_USUAL] = "with a change within the usual spread of runs",
        [CHANGE_NONE] = "without a significant change",
        [CHANGE_TOO_FEW] = "with too few trials",
        [CHANGE_NOT_MEASURED] = "not measured on both sides",
        [CHANGE_MACHINE_BUSY] = "with a change that a busier machine may explain",
    };
    const size_t n = c->counts[change];
    buf_printf(out, "%s%zu ", is_first ? "" : ", ", n);
    if (is_first) {
        buf_printf(out, "of %zu point%s ", c->points.len, plural(c->points.len));
    }
    if (change == CHANGE_SLOWER || change == CHANGE_FASTER) {
        buf_printf(out, "%s by %s" PERCENT, change == CHANGE_SLOWER ? "slower" : "faster",
                   n > 1 ? "up to " : "", 100 * largest(c, change));
    } else {
        buf_puts(out, words[change]);
    }
}

/* What was asked comes first. */
static void put_margin(const struct comparison *c, struct buf *out)
{
    static const char *const words[] = {
        [MARGIN_NOT_SLOWER] = "not slower than ",
        [MARGIN_SLOWER] = "slower than ",
        [MARGIN_INCONCLUSIVE] = "not shown to be no slower than ",
    };
    if (c->margin != MARGIN_NOT_ASKED) {
        buf_printf(out, "%s" PERCENT "%s; ", words[c->margin], 100 * c->margin_ratio,
                   c->margin == MARGIN_NOT_SLOWER ? " (95%)" : "");
    }
}

static void say_verdict(struct notes *lines, const struct comparison *c)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    comparison_describe_side(c, false, &text);
    buf_puts(&text, " compared with ");
    comparison_describe_side(c, true, &text);
    buf_puts(&text, ": ");
    put_margin(c, &text);
    bool is_first = true;
    for (int i = 0; i < CHANGE_COUNT; i++) {
        const enum change change = (enum change)i;
        if (c->counts[change] > 0) {
            put_change(c, change, is_first, &text);
            is_first = false;
        }
    }
    if (c->only_base.len > 0) {
        buf_printf(&text, ", %zu point%s of the base %s missing", c->only_base.len,
                   plural(c->only_base.len), c->only_base.len == 1 ? "is" : "are");
    }
    if (c->whole_change == CHANGE_SLOWER || c->whole_change == CHANGE_FASTER) {
        buf_printf(&text, ", all points together %s by " PERCENT,
                   c->whole_change == CHANGE_SLOWER ? "slower" : "faster",
                   100 * fabs(c->geomean_ratio.estimate.value - 1));
    }
    if (c->change == CHANGE_NONE && c->gate_rejects) {
        buf_puts(&text, ", but over all points together the runs differ");
    }
    buf_putc(&text, '.');
    notes_add(lines, NOTE_VERDICT, "%s", buf_cstr(&text));
}

void prose_compare_init(struct notes *lines, const struct comparison *c)
{
    *lines = (struct notes){0};
    say_figures(lines, c);
    if (c->axis == NULL) {
        say_rule(lines, c);
    } else {
        say_axis_rule(lines, c);
    }
    vec_each (const struct difference, d, &c->differences) {
        notes_add(lines, NOTE_DIFFERS, "%s %s -> %s", d->what, d->base, d->candidate);
    }
    say_only(lines, c->base, c->only_base.items, c->only_base.len);
    say_only(lines, c->candidate, c->only_candidate.items, c->only_candidate.len);
    if (c->axis == NULL) {
        say_undecided(lines, c);
    } else {
        say_axis_undecided(lines, c);
    }
    say_kind(lines, c);
    say_verdict(lines, c);
}
