/* See line_use.h. */
#include "logparse/line_use.h"

#include <assert.h>
#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "logparse/pattern.h"

#define HEAD_MAX 200 /* bytes of a line in which its words count */
#define WORD_SIZE 24

const char *const log_use_names[LOG_USE_COUNT] = {
    "Step", "WarmUp", "Summary", "Info", "Evaluation", "Preparation", "Other", "Refused"};

static const char *const evaluations[] = {
    "eval",    "evals",      "evaluate",   "evaluating", "evaluation", "val",
    "valid",   "validate",   "validating", "validation", "test",       "testing",
    "predict", "predicting", "prediction", "sanity",     NULL};
/* Words before the first one that says what a line is about. */
static const char *const levels[] = {"info",   "warn",     "warning", "debug", "error",
                                     "notice", "critical", "root",    "i",     "t",
                                     "utc",    "z",        "pid",     NULL};
/* What an evaluation counts: "validate step: 20", "eval batch 3". */
static const char *const counted[] = {"step",  "steps",   "iter",  "iters", "iteration",
                                      "batch", "batches", "epoch", "loop",  "set",
                                      "split", "phase",   NULL};
/* How the bars of data sets, downloads and checkpoints begin. */
static const char *const preparations[] = {
    "Map",           "Filter",  "Generat",  "Flatten",    "Sav",       "Creat",    "Token",
    "Running token", "Group",   "Load",     "Download",   "Pack",      "Truncat",  "Apply",
    "Adding",        "Convert", "Extract",  "Shuffl",     "Resolv",    "Fetch",    "Cast",
    "Concat",        "Preproc", "Pre-proc", "Cach",       "Scan",      "Build",    "Index",
    "Unpack",        "Upload",  "Merg",     "Materializ", "Collating", "Encoding", "Computing"};

struct word {
    char text[WORD_SIZE]; /* in small letters; cut if it is longer */
    size_t begin, end;
};

/* The next run of letters from *at on; false at the end. */
static bool next_word(const char *line, size_t len, size_t *at, struct word *ret)
{
    size_t begin = *at;
    while (begin < len && !ascii_is_letter(line[begin])) {
        begin++;
    }
    size_t end = begin;
    while (end < len && ascii_is_letter(line[end])) {
        end++;
    }
    *at = end;
    *ret = (struct word){.begin = begin, .end = end};
    for (size_t i = 0; i < end - begin && i < WORD_SIZE - 1; i++) {
        ret->text[i] = ascii_lower(line[begin + i]);
    }
    return end > begin;
}

/* "(val)", "[eval]", "split=test", "\"mode\": \"eval\"": a word alone that is a value. */
static bool is_value(const char *line, size_t len, const struct word *w)
{
    size_t before = w->begin, after = w->end;
    const bool is_quoted = before > 0 && after < len && strchr("\"'", line[before - 1]) != NULL &&
                           line[after] == line[before - 1];
    before -= is_quoted ? 1 : 0;
    after += is_quoted ? 1 : 0;
    const char open = before > 0 ? line[before - 1] : '\0', close = after < len ? line[after] : ' ';
    if (memchr("([<", open, 3) != NULL) {
        return memchr(")]>", close, 3) != NULL;
    }
    while (before > 0 && line[before - 1] == ' ') {
        before--;
    }
    const bool is_assigned = before > 0 && memchr(":=", line[before - 1], 2) != NULL;
    return is_assigned && memchr(" ,;}|", close, 5) != NULL && (is_quoted || open == '=');
}

/* Is the word a part of a longer name, such as "val_loss" and "test.py"? */
static bool is_in_name(const char *line, size_t len, const struct word *w)
{
    const char before = w->begin > 0 ? line[w->begin - 1] : ' ';
    const char after = w->end < len ? line[w->end] : ' ';
    const char beyond = w->end + 1 < len ? line[w->end + 1] : ' ';
    return strchr("_./-", before) != NULL || ascii_is_digit(before) || after == '_' ||
           ((after == '.' || after == '/' || after == '-') && ascii_is_alnum(beyond));
}

bool log_is_evaluation(const char *line, size_t len)
{
    len = len < HEAD_MAX ? len : HEAD_MAX;
    struct word w, next;
    bool is_first = true;
    for (size_t at = 0; next_word(line, len, &at, &w);) {
        const bool is_name = is_in_name(line, len, &w);
        if (is_first && str_is_one_of(w.text, evaluations) && w.end < len && line[w.end] == '_') {
            return true; /* "{'eval_loss': ..." */
        }
        if (!is_name && str_is_one_of(w.text, evaluations)) {
            size_t ahead = w.end;
            const bool is_followed = next_word(line, len, &ahead, &next) &&
                                     next.begin - w.end <= 1 && str_is_one_of(next.text, counted);
            if (is_first || is_followed || is_value(line, len, &w)) {
                return true;
            }
        }
        is_first = is_first && str_is_one_of(w.text, levels);
    }
    return false;
}

bool log_is_evaluation_at(const char *line, size_t at)
{
    size_t end = at;
    while (end > 0 && at - end < 6 && strchr(" \t\"':=", line[end - 1]) != NULL) {
        end--;
    }
    size_t begin = end;
    while (begin > 0 &&
           (ascii_is_alnum(line[begin - 1]) || strchr("_./-", line[begin - 1]) != NULL)) {
        begin--;
    }
    struct word w;
    return next_word(line, end, &begin, &w) && w.end < end && strchr("_./-", line[w.end]) != NULL &&
           str_is_one_of(w.text, evaluations);
}

static bool has_text(const char *line, size_t len, const char *text)
{
    return memmem(line, len, text, strlen(text)) != NULL;
}

/* "38104236.11it/s]": 10,000 a second or more are bytes of a download, not steps. */
static bool is_download(const char *line, size_t len)
{
    static const char unit[] = "it/s]";
    if (len < sizeof(unit) || memcmp(line + len - 5, unit, 5) != 0) {
        return false;
    }
    size_t at = len - 5, n = 0;
    while (at > 0 && (ascii_is_digit(line[at - 1]) || line[at - 1] == '.')) {
        at--;
        n = line[at] == '.' ? 0 : n + 1;
    }
    return n >= 5;
}

bool log_is_preparation(const char *line, size_t len)
{
    const char *const bracket = memchr(line, '[', len);
    if (bracket == NULL || line[len - 1] != ']') {
        return false;
    }
    const size_t head = (size_t)(bracket - line);
    return array_any(preparations, COUNT_OF(preparations), it,
                     len >= strlen(*it) && memcmp(line, *it, strlen(*it)) == 0) ||
           is_download(line, len) ||
           (has_text(bracket, len - head, " examples/s]") && !has_text(line, head, "rain"));
}

bool log_names_evaluation(const char *text)
{
    struct word w;
    for (size_t at = 0; next_word(text, strlen(text), &at, &w);) {
        if (str_is_one_of(w.text, evaluations)) {
            return true;
        }
    }
    return false;
}

const char *log_scope_words(const char *line)
{
#define THINGS "(samples?|images?|imgs?|examples?|sequences?|seqs?|tokens?|toks?|words?|rows?)"
#define PLACES "(gpu|device|worker|rank|replica|process|chip)"
    static const struct {
        const char *scope, *pattern;
    } rows[] = {
        {"Each", "(?i)(\\bper|_per|/)[-_ ]*" PLACES "s?(?![a-z])"},
        {"Job", "(?i)(?<![a-z])(total|global|aggregate|overall|all)[-_: ]*([\\d.,]+ *)?"
                "(throughput|speed|" THINGS "[-_ ]*(/|per))"},
        {"Job", "(?i)/ *s(ec(ond)?s?)?[ ([]+(in )?(total|global|((over|across|of|on) )?all\\b)"},
    };
    struct log_matcher *matcher = log_matcher_new();
    const char *scope = NULL;
    for (size_t i = 0; i < COUNT_OF(rows) && scope == NULL; i++) {
        struct log_pattern *pattern = NULL;
        struct log_match match;
        size_t offset;
        const int r = log_pattern_new(rows[i].pattern, &pattern, &offset, NULL);
        assert(r == 0); /* they are constant */
        (void)r;
        const bool is_so = log_matcher_run(matcher, pattern, line, strlen(line), &match) > 0;
        scope = is_so ? rows[i].scope : NULL;
        log_pattern_free(pattern);
    }
    log_matcher_free(matcher);
    return scope;
}
