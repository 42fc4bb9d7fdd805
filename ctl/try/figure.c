/* What the rule of a definition reads in the outputs of a trial. See try.h. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "ctl/try/try.h"
#include "logparse/advice.h"
#include "logparse/lines.h"
#include "result/number.h"
#include "result/result_parts.h"
#include "spec/log_rule.h"

/* ---- one output ---- */

bool try_reading_states_rate(const struct try_reading *r)
{
    return log_pattern_has(r->line->pattern, LOG_RATE) ||
           log_pattern_has(r->line->pattern, LOG_SAMPLES);
}

struct lines {
    struct try_reading *reading;
    const struct log_rule *rule;
    uint64_t n;
};

static void on_figure(void *ctx, const struct log_figure *f)
{
    const struct lines *l = ctx;
    const struct log_line_rule *line = &l->rule->lines.items[f->line];
    if (line->kind != LOG_KIND_INFO && f->rank <= 0 &&
        !(line->kind == LOG_KIND_STEP && isnan(f->steps))) {
        l->reading->line = line;
        l->reading->n_lines++;
        l->reading->n_numbered += !isnan(f->step);
    }
}

static void on_line(void *ctx, const char *line, size_t len)
{
    struct lines *l = ctx;
    if (++l->n == l->reading->last.number) {
        log_quote_put(&l->reading->last, l->n, line, len);
    }
}

static void read_output(const struct try_seen *seen, uint32_t index, struct try_reading *ret)
{
    const struct buf *text = &seen->list[index].text;
    struct log_arrivals arrivals;
    struct log_parser_params params = try_seen_params(seen, index, &arrivals);
    struct lines lines = {.reading = ret, .rule = params.rule};
    if (params.rule == NULL) {
        return;
    }
    params.on_figure = on_figure;
    params.ctx = &lines;
    ret->parser = log_parser_new(&params);
    log_parser_read(ret->parser, buf_cstr(text), text->len);
    vec_each (const struct log_span, span, &log_parser_reading(ret->parser)->spans) {
        const bool has_value = span->use == LOG_USE_STEP || span->use == LOG_USE_SUMMARY;
        ret->last.number = has_value ? span->last : ret->last.number;
    }
    log_lines_each(buf_cstr(text), text->len, on_line, &lines);
    ret->has_figure = log_parser_result(ret->parser, &ret->result) == 0;
}

/* ---- all outputs ---- */

void try_figure_read(const struct try_seen *seen, struct try_figure *ret)
{
    *ret = (struct try_figure){.seen = seen, .list = xnew_array(struct try_reading, seen->n)};
    double sum = 0, job_sum = 0;
    enum log_verdict worst = LOG_VERDICT_NONE;
    for (uint32_t i = 0; i < seen->n; i++) {
        struct try_reading *r = &ret->list[i];
        read_output(seen, i, r);
        ret->n_printing += r->last.number > 0;
        ret->first = ret->first == NULL && r->last.number > 0 ? r : ret->first;
        if (r->has_figure) {
            const bool is_job = r->result.summary.source.is_job;
            const enum log_verdict verdict = log_parser_reading(r->parser)->verdict;
            ret->n_figures++;
            ret->n_job += is_job;
            *(is_job ? &job_sum : &sum) += r->result.rate;
            ret->shown = ret->shown == NULL || verdict > worst ? r : ret->shown;
            worst = verdict > worst ? verdict : worst;
        }
    }
    const struct try_reading *shown = ret->shown;
    ret->has_figure = shown != NULL && (ret->n_figures == seen->n || ret->n_job > 0);
    if (ret->has_figure) {
        const bool counts_steps = shown->line == NULL || shown->line->kind == LOG_KIND_STEP;
        ret->rate = ret->n_job > 0 ? job_sum / ret->n_job : sum;
        ret->unit = result_units[shown->result.unit];
        ret->steps = counts_steps ? shown->result.summary.steps : 0;
    }
}

void try_figure_done(struct try_figure *f)
{
    for (uint32_t i = 0; f->list != NULL && i < f->seen->n; i++) {
        log_parser_free(f->list[i].parser);
        summary_done(&f->list[i].result.summary);
    }
    free(f->list);
    *f = (struct try_figure){0};
}

/* ---- what is printed ---- */

const char *try_figure_role(const struct try_figure *f)
{
    return role_to_string(point_leading_role(&f->seen->def->matrix.points[0]));
}

static void put_rate(const struct try_figure *f, struct buf *out)
{
    const struct log_rule *rule = f->seen->def->spec->systems.items[0].log;
    if (f->steps > 0) {
        buf_printf(out, "%lld step%s found, ", (long long)f->steps, f->steps == 1 ? "" : "s");
    }
    number_format(f->rate, out);
    buf_printf(out, " %s by ", f->unit);
    if (rule == NULL) {
        buf_puts(out, "its records\n");
    } else {
        const bool is_own = log_rule_is_unnamed(rule);
        buf_printf(out, "%s%s (%s)\n", is_own ? "a rule in the definition" : "the rule ",
                   is_own ? "" : rule->name, f->shown->result.summary.source.method);
    }
}

/* Programs that no profile connects, and that no variable of benchd's reaches. */
static bool are_copies(const struct try_figure *f)
{
    const struct system *system = &f->seen->def->spec->systems.items[0];
    const json_t *spec = json_object_get(f->seen->def->spec->definition, "spec");
    const json_t *item = json_array_get(json_object_get(spec, "systems"), system->item);
    _cleanup_(freep) char *text = json_dumps(item, JSON_COMPACT);
    return f->n_figures > 1 && f->n_figures == f->seen->n && f->n_job == 0 &&
           str_eq(system->profile, "none") && system->rendezvous.vars.len == 0 &&
           !system->has_launcher && (text == NULL || strstr(text, "BENCHD_") == NULL);
}

/* The lines and the verdict of a figure that is a sum are those of one replica. */
static void put_reading(const struct try_figure *f, struct buf *out)
{
    const struct try_reading *shown = f->shown;
    if (f->n_job == 0 && f->n_figures > 1) {
        buf_printf(out, "  of these, %s/%td alone:\n", try_figure_role(f), shown - f->list);
    }
    log_reading_format(log_parser_reading(shown->parser), out);
    if (shown->line != NULL && shown->line->kind == LOG_KIND_STEP &&
        !try_reading_states_rate(shown) && shown->result.unit == UNIT_SAMPLES) {
        buf_printf(out, "  batch: %lld samples a step, by batchSize alone; no line confirms it\n",
                   (long long)f->seen->def->matrix.points[0].batch_size);
    }
    if (are_copies(f)) {
        buf_printf(out,
                   "  %u independent copies, as far as the definition shows: profile none does "
                   "not connect the processes\n",
                   f->seen->n);
    }
}

static void explain(const struct try_figure *f, struct buf *out)
{
    const struct try_reading *missing = array_find(f->list, f->seen->n, it, !it->has_figure);
    const uint32_t index = (uint32_t)(missing - f->list);
    const struct buf *text = &f->seen->list[index].text;
    struct log_arrivals arrivals;
    const struct log_parser_params params = try_seen_params(f->seen, index, &arrivals);
    if (f->n_figures > 0) {
        buf_printf(out,
                   "%u of %u %ss printed figures; where one prints for all, add `scope: Each` "
                   "to the line of the rule (`scope: Job` if its figure is of all together)\n",
                   f->n_figures, f->seen->n, try_figure_role(f));
    }
    buf_printf(out, "%s/%u: ", try_figure_role(f), index);
    if (missing->parser == NULL) {
        log_explain_unread(buf_cstr(text), text->len, &params, out);
    } else {
        log_parser_explain(missing->parser, out);
        log_advise(buf_cstr(text), text->len, &params, out);
    }
}

void try_figure_put(const struct try_figure *f, struct buf *out)
{
    if (!f->has_figure) {
        explain(f, out);
        return;
    }
    put_rate(f, out);
    if (f->shown != NULL) {
        put_reading(f, out);
    }
}
