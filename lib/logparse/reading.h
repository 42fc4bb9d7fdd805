/* What was read of one log, and what it is worth: which lines were taken for what, with their
 * values, and whether the figure has a second witness. Every figure of a log has one, and so has a
 * log without a figure. It is stored next to the attempt and shown by `benchctl results --lines`.
 * Bounded memory. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/vec.h"
#include "logparse/line_words.h"
#include "logparse/pace.h"

/* Lines of one use that follow each other; lines of which nothing was read may lie between. */
struct log_span {
    enum log_use use;
    double total;         /* the number of steps that its lines name, "3/100"; NaN: none */
    uint64_t first, last; /* line numbers, from 1 */
    uint64_t n;           /* lines */
    double least, most;   /* of their values; NaN: they have none */
    double begin, end;    /* the values of the first and the last line */
};
#define LOG_MAX_SPANS 64 /* of more, those before the last ones become one */

enum log_verdict {
    LOG_VERDICT_NONE,        /* no figure */
    LOG_VERDICT_AGREES,      /* the figure and the pace of its lines agree */
    LOG_VERDICT_ONE_WITNESS, /* nothing speaks against the figure, and nothing for it */
    LOG_VERDICT_DOUBTFUL,    /* the figure counts, but `why` names a line that speaks against it */
    LOG_VERDICT_WITHHELD,    /* there was a figure; `why` speaks against it */
};                           /* the worst one is last */
#define LOG_VERDICT_COUNT 5
extern const char *const log_verdict_names[LOG_VERDICT_COUNT]; /* "Agrees", ... */

struct log_reading {
    VEC(struct log_span) spans;
    uint64_t n_lines, n_read; /* of the log, and those that a span has */
    /* The result; set by log_reading_conclude. */
    enum log_verdict verdict;
    enum log_witness witness;
    double rate; /* units/s, as stated; NaN: none */
    double pace; /* units/s, by the arrival of lines; NaN: none, or the log states it */
    /* Units of a step, or of a line that numbers no step, by rate and pace, of one process; and
     * the standard error, as a part of it. NaN: no pace. They are not stored. */
    double step_units, step_error;
    const char *unit; /* "samples"; static */
    json_t *versions; /* by their names in the rule; owned; NULL: none; no part of its JSON */
    char *why; /* why the verdict is not Agrees, in one sentence; owned; NULL if nothing is said */
};
void log_reading_done(struct log_reading *r);
/* `value`: the rate that the line gives, in units/s; NaN: none. */
void log_reading_add(struct log_reading *r, enum log_use use, double total, uint64_t line,
                     double value);
/* The steps of other totals than this one are of another loop. */
void log_reading_choose(struct log_reading *r, double total);
/* Two lines: what the lines were taken for, and the verdict with both numbers. */
void log_reading_format(const struct log_reading *r, struct buf *out);
/* Owned. Its members have the names of these structs; what is not known is null. */
json_t *log_reading_to_json(const struct log_reading *r);
/* Reads what log_reading_to_json wrote; -EINVAL: it is something else. */
int log_reading_of_json(const json_t *json, struct log_reading *ret);
/* The verdict in that JSON, None where it says nothing else. *ret_why is borrowed, and is NULL
 * unless the verdict is OneWitness or Doubtful. */
enum log_verdict log_reading_verdict(const json_t *json, const char **ret_why);
