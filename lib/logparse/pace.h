/* The second witness of a stated rate: when its lines arrived. A line states that what it covers
 * took so long; between it and the line before, so much time went by. Where both are about equal,
 * the figure has two witnesses. Bounded memory. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/* A stated rate agrees with the pace if neither is more than this above the other. Programs leave
 * out a part of a step (a data loader, a log line); a wrong number or batch differs by more. */
#define LOG_PACE_TOLERANCE 1.25
#define LOG_PACE_MIN_LINES 5 /* gaps between lines; fewer have no pace */
#define LOG_EXACT_TICKS 50   /* of a clock; a time of fewer is off by more than a hundredth */

enum log_witness {
    LOG_WITNESS_NONE,     /* no line was measured */
    LOG_WITNESS_NO_TIME,  /* the lines have no time: a file without dates */
    LOG_WITNESS_FEW,      /* too few lines, or too short a time for the clock's resolution */
    LOG_WITNESS_BURSTS,   /* the lines came in bursts, as those of a buffered pipe do */
    LOG_WITNESS_NO_COUNT, /* the lines do not number their steps, so one may cover any number */
    LOG_WITNESS_NO_BATCH, /* the samples (tokens, words) of a step are unknown */
    LOG_WITNESS_AGREES,
    LOG_WITNESS_DISAGREES,
};
#define LOG_WITNESS_COUNT 8
extern const char *const log_witness_names[LOG_WITNESS_COUNT]; /* "Agrees", ... */
/* Why there is no second witness, "its lines came in bursts"; NULL: there is one. */
extern const char *const log_witness_reasons[LOG_WITNESS_COUNT];

struct log_pace {
    bool has_begin, is_uncounted, has_no_batch;
    bool is_mean;      /* lines state means since a start: only the time of all gaps counts */
    bool has_fraction; /* some time is no whole second; else the clock counts seconds */
    int64_t last_ns;
    uint64_t n;                  /* gaps between lines */
    double observed_s, stated_s; /* of all gaps, and what the lines state for them */
    struct log_gap {
        double observed_s, stated_s;
    } * gaps; /* a sample of at most LOG_PACE_MAX_GAPS; owned */
    uint32_t n_gaps;
    uint64_t stride; /* every stride-th gap is in `gaps` */
};
#define LOG_PACE_MAX_GAPS 1024

void log_pace_done(struct log_pace *p);
/* A line of the warm-up, or the first one: time is counted from here. */
void log_pace_begin(struct log_pace *p, int64_t t_ns);
/* A measured line at `t_ns`, with `paused_s` of other work since the line before. `stated_s`: how
 * long the line says that what it covers took. has_batch: if not, the line has a rate of units of
 * which a step has an unknown number, and stated_s is as if it had one. is_counted: the line says
 * how many steps or units it covers. */
void log_pace_add(struct log_pace *p, int64_t t_ns, double paused_s, double stated_s,
                  bool has_batch, bool is_counted);
double log_median(const double *values, size_t n); /* NaN: none */
/* *ret_ratio: the stated rate over the pace, or, with NO_BATCH, the units of a step that follow
 * from both; NaN where no pace exists. */
enum log_witness log_pace_ask(const struct log_pace *p, double *ret_ratio);
/* The standard error of that ratio, as a part of it, by the spread of the gaps; NaN: unknown. */
double log_pace_error(const struct log_pace *p);

/* Do lines state the mean since the start? Then the rate times the time since the start that they
 * print, which is the units so far, grows alike with every step, while the rate changes. The start
 * may be later than that of the program. */
struct log_mean {
    uint64_t n; /* lines whose time is exact enough */
    double least_rate, most_rate;
    double first_step, first_units, first_error, elapsed; /* of the first line; of the latest */
    double least, most;                                   /* units of a step that fit them all */
};
/* `tick`: the last digit of `elapsed`, which is in any unit. */
void log_mean_add(struct log_mean *m, double rate, double elapsed, double tick, double step);
bool log_mean_is_so(const struct log_mean *m);
