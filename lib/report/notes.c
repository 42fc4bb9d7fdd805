/* See prose.h. */
#include "report/prose.h"

#include <math.h>

#include "base/str.h"
#include "result/catalogue.h"
#include "result/flops.h"
#include "result/number.h"
#include "result/threshold.h"
#include "spec/log_rule.h"

#define MAX_BASELINES 16 /* A definition has at most this many systems. */
#define MAX_FAILED 10
#define ROUNDING 1e-9 /* a width is no wider than itself */

void notes_add(struct notes *notes, enum note_kind kind, const char *fmt, ...)
{
    struct note note = {.kind = kind, .text = xasprintf_rest(fmt)};
    (void)text_replace_control(note.text, "", ' '); /* they may quote processes and machines */
    *vec_push(&notes->list) = note;
}

static void note_columns(struct notes *notes, const struct layout *l, unsigned parts)
{
    struct layout_columns columns = layout_columns_of(l, parts);
    vec_each (const struct layout_column, column, &columns.list) {
        _cleanup_(freep) char *text = words_meaning(column->kind, l->result->def);
        notes_add(notes, NOTE_INFO, "%s: %s", column->kind->title, text);
    }
    vec_done(&columns.list);
}

static void note_throughput(struct notes *notes, const struct layout *l)
{
    const struct result *r = l->result;
    bool methods[INTERVAL_WELCH_LOG + 1] = {false};
    _cleanup_(buf_done) struct buf names = BUF_INIT;
    result_each_point (p, r) {
        const struct estimate *e = &p->throughput.estimate;
        methods[e->method] = methods[e->method] || e->known;
    }
    for (int i = INTERVAL_NONE + 1; i <= INTERVAL_WELCH_LOG; i++) {
        buf_printf(&names, "%s%s",
                   !methods[i]      ? ""
                   : names.len == 0 ? "; intervals: "
                                    : ", ",
                   methods[i] ? interval_method_names[i] : "");
    }
    notes_add(notes, NOTE_INFO,
              "Throughput: %s of the whole %s (all %s together), median over trials%s.",
              l->mixed_units ? "in the unit of its row," : l->unit, r->points[0].throughput.scope,
              matrix_training_words(&r->def->matrix).many, buf_cstr(&names));
    if (methods[INTERVAL_NONE]) {
        notes_add(notes, NOTE_BASE, "No interval with fewer than 3 trials%s.",
                  r->def->spec->repeats < 3 ? "; --repeats 3 gives one" : "");
    }
}

static void note_logs(struct notes *notes, const struct result *r)
{
    for (size_t i = 0; r->systems != NULL && i < r->def->spec->systems.len; i++) {
        const struct system_result *s = &r->systems[i];
        if (s->rule != NULL) {
            const bool is_own = log_rule_is_unnamed(r->def->spec->systems.items[i].log);
            notes_add(notes, NOTE_INFO, "System %s: %s/s of its log, by %s%s: %s, of %s%s.",
                      r->def->spec->systems.items[i].name, summary_unit_names[s->unit],
                      is_own ? "a rule in the definition" : "the rule ", is_own ? "" : s->rule,
                      s->method,
                      s->is_job                  ? "the whole job"
                      : s->role == ROLE_LAUNCHER ? "the "
                                                 : "each ",
                      s->is_job ? "" : role_to_string(s->role));
        }
    }
}

/* The accelerator of all points that name one; NULL: none does, or they differ. Borrowed. */
static const char *accelerator_of(const struct result *r)
{
    const char *name = NULL;
    result_each_swept (p, r) {
        vec_each (char *const, own, &p->machines->values[MACHINE_ACCELERATOR].list) {
            if (name != NULL && !str_eq(name, *own)) {
                return NULL;
            }
            name = *own;
        }
    }
    return name;
}

static bool has_metric(const struct result *r, const char *name)
{
    return swept_any(r, p, metric_of_point(p, name)->unit[0] != '\0');
}

/* What MFU divides by, or why it does not exist; of CPUs a column has it. */
static void note_flops(struct notes *notes, const struct result *r)
{
    const struct workload *w = &r->def->spec->workload;
    const char *device = accelerator_of(r);
    const double peak = flops_peak(device, w->precision);
    if (has_metric(r, FLOPS_CPU_PEAK)) {
        return;
    }
    if (!has_metric(r, "tflops")) {
        if (w->flops.per_sample > 0 || w->flops.parameters > 0) {
            notes_add(notes, NOTE_INFO,
                      "No TFLOPS: the devices are not known, or spec.workload.flops does not say "
                      "the FLOPs of this unit.");
        }
    } else if (w->precision == PRECISION_UNKNOWN) {
        notes_add(notes, NOTE_INFO, "No MFU: spec.workload.precision does not say the precision.");
    } else if (!has_metric(r, "mfu")) {
        notes_add(notes, NOTE_INFO, "No MFU: no %s peak is known of %s.",
                  precision_names[w->precision],
                  device == NULL                   ? "the devices, or they differ"
                  : r->points[0].point->has_slices ? "slices"
                                                   : device);
    } else if (!isnan(peak)) {
        notes_add(notes, NOTE_INFO,
                  "MFU: TFLOPS / %.5g, the dense %s peak of %s by its data sheet.", peak,
                  precision_names[w->precision], device);
    }
}

/* Why some trial has no time, or a late one. */
static void note_accuracy(struct notes *notes, const struct layout *l)
{
    const struct result *r = l->result;
    const struct spec *spec = r->def->spec;
    if (spec->goal.kind == GOAL_NONE && spec->accuracy_after_s <= 0) {
        return;
    }
    uint32_t every = 0;
    size_t n_unknown = 0;
    const char *why = NULL;
    result_each_swept (p, r) {
        point_each_trial (t, p) {
            if (t->phase == TRIAL_SUCCEEDED) {
                every = t->evaluations_k > every ? t->evaluations_k : every;
                n_unknown += t->evaluations_k == 0;
                why = why == NULL && t->evaluations_k > 0 ? after_state_whys[t->after.state] : why;
            }
        }
    }
    if (every > 1) {
        notes_add(
            notes, NOTE_INFO,
            "Of %u evaluations in turn only the last is stored: a time is that of the first stored "
            "one.",
            every);
    }
    if (n_unknown > 0) {
        notes_add(
            notes, NOTE_INFO,
            "%zu succeeded trial%s logged no evaluation with a time; docs/log-rules.md shows the "
            "lines that are needed.",
            n_unknown, plural(n_unknown));
    }
    if (why != NULL && spec->accuracy_after_s > 0) {
        notes_add(notes, NOTE_INFO, "No accuracy after %.6g s where %s.", spec->accuracy_after_s,
                  why);
    }
}

static void note_baseline(struct notes *notes, const struct result *r, const struct point_result *p)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    result_describe_baseline(r, p, &text);
    const struct point_result *base = &r->points[p->point->baseline_index];
    const struct figure shown = figure_shown(&base->throughput);
    const struct estimate *e = &shown.estimate;
    buf_puts(&text, " (");
    if (e->known && e->has_interval) {
        number_format_range(e->low, e->high, &text);
        buf_puts(&text, ", ");
    }
    buf_printf(&text, "%zu/%zu trials)", base->n_succeeded, base->n_trials);
    if (r->def->spec->goal.kind != GOAL_NONE && base->n_reached < base->n_succeeded) {
        buf_puts(&text, "; no time has a speedup over it: ");
        goal_format(&r->def->spec->goal, &text);
        buf_printf(&text, " was reached by %zu/%zu of them", base->n_reached, base->n_succeeded);
    }
    notes_add(notes, base->point->is_baseline ? NOTE_BASE : NOTE_INFO, "Baseline %s.",
              buf_cstr(&text));
}

static void note_baselines(struct notes *notes, const struct result *r)
{
    _cleanup_(freep) bool *seen = xnew_array(bool, r->def->matrix.n_points);
    size_t n = 0;
    _cleanup_(buf_done) struct buf without = BUF_INIT;
    matrix_describe_unbased(&r->def->matrix, &without);
    if (without.len > 0) {
        notes_add(notes, NOTE_BASE, "%s.", buf_cstr(&without));
    }
    result_each_swept (p, r) {
        bool *is_seen = &seen[p->point->baseline_index];
        if (!p->point->baseline_excluded && !*is_seen && ++n <= MAX_BASELINES) {
            note_baseline(notes, r, p);
        }
        *is_seen |= !p->point->baseline_excluded;
    }
    if (n > MAX_BASELINES) {
        notes_add(notes, NOTE_INFO, "%zu more baselines: see -o json.", n - MAX_BASELINES);
    }
}

/* "trial 0 of point 1 (workers 2)", or of how many, and why. Trials that failed alike are one note,
 * at the first of them. */
static void note_failure(struct notes *notes, const struct layout *l, const struct point_result *p,
                         const struct trial_result *t, size_t n_alike, bool with_details)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    layout_describe_place(l, p->point->index, &text);
    buf_printf(&text, ", trial %u, attempt %u", t->trial, t->attempt);
    if (n_alike > 1) {
        buf_printf(&text, " and %zu more", n_alike - 1);
    }
    if (t->phase != TRIAL_FAILED) {
        buf_printf(&text, ": %s", trial_phase_to_string(t->phase));
    }
    notes_add(notes, NOTE_FAILED, "%s: %s", buf_cstr(&text),
              t->error == NULL ? "unknown cause" : t->error);
    if (with_details) {
        /* Control characters have left the lines of processes before (logparse/lines.h), but not
         * what benchd did not write. */
        notes->list.items[notes->list.len - 1].details =
            text_without_control(t->details, "\n", ' ');
    }
}

static bool has_failed(const struct trial_result *t)
{
    return t->phase == TRIAL_FAILED || t->phase == TRIAL_METRICS_UNAVAILABLE;
}

/* Counts the trials that failed like this one. Returns 0 unless it is the first of them. */
static size_t count_alike(const struct result *r, const struct trial_result *first)
{
    size_t n = 0;
    result_each_point (p, r) {
        point_each_trial (t, p) {
            if (has_failed(t) && t->phase == first->phase &&
                str_eq_or_null(t->error, first->error)) {
                if (n++ == 0 && t != first) {
                    return 0;
                }
            }
        }
    }
    return n;
}

static void note_failures(struct notes *notes, const struct layout *l)
{
    const struct result *r = l->result;
    size_t n_shown = 0, failed = 0, pending = 0, not_run = 0, given_up = 0;
    _cleanup_(freep) bool *is_shown = xnew_array(bool, r->def->spec->systems.len);
    result_each_point (p, r) {
        const bool is_given_up = point_result_is_given_up(p);
        given_up += is_given_up;
        point_each_trial (t, p) {
            if (t->phase == TRIAL_SUCCEEDED) {
                continue;
            }
            const size_t n_alike = has_failed(t) && n_shown < MAX_FAILED ? count_alike(r, t) : 0;
            if (!has_failed(t)) {
                not_run += is_given_up;
                pending += !is_given_up;
            } else if (n_alike > 0) {
                /* The trials of a system mostly fail alike: the first one is shown. */
                bool *shown = &is_shown[p->point->system];
                note_failure(notes, l, p, t, n_alike, t->details != NULL && !*shown);
                *shown = *shown || t->details != NULL;
                n_shown++;
            } else {
                failed += n_shown == MAX_FAILED;
            }
        }
    }
    if (failed > 0) {
        notes_add(notes, NOTE_FAILED, "%zu more: see -o json", failed);
    }
    if (not_run > 0) {
        notes_add(notes, NOTE_FAILED, "%zu trial%s not run, because %zu point%s failed", not_run,
                  plural(not_run), given_up, plural(given_up));
    }
    if (pending > 0) {
        notes_add(notes, NOTE_PENDING, "%zu trial%s %s", pending, plural(pending),
                  run_phase_is_final(r->phase) ? "did not finish"
                                               : "pending; the figures are preliminary");
    }
}

/* The rows have the intervals and the trials. */
static void note_wide(struct notes *notes, const struct result *r)
{
    const struct spec *spec = r->def->spec;
    const double asked = spec->stop.half_width_ratio;
    size_t n = 0;
    if (!spec->stop.is_set || !run_phase_is_final(r->phase)) {
        return;
    }
    result_each_point (p, r) {
        const struct estimate *e = &p->throughput.estimate;
        const double half_width = e->high / exp(e->logs.value) - 1; /* as a ratio to its centre */
        const bool is_wide = !e->has_interval || half_width > asked * (1 + ROUNDING);
        n += is_wide && !point_result_is_given_up(p);
    }
    if (n > 0) {
        notes_add(notes, NOTE_WARNING,
                  "%zu of %u points have no interval within the %.3g%% that stopWhen asks for", n,
                  r->def->matrix.n_points, 100 * asked);
    }
}

static void put_judged(const struct threshold_result *t, struct buf *out)
{
    const struct estimate *e = &t->estimate;
    if (!e->known) {
        buf_puts(out, "not measured");
        return;
    }
    number_format(e->value, out);
    if (t->threshold->judges_interval && e->has_interval) {
        buf_puts(out, " (");
        number_format_range(e->low, e->high, out);
        buf_putc(out, ')');
    } else if (t->threshold->judges_interval) {
        buf_puts(out, " has no interval, which needs 3 trials of the point and of its baseline");
    }
}

static void note_thresholds(struct notes *notes, const struct layout *l)
{
    vec_each (struct threshold_result, t, &l->result->thresholds) {
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        threshold_format(t->threshold, &text);
        buf_puts(&text, " at ");
        layout_describe_place(l, t->point, &text);
        buf_puts(&text, ": ");
        put_judged(t, &text);
        notes_add(notes,
                  t->verdict == THRESHOLD_PASSED   ? NOTE_PASSED_THRESHOLD
                  : t->verdict == THRESHOLD_FAILED ? NOTE_FAILED_THRESHOLD
                                                   : NOTE_UNKNOWN_THRESHOLD,
                  "%s", buf_cstr(&text));
    }
    vec_each (const struct threshold *, t, &l->result->skipped) {
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        threshold_format(*t, &text);
        buf_puts(&text, ": ");
        threshold_format_skip(*t, &text);
        notes_add(notes, NOTE_SKIPPED_THRESHOLD, "%s", buf_cstr(&text));
    }
}

/* All; or the first, and how many others there are. */
static void note_warnings(struct notes *notes, const struct layout *l)
{
    const struct result *r = l->result;
    size_t n = 0;
    vec_each (struct warning, w, &r->warnings) {
        n++;
        if (!l->is_brief || n <= NOTES_BRIEF) {
            notes_add(notes, NOTE_WARNING, "%s", w->message);
        }
    }
    if (l->is_brief && n > NOTES_BRIEF) {
        notes_add(notes, NOTE_WARNING, "%zu more: benchctl results %s --explain", n - NOTES_BRIEF,
                  r->def->name);
    }
}

void notes_init(struct notes *notes, const struct layout *l)
{
    *notes = (struct notes){0};
    note_throughput(notes, l);
    note_logs(notes, l->result);
    if (l->own_baselines) {
        notes_add(notes, NOTE_INFO,
                  "Each point is its own baseline, so speedup and efficiency are 1 and not shown.");
    } else {
        note_columns(notes, l, LAYOUT_ALL);
        note_baselines(notes, l->result);
    }
    if (layout_has_columns(l, LAYOUT_MORE)) {
        /* Their meanings are not repeated: with each new figure all tables would change. */
        notes_add(notes, NOTE_INFO, "More figures: docs/figures.md says what they mean.");
    }
    note_columns(notes, l, LAYOUT_ACCURACY);
    note_accuracy(notes, l);
    note_flops(notes, l->result);
    note_failures(notes, l);
    note_thresholds(notes, l);
    note_wide(notes, l->result);
    if (!has_metric(l->result, FLOPS_CPU_PEAK) &&
        swept_any(l->result, p, metric_of_point(p, "mfu")->estimate.value > 1)) {
        notes_add(notes, NOTE_WARNING,
                  "MFU is above 100%%: the FLOPs, the precision or the number of devices is wrong");
    }
    note_warnings(notes, l);
}

void notes_done(struct notes *notes)
{
    vec_each (struct note, n, &notes->list) {
        free(n->text);
        free(n->details);
    }
    vec_done(&notes->list);
}
