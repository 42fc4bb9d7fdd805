/* Reading log rules, see rule.h. */
#include "logparse/rule.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

#define LINES_MAX 32
#define DESCRIPTION_MAX 200
#define SKIP_MAX 1000000

const char *const log_kind_names[LOG_KIND_COUNT] = {"Summary", "Epoch", "Step", "Info"};
static const char *const scope_names[] = {"Replica", "Each", "Job"};
static const char *const aggregate_names[] = {"Mean", "Median", "Last", "Max"};
static const char *const source_names[] = {"Numbers", "TimeStamps"};
static const char *const format_names[] = {"Lines", "MLPerf"};

/* ---- what a line can say ---- */

/* A throughput follows from the line's own numbers, perhaps with the batch size. */
static bool has_rate(const struct log_pattern *p)
{
    static const enum log_group groups[] = {LOG_RATE,    LOG_STEP_RATE, LOG_STEP_S,
                                            LOG_STEP_MS, LOG_STEP_US,   LOG_TIME_S,
                                            LOG_TIME_MS, LOG_TIME_CLOCK};
    return array_any(groups, COUNT_OF(groups), it, log_pattern_has(p, *it));
}

/* ---- reading ---- */

static void read_skip(struct diags *d, const struct place *item, struct log_line_rule *line)
{
    static const struct {
        const char *field;
        enum log_skip_kind kind;
    } kinds[] = {{"steps", LOG_SKIP_STEPS}, {"lines", LOG_SKIP_LINES}};
    struct place place = place_get(item, "skip");
    if (!read_map(d, &place, FIELDS(kinds[0].field, kinds[1].field))) {
        return;
    }
    if (place.node->n_children != 1) {
        reader_complain(d, &place, "write {steps: N} or {lines: N}",
                        "the warm-up must have one length");
        return;
    }
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (read_int(d, PLACE(&place, kinds[i].field), 0, SKIP_MAX, &line->skip.n)) {
            line->skip.kind = kinds[i].kind;
        }
    }
    if (line->kind == LOG_KIND_SUMMARY || line->kind == LOG_KIND_INFO) {
        reader_complain_key(d, &place, "remove it", "a line of kind %s has no warm-up",
                            log_kind_names[line->kind]);
    }
}

static void read_line_roles(struct diags *d, const struct place *item, struct log_line_rule *line)
{
    struct place place = place_get(item, "role");
    if (place.node == NULL) {
        for (enum role role = 0; role < ROLE_COUNT; role++) {
            line->roles[role] = role != ROLE_PSERVER;
        }
        return;
    }
    int role = 0;
    if (read_enum(d, &place, role_names, ROLE_COUNT, &role)) {
        line->roles[role] = true;
    }
}

/* The text of the pattern, borrowed; NULL: it is absent, or has a problem. */
static const char *read_pattern(struct diags *d, const struct place *item, const char *key,
                                struct log_pattern **ret)
{
    struct place place = place_get(item, key);
    const char *text;
    struct err err;
    size_t offset;
    if (!read_text(d, &place, LOG_PATTERN_MAX, &text)) {
        return NULL;
    }
    if (log_pattern_new(text, ret, &offset, &err) < 0) {
        reader_complain(d, &place, "see docs/log-rules.md; quote a pattern with single quotes",
                        "the pattern is wrong at character %zu: %s", offset + 1, err.msg);
        return NULL;
    }
    return text;
}

static void read_source(struct diags *d, const struct place *item, struct log_line_rule *line)
{
    struct place place = place_get(item, "from");
    const bool is_rate = line->pattern == NULL || has_rate(line->pattern);
    int source = is_rate || line->kind == LOG_KIND_INFO ? LOG_FROM_NUMBERS : LOG_FROM_STAMPS;
    const bool is_said = read_enum(d, &place, source_names, COUNT_OF(source_names), &source);
    line->source = (enum log_source)source;
    if (is_said && source == LOG_FROM_NUMBERS && !is_rate) {
        reader_complain(d, &place, "add a group such as (?<rate>), or write TimeStamps",
                        "no group of the pattern is a throughput or a time");
    }
    if (line->kind == LOG_KIND_SUMMARY && source == LOG_FROM_STAMPS) {
        reader_complain(d, item, "add a group such as (?<rate>) or (?<time_s>)",
                        "one line of kind Summary has no time between lines");
    }
    if (line->kind == LOG_KIND_INFO && line->pattern != NULL && is_rate) {
        reader_complain(d, item, "write kind: Step, Epoch or Summary",
                        "a line of kind Info has no throughput");
    }
}

static void read_line(struct diags *d, const struct place *item, struct log_line_rule *line)
{
    *line = (struct log_line_rule){.kind = LOG_KIND_STEP};
    if (!read_map(d, item,
                  FIELDS("*kind", "*pattern", "unit", "scope", "skip", "each", "aggregate", "from",
                         "role"))) {
        return;
    }
    line->kind = read_enum_or(d, item, "kind", log_kind_names, LOG_KIND_STEP);
    line->scope = read_enum_or(d, item, "scope", scope_names, LOG_SCOPE_REPLICA);
    const int usual = line->kind == LOG_KIND_SUMMARY ? LOG_LAST : LOG_MEAN;
    line->aggregate = read_enum_or(d, item, "aggregate", aggregate_names, usual);
    const char *text = read_pattern(d, item, "pattern", &line->pattern);
    line->text = text == NULL ? NULL : xstrdup(text);
    line->unit = read_enum_or(d, item, "unit", summary_unit_names, UNIT_SAMPLES);
    line->each = (double)read_int_or(d, item, "each", 1, INT64_C(1) << 50, 0);
    read_skip(d, item, line);
    read_line_roles(d, item, line);
    read_source(d, item, line);
}

static void read_lines(struct diags *d, const struct place *root, struct log_rule *rule)
{
    struct place list = place_get(root, "lines");
    if (!read_list(d, &list, LINES_MAX)) {
        return;
    }
    bool has_figures = false;
    place_each (item, &list) {
        struct log_line_rule *line = vec_push(&rule->lines);
        read_line(d, &item, line);
        has_figures = has_figures || line->kind != LOG_KIND_INFO;
    }
    if (!has_figures && rule->format == LOG_RULE_LINES) {
        reader_complain(d, &list, "add a line of kind Step, Epoch or Summary",
                        "no line has a throughput");
    }
}

/* The name goes into summaries and tables. */
static char *read_name(struct diags *d, const struct place *root)
{
    const char *name = read_text_or(d, root, "name", LOG_RULE_NAME_MAX, LOG_RULE_UNNAMED);
    if (name[0] == '\0' || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0') {
        reader_complain(d, PLACE(root, "name"), "use a-z, 0-9 and '-'", "'%s' is not a name", name);
    }
    return xstrdup(name);
}

struct log_rule *log_rule_read(struct diags *d, const struct place *place)
{
    const size_t n_before = d->list.len + d->n_dropped;
    struct log_rule *rule = NULL;
    if (read_map(d, place, FIELDS("name", "description", "format", "restart", "end", "*lines"))) {
        rule = xnew(struct log_rule);
        rule->name = read_name(d, place);
        rule->format = read_enum_or(d, place, "format", format_names, LOG_RULE_LINES);
        (void)read_text_or(d, place, "description", DESCRIPTION_MAX, ""); /* for people */
        (void)read_pattern(d, place, "restart", &rule->restart);
        (void)read_pattern(d, place, "end", &rule->end);
        read_lines(d, place, rule);
    }
    if (d->list.len + d->n_dropped != n_before) {
        log_rule_free(rule);
        return NULL;
    }
    return rule;
}

int log_rule_load(const char *text, size_t len, struct log_rule **ret, struct diags *diags)
{
    struct node *root;
    if (tree_parse(text, len, &TREE_LIMITS_DEFAULT, &root, diags) < 0) {
        return -EINVAL;
    }
    struct place place = place_root(root);
    struct log_rule *rule = log_rule_read(diags, &place);
    tree_free(root);
    if (rule == NULL) {
        return -EINVAL;
    }
    *ret = rule;
    return 0;
}

void log_rule_free(struct log_rule *rule)
{
    if (rule == NULL) {
        return;
    }
    free(rule->name);
    vec_each (struct log_line_rule, it, &rule->lines) {
        free(it->text);
        log_pattern_free(it->pattern);
    }
    vec_done(&rule->lines);
    log_pattern_free(rule->restart);
    log_pattern_free(rule->end);
    free(rule);
}
