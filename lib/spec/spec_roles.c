/* Reading parameters, roles and the baseline of a definition. See spec_internal.h. */

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "spec/matrix.h"
#include "spec/job_template.h"
#include "spec/name.h"
#include "spec/spec_internal.h"
#include "spec/spec_parts.h"
#include "spec/system_template.h"

#define PARAMETERS_MAX 32
#define TARGETS_MAX 8
#define PATHS_MAX 16

/* Paths, variables and options that take the value. */
static void read_handed_on(struct reading *r, const struct place *place,
                           struct parameter_target *target)
{
    read_items (item, r->diags, place, "paths", PATHS_MAX) {
        const char *path;
        if (read_text(r->diags, &item, 256, &path) && spec_path_is_valid(r->diags, &item, path)) {
            *vec_push(&target->paths) = xstrdup(path);
        }
    }
    read_items (item, r->diags, place, "env", PATHS_MAX) {
        const char *name = spec_read_env_name(r->diags, &item);
        if (name != NULL) {
            *vec_push(&target->env) = xstrdup(name);
        }
    }
    read_items (item, r->diags, place, "args", PATHS_MAX) {
        const char *option;
        if (read_text(r->diags, &item, 256, &option)) {
            *vec_push(&target->args) = xstrdup(option);
        }
    }
}

static void read_target(struct reading *r, const struct place *place,
                        struct parameter_target *target)
{
    if (!read_map(r->diags, place, FIELDS("*roles", "paths", "env", "args"))) {
        return;
    }
    spec_read_flags(r->diags, place, "roles", role_names, ROLE_COUNT, target->roles);
    read_handed_on(r, place, target);
    if (tree_get(place->node, "paths") == NULL && tree_get(place->node, "env") == NULL &&
        tree_get(place->node, "args") == NULL) {
        reader_complain(r->diags, place, "for example, add 'env: [MODEL]' or 'args: [--model]'",
                        "a target needs paths, env or args");
    }
}

static bool check_parameter_name(struct reading *r, const struct place *place, const char *name)
{
    if (!sweep_name_is_valid(name)) {
        return reader_complain(r->diags, place,
                               "use 1 to 31 of a-z, 0-9 and '_'; start with a letter",
                               "'%s' is not a valid parameter name", name);
    }
    if (builtin_find(name) != NULL) {
        return reader_complain(r->diags, place, "remove it, or choose another name",
                               "'%s' is built in and cannot be declared", name);
    }
    if (spec_find_parameter(r->spec, name) != NULL) {
        return reader_complain(r->diags, place, "declare it once, with all its targets",
                               "duplicate parameter '%s'", name);
    }
    return true;
}

/* Job objects get it by job.set, and have no other targets. */
static bool is_set_by_jobs(const struct spec *spec, const char *name)
{
    return vec_any(&spec->systems, s, s->job != NULL && job_takes(spec, s->job, name));
}

void spec_read_parameters(struct reading *r)
{
    read_items (item, r->diags, &r->at, "parameters", PARAMETERS_MAX) {
        struct place name_place = place_get(&item, "name");
        const char *name;
        if (!read_map(r->diags, &item, FIELDS("*name", "targets")) ||
            !read_text(r->diags, &name_place, 256, &name) ||
            !check_parameter_name(r, &name_place, name)) {
            continue;
        }
        struct parameter *parameter = vec_push(&r->spec->parameters);
        *parameter = (struct parameter){.name = xstrdup(name)};
        const struct place targets = place_get(&item, "targets");
        if (targets.node == NULL && !is_set_by_jobs(r->spec, name)) {
            reader_complain(r->diags, &targets, "add 'targets: ...'",
                            "required field 'targets' is missing");
        }
        read_items (target_place, r->diags, &item, "targets", TARGETS_MAX) {
            struct parameter_target *target = vec_push(&parameter->targets);
            *target = (struct parameter_target){0};
            read_target(r, &target_place, target);
        }
    }
}

void spec_read_baseline(struct reading *r)
{
    struct place place = place_get(&r->at, "baseline");
    struct place where = place_get(&place, "where");
    if (!read_map(r->diags, &place, FIELDS("*kind", "where"))) {
        return;
    }
    struct baseline *b = &r->spec->baseline;
    b->kind = read_enum_or(r->diags, &place, "kind", baseline_kind_names, where.node != NULL);
    if (b->kind == BASELINE_POINT && where.node == NULL) {
        reader_complain(r->diags, &where, "for example, add 'where: {trainers: 1}'",
                        "baseline kind Point needs 'where'");
    } else if (b->kind == BASELINE_SINGLE_NODE && where.node != NULL) {
        reader_complain_key(r->diags, &where, "remove 'where', or write 'kind: Point'",
                            "baseline kind SingleNode takes no 'where'");
    } else if (where.node != NULL) {
        spec_read_params(r, &where, &b->where);
    }
}

/* `key` is replicas or devices. */
static void read_count(struct reading *r, const struct place *role, const char *key, int64_t most,
                       struct replicas *ret)
{
    struct place place = place_get(role, key);
    if (place.node != NULL && place.node->kind == NODE_INT) {
        _cleanup_(freep) char *fix =
            xasprintf("write %s: {value: %lld}", key, (long long)place.node->i);
        reader_complain(r->diags, &place, fix, "must be a map, not a whole number");
        return;
    }
    if (!read_map(r->diags, &place, FIELDS("from", "value"))) {
        return;
    }
    struct place from = place_get(&place, "from");
    struct place value = place_get(&place, "value");
    if ((from.node == NULL) == (value.node == NULL)) {
        reader_complain_key(r->diags, &place, "write {value: 1}, or {from: NAME} of what is swept",
                            "exactly one of from and value is required");
        return;
    }
    const char *name;
    if (read_text(r->diags, &from, 256, &name)) {
        ret->from = xstrdup(name);
    }
    ret->value = read_int_or(r->diags, &place, "value", 1, most, 1);
}

/* With the number of workers as devices of each, two workers would have four. */
static void check_devices(struct reading *r, const struct place *role, const struct role_spec *spec)
{
    if (spec->devices.from != NULL && str_eq_or_null(spec->devices.from, spec->replicas.from)) {
        struct place place = place_get(role, "devices");
        reader_complain_key(r->diags, &place, "declare a parameter for it, or write {value: N}",
                            "'%s' is the number of replicas, not of the accelerators of one",
                            spec->devices.from);
    }
}

/* What Kubernetes would take and benchd must not; see template_rules.c. */
static void check_template_rules(struct reading *r, const struct place *template,
                                 const json_t *json)
{
    struct template_problem problem;
    if (template_rules_check(json, &problem) < 0) {
        _cleanup_(freep) char *at = place_path(template);
        _cleanup_(freep) char *path = xasprintf("%s.%s", at, problem.path);
        const struct node *node = tree_at(template->node, problem.path);
        diags_add_from(r->diags, node->origin, node->mark, path, problem.fix, "%s",
                       problem.message);
    }
}

/* What spec_inline_templates left: it is there twice, or no file can be read. */
static void refuse_template_from(struct reading *r, const struct place *role)
{
    struct place from = place_get(role, "templateFrom");
    const bool is_twice = tree_get(role->node, "template") != NULL;
    const char *name;
    if (read_text(r->diags, &from, 256, &name)) {
        reader_complain_key(r->diags, &from,
                            is_twice ? "remove one of the two"
                                     : "write the template itself; benchctl get benchmarks FILE "
                                       "--local -o json prints the definition with it",
                            is_twice ? "'%s': exactly one of template and templateFrom"
                                     : "'%s' is a file, which only benchctl can read",
                            name);
    }
}

void spec_read_roles(struct reading *r)
{
    struct place place = place_get(&r->at, "roles");
    struct place worker = place_get(&place, "worker"); /* in a trainer's place: one mistake */
    const bool needs_trainer =
        !r->is_exchange_wrong && (worker.node == NULL || spec_exchanges(r, EXCHANGE_ALL_REDUCE)) &&
        (spec_exchanges(r, EXCHANGE_PSERVER) || spec_exchanges(r, EXCHANGE_NONE));
    if (!read_map(
            r->diags, &place,
            FIELDS("pserver", needs_trainer ? "*trainer" : "trainer", "worker", "launcher"))) {
        return;
    }
    struct place launcher = place_get(&place, "launcher");
    if (launcher.node != NULL && !r->spec->roles[ROLE_LAUNCHER].present) {
        reader_complain_key(r->diags, &launcher,
                            "remove it, or write roles: {launcher: {command: [...]}} in a system",
                            "no system has a launcher; the profile open-mpi brings one");
    }
    for (int i = 0; i < ROLE_COUNT; i++) {
        struct role_spec *role = &r->spec->roles[i];
        struct place role_place = place_get(&place, role_to_string((enum role)i));
        const bool is_launcher = i == ROLE_LAUNCHER; /* one or none: there is no number to write */
        if (!read_map(r->diags, &role_place,
                      is_launcher ? FIELDS("template", "templateFrom")
                                  : FIELDS("template", "templateFrom", "*replicas", "devices"))) {
            continue;
        }
        refuse_template_from(r, &role_place);
        role->present = true;
        role->replicas.value = 1; /* till it is read, so that a wrong field is one error */
        if (!is_launcher) {
            read_count(r, &role_place, "replicas", SPEC_MAX_REPLICAS, &role->replicas);
        }
        if (tree_get(role_place.node, "devices") != NULL) {
            read_count(r, &role_place, "devices", DEVICES_MAX, &role->devices);
            check_devices(r, &role_place, role);
        }
        struct place template = place_get(&role_place, "template");
        if (template.node != NULL) {
            size_t n_before = r->diags->list.len;
            spec_check_template(r->diags, &template);
            bool is_good = r->diags->list.len == n_before;
            role->template = is_good ? tree_to_json(template.node) : NULL;
            if (is_good) {
                check_template_rules(r, &template, role->template);
            }
        }
    }
}
