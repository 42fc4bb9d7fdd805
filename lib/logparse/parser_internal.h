/* The state of a parser, which parser.c fills line by line and verdict.c draws the result from. */
#pragma once

#include "logparse/lines.h"
#include "logparse/parser.h"
#include "logparse/reading.h"
#include "logparse/signs.h"
#include "logparse/tally.h"

#define MIN_RATE 1e-9 /* a run of 30 years */
#define MAX_RATE 1e15

/* starts.c: a program that starts again in the same log: the lines that were before its first step
 * come again. An epoch repeats few lines of its own, a start most of them. Bounded memory. Pure. */

#define LOG_HEAD_LINES 32

struct log_head_line {
    uint64_t key;
    bool is_back;    /* it came again since the latest step, */
    bool was_before; /* and before an earlier one */
};
struct log_starts {
    struct log_head_line lines[LOG_HEAD_LINES]; /* before the first step; they differ */
    unsigned n, n_steps;                        /* lines; steps, up to as many as a run has */
    uint64_t line;                              /* where the first of them came again */
};

/* A line of which nothing was read. */
void log_starts_note(struct log_starts *s, uint64_t number, const char *line, size_t len);
/* A step is about to be read: the line where the program has started again; 0: it goes on. */
uint64_t log_starts_step(struct log_starts *s);

/* log_metrics.c: what lines say in addition to a rate, as metrics (core/metric_set.h): means of
 * measured steps of what the program says of its devices, and the time of all evaluations and
 * checkpoints. Pure. */

struct log_metrics {
    double sum[LOG_GROUP_COUNT], weight[LOG_GROUP_COUNT]; /* weight 0: no line has the group */
    int64_t rank[LOG_GROUP_COUNT];                        /* of a time: who said it first */
};

/* The evaluations and checkpoints that a line of that rank says: they were before its stamp. */
void log_metrics_pause(struct log_metrics *m, const struct log_values *v, int64_t rank);
/* The rest of a measured line of so many steps; NaN: unknown. */
void log_metrics_add(struct log_metrics *m, const struct log_values *v, double steps);
/* The time of evaluations and checkpoints so far. */
double log_metrics_paused_s(const struct log_metrics *m);
void log_metrics_put(const struct log_metrics *m, struct metrics *ret);

struct slots { /* by rank + 1; NULL: no line of that rank */
    VEC(struct log_tally *) list;
};

struct rank_state {
    double steps;       /* counted over all lines of kind Step */
    double epoch_steps; /* since the last line of kind Epoch */
    double batch;       /* that its lines have named; 0: none */
    double per_epoch;   /* samples of an epoch that an Info line has named; 0: none */
    double last_step;   /* of a rule with `restart`: the number of the latest step; -1: none */
    bool has_restarted; /* a line of `restart` was read */
    bool has_left;      /* its lines are those of another loop, such as an evaluation */
};

struct log_parser {
    struct log_parser_params params;
    struct log_matcher *matcher;
    struct mllog *mllog;        /* of a rule with this format; else NULL */
    struct mllog_result mlperf; /* what it found */
    struct log_lines streams[LOG_STREAM_COUNT];
    struct slots *slots; /* one for each line of the rule */
    VEC(struct rank_state) ranks;
    struct log_miss miss;
    struct log_reading reading;
    struct log_starts starts;
    VEC(double) runs; /* the figures of earlier starts */
    uint64_t started; /* the line of the latest start; 0: there was one only */
    struct log_signs *signs;
    const struct log_sign *sign; /* that withholds the figure; NULL: none */
    struct log_quote sign_at;    /* its line */
    uint64_t n_bad_steps;        /* lines with a sign of a step, */
    uint64_t n_read;             /* of so many that say something of a step */
    uint64_t n_steps;            /* measured */
    uint64_t last_matched;       /* the last line that the rule has read; 0: none */
    bool has_ended;              /* a line of the rule's `end` was read */
    bool is_below;               /* a line of the latest comment (#) is the rule's `header` */
    bool was_comment;            /* the latest line is one of a comment */
    bool has_epoch;              /* a line since the steps were counted anew names an epoch */
    bool is_part;                /* the log may stop anywhere */
    int64_t now_ns;
    uint64_t n_lines, n_matched, n_warmup, n_refused, n_given_up;
    int64_t slow_ns;         /* on lines that took SLOW_LINE_NS or more */
    uint64_t n_lines_read;   /* before the rule was given up; 0: it was not */
    char refusal[160];       /* of the first line that was refused */
    char contradiction[200]; /* the first line with a rate times its time that are other units */
    size_t contradicted;     /* its line of the rule */
    bool needs_batch;        /* some line had a time but no batch size to go with it */
    double loss_first, loss_last, accuracy_last;
    struct evaluations evaluations;
    struct log_metrics metrics;
    bool in_warmup;         /* is the last line with a figure */
    struct log_tally clock; /* of the lines of one process; it begins with training */
    bool is_stamped;        /* the clock is that of time stamps in lines, not of their arrival */
    bool has_elapsed;       /* lines say themselves how long training has gone on */
    bool has_no_begin;      /* the first line that was read is later than the begin of training */
};

struct log_found {
    int r;               /* 1: a line of the rule matches; 0: none does; -ETIME: it is too slow */
    size_t index;        /* which line of the rule */
    bool restarts;       /* the rule's `restart` matches */
    uint64_t n_given_up; /* patterns that try too much */
    struct log_match match;
};

/* Tries the patterns of the rule on a line. If they are slow on too many, it ends the reading of
 * the log: n_lines_read is set. In match_line.c. */
void log_find(struct log_parser *p, const char *text, size_t len, struct log_found *ret);

/* The versions that a line says, in UTF-8; a later one of the same name counts, as the last start
 * of a program does. In log_metrics.c. */
void log_versions_keep(struct log_parser *p, const char *line, size_t len);
/* Sets the verdict of the reading, after the last line. In verdict.c. */
void log_conclude(struct log_parser *p);
/* The figure, whatever speaks against it; -ENODATA: none. In verdict.c. */
int log_lines_result(const struct log_parser *p, struct log_result *ret);
