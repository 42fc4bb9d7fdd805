/* See try_seen.h. */
#include "ctl/try/try_seen.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/vec_walk.h"
#include "logparse/advice.h"
#include "logparse/guess.h"
#include "logparse/lines.h"
#include "logparse/rule.h"
#include "logparse/suggest.h"
#include "result/number.h"
#include "spec/log_rule.h"

#define OUTPUT_BYTES_MAX ((size_t)4 << 20)
/* A trainer that is so many steps further than it must be, and printed them in so much time, is the
 * only one that prints: others may keep their lines in a buffer for a while. */
#define ALONE_STEPS 27
#define ALONE_NS INT64_C(3000000000)
/* The pace is known after so many lines and so much time; slow steps have few lines. */
#define PACE_STEPS (LOG_PACE_MIN_LINES + 2)
#define PACE_NS INT64_C(1300000000)
#define SLOW_NS INT64_C(5000000000)
#define BURST_NS 1000000 /* steps that came all at once have no pace, however many follow */
/* The definition's rule reads nothing of an output that is so old. */
#define UNREAD_NS INT64_C(20000000000)

static const struct point *point_of(const struct try_seen *seen)
{
    return &seen->def->matrix.points[0];
}

static const struct log_rule *rule_of(const struct try_seen *seen)
{
    return seen->def->spec->systems.items[0].log;
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
        buf_done(&seen->list[i].output);
        vec_done(&seen->list[i].parts);
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

/* ---- what comes ---- */

/* Does a line of kind Step speak for all trainers? */
static bool has_job_steps(const struct log_rule *rule)
{
    return rule != NULL && vec_any(&rule->lines, line,
                                   line->kind == LOG_KIND_STEP && line->scope != LOG_SCOPE_REPLICA);
}

/* Does it have its steps, and the pace of those after the warm-up? */
static bool has_enough(const struct try_seen *seen, const struct try_replica *r, int64_t wanted)
{
    const int64_t n = r->steps - seen->unpaced_steps;
    if (r->steps < wanted || rule_of(seen) == NULL) {
        return r->steps >= wanted;
    }
    const double ns = (double)(r->last_t_ns - r->first_t_ns) * (double)n / (double)r->steps;
    return ns < BURST_NS || ns >= SLOW_NS || (ns >= PACE_NS && n >= PACE_STEPS);
}

bool try_seen_record(struct try_seen *seen, const struct replica_id *id,
                     const struct record *record)
{
    struct try_replica *r = replica_of(seen, id);
    if (r == NULL || record->type != RECORD_STEP || record->step.warmup) {
        return false;
    }
    r->first_t_ns = r->steps++ == 0 ? record->step.t_ns : r->first_t_ns;
    r->last_t_ns = record->step.t_ns;
    r->samples += record->step.samples;
    r->s += (double)record->step.step_ns / 1e9;
    const struct log_rule *rule = rule_of(seen);
    /* A program that writes records ends by itself after its steps, and its summary says more. */
    const int64_t wanted = seen->steps + (rule == NULL ? 1 : 0);
    const bool is_alone =
        r->steps >= wanted + ALONE_STEPS && r->last_t_ns - r->first_t_ns >= ALONE_NS;
    if (is_alone || (has_job_steps(rule) && has_enough(seen, r, wanted))) {
        return true;
    }
    return array_all(seen->list, seen->n, it, has_enough(seen, it, wanted));
}

/* Reads a growing output now and then. */
static bool is_readable(struct try_seen *seen, struct try_replica *r, int64_t now_ns)
{
    if (!seen->learns || r->steps > 0 || now_ns - r->parts.items[0].t_ns < UNREAD_NS ||
        r->output.len < r->checked + r->checked / 4) {
        return false;
    }
    r->checked = r->output.len;
    struct log_arrivals arrivals;
    const struct log_parser_params params =
        try_seen_params(seen, (uint32_t)(r - seen->list), &arrivals);
    struct log_guess guess;
    struct log_suggestion made;
    _cleanup_(buf_done) struct buf rule = BUF_INIT;
    const uint64_t wanted = (uint64_t)seen->steps;
    return (log_guess_rule(r->output.data, r->output.len, &params, &guess) == 0 &&
            guess.n_lines >= wanted) ||
           (log_suggest_rule(r->output.data, r->output.len, &params, &made, &rule) == 0 &&
            made.guess.n_lines >= wanted);
}

bool try_seen_output(struct try_seen *seen, const struct replica_id *id,
                     const struct replica_text *text)
{
    struct try_replica *r = replica_of(seen, id);
    if (r == NULL || text->len == 0 || r->output.len >= OUTPUT_BYTES_MAX) {
        return false;
    }
    const char last = r->output.len == 0 ? '\n' : r->output.data[r->output.len - 1];
    if (r->is_stderr != text->is_stderr && last != '\n' && last != '\r') {
        buf_putc(&r->output, '\n'); /* two streams share no line */
    }
    r->is_stderr = text->is_stderr;
    buf_append(&r->output, text->data, text->len);
    *vec_push(&r->parts) = (struct log_arrival){r->output.len, text->t_ns};
    return is_readable(seen, r, text->t_ns);
}

void try_seen_stored(struct try_seen *seen, const struct replica_id *id, const char *text,
                     size_t len)
{
    struct try_replica *r = replica_of(seen, id);
    /* The last line of each stream got a newline where it had none. */
    if (r != NULL && len > r->output.len + LOG_STREAM_COUNT) {
        buf_clear(&r->output);
        buf_append(&r->output, text, len);
        vec_done(&r->parts);
    }
}

/* ---- one output ---- */

struct log_parser_params try_seen_params(const struct try_seen *seen, uint32_t index,
                                         struct log_arrivals *arrivals)
{
    const struct replica_id id = id_of(seen, index);
    const struct try_replica *r = &seen->list[index];
    struct log_parser_params params = log_rule_params(seen->def, &id);
    *arrivals = (struct log_arrivals){buf_cstr(&r->output), r->parts.items, r->parts.len};
    params.arrivals = arrivals;
    params.warmup_steps = seen->warmup_steps;
    return params;
}

struct counting {
    const struct log_rule *rule;
    struct try_reading *reading;
};

static void on_figure(void *ctx, const struct log_figure *f)
{
    const struct counting *c = ctx;
    const struct log_line_rule *line = &c->rule->lines.items[f->line];
    if (line->kind != LOG_KIND_INFO && f->rank <= 0 &&
        !(line->kind == LOG_KIND_STEP && isnan(f->steps))) {
        c->reading->rule_line = f->line;
        c->reading->kind = line->kind;
        c->reading->is_rate =
            log_pattern_has(line->pattern, LOG_RATE) || log_pattern_has(line->pattern, LOG_SAMPLES);
        c->reading->n_lines++;
        c->reading->n_numbered += !isnan(f->step);
    }
}

struct finding {
    struct try_reading *reading;
    uint64_t n;
};

static void on_line(void *ctx, const char *line, size_t len)
{
    struct finding *f = ctx;
    if (++f->n == f->reading->number) {
        text_put(f->reading->line, sizeof(f->reading->line), "%.*s", (int)len, line);
    }
}

void try_reading_done(struct try_reading *r)
{
    log_parser_free(r->parser);
    *r = (struct try_reading){0};
}

static void read_records(const struct try_replica *r, struct try_reading *ret)
{
    ret->has_figure = r->steps > 0 && r->s > 0;
    ret->rate = ret->has_figure ? r->samples / r->s : NAN;
    ret->steps = r->steps;
    ret->unit = summary_unit_names[UNIT_SAMPLES];
}

void try_seen_read(const struct try_seen *seen, uint32_t index, struct try_reading *ret)
{
    const struct try_replica *r = &seen->list[index];
    struct log_arrivals arrivals;
    struct log_parser_params params = try_seen_params(seen, index, &arrivals);
    *ret = (struct try_reading){.rate = NAN, .kind = LOG_KIND_STEP};
    if (params.rule == NULL) {
        read_records(r, ret);
        return;
    }
    struct counting counting = {params.rule, ret};
    params.on_figure = on_figure;
    params.ctx = &counting;
    ret->parser = log_parser_new(&params);
    log_parser_read(ret->parser, buf_cstr(&r->output), r->output.len);
    vec_each (const struct log_span, span, &log_parser_reading(ret->parser)->spans) {
        const bool has_value = span->use == LOG_USE_STEP || span->use == LOG_USE_SUMMARY;
        ret->number = has_value ? span->last : ret->number;
    }
    log_lines_each(buf_cstr(&r->output), r->output.len, on_line, &(struct finding){ret, 0});
    struct log_result result;
    ret->has_figure = log_parser_result(ret->parser, &result) == 0;
    if (ret->has_figure) {
        ret->rate = result.rate;
        ret->is_job = result.summary.source.is_job;
        ret->steps = ret->kind == LOG_KIND_STEP ? (int64_t)result.summary.steps : 0;
        ret->unit = summary_unit_names[result.unit];
        text_put(ret->method, sizeof(ret->method), "%s", result.summary.source.method);
        summary_done(&result.summary);
    }
}

/* ---- what it says ---- */

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

/* Programs that no profile connects, and that no variable of benchd's reaches. */
static bool are_copies(const struct try_seen *seen)
{
    const struct system *system = &seen->def->spec->systems.items[0];
    const json_t *spec = json_object_get(seen->def->spec->definition, "spec");
    const json_t *item = json_array_get(json_object_get(spec, "systems"), system->item);
    _cleanup_(freep) char *text = json_dumps(item, JSON_COMPACT);
    return seen->n > 1 && str_eq(system->profile, "none") && system->rendezvous.vars.len == 0 &&
           !system->has_launcher && (text == NULL || strstr(text, "BENCHD_") == NULL);
}

static void explain(const struct try_seen *seen, uint32_t index, const struct try_reading *t,
                    struct buf *out)
{
    const struct try_replica *r = &seen->list[index];
    struct log_arrivals arrivals;
    const struct log_parser_params params = try_seen_params(seen, index, &arrivals);
    buf_printf(out, "%s/%u: ", role_to_string(id_of(seen, index).role), index);
    if (t->parser == NULL) {
        log_explain_unread(buf_cstr(&r->output), r->output.len, &params, out);
        return;
    }
    log_parser_explain(t->parser, out);
    log_advise(buf_cstr(&r->output), r->output.len, &params, out);
}

static void explain_missing(const struct try_seen *seen, const struct try_reading *list,
                            uint32_t n_missing, struct buf *out)
{
    const struct try_reading *missing = array_find(list, seen->n, it, !it->has_figure);
    if (n_missing < seen->n) {
        const char *role = role_to_string(id_of(seen, 0).role);
        buf_printf(out,
                   "%u of %u %ss printed figures; where one prints for all, add `scope: Each` "
                   "to the line of the rule (`scope: Job` if its figure is of all together)\n",
                   seen->n - n_missing, seen->n, role);
    }
    explain(seen, (uint32_t)(missing - list), missing, out);
}

bool try_seen_format(const struct try_seen *seen, struct buf *out)
{
    _cleanup_(freep) struct try_reading *list = xnew_array(struct try_reading, seen->n);
    double rate = 0, job_rate = 0;
    uint32_t n_missing = 0, n_job = 0;
    const struct try_reading *said = NULL;
    for (uint32_t i = 0; i < seen->n; i++) {
        struct try_reading *t = &list[i];
        try_seen_read(seen, i, t);
        said = said == NULL && t->has_figure ? t : said;
        n_missing += !t->has_figure;
        n_job += t->has_figure && t->is_job;
        *(t->is_job ? &job_rate : &rate) += t->has_figure ? t->rate : 0;
    }
    const bool has_figure = n_missing == 0 || n_job > 0;
    if (has_figure) {
        _cleanup_(freep) char *unit = xasprintf("%s/s", said->unit);
        try_put_figure(out, said->steps, n_job > 0 ? job_rate / n_job : rate, unit,
                       rule_of(seen) == NULL ? "" : rule_of(seen)->name, said->method);
    } else {
        explain_missing(seen, list, n_missing, out);
    }
    if (has_figure && said->parser != NULL) {
        log_reading_format(log_parser_reading(said->parser), out);
    }
    if (has_figure && !said->is_rate && said->kind == LOG_KIND_STEP && said->parser != NULL &&
        str_eq(said->unit, summary_unit_names[UNIT_SAMPLES])) {
        buf_printf(out, "  batch: %lld samples a step, by batchSize alone; no line confirms it\n",
                   (long long)point_of(seen)->batch_size);
    }
    if (has_figure && n_missing == 0 && n_job == 0 && are_copies(seen)) {
        buf_printf(out,
                   "  %u independent copies, as far as the definition shows: profile none does "
                   "not connect the processes\n",
                   seen->n);
    }
    for (uint32_t i = 0; i < seen->n; i++) {
        try_reading_done(&list[i]);
    }
    return has_figure;
}
