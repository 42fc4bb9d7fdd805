/* Reading log rules, see rule.h. */
#include "logparse/rule.h"

#include <errno.h>

#include "base/mem.h"
#include "base/str.h"
#include "doc/embedded.h"
#include "doc/openapi.h"
#include "doc/openapi_check.h"

extern const struct embedded log_rule_form[]; /* made of log_rule.yaml by embed.py */

const char *const log_kind_names[LOG_KIND_COUNT] = {"Summary", "Epoch", "Step", "Info"};
static const char *const scope_names[] = {"Replica", "Each", "Job"};
static const char *const aggregate_names[] = {"Mean", "Median", "Last", "Max"};
static const char *const source_names[] = {"Numbers", "TimeStamps"};
static const char *const format_names[] = {"Lines", "MLPerf"};

const struct node *log_rule_schema(void)
{
    static struct kept kept;
    return schema_keep(&kept, schema_parse, log_rule_form[0].text);
}

/* A throughput follows from the line's own numbers, perhaps with the batch size. */
static bool has_rate(const struct log_pattern *p)
{
    static const enum log_group groups[] = {LOG_RATE,   LOG_RATE_MB, LOG_STEP_RATE,
                                            LOG_STEP_S, LOG_STEP_MS, LOG_STEP_US,
                                            LOG_TIME_S, LOG_TIME_MS, LOG_TIME_CLOCK};
    return array_any(groups, COUNT_OF(groups), it, log_pattern_has(p, *it));
}

static void read_skip(struct diags *d, const struct place *item, struct log_line_rule *line)
{
    const struct place place = place_get(item, "skip"), steps = place_get(&place, "steps");
    const bool is_steps = steps.node != NULL;
    if (!place_is_good(&place)) {
        return;
    }
    line->skip = (struct log_skip){is_steps ? LOG_SKIP_STEPS : LOG_SKIP_LINES,
                                   place_int(&place, is_steps ? "steps" : "lines", 0)};
    if (line->kind == LOG_KIND_SUMMARY || line->kind == LOG_KIND_INFO) {
        reader_complain_key(d, &place, "remove it", "a line of kind %s has no warm-up",
                            log_kind_names[line->kind]);
    }
}

/* The text of the pattern, borrowed; NULL: it is absent, or has a problem. */
static const char *read_pattern(struct diags *d, const struct place *item, const char *key,
                                struct log_pattern **ret)
{
    const char *text = place_text(item, key);
    struct err err;
    size_t offset;
    if (text != NULL && log_pattern_new(text, ret, &offset, &err) < 0) {
        reader_complain(d, PLACE(item, key),
                        "correct it; docs/log-rules.md has the groups, and '\\(' matches a "
                        "parenthesis",
                        "the pattern is wrong at character %zu: %s", offset + 1, err.msg);
        return NULL;
    }
    if (text != NULL &&
        log_pattern_has(*ret, LOG_VERSION) != str_eq_or_null(item->key, "versions")) {
        reader_complain(d, PLACE(item, key), "add or remove (?<version>)",
                        "a pattern has the group 'version' if it is one of 'versions'");
    }
    return text;
}

static void read_source(struct diags *d, const struct place *item, struct log_line_rule *line)
{
    const bool is_rate = line->pattern == NULL || has_rate(line->pattern);
    const int usual = is_rate || line->kind == LOG_KIND_INFO ? LOG_FROM_NUMBERS : LOG_FROM_STAMPS;
    line->source = place_enum(item, "from", source_names, usual);
    if (line->source == LOG_FROM_NUMBERS && !is_rate && place_text(item, "from") != NULL) {
        reader_complain(d, PLACE(item, "from"),
                        "add a group such as (?<rate>), or write TimeStamps",
                        "no group of the pattern is a throughput or a time");
    }
    if (line->kind == LOG_KIND_SUMMARY && line->source == LOG_FROM_STAMPS) {
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
    *line = (struct log_line_rule){0};
    line->kind = place_enum(item, "kind", log_kind_names, LOG_KIND_STEP);
    line->scope = place_enum(item, "scope", scope_names, LOG_SCOPE_REPLICA);
    line->aggregate = place_enum(item, "aggregate", aggregate_names,
                                 line->kind == LOG_KIND_SUMMARY ? LOG_LAST : LOG_MEAN);
    line->text = xstrdup_or_null(read_pattern(d, item, "pattern", &line->pattern));
    line->unit = place_enum(item, "unit", summary_unit_names, UNIT_SAMPLES);
    line->each = place_number(item, "each", 0);
    const int role = place_index(item, "role", role_names, ROLE_COUNT, -1);
    for (int i = 0; i < ROLE_COUNT; i++) {
        line->roles[i] = role < 0 ? i != ROLE_PSERVER : i == role;
    }
    read_skip(d, item, line);
    read_source(d, item, line);
}

struct log_rule *log_rule_read(struct diags *d, const struct place *at)
{
    const size_t n_before = diags_count(d);
    struct log_rule *rule = xnew(struct log_rule);
    struct place place = *at;
    place.schema = log_rule_schema();
    schema_check(d, &place);
    rule->name = xstrdup(place_text(&place, "name"));
    rule->format = place_enum(&place, "format", format_names, LOG_RULE_LINES);
    (void)read_pattern(d, &place, "restart", &rule->restart);
    (void)read_pattern(d, &place, "end", &rule->end);
    (void)read_pattern(d, &place, "header", &rule->header);
    place_items (item, &place, "versions") {
        struct log_version *version = vec_push(&rule->versions);
        *version = (struct log_version){.name = xstrdup(item.key)};
        (void)read_pattern(d, item.up, item.key, &version->pattern);
    }
    place_items (item, &place, "lines") {
        read_line(d, &item, vec_push(&rule->lines));
    }
    if (rule->lines.len > 0 && rule->format == LOG_RULE_LINES &&
        vec_all(&rule->lines, it, it->kind == LOG_KIND_INFO)) {
        reader_complain(d, PLACE(&place, "lines"), "add a line of kind Step, Epoch or Summary",
                        "no line has a throughput");
    }
    if (diags_count(d) != n_before) {
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
    const struct place place = place_root(root, NULL);
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
    vec_each (struct log_version, it, &rule->versions) {
        free(it->name);
        log_pattern_free(it->pattern);
    }
    vec_done(&rule->versions);
    log_pattern_free(rule->restart);
    log_pattern_free(rule->end);
    log_pattern_free(rule->header);
    free(rule);
}
