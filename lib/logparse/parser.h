/* A stream parser of one replica's log: fed bytes as they are collected, it reports each figure
 * when its line is complete and has the result at the end. Memory is bounded whatever the program
 * prints. Pure: time stamps come with the bytes.
 *
 *   log_parser_new -> log_parser_feed ... -> log_parser_end
 *                                             -> log_parser_result | log_parser_explain */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/record.h"
#include "logparse/mllog.h"
#include "logparse/reading.h"
#include "logparse/rule.h"
#include "logparse/values.h"

typedef void (*log_figure_fn)(void *ctx, const struct log_figure *figure);

enum log_stream { LOG_STDOUT, LOG_STDERR };
#define LOG_STREAM_COUNT 2
#define LOG_MAX_RANKS 4096

/* An output that is read again, with the time at which each part of it arrived. */
struct log_arrivals {
    const char *text; /* borrowed */
    const struct log_arrival {
        size_t end; /* offset in `text` */
        int64_t t_ns;
    } * parts; /* borrowed */
    size_t n;
};

struct log_parser_params {
    const struct log_rule *rule; /* borrowed */
    enum role role;
    int64_t batch_size;   /* samples a step of this replica; 0: unknown */
    int64_t trainers;     /* of the job, for figures of scope Job; 0: unknown */
    int64_t warmup_steps; /* of lines that number their steps, where the rule does not say */
    int64_t end_steps;    /* measured steps after which benchd ends the program; 0: it does not */
    bool is_labelled;     /* a label before a line, "3: ", is the number of its process */
    log_figure_fn on_figure; /* NULL: not reported */
    /* CPU time of this thread. A rule whose patterns take too much of it on slow lines is given up
     * for the rest of the log, and there is no result. NULL: it may take any time. */
    int64_t (*cpu_ns)(void);
    void *ctx;
    const struct log_arrivals *arrivals; /* for log_parser_read; NULL if the times are unknown */
};

struct log_parser;
struct log_parser *log_parser_new(const struct log_parser_params *params);
void log_parser_free(struct log_parser *p);
/* `t_ns`: when the bytes were printed or collected, of any one clock. */
void log_parser_feed(struct log_parser *p, enum log_stream stream, const char *data, size_t len,
                     int64_t t_ns);
/* The streams have ended. */
void log_parser_end(struct log_parser *p, int64_t t_ns);
/* Feeds a whole output that was collected before, or a part of it, and ends the streams. Its time
 * is that of `arrivals` if it is in their text, or else 0. */
void log_parser_read(struct log_parser *p, const char *text, size_t len);

/* ---- in verdict.c ---- */

struct log_result {
    /* Samples and time are those of the log; where it has no count, the smallest whole ones of
     * log_tally_least_s whose quotient is the rate. Owned: summary_done. */
    struct summary summary;
    double rate;            /* units/s, over all ranks of this replica */
    enum summary_unit unit; /* that of the rule's line, or steps where no batch is known */
    const struct log_line_rule *line; /* which decided; borrowed from the rule */
    const struct log_tally *tally;    /* of its first rank; borrowed; NULL: a log of MLPerf */
    uint64_t n_lines;                 /* that were measured */
    unsigned n_ranks;                 /* that printed them; 1: they name none */
};
/* What its lines were taken for, and the verdict; borrowed; after log_parser_end. */
const struct log_reading *log_parser_reading(const struct log_parser *p);
/* -ENODATA: no throughput, or one that is withheld; log_parser_explain says why. */
int log_parser_result(const struct log_parser *p, struct log_result *ret);
/* Why a figure of means since the start is withheld. */
extern const char log_why_mean[];
/* What a log of MLPerf says, after log_parser_end; borrowed. */
const struct mllog_result *log_parser_mlperf(const struct log_parser *p);
/* Why there is no result: a line with the reason, then the log's last lines.
 * Each with its newline. */
void log_parser_explain(const struct log_parser *p, struct buf *out);
