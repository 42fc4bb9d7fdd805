/* See reading.h. */
#include "logparse/reading.h"

#include <errno.h>
#include <math.h>

#include "base/str.h"
#include "core/json_field.h"
#include "core/record.h"
#include "core/record_members.h"

const char *const log_verdict_names[LOG_VERDICT_COUNT] = {"None", "Agrees", "OneWitness",
                                                          "Doubtful", "Withheld"};

void log_reading_done(struct log_reading *r)
{
    vec_done(&r->spans);
    json_decref(r->versions);
    free(r->why);
    *r = (struct log_reading){0};
}

/* The two spans in the middle become one that begins with the first and ends with the second. */
static void join_middle(struct log_reading *r)
{
    const size_t at = LOG_MAX_SPANS / 2;
    struct log_span *a = &r->spans.items[at], *b = a + 1;
    a->last = b->last;
    a->n += b->n;
    a->least = fmin(a->least, b->least); /* NaN is the other's */
    a->most = fmax(a->most, b->most);
    a->end = b->end;
    for (size_t i = at + 1; i + 1 < r->spans.len; i++) {
        r->spans.items[i] = r->spans.items[i + 1];
    }
    r->spans.len--;
}

static bool is_same_total(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

void log_reading_choose(struct log_reading *r, double total)
{
    vec_each (struct log_span, s, &r->spans) {
        if ((s->use == LOG_USE_STEP || s->use == LOG_USE_WARMUP) &&
            !is_same_total(s->total, total)) {
            s->use = LOG_USE_OTHER;
        }
    }
}

void log_reading_add(struct log_reading *r, enum log_use use, double total, uint64_t line,
                     double value)
{
    struct log_span *s = r->spans.len == 0 ? NULL : &r->spans.items[r->spans.len - 1];
    r->n_read++;
    if (s == NULL || s->use != use || !is_same_total(s->total, total)) {
        if (r->spans.len == LOG_MAX_SPANS) {
            join_middle(r);
        }
        *vec_push(&r->spans) =
            (struct log_span){use, total, line, line, 1, value, value, value, value};
        return;
    }
    s->last = line;
    s->n++;
    s->least = fmin(s->least, value);
    s->most = fmax(s->most, value);
    s->end = value;
}

void log_reading_format(const struct log_reading *r, struct buf *out)
{
    static const char *const names[LOG_USE_COUNT] = {"steps",       "warm-up",    "summary",
                                                     "information", "evaluation", "preparation",
                                                     "other",       "refused"};
    const char *separator = "  lines: ";
    for (int use = 0; use < LOG_USE_COUNT; use++) {
        uint64_t n = 0;
        vec_each (const struct log_span, span, &r->spans) {
            n += (int)span->use == use ? span->n : 0;
        }
        if (n > 0) {
            buf_printf(out, "%s%s %llu", separator, names[use], (unsigned long long)n);
            separator = ", ";
        }
    }
    if (r->n_lines > r->n_read) {
        buf_printf(out, "%snot read %llu", separator, (unsigned long long)(r->n_lines - r->n_read));
    }
    buf_printf(out, "\n  verdict: %.6g %s/s", r->rate, r->unit);
    if (r->witness == LOG_WITNESS_AGREES && isnan(r->pace)) {
        buf_puts(out, "; the log states the same");
    } else if (r->witness == LOG_WITNESS_AGREES) {
        buf_printf(out, "; by the arrival of its lines %.6g %s/s: they agree", r->pace, r->unit);
    }
    buf_printf(out, "%s%s\n", r->why == NULL ? "" : "; ", r->why == NULL ? "" : r->why);
}

/* ---- JSON ---- */

/* clang-format off */
static const struct record_member span_list[] = {
    {"use", MEMBER_WORD, true, AT(log_span, use), .words = log_use_names, .n_words = LOG_USE_COUNT},
    {"first", MEMBER_COUNT, true, AT(log_span, first)},
    {"last", MEMBER_COUNT, true, AT(log_span, last)},
    {"lines", MEMBER_COUNT, true, AT(log_span, n)},
    {"begin", MEMBER_NUMBER, false, AT(log_span, begin)},
    {"end", MEMBER_NUMBER, false, AT(log_span, end)},
    {"least", MEMBER_NUMBER, false, AT(log_span, least)},
    {"most", MEMBER_NUMBER, false, AT(log_span, most)},
};
static const struct record_members span_members = MEMBERS(span_list, NULL);

static const struct record_member reading_list[] = {
    {"verdict", MEMBER_WORD, true, AT(log_reading, verdict), .words = log_verdict_names, .n_words = LOG_VERDICT_COUNT},
    {"witness", MEMBER_WORD, true, AT(log_reading, witness), .words = log_witness_names, .n_words = LOG_WITNESS_COUNT},
    {"rate", MEMBER_NUMBER, false, AT(log_reading, rate)},
    {"pace", MEMBER_NUMBER, false, AT(log_reading, pace)},
    {"why", MEMBER_TEXT, false, AT(log_reading, why)},
    {"lines", MEMBER_COUNT, true, AT(log_reading, n_lines)},
    {"read", MEMBER_COUNT, true, AT(log_reading, n_read)},
};
static const struct record_members reading_members = MEMBERS(reading_list, NULL);
/* clang-format on */

json_t *log_reading_to_json(const struct log_reading *r)
{
    json_t *o = record_members_to_json(&reading_members, r);
    JSON_ADD(o, {"unit", json_text_or_null(r->unit)},
             {"spans", JSON_ARRAY_OF(vec_each (struct log_span, s, &r->spans),
                                     record_members_to_json(&span_members, s))});
    return o;
}

int log_reading_of_json(const json_t *json, struct log_reading *ret)
{
    *ret = (struct log_reading){.step_units = NAN, .step_error = NAN};
    bool is_good = record_read_members(json, &reading_members, ret, NULL) >= 0;
    const char *unit = json_string_value(json_object_get(json, "unit"));
    const int known = unit == NULL ? -1 : str_index(unit, summary_unit_names, SUMMARY_UNIT_COUNT);
    ret->unit = known < 0 ? NULL : summary_unit_names[known];
    size_t i;
    json_t *item;
    json_array_foreach (json_object_get(json, "spans"), i, item) {
        struct log_span span = {0};
        is_good = is_good && i < LOG_MAX_SPANS &&
                  record_read_members(item, &span_members, &span, NULL) >= 0;
        *vec_push(&ret->spans) = span;
    }
    if (!is_good) {
        log_reading_done(ret);
        return -EINVAL;
    }
    return 0;
}

enum log_verdict log_reading_verdict(const json_t *json, const char **ret_why)
{
    const char *name = json_string_value(json_object_get(json, "verdict"));
    const int v = name == NULL ? -1 : str_index(name, log_verdict_names, LOG_VERDICT_COUNT);
    const bool is_doubt = v == LOG_VERDICT_ONE_WITNESS || v == LOG_VERDICT_DOUBTFUL;
    *ret_why = is_doubt ? json_string_value(json_object_get(json, "why")) : NULL;
    return v < 0 ? LOG_VERDICT_NONE : (enum log_verdict)v;
}
