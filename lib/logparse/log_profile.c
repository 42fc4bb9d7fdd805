/* See log_profile.h. */
#include "logparse/log_profile.h"

#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "base/str.h"
#include "logparse/rule.h"
#include "logparse/scan.h"

#define FIX "see docs/log-rules.md, or write a log rule of your own"

/* What is read; the patterns first. NVCRE reads the log of one pod, so a figure is of the job. A
 * line that warmupStep matches has no figure. */
static const char *const fields[] = {
    "warmupStep", "trainingStep", "bandwidthResult", "patterns", "timestamp", "warmupSteps", NULL};
static const char *const lines[] = {"kind: Info", "kind: Step\n  scope: Job",
                                    "kind: Step\n  scope: Job\n  unit: GB\n  aggregate: Max"};
static const struct {
    const char *capture, *group; /* a unit follows "step_" */
    const char *unless;          /* NVCRE prefers this capture where the regex has both */
} captures[] = {
    {"trainingStep.timestamp", "stamp", NULL},
    {"trainingStep.globalStep", "step", NULL},
    {"trainingStep.iteration", "step", "<globalStep>"},
    {"trainingStep.epoch", "epoch", NULL},
    {"trainingStep.stepTiming", "step_", NULL},
    {"trainingStep.elapsedTime", "step_", "<stepTiming>"},
    {"trainingStep.loss", "loss", NULL},
    {"trainingStep.tflops", "tflops", NULL},
    {"bandwidthResult.busBW", "rate", NULL},
};

struct reading {
    struct diags *d;
    struct place pattern;        /* which is read now */
    struct buf *rule, *left_out; /* names, with ", " before each */
    bool has_stamps, has_figure;
};

static void put_capture(struct reading *r, const char *regex, const char *name, size_t len)
{
    static const char *const units[] = {"s", "ms", "us"};
    _cleanup_(freep) char *capture = xasprintf("%s.%.*s", r->pattern.key, (int)len, name);
    for (size_t i = 0; i < COUNT_OF(captures); i++) {
        const char *group = captures[i].group, *unless = captures[i].unless;
        if (str_eq(captures[i].capture, capture) && name[len + 1] != ')' &&
            (unless == NULL || strstr(regex, unless) == NULL) &&
            (r->has_stamps || !str_eq(group, "stamp"))) {
            const char *key = strchr(capture, '.') + 1;
            const int unit = read_enum_or(r->d, PLACE(&r->pattern, "units"), key, units, 0);
            buf_printf(r->rule, "(?<%s%s>", group, str_eq(group, "step_") ? units[unit] : "");
            r->has_figure |= str_has_prefix(group, "step") || str_eq(group, "rate");
            return;
        }
    }
    buf_printf(r->left_out, ", %s", capture);
    buf_puts(r->rule, "(?:");
}

/* Appends a regex that RE2 accepts. The place that PCRE2 could read otherwise; NULL: none. */
static const char *put_regex(struct reading *r, const char *regex)
{
    for (const char *c = regex; *c != '\0'; c += *c == '\\' && c[1] != '\0' ? 2 : 1) {
        const bool is_known =
            *c != '\\' || ascii_is_punct(c[1]) || strchr("ABDSWabdfnrstwz", c[1]) != NULL;
        if (!is_known || !ascii_is_print(*c) || str_has_prefix(c, "{,")) {
            return c; /* in a class, too */
        }
    }
    for (size_t at = 0; regex[at] != '\0';) {
        const char *here = regex + at;
        const size_t head = str_has_prefix(here, "(?P<") ? 4 : str_has_prefix(here, "(?<") ? 3 : 0;
        const size_t len = head == 0 ? 0 : strspn(here + head, BUF_ALNUM "_");
        if (len > 0 && here[head + len] == '>') {
            put_capture(r, regex, here + head, len);
            at += head + len + 1;
        } else {
            at = scan_item(regex, at);
            buf_append(r->rule, here, (size_t)(regex + at - here));
        }
    }
    return NULL;
}

static void put_line(struct reading *r, const char *line)
{
    const struct place regex = place_get(&r->pattern, "regex");
    const char *text, *bad;
    if (!read_map(r->d, &r->pattern, FIELDS("*regex", "example", "units")) ||
        !read_text(r->d, &regex, LOG_PATTERN_MAX, &text)) {
        return;
    }
    buf_printf(r->rule, "- %s\n  pattern: |1-\n   ", line);
    if ((bad = put_regex(r, text)) != NULL) {
        reader_complain(r->d, &regex, FIX, "benchd could read character %td otherwise than NVCRE",
                        bad - text + 1);
    }
    buf_puts(r->rule, "\n");
}

bool log_profile_write(struct diags *d, const struct place *place, struct buf *rule,
                       struct buf *left_out)
{
    const size_t n_before = d->list.len;
    const struct place spec = place_get(place, "spec"), patterns = place_get(&spec, "patterns");
    const struct place *const maps[] = {&patterns, &spec}, meta = place_get(place, "metadata");
    const int64_t warmup_steps = read_int_or(d, &spec, "warmupSteps", 0, 1000000, -1);
    const char *version = read_text_or(d, place, "apiVersion", 100, "none");
    const char *layout = read_text_or(d, PLACE(&spec, "timestamp"), "layout", 100, "");
    struct reading r = {.d = d, .rule = rule, .left_out = left_out};
    /* Go describes a format by the moment 2006-01-02 15:04:05, written in it. */
    r.has_stamps =
        str_has_prefix(layout, "2006-01-02") && strstr(layout, "15:04:05") == layout + 11;
    buf_printf(rule, "name: |1-\n %s\nlines:\n",
               read_text_or(d, &meta, "name", LOG_RULE_NAME_MAX, LOG_RULE_UNNAMED));
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        r.pattern = place_get(&patterns, fields[i]);
        put_line(&r, lines[i]);
        if (warmup_steps >= 0 && r.pattern.node != NULL && str_eq(fields[i], "trainingStep")) {
            buf_printf(rule, "  skip: {steps: %lld}\n", (long long)warmup_steps);
        }
    }
    for (size_t i = 0; i < COUNT_OF(maps); i++) {
        place_each (field, maps[i]) {
            if (!str_is_one_of(field.key, fields)) {
                buf_printf(left_out, ", %s", field.key);
            }
        }
    }
    if (!str_has_suffix(version, "cre.nvidia.com/v1alpha1")) { /* the group was cre once */
        reader_complain(d, PLACE(place, "apiVersion"), FIX,
                        "a document with a kind must be a LogProfile of nvcre.nvidia.com/v1alpha1, "
                        "not of %s",
                        version);
    } else if (!r.has_figure) {
        reader_complain(d, &patterns, FIX,
                        "no throughput follows: trainingStep needs stepTiming, elapsedTime, "
                        "globalStep or iteration; bandwidthResult needs busBW");
    }
    return d->list.len == n_before;
}
