/* What one matched line says: its groups as numbers, and its figure. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "logparse/number_text.h"
#include "logparse/pattern.h"

struct log_values {
    bool has[LOG_GROUP_COUNT];
    double number[LOG_GROUP_COUNT]; /* NaN if the line lacks the group; LOG_STAMP has no number */
    struct log_stamp stamp;         /* of any of the three groups of it */
    bool has_stamp;
};

struct log_figure { /* of one line; what it does not say is NaN */
    size_t line;    /* of the rule */
    size_t n_bytes; /* of the log's line that the pattern matched, without blanks */
    int64_t rank;   /* -1: the line has none */
    bool is_warmup;
    double epoch;  /* its number */
    double step;   /* its number */
    double steps;  /* that the line covers */
    double units;  /* that the line covers */
    double rate;   /* units/s, of the line's own numbers */
    double step_s; /* mean time of its steps, by its rate; only of a step line */
    double time_s; /* that the line names, of a step or of all that it covers */
    double batch;  /* samples of a step */
    double loss, accuracy;
    const double *phase_s; /* PHASE_COUNT of them; borrowed */
    double paused_s;       /* evaluations and checkpoints since the log began */
    int64_t t_ns;          /* the line's time stamp, or that of its arrival */
    int64_t arrival_ns; /* the time of its arrival; of a file, a time stamp in the line; 0: none */
    bool is_counted;    /* it says how many steps or units it covers */
};

/* -EINVAL: a group has text that is not its kind of number, or perhaps only the end of a number
 * such as "1 234.5"; err says which and what. A loss or an accuracy may be nan; a throughput or a
 * time must be above zero. A metric that is no number from 0 on is unknown. */
int log_values_read(const struct log_match *match, struct log_values *ret, struct err *err);
/* The time that the line covers, in seconds; NaN: it has none. */
double log_values_time_s(const struct log_values *v);
/* The time of one step, in seconds; NaN: it has none. */
double log_values_step_s(const struct log_values *v);
