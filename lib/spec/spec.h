/* A Benchmark definition as structs, with every default filled in. spec_load.h reads one from text.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/texts.h"
#include "core/evaluations.h"
#include "core/exchange_kind.h"
#include "core/link.h"
#include "core/replica.h"
#include "spec/figures.h"
#include "spec/rendezvous.h"
#include "spec/value.h"

struct axis {
    char *name;
    VEC(struct value) values;
};

enum sweep_kind { SWEEP_GRID, SWEEP_POINTS };
struct sweep {
    enum sweep_kind kind;
    VEC(struct axis) axes;     /* grid: sorted by name */
    VEC(struct params) points; /* points */
    VEC(struct params) exclude;
    VEC(char *) require; /* expressions (expression.c); points that fail one are left out */
};

/* How gradients are exchanged. */
struct exchange {
    enum exchange_kind kind;
    char *other;                       /* its name where it is EXCHANGE_OTHER, else NULL */
    enum exchange_wire wire;           /* FP32 unless `kind` is EXCHANGE_PSERVER */
    struct exchange_mode mode;         /* Sync after each step unless it is */
    enum exchange_transport transport; /* Auto unless `kind` is EXCHANGE_ALL_REDUCE or _PSERVER */
    uint32_t server_threads;           /* of each parameter server of benchworker; 0: one */
};
/* "PServer", or the name of a foreign one. `kind` is that of the exchange or of one of its points:
 * a baseline may have None. Borrowed. */
const char *exchange_name(const struct exchange *exchange, enum exchange_kind kind);
/* "", or " BF16", " Sync localSteps=4", " TCP", " NCCL", " serverThreads=2" for
 * texts that have the exchange's name: FP32, Sync after each step, Auto and one thread need not be
 * said. */
#define EXCHANGE_SUFFIX_MAX (EXCHANGE_MODE_TEXT_MAX + 48)
void exchange_suffix(const struct exchange *exchange, char ret[static EXCHANGE_SUFFIX_MAX]);

struct log_rule; /* logparse/rule.h */
struct system {
    char *name;
    char *label; /* for tables: "a (Async)" where the modes of systems differ, else the name */
    char *profile;
    size_t item;              /* of the definition's list, which may have others that are wrong */
    struct exchange exchange; /* its own, or the workload's */
    struct log_rule *log;     /* owned; NULL: its replicas write records */
    json_t *job;              /* of job_template.h, owned; NULL: benchd makes its pods, of */
    json_t *launch;           /* as the definition has it: what it runs and patches; owned */
    bool has_launcher;        /* it has a launcher, of its own or of its profile */
    struct rendezvous rendezvous;      /* its own, or its profile's */
    struct texts commands[ROLE_COUNT]; /* of a foreign profile, once the shell gave it */
};

/* OTHER: a name that only a foreign system knows. */
enum dataset_kind { DATASET_SYNTHETIC, DATASET_CIFAR10, DATASET_IDX, DATASET_OTHER };
#define DATASET_COUNT 3 /* those with a name of their own */

enum compute { COMPUTE_REAL, COMPUTE_EMULATED };
#define COMPUTE_COUNT 2
/* How long a layer of an emulated trainer takes, at the length of a step that was asked for. */
struct trace_layer {
    char *name;
    int64_t forward_ns, backward_ns;
};
struct trace {
    VEC(struct trace_layer) layers; /* empty: the trainers compute */
    double jitter_ratio;            /* standard deviation of a step's time */
};
/* "conv1_1=310000:640000,...", as docs/contracts/environment.md has it; in spec_trace.c. Owned. */
char *trace_text(const struct trace *trace);
int64_t trace_step_ns(const struct trace *trace); /* of all layers together; in spec_trace.c */
void trace_done(struct trace *trace);

/* Of the numbers that are multiplied. */
enum precision {
    PRECISION_FP32,
    PRECISION_TF32,
    PRECISION_FP16,
    PRECISION_BF16,
    PRECISION_FP8,
    PRECISION_UNKNOWN /* not said */
};
/* Floating-point operations that training needs, not those that it does again. */
struct flops {
    double per_sample; /* as given; 0: not */
    double parameters; /* N: 6 N a token (2 forward, 4 backward); 0: not given */
    double sequence;   /* tokens of a sample; 0: not given */
};

enum batch_scope { BATCH_OF_WORKER, BATCH_OF_JOB }; /* of each trainer or worker, or of all */

struct workload {
    char *model;
    enum dataset_kind dataset;
    char *dataset_other; /* its name where it is DATASET_OTHER, else NULL */
    char *dataset_path;  /* NULL: none */
    int64_t batch_size;  /* of batch_scope; 0 if it is not known */
    enum batch_scope batch_scope;
    int64_t threads; /* per trainer */
    uint64_t seed;
    enum compute compute;
    struct trace trace;
    struct link link;         /* of each replica, on one machine; a sweep value takes precedence */
    struct exchange exchange; /* of the systems without one of their own */
    struct flops flops;
    enum precision precision;
};
/* "Synthetic", or the name of a foreign one. Borrowed. */
const char *workload_dataset_name(const struct workload *workload);

struct parameter {
    char *name;
    json_t *targets; /* as the definition has them; owned; NULL: only job objects get it */
};

#define SPEC_MAX_REPLICAS 10000   /* of a role */
#define SPEC_MAX_IMPORTED 1000000 /* of a run that others made: nothing is started */
struct replicas {
    char *from; /* name of a sweep value; NULL: `value` */
    int64_t value;
};
struct role_spec {
    bool present; /* a launcher: some system has one */
    struct replicas replicas;
    struct replicas devices; /* accelerators of a replica; value 0: its template says it */
    json_t *template;        /* PodTemplateSpec, owned; NULL if absent */
};

enum baseline_kind { BASELINE_SINGLE_NODE, BASELINE_POINT };
struct baseline {
    enum baseline_kind kind;
    struct params where; /* Point only */
};

enum order_kind { ORDER_INTERLEAVED, ORDER_SEQUENTIAL };
enum on_trial_failure { ON_FAILURE_RETRY, ON_FAILURE_SKIP, ON_FAILURE_STOP };
struct threshold {
    enum figure_id metric; /* that has a key of JSON */
    struct params where;   /* a point is judged when it has all of these */
    bool has_min, has_max;
    double min, max;
    bool judges_interval; /* the whole 95% interval must be within the bounds, not only the value */
};
/* The only level there is: every interval is made for it. */
#define THRESHOLD_CONFIDENCE 0.95

/* A number that Prometheus is asked for when the measured steps of a trial are over. */
struct metric_query {
    char *name;  /* as of core/metric_set.h */
    char *query; /* PromQL; it names $(WINDOW), so that it reads samples of these steps alone */
};
#define METRIC_WINDOW "$(WINDOW)"

/* Ends the repeats of a point early (stop_rule.h). */
struct stop_rule {
    bool is_set;             /* then min_repeats < repeats */
    double half_width_ratio; /* half of the 95% interval of throughput, to its centre */
};

struct failure_policy {
    enum on_trial_failure on_trial_failure;
    int64_t max_failed_trials;
};
/* Which ended replicas stay for inspection (policy_end.h). Live ones are always deleted. */
enum clean_pod_policy { CLEAN_ALL, CLEAN_RUNNING, CLEAN_NONE, CLEAN_ON_SUCCESS };
struct run_policy {
    int64_t active_deadline_s; /* 0: none */
    int64_t backoff_limit;     /* attempts after the first, per trial */
    int64_t invalid_repeats;   /* of noisy trials, per run (core/summary.h); 0: they count */
    int64_t trial_timeout_s;   /* of an attempt, from the start of its last replica; 0: none */
    int64_t stall_s;           /* without output of whoever trains; 0: none */
    int64_t ttl_s;             /* a finished run's object goes after this time; -1: stays */
    enum clean_pod_policy clean_pod_policy;
};
/* What throughputs in samples/s are printed in: as they are, or as mini-batches of a trainer. */
enum unit { UNIT_OF_SAMPLES, UNIT_OF_BATCHES };
/* How replicas in a cluster find each other; Auto: DNS where it works, else IP. */
enum addressing { ADDRESSING_AUTO, ADDRESSING_DNS, ADDRESSING_IP };

/* Where a definition does not say: three give an interval, five let compare see 5% at one point. */
#define REPEATS_DEFAULT_LOCAL 3

struct spec {
    char *name;
    char *description; /* "" if absent */
    VEC(struct system) systems;
    struct workload workload;
    struct sweep sweep;
    VEC(struct parameter) parameters;
    struct baseline baseline;
    struct role_spec roles[ROLE_COUNT];
    int64_t warmup_steps, steps; /* steps: measured ones, warm-up comes in addition */
    bool ends_after_steps;       /* benchd ends the programs; else they end by themselves */
    enum unit unit;              /* in which throughputs are printed */
    struct goal goal;            /* the time until it is reached is a figure */
    double accuracy_after_s;     /* the accuracy at this time is a figure; 0: it is not */
    int64_t repeats;             /* trials a point; with a stop rule at most */
    int64_t min_repeats;         /* the same without one */
    struct stop_rule stop;
    enum order_kind order;
    VEC(struct threshold) thresholds;
    VEC(struct metric_query) metrics;
    struct failure_policy failure_policy;
    struct run_policy run_policy;
    enum addressing addressing;
    json_t *definition; /* the merged document, owned: what a run freezes */
};

void spec_free(struct spec *spec);
bool spec_has_profile(const struct spec *spec, const char *profile); /* some system */
/* The profile of a run whose figures were read from old logs. No profile can have the name, so such
 * a run is never started; its definition says by it what it is. */
#define PROFILE_IMPORTED "imported"
/* Were its figures read from old logs (`benchctl import`), not measured? */
bool spec_is_imported(const struct spec *spec);
/* "a exchanges by Async, b by Sync localSteps=3"; nothing where all exchange by Sync
 * after each step. */
void spec_put_modes(const struct spec *spec, struct buf *out);
bool spec_mixes_modes(const struct spec *spec);
/* Are its data known? Those of a program of somebody else only where the definition names them. */
bool spec_knows_data(const struct spec *spec);
/* Has some point links that are shaped? Only processes of one machine have. */
bool spec_shapes_links(const struct spec *spec);
/* What goes in that role before what the system has for all: an item of its `roles`. NULL: nothing.
 * Borrowed. */
const json_t *system_launch(const struct system *system, enum role role);
/* Is a target or a patch for the templates of that role? Without `roles` it is for all. */
bool is_for_role(const json_t *item, enum role role);
/* Is the text a part of some command, argument or variable of the system? */
bool system_names(const struct system *system, const char *text);
/* Have its workers no way to find each other that benchd knows of? Then several of them are
 * independent copies: nothing is exchanged, and they are no scaling of one program. */
bool system_is_copies(const struct system *system);
/* Does the system have replicas of the role? All have the same roles, but for a launcher. */
bool spec_system_has_role(const struct spec *spec, const struct system *system, enum role role);
/* A declared parameter; NULL: none, as for the built-in names. */
const struct parameter *spec_find_parameter(const struct spec *spec, const char *name);

/* The words of a definition's enums, each table indexed by its enum. */
extern const char *const sweep_kind_names[2]; /* "grid", "points" */
extern const char *const dataset_kind_names[DATASET_COUNT];
extern const char *const batch_scope_names[2];         /* "Worker", "Job" */
extern const char *const compute_names[COMPUTE_COUNT]; /* "Real", "Emulated" */
extern const char *const baseline_kind_names[2];       /* "SingleNode", "Point" */
extern const char *const order_kind_names[2];
extern const char *const on_trial_failure_names[3];
extern const char *const metric_names[N_FIGURES_KEYED]; /* "throughput", ...: keys of JSON */
extern const char *const precision_names[5];            /* "FP32", ... */
extern const char *const unit_names[2];                 /* "Samples", "Batches" */
extern const char *const until_names[2];                /* "Exit", "Steps" */
extern const char *const evaluate_names[2];             /* "Value", "Interval" */
extern const char *const clean_pod_policy_names[4];
extern const char *const addressing_names[3];

/* The names that a sweep may use without a declaration in spec.parameters. */
#define BATCH_SIZE_MAX (INT64_C(1) << 31)
#define NATIVE_BATCH_MAX 65536 /* as benchworker has it */
#define THREADS_MAX 1024

struct builtin {
    const char *name;
    int64_t min, max; /* of a number; 0 and 0: a text that core/link.h reads */
    int counts;       /* the enum role of which it is the number of replicas; -1: none */
};
#define BUILTIN_COUNT 6
extern const struct builtin builtins[BUILTIN_COUNT];
const struct builtin *builtin_find(const char *name); /* NULL: none */
