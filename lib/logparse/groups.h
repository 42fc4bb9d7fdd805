/* The named groups that a pattern may have: what a log line can say. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum log_group {
    /* whole numbers */
    LOG_STEP,    /* number of the step that the line reports, from 0 or 1 */
    LOG_STEPS,   /* steps that the line covers */
    LOG_EPOCH,   /* number of the epoch or pass */
    LOG_BATCH,   /* samples a step */
    LOG_SAMPLES, /* units that the line covers; in an Info line: that an epoch has */
    LOG_BYTES,   /* that one call moves, for the unit GB */
    LOG_RANK,    /* which process of several printed the line */
    /* other numbers, but for three texts */
    LOG_RATE,             /* units a second */
    LOG_RATE_MB,          /* the same in megabytes, for the unit GB; it becomes a LOG_RATE */
    LOG_STEP_RATE,        /* steps a second */
    LOG_STEP_S,           /* time of one step */
    LOG_STEP_MS,          /* the same in milliseconds */
    LOG_STEP_US,          /* the same in microseconds */
    LOG_TIME_S,           /* time of all that the line covers */
    LOG_TIME_MS,          /* the same in milliseconds */
    LOG_TIME_CLOCK,       /* the same as [[d:]h:]mm:ss */
    LOG_LOSS,             /* of the training */
    LOG_ACCURACY,         /* 0 to 1 */
    LOG_ACCURACY_PERCENT, /* 0 to 100 */
    LOG_ELAPSED_S,        /* since training began, without what its author leaves out */
    LOG_DATA_S, /* seconds of each phase in what the line covers, as enum phase has them */
    LOG_FORWARD_S,
    LOG_BACKWARD_S,
    LOG_SEND_S,
    LOG_WAIT_S,
    LOG_UPDATE_S,
    LOG_RECEIVE_S,
    LOG_TFLOPS,       /* TFLOP/s of one device, as the program computes it */
    LOG_MFU,          /* model FLOPs utilization, 0 to 1, the same way */
    LOG_MFU_PERCENT,  /* 0 to 100 */
    LOG_ENERGY_J,     /* of one device in one step */
    LOG_POWER_W,      /* of one device */
    LOG_EVALUATION_S, /* that an evaluation took */
    LOG_EVALUATION_MS,
    LOG_CHECKPOINT_S, /* that saving a checkpoint took */
    LOG_CHECKPOINT_MS,
    LOG_VERSION, /* as text; only in patterns of `versions` */
    LOG_STAMP,   /* date and time of the line, as text */
    LOG_UNIX_S,  /* the same in seconds since 1970 */
    LOG_UNIX_MS, /* the same in milliseconds */
};
#define LOG_GROUP_COUNT 40

extern const char *const log_group_names[LOG_GROUP_COUNT]; /* in groups.c: "step", ... */
bool log_group_is_count(enum log_group group);             /* a whole number */
/* A pattern by columns has a comma, a point or an underscore next to a group, which then is no part
 * of a number. */
enum log_column {
    LOG_NO_COLUMN,
    LOG_FIRST_COLUMN, /* no such character is before the group */
    LOG_LATER_COLUMN,
};
/* What a group without a body stands for, a pattern: (?<rate>) is (?<rate>NUMBER). Static. */
const char *log_group_body(enum log_group group, enum log_column column);
/* < 0: no such group. */
int log_group_find(const char *name, size_t len);
