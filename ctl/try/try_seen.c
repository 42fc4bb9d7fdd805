/* See try_seen.h. */
#include "ctl/try/try_seen.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/vec_walk.h"
#include "logparse/advice.h"
#include "logparse/rule.h"
#include "result/number.h"
#include "spec/log_rule.h"

/* A trainer that is so many steps further than it must be, and printed them in so much time, is the
 * only one that prints: others may keep their lines in a buffer for a while. */
#define ALONE_STEPS 27
#define ALONE_NS INT64_C(3000000000)

static const struct point *point_of(const struct try_seen *seen)
{
    return &seen->def->matrix.points[0];
}

void try_seen_init(struct try_seen *seen, const struct run_def *def, int64_t steps)
{
    *seen = (struct try_seen){.def = def, .steps = steps};
    seen->n = point_of(seen)->replicas[point_leading_role(point_of(seen))];
    seen->list = xnew_array(struct try_replica, seen->n);
}

void try_seen_done(struct try_seen *seen)
{
    for (uint32_t i = 0; i < seen->n; i++) {
        free(seen->list[i].output);
    }
    free(seen->list);
    *seen = (struct try_seen){0};
}

/* NULL: a server. */
static struct try_replica *replica_of(const struct try_seen *seen, const struct replica_id *id)
{
    return id->role == point_leading_role(point_of(seen)) && id->index < seen->n
               ? &seen->list[id->index]
               : NULL;
}

static struct replica_id id_of(const struct try_seen *seen, uint32_t index)
{
    return (struct replica_id){.role = point_leading_role(point_of(seen)), .index = index};
}

/* Does a line of kind Step speak for all trainers? */
static bool has_job_steps(const struct log_rule *rule)
{
    return rule != NULL && vec_any(&rule->lines, line,
                                   line->kind == LOG_KIND_STEP && line->scope != LOG_SCOPE_REPLICA);
}

bool try_seen_record(struct try_seen *seen, const struct replica_id *id,
                     const struct record *record)
{
    struct try_replica *r = replica_of(seen, id);
    if (r == NULL || record->type != RECORD_STEP || record->step.warmup) {
        return false;
    }
    if (r->steps++ == 0) {
        r->first_step = record->step.step;
        r->first_t_ns = record->step.t_ns;
    }
    r->last_step = record->step.step;
    r->last_t_ns = record->step.t_ns;
    r->samples += record->step.samples;
    r->s += (double)record->step.step_ns / 1e9;
    const struct log_rule *rule = seen->def->spec->systems.items[0].log;
    /* A program that writes records ends by itself after its steps, and its summary says more. */
    const int64_t wanted = seen->steps + (rule == NULL ? 1 : 0);
    const bool is_alone =
        r->steps >= wanted + ALONE_STEPS && r->last_t_ns - r->first_t_ns >= ALONE_NS;
    if (is_alone || (r->steps >= wanted && has_job_steps(rule))) {
        return true;
    }
    return array_all(seen->list, seen->n, it, it->steps >= wanted);
}

void try_seen_output(struct try_seen *seen, const struct replica_id *id,
                     const struct replica_output *output)
{
    struct try_replica *r = replica_of(seen, id);
    if (r != NULL && r->output == NULL) {
        r->output = xstrndup(output->log == NULL ? "" : output->log, output->log_len);
        r->len = strlen(r->output);
    }
}

void try_put_figure(struct buf *out, int64_t steps, double rate, const char *unit, const char *rule,
                    const char *method)
{
    if (steps > 0) {
        buf_printf(out, "%lld step%s found, ", (long long)steps, steps == 1 ? "" : "s");
    }
    number_format(rate, out);
    buf_printf(out, " %s by ", unit);
    if (rule[0] == '\0') {
        buf_puts(out, "its records\n");
    } else {
        const bool is_own = str_eq(rule, LOG_RULE_UNNAMED);
        buf_printf(out, "%s%s", is_own ? "a rule in the definition" : "the rule ",
                   is_own ? "" : rule);
        buf_printf(out, "%s%s%s\n", method[0] == 0 ? "" : " (", method, method[0] == 0 ? "" : ")");
    }
}

/* ---- what the outputs say ---- */

struct counting {
    const struct log_rule *rule;
    struct try_lines *lines; /* NULL: not asked for */
};

static void on_figure(void *ctx, const struct log_figure *f)
{
    const struct counting *c = ctx;
    if (c->lines != NULL && c->rule->lines.items[f->line].kind == LOG_KIND_STEP && f->rank <= 0) {
        c->lines->n++;
        c->lines->n_numbered += !isnan(f->step);
    }
}

/* By the rule, from the output. Owned. */
static struct log_parser *read_output(const struct try_seen *seen, uint32_t index,
                                      struct try_lines *lines)
{
    const struct replica_id id = id_of(seen, index);
    struct log_parser_params params = log_rule_params(seen->def, &id);
    struct counting counting = {params.rule, lines};
    params.on_figure = on_figure;
    params.ctx = &counting;
    const struct try_replica *r = &seen->list[index];
    struct log_parser *parser = log_parser_new(&params);
    log_parser_feed(parser, LOG_STDOUT, r->output == NULL ? "" : r->output, r->len, 0);
    log_parser_end(parser, 0);
    return parser;
}

static void explain(const struct try_seen *seen, uint32_t index, struct buf *out)
{
    const struct replica_id id = id_of(seen, index);
    const struct log_parser_params params = log_rule_params(seen->def, &id);
    const struct try_replica *r = &seen->list[index];
    const char *text = r->output == NULL ? "" : r->output;
    buf_printf(out, "%s/%u: ", role_to_string(id.role), index);
    if (params.rule == NULL) {
        log_explain_unread(text, r->len, &params, out);
        return;
    }
    struct log_parser *parser = read_output(seen, index, NULL);
    log_parser_explain(parser, out);
    log_advise(text, r->len, &params, out);
    log_parser_free(parser);
}

struct sum {
    double rate, job_rate;
    uint32_t n_job; /* that speak for all */
    int64_t steps;  /* of one */
    const char *unit;
    char method[SUMMARY_METHOD_SIZE];
};

/* Adds one trainer. False: it has no figure. */
static bool add_one(const struct try_seen *seen, uint32_t index, struct sum *sum)
{
    const struct log_rule *rule = seen->def->spec->systems.items[0].log;
    const struct try_replica *r = &seen->list[index];
    struct log_parser *parser = rule == NULL ? NULL : read_output(seen, index, NULL);
    struct log_result result;
    bool has = parser != NULL && log_parser_result(parser, &result) == 0;
    if (has) {
        const struct summary_source *source = &result.summary.source;
        const bool is_job = source->is_job;
        sum->n_job += is_job ? 1 : 0;
        sum->job_rate += is_job ? result.rate : 0;
        sum->rate += is_job ? 0 : result.rate;
        sum->steps = result.line->kind == LOG_KIND_STEP ? (int64_t)result.summary.steps : 0;
        sum->unit = summary_unit_names[source->unit];
        text_put(sum->method, sizeof(sum->method), "%s", source->method);
        summary_done(&result.summary);
    } else if (r->steps > 0 &&
               r->s > 0) { /* records, or lines whose figure is the time between them */
        sum->rate += r->samples / r->s;
        sum->steps = r->steps;
        sum->unit = sum->unit == NULL ? summary_unit_names[UNIT_SAMPLES] : sum->unit;
        text_put(sum->method, sizeof(sum->method), "mean of %lld step lines", (long long)r->steps);
        has = true;
    }
    log_parser_free(parser);
    return has;
}

double try_seen_rate(const struct try_seen *seen, uint32_t index)
{
    struct sum sum = {0};
    return add_one(seen, index, &sum) ? sum.rate + sum.job_rate : NAN;
}

double try_seen_steps_per_s(const struct try_seen *seen)
{
    const struct try_replica *r = array_find(seen->list, seen->n, it, it->steps >= 3);
    const int64_t ns = r == NULL ? 0 : r->last_t_ns - r->first_t_ns;
    return ns <= 0 ? NAN : (r->last_step - r->first_step) * 1e9 / (double)ns;
}

struct try_lines try_seen_lines(const struct try_seen *seen)
{
    struct try_lines lines = {0};
    const struct log_rule *rule = seen->def->spec->systems.items[0].log;
    for (uint32_t i = 0; rule != NULL && i < seen->n && lines.n == 0; i++) {
        log_parser_free(read_output(seen, i, &lines));
        if (lines.n == 0) { /* a line that is drawn again and again, and did not end yet */
            lines.n = seen->list[i].steps;
            lines.n_numbered = log_rule_counts_warmup(rule) ? 0 : lines.n;
        }
    }
    return lines;
}

bool try_seen_format(const struct try_seen *seen, struct buf *out)
{
    const struct log_rule *rule = seen->def->spec->systems.items[0].log;
    struct sum sum = {0};
    uint32_t missing = 0, n_missing = 0;
    for (uint32_t i = 0; i < seen->n; i++) {
        if (!add_one(seen, i, &sum)) {
            missing = n_missing++ == 0 ? i : missing;
        }
    }
    if (n_missing > 0 && sum.n_job == 0) {
        if (n_missing < seen->n) {
            const char *role = role_to_string(id_of(seen, 0).role);
            buf_printf(out,
                       "%u of %u %ss printed figures; where one prints for all, add `scope: Each` "
                       "to the line of the rule (`scope: Job` if its figure is of all together)\n",
                       seen->n - n_missing, seen->n, role);
        }
        explain(seen, missing, out);
        return false;
    }
    _cleanup_(freep) char *unit = xasprintf("%s/s", sum.unit);
    try_put_figure(out, sum.steps, sum.n_job > 0 ? sum.job_rate / sum.n_job : sum.rate, unit,
                   rule == NULL ? "" : rule->name, sum.method);
    return true;
}
