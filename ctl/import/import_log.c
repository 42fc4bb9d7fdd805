/* See import_log.h. */
#include "ctl/import/import_log.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/record.h"
#include "logparse/guess.h"
#include "logparse/line_use.h"
#include "logparse/miss.h"
#include "logparse/signs.h"

/* A stamp before it is a time of day, or a month and a day, of an unknown year. */
#define FIRST_DATE_NS (INT64_C(631152000) * 1000000000) /* 1990 */

static void on_figure(void *ctx, const struct log_figure *f)
{
    struct import_log *l = ctx;
    const struct log_line_rule *line = &l->params.rule->lines.items[f->line];
    if (f->t_ns >= FIRST_DATE_NS) {
        l->first_ns = l->first_ns == 0 || f->t_ns < l->first_ns ? f->t_ns : l->first_ns;
        l->last_ns = f->t_ns > l->last_ns ? f->t_ns : l->last_ns;
    }
    if (line->kind == LOG_KIND_INFO && line->scope == LOG_SCOPE_REPLICA && f->batch > 0) {
        l->batch = f->batch; /* lines of steps may have the short last batch of an epoch */
    }
}

struct import_log *import_log_new(const struct log_parser_params *params,
                                  const struct replica_id *id, size_t max_bytes)
{
    struct import_log *l = xnew(struct import_log);
    l->id = *id;
    l->params = *params;
    l->params.on_figure = on_figure;
    l->params.ctx = l;
    l->parser = log_parser_new(&l->params);
    capture_init(&l->capture, max_bytes, NULL, NULL);
    return l;
}

void import_log_free(struct import_log *l)
{
    if (l != NULL) {
        log_parser_free(l->parser);
        capture_done(&l->capture);
        free(l->summary_line);
        buf_done(&l->why);
        free(l->fix);
        free(l);
    }
}

static void on_bytes(void *ctx, const char *data, size_t len)
{
    struct import_log *l = ctx;
    log_parser_feed(l->parser, LOG_STDOUT, data, len, 0); /* when it was printed, only it can say */
    capture_feed(&l->capture, CAPTURE_STDOUT, data, len);
}

int import_log_read(struct import_log *l, const char *path, const char **ret_fix, struct err *err)
{
    l->path = path;
    return import_file_read(path, on_bytes, l, &l->file, ret_fix, err);
}

/* ---- no figure ---- */

const char *import_log_remedy(bool disagrees)
{
    return disagrees ? "say the batch with --batch N, or write a rule with another scope: "
                       "docs/log-rules.md#two-witnesses"
                     : "give the log of a run that ended well, or a copy of its good lines";
}

int import_log_suggest(const char *text, size_t len, const struct log_parser_params *who,
                       struct log_suggestion *ret, struct buf *out)
{
    const int r = log_suggest_rule(text, len, who, ret, out);
    if (r == 0 && log_names_evaluation(buf_cstr(out))) {
        buf_clear(out); /* it would read evaluations */
        ret->doubt = "it is of an evaluation";
        return -ENOENT;
    }
    return r;
}

/* What to do; owned. NULL: no line is a figure for sure. */
static char *suggest(const char *text, size_t len, const struct log_parser_params *who)
{
    _cleanup_(buf_done) struct buf rule = BUF_INIT;
    struct log_suggestion suggestion;
    return import_log_suggest(text, len, who, &suggestion, &rule) < 0
               ? NULL
               : xasprintf("line %llu looks like one: --write-rule FILE writes a rule for such "
                           "lines, for example %s, and --rules FILE takes it",
                           (unsigned long long)suggestion.number, buf_cstr(&rule));
}

char *import_log_unread(const char *text, size_t len, const struct log_parser_params *who,
                        char **ret_fix)
{
    char *sign = log_signs_in(text, len);
    if (sign != NULL) {
        *ret_fix = xstrdup(import_log_remedy(false));
        return sign;
    }
    const struct log_quote line = log_miss_commonest(text, len);
    *ret_fix = suggest(text, len, who);
    if (line.number == 0) {
        return xstrdup("no line of it has a number");
    }
    struct buf why = BUF_INIT;
    buf_printf(&why, "most of its lines are like line %llu: ", (unsigned long long)line.number);
    buf_put_utf8(&why, line.text, sizeof(line.text));
    return buf_take(&why);
}

/* The batch, another warm-up, another rule, or one made from a line. Owned; NULL: nothing
 * looks like a figure. */
static char *find_fix(struct import_log *l)
{
    size_t len;
    const char *text = capture_text(&l->capture, &len);
    struct log_guess guess;
    if (log_guess_try(l->params.rule, text, len, &l->params, &guess) == 0) {
        return xasprintf("add --warmup N: all its figures are in the first %" PRId64 " steps",
                         l->params.warmup_steps);
    }
    if (log_guess_rule(text, len, &l->params, &guess) == 0 &&
        !str_eq(guess.rule, l->params.rule->name)) {
        return xasprintf("--rules %s reads %llu line%s of it", guess.rule,
                         (unsigned long long)guess.n_lines, guess.n_lines == 1 ? "" : "s");
    }
    return suggest(text, len, &l->params);
}

/* Its figures are those of one process, and there are others. */
static void explain_alone(struct import_log *l, const struct log_result *r)
{
    const struct log_reading *reading = log_parser_reading(l->parser);
    const uint64_t first = reading->spans.len > 0 ? reading->spans.items[0].first : 0;
    if (r->n_ranks > 1) {
        buf_printf(&l->why, "it has the figures of %u ranks, but %" PRId64 " trained\n", r->n_ranks,
                   l->params.trainers);
    } else {
        buf_printf(&l->why,
                   "by the rule %s it has the figure of one process, from line %" PRIu64
                   " on, but %" PRId64 " trained\n",
                   l->params.rule->name, first, l->params.trainers);
    }
    l->fix = xstrdup("name the logs of all, separated by commas; if one process prints for all, "
                     "--write-rule FILE writes a rule to which you add 'scope: Job' (its figure is "
                     "that of all) or 'scope: Each' (it is that of each)");
}

/* ---- the end ---- */

void import_log_end(struct import_log *l, bool speaks_for_all)
{
    log_parser_end(l->parser, 0);
    capture_end(&l->capture);
    size_t len;
    const char *text = capture_text(&l->capture, &len);
    import_shape_read(text, len, l->params.trainers, &l->shape);
    struct log_result r;
    if (log_parser_result(l->parser, &r) < 0) {
        const struct log_reading *reading = log_parser_reading(l->parser);
        log_parser_explain(l->parser, &l->why);
        l->fix = reading->verdict == LOG_VERDICT_WITHHELD
                     ? xstrdup(import_log_remedy(reading->witness == LOG_WITNESS_DISAGREES))
                     : find_fix(l);
        return;
    }
    bool *const is_job = &r.summary.source.is_job;
    const bool has_all = *is_job || (speaks_for_all && (int64_t)r.n_ranks == l->params.trainers);
    const int64_t said = l->params.batch_size;
    if (l->batch > 0 && said > 0 && (int64_t)l->batch != said) {
        buf_printf(&l->why, "it says that a step has %.0f samples, but batch_size is %" PRId64 "\n",
                   l->batch, said);
        l->fix =
            xasprintf("write --batch %.0f, or batch_size=%.0f before the file", l->batch, l->batch);
    } else if (speaks_for_all && l->params.trainers > 1 && !has_all) {
        explain_alone(l, &r);
    } else {
        *is_job = *is_job || (has_all && l->params.trainers > 1);
        const struct record_who who = {l->id.role, l->id.index, l->id.attempt.number};
        l->summary_line = log_result_to_record(&r, &who);
        l->steps = r.summary.steps;
    }
    summary_done(&r.summary);
}
