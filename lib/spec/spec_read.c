/* Reading a definition field by field into struct spec: form, words, ranges and defaults. The rules
 * between fields are in spec_check.c, the sweep in spec_sweep.c, systems in spec_systems.c; roles,
 * parameters and baseline in spec_roles.c. See spec_internal.h.
 *
 * Values of later versions are known by name and refused as unsupported; nothing in a definition is
 * ignored. */

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/metric_set.h"
#include "doc/openapi_check.h"
#include "spec/profile.h"
#include "spec/schemas.h"
#include "spec/spec_internal.h"
#include "spec/spec_load.h"
#include "spec/stop_rule.h"

#define EFFICIENCY_BOUND_MAX 10 /* beyond what any baseline makes of it */

static const char *const models[] = {"vgg16-fluid-fc512"};

static void read_dataset(struct reading *r, const struct place *workload, struct workload *w)
{
    const struct place place = place_get(workload, "dataset"), path = place_get(&place, "path");
    int kind;
    if (!place_is_good(&place) ||
        !spec_read_kind(r, PLACE(&place, "kind"), spec_has_profile(r->spec, PROFILE_NATIVE),
                        dataset_kind_names, DATASET_COUNT, &kind, &w->dataset_other)) {
        return;
    }
    w->dataset = (enum dataset_kind)kind;
    if (kind == DATASET_SYNTHETIC) {
        if (path.node != NULL) {
            reader_complain_key(r->diags, &path, "remove the path, or choose CIFAR10 or IDX",
                                "dataset Synthetic takes no path");
        }
    } else if (path.node == NULL && kind != DATASET_OTHER) {
        reader_complain(r->diags, &path, "add 'path: /directory/of/the/files'",
                        "dataset %s needs a path", workload_dataset_name(w));
    }
    w->dataset_path = xstrdup_or_null(place_text(&place, "path"));
}

static void read_link(struct reading *r, const struct place *workload)
{
    struct link *link = &r->spec->workload.link;
    const struct place place = place_get(workload, "link");
    const char *rate = place_text(&place, "rate"), *delay = place_text(&place, "delay");
    if (rate != NULL && link_parse_rate(rate, &link->bits_per_s) < 0) {
        reader_complain(r->diags, PLACE(&place, "rate"), "write for example 1gbit or 100mbit",
                        "'%s' is not a rate from 1mbit to 100gbit", rate);
    }
    if (delay != NULL && link_parse_delay(delay, &link->delay_ns) < 0) {
        reader_complain(r->diags, PLACE(&place, "delay"), "write for example 1ms or 250us",
                        "'%s' is not a delay of at most 1s", delay);
    }
}

static void read_workload(struct reading *r)
{
    struct workload *w = &r->spec->workload;
    const struct place place = place_get(&r->at, "workload"), model = place_get(&place, "model"),
                       exchange = place_get(&place, "exchange"), flops = place_get(&place, "flops");
    if (!place_is_good(&place)) {
        return;
    }
    const bool is_native = spec_has_profile(r->spec, PROFILE_NATIVE);
    if (place_is_good(&model) &&
        (is_native ? schema_check_word(r->diags, &model, models, COUNT_OF(models)) >= 0
                   : schema_check_value(r->diags, &model))) {
        w->model = xstrdup(model.node->s);
    }
    read_dataset(r, &place, w);
    r->is_exchange_wrong = !spec_read_exchange(r, &exchange, is_native, &w->exchange);
    w->batch_size = place_int(&place, "batchSize", 0);
    w->batch_scope = place_enum(&place, "batchScope", batch_scope_names, BATCH_OF_WORKER);
    w->threads = place_int(&place, "threads", 0);
    w->seed = (uint64_t)place_int(&place, "seed", 0);
    spec_read_compute(r, &place);
    read_link(r, &place);
    w->flops = (struct flops){(double)place_int(&flops, "perSample", 0),
                              (double)place_int(&flops, "parameters", 0),
                              (double)place_int(&flops, "sequence", 0)};
    w->precision = place_enum(&place, "precision", precision_names, PRECISION_UNKNOWN);
}

/* Tables print percent; a bound in percent would always pass, or always fail. */
static void check_ratio(struct reading *r, const struct place *place, bool is_wrong, double bound,
                        const char *why)
{
    if (is_wrong) {
        _cleanup_(freep) char *fix =
            bound <= 100 ? xasprintf("write \"%g\" for %g%%", bound / 100, bound) : NULL;
        reader_complain(r->diags, place, fix, "%s", why);
    }
}

static struct goal read_goal(const struct place *map)
{
    if (!place_is_good(map)) {
        return (struct goal){0};
    }
    return tree_get(map->node, "loss") != NULL
               ? (struct goal){GOAL_LOSS, place_number(map, "loss", 0)}
               : (struct goal){GOAL_ACCURACY, place_number(map, "accuracy", 0)};
}

static void read_measure(struct reading *r)
{
    struct spec *spec = r->spec;
    const struct place measure = place_get(&r->at, "measure");
    spec->unit = place_enum(&measure, "unit", unit_names, UNIT_OF_SAMPLES);
    spec->warmup_steps = place_int(&measure, "warmupSteps", 0);
    spec->steps = place_int(&measure, "steps", 0);
    spec->ends_after_steps = place_enum(&measure, "until", until_names, 0) != 0;
    spec->goal = read_goal(PLACE(&measure, "timeToAccuracy"));
    spec->accuracy_after_s = (double)place_int(PLACE(&measure, "accuracyAfterTime"), "seconds", 0);
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
                            "add 'stopWhen: {relativeHalfWidth: \"0.02\"}', or remove max",
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
    const struct place repeats = place_get(&r->at, "repeats"),
                       stop = place_get(&repeats, "stopWhen");
    spec->min_repeats = place_int(&repeats, "min", 0);
    spec->repeats = place_int(&repeats, "max", spec->min_repeats);
    spec->order = place_enum(&repeats, "order", order_kind_names, ORDER_INTERLEAVED);
    spec->stop.half_width_ratio = place_number(&stop, "relativeHalfWidth", 0);
    if (place_is_good(&repeats)) {
        check_range(r, &repeats);
    }
    /* As many at least as at most: nothing can stop. So `--repeats` means what it says. */
    spec->stop.is_set = spec->stop.half_width_ratio > 0 && spec->min_repeats < spec->repeats;
}

/* Of a metric that is not measured nothing would ever be known. A wrong field of
 * measure has its own error. */
static void check_is_measured(struct reading *r, const struct place *threshold,
                              enum figure_id metric)
{
    const bool is_time = metric == FIGURE_TIME_TO_ACCURACY || metric == FIGURE_TIME_SPEEDUP ||
                         metric == FIGURE_TIME_EFFICIENCY;
    if (!is_time && metric != FIGURE_ACCURACY_AFTER_TIME) {
        return;
    }
    struct place measure = place_get(&r->at, "measure");
    if (place_get(&measure, is_time ? "timeToAccuracy" : "accuracyAfterTime").node == NULL) {
        reader_complain(
            r->diags, PLACE(threshold, "metric"),
            is_time ? "for example, add 'timeToAccuracy: {accuracy: \"0.8\"}' to measure"
                    : "for example, add 'accuracyAfterTime: {seconds: 600}' to measure",
            "spec.measure does not say %s", is_time ? "which accuracy" : "after which time");
    }
}

#define IS_RATIO(id, form, ...) [FIGURE_##id] = IS_##form,
enum { IS_NUMBER, IS_PERCENT };
static const bool is_ratio[N_FIGURES_KEYED] = {FIGURES_KEYED(IS_RATIO)};

static void read_threshold(struct reading *r, const struct place *place, struct threshold *t)
{
    const struct place where = place_get(place, "where"), min = place_get(place, "min"),
                       max = place_get(place, "max"), metric_place = place_get(place, "metric");
    if (!place_is_good(place)) {
        return;
    }
    const int metric =
        place_is_good(&metric_place)
            ? schema_check_word(r->diags, &metric_place, metric_names, COUNT_OF(metric_names))
            : -1;
    t->metric = metric < 0 ? FIGURE_THROUGHPUT : metric;
    spec_read_params(r, &where, &t->where);
    t->has_min = place_is_good(&min);
    t->has_max = place_is_good(&max);
    t->min = place_number(place, "min", 0);
    t->max = place_number(place, "max", 0);
    t->judges_interval = place_enum(place, "evaluate", evaluate_names, 0) != 0;
    check_is_measured(r, place, t->metric);
    if (is_ratio[t->metric]) {
        const bool is_accuracy = t->metric == FIGURE_ACCURACY_AFTER_TIME;
        const double most = is_accuracy ? 1 : EFFICIENCY_BOUND_MAX;
        const char *why =
            is_accuracy ? "an accuracy is a ratio, 1 at most" : "it is a ratio; 1 is 100%";
        check_ratio(r, &min, t->has_min && t->min > most, t->min, why);
        check_ratio(r, &max, t->has_max && t->max > most, t->max, why);
    }
    if (t->has_min && t->has_max && t->min > t->max) {
        reader_complain(r->diags, &min, "swap them", "min is above max");
    }
}

static void read_metric(struct reading *r, const struct place *place)
{
    struct spec *spec = r->spec;
    const char *name = place_text(place, "name"), *query = place_text(place, "query");
    const struct place name_place = place_get(place, "name");
    if (name == NULL || query == NULL) {
        return;
    }
    if (str_is_one_of(name, metric_names_made)) {
        reader_complain(r->diags, &name_place, "use another one", "benchd makes '%s' itself", name);
    } else if (strstr(query, METRIC_WINDOW) == NULL) {
        reader_complain(r->diags, PLACE(place, "query"),
                        "for example, write avg(avg_over_time(NAME[" METRIC_WINDOW "]))",
                        "without " METRIC_WINDOW
                        " it reads samples from before the measured steps");
    } else {
        *vec_push(&spec->metrics) = (struct metric_query){xstrdup(name), xstrdup(query)};
    }
}

static void read_policies(struct reading *r)
{
    struct run_policy *run = &r->spec->run_policy;
    struct failure_policy *failure = &r->spec->failure_policy;
    struct place place = place_get(&r->at, "failurePolicy");
    failure->on_trial_failure =
        place_enum(&place, "onTrialFailure", on_trial_failure_names, ON_FAILURE_RETRY);
    failure->max_failed_trials = place_int(&place, "maxFailedTrials", 0);
    place = place_get(&r->at, "runPolicy");
    run->active_deadline_s = place_int(&place, "activeDeadlineSeconds", 0);
    run->backoff_limit = place_int(&place, "backoffLimit", 0);
    run->invalid_repeats = place_int(&place, "invalidRepeats", 0);
    run->trial_timeout_s = place_int(&place, "trialTimeoutSeconds", 0);
    run->stall_s = place_int(&place, "stallSeconds", 0);
    run->ttl_s = place_int(&place, "ttlSecondsAfterFinished", -1);
    run->clean_pod_policy =
        place_enum(&place, "cleanPodPolicy", clean_pod_policy_names, CLEAN_ON_SUCCESS);
    r->spec->addressing = place_enum(&r->at, "addressing", addressing_names, ADDRESSING_AUTO);
}

void spec_read(struct node *root, const struct spec_overrides *overrides, struct spec *spec,
               struct diags *diags)
{
    const struct place document = place_root(root, schema_document());
    struct reading r = {.diags = diags,
                        .at = place_get(&document, "spec"),
                        .spec = spec,
                        .profiles = overrides->profiles,
                        .is_new = overrides->is_new || overrides->profiles != NULL};
    schema_check(diags, &document);
    spec->name = xstrdup_or_null(place_text(PLACE(&document, "metadata"), "name"));
    if (!place_is_good(&r.at)) {
        return;
    }
    const char *description = place_text(&r.at, "description");
    spec->description = xstrdup(description == NULL ? "" : description);
    spec_read_systems(&r);
    read_workload(&r);
    spec_read_system_exchanges(&r);
    spec_read_parameters(&r); /* before whatever names them */
    spec_read_sweep(&r);
    spec_read_baseline(&r);
    spec_read_roles(&r);
    read_measure(&r);
    read_repeats(&r);
    place_items (item, &r.at, "thresholds") {
        struct threshold *threshold = vec_push(&r.spec->thresholds);
        *threshold = (struct threshold){0};
        read_threshold(&r, &item, threshold);
    }
    place_items (item, &r.at, "metrics") {
        read_metric(&r, &item);
    }
    read_policies(&r);
    spec_check(&r);
}
