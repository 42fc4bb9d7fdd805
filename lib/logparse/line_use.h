/* What a line of a log is about, by its words and whatever its numbers are: evaluations and the
 * preparation of data print the same numbers as training does. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum log_use {
    LOG_USE_STEP,        /* measured */
    LOG_USE_WARMUP,      /* before the measured steps */
    LOG_USE_SUMMARY,     /* an epoch's or the whole run's figure */
    LOG_USE_INFO,        /* a batch, a loss, an accuracy: no throughput */
    LOG_USE_EVALUATION,  /* validation, test, generation of samples */
    LOG_USE_PREPARATION, /* the progress bar of data, checkpoints, downloads */
    LOG_USE_OTHER,       /* another loop than the training, or no number where steps have one */
    LOG_USE_REFUSED,     /* a text in place of a number, or a time without a batch */
};
#define LOG_USE_COUNT 8
extern const char *const log_use_names[LOG_USE_COUNT]; /* "Step", "WarmUp", ... */

/* Is the line, which has no launcher's prefix, of an evaluation? */
bool log_is_evaluation(const char *line, size_t len);
/* Does the name before the number at `at` say so: "val_items_per_sec : 900", "eval/tps=900"? */
bool log_is_evaluation_at(const char *line, size_t at);
/* Is it the progress bar of what comes before training, as the datasets library prints it: "Map:
 * 100%|##| 10/10 [00:05<00:00, 9876.5 examples/s]"? */
bool log_is_preparation(const char *line, size_t len);
/* What the words of a line say of its rate: "Job" for "total throughput" and the like, "Each" for
 * "per GPU"; NULL: nothing. Static. */
const char *log_scope_words(const char *line);
/* A text, such as a rule's pattern, that names an evaluation itself. */
bool log_names_evaluation(const char *text);
