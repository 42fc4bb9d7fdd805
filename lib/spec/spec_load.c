/* See spec_load.h. */
#include "spec/spec_load.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "doc/openapi.h"
#include "spec/job_template.h"
#include "spec/matrix.h"
#include "spec/profile.h"
#include "spec/schemas.h"
#include "spec/spec_internal.h"

/* What only shows when the points are made: found here, where places are still known. */
static int expand(const struct node *root, const struct spec *spec, struct matrix *ret,
                  struct diags *diags)
{
    struct diags found = {0};
    const int r = matrix_expand(spec, ret, &found);
    vec_each (struct diag, it, &found.list) {
        const struct node *node = tree_at(root, it->path);
        it->mark = node->key_mark.line != 0 ? node->key_mark : node->mark;
        it->origin = xstrdup_or_null(node->origin);
        if (node->from_local) {
            char *path = xasprintf("spec.local%s", it->path + strlen("spec"));
            free(it->path);
            it->path = path;
        }
    }
    diags_move(diags, &found);
    return r;
}

/* Which places that name values of the sweep must fit some point: where `local` or an option
 * replaced the values that they were written for, only exclusions of `local`, or none. */
enum wheres { NO_WHERES, WHERES_OF_LOCAL, ALL_WHERES };

/* A threshold that applies to no point, and an exclusion that leaves out none, are mistakes. */
static void check_wheres(const struct node *root, const struct spec *spec,
                         const struct matrix *matrix, bool of_local, struct diags *diags)
{
    for (size_t i = 0; i < spec->thresholds.len && !of_local; i++) {
        if (matrix_has(matrix, &spec->thresholds.items[i].where)) {
            continue;
        }
        _cleanup_(freep) char *path = xasprintf("spec.thresholds[%zu].where", i);
        const struct node *node = tree_at(root, path);
        diags_add(diags, node->key_mark, path, "use values of the sweep",
                  "no point has these values, so the threshold would never apply");
    }
    for (size_t i = 0; i < spec->sweep.exclude.len; i++) {
        _cleanup_(freep) char *path = xasprintf("spec.sweep.exclude[%zu]", i);
        const struct node *node = tree_at(root, path);
        if ((matrix->excluding >> i & 1) == 0 && node->from_local == of_local) {
            _cleanup_(freep) char *shown =
                xasprintf("spec%s%s", of_local ? ".local" : "", path + strlen("spec"));
            diags_add(diags, node->mark, shown, "correct its values, or remove it",
                      "excludes no point");
        }
    }
}

/* Reads a merged tree. NULL when something is wrong (noted). */
static struct spec *read_tree(struct node *root, const struct spec_overrides *overrides,
                              enum wheres wheres, struct diags *diags)
{
    const struct profiles *profiles = overrides->profiles;
    struct spec *spec = xnew(struct spec);
    struct diags found = {0};
    struct matrix matrix;
    spec_read(root, overrides, spec, &found);
    if (found.list.len > 0 || expand(root, spec, &matrix, &found) < 0) {
        diags_move(diags, &found);
        spec_free(spec);
        return NULL;
    }
    if (wheres != NO_WHERES) {
        check_wheres(root, spec, &matrix, wheres == WHERES_OF_LOCAL, diags);
    }
    matrix_done(&matrix);
    spec->definition = tree_to_json(root);
    if (profiles != NULL) {
        (void)profiles_set_commands(profiles, spec, NULL); /* each was found when it was read */
    }
    return spec;
}

/* As it is written, or with its `local` block: neither that nor an option hides a mistake. */
static void check_alone(const struct node *root, const struct spec_overrides *overrides,
                        enum wheres wheres, struct diags *diags)
{
    struct node *copy = tree_copy(root);
    struct diags found = {0};
    if (wheres == WHERES_OF_LOCAL) {
        spec_merge_local(copy, &found);
    } else if (overrides->systems != NULL) {
        spec_keep_systems(copy, overrides->systems, &found); /* others are left out on purpose */
    }
    spec_free(read_tree(copy, overrides, wheres, &found));
    diags_move(diags, &found);
    tree_free(copy);
}

/* A system without a log rule that benchworker runs has no evaluations, and the figure none. */
static bool may_evaluate(const struct spec *spec)
{
    return vec_any(&spec->systems, it, it->log != NULL || !str_eq(it->profile, PROFILE_NATIVE));
}

static void check_accuracies(const struct node *root, const struct spec *spec, struct diags *diags)
{
    static const char *const figures[] = {"timeToAccuracy", "accuracyAfterTime"};
    for (size_t i = 0; i < COUNT_OF(figures) && !may_evaluate(spec); i++) {
        const struct node *node = tree_path(root, "spec", "measure", figures[i], NULL);
        if (node != NULL) {
            _cleanup_(freep) char *path = xasprintf("spec.measure.%s", figures[i]);
            diags_add(diags, node->key_mark, path,
                      "remove it, or add a system that prints accuracies or losses and has a 'log' "
                      "for them",
                      "the figure would never be known: benchworker evaluates nothing");
        }
    }
}

/* No controller of such an object runs on this machine. */
static void refuse_local_jobs(const struct node *root, const struct spec *spec, struct diags *diags)
{
    vec_each (const struct system, system, &spec->systems) {
        if (system->job != NULL) {
            _cleanup_(freep) char *path = xasprintf("spec.systems[%zu].job", system->item);
            const struct node *node = tree_at(root, path);
            diags_add(diags, node->key_mark, path,
                      "leave out --local, or the system with --systems",
                      "system '%s' is a %s, which runs in a cluster only", system->name,
                      job_kind(system->job));
        }
    }
}

/* True: the document is something else, such as a PyTorchJob; that is one problem, and the rest of
 * it is not looked at. */
static bool refuse_kind(const struct node *root, struct diags *diags)
{
    const char *kind = tree_get_text(root, "kind");
    const char *version = tree_get_text(root, "apiVersion");
    if (kind == NULL) {
        return false;
    }
    const struct node *at = tree_get(root, "kind");
    if (str_eq(kind, "BenchmarkRun")) {
        diags_add(
            diags, at->mark, "kind",
            "give the file of the Benchmark that spec.benchmarkRef names; 'kubectl apply' starts "
            "this one",
            "a BenchmarkRun is one run of a Benchmark, not a definition");
        return true;
    }
    const struct node *row = schema_of_field(schema_document(), "kind");
    const char *profile = tree_get_text(tree_get(row, "x-foreign"), kind);
    if (profile == NULL || (version != NULL && str_has_prefix(version, "benchd.io/"))) {
        return false;
    }
    _cleanup_(freep) char *fix =
        xasprintf("'benchctl init --profile %s --image IMAGE -- COMMAND' writes "
                  "the Benchmark for the image and command of its containers",
                  profile);
    diags_add(diags, at->mark, "kind", fix, "a %s is not a Benchmark", kind);
    return true;
}

static struct spec *load_tree(struct node *root, const struct spec_overrides *overrides,
                              struct diags *diags)
{
    if (refuse_kind(root, diags)) {
        return NULL;
    }
    spec_inline_templates(root, overrides, diags);
    profiles_merge(overrides->profiles, root);
    const bool has_local = tree_path(root, "spec", "local", NULL) != NULL;
    if (overrides->n_sets > 0 || overrides->fields != NULL || (overrides->local && has_local)) {
        check_alone(root, overrides, NO_WHERES, diags);
    }
    if (overrides->local) {
        spec_merge_local(root, diags);
    } else if (has_local) {
        check_alone(root, overrides, WHERES_OF_LOCAL, diags);
    }
    spec_merge_options(root, overrides, diags);
    struct spec *spec =
        read_tree(root, overrides, overrides->is_as_written ? ALL_WHERES : NO_WHERES, diags);
    if (spec != NULL && overrides->local) {
        refuse_local_jobs(root, spec, diags);
    }
    /* A stored definition has its results, and whoever names systems leaves
     * others out on purpose. */
    if (spec != NULL && overrides->profiles != NULL && overrides->systems == NULL) {
        check_accuracies(root, spec, diags);
    }
    if (diags->list.len > 0) {
        spec_free(spec);
        return NULL;
    }
    return spec;
}

int spec_load_tree(struct node *root_take, const struct spec_overrides *overrides,
                   struct spec **ret, struct diags *diags)
{
    static const struct spec_overrides none = {0};
    struct diags found = {0};
    struct spec *spec = load_tree(root_take, overrides == NULL ? &none : overrides, &found);
    tree_free(root_take);
    diags_move(diags, &found);
    if (spec == NULL) {
        return -EINVAL;
    }
    *ret = spec;
    return 0;
}

int spec_load(const char *text, size_t len, const struct spec_overrides *overrides,
              struct spec **ret, struct diags *diags)
{
    struct node *root;
    const int r = tree_parse(text, len, &TREE_LIMITS_DEFAULT, &root, diags);
    return r < 0 ? r : spec_load_tree(root, overrides, ret, diags);
}
