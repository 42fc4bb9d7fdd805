/* Reading profile.yaml, see profile.h. */
#include "spec/profile.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "doc/embedded.h"
#include "doc/openapi_check.h"
#include "spec/job_template.h"
#include "spec/rendezvous.h"
#include "spec/schemas.h"

static void check_name(struct diags *d, const struct place *root)
{
    const char *name = place_text(root, "name");
    if (name != NULL && (str_eq(name, PROFILE_NATIVE) || str_eq(name, PROFILE_IMPORTED))) {
        reader_complain(d, PLACE(root, "name"), "choose another name", "'%s' is reserved for %s",
                        name,
                        str_eq(name, PROFILE_NATIVE) ? "the native worker" : "figures of old logs");
    }
}

static void read_words(const struct place *map, const char *key, struct texts *ret)
{
    place_items (item, map, key) {
        if (place_is_good(&item)) {
            *vec_push(&ret->list) = xstrdup(item.node->s);
        }
    }
}

/* It becomes part of definitions, which run on other machines. */
static void check_entrypoint(struct diags *d, const struct place *role)
{
    place_items (item, role, "entrypoint") {
        if (place_is_good(&item) && str_has_prefix(item.node->s, "./")) {
            reader_complain(d, item.up, "write the text of the script: [sh, -c, '...']",
                            "'%s' is a file of this machine, and an entrypoint runs in pods",
                            item.node->s);
        }
    }
}

static void read_roles(struct diags *d, const struct place *root, struct profile *p)
{
    const struct place roles = place_get(root, "roles");
    if (!place_is_good(&roles)) {
        return;
    }
    for (int role = 0; role < ROLE_COUNT; role++) {
        const struct place place = place_get(&roles, role_to_string((enum role)role));
        if (place_is_good(&place)) {
            read_words(&place, "command", &p->commands[role]);
            check_entrypoint(d, &place);
        }
    }
    if (p->exchanges[EXCHANGE_PSERVER] && p->commands[ROLE_PSERVER].list.len == 0) {
        reader_complain(d, &roles, "add roles.pserver, or remove PServer from exchanges",
                        "exchange PServer requires the command of a pserver");
    }
}

static void read_profile(struct node *root, struct profile *p, struct diags *d)
{
    const struct place place = place_root(root, schema_profile());
    struct rendezvous rendezvous = {0};
    schema_check(d, &place);
    check_name(d, &place);
    p->name = place_text(&place, "name");
    p->description = place_text(&place, "description");
    p->install = xstrdup_or_null(place_text(&place, "install"));
    read_words(&place, "models", &p->models);
    place_flags(&place, "datasets", dataset_kind_names, DATASET_COUNT, p->datasets);
    place_flags(&place, "exchanges", exchange_kind_names, EXCHANGE_COUNT, p->exchanges);
    p->requirements = place_text(PLACE(&place, "python"), "requirements");
    read_roles(d, &place, p);
    /* For what is wrong with them: */
    rendezvous_read(d, &place, &rendezvous);
    rendezvous_done(&rendezvous);
    json_decref(job_read(d, PLACE(&place, "job"), true));
}

int profile_load(const char *text, size_t len, struct profile **ret, struct diags *diags)
{
    struct diags found = {0};
    struct profile *profile = xnew(struct profile);
    if (tree_parse(text, len, &TREE_LIMITS_DEFAULT, &profile->root, &found) == 0) {
        read_profile(profile->root, profile, &found);
    }
    bool is_good = found.list.len == 0;
    diags_move(diags, &found);
    if (!is_good) {
        profile_free(profile);
        return -EINVAL;
    }
    *ret = profile;
    return 0;
}

struct profile *profile_load_shipped(const char *name)
{
    const struct embedded *shipped = embedded_find(shipped_profiles, shipped_profiles_count, name);
    struct profile *loaded = NULL;
    _cleanup_(diags_done) struct diags diags = {0};
    if (shipped != NULL) { /* a test reads all of them */
        (void)profile_load(shipped->text, strlen(shipped->text), &loaded, &diags);
    }
    return loaded;
}

bool profile_is_shipped(const char *name)
{
    return embedded_find(shipped_profiles, shipped_profiles_count, name) != NULL;
}

void profile_free(struct profile *profile)
{
    if (profile == NULL) {
        return;
    }
    texts_done(&profile->models);
    free(profile->folder);
    free(profile->interpreter);
    free(profile->install);
    for (int role = 0; role < ROLE_COUNT; role++) {
        texts_done(&profile->commands[role]);
    }
    tree_free(profile->root);
    free(profile);
}

/* Its first word that begins with "./" becomes a path. Owned. */
static char *placed_line(const char *line, const char *folder)
{
    const char *at = str_has_prefix(line, "./") ? line : strstr(line, " ./");
    const size_t len = at == NULL ? 0 : (size_t)(at - line) + strspn(at, " ");
    return at == NULL ? xstrdup(line)
                      : xasprintf("%.*s%s%s", (int)len, line, folder, line + len + 1);
}

void profile_place(struct profile *profile, const char *folder, const char *interpreter)
{
    profile->folder = xstrdup(folder);
    profile->interpreter = xstrdup_or_null(interpreter);
    if (profile->install != NULL) {
        char *placed = placed_line(profile->install, folder);
        free(profile->install);
        profile->install = placed;
    }
    for (int role = 0; role < ROLE_COUNT; role++) {
        vec_each (char *, it, &profile->commands[role].list) {
            char *placed = NULL;
            if (str_has_prefix(*it, "./")) {
                placed = xasprintf("%s/%s", folder, *it + 2);
            } else if (interpreter != NULL && str_eq(*it, "python")) {
                placed = xstrdup(interpreter);
            }
            if (placed != NULL) {
                free(*it);
                *it = placed;
            }
        }
    }
}

bool profile_has_family(const char *name, const char *family)
{
    const struct embedded *found =
        embedded_find(profile_families, profile_descriptions_count, name);
    _cleanup_(freep) char *wanted = xasprintf(",%s,", family);
    return str_eq_nocase(name, family) || (found != NULL && strstr(found->text, wanted) != NULL);
}

const struct profile *profiles_find(const struct profiles *profiles, const char *name)
{
    return profiles == NULL ? NULL : vec_find_item(&profiles->list, it, str_eq(it->name, name));
}

void profiles_done(struct profiles *profiles)
{
    vec_each (struct profile *, it, &profiles->list) {
        profile_free(*it);
    }
    vec_done(&profiles->list);
}

int profiles_set_commands(const struct profiles *profiles, struct spec *spec, struct err *err)
{
    vec_each (struct system, system, &spec->systems) {
        if (str_eq(system->profile, PROFILE_NATIVE)) {
            continue;
        }
        const struct profile *profile = profiles_find(profiles, system->profile);
        if (profile == NULL) {
            return err_set(err, ENOENT, "system '%s': profile '%s' not found", system->name,
                           system->profile);
        }
        for (int role = 0; role < ROLE_COUNT; role++) {
            texts_done(&system->commands[role]);
            vec_each (char *const, word, &profile->commands[role].list) {
                *vec_push(&system->commands[role].list) = xstrdup(*word);
            }
        }
    }
    return 0;
}
