/* What the words of a line say of it and of its numbers. One table of patterns is the whole
 * vocabulary: evaluations, the preparation of data, the scope of a rate, the number of a step, and
 * the names and units of everything that may be a figure. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/record.h"
#include "logparse/pattern.h"

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
bool log_is_evaluation(struct log_matcher *m, const char *line, size_t len);
/* Does the name before the number at `at` say so: "val_items_per_sec : 900", "eval/tps=900"? */
bool log_is_evaluation_at(struct log_matcher *m, const char *line, size_t at);
/* Is it the progress bar of what comes before training, as the datasets library prints it: "Map:
 * 100%|##| 10/10 [00:05<00:00, 9876.5 examples/s]"? */
bool log_is_preparation(struct log_matcher *m, const char *line, size_t len);
bool log_names_epoch(struct log_matcher *m, const char *line, size_t len);
/* Does the text, such as a rule's pattern, name an evaluation itself? */
bool log_names_evaluation(struct log_matcher *m, const char *text);
/* What the words of a line say of its rate: "Job" for "total throughput" and the like, "Each" for
 * "per GPU"; NULL if they say nothing. Static. */
const char *log_scope_words(const char *line);
/* Finds the number of the step in a line, "Iteration: 12" or the last "[40/60]". Sets
 * text[LOG_STEP]. */
bool log_find_step(struct log_matcher *m, const char *line, size_t len, struct log_match *ret);
/* "1 234.5" may be one number or two. True if this may be the second half of such a number, and no
 * name says that the digits before it, from *ret_begin on, are something else. */
bool log_may_be_cut(struct log_matcher *m, const char *line, size_t number, size_t len,
                    size_t *ret_begin);

/* What a number means by its name and its unit, the surest meaning first. */
struct log_meaning {
    unsigned score; /* how sure the meaning is; 0 if it is in doubt */
    enum log_group group;
    enum summary_unit unit;
    const char *pattern; /* it takes `group` out of a line whose other numbers are hidden */
    bool needs_step;     /* it is a step's time only if the line has the number of a step */
    const char *doubt;   /* with score 0: why no rule may read it */
};
extern const struct log_meaning log_meanings[];
extern const size_t log_meaning_count;
/* `line` was prepared by log_hide_names. Sets text[group], begin and end. */
bool log_find_meaning(struct log_matcher *m, const struct log_meaning *meaning, const char *line,
                      size_t len, struct log_match *ret);
/* The next number from a place on with a word before it: "run 7". Sets text[LOG_STEP]. */
bool log_find_index(struct log_matcher *m, const char *line, size_t len, size_t from,
                    struct log_match *ret);
/* The time since the start, "train_time: 6.6m", in whatever unit. Sets text[LOG_ELAPSED_S]. */
bool log_find_elapsed(struct log_matcher *m, const char *line, size_t len, struct log_match *ret);
bool log_find_loss(struct log_matcher *m, const char *line, size_t len, struct log_match *ret);
/* Overwrites the digits of numbers that have a name of something else than a rate or a time, such
 * as a loss, a memory, a step, and those of paths and percentages. */
void log_hide_names(struct log_matcher *m, char *line, size_t len);
/* The same for means since the start, "avg: 12.5 img/s": each line repeats those before it. */
void log_hide_means(struct log_matcher *m, char *line, size_t len);
