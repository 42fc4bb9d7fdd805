/* The job object of a system or a profile: its form, and what only shows when the whole definition
 * was read. See job_template.h and spec_internal.h. */
#include "base/mem.h"
#include "base/str.h"
#include "spec/job_template.h"
#include "spec/matrix.h"
#include "spec/profile.h"
#include "spec/spec_internal.h"

/* An object of Kubernetes; of a profile the kind alone. */
static void check_object(struct diags *d, const struct place *place, enum job_use use,
                         int (*check)(const json_t *, enum job_use, struct template_problem *))
{
    const bool is_checked = place->node != NULL && !place->node->has_wrong;
    json_auto_t *object = is_checked ? tree_to_json(place->node) : NULL;
    struct template_problem problem;
    if (object != NULL && check(object, use, &problem) < 0) {
        reader_complain(d, place, problem.fix, "%s%s%s", problem.path,
                        problem.path[0] == '\0' ? "" : ": ", problem.message);
    }
}

json_t *job_read(struct diags *d, const struct place *place, bool is_profile)
{
    const size_t n_before = d->list.len;
    if (!place_is_good(place)) {
        return NULL;
    }
    if (is_profile) {
        check_object(d, place, JOB_ITSELF, job_kind_check);
    } else {
        check_object(d, PLACE(place, "template"), JOB_ITSELF, job_object_check);
    }
    place_items (item, place, "objects") {
        check_object(d, &item, JOB_EXTRA, job_object_check);
    }
    json_t *job = tree_to_json(place->node);
    if (d->list.len > n_before || place->node->has_wrong) {
        (void)json_object_del(job, "template"); /* it may be missing */
    }
    return job;
}

/* ---- of a system ---- */

void spec_read_job(struct reading *r, const struct place *item, struct system *system)
{
    static const char *const others[] = {"image", "command", "args",      "env",
                                         "roles", "patches", "rendezvous"};
    const struct place place = place_get(item, "job");
    if (place.node == NULL) {
        return;
    }
    system->job = job_read(r->diags, &place, false);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        const struct place other = place_get(item, others[i]);
        if (other.node != NULL) {
            reader_complain_key(r->diags, &other, "remove it; job.set changes the object",
                                "the object of job says what runs");
        }
    }
    if (str_eq(system->profile, PROFILE_NATIVE)) {
        reader_complain(r->diags, item, "write profile: job, or none",
                        "a job object does not run by profile " PROFILE_NATIVE);
    }
    if (place_get(item, "log").node == NULL) {
        reader_complain(r->diags, item, "add 'log: torch-ddp', or a rule of your own",
                        "system '%s' needs a log rule: the pods of a job object write no records",
                        system->name);
    }
    system->has_launcher |= job_pods(system->job, ROLE_LAUNCHER) != NULL;
}

/* ---- what only shows when everything is read ---- */

/* Enters the templates of all roles into the object. */
static void check_pods(struct reading *r, const struct place *job, const struct system *system,
                       json_t *object)
{
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        const char *word = role_to_string(role);
        const struct place place = place_get(job, "pods"), own = place_get(&place, word);
        struct err err;
        if (job_pods_path(system->job, role) != NULL) {
            if (job_enter_pods(system->job, object, role, &err) == NULL) {
                reader_complain(r->diags, PLACE(&own, "template"),
                                "write the path of a pod template that the object has", "%s",
                                err.msg);
            }
        } else if (spec_system_has_role(r->spec, system, role) && own.node == NULL) {
            reader_complain(r->diags, &place, "say where the object has their template",
                            "the object has no pods of role %s, which exchange %s uses", word,
                            exchange_name(&system->exchange, system->exchange.kind));
        }
    }
}

static bool has_object(const struct node *job, const char *name)
{
    const struct node *list = tree_get(job, "objects");
    return list != NULL &&
           array_any(list->children, list->n_children, it,
                     str_eq_or_null(tree_get_text(tree_get(*it, "metadata"), "name"), name));
}

static void check_sets(struct reading *r, const struct place *job)
{
    const struct place list = place_get(job, "set");
    place_each (item, &list) {
        const char *object = tree_get_text(item.node, "object");
        const char *from = tree_get_text(item.node, "from");
        if (object != NULL && !has_object(job->node, object)) {
            reader_complain(r->diags, &item, "use the metadata.name of one of them",
                            "job.objects has no '%s'", object);
        } else if (from != NULL && !spec_is_known_name(r, from)) {
            reader_complain(r->diags, &item,
                            "use workers, batch_size or the like, or declare it in parameters",
                            "'%s' is not a name of the sweep", from);
        }
    }
}

/* A swept value that the object does not get would be a column without a meaning. */
static void check_sweep(struct reading *r, const struct place *place, const struct system *system)
{
    const struct node *names = spec_swept_names(r);
    for (size_t i = 0; names != NULL && i < names->n_children; i++) {
        const char *name = names->children[i]->key;
        const bool is_count = str_eq(name, "pservers") || str_eq(name, "trainers");
        if (!is_count && spec_is_known_name(r, name) && !job_takes(r->spec, system->job, name)) {
            _cleanup_(freep) char *fix =
                xasprintf("add {path: /spec/..., from: %s} to job.set", name);
            reader_complain(r->diags, place, fix,
                            "'%s' is swept, but the object of system '%s' does not get it", name,
                            system->name);
        }
    }
}

void spec_check_job(struct reading *r, const struct place *item, const struct system *system)
{
    const struct place place = place_get(item, "job");
    const size_t n_before = r->diags->list.len;
    check_sets(r, &place);
    if (json_object_get(system->job, "template") == NULL || r->diags->list.len > n_before) {
        return;
    }
    check_sweep(r, &place, system);
    const struct point any = {.system = (uint32_t)(system - r->spec->systems.items),
                              .replicas = {1, 1, 1, 1},
                              .batch_size = 1,
                              .threads = 1};
    json_auto_t *object = NULL;
    struct err err;
    if (job_object(r->spec, &any, NULL, &object, &err) < 0) {
        reader_complain(r->diags, PLACE(&place, "set"), "use paths that the object has", "%s",
                        err.msg);
        return;
    }
    check_pods(r, &place, system, object);
    struct template_problem problem;
    if (r->diags->list.len == n_before && job_object_check(object, JOB_ITSELF, &problem) < 0) {
        reader_complain(r->diags, &place, "change what job.set and job.pods write into the object",
                        "%s: %s", problem.path, problem.message);
    }
}
