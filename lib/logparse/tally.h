/* The figures of one rule line, as one process printed them: added up as they come. Bounded memory.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/record.h"
#include "logparse/number_text.h"
#include "logparse/pace.h"
#include "logparse/rule.h"
#include "logparse/values.h"

#define LOG_TALLY_MAX_RATES 65536  /* for a median; of more, every second is kept, and so on */
#define LOG_TALLY_MAX_STEPS 100000 /* more step times than these are not kept at all */

struct log_tally {
    struct log_tally *next; /* of the same line and rank, of another loop; owned; NULL: none */
    double total;           /* steps that its loop has, by its lines ("3/100"); NaN: none said */
    bool counts_steps;      /* no batch is known, so its units are steps */
    /* where the process is */
    bool has_step, has_new_epoch; /* the numbers of its lines began again at the last one */
    double last_step, last_gap;   /* its number, and how far it is from the line before; 0: none */
    double steps_seen;            /* by the process before its next line */
    double steps_ahead;           /* that the next line adds to steps_seen */
    uint64_t n_seen;
    int64_t begin_ns, now_ns; /* time stamps of the first and the latest line seen */
    bool has_begin;
    /* what is measured */
    uint64_t n; /* lines */
    double steps, units;
    double steps_s; /* that the steps say they took; NaN: some do not */
    double phase_s[PHASE_COUNT];
    bool has_unknown_units;
    double weight, weighted_s; /* Mean: weight / weighted_s */
    double last_rate, max_rate;
    VEC(double) rates; /* Median */
    uint64_t stride;   /* of the measured lines, every stride-th is in rates */
    int64_t first_ns, last_ns;
    double seen_paused_s; /* log_figure.paused_s of the latest line */
    bool has_first;
    double stamped_s, stamped_units; /* between lines whose clock went on; NaN: unknown */
    bool has_fraction;               /* some of its times are no whole seconds */
    uint64_t anew; /* the line where its latest part begins: its numbers fall; 0: it has one part */
    struct log_part {
        uint64_t n; /* lines */
        double units, s;
    } before;                     /* all parts before that one */
    double least_part, most_part; /* rates of these parts; NaN: they have few lines */
    struct log_pace pace;
    double mean_steps, mean_s; /* Last: steps of the pace, and their time by the latest mean */
    struct log_mean mean;
    double pace_paused_s; /* log_figure.paused_s of the latest line of the pace */
    VEC(int64_t) step_ns;
    bool has_too_many_steps;
};

void log_tally_done(struct log_tally *t);
/* As before its first line. */
void log_tally_reset(struct log_tally *t);
/* How many steps a line covers, from the number that it reports; NaN: it reports none and covers
 * `said`. The first line may be the middle of a log, so it covers one. */
double log_tally_covered(struct log_tally *t, double step, double said);
/* Puts the stamp on a line of time that never goes back over midnight, and keeps it. */
int64_t log_tally_time_ns(struct log_tally *t, const struct log_stamp *stamp);
/* Whether the next line still is of the warm-up. */
bool log_tally_is_warmup(const struct log_tally *t, const struct log_skip *skip);
/* Counts a line of the warm-up, or a measured one. Where time stamps count, the measured time
 * begins with the last line of the warm-up, and evaluations and checkpoints are no part of it. */
void log_tally_skip(struct log_tally *t, const struct log_figure *f);
void log_tally_add(struct log_tally *t, const struct log_line_rule *line,
                   const struct log_figure *f);
/* Another part begins at this line. */
void log_tally_end_part(struct log_tally *t, uint64_t line);
/* NaN: the latest part has too few lines. */
double log_tally_part_rate(const struct log_tally *t);
/* Units/s; NaN: no line, or no time between lines. Median by time stamps is the mean of the gaps
 * without those that are three times as long as the median: they have other work in them. */
double log_tally_rate(const struct log_tally *t, const struct log_line_rule *line);
/* How long the measured lines took, by their steps' own times, else by the times of the lines; at
 * least a second, because a short time has few digits. */
double log_tally_least_s(const struct log_tally *t);
/* Training is the loop with the most steps: evaluations and checks before it have fewer. `first`
 * may be NULL. */
const struct log_tally *log_tally_training(const struct log_tally *first);
