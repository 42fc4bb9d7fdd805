/* The scope and the warm-up of a log rule, from two trials of a system. See try.h. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "ctl/try/try.h"
#include "logparse/line_use.h"
#include "logparse/suggest.h"

#define WARMUP_PART 5 /* one line of so many is of the warm-up, of an output that is whole */
/* Sizes of a step that differ by so little are the same, however certain their interval is. */
#define SAME_STEP 0.05
#define ERRORS 3 /* an interval has so many standard errors to each side */

/* ---- the text of a rule ---- */

static bool is_made(const struct try_rule *rule)
{
    return str_has_prefix(buf_cstr(&rule->text), LOG_SUGGESTED);
}

void try_rule_put(const struct try_rule *rule, struct buf *out)
{
    const char *text = buf_cstr(&rule->text);
    if (!is_made(rule)) {
        buf_puts(out, text);
        return;
    }
    const char *rest = text + strlen(LOG_SUGGESTED);
    buf_printf(out, "{lines: [{kind: %s, ", rule->is_summary ? "Summary" : "Step");
    if (rule->scope != NULL) {
        buf_printf(out, "scope: %s, ", rule->scope);
    }
    if (rule->skip > 0) {
        buf_printf(out, "skip: {lines: %lld}, ", (long long)rule->skip);
    }
    buf_puts(out, rule->counts_steps && !str_has_prefix(rest, "unit: ") ? "unit: steps, " : "");
    buf_puts(out, rest);
}

/* A shipped rule has no scope to choose: its line that reads the output becomes a rule of its own.
 * Nothing changes where that is no plain line. */
static void open_rule(const struct log_line_rule *line, struct try_rule *rule)
{
    static const char *const aggregates[] = {"", "aggregate: Median, ", "aggregate: Last, "};
    if (is_made(rule) || line->kind != LOG_KIND_STEP || line->each != 0 ||
        line->aggregate > LOG_LAST) {
        return;
    }
    buf_clear(&rule->text);
    buf_puts(&rule->text, LOG_SUGGESTED);
    if (line->unit != UNIT_SAMPLES) {
        buf_printf(&rule->text, "unit: %s, ", summary_unit_names[line->unit]);
    }
    buf_printf(&rule->text, "%spattern: ", aggregates[line->aggregate]);
    log_put_quoted(&rule->text, line->text);
    buf_puts(&rule->text, "}]}");
}

/* ---- the scope ---- */

/* What two trials state, one of them with several workers. */
struct pair {
    const struct log_reading *one, *several;
    double times; /* so many more workers */
    double error; /* of the ratio of two sizes or rates, as a logarithm */
};

static struct pair pair_of(const struct try_trial *one, const struct try_trial *several)
{
    const struct log_reading *a = log_parser_reading(one->first->parser);
    const struct log_reading *b = log_parser_reading(several->first->parser);
    return (struct pair){a, b, several->n / (double)one->n,
                         fmax(ERRORS * hypot(a->step_error, b->step_error), SAME_STEP)};
}

/* Does a step with several workers have `times` as many samples as with one, by rate and pace? */
static bool is_larger(const struct pair *p, double times)
{
    const double ratio = p->several->step_units / p->one->step_units;
    return fabs(log(ratio / times)) <= p->error; /* false of NaN */
}

/* The scope that the outputs show, where the rule gives each figure to its replica; "" if it is
 * right in that. NULL: they do not show it. */
static const char *scope_of(const struct pair *p, const struct try_output *several, bool is_only)
{
    const char *words = log_scope_words(several->last.text);
    if (!try_states_rate(several)) { /* faster steps may have fewer samples of each worker */
        const double faster = log(p->several->rate / p->one->rate / LOG_PACE_TOLERANCE);
        return !is_only ? "" : faster > p->error ? NULL : "Each";
    }
    if (is_larger(p, p->times) && !is_larger(p, 1)) {
        return str_eq_or_null(words, "Each") ? NULL : "Job";
    }
    return is_only ? words : str_eq_or_null(words, "Job") && p->times > 1 ? words : "";
}

static void put_line(const struct try_trial *f, struct buf *out)
{
    const struct log_reading *reading = log_parser_reading(f->first->parser);
    buf_printf(out, "  %u %s%s, line %llu: %s\n", f->n, try_role(f), f->n == 1 ? "" : "s",
               (unsigned long long)f->first->last.number, f->first->last.text);
    if (try_states_rate(f->first) && !isnan(reading->step_units)) {
        buf_printf(out, "    by rate and pace a step has %.4g %s\n", reading->step_units,
                   reading->unit);
    }
}

/* "1 of 2 workers prints figures" */
static void put_printing(const struct try_trial *f, struct buf *out)
{
    buf_printf(out, "%u of %u %ss print%s figures", f->n_printing, f->n, try_role(f),
               f->n_printing == 1 ? "s" : "");
}

static void ask(const struct try_trial *one, const struct try_trial *several, bool is_whole,
                struct try_rule *rule, struct buf *said)
{
    const bool is_rate = try_states_rate(several->first);
    const char *const scopes[] = {"Each", "Job"};
    const char *const means[] = {is_rate ? "each worker has such a rate" : "each has its own batch",
                                 is_rate ? "it is the rate of all together"
                                         : "all together have one batch, whatever their number"};
    _cleanup_(buf_done) struct buf warmup = BUF_INIT;
    put_printing(several, said);
    buf_puts(said, ", and nothing shows of what:\n");
    put_line(one, said);
    put_line(several, said);
    try_learn_warmup(one, is_whole, rule, &warmup);
    buf_puts(said, "nothing was written; write one of these into the system:\n");
    for (size_t i = 0; i < COUNT_OF(scopes); i++) {
        rule->scope = scopes[i];
        rule->counts_steps = i == 1 && !is_rate;
        buf_puts(said, "  log: ");
        try_rule_put(rule, said);
        buf_printf(said, "  # scope: %s, if %s\n", scopes[i], means[i]);
    }
    if (is_rate && several->def->matrix.points[0].batch_size > 0) {
        buf_puts(said,
                 "with scope: Job, remove workload.batchSize if all together have one batch\n");
    }
}

bool try_learn_scope(const struct try_trial *one, const struct try_trial *several, bool is_whole,
                     struct try_rule *rule, struct buf *said)
{
    const struct try_output *r = several->first;
    if (one->first == NULL || r == NULL || r->line->scope != LOG_SCOPE_REPLICA) {
        return true;
    }
    const struct pair p = pair_of(one, several);
    const char *scope = scope_of(&p, r, several->n_printing < several->n);
    if (scope != NULL && *scope == '\0') {
        return true;
    }
    open_rule(r->line, rule);
    if (scope == NULL) {
        ask(one, several, is_whole, rule, said);
        return false;
    }
    rule->scope = scope;
    buf_puts(said, "scope: ");
    put_printing(several, said);
    buf_printf(said, ", of %s: %s\n", str_eq(scope, "Job") ? "all together" : "one", scope);
    return true;
}

void try_explain_batch(const struct try_trial *one, const struct try_trial *several,
                       struct buf *out)
{
    const struct try_output *r = several->first;
    if (several->has_figure || one->first == NULL || r == NULL || r->line->scope != LOG_SCOPE_JOB ||
        !try_states_rate(r) || several->def->matrix.points[0].batch_size == 0) {
        return;
    }
    const struct pair p = pair_of(one, several);
    if (is_larger(&p, 1)) {
        buf_printf(
            out,
            "by rate and pace a step has %.4g %s, as with 1 %s: all together have one batch, "
            "and workload.batchSize is that of each; remove it\n",
            p.several->step_units, p.several->unit, try_role(several));
    }
}

/* ---- the warm-up ---- */

void try_learn_warmup(const struct try_trial *one, bool is_whole, struct try_rule *rule,
                      struct buf *said)
{
    const int64_t warmup_steps = one->def->spec->warmup_steps;
    const struct log_rule *own = one->def->spec->systems.items[0].log;
    const struct try_output *r = one->first;
    if (r == NULL || r->line->kind != LOG_KIND_STEP) {
        return;
    }
    const int64_t lines = (int64_t)r->n_lines;
    const bool is_numbered = r->n_lines == r->n_numbered;
    const bool is_single = is_whole && lines == 1 && !is_numbered;
    rule->is_summary = is_single && is_made(rule);
    if (is_single || warmup_steps == 0 ||
        vec_any(&own->lines, line, line->skip.kind != LOG_SKIP_DEFAULT)) {
        return;
    }
    if (is_numbered) {
        buf_printf(said,
                   "warm-up: the first %lld steps are left out, by the numbers in the lines\n",
                   (long long)warmup_steps);
        return;
    }
    const int64_t part = lines / WARMUP_PART > 1 ? lines / WARMUP_PART : 1;
    rule->skip = is_whole && part < warmup_steps ? part : warmup_steps;
    buf_printf(said,
               "warm-up: the first %lld of %s%lld lines %s, because they have no number for "
               "measure.warmupSteps\n",
               (long long)rule->skip, is_whole ? "" : "more than ", (long long)lines,
               is_made(rule) ? "are left out" : "need a 'skip' in a rule of your own");
}
