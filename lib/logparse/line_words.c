/* See line_words.h.
 *
 * The patterns are those of PCRE2, without regard to case. A number is a group without a body, so
 * that it is never a part of a longer one. */
#include "logparse/line_words.h"

#include <string.h>

#include "base/str.h"
#include "base/mem.h"

#define HEAD_MAX 200 /* bytes of a line in which its words count */
#define HIDDEN '\x01'

const char *const log_use_names[LOG_USE_COUNT] = {
    "Step", "WarmUp", "Summary", "Info", "Evaluation", "Preparation", "Other", "Refused"};

/* ---- words ---- */

#define EVALUATE                                                                                   \
    "(?:evals?|evaluat(?:e|ing|ion)|val|valid|validat(?:e|ing|ion)|test|testing|"                  \
    "predict(?:ing|ion)?|sanity)"
/* The word by itself, not as a part of a name such as "val_loss" and "test.py". */
#define EVALUATION "(?<![a-z_./\\d-])" EVALUATE "(?![a-z_]|[./-][a-z\\d])"
#define LEVELS "(?:info|warn|warning|debug|error|notice|critical|root|i|t|utc|z|pid)"
#define COUNTED "(?:steps?|iters?|iteration|batch(?:es)?|epoch|loop|set|split|phase)"
#define PREPARE                                                                                    \
    "(?:Map|Filter|Generat|Flatten|Sav|Creat|(?:Running )?[Tt]oken|Group|Load|Download|Pack|"      \
    "Truncat|Apply|Adding|Convert|Extract|Shuffl|Resolv|Fetch|Cast|Concat|Pre-?proc|Cach|Scan|"    \
    "Build|Index|Unpack|Upload|Merg|Materializ|Collating|Encoding|Computing)"

#define SECONDS "s|secs?|seconds?"
#define MILLISECONDS "ms|msecs?|milliseconds?"
#define MICROSECONDS "us|usecs?|microseconds?"
#define STEPS                                                                                      \
    "steps?|its?|iters?|iterations?|(?:mini-?)?batch(?:es)?|updates?|itr|global_step|batch_idx|"   \
    "num_updates"
/* What is counted. A rate of another noun may be anything, such as the speed of a disk. */
#define SAMPLES                                                                                    \
    "samples?|imgs?|images?|examples?|ex|seqs?|sequences?|rows?|frames?|records?|items?|"          \
    "instances?|sentences?"
#define TOKENS "tokens?|toks?"
#define DEVICES "gpus?|ranks?|devices?|tpus?|chips?"
/* Names of what a step or a device has. A number with such a name is never a rate or a time. */
#define NAMES                                                                                      \
    "lr|lrm|learning_rate|wd|decay|momentum|acc|acc1|acc5|accuracy|top1|top5|auc|f1|bleu|miou|"    \
    "loss|losses|error|err|mae|mse|rmse|gnorm|norm|ppl|perplexity|entropy|reward|kl|mem|memory|"   \
    "max_mem|memory_allocated|mfu|tflops|flops|epoch|epochs|eta|world_size|bsz|wpb|batch_size|"    \
    "batchsize|bs|seed|scale|temperature"
/* Names of who prints. The number after one may have a unit: "4 GPUs: 812 samples/s". */
#define OWNERS "rank|gpus?|worker|trainer|replica|node|device"
#define CLOCKS "time|took|spent|cost|duration|dt|seconds"
/* The time of a part of a step, or of more than steps. */
#define OTHER_TIMES                                                                                \
    "data|load|read|epoch|total|eta|eval|wall|elapsed|stamp|val_|valid|test|ward|fwd|bwd|compile|" \
    "init|comm|reduce|optim|save|ckpt|max|min|left|remain"

/* ---- names and units of numbers ---- */

#define LABEL "[\\w/.()]*"
#define TEXT "[a-z_/().\\- ]" /* a character of the words before a number */
#define GAP "[\\])]?[\"' \\t:=#\\[]+"
#define SIGN "[\\])\"' \\t]*[:=][\"' \\t\\[]*"
#define ANY_NUMBER "[-+]?\\.?\\d[\\d.,:]*(?:e[-+]?\\d+)?"
#define NUMBER(group) "(?<![\\w.,]|\\w[-/]|\\d:)(?-i:(?<" group ">))(?! ?%|[-:]\\d)"
#define PER "(?:/| per | a | each |_per_|(?<=[a-z])per(?=[a-z]))"
#define PER_DEVICE "(?:/| per |_per_)(?:" DEVICES ")(?![a-z])"
#define DIVIDED(noun, per) "(?:" noun ")" PER "(?:" per ")(?![a-z])(?!" PER_DEVICE ")"
/* A unit between two numbers belongs to the one after it if a sign says so. Without a sign it
 * belongs to a number that has no other name: hidden numbers have one. */
#define OF_NEXT                                                                                    \
    "(?!" SIGN "[-.]?\\d|[\\])\"']*[ \\t]+[-.]?\\d[\\d.,]*+"                                       \
    "(?! ?(?:ms|s|secs?|us|[gm]i?b|w|\\w+/\\w+)(?![a-z])))"
#define LABELED(label, group)                                                                      \
    "(?<![\\w/.])" label SIGN NUMBER(group) "|(?<!\\d |[\\w/.])" label                             \
                                            "[\\])\"']*[ \\t]+\\[?" NUMBER(group)
#define BEHIND(text, group)                                                                        \
    "(?<![a-z])(?:speed|throughput|rate|" CLOCKS ")" GAP NUMBER(                                   \
        group) " ?" text "(?!" SIGN "[-.]?\\d)|(?:(?<![\\w/.])[a-z]" LABEL SIGN                    \
               ")?" NUMBER(group) " ?" text OF_NEXT
/* The unit of a JSON line is another field of it. */
#define JSON_NAME "\"[\\w/.]*(?:throughput|value|speed|rate)\" *: *"
#define JSON_UNIT(text) "\"unit\" *: *\"" text "\""
#define IN_JSON(text, group)                                                                       \
    JSON_NAME NUMBER(group) "[^{}]*?" JSON_UNIT(text) "|" JSON_UNIT(text) "[^{}]*?" JSON_NAME      \
    NUMBER(group)
#define QUOTIENT(noun, per, group)                                                                 \
    LABELED("(?!" LABEL "(?:gpu|rank|device|tpu|chip))[\\w/.(]*?(?<![a-z])" DIVIDED(noun, per),    \
            group)                                                                                 \
    "|" BEHIND(DIVIDED(noun, per), group) "|" IN_JSON(DIVIDED(noun, per), group)
#define NAME(names, group)                                                                         \
    "(?:" LABELED("(?:" names ")(?![a-z_/])",                                                      \
                  group) ")(?! ?(?:" SAMPLES "|" TOKENS                                            \
                         "|words?)/)|" BEHIND("(?:" names ")(?![a-z_/])", group)
/* A time with the name of a step, and the time of anything. */
#define NAMED_TIME(condition, suffix, group, unit)                                                 \
    "(?<!" TEXT ")(?!" TEXT "*?(?:" OTHER_TIMES "))" condition TEXT "*?(?<=[a-z)])" suffix GAP     \
    NUMBER(group) unit
#define OF_STEP "(?=" TEXT "*?(?:step|iter|batch))"
#define TIMED "(?=" TEXT "*?(?:" CLOCKS "))"
#define CLOCK_LABEL TEXT "*?(?<![\\w/.(])(?:" CLOCKS ")"
#define UNIT(names) " ?(?:" names ")(?![a-z_/]|" SIGN "[-.]?\\d)"
#define NO_UNIT "(?! ?(?:" MILLISECONDS "|" MICROSECONDS "|m|min|minutes?|h|hours?)(?![a-z_/]))"
#define STEP_TIME(unit, suffix, group)                                                             \
    NAMED_TIME(OF_STEP, "", group, UNIT(unit)) "|" NAMED_TIME(OF_STEP TIMED, suffix, group, NO_UNIT)
#define ANY_TIME(unit, group)                                                                      \
    "(?<!" TEXT ")(?!" TEXT "*?(?:" OTHER_TIMES "))" CLOCK_LABEL GAP NUMBER(group) unit
#define SUFFIX(unit) "(?<=" unit "|" unit "\\))"
#define NO_SUFFIX "(?<!ms|ms\\)|_us|us\\))"
#define BANDWIDTH "(?<!" TEXT ")(?=" TEXT "*?(?:bw|bandwidth))" TEXT "*?"
#define OPTIONAL_S "(?: ?(?:" SECONDS ")(?![a-z_/]))?+" NO_UNIT

/* "step 7: 0.25 s" with a hidden number, and a time of which nothing says what it is. */
#define AFTER_STEP(unit, group) "\\x01[:,)\\]| -]*" NUMBER(group) UNIT(unit) "[ .]*$"
#define OF_EPOCH "(?<![a-z_])epoch(?![a-z_])(?!.*(?:step|iter|batch))"
#define TIME_OF_EPOCH(unit, group) OF_EPOCH "[^\\d]{0,40}" NUMBER(group) UNIT(unit)
#define CLOCK_OF_EPOCH(group) OF_EPOCH ".*(?:" CLOCKS ")" GAP NUMBER(group) NO_UNIT
#define TIME_OF_ALL(unit, group) "(?:[a-z][^\\d]{0,20})?" NUMBER(group) UNIT(unit)

static const char of_what[] = "it does not say of what: samples, tokens, words or steps";
static const char of_device[] = "it is of one device, and a process may have several";
static const char of_epoch[] = "it is the time of an epoch; a rule must say how many samples that "
                               "has (kind: Epoch, each: N)";
static const char of_which[] = "its unit is between two numbers and may be of either";

const struct log_meaning log_meanings[] = {
    {6, LOG_RATE, UNIT_SAMPLES, QUOTIENT(SAMPLES, SECONDS, "rate")},
    {6, LOG_RATE, UNIT_TOKENS, QUOTIENT(TOKENS, SECONDS, "rate")},
    {6, LOG_RATE, UNIT_WORDS, QUOTIENT("words?", SECONDS, "rate")},
    {6, LOG_RATE, UNIT_GB,
     BANDWIDTH "(?:(?<=(?-i:GB/s)|(?-i:GB/s)\\))" SIGN NUMBER("rate") "|" GAP NUMBER(
         "rate") " ?(?-i:GB)" PER "(?:" SECONDS ")(?![a-z]))"},
    {5, LOG_STEP_RATE, UNIT_SAMPLES, QUOTIENT(STEPS, SECONDS, "step_rate")},
    {5, LOG_RATE, UNIT_SAMPLES, NAME("ips|fps|sps", "rate")},
    {5, LOG_RATE, UNIT_WORDS, NAME("wps", "rate")},
    {5, LOG_RATE, UNIT_TOKENS, NAME("tps", "rate")},
    {4, LOG_STEP_RATE, UNIT_SAMPLES, NAME("ups", "step_rate")},
    {5, LOG_STEP_S, UNIT_SAMPLES, QUOTIENT(SECONDS, STEPS, "step_s")},
    {5, LOG_STEP_MS, UNIT_SAMPLES, QUOTIENT(MILLISECONDS, STEPS, "step_ms")},
    {5, LOG_STEP_US, UNIT_SAMPLES, QUOTIENT(MICROSECONDS, STEPS, "step_us")},
    {3, LOG_STEP_MS, UNIT_SAMPLES, STEP_TIME(MILLISECONDS, SUFFIX("ms"), "step_ms")},
    {3, LOG_STEP_US, UNIT_SAMPLES, STEP_TIME(MICROSECONDS, "(?<=_us|us\\))", "step_us")},
    {3, LOG_STEP_S, UNIT_SAMPLES, STEP_TIME(SECONDS, NO_SUFFIX, "step_s")},
    {2, LOG_STEP_MS, UNIT_SAMPLES, ANY_TIME(UNIT(MILLISECONDS), "step_ms"), .needs_step = true},
    {2, LOG_STEP_US, UNIT_SAMPLES, ANY_TIME(UNIT(MICROSECONDS), "step_us"), .needs_step = true},
    {2, LOG_STEP_S, UNIT_SAMPLES, ANY_TIME(OPTIONAL_S, "step_s"), .needs_step = true},
    {2, LOG_STEP_MS, UNIT_SAMPLES, AFTER_STEP(MILLISECONDS, "step_ms"), .needs_step = true},
    {2, LOG_STEP_S, UNIT_SAMPLES, AFTER_STEP(SECONDS, "step_s"), .needs_step = true},
    {0, LOG_RATE, UNIT_SAMPLES,
     NUMBER("rate") " ?[a-z]+" PER "(?:" SECONDS ")" PER_DEVICE "|(?<![\\w/.])(?=" LABEL
                    "(?:/|_per_)(?:" SECONDS ")(?![a-z]))" LABEL "?(?:" DEVICES
                    ")" LABEL GAP NUMBER("rate"),
     .doubt = of_device},
    {0, LOG_RATE, UNIT_SAMPLES,
     NUMBER("rate") " ?(?:" SAMPLES "|" TOKENS "|words?)" PER "(?:" SECONDS ")(?![a-z])",
     .doubt = of_which},
    {0, LOG_RATE, UNIT_SAMPLES,
     "(?<![\\w/])" LABEL "throughput" GAP NUMBER("rate") "|" NUMBER(
         "rate") "(?: ?(?!mb|gb|kb)[a-z]+)?(?:/| per | a | each )(?:" SECONDS ")(?![a-z])|"
                 "(?<![\\w/])[\\w/]*(?:speed|/s)" GAP NUMBER("rate"),
     .doubt = of_what},
    {0, LOG_TIME_MS, UNIT_SAMPLES, TIME_OF_EPOCH(MILLISECONDS, "time_ms"), .doubt = of_epoch},
    {0, LOG_TIME_S, UNIT_SAMPLES, TIME_OF_EPOCH(SECONDS, "time_s") "|" CLOCK_OF_EPOCH("time_s"),
     .doubt = of_epoch},
    {0, LOG_STEP_MS, UNIT_SAMPLES, TIME_OF_ALL(MILLISECONDS, "step_ms")},
    {0, LOG_STEP_S, UNIT_SAMPLES, TIME_OF_ALL(SECONDS, "step_s")},
    {0, LOG_RATE, UNIT_SAMPLES, "[a-z][^\\d]{0,20}" NUMBER("rate") "(?! ?[gmk]?i?b(?![a-z]))"},
};
const size_t log_meaning_count = COUNT_OF(log_meanings);

/* ---- what is asked of a line ---- */

enum question {
    IS_EVALUATION,
    IS_EVALUATION_AT,
    NAMES_EVALUATION,
    NAMES_EPOCH,
    IS_PREPARATION,
    IS_EACH,
    IS_JOB,
    STEP_BY_NAME,
    STEP_OF_ALL,
    ELAPSED,
    LOSS,
    INDEX,
    OTHER_NUMBER,
    MEAN,
    QUESTION_COUNT, /* the meanings follow */
};

#define TIME_UNIT UNIT(SECONDS "|" MILLISECONDS "|" MICROSECONDS)
#define WHOLE NUMBER("step") "(?!\\.\\d)"
#define THINGS "(?:" SAMPLES "|" TOKENS "|words?)"
static const char *const questions[QUESTION_COUNT] = {
    [IS_EVALUATION] = "^(?:[^a-z]*+" LEVELS "(?![a-z]))*+[^a-z]*+(?:" EVALUATE "_|" EVALUATION
                      ")|" EVALUATION "[^a-z]" COUNTED "(?![a-z])|[(\\[<]([\"']?)" EVALUATION
                      "\\1[)\\]>]|(?:[:=] *([\"'])" EVALUATION "\\2|=" EVALUATION ")(?=[ ,;}|]|$)",
    [IS_EVALUATION_AT] = "(?<![a-z\\d_./-])[\\d_./-]*" EVALUATE "[_./-][\\w./-]*[ \\t\"':=]{0,5}$",
    [NAMES_EVALUATION] = "(?<![a-z])" EVALUATE "(?![a-z])",
    [NAMES_EPOCH] = "(?<![a-z])(?:epochs?|ep|pass)(?![a-z])",
    [IS_PREPARATION] = "^(?-i:" PREPARE "[^\\[]*\\[.*|(?![^\\[]*rain)[^\\[]*\\[.* examples/s|"
                       "[^\\[]*\\[.*\\d{5}(?:\\.\\d*)?it/s)\\] *$",
    [IS_EACH] = "(\\bper|_per|/)[-_ ]*(gpu|device|worker|rank|replica|process|chip)s?(?![a-z])",
    [IS_JOB] = "(?<![a-z])(total|global|aggregate|overall|all)[-_: ]*([\\d.,]+ *)?(throughput|"
               "speed|" THINGS "[-_ ]*(/|per))|/ *s(ec(ond)?s?)?[ ([]+(in )?(total|global|"
               "((over|across|of|on) )?all\\b)",
    [STEP_BY_NAME] = "(?<![\\w/.])(?:" STEPS "|up\\.)" GAP WHOLE "(?!" TIME_UNIT ")",
    [STEP_OF_ALL] = "(?<!\\w)(?!(?:train|training|info)\\b)[a-z]" LABEL GAP
                    "\\d[\\d.,]*(*SKIP)(*F)|" NUMBER("step") " ?/(?= *\\d+(?![\\d/.-]))",
    [ELAPSED] =
        "(?<![\\w/.])(?:(?:(?:train|total|elapsed|wall)(?:ing)?[_ -])(?:time|clock)|elapsed)" GAP
        "(?<elapsed_s>\\d+(?:\\.\\d+)?)(?![\\d.:])",
    [LOSS] = "(?<![\\w/.])(?:train_)?loss" GAP NUMBER("loss"),
    [INDEX] = "(?<![\\w/.])[a-z]+" GAP WHOLE "(?!" TIME_UNIT ")",
    [OTHER_NUMBER] =
        "(?<![^ \\t=:\"'(\\[,/.~])/[^ \\t]+|\\w\\.[a-z]{1,4}:\\d+|\\btensor\\([^)]*|" ANY_NUMBER
        "%|(?<![\\w/.])"
        "(?:(?:eval|val_|val/|valid|test)" LABEL "|(?!" LABEL "(?:/|_per_)(?:" SECONDS
        ")(?![a-z]))" LABEL "?(?<![a-z\\d])(?:" NAMES "|(?:" OWNERS ")(?!" SIGN ANY_NUMBER
        " ?" DIVIDED(THINGS, SECONDS) OF_NEXT "))(?![a-z\\d])" LABEL ")" GAP "\\K" ANY_NUMBER
                                              "|(?<![\\w/.])(?:" STEPS ")" GAP
                                              "\\K\\d++(?![\\d.,]*[.,]\\d|" TIME_UNIT ")",
    [MEAN] = "(?:avg|average|mean|overall|running|cumul)" TEXT "*[\"':=#\\[\\t ]*\\K" ANY_NUMBER
             "|" ANY_NUMBER " ?[a-z/_]* ?\\((?:avg|mean)",
};

static bool find(struct log_matcher *m, enum question q, const char *line, size_t len, size_t from,
                 struct log_match *ret)
{
    return log_matcher_find(m, q, questions[q], line, len, from, ret);
}

static bool is(struct log_matcher *m, enum question q, const char *line, size_t len)
{
    struct log_match match;
    return find(m, q, line, len, 0, &match);
}

bool log_is_evaluation(struct log_matcher *m, const char *line, size_t len)
{
    return is(m, IS_EVALUATION, line, len < HEAD_MAX ? len : HEAD_MAX);
}

bool log_is_evaluation_at(struct log_matcher *m, const char *line, size_t at)
{
    return is(m, IS_EVALUATION_AT, line, at);
}

bool log_is_preparation(struct log_matcher *m, const char *line, size_t len)
{
    const char last = len > 0 ? line[len - 1] : '\0'; /* blanks cover a longer bar of before */
    return (last == ']' || last == ' ') && is(m, IS_PREPARATION, line, len);
}

bool log_names_epoch(struct log_matcher *m, const char *line, size_t len)
{
    return is(m, NAMES_EPOCH, line, len < HEAD_MAX ? len : HEAD_MAX);
}

bool log_names_evaluation(struct log_matcher *m, const char *text)
{
    return is(m, NAMES_EVALUATION, text, strlen(text));
}

const char *log_scope_words(const char *line)
{
    struct log_matcher *m = log_matcher_new();
    const char *scope = is(m, IS_EACH, line, strlen(line))  ? "Each"
                        : is(m, IS_JOB, line, strlen(line)) ? "Job"
                                                            : NULL;
    log_matcher_free(m);
    return scope;
}

bool log_find_step(struct log_matcher *m, const char *line, size_t len, struct log_match *ret)
{
    if (find(m, STEP_BY_NAME, line, len, 0, ret)) {
        return true;
    }
    size_t from = 0;
    while (find(m, STEP_OF_ALL, line, len, from, ret)) {
        from = ret->end;
    }
    return from > 0;
}

bool log_may_be_cut(struct log_matcher *m, const char *line, size_t number, size_t len,
                    size_t *ret_begin)
{
    size_t digits = 0, begin = number > 0 ? number - 1 : 0;
    while (digits < len && ascii_is_digit(line[number + digits])) {
        digits++;
    }
    while (begin > 0 && ascii_is_digit(line[begin - 1])) {
        begin--;
    }
    *ret_begin = begin;
    const size_t n = number - begin - 1;
    const char before = begin > 0 ? line[begin - 1] : ' ';
    if (digits != 3 || number < 2 || line[number - 1] != ' ' || n < 1 || n > 3 ||
        line[begin] == '0' || ascii_is_alnum(before) || strchr("._,:/-'", before) != NULL ||
        (unsigned char)before >= 0x80) {
        return false;
    }
    _cleanup_(freep) char *text = xstrndup(line, number - 1);
    log_hide_names(m, text, number - 1);
    return text[begin] != HIDDEN;
}

bool log_find_meaning(struct log_matcher *m, const struct log_meaning *meaning, const char *line,
                      size_t len, struct log_match *ret)
{
    const unsigned slot = QUESTION_COUNT + (unsigned)(meaning - log_meanings);
    return log_matcher_find(m, slot, meaning->pattern, line, len, 0, ret);
}

bool log_find_index(struct log_matcher *m, const char *line, size_t len, size_t from,
                    struct log_match *ret)
{
    return find(m, INDEX, line, len, from, ret);
}

bool log_find_elapsed(struct log_matcher *m, const char *line, size_t len, struct log_match *ret)
{
    return find(m, ELAPSED, line, len, 0, ret);
}

bool log_find_loss(struct log_matcher *m, const char *line, size_t len, struct log_match *ret)
{
    return find(m, LOSS, line, len, 0, ret);
}

static void hide(struct log_matcher *m, enum question q, char *line, size_t len)
{
    struct log_match match;
    for (size_t from = 0; find(m, q, line, len, from, &match); from = match.end) {
        for (size_t i = match.begin; i < match.end; i++) {
            line[i] = ascii_is_digit(line[i]) ? HIDDEN : line[i];
        }
    }
}

void log_hide_names(struct log_matcher *m, char *line, size_t len)
{
    hide(m, OTHER_NUMBER, line, len);
}

void log_hide_means(struct log_matcher *m, char *line, size_t len)
{
    hide(m, MEAN, line, len);
}
