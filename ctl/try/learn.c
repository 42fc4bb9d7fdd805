/* The log rule that two trials of a system show, and its place in the text of a definition. See
 * try.h. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/try/try.h"
#include "doc/tree.h"
#include "logparse/line_words.h"
#include "logparse/suggest.h"

#define WARMUP_PART 5 /* one line of so many is of the warm-up, of an output that is whole */
/* Sizes of a step that differ by so little are the same, however certain their interval is. */
#define SAME_STEP 0.05
#define ERRORS 3 /* an interval has so many standard errors to each side */

/* ---- the text of a rule ---- */

static bool is_made(const struct try_rule *rule)
{
    return str_has_prefix(buf_cstr(&rule->text), LOG_SUGGESTED);
}

void try_rule_put(const struct try_rule *rule, struct buf *out)
{
    const char *text = buf_cstr(&rule->text);
    if (!is_made(rule)) {
        buf_puts(out, text);
        return;
    }
    const char *rest = text + strlen(LOG_SUGGESTED);
    buf_printf(out, "{lines: [{kind: %s, ", rule->is_summary ? "Summary" : "Step");
    if (rule->scope != NULL) {
        buf_printf(out, "scope: %s, ", rule->scope);
    }
    if (rule->skip > 0) {
        buf_printf(out, "skip: {lines: %lld}, ", (long long)rule->skip);
    }
    buf_puts(out, rule->counts_steps && !str_has_prefix(rest, "unit: ") ? "unit: steps, " : "");
    buf_puts(out, rest);
}

/* A shipped rule has no scope to choose: its line that reads the output becomes a rule of its own.
 * Nothing changes where that is no plain line. */
static void open_rule(const struct log_line_rule *line, struct try_rule *rule)
{
    static const char *const aggregates[] = {"", "aggregate: Median, ", "aggregate: Last, "};
    if (is_made(rule) || line->kind != LOG_KIND_STEP || line->each != 0 ||
        line->aggregate > LOG_LAST) {
        return;
    }
    buf_clear(&rule->text);
    buf_puts(&rule->text, LOG_SUGGESTED);
    if (line->unit != UNIT_SAMPLES) {
        buf_printf(&rule->text, "unit: %s, ", summary_unit_names[line->unit]);
    }
    buf_printf(&rule->text, "%spattern: ", aggregates[line->aggregate]);
    log_put_quoted(&rule->text, line->text);
    buf_puts(&rule->text, "}]}");
}

/* ---- the scope ---- */

struct pair { /* what a line states with one worker, and with several */
    const struct log_reading *one, *several;
    double error; /* of the ratio of two sizes or rates, as a logarithm */
};

/* Does a step with several workers have `times` as many samples as with one, by rate and pace? */
static bool is_larger(const struct pair *p, double times)
{
    const double ratio = p->several->step_units / p->one->step_units;
    return fabs(log(ratio / times)) <= p->error; /* false of NaN */
}

/* The scope that the outputs show, where the rule gives each figure to its replica; "" if it is
 * right in that. NULL: they do not show it. */
static const char *scope_of(const struct try_trial *one, const struct try_trial *several)
{
    const bool is_only = several->n_printing < several->n;
    const char *words = log_scope_words(several->first->last.text);
    const double times = several->n / (double)one->n;
    struct pair p = {log_parser_reading(one->first->parser),
                     log_parser_reading(several->first->parser), 0};
    const double variance =
        p.one->step_error * p.one->step_error + p.several->step_error * p.several->step_error;
    p.error = fmax(ERRORS * sqrt(variance), SAME_STEP);
    if (!try_states_rate(several->first)) { /* faster steps may have fewer samples of each */
        const double faster = log(p.several->rate / p.one->rate / LOG_PACE_TOLERANCE);
        return !is_only ? "" : faster > p.error ? NULL : "Each";
    }
    if (is_larger(&p, times) && !is_larger(&p, 1)) {
        return str_eq_or_null(words, "Each") ? NULL : "Job";
    }
    return is_only ? words : str_eq_or_null(words, "Job") && times > 1 ? words : "";
}

static void put_line(const struct try_trial *f, struct buf *out)
{
    const struct log_reading *reading = log_parser_reading(f->first->parser);
    buf_printf(out, "  %u %s%s, line %llu: %s\n", f->n, try_role(f), f->n == 1 ? "" : "s",
               (unsigned long long)f->first->last.number, f->first->last.text);
    if (try_states_rate(f->first) && !isnan(reading->step_units)) {
        buf_printf(out, "    by rate and pace a step has %.4g %s\n", reading->step_units,
                   reading->unit);
    }
}

/* "1 of 2 workers prints figures" */
static void put_printing(const struct try_trial *f, struct buf *out)
{
    buf_printf(out, "%u of %u %ss print%s figures", f->n_printing, f->n, try_role(f),
               f->n_printing == 1 ? "s" : "");
}

static void ask(const struct try_trial *one, const struct try_trial *several, struct try_rule *rule,
                struct buf *said)
{
    const bool is_rate = try_states_rate(several->first);
    const char *const scopes[] = {"Each", "Job"};
    const char *const means[] = {is_rate ? "each worker has such a rate" : "each has its own batch",
                                 is_rate ? "it is the rate of all together"
                                         : "all together have one batch, whatever their number"};
    _cleanup_(buf_done) struct buf warmup = BUF_INIT;
    put_printing(several, said);
    buf_puts(said, ", and nothing shows of what:\n");
    put_line(one, said);
    put_line(several, said);
    try_learn_warmup(one, rule, &warmup);
    buf_puts(said, "nothing was written; write one of these into the system:\n");
    for (size_t i = 0; i < COUNT_OF(scopes); i++) {
        rule->scope = scopes[i];
        rule->counts_steps = i == 1 && !is_rate;
        buf_puts(said, "  log: ");
        try_rule_put(rule, said);
        buf_printf(said, "  # scope: %s, if %s\n", scopes[i], means[i]);
    }
    if (is_rate && several->def->matrix.points[0].batch_size > 0) {
        buf_puts(said, "with scope: Job, write 'batchScope: Job' if all together have one batch\n");
    }
}

bool try_learn_scope(const struct try_trial *one, const struct try_trial *several,
                     struct try_rule *rule, struct buf *said)
{
    const struct try_output *o = several->first;
    const bool has_both = one->first != NULL && o != NULL && o->line->scope == LOG_SCOPE_REPLICA;
    const char *scope = has_both ? scope_of(one, several) : "";
    if (scope != NULL && *scope == '\0') {
        return true;
    }
    open_rule(o->line, rule);
    if (scope == NULL) {
        ask(one, several, rule, said);
        return false;
    }
    rule->scope = scope;
    buf_puts(said, "scope: ");
    put_printing(several, said);
    buf_printf(said, ", of %s: %s\n", str_eq(scope, "Job") ? "all together" : "one", scope);
    return true;
}

/* ---- the warm-up ---- */

void try_learn_warmup(const struct try_trial *one, struct try_rule *rule, struct buf *said)
{
    const int64_t warmup_steps = one->def->spec->warmup_steps;
    const struct log_rule *own = one->def->spec->systems.items[0].log;
    const struct try_output *r = one->first;
    if (r != NULL && r->line->kind == LOG_KIND_SUMMARY) {
        buf_puts(said, "warm-up: it is in the figure: the line is of the whole run\n");
    }
    if (r == NULL || r->line->kind != LOG_KIND_STEP) {
        return;
    }
    const int64_t lines = (int64_t)r->n_lines;
    const bool is_numbered = r->n_lines == r->n_numbered;
    const bool is_single = one->is_whole && lines == 1 && !is_numbered;
    if (is_single || warmup_steps == 0 ||
        vec_any(&own->lines, line, line->skip.kind != LOG_SKIP_DEFAULT)) {
        return;
    }
    if (is_numbered) {
        buf_printf(said,
                   "warm-up: the first %lld steps are left out, by the numbers in the lines\n",
                   (long long)warmup_steps);
        return;
    }
    const int64_t part = lines / WARMUP_PART > 1 ? lines / WARMUP_PART : 1;
    rule->skip = one->is_whole && part < warmup_steps ? part : warmup_steps;
    buf_printf(said,
               "warm-up: the first %lld of %s%lld lines %s, because they have no number for "
               "measure.warmupSteps\n",
               (long long)rule->skip, one->is_whole ? "" : "more than ", (long long)lines,
               is_made(rule) ? "are left out" : "need a 'skip' in a rule of your own");
}

/* ---- the text of a definition ---- */

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

/* The old rule among the fields of the system that begins in this line, or the comment that init
 * writes in its place; NULL without either. */
static const char *find_log(const char *line, size_t indent)
{
    while ((line = strchr(line, '\n')) != NULL) {
        const size_t n = strspn(++line, " ");
        const char *field = line + n;
        if (n == indent && (str_has_prefix(field, "log:") || str_has_prefix(field, "# log:"))) {
            return field;
        }
        if (n < indent && *field != '\n') {
            return NULL; /* the system has ended */
        }
    }
    return NULL;
}

/* Replaces the old rule or the comment, or else writes below the first field of the system. Returns
 * where the rule is in `out`. */
static size_t put_log(const char *text, const struct node *system, const char *rule,
                      struct buf *out)
{
    const struct mark *mark = &system->children[0]->key_mark;
    const size_t indent = mark->column - 1;
    const char *first = text;
    for (unsigned line = 1; line < mark->line; line++) {
        first = strchr(first, '\n') + 1; /* a node begins there */
    }
    const char *found = find_log(first, indent);
    const char *at = found != NULL ? found : first + strcspn(first, "\n");
    const char *rest = at + strcspn(at, "\n"), *comment = strstr(at + 1, "  # ");
    rest = found != NULL && comment != NULL && comment < rest ? comment : rest;
    buf_append(out, text, (size_t)(at - text));
    buf_printf(out, "%s%*s", found != NULL ? "" : "\n", found != NULL ? 0 : (int)indent, "");
    const size_t place = out->len;
    buf_printf(out, "log: %s%s", rule, rest);
    return place;
}

bool try_put_log(const char *text, size_t len, const char *system, const char *rule,
                 struct buf *out, unsigned *ret_line)
{
    _cleanup_(diags_done) struct diags diags = {0};
    struct node *root = NULL;
    if (tree_parse(text, len, &TREE_LIMITS_DEFAULT, &root, &diags) < 0) {
        return false;
    }
    json_auto_t *wanted = tree_to_json(root);
    const json_t *items = json_object_get(json_object_get(wanted, "spec"), "systems");
    const struct node *systems = tree_path(root, "spec", "systems", NULL);
    size_t place = 0;
    for (size_t i = 0; i < systems->n_children; i++) { /* it was read before */
        if (str_eq_or_null(tree_get_text(systems->children[i], "name"), system)) {
            place = put_log(text, systems->children[i], rule, out);
            (void)json_object_set_new(json_array_get(items, i), "log",
                                      try_json_of(rule, strlen(rule)));
        }
    }
    tree_free(root);
    *ret_line = 1;
    for (size_t i = 0; i < place; i++) {
        *ret_line += out->data[i] == '\n';
    }
    json_auto_t *got = try_json_of(buf_cstr(out), out->len);
    return json_equal(wanted, got) != 0; /* does the new text mean the old one with this rule? */
}
