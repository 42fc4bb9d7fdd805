/* The registry and the page, see metrics.h. Three tables, written one after the other: families of
 * the daemon, of a run, of a point. */
#include "daemon/web/metrics.h"

#include <math.h>
#include <stdio.h>

#include "result/result.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define NUMBER_SIZE 24

const int web_codes[WEB_N_CODES] = {200, 400, 403, 404, 405, 409, 503, 500};

void web_stats_count(struct web_stats *stats, int code)
{
    size_t i = 0;
    while (i + 1 < WEB_N_CODES && web_codes[i] != code) {
        i++;
    }
    stats->answers[i]++;
}

bool metrics_wants_run(const struct run_status *status, bool is_active, int64_t now_unix_ms)
{
    return is_active || !run_phase_is_final(status->phase) ||
           now_unix_ms - status->ended_unix_ms <= METRICS_KEEP_MS;
}

/* --- The daemon ------------------------------------------------------------------------------ */

/* Writes one sample, NaN: none; families with labels have a writer of their own. */
struct daemon_family {
    struct expo_family family;
    double (*value)(const struct metrics_input *in);
    void (*write)(const struct metrics_input *in, struct expo *e);
};

#define VALUE(name, expression)                                                                    \
    static double name(const struct metrics_input *in)                                             \
    {                                                                                              \
        return (double)(expression);                                                               \
    }
VALUE(start_time, (double)in->facts->counters.started_unix_ms / 1000)
VALUE(ready, in->is_ready)
VALUE(healthy, in->is_healthy)
VALUE(pods_created, in->facts->counters.pods_created)
VALUE(pods_deleted, in->facts->counters.pods_deleted)
VALUE(pods_failed, in->facts->counters.pods_failed)
VALUE(events_sent, in->facts->counters.events_sent)
VALUE(events_dropped, in->facts->counters.events_dropped)
VALUE(status_writes, in->facts->counters.status_writes)
VALUE(status_failures, in->facts->counters.status_failures)
VALUE(api_requests, in->facts->kube.requests)
VALUE(api_retries, in->facts->kube.retries)
VALUE(api_failures, in->facts->kube.failures)
VALUE(api_connections, in->facts->kube.connections)
VALUE(api_received, in->facts->kube.bytes_in)
VALUE(api_in_flight, in->facts->kube.in_flight)
VALUE(api_queued, in->facts->kube.queued)
VALUE(api_streams, in->facts->kube.streams)
VALUE(store_bytes, in->facts->space.bytes)
VALUE(store_used_bytes, in->facts->store_used_bytes)
VALUE(store_full, in->facts->space.is_full)
VALUE(store_disk, in->facts->space.disk_bytes)
VALUE(store_disk_free, in->facts->space.disk_free_bytes)
VALUE(store_busy, in->facts->store.busy)
VALUE(leader, in->facts->is_leader)
VALUE(look_age, in->look_age_s)
VALUE(http_streams, in->web.n_streams)
VALUE(longest_turn, (double)in->facts->turns.longest_ns / 1e9)
VALUE(runs_hidden, in->n_runs > METRICS_MAX_RUNS ? in->n_runs - METRICS_MAX_RUNS : 0)

static void sample_of(struct expo *e, const char *label, const char *text, double value)
{
    const struct expo_label labels[] = {{label, text}};
    expo_sample(e, labels, LENGTH(labels), value);
}

static void write_build_info(const struct metrics_input *in, struct expo *e)
{
    sample_of(e, "version", in->version, 1);
}

static void write_attempts(const struct metrics_input *in, struct expo *e)
{
    for (size_t i = 0; i < LENGTH(in->facts->counters.attempts); i++) {
        sample_of(e, "outcome", attempt_outcome_to_string((enum attempt_outcome)i),
                  (double)in->facts->counters.attempts[i]);
    }
}

static void write_erased(const struct metrics_input *in, struct expo *e)
{
    const struct daemon_counters *c = &in->facts->counters;
    sample_of(e, "reason", "Deleted", (double)c->runs_deleted);
    sample_of(e, "reason", "Age", (double)c->runs_erased[RETENTION_PAST_AGE]);
    sample_of(e, "reason", "Count", (double)c->runs_erased[RETENTION_PAST_COUNT]);
    sample_of(e, "reason", "Size", (double)c->runs_erased[RETENTION_PAST_SIZE]);
}

static void write_phase(struct expo *e, int phase, double value)
{
    sample_of(e, "phase", run_phase_to_string((enum run_phase)phase), value);
}

static void write_runs(const struct metrics_input *in, struct expo *e)
{
    for (int phase = 0; phase < DAEMON_N_PHASES; phase++) {
        if (!run_phase_is_final((enum run_phase)phase)) {
            write_phase(e, phase, in->facts->runs[phase]);
        }
    }
}

static void write_runs_finished(const struct metrics_input *in, struct expo *e)
{
    for (int phase = 0; phase < DAEMON_N_PHASES; phase++) {
        if (run_phase_is_final((enum run_phase)phase)) {
            write_phase(e, phase, (double)in->facts->counters.runs_finished[phase]);
        }
    }
}

static void write_waits(const struct metrics_input *in, struct expo *e)
{
    for (size_t i = 0; i < DAEMON_N_WAITS; i++) {
        sample_of(e, "reason", daemon_wait_reasons[i], (double)in->facts->counters.waits[i]);
    }
}

/* All of them from the start: a rate needs to see the first answer of its kind come. */
static void write_answers(const struct metrics_input *in, struct expo *e)
{
    for (int method = 0; method < KUBE_N_METHODS; method++) {
        for (size_t i = 0; i < KUBE_N_CODES; i++) {
            const struct expo_label labels[] = {{"method", kube_method_names[method]},
                                                {"code", kube_codes[i]}};
            expo_sample(e, labels, LENGTH(labels),
                        (double)in->facts->kube.traffic.answers[method][i]);
        }
    }
}

static void write_request_times(const struct metrics_input *in, struct expo *e)
{
    for (size_t i = 0; i < KUBE_N_TARGETS; i++) {
        for (int verb = 0; verb < KUBE_N_VERBS; verb++) {
            const struct histogram *h = &in->facts->kube.traffic.times[i][verb];
            const struct expo_label labels[] = {{"verb", kube_verb_names[verb]},
                                                {"resource", kube_targets[i]}};
            if (histogram_count(h) > 0) {
                expo_histogram(e, labels, LENGTH(labels), h);
            }
        }
    }
}

static void write_watch_figure(const struct metrics_input *in, struct expo *e, bool are_lists)
{
    for (size_t i = 0; i < DAEMON_N_WATCHES; i++) {
        const struct kube_informer_stats *stats = &in->facts->watches[i].stats;
        const char *resource = in->facts->watches[i].resource;
        if (resource != NULL) {
            const uint64_t n = are_lists ? stats->lists : stats->watches;
            sample_of(e, "resource", resource, (double)(n == 0 || are_lists ? n : n - 1));
        }
    }
}

static void write_watch_restarts(const struct metrics_input *in, struct expo *e)
{
    write_watch_figure(in, e, false);
}

static void write_lists(const struct metrics_input *in, struct expo *e)
{
    write_watch_figure(in, e, true);
}

static void write_statements(const struct metrics_input *in, struct expo *e)
{
    expo_histogram(e, NULL, 0, &in->facts->store.statements);
}

static void write_turns(const struct metrics_input *in, struct expo *e)
{
    expo_histogram(e, NULL, 0, &in->facts->turns);
}

static void write_http_requests(const struct metrics_input *in, struct expo *e)
{
    for (size_t i = 0; i < WEB_N_CODES; i++) {
        char code[NUMBER_SIZE];
        (void)snprintf(code, sizeof(code), "%d", web_codes[i]);
        sample_of(e, "code", code, (double)in->web.answers[i]);
    }
}

#define GAUGE(name, help)                                                                          \
    {                                                                                              \
        name, help, EXPO_GAUGE                                                                     \
    }
#define COUNTER(name, help)                                                                        \
    {                                                                                              \
        name, help, EXPO_COUNTER                                                                   \
    }
#define HISTOGRAM(name, help)                                                                      \
    {                                                                                              \
        name, help, EXPO_HISTOGRAM                                                                 \
    }

static const struct daemon_family daemon_families[] = {
    {GAUGE("benchd_build_info", "Always 1; the label has the version."), NULL, write_build_info},
    {GAUGE("benchd_start_time_seconds", "Start time of benchd, in seconds since the epoch."),
     start_time, NULL},
    {GAUGE("benchd_ready", "1 if /readyz answers 200."), ready, NULL},
    {GAUGE("benchd_healthy", "1 if /healthz answers 200."), healthy, NULL},
    {GAUGE("benchd_leader", "1 while this benchd holds the Lease."), leader, NULL},
    {GAUGE("benchd_runs_hidden", "Runs that are not shown because too many are active."),
     runs_hidden, NULL},
    {GAUGE("benchd_runs", "Runs that have not ended, by phase."), NULL, write_runs},
    {COUNTER("benchd_runs_finished_total", "Runs that reached a final phase, by that phase."), NULL,
     write_runs_finished},
    {COUNTER("benchd_run_waits_total", "Times that a run began to wait, by reason."), NULL,
     write_waits},
    {COUNTER("benchd_attempts_total", "Attempts saved in the store, by outcome."), NULL,
     write_attempts},
    {COUNTER("benchd_pods_created_total", "Pods created."), pods_created, NULL},
    {COUNTER("benchd_pods_deleted_total", "Pods deleted."), pods_deleted, NULL},
    {COUNTER("benchd_pod_failures_total", "Pods that the API server refused for good."),
     pods_failed, NULL},
    {COUNTER("benchd_events_sent_total", "Kubernetes Events written."), events_sent, NULL},
    {COUNTER("benchd_events_dropped_total", "Kubernetes Events dropped."), events_dropped, NULL},
    {COUNTER("benchd_status_writes_total", "Writes of a run's status."), status_writes, NULL},
    {COUNTER("benchd_status_failures_total", "Writes of a run's status that failed."),
     status_failures, NULL},
    {COUNTER("benchd_api_requests_total", "Requests sent to the Kubernetes API server."),
     api_requests, NULL},
    {COUNTER("benchd_api_retries_total", "Requests to the API server that were retried."),
     api_retries, NULL},
    {COUNTER("benchd_api_failures_total", "Requests to the API server that failed for good."),
     api_failures, NULL},
    {COUNTER("benchd_api_connections_total", "Connections opened to the API server."),
     api_connections, NULL},
    {COUNTER("benchd_api_received_bytes_total", "Bytes received from the API server."),
     api_received, NULL},
    {GAUGE("benchd_api_in_flight", "Requests to the API server that wait for an answer."),
     api_in_flight, NULL},
    {GAUGE("benchd_api_queued", "Requests to the API server that wait to be sent."), api_queued,
     NULL},
    {GAUGE("benchd_api_streams", "Watches and followed logs."), api_streams, NULL},
    {COUNTER("rest_client_requests_total", "Answers of the API server, by method and code."), NULL,
     write_answers},
    {HISTOGRAM("rest_client_request_duration_seconds",
               "Time until the API server answered, by verb and resource."),
     NULL, write_request_times},
    {COUNTER("benchd_watch_restarts_total", "Watches opened after the first, by resource."), NULL,
     write_watch_restarts},
    {COUNTER("benchd_watch_lists_total", "Pages of lists requested for a watch, by resource."),
     NULL, write_lists},
    {GAUGE("benchd_store_bytes", "Size of the store's files."), store_bytes, NULL},
    {GAUGE("benchd_store_used_bytes",
           "Size of what the store holds, without pages that deleted runs left free."),
     store_used_bytes, NULL},
    {COUNTER("benchd_runs_erased_total", "Runs whose results were erased, by reason."), NULL,
     write_erased},
    {GAUGE("benchd_store_full", "1: the disk of the store is full, runs wait for space."),
     store_full, NULL},
    {GAUGE("benchd_store_disk_bytes", "Size of the file system that has the store."), store_disk,
     NULL},
    {GAUGE("benchd_store_disk_free_bytes", "Free space of that file system."), store_disk_free,
     NULL},
    {HISTOGRAM("benchd_store_statement_duration_seconds",
               "Time of a statement of the store, until its first row or its end."),
     NULL, write_statements},
    {COUNTER("benchd_store_busy_total",
             "Statements that failed because another process held the write lock."),
     store_busy, NULL},
    {HISTOGRAM("benchd_loop_turn_duration_seconds",
               "Time that a turn of the loop worked, and so delayed everything else."),
     NULL, write_turns},
    {GAUGE("benchd_loop_longest_turn_seconds", "Longest turn of the loop since the start."),
     longest_turn, NULL},
    {GAUGE("benchd_loop_look_age_seconds", "Time since the loop looked at the runs."), look_age,
     NULL},
    {COUNTER("benchd_http_requests_total", "Requests that benchd answered, by status."), NULL,
     write_http_requests},
    {GAUGE("benchd_http_streams", "Pages and clients that follow a run or the list of runs."),
     http_streams, NULL},
};

/* --- A run ----------------------------------------------------------------------------------- */

/* A value, NaN: no sample; families with more labels have a writer of their own. */
struct run_family {
    struct expo_family family;
    double (*value)(const struct metrics_run *run);
    void (*write)(const struct metrics_run *run, struct expo *e);
};

static double time_or_none(int64_t unix_ms)
{
    return unix_ms == 0 ? NAN : (double)unix_ms / 1000;
}

#define RUN_VALUE(name, expression)                                                                \
    static double name(const struct metrics_run *run)                                              \
    {                                                                                              \
        return (double)(expression);                                                               \
    }
RUN_VALUE(run_created, time_or_none(run->frozen->created_unix_ms))
RUN_VALUE(run_started, time_or_none(run->status->started_unix_ms))
RUN_VALUE(run_ended, time_or_none(run->status->ended_unix_ms))
RUN_VALUE(run_advanced, time_or_none(run->advanced_unix_ms))
RUN_VALUE(run_points, run->frozen->is_known ? run->frozen->n_points : NAN)
RUN_VALUE(run_points_shown, run->figures == NULL ? 0 : run->figures->n_points)
RUN_VALUE(run_nodes, run->figures == NULL ? NAN : (double)run->figures->n_nodes)
RUN_VALUE(run_slow_replicas, run->figures == NULL ? NAN : run->figures->n_slow_replicas)
RUN_VALUE(run_trials, run->status->trials_total)
RUN_VALUE(run_trials_done, run->status->trials_done)
RUN_VALUE(run_trials_failed, run->status->trials_failed)
RUN_VALUE(run_point, run->status->has_current ? run->status->current.point : NAN)
RUN_VALUE(run_trial, run->status->has_current ? run->status->current.trial : NAN)
RUN_VALUE(run_attempt, run->status->has_current ? run->status->current.number : NAN)
RUN_VALUE(trial_steps, run->frozen->is_known && run->status->has_current ? run->frozen->steps : NAN)

static double trial_steps_done(const struct metrics_run *run)
{
    if (run->progress == NULL) {
        return NAN;
    }
    return run->progress->is_warmup ? 0 : (double)run->progress->step + 1;
}

static double step_throughput(const struct metrics_run *run)
{
    if (run->progress == NULL || run->progress->step_ns <= 0) {
        return NAN;
    }
    return (double)run->progress->samples * 1e9 / (double)run->progress->step_ns;
}

RUN_VALUE(step_duration, run->progress == NULL ? NAN : (double)run->progress->step_ns / 1e9)
RUN_VALUE(step_loss, run->progress == NULL ? NAN : run->progress->loss)

static void write_run_info(const struct metrics_run *run, struct expo *e)
{
    const struct expo_label labels[] = {
        {"run", run->name},
        {"benchmark", run->benchmark},
        {"baseline", run->frozen->is_known ? baseline_kind_names[run->frozen->baseline] : ""},
        {"rehearsal", run->frozen->is_rehearsal ? "true" : "false"},
        {"simulated", run->is_simulated ? "true" : "false"},
    };
    expo_sample(e, labels, LENGTH(labels), 1);
}

static void write_run_phase(const struct metrics_run *run, struct expo *e)
{
    for (int phase = RUN_PENDING; phase <= RUN_SUSPENDED; phase++) {
        const struct expo_label labels[] = {
            {"run", run->name},
            {"phase", run_phase_to_string((enum run_phase)phase)},
        };
        expo_sample(e, labels, LENGTH(labels), (int)run->status->phase == phase);
    }
}

static void write_wait(const struct metrics_run *run, struct expo *e)
{
    if (run->wait->reason[0] != '\0') {
        const struct expo_label labels[] = {
            {"run", run->name},
            {"reason", daemon_wait_reasons[daemon_wait_index(run->wait->reason)]}};
        expo_sample(e, labels, LENGTH(labels), (double)run->wait->since_unix_ms / 1000);
    }
}

static const struct run_family run_families[] = {
    {GAUGE("bench_run_info", "Always 1; the labels describe the run."), NULL, write_run_info},
    {GAUGE("bench_run_phase", "1 for the phase that the run is in, 0 for all others."), NULL,
     write_run_phase},
    {GAUGE("bench_run_created_timestamp_seconds", "When the run was frozen."), run_created, NULL},
    {GAUGE("bench_run_started_timestamp_seconds", "When its first trial began."), run_started,
     NULL},
    {GAUGE("bench_run_ended_timestamp_seconds", "When it reached its final phase."), run_ended,
     NULL},
    {GAUGE("bench_run_wait_start_timestamp_seconds",
           "Since when a run waits although it could go on, by reason."),
     NULL, write_wait},
    {GAUGE("bench_run_advanced_timestamp_seconds",
           "When the active run last got further: a trial, or a step of trainer 0."),
     run_advanced, NULL},
    {GAUGE("bench_run_points", "Swept points of a run."), run_points, NULL},
    {GAUGE("bench_run_points_shown", "Swept points of the run on this page: all or none."),
     run_points_shown, NULL},
    {GAUGE("bench_run_nodes", "Nodes that replicas of succeeded trials ran on, shown or not."),
     run_nodes, NULL},
    {GAUGE("bench_run_slow_replicas",
           "Points with a replica that is slower than the others of its role beyond their spread."),
     run_slow_replicas, NULL},
    {GAUGE("bench_run_trials", "Trials of a run, including those of its baseline."), run_trials,
     NULL},
    {GAUGE("bench_run_trials_done", "Trials that are decided, including failed ones."),
     run_trials_done, NULL},
    {GAUGE("bench_run_trials_failed", "Trials that failed."), run_trials_failed, NULL},
    {GAUGE("bench_run_current_point", "Point of the current trial, from 0."), run_point, NULL},
    {GAUGE("bench_run_current_trial", "The current trial, from 0."), run_trial, NULL},
    {GAUGE("bench_run_current_attempt", "The current attempt, from 0."), run_attempt, NULL},
    {GAUGE("bench_trial_steps", "Measured steps of the current trial."), trial_steps, NULL},
    {GAUGE("bench_trial_steps_done", "Measured steps that trainer 0 has finished."),
     trial_steps_done, NULL},
    {GAUGE("bench_trainer_step_duration_seconds", "Duration of the last step of trainer 0."),
     step_duration, NULL},
    {GAUGE("bench_trainer_step_samples_per_second",
           "Throughput of the last step of trainer 0 alone."),
     step_throughput, NULL},
    {GAUGE("bench_trainer_step_loss", "Loss of the last step of trainer 0."), step_loss, NULL},
};

/* --- A point --------------------------------------------------------------------------------- */

struct point_family {
    struct expo_family family;
    double (*value)(const struct point_figures *point); /* NaN: no sample */
};

static double value_of(const struct estimate *e)
{
    return e->known ? e->value : NAN;
}

static double low_of(const struct estimate *e)
{
    return e->known && e->has_interval ? e->low : NAN;
}

static double high_of(const struct estimate *e)
{
    return e->known && e->has_interval ? e->high : NAN;
}

#define POINT_VALUE(name, expression)                                                              \
    static double name(const struct point_figures *point)                                          \
    {                                                                                              \
        return expression;                                                                         \
    }
POINT_VALUE(throughput, value_of(&point->throughput))
POINT_VALUE(throughput_low, low_of(&point->throughput))
POINT_VALUE(throughput_high, high_of(&point->throughput))
POINT_VALUE(speedup, value_of(&point->speedup))
POINT_VALUE(speedup_low, low_of(&point->speedup))
POINT_VALUE(speedup_high, high_of(&point->speedup))
POINT_VALUE(efficiency, value_of(&point->efficiency))
POINT_VALUE(efficiency_low, low_of(&point->efficiency))
POINT_VALUE(efficiency_high, high_of(&point->efficiency))
POINT_VALUE(baseline_throughput, value_of(&point->baseline_throughput))
POINT_VALUE(succeeded, (double)point->n_succeeded)

#define LOW "Lower limit of its 95% interval."
#define HIGH "Upper limit of its 95% interval."
static const struct point_family point_families[] = {
    {GAUGE("bench_point_throughput_samples_per_second",
           "Throughput of a point, all trainers together: the median over its trials."),
     throughput},
    {GAUGE("bench_point_throughput_low_samples_per_second", LOW), throughput_low},
    {GAUGE("bench_point_throughput_high_samples_per_second", HIGH), throughput_high},
    {GAUGE("bench_point_speedup_ratio", "Throughput divided by the baseline's."), speedup},
    {GAUGE("bench_point_speedup_low_ratio", LOW), speedup_low},
    {GAUGE("bench_point_speedup_high_ratio", HIGH), speedup_high},
    {GAUGE("bench_point_efficiency_ratio",
           "Speedup divided by the number of trainers; the baseline's is 1."),
     efficiency},
    {GAUGE("bench_point_efficiency_low_ratio", LOW), efficiency_low},
    {GAUGE("bench_point_efficiency_high_ratio", HIGH), efficiency_high},
    {GAUGE("bench_point_baseline_throughput_samples_per_second",
           "Throughput of the baseline that the point divides by."),
     baseline_throughput},
    {GAUGE("bench_point_trials_succeeded",
           "Trials from which the figures of a point are computed."),
     succeeded},
};

/* --- A node ---------------------------------------------------------------------------------- */

struct node_family {
    struct expo_family family;
    double (*value)(const struct node_figures *node); /* NaN: no sample */
};

#define NODE_VALUE(name, expression)                                                               \
    static double name(const struct node_figures *node)                                            \
    {                                                                                              \
        return expression;                                                                         \
    }
NODE_VALUE(node_replicas, node->n_replicas)
NODE_VALUE(node_points, node->n_points)
NODE_VALUE(node_slower, node->n_slower)
NODE_VALUE(node_excess, node->excess)
NODE_VALUE(node_throttled, node->throttled)

static const struct node_family node_families[] = {
    {GAUGE("bench_node_replicas", "Replicas of succeeded trials that ran on a node."),
     node_replicas},
    {GAUGE("bench_node_points", "Points with a replica on the node."), node_points},
    {GAUGE("bench_node_slower_points",
           "Points at which the node's replicas were slower than others by 5% or more."),
     node_slower},
    {GAUGE("bench_node_excess_ratio",
           "How much more time a step the node's replicas need for their own work; 0.12 is 12%."),
     node_excess},
    {GAUGE("bench_node_throttled_ratio",
           "Share of its replicas' measured time in which a CPU limit stopped them."),
     node_throttled},
};

/* --- The page -------------------------------------------------------------------------------- */

static const struct expo_family series_family =
    GAUGE("benchd_series", "Series on this page, including this one.");

#define N_DAEMON LENGTH(daemon_families)
#define N_RUN LENGTH(run_families)
#define N_POINT LENGTH(point_families)
#define N_NODE LENGTH(node_families)

size_t metrics_n_families(void)
{
    return N_DAEMON + N_RUN + N_POINT + N_NODE + 1;
}

const struct expo_family *metrics_family(size_t i)
{
    if (i < N_DAEMON) {
        return &daemon_families[i].family;
    }
    i -= N_DAEMON;
    if (i < N_RUN) {
        return &run_families[i].family;
    }
    i -= N_RUN;
    if (i < N_POINT) {
        return &point_families[i].family;
    }
    i -= N_POINT;
    return i < N_NODE ? &node_families[i].family : &series_family;
}

static void write_point(const struct metrics_run *run, const struct point_figures *p, double value,
                        struct expo *e)
{
    char numbers[5][NUMBER_SIZE];
    (void)snprintf(numbers[0], NUMBER_SIZE, "%u", p->point);
    (void)snprintf(numbers[1], NUMBER_SIZE, "%u", p->pservers);
    (void)snprintf(numbers[2], NUMBER_SIZE, "%u", p->trainers);
    (void)snprintf(numbers[3], NUMBER_SIZE, "%lld", (long long)p->batch_size);
    (void)snprintf(numbers[4], NUMBER_SIZE, "%lld", (long long)p->threads);
    const struct expo_label labels[] = {
        {"run", run->name},         {"benchmark", run->benchmark}, {"system", p->system},
        {"point", numbers[0]},      {"pservers", numbers[1]},      {"trainers", numbers[2]},
        {"batch_size", numbers[3]}, {"threads", numbers[4]},       {"other", p->other},
    };
    if (!isnan(value)) {
        expo_sample(e, labels, LENGTH(labels), value);
    }
}

static void write_point_family(const struct point_family *f, const struct metrics_run *runs,
                               size_t n_runs, struct expo *e)
{
    expo_begin(e, &f->family);
    for (size_t i = 0; i < n_runs; i++) {
        for (size_t k = 0; runs[i].figures != NULL && k < runs[i].figures->n_points; k++) {
            const struct point_figures *p = &runs[i].figures->points[k];
            write_point(&runs[i], p, f->value(p), e);
        }
    }
}

static void write_node_family(const struct node_family *f, const struct metrics_run *runs,
                              size_t n_runs, struct expo *e)
{
    size_t n_left = METRICS_MAX_NODES;
    expo_begin(e, &f->family);
    for (size_t i = 0; i < n_runs; i++) {
        const struct run_gauges *figures = runs[i].figures;
        if (figures == NULL || figures->n_nodes > n_left) {
            continue;
        }
        n_left -= figures->n_nodes;
        for (size_t k = 0; k < figures->n_nodes; k++) {
            const struct expo_label labels[] = {{"run", runs[i].name},
                                                {"node", figures->nodes[k].name}};
            const double value = f->value(&figures->nodes[k]);
            if (!isnan(value)) {
                expo_sample(e, labels, LENGTH(labels), value);
            }
        }
    }
}

static void write_run_family(const struct run_family *f, const struct metrics_run *runs,
                             size_t n_runs, struct expo *e)
{
    expo_begin(e, &f->family);
    for (size_t i = 0; i < n_runs; i++) {
        if (f->write != NULL) {
            f->write(&runs[i], e);
            continue;
        }
        const double value = f->value(&runs[i]);
        if (!isnan(value)) {
            sample_of(e, "run", runs[i].name, value);
        }
    }
}

/* The runs shown, in order; a run's points only where all of them fit. */
static size_t take_runs(const struct metrics_input *in, struct metrics_run shown[METRICS_MAX_RUNS])
{
    size_t n = in->n_runs < METRICS_MAX_RUNS ? in->n_runs : METRICS_MAX_RUNS;
    size_t points_left = METRICS_MAX_POINTS;
    for (size_t i = 0; i < n; i++) {
        shown[i] = in->runs[i];
        if (shown[i].figures != NULL && shown[i].figures->n_points > points_left) {
            shown[i].figures = NULL;
        }
        points_left -= shown[i].figures == NULL ? 0 : shown[i].figures->n_points;
    }
    return n;
}

void metrics_write(const struct metrics_input *in, enum expo_format format, struct buf *out)
{
    struct expo e = {.out = out, .format = format};
    struct metrics_run runs[METRICS_MAX_RUNS];
    const size_t n_runs = take_runs(in, runs);
    for (size_t i = 0; i < N_DAEMON; i++) {
        const struct daemon_family *f = &daemon_families[i];
        expo_begin(&e, &f->family);
        if (f->write != NULL) {
            f->write(in, &e);
        } else if (!isnan(f->value(in))) {
            expo_sample(&e, NULL, 0, f->value(in));
        }
    }
    for (size_t i = 0; i < N_RUN; i++) {
        write_run_family(&run_families[i], runs, n_runs, &e);
    }
    for (size_t i = 0; i < N_POINT; i++) {
        write_point_family(&point_families[i], runs, n_runs, &e);
    }
    for (size_t i = 0; i < N_NODE; i++) {
        write_node_family(&node_families[i], runs, n_runs, &e);
    }
    expo_begin(&e, &series_family);
    expo_sample(&e, NULL, 0, (double)e.n_series + 1);
    expo_end(&e);
}
