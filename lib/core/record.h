/* Records: what a replica says on stdout, one JSON object a line (docs/contracts/record.md), and
 * its last one, the summary (docs/contracts/summary.md). Only record.c writes and record_read.c
 * reads them, by the members that record_members.c lists. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/evaluations.h"
#include "core/exchange_kind.h"
#include "core/metric_set.h"
#include "core/replica.h"

enum record_type { RECORD_START, RECORD_STEP, RECORD_SUMMARY, RECORD_ERROR };

/* Phases of a step; they may overlap. */
enum phase {
    PHASE_DATA,
    PHASE_FORWARD,
    PHASE_BACKWARD,
    PHASE_SEND,
    PHASE_WAIT,
    PHASE_UPDATE,
    PHASE_RECEIVE,
};
#define PHASE_COUNT 7
const char *phase_to_string(enum phase phase); /* "data", ...; in record_members.c */

struct record_who { /* common to all records */
    enum role role;
    uint32_t index;
    uint32_t attempt;
};

struct record_start {
    json_t *environment; /* object: host, cpu_model, ... (docs/contracts/record.md); owned */
};

struct record_step {
    uint32_t step; /* from 0; counts warm-up steps and measured ones apart */
    bool warmup;
    int64_t t_ns; /* since the barrier; negative never: 0 during warm-up */
    int64_t step_ns;
    uint32_t samples;
    double loss; /* NaN: none (a pserver) */
    int64_t phase_ns[PHASE_COUNT];
    uint64_t bytes_tx, bytes_rx;
};

#define SUMMARY_MAX_BYTES 4096
#define SUMMARY_MAX_SERIES 1000
#define SUMMARY_MAX_SERIES_EVALUATED 500 /* next to evaluations or staleness: all must fit */
#define SUMMARY_MAX_SERIES_LOSSES 250    /* next to evaluations with a loss */

/* What `samples` of a summary counts. */
enum summary_unit {
    UNIT_SAMPLES,
    UNIT_STEPS,
    UNIT_WORDS,
    UNIT_TOKENS,
    UNIT_GB,   /* 10^9 bytes */
    UNIT_RUNS, /* whole runs, to a goal */
    UNIT_IMAGES,
    UNIT_SEQUENCES,
};
#define SUMMARY_UNIT_COUNT 8
extern const char
    *const summary_unit_names[SUMMARY_UNIT_COUNT]; /* "samples", ...; in record_members.c */

/* Where a summary came from, if the replica did not write it: its log (docs/log-rules.md). */
#define SUMMARY_RULE_SIZE 33
#define SUMMARY_METHOD_SIZE 97
struct summary_source {
    /* Both owned, shorter than these sizes. NULL: the replica wrote the summary. */
    char *rule;
    char *method; /* "mean of 98 step lines" */
    enum summary_unit unit;
    bool is_job;          /* samples are those of all trainers, not of this one */
    double accuracy_last; /* 0 to 1; NaN: none */
};

/* Of a parameter server: the trainer whose gradients the others' waited for longest. */
struct summary_last {
    uint32_t trainer; /* its index */
    uint32_t steps;   /* in which it was the last; 0: not known */
    int64_t wait_ns;  /* since all others' gradients were there, of these steps together */
};

/* Of a parameter server that applies each gradient on its own: how many updates of a slice lay
 * between the parameters that a gradient was computed with and those that it was applied to. */
struct summary_staleness {
    uint64_t slices; /* gradients of slices in the measured steps; 0: it adds gradients up */
    double mean;     /* over these */
    uint64_t max;
};

/* What a probe of the machine found (lib/host/probe.h). Figures of one machine compare
 * with each other only. */
struct noise_probe {
    uint64_t spins_per_s; /* of a loop that needs nothing but the core's clock; 0: not probed */
    uint64_t copy_bytes_per_s; /* 0: no copy was done in its time, the machine was that busy */
    uint64_t flops_per_s;      /* of one core, in fp32; 0: unknown */
};
/* What else there was on the machine while the steps were measured, or while the attempt ran. */
struct noise {
    struct noise_probe before, after; /* the measured steps */
    /* Of the CPUs that the replica may use, in the measured steps: the time in which they had work,
     * and what of it the hypervisor gave to others. busy_ns 0: not known. */
    int64_t busy_ns, steal_ns;
    /* Of the replica's threads together, in the same time: how long they ran, and how long they
     * were ready to run and waited for a CPU. cpu_run_ns 0: not known. */
    int64_t cpu_run_ns, cpu_wait_ns;
    /* it probed, before the first replica of the attempt started and after the last that trains had
     * ended; and of a program other than benchworker it counted these times */
    bool by_launcher;
};

/* Step times in few bytes: entry i is the mean of steps i*k .. i*k+k-1, as a code of 16 bits,
 * round(2048*log2(us)) less the smallest one, so that it has an error of 0.02%. */
struct series {
    uint32_t k, n; /* n 0: nothing is known */
    int32_t min;   /* the smallest code */
    uint8_t *data; /* 2 bytes an entry, little-endian; owned; NULL if n is 0 */
};
double *series_decode(const struct series *s); /* in series.c: microseconds; owned */

struct summary {
    uint64_t samples;
    int64_t duration_ns; /* barrier to the end of the last measured step */
    uint32_t steps;      /* measured */
    int64_t phase_ns[PHASE_COUNT];
    uint64_t bytes_tx, bytes_rx;
    double loss_first, loss_last; /* NaN: none */
    int64_t throttled_ns;         /* of it, the cgroup kept the replica from running, */
    uint64_t throttled_periods;   /* in so many scheduling periods */
    uint64_t max_rss_bytes;
    int64_t cpu_ns; /* CPU time of the replica's process in the measured steps; 0: not known */
    char *environment_digest; /* SHA-256 of the start record's environment, hex; owned; or NULL */
    struct series series;     /* step times */
    struct summary_source source;
    struct evaluations *evaluations; /* owned; NULL: none */
    struct metrics metrics;          /* owned */
    struct summary_last last;
    struct summary_staleness staleness;
    struct noise noise;
    /* Of a worker with others, or a trainer with servers: how it reached all of
     * them; Auto: not said. */
    enum exchange_transport transport;
};
void summary_done(struct summary *s);
void summary_free(struct summary *s); /* NULL is fine */
/* Owned, with its series and evaluations. NULL of NULL. */
struct summary *summary_copy(const struct summary *s);
/* Frees what is large: its series and its evaluations. */
void summary_drop_series(struct summary *s);

struct record_error {
    int code;      /* exit code */
    char *peer;    /* "pserver/0" or NULL; owned */
    char *message; /* owned */
};

struct record {
    enum record_type type;
    struct record_who who;
    union {
        struct record_start start;
        struct record_step step;
        struct summary summary;
        struct record_error error;
    };
};

/* Appends one line with its newline. `environment` is borrowed, an object. Counters beyond
 * INT64_MAX are written as INT64_MAX, negative times as 0, numbers that are not finite as null.
 * `peer` may be NULL; `message` may hold any bytes and is cut to 4,096. */
void record_write_start(struct buf *out, const struct record_who *who, json_t *environment);
void record_write_step(struct buf *out, const struct record_who *who,
                       const struct record_step *step);
void record_write_error(struct buf *out, const struct record_who *who, int code, const char *peer,
                        const char *message);
/* The series of these measured step times, as a summary keeps it: more than 1,000, or 500 or 250
 * next to evaluations, and half of that next to metrics, become means of k. */
void summary_set_series(struct summary *s, const int64_t *step_ns, size_t n);
/* At most 4,096 bytes with the newline where `s` is what a replica knows: with up to
 * METRICS_WRITTEN_MAX metrics. */
void record_write_summary(struct buf *out, const struct record_who *who, const struct summary *s);

/* Canonical text (sorted keys, no white space) of an environment, for its digest. Owned. */
char *record_environment_canonical(const json_t *environment);

/* Reads one line, with or without its newline (record_read.c). 1: a record, which the caller frees
 * with record_done; 0: some other line, not ours; -EPROTO: it claims to be ours ("benchd":1) and is
 * damaged, or has another version, or more than 64 KiB; err says what is wrong. `ret` is written
 * only with 1. */
int record_read(const char *line, size_t len, struct record *ret, struct err *err);
void record_done(struct record *r);
/* An error record's peer, "trainer/1" (record_read.c); false: NULL, or not such a name. */
bool record_read_peer(const char *peer, enum role *ret_role, uint32_t *ret_index);
