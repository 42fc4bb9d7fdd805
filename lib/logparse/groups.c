/* See groups.h. */
#include "logparse/groups.h"

#include <string.h>

/* Atomic: half of a number is not tried, which is right and fast. */
#define INTEGER "(?>\\d+(?:,\\d{3})*)"
#define NUMBER "(?>[-+]?(?:(?:\\d+(?:,\\d{3})*(?:\\.\\d*)?|\\.\\d+)(?:[eE][-+]?\\d+)?|nan|inf))"
#define CLOCK "(?:\\d+:)?\\d+:\\d\\d(?:\\.\\d+)?"
#define STAMP                                                                                      \
    "(?:\\d{4}[-/]\\d\\d[-/]\\d\\d[T ]|\\d{4} )?\\d\\d:\\d\\d:\\d\\d(?:[.,]\\d+)?"                 \
    "(?:Z|[-+]\\d\\d:?\\d\\d)?"

const char *const log_group_names[LOG_GROUP_COUNT] = {
    [LOG_STEP] = "step",
    [LOG_STEPS] = "steps",
    [LOG_EPOCH] = "epoch",
    [LOG_BATCH] = "batch",
    [LOG_SAMPLES] = "samples",
    [LOG_RANK] = "rank",
    [LOG_RATE] = "rate",
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
    [LOG_STAMP] = "stamp",
    [LOG_UNIX_S] = "unix_s",
    [LOG_UNIX_MS] = "unix_ms",
};

const char *log_group_body(enum log_group group)
{
    switch (group) {
    case LOG_STEP:
    case LOG_STEPS:
    case LOG_EPOCH:
    case LOG_BATCH:
    case LOG_SAMPLES:
    case LOG_RANK:
        return INTEGER;
    case LOG_STAMP:
        return STAMP;
    case LOG_TIME_CLOCK:
        return CLOCK;
    case LOG_RATE:
    case LOG_STEP_RATE:
    case LOG_STEP_S:
    case LOG_STEP_MS:
    case LOG_STEP_US:
    case LOG_TIME_S:
    case LOG_TIME_MS:
    case LOG_LOSS:
    case LOG_ACCURACY:
    case LOG_ACCURACY_PERCENT:
    case LOG_ELAPSED_S:
    case LOG_UNIX_S:
    case LOG_UNIX_MS:
        return NUMBER;
    }
    return NUMBER;
}

int log_group_find(const char *name, size_t len)
{
    for (int i = 0; i < LOG_GROUP_COUNT; i++) {
        if (strlen(log_group_names[i]) == len && memcmp(log_group_names[i], name, len) == 0) {
            return i;
        }
    }
    return -1;
}
