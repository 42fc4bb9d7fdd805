/* See metrics.h. The families of the daemon come first, then those of runs, points and nodes. */
#include "daemon/web/metrics.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "config.h"
#include "result/catalogue.h"
#include "result/number.h"

#define NUMBER_SIZE 24

#define MAX_LABEL_BYTES 256 /* A label's value is cut here. Kubernetes names have at most 253. */

bool metrics_wants_run(const struct run_status *status, bool is_active, int64_t now_unix_ms)
{
    return is_active || !run_phase_is_final(status->phase) ||
           now_unix_ms - status->ended_unix_ms <= METRICS_KEEP_MS;
}

/* --- The text format -------------------------------------------------------------------------- */

void expo_begin(struct expo *e, enum expo_kind kind, const char *name, const char *help)
{
    static const char *const kinds[] = {
        [EXPO_GAUGE] = "gauge", [EXPO_COUNTER] = "counter", [EXPO_HISTOGRAM] = "histogram"};
    e->name = name;
    buf_printf(e->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kinds[kind]);
}

static void put_value(struct buf *out, double value)
{
    if (isinf(value)) {
        buf_puts(out, value > 0 ? "+Inf" : "-Inf");
    } else {
        number_format_exact(value, out);
    }
}

static void put_label_value(struct buf *out, const char *value)
{
    _cleanup_(buf_done) struct buf clean = BUF_INIT;
    buf_put_utf8(&clean, value, MAX_LABEL_BYTES);
    for (const char *c = buf_cstr(&clean); *c != '\0'; c++) {
        if (*c == '\n') {
            buf_puts(out, "\\n");
            continue;
        }
        if (*c == '\\' || *c == '"') {
            buf_putc(out, '\\');
        }
        buf_putc(out, *c);
    }
}

static void put_series(struct expo *e, const char *suffix, const struct expo_label *labels,
                       size_t n_labels, double value)
{
    buf_printf(e->out, "%s%s", e->name, suffix);
    for (size_t i = 0; i < n_labels; i++) {
        buf_printf(e->out, "%c%s=\"", i == 0 ? '{' : ',', labels[i].name);
        put_label_value(e->out, labels[i].value);
        buf_putc(e->out, '"');
    }
    buf_puts(e->out, n_labels > 0 ? "} " : " ");
    put_value(e->out, value);
    buf_putc(e->out, '\n');
    e->n_series++;
}

void expo_sample(struct expo *e, const struct expo_label *labels, size_t n_labels, double value)
{
    if (!isnan(value)) {
        put_series(e, "", labels, n_labels, value);
    }
}

void expo_histogram(struct expo *e, const struct expo_label *labels, size_t n_labels,
                    const struct histogram *h)
{
    struct expo_label with_bound[EXPO_MAX_LABELS + 1];
    uint64_t n = 0;
    assert(n_labels <= EXPO_MAX_LABELS);
    for (size_t i = 0; i < n_labels; i++) {
        with_bound[i] = labels[i];
    }
    for (size_t i = 0; i <= HISTOGRAM_N_BOUNDS; i++) { /* each bucket holds those before it */
        _cleanup_(buf_done) struct buf bound = BUF_INIT;
        put_value(&bound, i < HISTOGRAM_N_BOUNDS ? (double)histogram_bounds_ns[i] / 1e9 : INFINITY);
        with_bound[n_labels] = (struct expo_label){"le", buf_cstr(&bound)};
        n += h->counts[i];
        put_series(e, "_bucket", with_bound, n_labels + 1, (double)n);
    }
    put_series(e, "_sum", labels, n_labels, (double)h->sum_ns / 1e9);
    put_series(e, "_count", labels, n_labels, (double)n);
}

/* A family with one sample, which has no label; NaN: no sample. */
static void gauge(struct expo *e, const char *name, const char *help, double value)
{
    expo_begin(e, EXPO_GAUGE, name, help);
    expo_sample(e, NULL, 0, value);
}

static void counter(struct expo *e, const char *name, const char *help, double value)
{
    expo_begin(e, EXPO_COUNTER, name, help);
    expo_sample(e, NULL, 0, value);
}

static void sample_of(struct expo *e, const char *label, const char *text, double value)
{
    const struct expo_label labels[] = {{label, text}};
    expo_sample(e, labels, COUNT_OF(labels), value);
}

/* --- The daemon ------------------------------------------------------------------------------ */

static void put_program(struct expo *e, const struct metrics_input *in)
{
    expo_begin(e, EXPO_GAUGE, "benchd_build_info", "Always 1; the label has the version.");
    sample_of(e, "version", BENCHD_VERSION, 1);
    gauge(e, "benchd_ready", "1 if /readyz answers 200.",
          daemon_facts_are_ready(in->facts, in->now_ns, NULL));
    gauge(e, "benchd_leader", "1 while this benchd holds the Lease.", in->facts->is_leader);
}

/* The client libraries of Prometheus use these names. */
static void put_process(struct expo *e, const struct metrics_input *in)
{
    const struct process_use *use = &in->process;
    counter(e, "process_cpu_seconds_total", "CPU time of benchd, user and system.", use->cpu_s);
    gauge(e, "process_resident_memory_bytes", "Memory that is resident.", use->resident_bytes);
    gauge(e, "process_open_fds", "Open file descriptors.", use->open_fds);
    gauge(e, "process_max_fds", "Limit of open file descriptors.", use->max_fds);
    gauge(e, "process_start_time_seconds", "Start time of benchd, in seconds since the epoch.",
          (double)in->facts->counters.started_unix_ms / 1000);
}

static void sample_of_phase(struct expo *e, int phase, double value)
{
    sample_of(e, "phase", run_phase_to_string((enum run_phase)phase), value);
}

static void put_runs(struct expo *e, const struct metrics_input *in)
{
    const struct daemon_counters *c = &in->facts->counters;
    gauge(e, "benchd_runs_hidden", "Runs that are not shown because too many are active.",
          in->n_runs > METRICS_MAX_RUNS ? (double)(in->n_runs - METRICS_MAX_RUNS) : 0);
    expo_begin(e, EXPO_GAUGE, "benchd_runs", "Runs that have not ended, by phase.");
    for (int phase = 0; phase < DAEMON_N_PHASES; phase++) {
        if (!run_phase_is_final((enum run_phase)phase)) {
            sample_of_phase(e, phase, in->facts->runs[phase]);
        }
    }
    expo_begin(e, EXPO_COUNTER, "benchd_runs_finished_total",
               "Runs that reached a final phase, by that phase.");
    for (int phase = 0; phase < DAEMON_N_PHASES; phase++) {
        if (run_phase_is_final((enum run_phase)phase)) {
            sample_of_phase(e, phase, c->runs_finished[phase]);
        }
    }
    expo_begin(e, EXPO_COUNTER, "benchd_attempts_total",
               "Attempts saved in the store, by outcome.");
    for (size_t i = 0; i < COUNT_OF(c->attempts); i++) {
        sample_of(e, "outcome", attempt_outcome_to_string((enum attempt_outcome)i), c->attempts[i]);
    }
}

static void put_objects(struct expo *e, const struct daemon_counters *c)
{
    counter(e, "benchd_archive_puts_total", "Runs put into the archive.", c->archived);
    counter(e, "benchd_archive_failures_total",
            "Failures of the archive, each of which is tried again or leaves a run out.",
            c->archive_failures);
    counter(e, "benchd_pods_created_total", "Pods created.", c->pods_created);
    counter(e, "benchd_pod_failures_total", "Pods that the API server refused for good.",
            c->pods_failed);
}

static void put_api(struct expo *e, const struct kube_client_stats *kube)
{
    counter(e, "benchd_api_connections_total", "Connections opened to the API server.",
            kube->connections);
    counter(e, "benchd_api_received_bytes_total", "Bytes received from the API server.",
            kube->bytes_in);
}

/* All answers from the start: a rate needs to see the first one of its kind come. */
static void put_traffic(struct expo *e, const struct kube_client_stats *kube)
{
    expo_begin(e, EXPO_COUNTER, "rest_client_requests_total",
               "Answers of the API server, by method, code and its host.");
    for (int method = 0; method < KUBE_N_METHODS; method++) {
        for (size_t i = 0; i < KUBE_N_CODES; i++) {
            const struct expo_label labels[] = {{"method", kube_method_names[method]},
                                                {"code", kube_codes[i]},
                                                {"host", kube->host}};
            expo_sample(e, labels, COUNT_OF(labels), kube->traffic.answers[method][i]);
        }
    }
    expo_begin(e, EXPO_HISTOGRAM, "rest_client_request_duration_seconds",
               "Time until the API server answered, by verb and resource.");
    for (size_t i = 0; i < KUBE_N_TARGETS; i++) {
        for (int verb = 0; verb < KUBE_N_VERBS; verb++) {
            const struct histogram *h = &kube->traffic.times[i][verb];
            const struct expo_label labels[] = {{"verb", kube_verb_names[verb]},
                                                {"resource", kube_targets[i]}};
            if (histogram_count(h) > 0) {
                expo_histogram(e, labels, COUNT_OF(labels), h);
            }
        }
    }
}

static void put_watches(struct expo *e, const struct daemon_facts *facts)
{
    expo_begin(e, EXPO_COUNTER, "benchd_watch_restarts_total",
               "Watches opened after the first, by resource.");
    for (size_t i = 0; i < DAEMON_N_WATCHES; i++) {
        const uint64_t n = facts->watches[i].stats.watches;
        if (facts->watches[i].resource != NULL) {
            sample_of(e, "resource", facts->watches[i].resource, (double)(n == 0 ? 0 : n - 1));
        }
    }
    expo_begin(e, EXPO_COUNTER, "benchd_watch_lists_total",
               "Pages of lists requested for a watch, by resource.");
    for (size_t i = 0; i < DAEMON_N_WATCHES; i++) {
        if (facts->watches[i].resource != NULL) {
            sample_of(e, "resource", facts->watches[i].resource, facts->watches[i].stats.lists);
        }
    }
}

static void put_store(struct expo *e, const struct daemon_facts *facts)
{
    const struct daemon_counters *c = &facts->counters;
    gauge(e, "benchd_store_bytes", "Size of the store's files.", facts->space.bytes);
    gauge(e, "benchd_store_used_bytes",
          "Size of what the store holds, without pages that deleted runs left free.",
          facts->store_used_bytes);
    expo_begin(e, EXPO_COUNTER, "benchd_runs_erased_total",
               "Runs whose results were erased, by reason.");
    sample_of(e, "reason", "Deleted", c->runs_deleted);
    sample_of(e, "reason", "Age", c->runs_erased[RETENTION_PAST_AGE]);
    sample_of(e, "reason", "Count", c->runs_erased[RETENTION_PAST_COUNT]);
    sample_of(e, "reason", "Size", c->runs_erased[RETENTION_PAST_SIZE]);
    gauge(e, "benchd_store_full", "1: the disk of the store is full, runs wait for space.",
          facts->space.is_full);
    gauge(e, "benchd_store_disk_bytes", "Size of the file system that has the store.",
          facts->space.disk_bytes);
    gauge(e, "benchd_store_disk_free_bytes", "Free space of that file system.",
          facts->space.disk_free_bytes);
    expo_begin(e, EXPO_HISTOGRAM, "benchd_store_statement_duration_seconds",
               "Time of a statement of the store, until its first row or its end.");
    expo_histogram(e, NULL, 0, &facts->statements);
}

static void put_loop(struct expo *e, const struct metrics_input *in)
{
    expo_begin(e, EXPO_HISTOGRAM, "benchd_loop_turn_duration_seconds",
               "Time that a turn of the loop worked, and so delayed everything else.");
    expo_histogram(e, NULL, 0, &in->facts->turns);
    gauge(e, "benchd_loop_longest_turn_seconds", "Longest turn of the loop since the start.",
          (double)in->facts->turns.longest_ns / 1e9);
    gauge(e, "benchd_loop_look_age_seconds", "Time since the loop looked at the runs.",
          in->facts->look_ns == 0 ? NAN : (double)(in->now_ns - in->facts->look_ns) / 1e9);
}

/* --- The runs -------------------------------------------------------------------------------- */

/* The output, and the runs that it shows. */
struct writing {
    struct expo e;
    struct metrics_run runs[METRICS_MAX_RUNS];
    size_t n_nodes[METRICS_MAX_RUNS]; /* all nodes of the run, or 0 */
    size_t n_runs;
};

/* A run's points and nodes only where all of them fit. */
static void take_runs(struct writing *w, const struct metrics_input *in)
{
    size_t points_left = METRICS_MAX_POINTS, nodes_left = METRICS_MAX_NODES;
    w->n_runs = in->n_runs < METRICS_MAX_RUNS ? in->n_runs : METRICS_MAX_RUNS;
    for (size_t i = 0; i < w->n_runs; i++) {
        struct metrics_run *run = &w->runs[i];
        *run = in->runs[i];
        if (run->figures != NULL && run->figures->n_points > points_left) {
            run->figures = NULL;
        }
        if (run->figures != NULL) {
            points_left -= run->figures->n_points;
            w->n_nodes[i] = run->figures->n_nodes <= nodes_left ? run->figures->n_nodes : 0;
            nodes_left -= w->n_nodes[i];
        }
    }
}

/* A family with a sample of each run. `value` is an expression of `run`, a struct daemon_run, and
 * `of`, the struct metrics_run that has it. NaN makes no sample. */
#define GAUGE_OF_RUNS(w, run, metric, help, value)                                                 \
    do {                                                                                           \
        expo_begin(&(w)->e, EXPO_GAUGE, metric, help);                                             \
        for (size_t i_ = 0; i_ < (w)->n_runs; i_++) {                                              \
            const struct metrics_run *of = &(w)->runs[i_];                                         \
            const struct daemon_run *run = of->run;                                                \
            sample_of(&(w)->e, "run", run->name, value);                                           \
        }                                                                                          \
    } while (0)

static double time_or_none(int64_t unix_ms)
{
    return unix_ms == 0 ? NAN : (double)unix_ms / 1000;
}

static void put_run_labels(struct writing *w)
{
    expo_begin(&w->e, EXPO_GAUGE, "benchd_run_info", "Always 1; the labels describe the run.");
    for (size_t i = 0; i < w->n_runs; i++) {
        const struct daemon_run *run = w->runs[i].run;
        const struct expo_label labels[] = {
            {"run", run->name},
            {"benchmark", run->benchmark},
            {"baseline", run->frozen.is_known ? baseline_kind_names[run->frozen.baseline] : ""},
            {"rehearsal", run->frozen.is_rehearsal ? "true" : "false"},
            {"simulated", w->runs[i].is_simulated ? "true" : "false"},
        };
        expo_sample(&w->e, labels, COUNT_OF(labels), 1);
    }
    expo_begin(&w->e, EXPO_GAUGE, "benchd_run_phase",
               "1 for the phase that the run is in, 0 for all others.");
    for (size_t i = 0; i < w->n_runs; i++) {
        for (int phase = RUN_PENDING; phase <= RUN_SUSPENDED; phase++) {
            const struct expo_label labels[] = {
                {"run", w->runs[i].run->name},
                {"phase", run_phase_to_string((enum run_phase)phase)},
            };
            expo_sample(&w->e, labels, COUNT_OF(labels),
                        (int)w->runs[i].run->status.phase == phase);
        }
    }
}

static void put_waits(struct writing *w)
{
    expo_begin(&w->e, EXPO_GAUGE, "benchd_run_wait_start_timestamp_seconds",
               "Since when a run waits although it could go on, by reason.");
    for (size_t i = 0; i < w->n_runs; i++) {
        const struct daemon_wait *wait = &w->runs[i].run->wait;
        if (wait->reason[0] != '\0') {
            const struct expo_label labels[] = {{"run", w->runs[i].run->name},
                                                {"reason", wait->reason}};
            expo_sample(&w->e, labels, COUNT_OF(labels), (double)wait->since_unix_ms / 1000);
        }
    }
}

static void put_run_figures(struct writing *w)
{
    GAUGE_OF_RUNS(w, run, "benchd_run_points", "Swept points of a run.",
                  run->frozen.is_known ? run->frozen.n_points : NAN);
    GAUGE_OF_RUNS(w, run, "benchd_run_points_shown",
                  "Swept points of the run on this page: all or none.",
                  of->figures == NULL ? 0 : of->figures->n_points);
    GAUGE_OF_RUNS(w, run, "benchd_run_nodes",
                  "Nodes that replicas of succeeded trials ran on, shown or not.",
                  of->figures == NULL ? NAN : (double)of->figures->n_nodes);
    GAUGE_OF_RUNS(w, run, "benchd_run_trials", "Trials of a run, including those of its baseline.",
                  run->status.trials_total);
    GAUGE_OF_RUNS(w, run, "benchd_run_trials_done",
                  "Trials that are decided, including failed ones.", run->status.trials_done);
    GAUGE_OF_RUNS(w, run, "benchd_run_trials_failed", "Trials that failed.",
                  run->status.trials_failed);
}

static double steps_done(const struct daemon_progress *p)
{
    return !p->is_known ? NAN : p->is_warmup ? 0 : (double)p->step + 1;
}

static void put_steps(struct writing *w)
{
    GAUGE_OF_RUNS(w, run, "benchd_trial_steps", "Measured steps of the current trial.",
                  run->frozen.is_known && run->status.has_current ? (double)run->frozen.steps
                                                                  : NAN);
    GAUGE_OF_RUNS(w, run, "benchd_trial_steps_done", "Measured steps that trainer 0 has finished.",
                  steps_done(&run->progress));
    GAUGE_OF_RUNS(w, run, "benchd_trainer_step_samples_per_second",
                  "Throughput of the last step of trainer 0 alone.",
                  !run->progress.is_known || run->progress.step_ns <= 0
                      ? NAN
                      : run->progress.samples * 1e9 / (double)run->progress.step_ns);
}

static void put_each_run(struct writing *w)
{
    put_run_labels(w);
    GAUGE_OF_RUNS(w, run, "benchd_run_created_timestamp_seconds", "When the run was frozen.",
                  time_or_none(run->frozen.created_unix_ms));
    GAUGE_OF_RUNS(w, run, "benchd_run_started_timestamp_seconds", "When its first trial began.",
                  time_or_none(run->status.started_unix_ms));
    GAUGE_OF_RUNS(w, run, "benchd_run_ended_timestamp_seconds", "When it reached its final phase.",
                  time_or_none(run->status.ended_unix_ms));
    put_waits(w);
    GAUGE_OF_RUNS(w, run, "benchd_run_advanced_timestamp_seconds",
                  "When the active run last got further: a trial, or a step of trainer 0.",
                  time_or_none(run->advanced_unix_ms));
    put_run_figures(w);
    put_steps(w);
}

/* --- Their points ---------------------------------------------------------------------------- */

static void put_point(struct expo *e, const struct daemon_run *run, const struct point_figures *p,
                      double value)
{
    char numbers[5][NUMBER_SIZE] = {0};
    (void)snprintf(numbers[0], NUMBER_SIZE, "%u", p->point);
    (void)snprintf(numbers[1], NUMBER_SIZE, "%u", p->pservers);
    (void)snprintf(numbers[2], NUMBER_SIZE, "%u", p->trainers);
    if (p->batch_size > 0) { /* an unknown one has an empty label */
        (void)snprintf(numbers[3], NUMBER_SIZE, "%lld", (long long)p->batch_size);
    }
    (void)snprintf(numbers[4], NUMBER_SIZE, "%lld", (long long)p->threads);
    const struct expo_label labels[] = {
        {"run", run->name},         {"benchmark", run->benchmark}, {"system", p->system},
        {"point", numbers[0]},      {"pservers", numbers[1]},      {"trainers", numbers[2]},
        {"batch_size", numbers[3]}, {"threads", numbers[4]},       {"other", p->other},
    };
    expo_sample(e, labels, COUNT_OF(labels), value);
}

/* A figure of points, or of their baselines, in one unit: those in another one have no sample. */
struct family {
    const char *metric, *help;
    const struct figure_unit *unit;
    bool is_rate, is_baseline;
    size_t figure; /* index into the figures of a point */
    int limit;     /* 0: the value, 1: the lower limit, 2: the upper one */
};

static double value_of(const struct family *f, const struct point_figures *p)
{
    const struct figure_numbers *n = &p->figures[f->figure];
    const double value = f->is_baseline  ? p->baseline_throughput
                         : f->limit == 0 ? n->value
                         : f->limit == 1 ? n->low
                                         : n->high;
    return f->is_rate && !str_eq(p->unit, f->unit->unit) ? NAN : value * f->unit->factor;
}

/* One of samples is described also where it has none. */
static void put_family(struct writing *w, const struct family *f)
{
    static const char *const limits[] = {"", "_low", "_high"};
    _cleanup_(freep) char *name =
        xasprintf("%s%s_%s", f->metric, limits[f->limit], f->unit->metric);
    bool has_begun = !f->is_rate || f->unit == figure_units;
    if (has_begun) {
        expo_begin(&w->e, EXPO_GAUGE, name, f->help);
    }
    for (size_t i = 0; i < w->n_runs; i++) {
        const struct run_gauges *of = w->runs[i].figures;
        for (size_t k = 0; of != NULL && k < of->n_points; k++) {
            const double value = value_of(f, &of->points[k]);
            if (!has_begun && !isnan(value)) {
                expo_begin(&w->e, EXPO_GAUGE, name, f->help);
                has_begun = true;
            }
            put_point(&w->e, w->runs[i].run, &of->points[k], value);
        }
    }
}

/* One for each unit that the figure may have. */
static void put_families(struct writing *w, const struct figure_kind *k, struct family f)
{
    size_t n;
    f.unit = figure_units_of(k, &n);
    f.is_rate = n > 1;
    for (const struct figure_unit *end = f.unit + n; f.unit < end; f.unit++) {
        put_family(w, &f);
    }
}

static void put_each_point(struct writing *w)
{
    static const char *const limits[] = {NULL, "Lower limit of its 95% interval.",
                                         "Upper limit of its 95% interval."};
    size_t n = 0;
    figure_each_kind (k) {
        for (int limit = 0; k->metric != NULL && limit < (k->has_interval ? 3 : 1); limit++) {
            put_families(w, k,
                         (struct family){.metric = k->metric,
                                         .help = limit == 0 ? k->meaning : limits[limit],
                                         .figure = n,
                                         .limit = limit});
        }
        n += k->metric != NULL;
    }
    put_families(w, &figure_kinds[FIGURE_THROUGHPUT],
                 (struct family){.metric = "benchd_point_baseline_throughput",
                                 .help = "Throughput of the baseline that the point divides by.",
                                 .is_baseline = true});
    expo_begin(&w->e, EXPO_GAUGE, "benchd_point_trials_succeeded",
               "Trials from which the figures of a point are computed.");
    for (size_t i = 0; i < w->n_runs; i++) {
        const struct run_gauges *of = w->runs[i].figures;
        for (size_t k = 0; of != NULL && k < of->n_points; k++) {
            put_point(&w->e, w->runs[i].run, &of->points[k], of->points[k].n_succeeded);
        }
    }
}

/* --- Their nodes ----------------------------------------------------------------------------- */

/* Does what GAUGE_OF_RUNS does, with a sample of each node. */
#define GAUGE_OF_NODES(w, node, metric, help, value)                                               \
    do {                                                                                           \
        expo_begin(&(w)->e, EXPO_GAUGE, metric, help);                                             \
        for (size_t i_ = 0; i_ < (w)->n_runs; i_++) {                                              \
            for (size_t k_ = 0; k_ < (w)->n_nodes[i_]; k_++) {                                     \
                const struct node_figures *node = &(w)->runs[i_].figures->nodes[k_];               \
                put_node(&(w)->e, (w)->runs[i_].run->name, node->name, value);                     \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static void put_node(struct expo *e, const char *run, const char *node, double value)
{
    const struct expo_label labels[] = {{"run", run}, {"node", node}};
    expo_sample(e, labels, COUNT_OF(labels), value);
}

static void put_each_node(struct writing *w)
{
    GAUGE_OF_NODES(w, node, "benchd_node_replicas",
                   "Replicas of succeeded trials that ran on a node.", node->n_replicas);
    GAUGE_OF_NODES(w, node, "benchd_node_points", "Points with a replica on the node.",
                   node->n_points);
    GAUGE_OF_NODES(w, node, "benchd_node_slower_points",
                   "Points at which the node's replicas were slower than others by 5% or more.",
                   node->n_slower);
    GAUGE_OF_NODES(
        w, node, "benchd_node_excess_ratio",
        "How much more time a step the node's replicas need for their own work; 0.12 is 12%.",
        node->excess);
    GAUGE_OF_NODES(w, node, "benchd_node_throttled_ratio",
                   "Share of its replicas' measured time in which a CPU limit stopped them.",
                   node->throttled);
}

/* --- The page -------------------------------------------------------------------------------- */

void metrics_write(const struct metrics_input *in, struct buf *out)
{
    struct writing w = {.e = {.out = out}};
    take_runs(&w, in);
    put_program(&w.e, in);
    put_process(&w.e, in);
    put_runs(&w.e, in);
    put_objects(&w.e, &in->facts->counters);
    put_api(&w.e, &in->facts->kube);
    put_traffic(&w.e, &in->facts->kube);
    put_watches(&w.e, in->facts);
    put_store(&w.e, in->facts);
    put_loop(&w.e, in);
    put_each_run(&w);
    put_each_point(&w);
    put_each_node(&w);
    expo_begin(&w.e, EXPO_GAUGE, "benchd_series", "Series on this page, including this one.");
    expo_sample(&w.e, NULL, 0, (double)w.e.n_series + 1);
}
