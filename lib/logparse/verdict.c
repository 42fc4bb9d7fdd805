/* What a parser makes of all lines: the figure, or why it has none. See parser.h. */
#include "logparse/parser_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"

/* What the sum over the ranks is multiplied with. */
static double factor_of(const struct log_parser *p, const struct log_line_rule *line,
                        const struct log_tally *first, unsigned ranks)
{
    const int64_t trainers = p->params.trainers > 0 ? p->params.trainers : 1;
    /* Each figure is the job's already; all trainers that run in step take the same steps. */
    const bool is_of_job =
        line->scope == LOG_SCOPE_JOB || (line->scope == LOG_SCOPE_EACH && first->counts_steps);
    return line->scope == LOG_SCOPE_REPLICA ? 1
           : is_of_job                      ? 1.0 / ranks
                                            : (double)trainers / ranks;
}

/* Samples and time, of which the quotient is the rate. False: no samples were counted, and these
 * are as many as that rate has in `least_s`. */
static bool put_rate(struct summary *s, double rate, double units, double least_s)
{
    const double seconds = units / rate;
    const bool is_counted = units >= 1 && units < 9e15 && seconds >= 1e-3 && seconds < 9e9;
    const double samples = is_counted ? nearbyint(units) : fmin(ceil(rate * least_s), 9e15);
    s->samples = (uint64_t)samples;
    s->duration_ns = (int64_t)nearbyint(samples / rate * 1e9);
    return is_counted;
}

/* The figure of one line of the rule over all ranks. False: it has none. */
static bool add_up(const struct log_parser *p, size_t index, struct log_result *ret)
{
    const struct log_line_rule *line = &p->params.rule->lines.items[index];
    const struct log_tally *first = NULL;
    double rate = 0, units = 0, steps = 0;
    uint64_t n_lines = 0;
    unsigned n = 0;
    vec_each (struct log_tally *const, it, &p->slots[index].list) {
        const struct log_tally *t = log_tally_training(*it);
        const double one = t == NULL ? NAN : log_tally_rate(t, line);
        if (isnan(one)) {
            continue;
        }
        first = first == NULL ? t : first;
        rate += one;
        units += t->has_unknown_units ? NAN : t->units;
        steps = fmax(steps, t->steps);
        n_lines += t->n;
        n++;
    }
    const double factor = n == 0 ? 0 : factor_of(p, line, first, n);
    if (!(rate * factor >= MIN_RATE && rate * factor <= MAX_RATE)) {
        return false; /* no line, or nonsense */
    }
    *ret = (struct log_result){
        .summary = {.steps = (uint32_t)fmin(steps, UINT32_MAX)},
        .rate = rate * factor,
        .line = line,
        .unit = first->counts_steps ? UNIT_STEPS : line->unit,
        .tally = first,
        .n_lines = n_lines,
        .n_ranks = n,
    };
    const bool is_counted =
        put_rate(&ret->summary, ret->rate, units * factor, log_tally_least_s(first));
    for (int k = 0; is_counted && k < PHASE_COUNT; k++) { /* parts of that time */
        ret->summary.phase_ns[k] = llrint(fmin(1e9 * first->phase_s[k], 9e18));
    }
    return true;
}

/* "mean of 98 step lines". Owned. */
static char *method_of(const struct log_result *r)
{
    static const char *const aggregates[] = {"mean", "median", "last", "maximum"};
    static const char *const kinds[] = {"summary", "epoch", "step", "info"};
    char ranks[32] = "";
    const bool is_found = r->line->kind == LOG_KIND_STEP && r->tally->has_step &&
                          !log_pattern_has(r->line->pattern, LOG_STEP);
    if (r->n_ranks > 1) {
        (void)snprintf(ranks, sizeof(ranks), ", %u ranks", r->n_ranks); /* fits */
    }
    return xasprintf("%s of %llu %s%s line%s%s%s", aggregates[r->line->aggregate],
                     (unsigned long long)r->n_lines, is_found ? "numbered " : "",
                     kinds[r->line->kind], r->n_lines == 1 ? "" : "s", ranks,
                     r->line->source == LOG_FROM_STAMPS ? ", by their time stamps" : "");
}

/* What does not follow from the line that decided. */
static void complete(const struct log_parser *p, const struct evaluations *evaluations,
                     char *method_take, struct log_result *r)
{
    struct summary *s = &r->summary;
    s->loss_first = p->loss_first;
    s->loss_last = p->loss_last;
    s->source = (struct summary_source){
        .rule = xstrdup(p->params.rule->name),
        .method = method_take,
        .unit = r->unit,
        .is_job = r->line->scope != LOG_SCOPE_REPLICA,
        .accuracy_last = p->mllog == NULL ? p->accuracy_last : p->mlperf.accuracy_last,
    };
    log_metrics_put(&p->metrics, &s->metrics);
    if (evaluations->n > 0) {
        s->evaluations = xnew(struct evaluations);
        *s->evaluations = *evaluations;
    }
    if (r->tally != NULL) {
        summary_set_series(s, r->tally->step_ns.items, r->tally->step_ns.len);
    }
}

/* "mean of 215 step times". Owned. */
static char *mlperf_method(const struct mllog_result *m)
{
    return m->basis == MLLOG_STEPS ? xasprintf("mean of %zu step times", m->n)
           : m->basis == MLLOG_LOSSES
               ? xasprintf("median time between %zu pairs of losses", m->n)
               : xasprintf("training time between the first and the last of "
                           "%zu positions%s",
                           m->n, m->has_evaluation ? "" : ", maybe with evaluations");
}

static int mlperf_result(const struct log_parser *p, struct log_result *ret)
{
    const struct mllog_result *m = &p->mlperf;
    if (m->refusal != NULL) {
        return -ENODATA;
    }
    *ret = (struct log_result){
        .summary = {.steps =
                        m->basis == MLLOG_STEPS ? (uint32_t)fmin((double)m->n, UINT32_MAX) : 0},
        .rate = m->rate,
        .line = p->params.rule->lines.items,
        .unit = m->unit,
        .n_lines = m->n,
        .n_ranks = 1,
    };
    (void)put_rate(&ret->summary, m->rate, m->rate * m->seconds, 1); /* there are no phases */
    complete(p, &m->evaluations, mlperf_method(m), ret);
    metrics_set(&ret->summary.metrics, "evaluation_s", m->evaluation_s);
    return 0;
}

int log_lines_result(const struct log_parser *p, struct log_result *ret)
{
    const size_t n = p->n_lines_read > 0 ? 0 : p->params.rule->lines.len;
    for (enum log_kind kind = LOG_KIND_SUMMARY; kind <= LOG_KIND_STEP; kind++) {
        for (size_t i = 0; i < n; i++) {
            if (p->params.rule->lines.items[i].kind == kind && add_up(p, i, ret)) {
                return 0;
            }
        }
    }
    return -ENODATA;
}

int log_parser_result(const struct log_parser *p, struct log_result *ret)
{
    if (p->mllog != NULL) {
        return mlperf_result(p, ret);
    }
    if (p->reading.verdict == LOG_VERDICT_WITHHELD || log_lines_result(p, ret) < 0) {
        return -ENODATA;
    }
    complete(p, &p->evaluations, method_of(ret), ret);
    return 0;
}

/* ---- the verdict ---- */

/* What would make the figure and the pace agree. No batch is proposed: a program leaves some time
 * of a step out of the rate that it states, so what follows from both is only near its batch. */
static void put_remedy(const struct log_parser *p, const struct log_result *r, double ratio,
                       struct buf *out)
{
    const double batch = (double)p->params.batch_size, trainers = (double)p->params.trainers;
    const double by_both = batch * ratio;
    const bool is_of_batch =
        r->unit == UNIT_SAMPLES && batch > 0 && log_pattern_has(r->line->pattern, LOG_RATE);
    if (is_of_batch && trainers > 1 && r->line->scope == LOG_SCOPE_REPLICA &&
        fabs(ratio / trainers - 1) < 0.1) {
        buf_printf(out, "; a rate of all %.0f together would agree: write 'scope: Job'", trainers);
    } else if (is_of_batch && by_both >= 1) {
        buf_printf(out, "; by both the batch is %.4g instead of %.0f", by_both, batch);
    }
}

/* A verdict only becomes worse; of two that are alike the last reason counts. */
static void decide(struct log_reading *r, enum log_verdict verdict, char *why_take)
{
    char *other = why_take;
    if (verdict >= r->verdict) {
        other = r->why;
        r->verdict = verdict;
        r->why = why_take;
    }
    free(other);
}

/* The pace of the line's steps, as one process has printed them. */
static void compare_witnesses(struct log_parser *p, const struct log_result *result)
{
    struct log_reading *r = &p->reading;
    double ratio;
    r->witness = log_pace_ask(&result->tally->pace, &ratio);
    const bool is_per_batch = r->witness == LOG_WITNESS_NO_BATCH;
    r->pace = is_per_batch ? NAN : r->rate / ratio;
    const struct log_tally *t = result->tally;
    r->step_units = ratio * (is_per_batch || t->has_unknown_units ? 1 : t->units / t->steps);
    r->step_error = log_pace_error(&t->pace);
    if (r->witness == LOG_WITNESS_DISAGREES) {
        _cleanup_(buf_done) struct buf why = BUF_INIT;
        buf_printf(&why,
                   "the lines state %.6g %s/s, but by the time at which they came it is %.6g %s/s",
                   r->rate, r->unit, r->pace, r->unit);
        put_remedy(p, result, ratio, &why);
        decide(r, LOG_VERDICT_WITHHELD, buf_take(&why));
    } else if (is_per_batch) {
        decide(
            r, LOG_VERDICT_ONE_WITNESS,
            xasprintf("one witness: by rate and pace a step has %.4g %s", r->step_units, r->unit));
    } else if (result->line->source == LOG_FROM_STAMPS) {
        decide(r, LOG_VERDICT_ONE_WITNESS,
               xstrdup("one witness: its figure is the time between its lines"));
    } else if (r->witness == LOG_WITNESS_AGREES) {
        decide(r, LOG_VERDICT_AGREES, NULL);
    } else {
        decide(r, LOG_VERDICT_ONE_WITNESS,
               xasprintf("one witness: %s", log_witness_reasons[r->witness]));
    }
}

#define SAME_RATE 0.05 /* of two runs of one program */

/* A sign withholds the figure; one of steps, where more than so many of them have it. */
#define BAD_STEPS_SHARE 0.1

static void heed_sign(struct log_parser *p)
{
    const struct log_sign *sign = p->sign;
    if (sign == NULL) {
        return;
    }
    const bool is_of_steps = sign->when == LOG_SIGN_STEP;
    char share[64] = "";
    if (is_of_steps) {
        (void)snprintf(share, sizeof(share), ", in %llu of %llu steps' lines",
                       (unsigned long long)p->n_bad_steps, (unsigned long long)p->n_read);
    }
    char *why = xasprintf("line %llu: %s%s: %s", (unsigned long long)p->sign_at.number, sign->says,
                          share, p->sign_at.text);
    const bool is_forgiven =
        is_of_steps && (double)p->n_bad_steps <= BAD_STEPS_SHARE * (double)p->n_read;
    decide(&p->reading, is_forgiven ? LOG_VERDICT_DOUBTFUL : LOG_VERDICT_WITHHELD, why);
}

/* The rate of the deciding line, its time and its units do not agree. */
static void heed_product(struct log_parser *p, const struct log_line_rule *line)
{
    if (p->contradiction[0] != '\0' && line == &p->params.rule->lines.items[p->contradicted]) {
        decide(&p->reading, LOG_VERDICT_WITHHELD, xstrdup(p->contradiction));
    }
}

const char log_why_mean[] =
    "the lines state the mean since the start, by their time and step: write 'aggregate: Last', "
    "whose figure has the warm-up in it, or 'from: TimeStamps' without that group";

/* Means since the start are no rates of their lines: the last one has all of them. */
static void heed_mean(struct log_parser *p, const struct log_result *result)
{
    struct log_reading *r = &p->reading;
    if (r->verdict != LOG_VERDICT_WITHHELD && result->line->aggregate != LOG_LAST &&
        log_mean_is_so(&result->tally->mean)) {
        decide(r, LOG_VERDICT_WITHHELD, xstrdup(log_why_mean));
    }
}

/* Was the program cut short? Then it has not printed the line that the rule names as its end, or
 * its steps stop before their total, which programs also do on purpose. The last step may be the
 * first of those that a line covers. */
static void heed_end(struct log_parser *p, const struct log_tally *t)
{
    struct log_reading *r = &p->reading;
    uint64_t last = 0;
    if (p->params.rule->end != NULL && !p->has_ended) {
        decide(r, LOG_VERDICT_WITHHELD,
               xasprintf("line %llu is the last that it reads, and the line that the program "
                         "prints at its end does not follow: it was cut short",
                         (unsigned long long)p->last_matched));
    } else if (!p->is_part && t->total - t->last_step > fmax(t->last_gap, 1)) {
        vec_each (const struct log_span, span, &r->spans) {
            last = span->use == LOG_USE_STEP ? span->last : last;
        }
        decide(r, LOG_VERDICT_DOUBTFUL,
               xasprintf("line %llu: its steps stop at %.0f of %.0f", (unsigned long long)last,
                         t->last_step, t->total));
    }
}

/* Parts that no line calls epochs may be other loops: their mean would be no figure. */
static void heed_parts(struct log_parser *p, const struct log_tally *t)
{
    const double last = log_tally_part_rate(t);
    const double least = fmin(t->least_part, last), most = fmax(t->most_part, last);
    if (t->anew > 0 && most > LOG_PACE_TOLERANCE * least) {
        decide(&p->reading, LOG_VERDICT_WITHHELD,
               xasprintf("line %llu: the steps are counted anew, and no line names an epoch: %.6g "
                         "%s/s in the slowest part, and %.6g in the fastest; give a file of one of "
                         "them, or name what is before it as the rule's 'restart'",
                         (unsigned long long)t->anew, least, p->reading.unit, most));
    }
}

/* The program was started several times in this log: the figure is of the last run, if the others
 * were as fast. */
static void heed_starts(struct log_parser *p)
{
    struct log_reading *r = &p->reading;
    const double *other = vec_find(&p->runs, it, !(fabs(*it / r->rate - 1) <= SAME_RATE));
    const unsigned long long line = p->started;
    if (line == 0 || r->verdict == LOG_VERDICT_WITHHELD) {
        return;
    }
    if (other == NULL) {
        decide(
            r, LOG_VERDICT_DOUBTFUL,
            xasprintf("line %llu: the program starts again; the figure is of what follows", line));
    } else {
        decide(r, LOG_VERDICT_WITHHELD,
               xasprintf("line %llu: the program starts again: %.6g %s/s before it, and %.6g %s/s "
                         "after it; give a file of one run",
                         line, *other, r->unit, r->rate, r->unit));
    }
}

/* The second witness of a log of MLPerf is the throughput that it states. */
static void conclude_mlperf(const struct mllog_result *m, struct log_reading *r)
{
    if (m->numbers != NULL) {
        decide(r, LOG_VERDICT_WITHHELD, xasprintf("%s: %s", m->refusal, m->numbers));
    } else if (m->refusal == NULL) {
        r->rate = m->rate;
        r->unit = summary_unit_names[m->unit];
        if (isnan(m->stated)) {
            r->witness = LOG_WITNESS_NONE;
            decide(r, LOG_VERDICT_ONE_WITNESS,
                   xstrdup("one witness: the log states no throughput"));
        } else {
            r->witness = LOG_WITNESS_AGREES;
            decide(r, LOG_VERDICT_AGREES, NULL);
        }
    }
}

void log_conclude(struct log_parser *p)
{
    struct log_reading *r = &p->reading;
    struct log_result result;
    r->n_lines = p->n_lines;
    r->rate = r->pace = r->step_units = r->step_error = NAN;
    if (p->mllog != NULL) {
        conclude_mlperf(&p->mlperf, r);
        return;
    }
    if (log_lines_result(p, &result) < 0) {
        return;
    }
    r->rate = result.rate;
    r->unit = summary_unit_names[result.unit];
    log_reading_choose(r, result.tally->total);
    compare_witnesses(p, &result);
    heed_mean(p, &result);
    heed_product(p, result.line);
    heed_end(p, result.tally);
    heed_parts(p, result.tally);
    heed_starts(p);
    heed_sign(p);
}

const struct log_reading *log_parser_reading(const struct log_parser *p)
{
    return &p->reading;
}

const struct mllog_result *log_parser_mlperf(const struct log_parser *p)
{
    return &p->mlperf;
}

/* ---- no result ---- */

static void put_reason(const struct log_parser *p, struct buf *out)
{
    const struct log_rule *rule = p->params.rule;
    const bool is_own = str_eq(rule->name, LOG_RULE_UNNAMED);
    _cleanup_(freep) char *name =
        xasprintf("the log rule %s", is_own ? "of the definition" : rule->name);
    const unsigned long long n = p->n_lines, matched = p->n_matched;
    if (p->reading.verdict == LOG_VERDICT_WITHHELD) {
        buf_printf(out, "no figure by %s: %s", name, p->reading.why);
    } else if (n == 0) {
        buf_printf(out, "the program printed nothing for %s", name);
    } else if (p->n_lines_read > 0) {
        buf_printf(out, "%s was given up at line %llu: its patterns take too long", name,
                   (unsigned long long)p->n_lines_read);
    } else if (matched == 0) {
        buf_printf(out, "no line of %llu matched %s", n, name);
    } else if (p->mllog != NULL) {
        buf_printf(out, "%llu events of MLPerf: %s", matched, p->mlperf.refusal);
    } else if (p->needs_batch) {
        buf_printf(out, "%llu lines matched %s, but the samples of a step are unknown", matched,
                   name);
    } else if (p->n_warmup > 0) {
        buf_printf(out,
                   "%llu lines matched %s, %llu of them in the warm-up, and no throughput follows "
                   "from the others; lower measure.warmupSteps, or let the program run longer",
                   matched, name, (unsigned long long)p->n_warmup);
    } else {
        buf_printf(out, "%llu lines matched %s, ", matched, name);
        if (matched > 1) {
            buf_printf(out, "the last is line %llu, ", (unsigned long long)p->last_matched);
        }
        buf_puts(out, "but no throughput follows from them");
    }
    if (p->n_refused > 0) {
        buf_printf(out, "; %llu refused, %s", (unsigned long long)p->n_refused, p->refusal);
    }
    if (p->n_given_up > 0) {
        buf_printf(out, "; the pattern tries too much, it was given up %llu times",
                   (unsigned long long)p->n_given_up);
    }
}

void log_parser_explain(const struct log_parser *p, struct buf *out)
{
    put_reason(p, out);
    buf_putc(out, '\n');
    log_miss_put_last(&p->miss, out);
}
