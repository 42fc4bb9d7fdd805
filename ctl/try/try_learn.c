/* See try_learn.h. */
#include "ctl/try/try_learn.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "base/vec_walk.h"
#include "doc/tree.h"
#include "logparse/guess.h"
#include "logparse/shipped_rules.h"
#include "logparse/suggest.h"
#include "spec/log_rule.h"

#define WARMUP_PART 5    /* one line of so many is of the warm-up, of an output that is whole */
#define NEAR_MIDDLE 0.95 /* a size so far between those of one worker and of all may be either */

bool try_learn_rule(const struct try_trial *t, bool must_be_made, struct buf *out)
{
    const struct replica_id id = {.role = point_leading_role(&t->small->matrix.points[0])};
    const struct log_parser_params params = log_rule_params(t->small, &id);
    for (uint32_t i = 0; i < t->seen.n && out->len == 0; i++) {
        const struct try_replica *r = &t->seen.list[i];
        struct log_suggestion made = {0};
        struct log_guess shipped;
        if (r->output == NULL) {
            continue;
        }
        (void)log_suggest_rule(r->output, r->len, &params, &made, out); /* -ENOENT: out is empty */
        if (!must_be_made && log_guess_rule(r->output, r->len, &params, &shipped) == 0 &&
            shipped.unit != UNIT_RUNS) {
            /* It is better than a made one, unless it misses the number of the step. */
            struct log_rule *rule = log_shipped_load(shipped.rule);
            const bool misses = log_rule_counts_warmup(rule) && out->len > 0 &&
                                strstr(buf_cstr(out), "(?<step>") != NULL &&
                                made.guess.n_lines >= shipped.n_lines;
            log_rule_free(rule);
            if (!misses) {
                buf_clear(out);
                buf_puts(out, shipped.rule);
            }
        }
    }
    return out->len > 0;
}

/* By the size of a step: with several workers it is that of one, or that of all, whichever is
 * nearer, since a machine that stalls changes the pace. NULL: unknown. */
static const char *scope_of_rate(const struct try_seen *one, const struct try_seen *several,
                                 uint32_t rank)
{
    const double before = try_seen_rate(one, 0) / try_seen_steps_per_s(one);
    const double times = try_seen_rate(several, rank) / try_seen_steps_per_s(several) / before;
    const double n = several->n, slack = sqrt(n) * NEAR_MIDDLE;
    return isnan(times)                             ? NULL
           : times < slack && times > 1 / slack     ? "Each"
           : times / n < slack && n / times < slack ? "Job"
                                                    : NULL;
}

const char *try_learn_scope(const struct try_trial *one, const struct try_trial *several,
                            bool reads_rate, struct buf *said)
{
    const struct try_seen *seen = &several->seen;
    const struct point *point = &several->small->matrix.points[0];
    uint32_t n_with = 0, first = 0;
    for (uint32_t i = 0; i < seen->n; i++) {
        const bool has = !isnan(try_seen_rate(seen, i));
        first = has && n_with == 0 ? i : first;
        n_with += has;
    }
    const char *scope = n_with == 0  ? NULL
                        : reads_rate ? scope_of_rate(&one->seen, seen, first)
                                     : "Each";
    if (scope == NULL || (n_with == seen->n && str_eq(scope, "Each"))) {
        return NULL;
    }
    const char *role = role_to_string(point_leading_role(point));
    buf_printf(said, "scope: %u of %u %ss print%s figures, of %s: %s\n", n_with, seen->n, role,
               n_with == 1 ? "s" : "", str_eq(scope, "Job") ? "all together" : "one", scope);
    return scope;
}

int64_t try_learn_warmup(const struct try_trial *t, int64_t warmup_steps, bool is_made,
                         struct buf *said)
{
    const struct try_lines lines = try_seen_lines(&t->seen);
    const struct log_rule *rule = t->small->spec->systems.items[0].log;
    if (lines.n == 0 || warmup_steps == 0 ||
        vec_any(&rule->lines, line, line->skip.kind != LOG_SKIP_DEFAULT)) {
        return 0;
    }
    if (lines.n == lines.n_numbered) {
        buf_printf(said,
                   "warm-up: the first %lld steps are left out, by the numbers in the lines\n",
                   (long long)warmup_steps);
        return 0;
    }
    const bool is_whole = t->end == TRY_ENDED;
    const int64_t part = lines.n / WARMUP_PART > 1 ? lines.n / WARMUP_PART : 1;
    const int64_t skip = is_whole && part < warmup_steps ? part : warmup_steps;
    buf_printf(said,
               "warm-up: the first %lld of %s%lld lines %s, because they have no number for "
               "measure.warmupSteps\n",
               (long long)skip, is_whole ? "" : "more than ", (long long)lines.n,
               is_made ? "are left out" : "need a 'skip' in a rule of your own");
    return skip;
}

void try_put_rule(const char *rule, const char *scope, int64_t skip, struct buf *out)
{
    const bool is_made = str_has_prefix(rule, LOG_SUGGESTED);
    buf_puts(out, is_made ? LOG_SUGGESTED : rule);
    if (is_made && scope != NULL) {
        buf_printf(out, "scope: %s, ", scope);
    }
    if (is_made && skip > 0) {
        buf_printf(out, "skip: {lines: %lld}, ", (long long)skip);
    }
    buf_puts(out, is_made ? rule + strlen(LOG_SUGGESTED) : "");
}

/* ---- the file ---- */

json_t *try_json_of(const char *text, size_t len)
{
    _cleanup_(diags_done) struct diags diags = {0};
    struct node *root = NULL;
    if (tree_parse(text, len, &TREE_LIMITS_DEFAULT, &root, &diags) < 0) {
        return NULL;
    }
    json_t *json = tree_to_json(root);
    tree_free(root);
    return json;
}

static const char *line_of(const char *text, unsigned line)
{
    while (line-- > 1) {
        text = strchr(text, '\n') + 1; /* a node begins there */
    }
    return text;
}

/* The comment that init writes, among the fields of the system that begins in this line; NULL. */
static const char *find_comment(const char *line, size_t indent)
{
    while ((line = strchr(line, '\n')) != NULL) {
        line++;
        const size_t n = strspn(line, " ");
        if (n == indent && str_has_prefix(line + n, "# log:")) {
            return line + n;
        }
        if (n < indent && line[n] != '\n') {
            return NULL; /* of something else */
        }
    }
    return NULL;
}

/* Puts the rule in place of the old one, or of the comment that init writes, or below the first
 * field of the system. Returns where it is in `out`. */
static size_t put_log(const char *text, const struct node *system, const char *rule,
                      struct buf *out)
{
    const struct node *old = tree_get(system, "log"), *first = system->children[0];
    const char *begin = line_of(text, old != NULL ? old->key_mark.line : first->key_mark.line);
    const size_t indent = first->key_mark.column - 1;
    const char *at = old != NULL ? strstr(begin, "log:") : find_comment(begin, indent);
    const bool is_replaced = at != NULL;
    at = is_replaced ? at : begin + strcspn(begin, "\n");
    buf_append(out, text, (size_t)(at - text));
    if (!is_replaced) {
        buf_printf(out, "\n%*s", (int)indent, "");
    }
    const size_t place = out->len;
    const char *end = at + strcspn(at, "\n"), *comment = strstr(at + 1, "  # ");
    buf_printf(out, "log: %s%s", rule,
               !is_replaced                       ? at
               : comment != NULL && comment < end ? comment
                                                  : end);
    return place;
}

static json_t *find_system(json_t *document, const char *name)
{
    size_t i;
    json_t *item;
    json_array_foreach (json_object_get(json_object_get(document, "spec"), "systems"), i, item) {
        if (str_eq_or_null(json_string_value(json_object_get(item, "name")), name)) {
            return item;
        }
    }
    return NULL;
}

bool try_put_log(const char *text, size_t len, const char *system, const char *rule,
                 struct buf *out, unsigned *ret_line)
{
    _cleanup_(diags_done) struct diags diags = {0};
    struct node *root = NULL;
    if (tree_parse(text, len, &TREE_LIMITS_DEFAULT, &root, &diags) < 0) {
        return false;
    }
    const struct node *systems = tree_path(root, "spec", "systems", NULL);
    size_t place = 0;
    for (size_t i = 0; i < systems->n_children; i++) { /* it was read before */
        if (str_eq_or_null(tree_get_text(systems->children[i], "name"), system)) {
            place = put_log(text, systems->children[i], rule, out);
        }
    }
    json_auto_t *wanted = tree_to_json(root), *got = try_json_of(buf_cstr(out), out->len);
    (void)json_object_set_new(find_system(wanted, system), "log", try_json_of(rule, strlen(rule)));
    tree_free(root);
    *ret_line = 1;
    for (size_t i = 0; i < place; i++) {
        *ret_line += out->data[i] == '\n';
    }
    return json_equal(wanted, got) != 0; /* does the new text mean the old one with this rule? */
}
