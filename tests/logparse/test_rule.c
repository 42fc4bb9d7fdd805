/* Rules out of YAML: what they become, and every problem with its place. */
#include "tests/test.h"
#include "logparse/rule.h"

TEST(a_rule_and_its_defaults)
{
    static const char text[] = "name: mine\n"
                               "lines:\n"
                               "- kind: Step\n"
                               "  pattern: 'step (?<step>) (?<rate>) w/s'\n"
                               "  unit: words\n"
                               "  skip: {lines: 30}\n"
                               "  aggregate: Median\n"
                               "- {kind: Step, pattern: 'loss (?<loss>)'}\n"
                               "- {kind: Summary, scope: Job, each: 3, pattern: '(?<time_s>) s'}\n"
                               "- {kind: Info, role: pserver, pattern: 'b (?<batch>)'}\n";
    struct diags diags = {0};
    struct log_rule *rule;
    assert_int_equal(log_rule_load(text, strlen(text), &rule, &diags), 0);
    assert_string_equal(rule->name, "mine");
    struct log_rule *unnamed;
    assert_int_equal(log_rule_load(text + 11, strlen(text + 11), &unnamed, &diags), 0);
    assert_string_equal(unnamed->name, LOG_RULE_UNNAMED);
    log_rule_free(unnamed);
    assert_int_equal(rule->lines.len, 4);
    const struct log_line_rule *l = rule->lines.items;
    assert_int_equal(l[0].unit, UNIT_WORDS);
    assert_int_equal(l[0].skip.kind, LOG_SKIP_LINES);
    assert_int_equal(l[0].skip.n, 30);
    assert_int_equal(l[0].aggregate, LOG_MEDIAN);
    assert_int_equal(l[0].scope, LOG_SCOPE_REPLICA);
    assert_int_equal(l[0].source, LOG_FROM_NUMBERS);
    assert_true(l[0].roles[ROLE_TRAINER] && !l[0].roles[ROLE_PSERVER]);
    assert_string_equal(l[0].text, "step (?<step>) (?<rate>) w/s");
    assert_int_equal(l[1].unit, UNIT_SAMPLES);
    assert_int_equal(l[1].skip.kind, LOG_SKIP_DEFAULT);
    assert_int_equal(l[1].aggregate, LOG_MEAN);
    assert_int_equal(l[1].source, LOG_FROM_STAMPS); /* there is nothing else */
    assert_int_equal(l[2].aggregate, LOG_LAST);
    assert_int_equal(l[2].scope, LOG_SCOPE_JOB);
    assert_true(l[2].each == 3);
    assert_true(l[3].roles[ROLE_PSERVER] && !l[3].roles[ROLE_TRAINER]);
    log_rule_free(rule);
}

/* Each word of the form has a value of its own; an unknown one would be read as the default. */
TEST(each_word_is_known)
{
    static const struct {
        const char *path;
        size_t offset, n;
    } rows[] = {
        {"kind", offsetof(struct log_line_rule, kind), LOG_KIND_COUNT},
        {"scope", offsetof(struct log_line_rule, scope), LOG_SCOPE_JOB + 1},
        {"aggregate", offsetof(struct log_line_rule, aggregate), LOG_MAX + 1},
        {"from", offsetof(struct log_line_rule, source), LOG_FROM_STAMPS + 1},
        {"unit", offsetof(struct log_line_rule, unit), SUMMARY_UNIT_COUNT},
    };
    const struct node *line =
        tree_path(log_rule_schema(), "properties", "lines", "items", "properties", NULL);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct node *words = tree_path(line, rows[i].path, "enum", NULL);
        bool seen[32] = {0};
        assert_int_equal(words->n_children, rows[i].n);
        for (size_t k = 0; k < rows[i].n; k++) {
            struct diags diags = {0};
            struct log_rule *rule;
            const bool is_kind = i == 0;
            _cleanup_(freep) char *text =
                xasprintf("lines: [{%s: %s, %spattern: '(?<%s>)'}%s]", rows[i].path,
                          words->children[k]->s, is_kind ? "" : "kind: Step, ",
                          strcmp(words->children[k]->s, "Info") == 0 ? "loss" : "rate",
                          is_kind ? ", {kind: Step, pattern: '(?<rate>) y'}" : "");
            assert_int_equal(log_rule_load(text, strlen(text), &rule, &diags), 0);
            int value;
            memcpy(&value, (const char *)&rule->lines.items[0] + rows[i].offset, sizeof(value));
            assert_in_range(value, 0, rows[i].n - 1);
            assert_false(seen[value]);
            seen[value] = true;
            log_rule_free(rule);
        }
    }
}

#define HEAD "name: mine\nlines:\n"
#define GOOD "- {kind: Step, pattern: '(?<rate>) x'}\n"

TEST(every_problem_has_its_place)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"name: Mine\nlines:\n" GOOD, "f:1:7: error: name: 'Mine' is not a name"},
        {"name: mine\n", "f:1:1: error: lines: required field 'lines' is missing"},
        {"name: mine\nlines: []\n", "f:2:8: error: lines: the list is empty"},
        {"[]", "must be a map"},
        {HEAD "- {kind: step, pattern: 'x (?<rate>)'}\n",
         "f:3:10: error: lines[0].kind: unknown value 'step'"},
        {HEAD "- {kind: Step}\n", "f:3:3: error: lines[0].pattern: required field 'pattern' is "
                                  "missing"},
        {HEAD "- {kind: Step, pattern: 'x (?<speed>)'}\n",
         "f:3:25: error: lines[0].pattern: the pattern is wrong at character 6: no group is called "
         "'speed'"},
        {"name: mine\nrestart: 'x ('\nlines:\n" GOOD,
         "f:2:10: error: restart: the pattern is wrong"},
        {"name: mine\nversions: {a: '(?<version>)', b: 'b'}\nlines:\n" GOOD,
         "f:2:34: error: versions.b: a pattern has the group 'version' if it is one of 'versions'"},
        {HEAD "- {kind: Step, pattern: '(?<rate>) (?<version>)'}\n",
         "lines[0].pattern: a pattern has the group 'version' if"},
        {HEAD "- {kind: Step, pattern: 'x ('}\n", "at character 4: missing closing parenthesis"},
        {HEAD "- {kind: Step, pattern: 'x ('}\n",
         "  fix: correct it; docs/log-rules.md has the gr"},
        {HEAD "- {kind: Step, pattern: '(?<rate>) x', unit: img/s}\n",
         "lines[0].unit: unknown value 'img/s'"},
        {HEAD "- {kind: Step, pattern: '(?<rate>) x', skip: {}}\n",
         "lines[0].skip: the warm-up must have one length"},
        {HEAD "- {kind: Step, pattern: '(?<rate>) x', skip: {lines: 1, steps: 2}}\n",
         "lines[0].skip: the warm-up must have one length"},
        {HEAD "- {kind: Step, pattern: '(?<rate>) x', skip: {lines: -1}}\n", "lines[0].skip.lines"},
        {HEAD "- {kind: Summary, pattern: '(?<rate>) x', skip: {lines: 1}}\n",
         "lines[0].skip: a line of kind Summary has no warm-up"},
        {HEAD "- {kind: Summary, pattern: 'loss (?<loss>)'}\n",
         "lines[0]: one line of kind Summary has no time between lines"},
        {HEAD "- {kind: Info, pattern: '(?<rate>) x'}\n" GOOD,
         "lines[0]: a line of kind Info has no throughput"},
        {HEAD "- {kind: Step, pattern: 'loss (?<loss>)', from: Numbers}\n",
         "lines[0].from: no group of the pattern is a throughput or a time"},
        {HEAD "- {kind: Info, pattern: 'loss (?<loss>)'}\n", "lines: no line has a throughput"},
        {HEAD "- {kind: Step, pattern: '(?<rate>) x', each: 0}\n", "lines[0].each"},
        {HEAD "- {kind: Step, pattern: '(?<rate>) x', role: server}\n", "lines[0].role"},
        {HEAD "- {kind: Step, pattern: '(?<rate>) x', regex: z}\n", "unknown field 'regex'"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].said);
        _cleanup_(diags_done) struct diags diags = {0};
        struct log_rule *rule;
        assert_int_equal(log_rule_load(rows[i].text, strlen(rows[i].text), &rule, &diags), -EINVAL);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        diags_format(&diags, "f", rows[i].text, &out);
        if (strstr(buf_cstr(&out), rows[i].said) == NULL) {
            fail_msg("not said: %s\n%s", rows[i].said, buf_cstr(&out));
        }
    }
}
