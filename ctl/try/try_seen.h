/* What `benchctl try` has seen of a run that it ended: steps as they came, and the output of each
 * trainer or worker. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/record.h"
#include "run/launcher.h"
#include "spec/run_def.h"

struct try_replica { /* a trainer or worker */
    int64_t steps;   /* measured ones that were seen */
    double samples, s;
    uint32_t first_step, last_step; /* their numbers, */
    int64_t first_t_ns, last_t_ns;  /* and when they were printed */
    char *output;                   /* owned; NULL: none was shown */
    size_t len;
};

struct try_seen {
    const struct run_def *def; /* of one point; borrowed */
    int64_t steps;             /* that are enough */
    struct try_replica *list;  /* by index; owned */
    uint32_t n;
};
void try_seen_init(struct try_seen *seen, const struct run_def *def, int64_t steps);
void try_seen_done(struct try_seen *seen);

/* A record of any replica. True: enough is known. Each trainer has its steps; or one speaks for
 * all; or one has so many that the others will not come. */
bool try_seen_record(struct try_seen *seen, const struct replica_id *id,
                     const struct record *record);
void try_seen_output(struct try_seen *seen, const struct replica_id *id,
                     const struct replica_output *output);

/* Steps a second by the time when their lines were printed, of the first that prints any; NaN: too
 * few lines. */
double try_seen_steps_per_s(const struct try_seen *seen);
struct try_lines { /* with figures of kind Step */
    int64_t n, n_numbered;
};
/* Of the first output that has any, by the rule of `seen->def`. */
struct try_lines try_seen_lines(const struct try_seen *seen);
/* Its output by the rule of `seen->def`: units/s; NaN: it has no figure. */
double try_seen_rate(const struct try_seen *seen, uint32_t index);

/* "3 steps found, 123.4 samples/s by the rule torch-ddp (...)" and a newline: true. Without a
 * figure false, and why, in lines. */
bool try_seen_format(const struct try_seen *seen, struct buf *out);
/* The same sentence, of numbers that are known otherwise. `rule` "": of records. */
void try_put_figure(struct buf *out, int64_t steps, double rate, const char *unit, const char *rule,
                    const char *method);
