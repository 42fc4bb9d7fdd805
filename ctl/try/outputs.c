/* The outputs of a trial: when enough of them is known, and what the rule of its definition reads.
 * See try.h. */
#include <math.h>

#include "base/mem.h"
#include "ctl/try/try.h"
#include "logparse/guess.h"
#include "logparse/lines.h"
#include "logparse/suggest.h"
#include "result/number.h"
#include "result/result_parts.h"
#include "spec/log_rule.h"

#define TEXT_BYTES_MAX ((size_t)4 << 20)
/* A trainer that has printed steps for so long is the only one that prints, if the others have
 * printed none: they may keep their lines in a buffer for a while. */
#define ALONE_NS INT64_C(3000000000)
/* The pace is known after so many lines and so much time; slow steps have few lines. */
#define PACE_STEPS (LOG_PACE_MIN_LINES + 2)
#define PACE_NS INT64_C(1300000000)
#define SLOW_NS INT64_C(5000000000)
#define BURST_NS 1000000 /* steps that arrived all at once have no pace, however many follow */
/* A batch of all and that of each differ by so little. */
#define SAME_BATCH 0.05
/* An unread output is read by the rules that ship, and later by one made of its lines. */
#define UNREAD_NS INT64_C(5000000000)
#define UNKNOWN_NS INT64_C(20000000000)

void try_trial_init(struct try_trial *t, struct run_def *def_take, int64_t steps)
{
    const struct point *point = &def_take->matrix.points[0];
    *t = (struct try_trial){.def = def_take, .steps = def_take->spec->warmup_steps + steps};
    t->n = point->replicas[point_leading_role(point)];
    t->list = xnew_array(struct try_output, t->n);
}

struct try_output *try_output_of(const struct try_trial *t, const struct replica_id *id)
{
    const bool is_leading = id->role == point_leading_role(&t->def->matrix.points[0]);
    return is_leading && id->index < t->n ? &t->list[id->index] : NULL;
}

/* ---- text ---- */

/* What a parser must know to read an output again. `arrivals` must live as long as the parser. */
static struct log_parser_params params_of(const struct try_trial *t, const struct try_output *o,
                                          struct log_arrivals *arrivals)
{
    const struct replica_id id = {.role = point_leading_role(&t->def->matrix.points[0]),
                                  .index = (uint32_t)(o - t->list)};
    struct log_parser_params params = log_rule_params(t->def, &id);
    *arrivals = (struct log_arrivals){buf_cstr(&o->text), o->parts.items, o->parts.len};
    params.arrivals = arrivals;
    return params;
}

uint64_t try_find_rule(const struct try_trial *t, const struct try_output *o, int64_t age_ns,
                       struct buf *out)
{
    struct log_arrivals arrivals;
    struct log_parser_params params = params_of(t, o, &arrivals);
    struct log_guess shipped;
    struct log_suggestion made;
    params.warmup_steps = 0;
    if (log_guess_rule(buf_cstr(&o->text), o->text.len, &params, &shipped) == 0 &&
        !shipped.is_time && (shipped.witness != LOG_WITNESS_FEW || age_ns >= UNKNOWN_NS)) {
        buf_puts(out, shipped.rule);
        return shipped.n_lines;
    }
    return age_ns >= UNKNOWN_NS &&
                   log_suggest_rule(buf_cstr(&o->text), o->text.len, &params, &made, out) == 0
               ? made.guess.n_lines
               : 0;
}

/* May the output be read, or read again? It is while it grows. */
static bool has_grown(struct try_output *o)
{
    const bool has = o->text.len >= o->checked + o->checked / 4;
    o->checked = has ? o->text.len : o->checked;
    return has;
}

static bool is_readable(const struct try_trial *t, struct try_output *o, int64_t now_ns)
{
    _cleanup_(buf_done) struct buf rule = BUF_INIT;
    const int64_t age_ns = now_ns - o->parts.items[0].t_ns;
    return o->steps == 0 && age_ns >= UNREAD_NS && has_grown(o) &&
           try_find_rule(t, o, age_ns, &rule) >= (uint64_t)t->steps;
}

bool try_take_text(struct try_trial *t, const struct replica_id *id,
                   const struct replica_text *text)
{
    struct try_output *o = try_output_of(t, id);
    if (o == NULL || text->len == 0 || o->text.len >= TEXT_BYTES_MAX) {
        return false;
    }
    const char last = o->text.len == 0 ? '\n' : o->text.data[o->text.len - 1];
    if (o->is_stderr != text->is_stderr && last != '\n' && last != '\r') {
        buf_putc(&o->text, '\n'); /* two streams share no line */
    }
    o->is_stderr = text->is_stderr;
    buf_append(&o->text, text->data, text->len);
    *vec_push(&o->parts) = (struct log_arrival){o->text.len, text->t_ns};
    return is_readable(t, o, text->t_ns);
}

/* ---- what is read in one output ---- */

bool try_states_rate(const struct try_output *o)
{
    return log_pattern_has(o->line->pattern, LOG_RATE) ||
           log_pattern_has(o->line->pattern, LOG_SAMPLES);
}

struct lines {
    struct try_output *output;
    const struct log_rule *rule;
};

static void on_figure(void *ctx, const struct log_figure *f)
{
    const struct lines *l = ctx;
    const struct log_line_rule *line = &l->rule->lines.items[f->line];
    if (line->kind != LOG_KIND_INFO && f->rank <= 0 &&
        !(line->kind == LOG_KIND_STEP && isnan(f->steps))) {
        l->output->line = line;
        l->output->n_lines++;
        l->output->n_numbered += !isnan(f->step);
    }
}

static void on_line(void *ctx, uint64_t number, const char *line, size_t len)
{
    const struct lines *l = ctx;
    if (number == l->output->last.number) {
        log_quote_put(&l->output->last, number, line, len);
    }
}

static void forget(struct try_output *o)
{
    log_parser_free(o->parser);
    summary_done(&o->result.summary);
    o->parser = NULL;
    o->has_figure = false;
    o->result = (struct log_result){0};
    o->n_lines = o->n_numbered = o->last.number = 0;
    o->line = NULL;
}

static void read_output(const struct try_trial *t, struct try_output *o)
{
    struct log_arrivals arrivals;
    struct log_parser_params params = params_of(t, o, &arrivals);
    struct lines lines = {.output = o, .rule = params.rule};
    forget(o);
    if (params.rule == NULL) {
        return;
    }
    params.on_figure = on_figure;
    params.ctx = &lines;
    o->parser = log_parser_new(&params);
    log_parser_read(o->parser, buf_cstr(&o->text), o->text.len);
    vec_each (const struct log_span, span, &log_parser_reading(o->parser)->spans) {
        const bool has_value = span->use == LOG_USE_STEP || span->use == LOG_USE_SUMMARY;
        o->last.number = has_value ? span->last : o->last.number;
    }
    log_lines_each(buf_cstr(&o->text), o->text.len, on_line, &lines);
    o->has_figure = log_parser_result(o->parser, &o->result) == 0;
}

/* ---- steps ---- */

/* How long the steps took that remain after the warm-up. Lines without a number all count as
 * measured, and the first of them will be the warm-up. */
static double measured_ns(const struct try_trial *t, const struct try_output *o)
{
    const double n = (double)(o->steps - t->def->spec->warmup_steps);
    return (double)(o->last_t_ns - o->first_t_ns) * n / (double)o->measured;
}

/* Does it have its steps, and the pace of those after the warm-up? */
static bool has_enough(const struct try_trial *t, const struct try_output *o)
{
    const double ns = measured_ns(t, o); /* NaN without a measured step */
    const int64_t n = o->steps - t->def->spec->warmup_steps;
    return o->steps >= t->steps && !o->is_settling &&
           (ns < BURST_NS || ns >= SLOW_NS || (ns >= PACE_NS && n >= PACE_STEPS));
}

/* A mean since an epoch began has the compilation in it, until a later epoch. */
static void settle(const struct try_trial *t, struct try_output *o, const struct log_rule *rule)
{
    const bool has_means =
        vec_any(&rule->lines, line, line->kind == LOG_KIND_STEP && line->aggregate == LOG_LAST);
    if (has_means && has_grown(o)) {
        read_output(t, o);
        const struct log_reading *r = log_parser_reading(o->parser);
        o->is_settling = r->witness != LOG_WITNESS_AGREES && r->witness != LOG_WITNESS_NO_BATCH;
    }
}

bool try_take_record(struct try_trial *t, const struct replica_id *id, const struct record *record)
{
    const struct log_rule *rule = t->def->spec->systems.items[0].log;
    struct try_output *o = try_output_of(t, id);
    if (o == NULL || record->type != RECORD_STEP || rule == NULL) {
        return false;
    }
    o->steps++;
    if (!record->step.warmup) {
        o->first_t_ns = o->measured++ == 0 ? record->step.t_ns : o->first_t_ns;
        o->last_t_ns = record->step.t_ns;
    }
    settle(t, o, rule);
    if (rule->end != NULL || !has_enough(t, o)) {
        return false; /* a rule with an end reads only what has come to it */
    }
    /* Lines that come in one burst say nothing of another worker, which may be about to print. */
    const double ns = measured_ns(t, o);
    const bool is_for_all = vec_any(
        &rule->lines, line, line->kind == LOG_KIND_STEP && line->scope != LOG_SCOPE_REPLICA);
    const bool is_alone = ns >= ALONE_NS || (is_for_all && ns >= BURST_NS);
    return array_all(t->list, t->n, it, has_enough(t, it) || (is_alone && it->steps == 0));
}

/* ---- what is read in all outputs ---- */

void try_trial_done(struct try_trial *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        forget(&t->list[i]);
        buf_done(&t->list[i].text);
        vec_done(&t->list[i].parts);
    }
    free(t->list);
    run_def_free(t->def);
}

/* A figure of the job counts once, however many outputs have it. */
static void add_up(struct try_trial *t)
{
    double sum = 0, job_sum = 0;
    for (const struct try_output *o = t->list; o < t->list + t->n; o++) {
        t->n_printing += o->last.number > 0;
        t->first = t->first == NULL && o->last.number > 0 ? o : t->first;
        if (o->has_figure) {
            const bool is_job = o->result.summary.source.is_job;
            t->n_figures++;
            t->n_job += is_job;
            *(is_job ? &job_sum : &sum) += o->result.rate;
            const bool is_less_certain =
                t->shown != NULL && log_parser_reading(o->parser)->verdict >
                                        log_parser_reading(t->shown->parser)->verdict;
            t->shown = t->shown == NULL || is_less_certain ? o : t->shown;
        }
    }
    t->rate = t->n_job > 0 ? job_sum / t->n_job : sum;
}

void try_read(struct try_trial *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        read_output(t, &t->list[i]);
    }
    t->first = t->shown = NULL;
    t->n_printing = t->n_figures = t->n_job = 0;
    add_up(t);
    t->has_figure = t->n_job > 0 || (t->n_figures > 0 && t->n_figures == t->n);
    if (t->has_figure) {
        const struct log_line_rule *line = t->shown->line;
        t->unit = result_units[t->shown->result.unit];
        t->n_steps =
            line == NULL || line->kind == LOG_KIND_STEP ? t->shown->result.summary.steps : 0;
    }
}

/* ---- what is printed ---- */

const char *try_role(const struct try_trial *t)
{
    return role_to_string(point_leading_role(&t->def->matrix.points[0]));
}

static void put_rate(const struct try_trial *t, struct buf *out)
{
    const struct log_rule *rule = t->def->spec->systems.items[0].log;
    if (t->n_steps > 0) {
        buf_printf(out, "%lld step%s found, ", (long long)t->n_steps, t->n_steps == 1 ? "" : "s");
    }
    number_format(t->rate, out);
    buf_printf(out, " %s by ", t->unit);
    if (rule == NULL) {
        buf_puts(out, "its records\n");
    } else {
        const bool is_own = log_rule_is_unnamed(rule);
        buf_printf(out, "%s%s (%s)\n", is_own ? "a rule in the definition" : "the rule ",
                   is_own ? "" : rule->name, t->shown->result.summary.source.method);
    }
}

/* The lines and the verdict of a figure that is a sum or a mean are those of one replica. */
static void put_reading(const struct try_trial *t, struct buf *out)
{
    const struct try_output *shown = t->shown;
    const bool is_sum = t->n_job == 0 && t->n > 1;
    if (is_sum || shown->result.rate != t->rate) {
        buf_printf(out, "  of %s, %s/%td alone:\n", is_sum ? "these" : "this mean", try_role(t),
                   shown - t->list);
    }
    log_reading_format(log_parser_reading(shown->parser), out);
    if (shown->line != NULL && shown->line->kind == LOG_KIND_STEP && !try_states_rate(shown) &&
        shown->result.unit == UNIT_SAMPLES) {
        buf_printf(out, "  batch: %lld samples a step, by batchSize alone; no line confirms it\n",
                   (long long)t->def->matrix.points[0].batch_size);
    }
    if ((is_sum || t->n_job > 1) && system_is_copies(&t->def->spec->systems.items[0])) {
        buf_printf(out,
                   "  %u independent copies, as far as the definition shows: profile none does "
                   "not connect the processes\n",
                   t->n);
    } else if (t->is_unmet) {
        buf_printf(out,
                   "  no process listened on MASTER_PORT: %u independent copies, unless they meet "
                   "in another way; connect them, or write 'profile: none'\n",
                   t->n);
    }
}

/* Where a rate of the job is withheld because batchSize is not the batch of each worker. */
static void put_batch(const struct try_trial *t, const struct try_output *o, struct buf *out)
{
    const double batch = (double)t->def->matrix.points[0].batch_size;
    const bool is_of_job = o->line != NULL && o->line->scope == LOG_SCOPE_JOB && t->n > 1;
    const double units = log_parser_reading(o->parser)->step_units;
    if (is_of_job && try_states_rate(o) && fabs(units / batch - 1) < SAME_BATCH) {
        buf_printf(out,
                   "by rate and pace a step of all together has %.4g samples, and as many of each "
                   "%s by batchSize; write 'batchScope: Job' if all have one batch\n",
                   units, try_role(t));
    }
}

static void explain(const struct try_trial *t, struct buf *out)
{
    const struct try_output *o = array_find(t->list, t->n, it, !it->has_figure);
    struct log_arrivals arrivals;
    const struct log_parser_params params = params_of(t, o, &arrivals);
    if (t->n_figures > 0) {
        buf_printf(out,
                   "%u of %u %ss printed figures; where one prints for all, add `scope: Each` "
                   "to the line of the rule (`scope: Job` if its figure is of all together)\n",
                   t->n_figures, t->n, try_role(t));
    }
    buf_printf(out, "%s/%td: ", try_role(t), o - t->list);
    if (o->parser == NULL) {
        log_explain_unread(buf_cstr(&o->text), o->text.len, &params, out);
    } else {
        log_parser_explain(o->parser, out);
        put_batch(t, o, out);
        log_advise(buf_cstr(&o->text), o->text.len, &params, out);
    }
}

void try_put_figure(const struct try_trial *t, struct buf *out)
{
    if (!t->has_figure) {
        explain(t, out);
        return;
    }
    put_rate(t, out);
    if (t->shown != NULL) {
        put_reading(t, out);
    }
}
