/* spec_load and the life of a spec, see spec.h. Steps: tree_parse, spec_merge_*, spec_read (with
 * spec_check), matrix_expand as the last check. */
#include "spec/spec.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "spec/matrix.h"
#include "spec/spec_parts.h"

const struct builtin builtins[BUILTIN_COUNT] = {
    {"batch_size", 1, BATCH_SIZE_MAX},
    {"pservers", 1, SPEC_MAX_REPLICAS},
    {"threads", 1, THREADS_MAX},
    {"trainers", 1, SPEC_MAX_REPLICAS},
};

const struct builtin *builtin_find(const char *name)
{
    for (size_t i = 0; i < BUILTIN_COUNT; i++) {
        if (str_eq(builtins[i].name, name)) {
            return &builtins[i];
        }
    }
    return NULL;
}

bool value_eq(const struct value *a, const struct value *b)
{
    if (a->is_int != b->is_int) {
        return false;
    }
    return a->is_int ? a->i == b->i : str_eq(a->s, b->s);
}

void value_format(const struct value *v, struct buf *out)
{
    if (v->is_int) {
        buf_printf(out, "%lld", (long long)v->i);
    } else {
        buf_puts(out, v->s);
    }
}

struct value value_copy(const struct value *v)
{
    return (struct value){.is_int = v->is_int, .i = v->i, .s = v->is_int ? NULL : xstrdup(v->s)};
}

const struct value *params_get(const struct params *p, const char *name)
{
    vec_each (const struct param, it, &p->list) {
        if (str_eq(it->name, name)) {
            return &it->value;
        }
    }
    return NULL;
}

static int compare_params(const void *a, const void *b)
{
    return strcmp(((const struct param *)a)->name, ((const struct param *)b)->name);
}

void params_set(struct params *p, const char *name, const struct value *value)
{
    vec_each (struct param, it, &p->list) {
        if (str_eq(it->name, name)) {
            struct value copy = value_copy(value); /* first: `value` may be the old one */
            free(it->value.s);
            it->value = copy;
            return;
        }
    }
    *vec_push(&p->list) = (struct param){.name = xstrdup(name), .value = value_copy(value)};
    qsort(p->list.items, p->list.len, sizeof(p->list.items[0]), compare_params);
}

void params_copy(const struct params *p, struct params *ret)
{
    *ret = (struct params){0};
    vec_each (const struct param, it, &p->list) {
        *vec_push(&ret->list) =
            (struct param){.name = xstrdup(it->name), .value = value_copy(&it->value)};
    }
}

bool params_contain(const struct params *p, const struct params *wanted)
{
    vec_each (const struct param, it, &wanted->list) {
        const struct value *v = params_get(p, it->name);
        if (v == NULL || !value_eq(v, &it->value)) {
            return false;
        }
    }
    return true;
}

void params_done(struct params *p)
{
    vec_each (struct param, it, &p->list) {
        free(it->name);
        free(it->value.s);
    }
    vec_done(&p->list);
}

const struct parameter *spec_find_parameter(const struct spec *spec, const char *name)
{
    vec_each (const struct parameter, it, &spec->parameters) {
        if (str_eq(it->name, name)) {
            return it;
        }
    }
    return NULL;
}

static void sweep_done(struct sweep *sweep)
{
    vec_each (struct axis, axis, &sweep->axes) {
        free(axis->name);
        vec_each (struct value, v, &axis->values) {
            free(v->s);
        }
        vec_done(&axis->values);
    }
    vec_done(&sweep->axes);
    vec_each (struct params, point, &sweep->points) {
        params_done(point);
    }
    vec_done(&sweep->points);
    vec_each (struct params, exclude, &sweep->exclude) {
        params_done(exclude);
    }
    vec_done(&sweep->exclude);
}

static void parameter_done(struct parameter *parameter)
{
    free(parameter->name);
    vec_each (struct parameter_target, target, &parameter->targets) {
        vec_each (char *, path, &target->paths) {
            free(*path);
        }
        vec_done(&target->paths);
    }
    vec_done(&parameter->targets);
}

void spec_free(struct spec *spec)
{
    if (spec == NULL) {
        return;
    }
    free(spec->name);
    free(spec->description);
    vec_each (struct system, system, &spec->systems) {
        free(system->name);
        free(system->profile);
        for (int role = 0; role < ROLE_COUNT; role++) {
            command_done(&system->commands[role]);
        }
    }
    vec_done(&spec->systems);
    free(spec->workload.model);
    free(spec->workload.dataset_path);
    sweep_done(&spec->sweep);
    vec_each (struct parameter, parameter, &spec->parameters) {
        parameter_done(parameter);
    }
    vec_done(&spec->parameters);
    params_done(&spec->baseline.where);
    for (int i = 0; i < ROLE_COUNT; i++) {
        free(spec->roles[i].replicas.from);
        json_decref(spec->roles[i].template);
    }
    vec_each (struct threshold, threshold, &spec->thresholds) {
        params_done(&threshold->where);
    }
    vec_done(&spec->thresholds);
    json_decref(spec->definition);
    free(spec);
}

/* The node a path such as "spec.sweep.exclude[0]" names, or the last one there is on the way. */
static const struct node *find_node(const struct node *root, const char *path)
{
    const struct node *node = root;
    while (*path != '\0') {
        const struct node *next = NULL;
        size_t len = strcspn(path + 1, ".[") + 1;
        _cleanup_(freep) char *step = xstrndup(path, len);
        if (step[0] == '[') {
            uint64_t index;
            step[len - 1] = '\0'; /* the ']' */
            if (parse_u64(step + 1, &index) == 0 && index < node->n_children) {
                next = node->children[index];
            }
        } else {
            next = tree_get(node, step[0] == '.' ? step + 1 : step);
        }
        if (next == NULL) {
            break;
        }
        node = next;
        path += len;
    }
    return node;
}

/* What only shows when the points are made: found here, where places are still known. */
static void check_expansion(const struct node *root, const struct spec *spec, struct diags *diags)
{
    struct matrix matrix;
    struct diags found = {0};
    if (matrix_expand(spec, &matrix, &found) == 0) {
        matrix_done(&matrix);
        return;
    }
    vec_each (struct diag, it, &found.list) {
        const struct node *node = find_node(root, it->path);
        it->mark = node->key_mark.line != 0 ? node->key_mark : node->mark;
        it->origin = node->origin == NULL ? NULL : xstrdup(node->origin);
        if (node->from_local) {
            char *path = xasprintf("spec.local%s", it->path + strlen("spec"));
            free(it->path);
            it->path = path;
        }
    }
    diags_move(diags, &found);
}

/* Reads a merged tree. NULL when something is wrong (noted). */
static struct spec *read_tree(const struct node *root, const struct profiles *profiles,
                              struct diags *diags)
{
    struct spec *spec = xnew(struct spec);
    struct diags found = {0};
    spec_read(root, profiles, spec, &found);
    if (found.list.len == 0) {
        check_expansion(root, spec, &found);
    }
    if (found.list.len > 0) {
        diags_move(diags, &found);
        spec_free(spec);
        return NULL;
    }
    spec->definition = tree_to_json(root);
    if (profiles != NULL) {
        (void)spec_set_commands(spec, profiles, NULL); /* each was found when it was read */
    }
    return spec;
}

/* A definition must also hold with its `local` block, whichever way it is run now. */
static void check_with_local(const struct node *root, const struct profiles *profiles,
                             struct diags *diags)
{
    if (tree_path(root, "spec", "local", NULL) == NULL) {
        return;
    }
    struct node *copy = tree_copy(root);
    struct diags found = {0};
    spec_merge_local(copy, &found);
    spec_free(read_tree(copy, profiles, &found));
    diags_move(diags, &found);
    tree_free(copy);
}

static void check_thresholds(const struct node *root, const struct spec *spec, struct diags *diags)
{
    struct matrix matrix;
    if (matrix_expand(spec, &matrix, diags) < 0) {
        return; /* read_tree has been here: it cannot */
    }
    for (size_t i = 0; i < spec->thresholds.len; i++) {
        if (matrix_has(&matrix, &spec->thresholds.items[i].where)) {
            continue;
        }
        _cleanup_(freep) char *path = xasprintf("spec.thresholds[%zu].where", i);
        const struct node *node = find_node(root, path);
        diags_add(diags, node->key_mark, path, "write values of the sweep",
                  "no point has these values: the threshold would judge nothing");
    }
    matrix_done(&matrix);
}

static struct spec *load_tree(struct node *root, const struct spec_overrides *overrides,
                              struct diags *diags)
{
    if (overrides->local) {
        spec_merge_local(root, diags);
    } else {
        check_with_local(root, overrides->profiles, diags);
    }
    spec_merge_options(root, overrides, diags);
    struct spec *spec = read_tree(root, overrides->profiles, diags);
    if (spec != NULL && overrides->is_as_written) {
        check_thresholds(root, spec, diags);
    }
    if (diags->list.len > 0) {
        spec_free(spec);
        return NULL;
    }
    return spec;
}

int spec_load(const char *text, size_t len, const struct spec_overrides *overrides,
              struct spec **ret, struct diags *diags)
{
    static const struct spec_overrides none = {0};
    static const struct tree_limits limits = TREE_LIMITS_DEFAULT;
    struct diags found = {0};
    struct node *root;
    struct spec *spec = NULL;
    if (tree_parse(text, len, &limits, &root, &found) == 0) {
        spec = load_tree(root, overrides == NULL ? &none : overrides, &found);
        tree_free(root);
    }
    diags_move(diags, &found);
    if (spec == NULL) {
        return -EINVAL;
    }
    *ret = spec;
    return 0;
}
