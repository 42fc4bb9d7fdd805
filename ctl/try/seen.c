/* The outputs of a trial while it runs, and when enough of them is known. See try.h. */
#include "base/mem.h"
#include "base/vec_walk.h"
#include "ctl/try/try.h"
#include "logparse/guess.h"
#include "logparse/suggest.h"
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
/* The definition's rule reads nothing of an output that is so old. */
#define UNREAD_NS INT64_C(20000000000)

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
    return o->steps >= t->steps &&
           (ns < BURST_NS || ns >= SLOW_NS || (ns >= PACE_NS && n >= PACE_STEPS));
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
    if (rule->end != NULL || !has_enough(t, o)) {
        return false; /* such a rule reads only what has come to its end */
    }
    const bool is_alone = measured_ns(t, o) >= ALONE_NS ||
                          vec_any(&rule->lines, line,
                                  line->kind == LOG_KIND_STEP && line->scope != LOG_SCOPE_REPLICA);
    return array_all(t->list, t->n, it, has_enough(t, it) || (is_alone && it->steps == 0));
}

/* ---- text ---- */

struct log_parser_params try_params(const struct try_trial *t, const struct try_output *o,
                                    struct log_arrivals *arrivals)
{
    const struct replica_id id = {.role = point_leading_role(&t->def->matrix.points[0]),
                                  .index = (uint32_t)(o - t->list)};
    struct log_parser_params params = log_rule_params(t->def, &id);
    *arrivals = (struct log_arrivals){buf_cstr(&o->text), o->parts.items, o->parts.len};
    params.arrivals = arrivals;
    return params;
}

uint64_t try_find_rule(const struct try_trial *t, const struct try_output *o, struct buf *out)
{
    struct log_arrivals arrivals;
    struct log_parser_params params = try_params(t, o, &arrivals);
    struct log_guess shipped;
    struct log_suggestion made;
    params.warmup_steps = 0;
    if (log_guess_rule(buf_cstr(&o->text), o->text.len, &params, &shipped) == 0 &&
        shipped.unit != UNIT_RUNS) {
        buf_puts(out, shipped.rule);
        return shipped.n_lines;
    }
    const int r = log_suggest_rule(buf_cstr(&o->text), o->text.len, &params, &made, out);
    return r == 0 ? made.guess.n_lines : 0;
}

/* Searches a growing output for a rule now and then. */
static bool is_readable(const struct try_trial *t, struct try_output *o, int64_t now_ns)
{
    _cleanup_(buf_done) struct buf rule = BUF_INIT;
    if (o->steps > 0 || now_ns - o->parts.items[0].t_ns < UNREAD_NS ||
        o->text.len < o->checked + o->checked / 4) {
        return false;
    }
    o->checked = o->text.len;
    return try_find_rule(t, o, &rule) >= (uint64_t)t->steps;
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
