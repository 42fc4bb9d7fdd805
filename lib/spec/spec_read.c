/* Reading a definition field by field into struct spec: form, words, ranges and defaults. The rules
 * between fields are in spec_check.c, the sweep in spec_sweep.c, systems in spec_systems.c; roles,
 * parameters and baseline in spec_roles.c. See spec_internal.h.
 *
 * Values of later versions are known by name and refused as unsupported; nothing in a definition is
 * ignored. */

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "core/metric_set.h"
#include "spec/name.h"
#include "spec/spec_internal.h"
#include "spec/spec_load.h"
#include "spec/stop_rule.h"

#define ACCURACY_AFTER_S_MAX 8640000 /* 100 days, as core/evaluations.h */
#define TEXT_MAX 1024
#define PATH_TEXT_MAX 4096
#define THRESHOLDS_MAX 16
#define REPEATS_MAX 1000
#define SEED_MAX 9007199254740991 /* 2^53 - 1: the same in every reader of JSON */
#define STEPS_MAX 1000000
#define DEADLINE_S_MAX 31536000
#define TTL_S_MAX 315360000
#define THRESHOLD_BOUND_MAX 1e12
#define EFFICIENCY_BOUND_MAX 10 /* beyond what any baseline makes of it */

static const char *const models[] = {"vgg16-fluid-fc512"};

static void read_metadata(struct diags *d, const struct place *root, struct spec *spec)
{
    /* What a person may write, and what an API server adds. */
    struct place place = place_get(root, "metadata");
    if (read_map(d, &place,
                 FIELDS("*name", "namespace", "labels", "annotations", "uid", "resourceVersion",
                        "generation", "creationTimestamp", "managedFields"))) {
        const char *name = object_name_read(d, PLACE(&place, "name"));
        spec->name = xstrdup_or_null(name);
    }
}

static void read_dataset(struct reading *r, const struct place *workload, struct workload *w)
{
    struct diags *d = r->diags;
    struct place place = place_get(workload, "dataset");
    if (!read_map(d, &place, FIELDS("*kind", "path"))) {
        return;
    }
    struct place path_place = place_get(&place, "path");
    int kind;
    const char *path = NULL;
    bool has_path = read_text(d, &path_place, PATH_TEXT_MAX, &path);
    if (!spec_read_kind(r, PLACE(&place, "kind"), spec_has_native_system(r), dataset_kind_names,
                        DATASET_COUNT, &kind, &w->dataset_other)) {
        return;
    }
    w->dataset = (enum dataset_kind)kind;
    if (kind == DATASET_SYNTHETIC) {
        if (path_place.node != NULL) {
            reader_complain_key(d, &path_place, "remove the path, or choose Cifar10 or Idx",
                                "dataset Synthetic takes no path");
        }
    } else if ((path_place.node == NULL && kind != DATASET_OTHER) ||
               (has_path && path[0] == '\0')) {
        reader_complain(d, &path_place, "add 'path: /directory/of/the/files'",
                        "dataset %s needs a path", workload_dataset_name(w));
    }
    w->dataset_path = has_path ? xstrdup(path) : NULL;
}

static void read_link(struct reading *r, const struct place *workload)
{
    struct link *link = &r->spec->workload.link;
    const struct place place = place_get(workload, "link");
    if (!read_map(r->diags, &place, FIELDS("*rate", "delay"))) {
        return;
    }
    const struct place rate = place_get(&place, "rate"), delay = place_get(&place, "delay");
    const char *text;
    if (read_text(r->diags, &rate, TEXT_MAX, &text) &&
        link_parse_rate(text, &link->bits_per_s) < 0) {
        reader_complain(r->diags, &rate, "write for example 1gbit or 100mbit",
                        "'%s' is not a rate from 1mbit to 100gbit", text);
    }
    if (read_text(r->diags, &delay, TEXT_MAX, &text) &&
        link_parse_delay(text, &link->delay_ns) < 0) {
        reader_complain(r->diags, &delay, "write for example 1ms or 250us",
                        "'%s' is not a delay of at most 1s", text);
    }
}

/* A number above 0; 0: it is absent, or wrong. */
static double read_positive(struct reading *r, const struct place *place, double max)
{
    double value = 0;
    if (read_number(r->diags, place, 0, max, &value) && !(value > 0)) {
        reader_complain(r->diags, place, NULL, "'%s' must be above 0", place->key);
    }
    return value;
}

static void read_flops(struct reading *r, const struct place *place, struct flops *f)
{
    const struct place sample = place_get(place, "perSample"), n = place_get(place, "parameters");
    if (!read_map(r->diags, place, FIELDS("perSample", "parameters", "sequence"))) {
        return;
    }
    if ((sample.node == NULL) == (n.node == NULL)) {
        reader_complain_key(r->diags, place,
                            "write {perSample: 9.3e10}, or {parameters: 8.03e9, sequence: 8192}",
                            "exactly one of perSample and parameters is required");
    }
    f->per_sample = read_positive(r, &sample, 1e24);
    f->parameters = read_positive(r, &n, 1e15);
    f->sequence = (double)read_int_or(r->diags, place, "sequence", 1, INT64_C(1) << 32, 0);
}

static void read_workload(struct reading *r)
{
    struct workload *w = &r->spec->workload;
    struct place place = place_get(&r->at, "workload");
    if (!read_map(r->diags, &place,
                  FIELDS("*model", "dataset", "batchSize", "batchScope", "threads", "seed",
                         "exchange", "compute", "trace", "link", "flops", "precision"))) {
        return;
    }
    struct place model = place_get(&place, "model");
    int known;
    if (!spec_has_native_system(r)) {
        w->model = spec_read_free_name(r->diags, &model);
    } else if (read_enum(r->diags, &model, models, COUNT_OF(models), NULL, &known)) {
        w->model = xstrdup(models[known]);
    }
    read_dataset(r, &place, w);
    struct place exchange = place_get(&place, "exchange");
    r->is_exchange_wrong =
        !spec_read_exchange(r, &exchange, spec_has_native_system(r), &w->exchange);
    w->batch_size = read_int_or(r->diags, &place, "batchSize", 1, BATCH_SIZE_MAX, 0);
    w->batch_scope =
        read_enum_or(r->diags, &place, "batchScope", batch_scope_names, BATCH_OF_WORKER);
    w->threads = read_int_or(r->diags, &place, "threads", 1, THREADS_MAX, 1);
    w->seed = (uint64_t)read_int_or(r->diags, &place, "seed", 0, SEED_MAX, 1);
    spec_read_compute(r, &place);
    read_link(r, &place);
    const struct place flops = place_get(&place, "flops");
    if (flops.node != NULL) {
        read_flops(r, &flops, &w->flops);
    }
    w->precision = read_enum_or(r->diags, &place, "precision", precision_names, PRECISION_UNKNOWN);
}

/* Tables print percent; a bound in percent would always pass, or always fail. */
static void check_ratio(struct reading *r, const struct place *place, bool is_wrong, double bound,
                        const char *why)
{
    if (is_wrong) {
        _cleanup_(freep) char *fix = xasprintf("write %g for %g%%", bound / 100, bound);
        reader_complain(r->diags, place, fix, "%s", why);
    }
}

static const char not_an_accuracy[] = "an accuracy is a ratio, 1 at most";

static struct goal read_goal(struct reading *r, const struct place *map)
{
    const struct place place = place_get(map, "accuracy"), loss = place_get(map, "loss");
    const struct node *node = place.node;
    const double value = node != NULL && node->kind == NODE_INT     ? (double)node->i
                         : node != NULL && node->kind == NODE_FLOAT ? node->f
                                                                    : 0;
    if (value > 1 && value <= 100) {
        check_ratio(r, &place, true, value, not_an_accuracy);
    } else if (read_map(r->diags, map, FIELDS("accuracy", "loss")) &&
               (place.node != NULL) == (loss.node != NULL)) {
        reader_complain_key(r->diags, node == NULL ? map : &loss,
                            node == NULL ? "for example, write 'timeToAccuracy: {accuracy: 0.8}'"
                                         : "remove one of the two",
                            "the time is that to either an accuracy or a loss");
    } else if (loss.node != NULL) {
        return (struct goal){GOAL_LOSS, read_positive(r, &loss, EVALUATION_LOSS_MAX)};
    } else if (node != NULL) {
        return (struct goal){GOAL_ACCURACY, read_positive(r, &place, 1)};
    }
    return (struct goal){0};
}

static void read_measure(struct reading *r)
{
    struct spec *spec = r->spec;
    struct place measure = place_get(&r->at, "measure");
    (void)read_map(
        r->diags, &measure,
        FIELDS("warmupSteps", "steps", "until", "unit", "timeToAccuracy", "accuracyAfterTime"));
    spec->unit = read_enum_or(r->diags, &measure, "unit", unit_names, UNIT_OF_SAMPLES);
    spec->warmup_steps = read_int_or(r->diags, &measure, "warmupSteps", 0, STEPS_MAX, 10);
    spec->steps = read_int_or(r->diags, &measure, "steps", 1, STEPS_MAX, 100);
    spec->ends_after_steps = read_enum_or(r->diags, &measure, "until", until_names, 0) != 0;
    spec->goal = read_goal(r, PLACE(&measure, "timeToAccuracy"));
    const struct place after = place_get(&measure, "accuracyAfterTime");
    (void)read_map(r->diags, &after, FIELDS("*seconds")); /* noted */
    spec->accuracy_after_s = read_positive(r, PLACE(&after, "seconds"), ACCURACY_AFTER_S_MAX);
}

/* Is there a confidence? Another than THRESHOLD_CONFIDENCE is noted. */
static bool read_confidence(struct diags *diags, const struct place *map, const char *fix)
{
    const struct place place = place_get(map, "confidence");
    double level = 0;
    if (!read_number(diags, &place, 0, 1, &level)) {
        return false;
    }
    if (level < THRESHOLD_CONFIDENCE || level > THRESHOLD_CONFIDENCE) {
        reader_complain(diags, &place, fix, "intervals are made for a confidence of 0.95 only");
    }
    return true;
}

static void read_stop_rule(struct reading *r, const struct place *place)
{
    if (!read_map(r->diags, place, FIELDS("*relativeHalfWidth", "confidence"))) {
        return;
    }
    struct stop_rule *rule = &r->spec->stop;
    struct place width = place_get(place, "relativeHalfWidth");
    if (read_number(r->diags, &width, 0, 1, &rule->half_width_ratio)) {
        rule->is_set = rule->half_width_ratio > 0;
        if (!rule->is_set) {
            reader_complain(r->diags, &width, "for example, write 0.02 for 2%",
                            "no number of trials makes an interval without a width");
        }
    }
    (void)read_confidence(r->diags, place, "write 0.95, or remove it"); /* there is one level */
}

/* Both or none of max and stopWhen; and the first stage must give an interval. */
static void check_range(struct reading *r, const struct place *repeats)
{
    struct spec *spec = r->spec;
    struct place min = place_get(repeats, "min");
    struct place max = place_get(repeats, "max");
    struct place stop = place_get(repeats, "stopWhen");
    if (max.node == NULL && stop.node == NULL) {
        return;
    }
    if (stop.node == NULL) {
        reader_complain_key(r->diags, &max,
                            "add 'stopWhen: {relativeHalfWidth: 0.02}', or remove max",
                            "max without stopWhen: nothing says when a point may stop earlier");
    } else if (max.node == NULL) {
        reader_complain_key(r->diags, &stop, "for example, add 'max: 10' to repeats",
                            "stopWhen without max: nothing says when to give up");
    } else if (spec->min_repeats > spec->repeats) {
        _cleanup_(freep) char *fix =
            min.node == NULL ? xasprintf("add 'min: %d', or raise max", STOP_RULE_MIN_TRIALS)
                             : xasprintf("swap them, or raise max");
        reader_complain(r->diags, min.node == NULL ? &max : &min, fix,
                        "min (%lld%s) is above max (%lld)", (long long)spec->min_repeats,
                        min.node == NULL ? ", the default" : "", (long long)spec->repeats);
    } else if (spec->min_repeats < STOP_RULE_MIN_TRIALS && spec->min_repeats < spec->repeats) {
        reader_complain(r->diags, &min, "write 3 or more",
                        "stopWhen needs the interval of the first min trials, and %lld have none",
                        (long long)spec->min_repeats);
    }
}

static void read_repeats(struct reading *r)
{
    struct spec *spec = r->spec;
    struct place repeats = place_get(&r->at, "repeats");
    const bool is_map =
        read_map(r->diags, &repeats, FIELDS("min", "max", "stopWhen", "order")); /* noted */
    spec->min_repeats = read_int_or(r->diags, &repeats, "min", 1, REPEATS_MAX, REPEATS_DEFAULT);
    spec->repeats = read_int_or(r->diags, &repeats, "max", 1, REPEATS_MAX, spec->min_repeats);
    spec->order = read_enum_or(r->diags, &repeats, "order", order_kind_names, ORDER_INTERLEAVED);
    if (is_map) {
        struct place stop = place_get(&repeats, "stopWhen");
        read_stop_rule(r, &stop);
        check_range(r, &repeats);
    }
    /* As many at least as at most: nothing can stop. So `--repeats` means what it says. */
    spec->stop.is_set = spec->stop.is_set && spec->min_repeats < spec->repeats;
}

/* Of a metric that is not measured nothing would ever be known. A wrong field of
 * measure has its own error. */
static void check_is_measured(struct reading *r, const struct place *threshold, enum metric metric)
{
    const bool is_time = metric == METRIC_TIME_TO_ACCURACY;
    if (!is_time && metric != METRIC_ACCURACY_AFTER_TIME) {
        return;
    }
    struct place measure = place_get(&r->at, "measure");
    if (place_get(&measure, is_time ? "timeToAccuracy" : "accuracyAfterTime").node == NULL) {
        reader_complain(r->diags, PLACE(threshold, "metric"),
                        is_time ? "for example, add 'timeToAccuracy: {accuracy: 0.8}' to measure"
                                : "for example, add 'accuracyAfterTime: {seconds: 600}' to measure",
                        "spec.measure does not say %s",
                        is_time ? "which accuracy" : "after which time");
    }
}

static void read_threshold(struct reading *r, const struct place *place, struct threshold *t)
{
    if (!read_map(r->diags, place, FIELDS("*metric", "where", "min", "max", "confidence"))) {
        return;
    }
    t->metric = read_enum_or(r->diags, place, "metric", metric_names, METRIC_THROUGHPUT);
    struct place where = place_get(place, "where");
    if (where.node != NULL) {
        spec_read_params(r, &where, &t->where);
    }
    struct place min = place_get(place, "min");
    struct place max = place_get(place, "max");
    t->has_min = read_number(r->diags, &min, 0, THRESHOLD_BOUND_MAX, &t->min);
    t->has_max = read_number(r->diags, &max, 0, THRESHOLD_BOUND_MAX, &t->max);
    t->judges_interval =
        read_confidence(r->diags, place, "write 0.95, or remove it to judge the value alone");
    check_is_measured(r, place, t->metric);
    if (t->metric == METRIC_EFFICIENCY || t->metric == METRIC_ACCURACY_AFTER_TIME) {
        const bool is_accuracy = t->metric == METRIC_ACCURACY_AFTER_TIME;
        const double most = is_accuracy ? 1 : EFFICIENCY_BOUND_MAX;
        const char *why =
            is_accuracy ? not_an_accuracy : "efficiency is a ratio; 1 is linear speedup";
        check_ratio(r, &min, t->has_min && t->min > most, t->min, why);
        check_ratio(r, &max, t->has_max && t->max > most, t->max, why);
    }
    if (min.node == NULL && max.node == NULL) {
        reader_complain(r->diags, place, "for example, add 'min: 0.9'",
                        "a threshold needs min or max");
    } else if (t->has_min && t->has_max && t->min > t->max) {
        reader_complain(r->diags, &min, "swap them", "min is above max");
    }
}

static void read_thresholds(struct reading *r)
{
    read_items (item, r->diags, &r->at, "thresholds", THRESHOLDS_MAX) {
        struct threshold *threshold = vec_push(&r->spec->thresholds);
        *threshold = (struct threshold){0};
        read_threshold(r, &item, threshold);
    }
}

static void read_metric(struct reading *r, const struct place *place)
{
    struct spec *spec = r->spec;
    const struct place name_place = place_get(place, "name"), text = place_get(place, "query");
    const char *name = NULL, *query = NULL;
    if (!read_map(r->diags, place, FIELDS("*name", "*query")) ||
        !read_text(r->diags, &name_place, TEXT_MAX, &name) ||
        !read_text(r->diags, &text, PATH_TEXT_MAX, &query)) {
        return;
    }
    if (!metric_name_is_valid(name)) {
        reader_complain(r->diags, &name_place, "for example, write sm_active_ratio",
                        "'%s' is not 1 to %d of a-z, 0-9 and '_'", name, METRIC_NAME_MAX);
    } else if (str_is_one_of(name, metric_names_made)) {
        reader_complain(r->diags, &name_place, "use another one", "benchd makes '%s' itself", name);
    } else if (vec_any(&spec->metrics, it, str_eq(it->name, name))) {
        reader_complain(r->diags, &name_place, "remove one", "duplicate metric '%s'", name);
    } else if (strstr(query, METRIC_WINDOW) == NULL) {
        reader_complain(
            r->diags, &text, "for example, write avg(avg_over_time(NAME[" METRIC_WINDOW "]))",
            "without " METRIC_WINDOW " it reads samples from before the measured steps");
    } else {
        *vec_push(&spec->metrics) = (struct metric_query){xstrdup(name), xstrdup(query)};
    }
}

static void read_policies(struct reading *r)
{
    struct spec *spec = r->spec;
    struct place failure = place_get(&r->at, "failurePolicy");
    (void)read_map(r->diags, &failure, FIELDS("onTrialFailure", "maxFailedTrials")); /* noted */
    spec->failure_policy.on_trial_failure = read_enum_or(r->diags, &failure, "onTrialFailure",
                                                         on_trial_failure_names, ON_FAILURE_RETRY);
    spec->failure_policy.max_failed_trials =
        read_int_or(r->diags, &failure, "maxFailedTrials", 0, 1000000, 3);
    struct place run = place_get(&r->at, "runPolicy");
    (void)read_map(r->diags, &run,
                   FIELDS("activeDeadlineSeconds", "backoffLimit", "invalidRepeats",
                          "trialTimeoutSeconds", "stallSeconds", "ttlSecondsAfterFinished",
                          "cleanPodPolicy")); /* noted */
    spec->run_policy.active_deadline_s =
        read_int_or(r->diags, &run, "activeDeadlineSeconds", 1, DEADLINE_S_MAX, 3600);
    spec->run_policy.backoff_limit = read_int_or(r->diags, &run, "backoffLimit", 0, 100, 3);
    spec->run_policy.invalid_repeats = read_int_or(r->diags, &run, "invalidRepeats", 0, 1000, 0);
    spec->run_policy.trial_timeout_s =
        read_int_or(r->diags, &run, "trialTimeoutSeconds", 1, DEADLINE_S_MAX, 0);
    spec->run_policy.stall_s = read_int_or(r->diags, &run, "stallSeconds", 1, DEADLINE_S_MAX, 0);
    spec->run_policy.ttl_s =
        read_int_or(r->diags, &run, "ttlSecondsAfterFinished", 0, TTL_S_MAX, -1);
    spec->run_policy.clean_pod_policy =
        read_enum_or(r->diags, &run, "cleanPodPolicy", clean_pod_policy_names, CLEAN_ON_SUCCESS);
    spec->addressing =
        read_enum_or(r->diags, &r->at, "addressing", addressing_names, ADDRESSING_AUTO);
}

/* A field that has one possible value. */
static void check_constant(struct diags *d, const struct place *root, const char *key,
                           const char *value)
{
    int known;
    (void)read_enum(d, PLACE(root, key), &value, 1, NULL, &known); /* noted */
}

void spec_read(const struct node *root, const struct spec_overrides *overrides, struct spec *spec,
               struct diags *diags)
{
    struct place document = place_root(root);
    if (!read_map(diags, &document, FIELDS("*apiVersion", "*kind", "*metadata", "*spec"))) {
        return;
    }
    check_constant(diags, &document, "apiVersion", "benchd.io/v1alpha1");
    check_constant(diags, &document, "kind", "Benchmark");
    read_metadata(diags, &document, spec);
    struct reading r = {.diags = diags,
                        .at = place_get(&document, "spec"),
                        .spec = spec,
                        .profiles = overrides->profiles,
                        .is_new = overrides->is_new || overrides->profiles != NULL};
    if (!read_map(diags, &r.at,
                  FIELDS("description", "*systems", "*workload", "*sweep", "parameters", "baseline",
                         "*roles", "measure", "repeats", "thresholds", "metrics", "failurePolicy",
                         "runPolicy", "local", "addressing"))) {
        return;
    }
    spec->description = xstrdup(read_text_or(diags, &r.at, "description", TEXT_MAX, ""));
    spec_read_systems(&r);
    read_workload(&r);
    spec_read_system_exchanges(&r);
    spec_read_parameters(&r); /* before whatever names them */
    spec_read_sweep(&r);
    spec_read_baseline(&r);
    spec_read_roles(&r);
    read_measure(&r);
    read_repeats(&r);
    read_thresholds(&r);
    read_items (item, diags, &r.at, "metrics", METRICS_ASKED_MAX) {
        read_metric(&r, &item);
    }
    read_policies(&r);
    spec_check(&r);
}
