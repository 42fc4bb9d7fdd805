/* See try_learn.h. */
#include "ctl/try/try_learn.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "doc/tree.h"
#include "logparse/guess.h"
#include "logparse/line_use.h"
#include "logparse/suggest.h"
#include "spec/log_rule.h"

#define WARMUP_PART 5 /* one line of so many is of the warm-up, of an output that is whole */
/* Sizes of a step that differ by so little are the same, however sure their interval is. */
#define SAME_STEP 0.05
#define ERRORS 3 /* an interval has so many standard errors to each side */

/* ---- the outputs of a trial ---- */

/* The first output with lines of a figure, even if that is withheld; NULL: none. */
static const struct try_reading *find_printing(const struct try_reading *list, uint32_t n,
                                               uint32_t *ret_n)
{
    const struct try_reading *first = NULL;
    *ret_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const bool prints = list[i].number > 0;
        first = first == NULL && prints ? &list[i] : first;
        *ret_n += prints;
    }
    return first;
}

static struct try_reading *read_all(const struct try_seen *seen)
{
    struct try_reading *list = xnew_array(struct try_reading, seen->n);
    for (uint32_t i = 0; i < seen->n; i++) {
        try_seen_read(seen, i, &list[i]);
    }
    return list;
}

static void readings_free(struct try_reading *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        try_reading_done(&list[i]);
    }
    free(list);
}

/* ---- the rule ---- */

bool try_learn_rule(const struct try_seen *seen, struct buf *out)
{
    for (uint32_t i = 0; i < seen->n && out->len == 0; i++) {
        const struct buf *text = &seen->list[i].output;
        struct log_arrivals arrivals;
        const struct log_parser_params params = try_seen_params(seen, i, &arrivals);
        struct log_suggestion made;
        struct log_guess shipped;
        if (log_guess_rule(buf_cstr(text), text->len, &params, &shipped) == 0 &&
            shipped.unit != UNIT_RUNS) {
            buf_puts(out, shipped.rule);
        } else { /* without a rule it appends nothing */
            (void)log_suggest_rule(buf_cstr(text), text->len, &params, &made, out);
        }
    }
    return out->len > 0;
}

bool try_open_rule(const struct try_seen *seen, struct buf *out)
{
    const struct log_rule *rule = seen->def->spec->systems.items[0].log;
    struct try_reading *list = read_all(seen);
    uint32_t n;
    const struct try_reading *first = find_printing(list, seen->n, &n);
    const struct log_line_rule *line = first == NULL ? NULL : &rule->lines.items[first->rule_line];
    const bool is_plain = line != NULL && line->kind == LOG_KIND_STEP && line->each == 0 &&
                          line->aggregate <= LOG_LAST;
    if (is_plain) {
        static const char *const aggregates[] = {"", "aggregate: Median, ", "aggregate: Last, "};
        buf_puts(out, LOG_SUGGESTED);
        if (line->unit != UNIT_SAMPLES) {
            buf_printf(out, "unit: %s, ", summary_unit_names[line->unit]);
        }
        buf_printf(out, "%spattern: ", aggregates[line->aggregate]);
        log_put_quoted(out, line->text);
        buf_puts(out, "}]}");
    }
    readings_free(list, seen->n);
    return is_plain;
}

void try_put_rule(const char *rule, const struct try_ending *ending, struct buf *out)
{
    if (!str_has_prefix(rule, LOG_SUGGESTED)) {
        buf_puts(out, rule);
        return;
    }
    const char *rest = rule + strlen(LOG_SUGGESTED);
    buf_printf(out, "{lines: [{kind: %s, ", ending->is_summary ? "Summary" : "Step");
    if (ending->scope != NULL) {
        buf_printf(out, "scope: %s, ", ending->scope);
    }
    if (ending->skip > 0) {
        buf_printf(out, "skip: {lines: %lld}, ", (long long)ending->skip);
    }
    buf_puts(out, ending->counts_steps && !str_has_prefix(rest, "unit: ") ? "unit: steps, " : "");
    buf_puts(out, rest);
}

/* ---- the scope ---- */

/* What the pace of two outputs says, of which `many` is of `times` as many workers. */
struct pace_ratio {
    double steps; /* the rate printed with many workers, over the rate with one */
    double size;  /* the same of the samples of a step, by rate and pace */
    double error; /* of both, as a logarithm: the interval to each side */
};

static struct pace_ratio compare(const struct try_reading *one, const struct try_reading *many)
{
    const struct log_reading *a = log_parser_reading(one->parser);
    const struct log_reading *b = log_parser_reading(many->parser);
    return (struct pace_ratio){
        .steps = b->rate / a->rate,
        .size = b->step_units / a->step_units,
        .error = fmax(ERRORS * hypot(a->step_error, b->step_error), SAME_STEP),
    };
}

static bool is_about(const struct pace_ratio *r, double times)
{
    return fabs(log(r->size / times)) <= r->error; /* false of NaN */
}

/* The scope that the outputs show, where the rule gives each figure to its replica; "" if it is
 * right in that. NULL: they do not show it. */
static const char *scope_of(const struct try_reading *one, const struct try_reading *many,
                            double times, bool is_only)
{
    const struct pace_ratio ratio = compare(one, many);
    const bool is_of_job = is_about(&ratio, times) && !is_about(&ratio, 1);
    const char *words = log_scope_words(many->line);
    if (!many->is_rate) { /* steps that are faster with more workers have fewer samples of each */
        const bool is_faster = log(ratio.steps / LOG_PACE_TOLERANCE) > ratio.error;
        return !is_only ? "" : is_faster ? NULL : "Each";
    }
    if (is_of_job) {
        return str_eq_or_null(words, "Each") ? NULL : "Job";
    }
    return is_only ? words : str_eq_or_null(words, "Job") && times > 1 ? words : "";
}

static void put_line(const struct try_seen *seen, const char *role, const struct try_reading *t,
                     struct buf *out)
{
    const double size = log_parser_reading(t->parser)->step_units;
    buf_printf(out, "  %u %s%s, line %llu: %s\n", seen->n, role, seen->n == 1 ? "" : "s",
               (unsigned long long)t->number, t->line);
    if (t->is_rate && !isnan(size)) {
        buf_printf(out, "    by rate and pace a step has %.4g %s\n", size,
                   log_parser_reading(t->parser)->unit);
    }
}

bool try_learn_scope(const struct try_seen *one, const struct try_seen *several,
                     struct try_ending *ret, struct buf *said)
{
    const struct point *point = &several->def->matrix.points[0];
    struct try_reading *of_one = read_all(one), *of_several = read_all(several);
    const struct log_rule *rule = several->def->spec->systems.items[0].log;
    uint32_t n_one, n;
    const struct try_reading *a = find_printing(of_one, one->n, &n_one);
    const struct try_reading *b = find_printing(of_several, several->n, &n);
    const char *role = role_to_string(point_leading_role(point)), *scope = "";
    const bool is_only = n < several->n;
    if (a != NULL && b != NULL && rule->lines.items[b->rule_line].scope == LOG_SCOPE_REPLICA) {
        scope = scope_of(a, b, several->n / (double)one->n, is_only);
    }
    if (scope == NULL) {
        buf_printf(said, "%u of %u %ss print%s figures, and nothing shows of what:\n", n,
                   several->n, role, n == 1 ? "s" : "");
        put_line(one, role, a, said);
        put_line(several, role, b, said);
        ret->is_rate = b->is_rate;
    } else if (*scope != '\0') {
        ret->scope = scope;
        buf_printf(said, "scope: %u of %u %ss print%s figures, of %s: %s\n", n, several->n, role,
                   n == 1 ? "s" : "", str_eq(scope, "Job") ? "all together" : "one", scope);
    }
    readings_free(of_one, one->n);
    readings_free(of_several, several->n);
    return scope != NULL;
}

void try_learn_warmup(const struct try_trial *t, int64_t warmup_steps, bool is_made,
                      struct try_ending *ret, struct buf *said)
{
    const struct log_rule *rule = t->small->spec->systems.items[0].log;
    const bool is_whole = t->end == TRY_ENDED;
    struct try_reading *list = read_all(&t->seen);
    uint32_t n;
    const struct try_reading *first = find_printing(list, t->seen.n, &n);
    const int64_t lines = first == NULL ? 0 : (int64_t)first->n_lines;
    const bool is_numbered = first != NULL && first->n_lines == first->n_numbered;
    const bool is_step = first != NULL && first->kind == LOG_KIND_STEP;
    const bool is_single = is_whole && is_step && lines == 1 && !is_numbered;
    ret->is_summary = is_made && is_single;
    readings_free(list, t->seen.n);
    if (lines == 0 || !is_step || warmup_steps == 0 || is_single || rule == NULL ||
        vec_any(&rule->lines, line, line->skip.kind != LOG_SKIP_DEFAULT)) {
        return;
    }
    if (is_numbered) {
        buf_printf(said,
                   "warm-up: the first %lld steps are left out, by the numbers in the lines\n",
                   (long long)warmup_steps);
        return;
    }
    const int64_t part = lines / WARMUP_PART > 1 ? lines / WARMUP_PART : 1;
    ret->skip = is_whole && part < warmup_steps ? part : warmup_steps;
    buf_printf(said,
               "warm-up: the first %lld of %s%lld lines %s, because they have no number for "
               "measure.warmupSteps\n",
               (long long)ret->skip, is_whole ? "" : "more than ", (long long)lines,
               is_made ? "are left out" : "need a 'skip' in a rule of your own");
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
