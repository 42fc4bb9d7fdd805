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

static enum role role_of(const struct try_seen *seen)
{
    return point_leading_role(&seen->def->matrix.points[0]);
}

void try_seen_init(struct try_seen *seen, const struct run_def *def, int64_t steps)
{
    *seen = (struct try_seen){.def = def, .steps = def->spec->warmup_steps + steps};
    seen->n = def->matrix.points[0].replicas[role_of(seen)];
    seen->list = xnew_array(struct try_output, seen->n);
}

void try_seen_done(struct try_seen *seen)
{
    for (uint32_t i = 0; i < seen->n; i++) {
        buf_done(&seen->list[i].text);
        vec_done(&seen->list[i].parts);
    }
    free(seen->list);
}

struct try_output *try_seen_output_of(const struct try_seen *seen, const struct replica_id *id)
{
    return id->role == role_of(seen) && id->index < seen->n ? &seen->list[id->index] : NULL;
}

/* ---- steps ---- */

/* How long the steps took that remain after the warm-up. Lines without a number all count as
 * measured, and the first of them will be the warm-up. */
static double measured_ns(const struct try_seen *seen, const struct try_output *o)
{
    const double n = (double)(o->steps - seen->def->spec->warmup_steps);
    return (double)(o->last_t_ns - o->first_t_ns) * n / (double)o->measured;
}

/* Does it have its steps, and the pace of those after the warm-up? */
static bool has_enough(const struct try_seen *seen, const struct try_output *o)
{
    const double ns = measured_ns(seen, o); /* NaN without a measured step */
    const int64_t n = o->steps - seen->def->spec->warmup_steps;
    return o->steps >= seen->steps &&
           (ns < BURST_NS || ns >= SLOW_NS || (ns >= PACE_NS && n >= PACE_STEPS));
}

bool try_seen_record(struct try_seen *seen, const struct replica_id *id,
                     const struct record *record)
{
    const struct log_rule *rule = seen->def->spec->systems.items[0].log;
    struct try_output *o = try_seen_output_of(seen, id);
    if (o == NULL || record->type != RECORD_STEP || rule == NULL) {
        return false;
    }
    o->steps++;
    if (!record->step.warmup) {
        o->first_t_ns = o->measured++ == 0 ? record->step.t_ns : o->first_t_ns;
        o->last_t_ns = record->step.t_ns;
    }
    if (rule->end != NULL || !has_enough(seen, o)) {
        return false; /* such a rule reads only what has come to its end */
    }
    const bool is_alone = measured_ns(seen, o) >= ALONE_NS ||
                          vec_any(&rule->lines, line,
                                  line->kind == LOG_KIND_STEP && line->scope != LOG_SCOPE_REPLICA);
    return array_all(seen->list, seen->n, it, has_enough(seen, it) || (is_alone && it->steps == 0));
}

/* ---- text ---- */

struct log_parser_params try_seen_params(const struct try_seen *seen, uint32_t index,
                                         struct log_arrivals *arrivals)
{
    const struct try_output *o = &seen->list[index];
    const struct replica_id id = {.role = role_of(seen), .index = index};
    struct log_parser_params params = log_rule_params(seen->def, &id);
    *arrivals = (struct log_arrivals){buf_cstr(&o->text), o->parts.items, o->parts.len};
    params.arrivals = arrivals;
    return params;
}

uint64_t try_seen_find_rule(const struct try_seen *seen, uint32_t index, struct buf *out)
{
    const struct buf *text = &seen->list[index].text;
    struct log_arrivals arrivals;
    struct log_parser_params params = try_seen_params(seen, index, &arrivals);
    struct log_guess shipped;
    struct log_suggestion made;
    params.warmup_steps = 0;
    if (log_guess_rule(buf_cstr(text), text->len, &params, &shipped) == 0 &&
        shipped.unit != UNIT_RUNS) {
        buf_puts(out, shipped.rule);
        return shipped.n_lines;
    }
    const int r = log_suggest_rule(buf_cstr(text), text->len, &params, &made, out);
    return r == 0 ? made.guess.n_lines : 0;
}

/* Searches a growing output for a rule now and then. */
static bool is_readable(const struct try_seen *seen, struct try_output *o, int64_t now_ns)
{
    _cleanup_(buf_done) struct buf rule = BUF_INIT;
    if (o->steps > 0 || now_ns - o->parts.items[0].t_ns < UNREAD_NS ||
        o->text.len < o->checked + o->checked / 4) {
        return false;
    }
    o->checked = o->text.len;
    return try_seen_find_rule(seen, (uint32_t)(o - seen->list), &rule) >= (uint64_t)seen->steps;
}

bool try_seen_text(struct try_seen *seen, const struct replica_id *id,
                   const struct replica_text *text)
{
    struct try_output *o = try_seen_output_of(seen, id);
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
    return is_readable(seen, o, text->t_ns);
}
