/* Reading a definition field by field into struct spec: form, words, ranges and defaults. The rules
 * between fields are in spec_check.c, the sweep in spec_sweep.c. See spec_parts.h.
 *
 * Fields and values of later versions are known by name and refused as such: a definition never
 * means less than it says. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/spec_names.h"
#include "core/spec_parts.h"

#define TEXT_MAX 1024
#define PATH_TEXT_MAX 4096
#define SYSTEMS_MAX 16
#define PARAMETERS_MAX 32
#define THRESHOLDS_MAX 16
#define SEED_MAX 9007199254740991 /* 2^53 - 1: the same in every reader of JSON */
#define DEADLINE_S_MAX 31536000
#define THRESHOLD_BOUND_MAX 1e12

static const char *const models[] = {"vgg16-fluid-fc512"};
static const char *const profiles[] = {"benchworker"};

static bool read_list_up_to(struct diags *d, const struct place *place, size_t max)
{
    if (!read_list(d, place)) {
        return false;
    }
    if (place->node->n_children > max) {
        reader_complain(d, place, NULL, "more than %zu items", max);
        return false;
    }
    return true;
}

/* An optional whole number with the value it has when left out. */
static int64_t read_int_or(struct diags *d, const struct place *map, const char *key, int64_t min,
                           int64_t max, int64_t fallback)
{
    struct place place = place_get(map, key);
    int64_t value = fallback;
    (void)read_int(d, &place, min, max, &value); /* noted; the fallback serves further checks */
    return value;
}

static int read_enum_or(struct diags *d, const struct place *map, const char *key,
                        const char *const *names, size_t n, const char *const *unsupported,
                        int fallback)
{
    struct place place = place_get(map, key);
    int value = fallback;
    (void)read_enum(d, &place, names, n, unsupported, &value); /* as above */
    return value;
}

/* A name of ours; noted when it is not. NULL: absent or wrong. */
static const char *read_object_name(struct diags *d, const struct place *map)
{
    struct place place = place_get(map, "name");
    const char *name;
    if (!read_text(d, &place, PATH_TEXT_MAX, &name)) {
        return NULL;
    }
    if (!is_object_name(name)) {
        reader_complain(d, &place,
                        "1 to 32 of a-z, 0-9 and '-'; begin with a letter, do not end with '-'",
                        "'%s' is not a valid name", name);
        return NULL;
    }
    return name;
}

static void read_metadata(struct diags *d, const struct place *root, struct spec *spec)
{
    /* What a person may write, and what an API server adds. */
    static const struct field fields[] = {
        {"name", FIELD_REQUIRED},        {"namespace", FIELD_OPTIONAL},
        {"labels", FIELD_OPTIONAL},      {"annotations", FIELD_OPTIONAL},
        {"uid", FIELD_OPTIONAL},         {"resourceVersion", FIELD_OPTIONAL},
        {"generation", FIELD_OPTIONAL},  {"creationTimestamp", FIELD_OPTIONAL},
        {"managedFields", FIELD_OPTIONAL},
    };
    struct place place = place_get(root, "metadata");
    if (read_map(d, &place, fields, COUNT_OF(fields))) {
        const char *name = read_object_name(d, &place);
        spec->name = name == NULL ? NULL : xstrdup(name);
    }
}

static void read_systems(struct reading *r)
{
    static const struct field fields[] = {{"name", FIELD_REQUIRED}, {"profile", FIELD_REQUIRED}};
    struct place list = place_get(&r->at, "systems");
    if (!read_list_up_to(r->diags, &list, SYSTEMS_MAX)) {
        return;
    }
    for (size_t i = 0; i < list.node->n_children; i++) {
        struct place item = place_item(&list, i);
        if (!read_map(r->diags, &item, fields, COUNT_OF(fields))) {
            continue;
        }
        const char *name = read_object_name(r->diags, &item);
        struct place profile = place_get(&item, "profile");
        int known = 0;
        (void)read_enum(r->diags, &profile, profiles, COUNT_OF(profiles), NULL, &known);
        if (name == NULL) {
            continue;
        }
        vec_each (const struct system, it, &r->spec->systems) {
            if (str_eq(it->name, name)) {
                struct place at = place_get(&item, "name");
                reader_complain(r->diags, &at, "give each system its own name",
                                "a system '%s' is there already", name);
            }
        }
        *vec_push(&r->spec->systems) =
            (struct system){.name = xstrdup(name), .profile = xstrdup(profiles[known])};
    }
}

static void read_dataset(struct diags *d, const struct place *workload, struct workload *w)
{
    static const struct field fields[] = {{"kind", FIELD_REQUIRED}, {"path", FIELD_OPTIONAL}};
    struct place place = place_get(workload, "dataset");
    if (!read_map(d, &place, fields, COUNT_OF(fields))) {
        return;
    }
    struct place kind_place = place_get(&place, "kind");
    struct place path_place = place_get(&place, "path");
    int kind;
    const char *path = NULL;
    bool has_path = read_text(d, &path_place, PATH_TEXT_MAX, &path);
    if (!read_enum(d, &kind_place, dataset_kind_names, COUNT_OF(dataset_kind_names), NULL,
                   &kind)) {
        return;
    }
    w->dataset = (enum dataset_kind)kind;
    if (kind == DATASET_SYNTHETIC) {
        if (path_place.node != NULL) {
            reader_complain_key(d, &path_place, "remove the path, or choose Cifar10 or Idx",
                                "the dataset Synthetic has no path");
        }
    } else if (path_place.node == NULL || (has_path && path[0] == '\0')) {
        reader_complain(d, &path_place, "add 'path: /folder/of/the/files'",
                        "the dataset %s needs a path", dataset_kind_names[kind]);
    }
    w->dataset_path = has_path ? xstrdup(path) : NULL;
}

static void read_exchange(struct diags *d, const struct place *workload, struct workload *w)
{
    static const struct field fields[] = {
        {"kind", FIELD_REQUIRED}, {"mode", FIELD_OPTIONAL}, {"wire", FIELD_OPTIONAL}};
    static const char *const kinds_later[] = {"AllReduce", NULL};
    static const char *const modes[] = {"Sync"};
    static const char *const modes_later[] = {"Async", "BoundedStaleness", NULL};
    static const char *const wires[] = {"Fp32"};
    static const char *const wires_later[] = {"Bf16", "Fp16", NULL};
    struct place place = place_get(workload, "exchange");
    w->exchange = EXCHANGE_PSERVER;
    if (!read_map(d, &place, fields, COUNT_OF(fields))) {
        return;
    }
    w->exchange = (enum exchange_kind)read_enum_or(d, &place, "kind", exchange_kind_names,
                                                   COUNT_OF(exchange_kind_names), kinds_later,
                                                   EXCHANGE_PSERVER);
    (void)read_enum_or(d, &place, "mode", modes, COUNT_OF(modes), modes_later, 0); /* checked only */
    (void)read_enum_or(d, &place, "wire", wires, COUNT_OF(wires), wires_later, 0); /* checked only */
}

static void read_workload(struct reading *r)
{
    static const struct field fields[] = {
        {"model", FIELD_REQUIRED},    {"dataset", FIELD_OPTIONAL}, {"batchSize", FIELD_OPTIONAL},
        {"threads", FIELD_OPTIONAL},  {"seed", FIELD_OPTIONAL},    {"exchange", FIELD_OPTIONAL},
        {"compute", FIELD_OPTIONAL},
    };
    static const char *const computes[] = {"Real"};
    static const char *const computes_later[] = {"Emulated", NULL};
    struct workload *w = &r->spec->workload;
    struct place place = place_get(&r->at, "workload");
    if (!read_map(r->diags, &place, fields, COUNT_OF(fields))) {
        return;
    }
    struct place model = place_get(&place, "model");
    int known;
    if (read_enum(r->diags, &model, models, COUNT_OF(models), NULL, &known)) {
        w->model = xstrdup(models[known]);
    }
    read_dataset(r->diags, &place, w);
    read_exchange(r->diags, &place, w);
    w->batch_size = read_int_or(r->diags, &place, "batchSize", 1, BATCH_SIZE_MAX, 0);
    w->threads = read_int_or(r->diags, &place, "threads", 1, THREADS_MAX, 1);
    w->seed = (uint64_t)read_int_or(r->diags, &place, "seed", 0, SEED_MAX, 1);
    (void)read_enum_or(r->diags, &place, "compute", computes, COUNT_OF(computes), computes_later,
                       0); /* checked only */
}

static void read_paths(struct reading *r, const struct place *list, struct parameter_target *target)
{
    if (!read_list_up_to(r->diags, list, 16)) {
        return;
    }
    for (size_t i = 0; i < list->node->n_children; i++) {
        struct place item = place_item(list, i);
        const char *path;
        if (!read_text(r->diags, &item, 256, &path)) {
            continue;
        }
        if (!str_has_prefix(path, "/spec/") && !str_has_prefix(path, "/metadata/")) {
            reader_complain(r->diags, &item,
                            "write a path such as /spec/containers/0/resources/requests/cpu",
                            "'%s' is not a path into a pod template: it must start with /spec/ or "
                            "/metadata/",
                            path);
            continue;
        }
        *vec_push(&target->paths) = xstrdup(path);
    }
}

static void read_target(struct reading *r, const struct place *place,
                        struct parameter_target *target)
{
    static const struct field fields[] = {{"roles", FIELD_REQUIRED}, {"paths", FIELD_REQUIRED}};
    static const char *const names[] = {"pserver", "trainer"}; /* as enum role counts */
    static const char *const later[] = {"worker", NULL};
    if (!read_map(r->diags, place, fields, COUNT_OF(fields))) {
        return;
    }
    struct place roles = place_get(place, "roles");
    if (read_list_up_to(r->diags, &roles, COUNT_OF(names))) {
        for (size_t i = 0; i < roles.node->n_children; i++) {
            struct place item = place_item(&roles, i);
            int role;
            if (read_enum(r->diags, &item, names, COUNT_OF(names), later, &role)) {
                target->roles[role] = true;
            }
        }
    }
    struct place paths = place_get(place, "paths");
    read_paths(r, &paths, target);
}

static bool check_parameter_name(struct reading *r, const struct place *place, const char *name)
{
    if (!is_sweep_name(name)) {
        reader_complain(r->diags, place, "1 to 31 of a-z, 0-9 and '_'; begin with a letter",
                        "'%s' is not a valid parameter name", name);
        return false;
    }
    if (builtin_find(name) != NULL || str_eq(name, "workers")) {
        reader_complain(r->diags, place, "remove it, or choose another name",
                        "'%s' is built in and may not be declared", name);
        return false;
    }
    if (spec_find_parameter(r->spec, name) != NULL) {
        reader_complain(r->diags, place, "declare it once, with all its targets",
                        "a parameter '%s' is there already", name);
        return false;
    }
    return true;
}

static void read_parameters(struct reading *r)
{
    static const struct field fields[] = {{"name", FIELD_REQUIRED}, {"targets", FIELD_REQUIRED}};
    struct place list = place_get(&r->at, "parameters");
    if (!read_list_up_to(r->diags, &list, PARAMETERS_MAX)) {
        return;
    }
    for (size_t i = 0; i < list.node->n_children; i++) {
        struct place item = place_item(&list, i);
        struct place name_place = place_get(&item, "name");
        const char *name;
        if (!read_map(r->diags, &item, fields, COUNT_OF(fields)) ||
            !read_text(r->diags, &name_place, 256, &name) ||
            !check_parameter_name(r, &name_place, name)) {
            continue;
        }
        struct parameter *parameter = vec_push(&r->spec->parameters);
        *parameter = (struct parameter){.name = xstrdup(name)};
        struct place targets = place_get(&item, "targets");
        if (!read_list_up_to(r->diags, &targets, 8)) {
            continue;
        }
        for (size_t k = 0; k < targets.node->n_children; k++) {
            struct place target_place = place_item(&targets, k);
            struct parameter_target *target = vec_push(&parameter->targets);
            *target = (struct parameter_target){0};
            read_target(r, &target_place, target);
        }
    }
}

static void read_baseline(struct reading *r)
{
    static const struct field fields[] = {{"kind", FIELD_REQUIRED}, {"where", FIELD_OPTIONAL}};
    struct place place = place_get(&r->at, "baseline");
    struct place where = place_get(&place, "where");
    if (!read_map(r->diags, &place, fields, COUNT_OF(fields))) {
        return;
    }
    struct baseline *b = &r->spec->baseline;
    b->kind = (enum baseline_kind)read_enum_or(r->diags, &place, "kind", baseline_kind_names,
                                               COUNT_OF(baseline_kind_names), NULL,
                                               where.node != NULL);
    if (b->kind == BASELINE_POINT && where.node == NULL) {
        reader_complain(r->diags, &where, "add 'where: {trainers: 1}', for instance",
                        "the baseline Point needs 'where'");
    } else if (b->kind == BASELINE_SINGLE_NODE && where.node != NULL) {
        reader_complain_key(r->diags, &where, "remove 'where', or write 'kind: Point'",
                            "the baseline SingleNode has no 'where'");
    } else if (where.node != NULL) {
        spec_read_params(r, &where, &b->where);
    }
}

static void read_replicas(struct reading *r, const struct place *role, struct replicas *replicas)
{
    static const struct field fields[] = {{"from", FIELD_OPTIONAL}, {"value", FIELD_OPTIONAL}};
    struct place place = place_get(role, "replicas");
    if (place.node != NULL && place.node->kind == NODE_INT) {
        _cleanup_(freep) char *fix =
            xasprintf("write replicas: {value: %lld}", (long long)place.node->i);
        reader_complain(r->diags, &place, fix, "must be a map, and is a whole number");
        return;
    }
    if (!read_map(r->diags, &place, fields, COUNT_OF(fields))) {
        return;
    }
    struct place from = place_get(&place, "from");
    struct place value = place_get(&place, "value");
    if ((from.node == NULL) == (value.node == NULL)) {
        reader_complain_key(r->diags, &place, "write {from: trainers} or {value: 1}, for instance",
                            "exactly one of from and value is needed");
        return;
    }
    const char *name;
    if (read_text(r->diags, &from, 256, &name)) {
        replicas->from = xstrdup(name);
    }
    replicas->value = read_int_or(r->diags, &place, "value", 0, REPLICAS_MAX, 1);
}

static void read_roles(struct reading *r)
{
    static const struct field fields[] = {{"pserver", FIELD_OPTIONAL},
                                          {"trainer", FIELD_REQUIRED},
                                          {"worker", FIELD_UNSUPPORTED}};
    static const struct field role_fields[] = {{"replicas", FIELD_REQUIRED},
                                               {"template", FIELD_OPTIONAL}};
    static const enum role roles[] = {ROLE_PSERVER, ROLE_TRAINER};
    struct place place = place_get(&r->at, "roles");
    if (!read_map(r->diags, &place, fields, COUNT_OF(fields))) {
        return;
    }
    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        struct role_spec *role = &r->spec->roles[roles[i]];
        struct place role_place = place_get(&place, role_to_string(roles[i]));
        if (!read_map(r->diags, &role_place, role_fields, COUNT_OF(role_fields))) {
            continue;
        }
        role->present = true;
        read_replicas(r, &role_place, &role->replicas);
        struct place template = place_get(&role_place, "template");
        if (template.node != NULL) {
            spec_check_template(r->diags, &template);
            role->template = tree_to_json(template.node);
        }
    }
}

static void read_measure(struct reading *r)
{
    static const struct field measure_fields[] = {{"warmupSteps", FIELD_OPTIONAL},
                                                  {"steps", FIELD_OPTIONAL}};
    static const struct field repeats_fields[] = {{"min", FIELD_OPTIONAL},
                                                  {"order", FIELD_OPTIONAL},
                                                  {"max", FIELD_UNSUPPORTED},
                                                  {"stopWhen", FIELD_UNSUPPORTED}};
    struct spec *spec = r->spec;
    struct place measure = place_get(&r->at, "measure");
    (void)read_map(r->diags, &measure, measure_fields, COUNT_OF(measure_fields)); /* noted */
    spec->warmup_steps = read_int_or(r->diags, &measure, "warmupSteps", 0, STEPS_MAX, 10);
    spec->steps = read_int_or(r->diags, &measure, "steps", 1, STEPS_MAX, 100);
    struct place repeats = place_get(&r->at, "repeats");
    (void)read_map(r->diags, &repeats, repeats_fields, COUNT_OF(repeats_fields)); /* noted */
    spec->repeats = read_int_or(r->diags, &repeats, "min", 1, REPEATS_MAX, 3);
    spec->order = (enum order_kind)read_enum_or(r->diags, &repeats, "order", order_kind_names,
                                                COUNT_OF(order_kind_names), NULL,
                                                ORDER_INTERLEAVED);
}

static void read_threshold(struct reading *r, const struct place *place, struct threshold *t)
{
    static const struct field fields[] = {{"metric", FIELD_REQUIRED},
                                          {"where", FIELD_OPTIONAL},
                                          {"min", FIELD_OPTIONAL},
                                          {"max", FIELD_OPTIONAL}};
    if (!read_map(r->diags, place, fields, COUNT_OF(fields))) {
        return;
    }
    t->metric = (enum metric)read_enum_or(r->diags, place, "metric", metric_names,
                                          COUNT_OF(metric_names), NULL, METRIC_THROUGHPUT);
    struct place where = place_get(place, "where");
    if (where.node != NULL) {
        spec_read_params(r, &where, &t->where);
    }
    struct place min = place_get(place, "min");
    struct place max = place_get(place, "max");
    t->has_min = read_number(r->diags, &min, 0, THRESHOLD_BOUND_MAX, &t->min);
    t->has_max = read_number(r->diags, &max, 0, THRESHOLD_BOUND_MAX, &t->max);
    if (min.node == NULL && max.node == NULL) {
        reader_complain(r->diags, place, "add 'min: 0.9', for instance",
                        "a threshold needs min or max");
    } else if (t->has_min && t->has_max && t->min > t->max) {
        reader_complain(r->diags, &min, "exchange the two", "min is above max");
    }
}

static void read_thresholds(struct reading *r)
{
    struct place list = place_get(&r->at, "thresholds");
    if (!read_list_up_to(r->diags, &list, THRESHOLDS_MAX)) {
        return;
    }
    for (size_t i = 0; i < list.node->n_children; i++) {
        struct place item = place_item(&list, i);
        struct threshold *threshold = vec_push(&r->spec->thresholds);
        *threshold = (struct threshold){0};
        read_threshold(r, &item, threshold);
    }
}

static void read_policies(struct reading *r)
{
    static const struct field failure_fields[] = {{"onTrialFailure", FIELD_OPTIONAL},
                                                  {"maxFailedTrials", FIELD_OPTIONAL}};
    static const struct field run_fields[] = {{"activeDeadlineSeconds", FIELD_OPTIONAL},
                                              {"backoffLimit", FIELD_OPTIONAL},
                                              {"ttlSecondsAfterFinished", FIELD_UNSUPPORTED},
                                              {"cleanPodPolicy", FIELD_UNSUPPORTED}};
    struct spec *spec = r->spec;
    struct place failure = place_get(&r->at, "failurePolicy");
    (void)read_map(r->diags, &failure, failure_fields, COUNT_OF(failure_fields)); /* noted */
    spec->failure_policy.on_trial_failure = (enum on_trial_failure)read_enum_or(
        r->diags, &failure, "onTrialFailure", on_trial_failure_names,
        COUNT_OF(on_trial_failure_names), NULL, ON_FAILURE_RETRY);
    spec->failure_policy.max_failed_trials =
        read_int_or(r->diags, &failure, "maxFailedTrials", 0, 1000000, 3);
    struct place run = place_get(&r->at, "runPolicy");
    (void)read_map(r->diags, &run, run_fields, COUNT_OF(run_fields)); /* noted */
    spec->run_policy.active_deadline_s =
        read_int_or(r->diags, &run, "activeDeadlineSeconds", 1, DEADLINE_S_MAX, 3600);
    spec->run_policy.backoff_limit = read_int_or(r->diags, &run, "backoffLimit", 0, 100, 3);
}

/* A field that has one possible value. */
static void check_constant(struct diags *d, const struct place *root, const char *key,
                           const char *value)
{
    struct place place = place_get(root, key);
    int known;
    (void)read_enum(d, &place, &value, 1, NULL, &known); /* noted */
}

void spec_read(const struct node *root, struct spec *spec, struct diags *diags)
{
    static const struct field root_fields[] = {{"apiVersion", FIELD_REQUIRED},
                                               {"kind", FIELD_REQUIRED},
                                               {"metadata", FIELD_REQUIRED},
                                               {"spec", FIELD_REQUIRED},
                                               {"suspend", FIELD_UNSUPPORTED},
                                               {"cancel", FIELD_UNSUPPORTED}};
    static const struct field spec_fields[] = {
        {"description", FIELD_OPTIONAL}, {"systems", FIELD_REQUIRED},
        {"workload", FIELD_REQUIRED},    {"sweep", FIELD_REQUIRED},
        {"parameters", FIELD_OPTIONAL},  {"baseline", FIELD_OPTIONAL},
        {"roles", FIELD_REQUIRED},       {"measure", FIELD_OPTIONAL},
        {"repeats", FIELD_OPTIONAL},     {"thresholds", FIELD_OPTIONAL},
        {"failurePolicy", FIELD_OPTIONAL}, {"runPolicy", FIELD_OPTIONAL},
        {"local", FIELD_OPTIONAL},       {"addressing", FIELD_UNSUPPORTED},
        {"suspend", FIELD_UNSUPPORTED},  {"cancel", FIELD_UNSUPPORTED},
    };
    struct place document = place_root(root);
    if (!read_map(diags, &document, root_fields, COUNT_OF(root_fields))) {
        return;
    }
    check_constant(diags, &document, "apiVersion", "benchd.io/v1alpha1");
    check_constant(diags, &document, "kind", "Benchmark");
    read_metadata(diags, &document, spec);
    struct reading r = {.diags = diags, .at = place_get(&document, "spec"), .spec = spec};
    if (!read_map(diags, &r.at, spec_fields, COUNT_OF(spec_fields))) {
        return;
    }
    struct place description = place_get(&r.at, "description");
    const char *text = "";
    (void)read_text(diags, &description, TEXT_MAX, &text); /* noted */
    spec->description = xstrdup(text);
    read_systems(&r);
    read_workload(&r);
    read_parameters(&r); /* before whatever names them */
    spec_read_sweep(&r);
    read_baseline(&r);
    read_roles(&r);
    read_measure(&r);
    read_thresholds(&r);
    read_policies(&r);
    spec_check(&r);
}
