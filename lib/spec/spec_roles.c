/* Reading parameters, roles and the baseline of a definition. See spec_internal.h. */

#include "base/mem.h"
#include "base/str.h"
#include "spec/matrix.h"
#include "spec/job_template.h"
#include "spec/spec_internal.h"
#include "spec/system_template.h"

/* Job objects get it by job.set, and have no other targets. */
static bool is_set_by_jobs(const struct spec *spec, const char *name)
{
    return vec_any(&spec->systems, s, s->job != NULL && job_takes(spec, s->job, name));
}

void spec_read_parameters(struct reading *r)
{
    place_items (item, &r->at, "parameters") {
        const char *name = place_text(&item, "name");
        if (name != NULL && builtin_find(name) != NULL) {
            reader_complain(r->diags, PLACE(&item, "name"), "remove it, or choose another name",
                            "'%s' is built in and cannot be declared", name);
        }
        if (name == NULL || spec_is_known_name(r, name)) {
            continue; /* noted */
        }
        const struct place targets = place_get(&item, "targets");
        *vec_push(&r->spec->parameters) =
            (struct parameter){.name = xstrdup(name),
                               .targets = targets.node == NULL ? NULL : tree_to_json(targets.node)};
        if (targets.node == NULL && !is_set_by_jobs(r->spec, name)) {
            reader_complain(r->diags, &targets, "add 'targets: ...'",
                            "required field 'targets' is missing");
        }
    }
}

void spec_read_baseline(struct reading *r)
{
    struct place place = place_get(&r->at, "baseline");
    struct place where = place_get(&place, "where");
    if (!place_is_good(&place)) {
        return;
    }
    struct baseline *b = &r->spec->baseline;
    b->kind = place_enum(&place, "kind", baseline_kind_names, where.node != NULL);
    if (b->kind == BASELINE_POINT && where.node == NULL) {
        reader_complain(r->diags, &where, "add the values of a point, such as 'where: {NAME: 1}'",
                        "baseline kind Point needs 'where'");
    } else if (b->kind == BASELINE_SINGLE_NODE && where.node != NULL) {
        reader_complain_key(r->diags, &where, "remove 'where', or write 'kind: Point'",
                            "baseline kind SingleNode takes no 'where'");
    } else if (where.node != NULL) {
        spec_read_params(r, &where, &b->where);
    }
}

/* `key` is replicas or devices. */
static void read_count(const struct place *role, const char *key, struct replicas *ret)
{
    const struct place place = place_get(role, key);
    if (place_is_good(&place)) {
        ret->from = xstrdup_or_null(place_text(&place, "from"));
        ret->value = place_int(&place, "value", 1);
    }
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
    const char *name = place_text(role, "templateFrom");
    if (name != NULL) {
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
    if (!place_is_good(&place)) {
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
        if (!place_is_good(&role_place)) {
            continue;
        }
        refuse_template_from(r, &role_place);
        role->present = true;
        role->replicas.value = 1; /* till it is read, so that a wrong field is one error */
        read_count(&role_place, "replicas", &role->replicas);
        read_count(&role_place, "devices", &role->devices);
        check_devices(r, &role_place, role);
        struct place template = place_get(&role_place, "template");
        if (template.node != NULL) {
            const bool is_good = !template.node->has_wrong;
            role->template = is_good ? tree_to_json(template.node) : NULL;
            if (is_good) {
                check_template_rules(r, &template, role->template);
            }
        }
    }
}
