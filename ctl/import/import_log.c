/* One old log: read from its file, it becomes what the store has of a trainer that ended well. */
#include <inttypes.h>

#include "base/str.h"
#include "core/record.h"
#include "ctl/import/import.h"
#include "logparse/guess.h"
#include "logparse/lines.h"

/* A stamp before it is a time of day, or a month and a day, of an unknown year. */
#define FIRST_DATE_NS (INT64_C(631152000) * 1000000000) /* 1990 */
#define FIX_ALONE                                                                                  \
    "name the logs of all, separated by commas; if one process prints for all, take the '#' from " \
    "'scope: Job,' (its figure is that of all) or 'scope: Each,' (it is that of each) in the "     \
    "rule that --write-rule FILE writes"

struct import_log *import_log_new(const char *path)
{
    struct import_log *l = xnew(struct import_log);
    l->path = xstrdup(path);
    return l;
}

void import_log_free(struct import_log *l)
{
    if (l != NULL) {
        log_parser_free(l->parser);
        buf_done(&l->head);
        capture_done(&l->capture);
        json_decref(l->environment);
        summary_free(l->summary);
        free(l->path);
        free(l);
    }
}

/* ---- the file ---- */

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

/* Its first bytes show whether its lines have labels. */
static void parse_head(struct import_log *l)
{
    l->params.is_labelled = log_is_labelled(buf_cstr(&l->head), l->head.len, l->params.trainers);
    l->parser = log_parser_new(&l->params);
    log_parser_feed(l->parser, LOG_STDOUT, buf_cstr(&l->head), l->head.len, 0);
    buf_done(&l->head);
}

static void on_bytes(void *ctx, const char *data, size_t len)
{
    struct import_log *l = ctx;
    capture_feed(&l->capture, CAPTURE_STDOUT, data, len);
    if (l->parser != NULL) {
        log_parser_feed(l->parser, LOG_STDOUT, data, len,
                        0); /* only it can say when it was printed */
        return;
    }
    buf_append(&l->head, data, len);
    if (l->head.len >= IMPORT_HEAD_BYTES) {
        parse_head(l);
    }
}

/* ---- its figure ---- */

static bool has_other_batch(const struct import_log *l)
{
    const int64_t said = l->params.batch_size;
    return l->batch > 0 && said > 0 && (int64_t)l->batch != said;
}

/* One log of several trainers has to have the figures of all of them. */
static void take_figure(struct import_log *l, bool is_only)
{
    struct log_result r;
    if (log_parser_result(l->parser, &r) < 0) {
        return;
    }
    const bool is_of_many = l->params.trainers > 1;
    bool *const is_job = &r.summary.source.is_job;
    const bool has_all = *is_job || (is_only && (int64_t)r.n_ranks == l->params.trainers);
    if (!has_other_batch(l) && (has_all || !is_only || !is_of_many)) {
        *is_job = *is_job || (has_all && is_of_many);
        l->summary = xmemdup(&r.summary, sizeof(r.summary));
        l->steps = r.summary.steps;
        return;
    }
    summary_done(&r.summary);
}

int import_log_read(struct import_log *l, const struct log_parser_params *params, size_t max_bytes,
                    bool is_only, struct err *err)
{
    l->params = *params;
    l->params.on_figure = on_figure;
    l->params.ctx = l;
    l->id.role = params->role;
    capture_init(&l->capture, max_bytes, NULL, NULL);
    const int r = import_file_read(l->path, on_bytes, l, &l->file, err);
    if (l->parser == NULL) {
        parse_head(l);
    }
    log_parser_end(l->parser, 0);
    capture_end(&l->capture);
    if (r >= 0) {
        take_figure(l, is_only);
    }
    return r;
}

/* ---- no figure ---- */

/* The batch, another warm-up, another rule, or one made of a line. Owned; NULL if no line looks
 * like a figure. */
static char *find_fix(struct import_log *l)
{
    size_t len;
    const char *text = capture_text(&l->capture, &len);
    struct log_guess guess;
    if (log_guess_try(l->params.rule, text, len, &l->params, &guess) == 0) {
        return xasprintf("add --warmup 0, and the start of the program is in the figure: all lines "
                         "are in the first %" PRId64 " steps",
                         l->params.warmup_steps);
    }
    if (log_guess_rule(text, len, &l->params, &guess) == 0 &&
        !str_eq(guess.rule, l->params.rule->name)) {
        return xasprintf("--rules %s reads %" PRIu64 " line%s of it", guess.rule, guess.n_lines,
                         guess.n_lines == 1 ? "" : "s");
    }
    return import_suggest_fix(text, len, &l->params);
}

static enum exit_code explain_no_figure(struct import_log *l)
{
    const struct log_reading *reading = log_parser_reading(l->parser);
    _cleanup_(buf_done) struct buf why = BUF_INIT;
    log_parser_explain(l->parser, &why);
    _cleanup_(freep) char *fix =
        reading->verdict == LOG_VERDICT_WITHHELD
            ? xstrdup(import_remedy(reading->witness == LOG_WITNESS_DISAGREES))
            : find_fix(l);
    return cli_error(EXIT_USAGE, fix, "%s: %.*s", l->path, (int)why.len - 1, buf_cstr(&why));
}

enum exit_code import_log_explain(struct import_log *l)
{
    struct log_result r;
    if (log_parser_result(l->parser, &r) < 0) {
        return explain_no_figure(l);
    }
    const unsigned n_ranks = r.n_ranks;
    summary_done(&r.summary);
    if (has_other_batch(l)) {
        _cleanup_(freep) char *fix =
            xasprintf("write --batch %.0f, or batch_size=%.0f before the file", l->batch, l->batch);
        return cli_error(EXIT_USAGE, fix,
                         "%s: it says that a step has %.0f samples, but batch_size is %" PRId64,
                         l->path, l->batch, l->params.batch_size);
    }
    if (n_ranks > 1) {
        return cli_error(EXIT_USAGE,
                         "say how many trained, or name the logs of all, separated by commas",
                         "%s: it has the figures of %u ranks, but %" PRId64 " trained", l->path,
                         n_ranks, l->params.trainers);
    }
    const struct log_reading *reading = log_parser_reading(l->parser);
    return cli_error(EXIT_USAGE, FIX_ALONE,
                     "%s: by the rule %s it has the figure of one process, from line %" PRIu64
                     " on, but %" PRId64 " trained",
                     l->path, l->params.rule->name,
                     reading->spans.len > 0 ? reading->spans.items[0].first : 0,
                     l->params.trainers);
}
