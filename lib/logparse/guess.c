/* See guess.h. */
#include "logparse/guess.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "logparse/shipped_rules.h"

struct count {
    const struct log_rule *rule;
    uint64_t n_lines, n_bytes;
};

static void on_figure(void *ctx, const struct log_figure *figure)
{
    struct count *count = ctx;
    const struct log_line_rule *line = &count->rule->lines.items[figure->line];
    if (line->kind == LOG_KIND_INFO && count->rule->format == LOG_RULE_LINES) {
        return;
    }
    count->n_bytes += figure->n_bytes;
    count->n_lines++;
}

int log_guess_try(const struct log_rule *rule, const char *text, size_t len,
                  const struct log_parser_params *who, struct log_guess *ret)
{
    struct count count = {.rule = rule};
    struct log_parser_params params = *who;
    params.rule = rule;
    params.warmup_steps = 0;
    params.on_figure = on_figure;
    params.ctx = &count;
    struct log_parser *p = log_parser_new(&params);
    log_parser_read(p, text, len);
    const struct log_reading *reading = log_parser_reading(p);
    struct log_result result;
    const bool has_figure = log_parser_result(p, &result) == 0;
    const bool is_withheld = reading->verdict == LOG_VERDICT_WITHHELD;
    *ret = (struct log_guess){
        .rule = rule->name, .n_lines = count.n_lines, .witness = reading->witness};
    if (has_figure) {
        ret->rate = result.rate;
        ret->unit = result.unit;
        ret->is_time = result.unit == UNIT_RUNS && !log_pattern_has(result.line->pattern, LOG_RATE);
        summary_done(&result.summary);
    }
    const char *refusal = log_parser_mlperf(p)->refusal; /* of a log with its events */
    text_put(ret->why, sizeof(ret->why), "%s",
             is_withheld                            ? reading->why
             : refusal != NULL && count.n_lines > 0 ? refusal
                                                    : "");
    const bool is_refused = ret->why[0] != '\0';
    /* A sign is in all rules' way. */
    const bool is_sign = is_withheld && reading->witness != LOG_WITNESS_DISAGREES;
    /* The time of a whole run is printed by many programs: any stated rate says more. A figure
     * that the pace of its lines confirms comes before one that nothing confirms, and samples
     * before steps. */
    const double merits[LOG_GUESS_MERITS] = {!is_refused || is_sign,
                                             !ret->is_time,
                                             has_figure && ret->witness == LOG_WITNESS_AGREES,
                                             ret->unit != UNIT_STEPS,
                                             (double)count.n_lines,
                                             (double)count.n_bytes,
                                             (double)rule->lines.len};
    (void)memcpy(ret->merits, merits, sizeof(merits));
    log_parser_free(p);
    return has_figure ? 0 : is_refused ? -EBADMSG : -ENOENT;
}

static bool is_better(const struct log_guess *a, const struct log_guess *b)
{
    size_t i = 0;
    while (i + 1 < LOG_GUESS_MERITS && a->merits[i] == b->merits[i]) {
        i++;
    }
    return a->merits[i] > b->merits[i];
}

int log_guess_rule(const char *text, size_t len, const struct log_parser_params *who,
                   struct log_guess *ret)
{
    struct log_guess best = {0};
    for (size_t i = 0; i < log_shipped_count; i++) {
        struct log_rule *rule = log_shipped_load(log_shipped[i].name);
        struct log_guess guess;
        if (log_guess_try(rule, text, len, who, &guess) != -ENOENT) {
            guess.rule = log_shipped[i].name; /* outlives the rule */
            if (best.rule == NULL || is_better(&guess, &best)) {
                best = guess;
            }
        }
        log_rule_free(rule);
    }
    if (best.rule == NULL) {
        return -ENOENT;
    }
    *ret = best;
    return best.why[0] == '\0' ? 0 : -EBADMSG;
}
