/* What `benchctl try` has seen of a run that it ended: steps as they came, and the output of each
 * trainer or worker with the time at which each part of it arrived. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/record.h"
#include "logparse/miss.h"
#include "logparse/parser.h"
#include "run/launcher.h"
#include "spec/run_def.h"

struct try_replica { /* a trainer or worker */
    int64_t steps;   /* the measured steps that were seen */
    double samples, s;
    int64_t first_t_ns, last_t_ns; /* when they were printed */
    struct buf output;             /* stdout and stderr as they came, up to a limit */
    VEC(struct log_arrival) parts; /* of the output */
    bool is_stderr;                /* the last part is of stderr */
    size_t checked;                /* bytes of the output that is_readable has read */
};

struct try_seen {
    const struct run_def *def; /* of one point; borrowed */
    int64_t steps;             /* so many are enough */
    int64_t unpaced_steps;     /* of them, those before the pace of the others counts */
    int64_t warmup_steps;      /* are left out when an output is read again */
    bool learns;               /* a rule that reads an output may be made */
    struct try_replica *list;  /* by index; owned */
    uint32_t n;
};
void try_seen_init(struct try_seen *seen, const struct run_def *def, int64_t steps);
void try_seen_done(struct try_seen *seen);

/* A record of any replica. Returns true if enough is known: if each trainer has its steps, if one
 * prints for all, or if one has so many that the others will not come. */
bool try_seen_record(struct try_seen *seen, const struct replica_id *id,
                     const struct record *record);
/* A part of an output. Returns true if another rule than that of the definition reads enough of
 * it. */
bool try_seen_output(struct try_seen *seen, const struct replica_id *id,
                     const struct replica_text *text);
/* A stored output, which has no times. It counts if it has more than arrived here. */
void try_seen_stored(struct try_seen *seen, const struct replica_id *id, const char *text,
                     size_t len);

/* What a parser must know to read the output of a replica again. `arrivals` must live as long. */
struct log_parser_params try_seen_params(const struct try_seen *seen, uint32_t index,
                                         struct log_arrivals *arrivals);
/* What the rule of `seen->def` makes of one output. */
struct try_reading {
    bool has_figure;
    double rate;      /* units/s, of this replica, or of the job; NaN without a figure */
    const char *unit; /* static; NULL without a figure */
    int64_t steps;    /* that were measured; 0: the line counts none */
    char method[SUMMARY_METHOD_SIZE];
    bool is_job;
    bool is_rate; /* its line states a rate or samples, so the samples of a step follow from it */
    uint64_t n_lines, n_numbered; /* lines with a figure, and those of them that number a step */
    enum log_kind kind;           /* of the last of these lines */
    size_t rule_line;             /* which line of the rule has read it */
    uint64_t number;              /* the last of them, from 1; 0: none */
    char line[LOG_QUOTE_SIZE];    /* its text */
    struct log_parser *parser;    /* owned; NULL: the replica writes records */
};
void try_reading_done(struct try_reading *r);
void try_seen_read(const struct try_seen *seen, uint32_t index, struct try_reading *ret);

/* "3 steps found, 123.4 samples/s by the rule torch-ddp (...)" and a newline, then what lines of
 * the first replica with a figure were taken for, and the verdict. Without a figure it returns
 * false and appends why, in lines. */
bool try_seen_format(const struct try_seen *seen, struct buf *out);
/* The same sentence, of numbers that are known otherwise: of records. */
void try_put_figure(struct buf *out, int64_t steps, double rate, const char *unit, const char *rule,
                    const char *method);
