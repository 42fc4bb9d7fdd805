/* Which line of the rule matches a line of the log, in bounded time. See parser_internal.h. */
#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "logparse/parser_internal.h"

#define SLOW_LINE_NS 1000000 /* usual lines take some microseconds */
#define SLOW_LINES_MAX_NS 10000000
#define SLOW_LINE_TRIES 3

static bool is_comment(const char *text, size_t len)
{
    const char *sign = memchr(text, '#', len);
    return sign != NULL && array_all(text, (size_t)(sign - text), c, *c == ' ');
}

/* Called again for the same line, it changes nothing more. */
static void find_line(struct log_parser *p, const char *text, size_t len, struct log_found *ret)
{
    const struct log_rule *rule = p->params.rule;
    struct log_match *match = &ret->match;
    ret->r = 0;
    ret->n_given_up = 0;
    log_versions_keep(p, text, len);
    ret->restarts =
        rule->restart != NULL && log_matcher_run(p->matcher, rule->restart, text, len, match) > 0;
    if (rule->end != NULL && !p->has_ended) {
        p->has_ended = log_matcher_run(p->matcher, rule->end, text, len, match) > 0;
    }
    if (rule->header != NULL && is_comment(text, len)) {
        p->is_below = (p->is_below && p->was_comment) ||
                      log_matcher_run(p->matcher, rule->header, text, len, match) > 0;
    }
    p->was_comment = is_comment(text, len);
    const size_t n = rule->header == NULL || p->is_below ? rule->lines.len : 0;
    for (size_t i = 0; i < n && ret->r == 0; i++) {
        const struct log_line_rule *l = &rule->lines.items[i];
        const int r = !l->roles[p->params.role]
                          ? 0
                          : log_matcher_run(p->matcher, l->pattern, text, len, match);
        ret->r = r == -E2BIG ? 0 : r;
        ret->n_given_up += r == -E2BIG;
        ret->index = i;
    }
}

/* The clock also counts what interrupts take, and on a virtual machine what other machines of its
 * host take. So a slow line is tried again: its patterns are slow if they are so each time. */
void log_find(struct log_parser *p, const char *text, size_t len, struct log_found *ret)
{
    int64_t (*const cpu_ns)(void) = p->params.cpu_ns;
    const int64_t left_ns = SLOW_LINES_MAX_NS - p->slow_ns;
    struct log_found other;
    int64_t least_ns = INT64_MAX;
    ret->r = -ETIME;
    for (int i = 0; i < SLOW_LINE_TRIES && least_ns >= SLOW_LINE_NS; i++) {
        const int64_t begin_ns = cpu_ns == NULL ? 0 : cpu_ns();
        log_matcher_limit(p->matcher, cpu_ns,
                          begin_ns + (left_ns > SLOW_LINE_NS ? left_ns : SLOW_LINE_NS));
        find_line(p, text, len, ret->r == -ETIME ? ret : &other);
        const int64_t took_ns = cpu_ns == NULL ? 0 : cpu_ns() - begin_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    p->slow_ns += least_ns >= SLOW_LINE_NS ? least_ns : 0;
    p->n_lines_read = p->slow_ns >= SLOW_LINES_MAX_NS ? p->n_lines : 0;
}
