/* See groups.h. */
#include "logparse/groups.h"

#include "base/str.h"

/* What a group without a body takes is a whole number, or nothing: neither digits nor a separator
 * with a digit may be next to it. Atomic: a part of a number is not tried. See log_number. */
#define BLANKS "\\xc2\\xa0|\\xe2\\x80[\\x89\\xaf]"
#define THOUSANDS "(?:['_]|\\xe2\\x80\\x99|" BLANKS ")"
#define NOT_AFTER_DIGITS                                                                           \
    "(?<!\\d|\\d[.,'_eE]|\\d[eE][-+]|\\d\\xc2\\xa0|\\d\\xe2\\x80[\\x89\\x99\\xaf]|[\\s=:(]-"       \
    "|^"                                                                                           \
    "-)"
#define NOT_BEFORE(marks) "(?!" marks "?\\d|(?:\\xe2\\x80\\x99|" BLANKS ")\\d)"
#define INTEGER                                                                                    \
    NOT_AFTER_DIGITS                                                                               \
    "(?>(?:[1-9]\\d{0,2}(?:(?:,\\d{3})+|(?:" THOUSANDS "\\d{3})+)|\\d+(?:\\.\\d+)?[eE]\\+?\\d+"    \
    "|\\d+(?:\\.0+(?!\\d))?)" NOT_BEFORE("[,'_]") "(?!\\.\\d{3}(?!\\d)))"
/* A suffix such as K belongs to the number unless it begins a word, such as GB or B/s. */
#define SUFFIX "(?:(?:[kKMGT]|B(?!/))(?![A-Za-z_]))?"
#define EXPONENT "(?:[eE][-+]?\\d+)?"
#define NUMBER                                                                                     \
    NOT_AFTER_DIGITS                                                                               \
    "(?>[-+]?(?:(?:"                                                                               \
    "(?:[1-9]\\d{0,2}(?:(?:,\\d{3})+(?:\\.\\d*)?|(?:" THOUSANDS "\\d{3})+(?:[.,]\\d+)?"            \
    "|(?:\\.\\d{3})+,\\d+)|\\d+,\\d+|\\d+)" EXPONENT                                               \
        NOT_BEFORE("[.,'_]") "|(?:\\d+\\.\\d*|\\.\\d+)" EXPONENT NOT_BEFORE(                       \
            "[.'_]") ")" SUFFIX "|nan|inf))(?: [kKMGT](?= [A-Za-z]+(?:/| per )))?"
/* The same in a pattern by columns, "(?<step>),(?<loss>),(?<rate>)": its separators are no part of
 * a number. */
#define COLUMN_INTEGER "(?>\\d+)" NOT_BEFORE("'")
#define COLUMN_NUMBER                                                                              \
    "(?>[-+]?(?:(?:\\d+(?:\\.\\d*)?|\\.\\d+)" EXPONENT SUFFIX "|nan|inf))" NOT_BEFORE("'")
#define CLOCK "(?<!\\d|\\d:|days, |day, )(?:\\d+:){1,3}\\d\\d(?:\\.\\d+)?(?!:?\\d)"
#define STAMP                                                                                      \
    "(?<!\\d|\\d:)(?:\\d{4}[-/]\\d\\d[-/]\\d\\d[T ]|\\d{4} "                                       \
    ")?\\d?\\d:\\d\\d:\\d\\d(?:[.,]\\d+)?"                                                         \
    "(?:Z|[-+]\\d\\d:?\\d\\d)?"
#define VERSION "(?<![\\d.])\\d\\w*(?:[.+-]\\w+)*" /* 2.3.1+cu121 */

const char *const log_group_names[LOG_GROUP_COUNT] = {
    [LOG_STEP] = "step",
    [LOG_STEPS] = "steps",
    [LOG_EPOCH] = "epoch",
    [LOG_BATCH] = "batch",
    [LOG_SAMPLES] = "samples",
    [LOG_BYTES] = "bytes",
    [LOG_RANK] = "rank",
    [LOG_RATE] = "rate",
    [LOG_RATE_MB] = "rate_mb",
    [LOG_STEP_RATE] = "step_rate",
    [LOG_STEP_S] = "step_s",
    [LOG_STEP_MS] = "step_ms",
    [LOG_STEP_US] = "step_us",
    [LOG_TIME_S] = "time_s",
    [LOG_TIME_MS] = "time_ms",
    [LOG_TIME_CLOCK] = "time_clock",
    [LOG_LOSS] = "loss",
    [LOG_ACCURACY] = "accuracy",
    [LOG_ACCURACY_PERCENT] = "accuracy_percent",
    [LOG_ELAPSED_S] = "elapsed_s",
    [LOG_DATA_S] = "data_s",
    [LOG_FORWARD_S] = "forward_s",
    [LOG_BACKWARD_S] = "backward_s",
    [LOG_SEND_S] = "send_s",
    [LOG_WAIT_S] = "wait_s",
    [LOG_UPDATE_S] = "update_s",
    [LOG_RECEIVE_S] = "receive_s",
    [LOG_TFLOPS] = "tflops",
    [LOG_MFU] = "mfu",
    [LOG_MFU_PERCENT] = "mfu_percent",
    [LOG_ENERGY_J] = "energy_j",
    [LOG_POWER_W] = "power_w",
    [LOG_EVALUATION_S] = "evaluation_s",
    [LOG_EVALUATION_MS] = "evaluation_ms",
    [LOG_CHECKPOINT_S] = "checkpoint_s",
    [LOG_CHECKPOINT_MS] = "checkpoint_ms",
    [LOG_VERSION] = "version",
    [LOG_STAMP] = "stamp",
    [LOG_UNIX_S] = "unix_s",
    [LOG_UNIX_MS] = "unix_ms",
};

bool log_group_is_count(enum log_group group)
{
    return group <= LOG_RANK;
}

const char *log_group_body(enum log_group group, enum log_column column)
{
    static const char *const integers[] = {INTEGER, NOT_AFTER_DIGITS COLUMN_INTEGER,
                                           COLUMN_INTEGER};
    static const char *const numbers[] = {NUMBER, NOT_AFTER_DIGITS COLUMN_NUMBER, COLUMN_NUMBER};
    return log_group_is_count(group) ? integers[column]
           : group == LOG_STAMP      ? STAMP
           : group == LOG_TIME_CLOCK ? CLOCK
           : group == LOG_VERSION    ? VERSION
                                     : numbers[column];
}

int log_group_find(const char *name, size_t len)
{
    return str_index_n(name, len, log_group_names, LOG_GROUP_COUNT);
}
