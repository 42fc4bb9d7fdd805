/* See values.h. */
#include "logparse/values.h"

#include <errno.h>
#include <math.h>

#include "base/str.h"
#include "logparse/line_words.h"

#define NS_PER_S 1e9
#define COUNT_MAX 9e15 /* whole numbers are exact in a double up to here */

static bool is_rate_or_time(enum log_group group)
{
    return group >= LOG_RATE && group <= LOG_TIME_CLOCK;
}

static bool is_good(enum log_group group, double v)
{
    if (is_rate_or_time(group)) {
        return isfinite(v) && v > 0;
    }
    if (log_group_is_count(group)) {
        const double least = group == LOG_STEPS || group == LOG_BATCH || group == LOG_SAMPLES;
        return v >= least && v <= COUNT_MAX && floor(v) == v;
    }
    if (group >= LOG_ELAPSED_S && group <= LOG_CHECKPOINT_MS) {
        return isfinite(v) && v >= 0;
    }
    return !isinf(v); /* a loss, an accuracy, a date */
}

static int refuse(enum log_group group, const struct log_match *match, const char *why,
                  struct err *err)
{
    const int len = match->len[group] < 40 ? (int)match->len[group] : 40;
    return err_set(err, EINVAL, "its '%s' is '%.*s', which is %s", log_group_names[group], len,
                   match->text[group], why);
}

/* "1 234.5" with an ordinary blank may be a thousand or two columns. If a group took the digits
 * before the blank too, or they have a name, they are another number. */
static bool may_be_cut(enum log_group group, const struct log_match *match)
{
    const char *text = match->text[group];
    size_t begin;
    return ascii_is_digit(*text) &&
           log_may_be_cut(match->matcher, match->line, (size_t)(text - match->line),
                          match->len[group], &begin) &&
           !array_any(match->text, LOG_GROUP_COUNT, it, *it == match->line + begin);
}

static int read_group(enum log_group group, const struct log_match *match, struct log_values *v,
                      struct err *err)
{
    const char *text = match->text[group];
    const size_t len = match->len[group];
    double *number = &v->number[group];
    if (group == LOG_STAMP) {
        v->has_stamp = log_stamp_read(text, len, &v->stamp);
        return v->has_stamp ? 0 : refuse(group, match, "not a date and time", err);
    }
    if (!(group == LOG_TIME_CLOCK ? log_clock(text, len, number) : log_number(text, len, number))) {
        return refuse(group, match, "not a number", err);
    }
    if (!is_good(group, *number)) {
        return refuse(group, match, is_rate_or_time(group) ? "not above 0" : "out of range", err);
    }
    if (may_be_cut(group, match)) {
        return refuse(group, match, "perhaps only the end of a number with a blank in it", err);
    }
    if (group == LOG_UNIX_S || group == LOG_UNIX_MS) {
        const double ns = *number * (group == LOG_UNIX_S ? NS_PER_S : 1e6);
        if (!(ns >= 0 && ns < 9e18)) {
            return refuse(group, match, "out of range", err);
        }
        v->stamp = (struct log_stamp){.ns = (int64_t)ns, .has_date = true};
        v->has_stamp = true;
    }
    return 0;
}

int log_values_read(const struct log_match *match, struct log_values *ret, struct err *err)
{
    *ret = (struct log_values){0};
    for (int i = 0; i < LOG_GROUP_COUNT; i++) {
        if (match->text[i] == NULL) {
            ret->number[i] = NAN;
            continue;
        }
        const int r = read_group((enum log_group)i, match, ret, err);
        if (r < 0 && i >= LOG_TFLOPS && i <= LOG_CHECKPOINT_MS) {
            ret->number[i] = NAN; /* "mfu: nan": the rest of the line is as good */
        } else if (r < 0) {
            return r;
        }
        ret->has[i] = r == 0;
    }
    if (ret->has[LOG_RATE_MB]) {
        ret->number[LOG_RATE] = ret->number[LOG_RATE_MB] / 1e3;
        ret->has[LOG_RATE] = true;
    }
    return 0;
}

double log_values_time_s(const struct log_values *v)
{
    return v->has[LOG_TIME_S]    ? v->number[LOG_TIME_S]
           : v->has[LOG_TIME_MS] ? v->number[LOG_TIME_MS] / 1e3
                                 : v->number[LOG_TIME_CLOCK];
}

double log_values_step_s(const struct log_values *v)
{
    return v->has[LOG_STEP_S]    ? v->number[LOG_STEP_S]
           : v->has[LOG_STEP_MS] ? v->number[LOG_STEP_MS] / 1e3
                                 : v->number[LOG_STEP_US] / 1e6;
}
