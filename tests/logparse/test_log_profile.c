/* LogProfiles of NVIDIA's Cluster Readiness Engine: the figures that they read, and what is said of
 * the rest. Field and capture names are those of its api/v1alpha1/logprofile_types.go. */
#include "tests/test.h"
#include "logparse/parser.h"

#include <math.h>

#include "base/str.h"

FREEP(log_rule_free, struct log_rule)

/* clang-format off */
#define HEAD "apiVersion: nvcre.nvidia.com/v1alpha1\nkind: LogProfile\nmetadata: {name: p, uid: 7}\nspec: "
#define STEP(regex) HEAD "{patterns: {trainingStep: {regex: '" regex "'}}}"
/* In the form of its profile megatron-training. */
#define MEGATRON HEAD "\n  warmupSteps: 10\n  logInterval: 10\n  timestamp: {layout: '2006-01-02 15:04:05.999999'}\n  patterns:\n" \
    "    applicationStart: {regex: 'using world size: \\d+'}\n    trainingStep:\n      units: {elapsedTime: ms}\n" \
    "      regex: '\\[(?P<timestamp>\\d{4}-\\d{2}-\\d{2} [\\d:]{8}(?:\\.\\d+)?)\\]\\s+iteration\\s+(?P<iteration>\\d+)/\\s*\\d+\\s*\\|" \
    ".*per iteration \\(ms\\):\\s*(?P<elapsedTime>[\\d.]+)\\s*\\|.*lm loss:\\s*(?P<loss>[\\d.eE+\\-]+)(?P<lr> )?'\n"
#define MEGATRON_LINE(step, ms) "[2026-02-05 16:03:52.8] iteration " step "/ 900 | time per iteration (ms): " ms " | lm loss: 1.2E+01 |\n"
#define REFUSED(regex, place) {regex, STEP(regex "(?P<stepTiming>.)"), NULL, NAN, "regex: benchd could read character " place " otherwise"}
#define NOTE "note: benchd does not use these parts of the LogProfile "
#define LEFT_OUT "trainingStep.lr, applicationStart, logInterval"

static const struct {
    const char *name, *profile;
    const char *log;  /* NULL: it is refused */
    double rate;      /* 2 trainers with 50 samples a step; NaN: none */
    const char *said; /* what it leaves out, or why it is refused */
} rows[] = {
    {"ten steps of warm-up; milliseconds", MEGATRON,
     MEGATRON_LINE("1", "9000.0") MEGATRON_LINE("10", "9000") MEGATRON_LINE("20", "500.0") MEGATRON_LINE("30", "500"), 200, LEFT_OUT},
    {"a line that is marked as warm-up", MEGATRON "    warmupStep: {regex: 'iteration\\s+[23]0/'}\n",
     MEGATRON_LINE("10", "1") MEGATRON_LINE("20", "1") MEGATRON_LINE("30", "1") MEGATRON_LINE("40", "250"), 400, LEFT_OUT},
    {"seconds without units; stepTiming before elapsedTime", STEP("n (?P<iteration>\\d+) (?P<globalStep>\\d+) all (?P<elapsedTime>\\S+) one (?P<stepTiming>\\S+)"),
     "n 1 1 all 70 one 2\n", 50, "trainingStep.iteration, trainingStep.elapsedTime"},
    {"a step number alone: time stamps", HEAD "{timestamp: {layout: '2006-01-02T15:04:05Z07:00'}, patterns: {trainingStep: {regex: '^(?<timestamp>\\S+) step (?<globalStep>\\d+)$'}}}",
     "2026-02-05T16:00:00+01:00 step 1\n2026-02-05T16:00:10+01:00 step 6\n", 50, NULL},
    {"a layout that benchd does not read", HEAD "{timestamp: {layout: 'Jan _2 15:04:05'}, patterns: {trainingStep: {regex: '(?P<timestamp>.*) took (?P<stepTiming>\\d+)'}}}",
     "Feb  5 16:00:00 took 4\n", 25, "trainingStep.timestamp"},
    {"rows of nccl-tests: the largest", HEAD "{patterns: {bandwidthResult: {regex: '^\\s*(?P<size>\\d+)\\s+float\\s+(?P<algBW>[\\d.]+)\\s+(?P<busBW>[\\d.]+)'}, networkTransport: {regex: 'Using network (?P<transport>.+)'}}}",
     " 8 float 0.5 1.5\n 16 float 60 90.5\n 8 float 0.5 1\n", 90.5, "bandwidthResult.size, bandwidthResult.algBW, networkTransport"},
    {"flags, classes, text in braces", STEP("(?i)STEP[[:space:]*+(?=]\\(*(?s-m:.)x{1,2}?}\\z|(?U:(?P<stepTiming>\\d+)}*)$"), "Step (:xx 9}\n", 100. / 9, NULL},
    {"a quote and spaces stay", STEP("  ''(?P<stepTiming>\\d+)''  "), "a  '5'  b\n", 20, NULL},
    {"the group cre", "apiVersion: cre.nvidia.com/v1alpha1\nkind: LogProfile\nspec: {patterns: {trainingStep: {regex: '(?P<stepTiming>\\d+) s'}}}", "5 s\n", 20, NULL},
    {"of somebody else", "apiVersion: hub.logsieve.io/v1\nkind: LogProfile\nspec: {}\n", NULL, NAN, "f:1:13: error: apiVersion: a document with a kind must be a LogProfile of nvcre.nvidia.com/v1alpha1, not of hub.logsieve.io/v1"},
    {"events only", HEAD "{patterns: {checkpointSave: {regex: 'saving (?P<step>\\d+)'}}}", NULL, NAN, "spec.patterns: no throughput follows: trainingStep needs stepTiming"},
    {"no number", STEP("Training step done, loss (?P<loss>\\d+)"), NULL, NAN, "no throughput follows"},
    {"an empty capture reads nothing", STEP("step (?P<stepTiming>)"), NULL, NAN, "no throughput follows"},
    {"a unit that it has not", HEAD "{patterns: {trainingStep: {regex: '(?P<stepTiming>\\d+) x', units: {stepTiming: min}}}}", NULL, NAN, "trainingStep.units.stepTiming: unknown value 'min'"},
    {"without a regex", HEAD "{patterns: {trainingStep: {example: x}}}", NULL, NAN, "required field 'regex' is missing"},
    {"matches every line", STEP("(?P<stepTiming>\\d*)"), NULL, NAN, "it matches an empty line"},
    /* what PCRE2 reads otherwise than RE2 */
    REFUSED("a\\C", "2"), REFUSED("\\pN", "1"), REFUSED("[\\d\\p{L}]", "4"), REFUSED("a\\v", "2"), REFUSED("\\Z", "1"), REFUSED("a\\Qx\\E", "2"),
    REFUSED("a\\12", "2"), REFUSED("a\\x41", "2"), REFUSED("[\xc3\xa9]", "2"), REFUSED("a{,2}", "2"),
};
/* clang-format on */

TEST(profiles_are_rules)
{
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(diags_done) struct diags diags = {0};
        _cleanup_(log_rule_freep) struct log_rule *rule = NULL;
        const char *text = rows[i].profile, *log = rows[i].log;
        if (log_rule_load(text, strlen(text), &rule, &diags) < 0) {
            _cleanup_(buf_done) struct buf said = BUF_INIT;
            diags_format(&diags, "f", text, &said);
            if (log != NULL || strstr(buf_cstr(&said), rows[i].said) == NULL) {
                fail_msg("said: %s", buf_cstr(&said));
            }
            continue;
        }
        assert_non_null(log);
        _cleanup_(freep) char *note = xasprintf(NOTE "%s: %s", rule->name, rows[i].said);
        assert_true(str_eq_or_null(rule->note, rows[i].said == NULL ? NULL : note));
        struct log_parser *p = log_parser_new(&(struct log_parser_params){
            .rule = rule, .role = ROLE_WORKER, .batch_size = 50, .trainers = 2});
        log_parser_feed(p, LOG_STDOUT, log, strlen(log), 0);
        log_parser_end(p, 0);
        struct log_result r;
        assert_int_equal(log_parser_result(p, &r), 0);
        assert_true(fabs(r.rate - rows[i].rate) < 1e-6 && r.summary.source.is_job);
        summary_done(&r.summary);
        log_parser_free(p);
    }
}
