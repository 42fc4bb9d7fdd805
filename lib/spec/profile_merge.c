/* See profile.h. */

#include "base/mem.h"
#include "base/str.h"
#include "doc/tree.h"
#include "spec/profile.h"

static void add_copies(const struct node *list, struct node *out)
{
    for (size_t i = 0; list != NULL && list->kind == NODE_SEQ && i < list->n_children; i++) {
        tree_append_take(out, tree_copy(list->children[i]));
    }
}

/* The system's command, and its arguments or those of the role. Owned; NULL: it runs nothing. */
static struct node *words_of(const struct node *system, const struct node *role)
{
    const struct node *args = tree_get(role, "args");
    struct node *list = tree_new(NODE_SEQ);
    list->mark = system->mark;
    add_copies(tree_get(system, "command"), list);
    add_copies(args != NULL ? args : tree_get(system, "args"), list);
    if (list->n_children == 0) {
        tree_free(list);
        return NULL;
    }
    return list;
}

static void merge_entrypoint(const struct node *entrypoint, const char *name, struct node *system)
{
    const struct node *own = tree_path(system, "roles", name, NULL);
    struct node *words = words_of(system, own);
    if (words == NULL || tree_get(own, "command") != NULL) {
        tree_free(words);
        return;
    }
    struct node *roles = tree_enter(system, "roles");
    struct node *role = roles->kind == NODE_MAP ? tree_enter(roles, name) : roles;
    if (role->kind != NODE_MAP) {
        tree_free(words); /* noted when it is read */
        return;
    }
    tree_set_take(role, "command", tree_copy(entrypoint));
    tree_set_take(role, "args", words);
}

/* How its program exchanges with parameter servers, where the definition does not say. */
static void merge_mode(const struct profile *profile, const struct node *spec, struct node *system)
{
    const struct node *own = tree_get(system, "exchange");
    const struct node *exchange = own != NULL ? own : tree_path(spec, "workload", "exchange", NULL);
    const char *servers = exchange_kind_names[EXCHANGE_PSERVER]; /* the default */
    const struct node *mode = tree_get(profile->root, "mode");
    if (mode == NULL || tree_get(own, "mode") != NULL ||
        !str_eq_or_null(exchange == NULL ? servers : tree_get_text(exchange, "kind"), servers) ||
        tree_path(spec, "local", "workload", "exchange", NULL) != NULL) {
        return;
    }
    struct node *made = tree_enter(system, "exchange");
    if (made->kind == NODE_MAP) {
        struct node *kind = tree_new(NODE_STRING);
        kind->s = xstrdup(servers);
        tree_set_take(made, "kind", kind);
        tree_set_take(made, "mode", tree_copy(mode));
    }
}

/* What the system does not say itself. Values of the profile are set first. */
static void merge_job(const struct node *profile, struct node *job)
{
    static const char *const keys[] = {"pods", "succeeded", "failed"};
    const struct node *own = tree_get(job, "set"), *set = tree_get(profile, "set");
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (tree_get(job, keys[i]) == NULL) {
            tree_set_take(job, keys[i], tree_copy(tree_get(profile, keys[i])));
        }
    }
    if (set == NULL || (own != NULL && own->kind != NODE_SEQ)) {
        return; /* what is wrong is noted when it is read */
    }
    struct node *merged = tree_new(NODE_SEQ);
    merged->mark = own != NULL ? own->mark : job->mark;
    for (size_t i = 0; i < set->n_children; i++) {
        const char *path = tree_get_text(set->children[i], "path");
        const bool is_own =
            own != NULL && array_any(own->children, own->n_children, it,
                                     str_eq_or_null(tree_get_text(*it, "path"), path));
        if (!is_own) {
            tree_append_take(merged, tree_copy(set->children[i]));
        }
    }
    add_copies(own, merged);
    tree_set_take(job, "set", merged);
}

static void merge(const struct profile *profile, const struct node *spec, struct node *system)
{
    merge_mode(profile, spec, system);
    const struct node *rendezvous = tree_get(profile->root, "rendezvous"),
                      *of_profile = tree_get(profile->root, "job");
    struct node *job = tree_get(system, "job");
    const bool is_said = rendezvous != NULL || (job == NULL && !profile_is_shipped(profile->name));
    if (is_said && tree_get(system, "rendezvous") == NULL) { /* no variables: an empty list */
        tree_set_take(system, "rendezvous",
                      rendezvous != NULL ? tree_copy(rendezvous) : tree_new(NODE_SEQ));
    }
    if (of_profile != NULL && job != NULL && job->kind == NODE_MAP) {
        merge_job(of_profile, job);
    }
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        const char *name = role_to_string(role);
        const struct node *entrypoint = tree_path(profile->root, "roles", name, "entrypoint", NULL);
        if (entrypoint != NULL) {
            merge_entrypoint(entrypoint, name, system);
        }
    }
}

void profiles_merge(const struct profiles *profiles, struct node *definition)
{
    struct node *systems = tree_path(definition, "spec", "systems", NULL);
    for (size_t i = 0; systems != NULL && systems->kind == NODE_SEQ && i < systems->n_children;
         i++) {
        struct node *system = systems->children[i];
        const char *name = tree_get_text(system, "profile");
        if (name == NULL) {
            continue;
        }
        struct profile *shipped = profiles == NULL ? profile_load_shipped(name) : NULL;
        const struct profile *found = profiles == NULL ? shipped : profiles_find(profiles, name);
        if (found != NULL) {
            merge(found, tree_get(definition, "spec"), system);
        }
        profile_free(shipped);
    }
}
