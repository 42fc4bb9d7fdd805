/* What /metrics shows: the page made from plain data. Pure; scrape.c collects the data.
 * docs/metrics.md is checked against the page.
 *
 * Bounded: at most METRICS_MAX_RUNS runs and METRICS_MAX_POINTS points of them, and times
 * for each kind of request that was sent, and METRICS_MAX_NODES nodes: under 3,900 series in
 * all (benchd_series counts them). A run shows all of its points, or none if they do not
 * fit; and so its nodes. */
#pragma once

#include "daemon/web/daemon_view.h"
#include "daemon/web/expo.h"
#include "daemon/web/figures.h"
#include "daemon/web/process_use.h"

#define METRICS_MAX_RUNS 16
#define METRICS_MAX_POINTS 120
#define METRICS_MAX_NODES 60
/* How long after its end a run is shown: long enough for any scraper, and Prometheus keeps it. */
#define METRICS_KEEP_MS DAEMON_ENDED_MS

struct metrics_run {
    const char *name, *benchmark;
    const struct daemon_frozen *frozen;
    const struct run_status *status;
    const struct run_gauges *figures;       /* NULL: none */
    const struct daemon_progress *progress; /* NULL: no step of the current trial was seen */
    bool is_simulated;
    const struct daemon_wait *wait;
    int64_t advanced_unix_ms;
};

struct metrics_input {
    const char *version;
    bool is_ready, is_healthy;
    const struct daemon_facts *facts;
    double look_age_s; /* since the loop looked last; NaN: it has not yet */
    struct process_use process;
    const struct metrics_run *runs; /* most wanted first; those after METRICS_MAX_RUNS are hidden */
    size_t n_runs;
};

/* True if the run is to be shown now. */
bool metrics_wants_run(const struct run_status *status, bool is_active, int64_t now_unix_ms);

void metrics_write(const struct metrics_input *in, struct buf *out);
