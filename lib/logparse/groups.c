/* See groups.h. */
#include "logparse/groups.h"

#include "base/str.h"

/* Atomic: half of a number is not tried, which is right and fast. */
#define INTEGER "(?>\\d+(?:,\\d{3})*)"
/* A suffix such as K belongs to the number unless it begins a word, such as GB or B/s. */
#define NUMBER                                                                                     \
    "(?>[-+]?(?:(?:\\d+(?:,\\d{3})*(?:\\.\\d*)?|\\.\\d+)(?:[eE][-+]?\\d+)?"                        \
    "(?:(?:[kKMGT]|B(?!/))(?![A-Za-z]))?|nan|inf))"
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
    [LOG_STAMP] = "stamp",
    [LOG_UNIX_S] = "unix_s",
    [LOG_UNIX_MS] = "unix_ms",
};

bool log_group_is_count(enum log_group group)
{
    return group <= LOG_RANK;
}

const char *log_group_body(enum log_group group)
{
    return log_group_is_count(group) ? INTEGER
           : group == LOG_STAMP      ? STAMP
           : group == LOG_TIME_CLOCK ? CLOCK
                                     : NUMBER;
}

int log_group_find(const char *name, size_t len)
{
    return str_index_n(name, len, log_group_names, LOG_GROUP_COUNT);
}
