/* What /metrics shows: the page made from plain data. Pure; scrape.c collects the data.
 * docs/metrics.md is checked against the page.
 *
 * Bounded: at most METRICS_MAX_RUNS runs and METRICS_MAX_POINTS points of them, and times
 * for each kind of request that was sent, and METRICS_MAX_NODES nodes: under 2,000 series besides
 * the figures of points (benchd_series counts all). A run shows all of its points, or none if they
 * do not fit; and so its nodes. */
#pragma once

#include "daemon/web/daemon_view.h"
#include "base/buf.h"
#include "base/histogram.h"
#include "result/result.h"

#define METRICS_MAX_RUNS 16
#define METRICS_MAX_POINTS 120
#define METRICS_MAX_NODES 60
/* How long after its end a run is shown: long enough for any scraper, and Prometheus keeps it. */
#define METRICS_KEEP_MS DAEMON_ENDED_MS

/* What the page shows of a run's points: a few numbers each, copied out of a result so that the
 * result and its rows can be freed. */
struct point_figures {
    uint32_t point;
    char *system; /* owned */
    char *other;  /* swept values without a label of their own, "cpu=400m memory=1Gi"; owned */
    uint32_t pservers, trainers;
    int64_t batch_size, threads;
    /* By the figures of the catalogue that /metrics has; owned. */
    struct figure_numbers {
        double value, low, high; /* NaN: unknown */
    } * figures;
    double baseline_throughput; /* in the same unit; NaN: unknown */
    const char *unit;           /* of the throughput and of its baseline; static */
    uint32_t n_succeeded;       /* trials */
};

/* A row of `benchctl results --by node`. */
struct node_figures {
    char *name; /* owned */
    uint32_t n_replicas, n_points, n_slower;
    double excess, throttled; /* ratios; NaN: not known */
};

struct run_gauges {
    struct point_figures *points; /* swept ones, by index; owned */
    size_t n_points;
    struct node_figures *nodes; /* by name; owned */
    size_t n_nodes;
};

struct metrics_run {
    const struct daemon_run *run;
    const struct run_gauges *figures; /* NULL if none are known */
    bool is_simulated;
};

/* What this process uses. NaN means that the kernel does not say. */
struct process_use {
    double cpu_s; /* all threads together, since the start */
    double resident_bytes;
    double open_fds, max_fds;
};
struct process_use process_use_read(void); /* scrape.c */

struct metrics_input {
    const struct daemon_facts *facts;
    int64_t now_ns; /* CLOCK_MONOTONIC */
    struct process_use process;
    const struct metrics_run *runs; /* most wanted first; those after METRICS_MAX_RUNS are hidden */
    size_t n_runs;
};

/* True if the run is to be shown now. */
bool metrics_wants_run(const struct run_status *status, bool is_active, int64_t now_unix_ms);

void metrics_write(const struct metrics_input *in, struct buf *out);

/* Writes the Prometheus text format 0.0.4 into a buffer. One family after another:
 * expo_begin, then all its samples. */
enum expo_kind { EXPO_GAUGE, EXPO_COUNTER, EXPO_HISTOGRAM };

#define EXPO_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct expo_label {
    const char *name;
    const char *value; /* any bytes; what is not UTF-8 becomes '?' */
};

struct expo {
    struct buf *out;
    const char *name; /* the name of the current family */
    size_t n_series;  /* written so far */
};

/* name: static; a counter's ends in _total, no other's does. help: one sentence without quotes,
 * backslashes and line breaks. */
void expo_begin(struct expo *e, enum expo_kind kind, const char *name, const char *help);
/* NaN: no sample. */
void expo_sample(struct expo *e, const struct expo_label *labels, size_t n_labels, double value);
/* Seconds: a series for each bucket, their sum and their count. At most EXPO_MAX_LABELS labels. */
#define EXPO_MAX_LABELS 4
void expo_histogram(struct expo *e, const struct expo_label *labels, size_t n_labels,
                    const struct histogram *h);
