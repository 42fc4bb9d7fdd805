/* spec.systems[].log: a name, a rule, or an error with its place; and what a
 * replica's parser gets. */
#include "tests/test.h"
#include "spec/log_rule.h"

/* The rule of {name: x, log: ...}; what is said goes to `said`. */
static struct log_rule *read_log(const char *text, struct buf *said)
{
    static const struct tree_limits limits = TREE_LIMITS_DEFAULT;
    _cleanup_(diags_done) struct diags diags = {0};
    struct node *root = NULL;
    struct log_rule *rule = NULL;
    if (tree_parse(text, strlen(text), &limits, &root, &diags) == 0) {
        struct place place = place_root(root, NULL);
        rule = log_rule_of_system(&diags, &place);
        tree_free(root);
    }
    if (diags.list.len > 0) {
        diags_format(&diags, "f", text, said);
    }
    return rule;
}

TEST(names_and_rules)
{
    static const struct {
        const char *text, *name, *said;
    } rows[] = {
        {"{name: x}", NULL, ""},
        {"{name: x, log: keras}", "keras", ""},
        {"{name: x, log: {lines: [{kind: Step, pattern: '(?<rate>) x'}]}}", "inline", ""},
        {"{name: x, log: {name: own, lines: [{kind: Step, pattern: '(?<rate>) x'}]}}", "own", ""},
        {"{name: x, log: kears}", NULL,
         "f:1:16: error: log: no log rule 'kears' ships\n    1 | {name: x, log: kears}\n"
         "      |                ^\n  fix: did you mean 'keras'?"},
        {"{name: x, log: pytorch-own}", NULL,
         "fix: write a rule, {lines: [...]}, or one of composer, "},
        {"{name: x, log: 7}", NULL, "f:1:16: error: log: must be a name or a map, not a"},
        {"{name: x, log: [keras]}", NULL, "log: must be a name or a map, not a list"},
        {"{name: x, log: {lines: [{kind: Step, pattern: '(?<rat>) x'}]}}", NULL,
         "f:1:47: error: log.lines[0].pattern: the pattern is wrong at character 4: no group is "
         "called 'rat'; did you mean 'rate'?"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].text);
        _cleanup_(buf_done) struct buf said = BUF_INIT;
        struct log_rule *rule = read_log(rows[i].text, &said);
        if (rows[i].name == NULL) {
            assert_null(rule);
        } else {
            assert_string_equal(rule->name, rows[i].name);
        }
        assert_int_equal(log_rule_is_unnamed(rule),
                         rows[i].name != NULL && strcmp(rows[i].name, "inline") == 0);
        if (strstr(buf_cstr(&said), rows[i].said) == NULL ||
            (*rows[i].said == '\0') != (said.len == 0)) {
            fail_msg("said: %s", buf_cstr(&said));
        }
        log_rule_free(rule);
    }
}
