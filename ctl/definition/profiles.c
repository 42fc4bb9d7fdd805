/* See profiles.h. Edge file: reads folders, files and the environment. */
#include "ctl/definition/profiles.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/cli/cli.h"
#include "base/whole_file.h"
#include "ctl/runs/find.h"
#include "ctl/cli/this_machine.h"
#include "spec/profile.h"

/* Returns the interpreter of a peer that has these pins (the bytes of requirements.txt):
 * ${XDG_CACHE_HOME:-~/.cache}/benchd/peers/NAME-HASH/bin/python. `script/bench peers install NAME`
 * creates it. Different pins give a different folder, so an outdated environment is never used.
 * Owned. bench/peers.py computes the same path. */
static char *peer_path(const char *name, const char *pins, size_t len)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    _cleanup_(freep) char *base = cache != NULL && cache[0] != '\0'
                                      ? xstrdup(cache)
                                      : xasprintf("%s/.cache", home == NULL ? "" : home);
    return xasprintf("%s/benchd/peers/%s-%016" PRIx64 "/bin/python", base, name,
                     str_hash(pins, len));
}

/* *ret is the path of its Python; NULL if it needs none. */
static int find_interpreter(const struct profile *profile, const char *folder, char **ret,
                            struct err *err)
{
    *ret = NULL;
    if (profile->requirements == NULL) {
        return 0;
    }
    _cleanup_(freep) char *path = xasprintf("%s/%s", folder, profile->requirements);
    _cleanup_(definition_file_done) struct definition_file pins = {0};
    int r = definition_read(path, &pins, err);
    if (r < 0) {
        return err_wrap(err, r, "profile '%s'", profile->name);
    }
    *ret = peer_path(profile->name, pins.text, pins.len);
    return 0;
}

static enum exit_code add(struct profiles *profiles, const char *folder,
                          const struct definition_file *file)
{
    _cleanup_(diags_done) struct diags diags = {0};
    struct profile *profile = NULL;
    struct err err;
    _cleanup_(freep) char *interpreter = NULL;
    enum exit_code code = EXIT_OK;
    if (profile_load(file->text, file->len, &profile, &diags) < 0) {
        code = cli_print_diags(&diags, file->path, file->text);
    } else if (profiles_find(profiles, profile->name) != NULL) {
        profile_free(profile); /* an earlier place has a profile of this name */
    } else if (find_interpreter(profile, folder, &interpreter, &err) < 0) {
        profile_free(profile);
        code = cli_error(EXIT_LOCAL_RESOURCE, NULL, "%s", err.msg);
    } else {
        profile_place(profile, folder, interpreter);
        *vec_push(&profiles->list) = profile;
    }
    return code;
}

/* One folder of profiles/; ignored if it has no profile.yaml. */
static enum exit_code add_folder(struct profiles *profiles, const char *path)
{
    _cleanup_(freep) char *folder =
        realpath(path, NULL); /* children may run in another directory */
    if (folder == NULL) {
        return EXIT_OK;
    }
    _cleanup_(freep) char *file_path = xasprintf("%s/profile.yaml", folder);
    _cleanup_(definition_file_done) struct definition_file file = {0};
    struct err err;
    return access(file_path, F_OK) < 0 ? EXIT_OK
           : definition_read(file_path, &file, &err) < 0
               ? cli_error(EXIT_LOCAL_RESOURCE, NULL, "%s", err.msg)
               : add(profiles, folder, &file);
}

static int by_name(const void *a, const void *b)
{
    const struct profile *const *x = a;
    const struct profile *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static enum exit_code add_place(struct profiles *profiles, const char *place)
{
    _cleanup_(freep) char *path = xasprintf("%s/profiles", place);
    enum exit_code code = EXIT_OK;
    _cleanup_(texts_done) struct texts names = {0};
    file_names(path, &names);
    for (size_t i = 0; i < names.list.len && code == EXIT_OK; i++) {
        if (names.list.items[i][0] != '.') {
            _cleanup_(freep) char *folder = xasprintf("%s/%s", path, names.list.items[i]);
            code = add_folder(profiles, folder);
        }
    }
    return code;
}

/* Those that are part of this program, unless a place has one of the name. */
static void add_shipped(struct profiles *profiles)
{
    for (size_t i = 0; i < shipped_profiles_count; i++) {
        const char *name = shipped_profiles[i].name;
        if (profiles_find(profiles, name) == NULL) {
            *vec_push(&profiles->list) = profile_load_shipped(name); /* needs no place: no files */
        }
    }
}

enum exit_code profiles_open(struct profiles *ret)
{
    _cleanup_(texts_done) struct texts places = {0};
    places_list(&places);
    *ret = (struct profiles){0};
    enum exit_code code = EXIT_OK;
    for (size_t i = 0; i < places.list.len && code == EXIT_OK; i++) {
        code = add_place(ret, places.list.items[i]);
    }
    add_shipped(ret);
    if (code != EXIT_OK) {
        profiles_done(ret);
    }
    /* The order of a folder means nothing. */
    array_sort(ret->list.items, ret->list.len, sizeof(ret->list.items[0]), by_name);
    return code;
}

__attribute__((format(printf, 4, 5))) static enum exit_code cannot_start(
    const struct system *system, const struct profile *profile, const char *fix, const char *fmt,
    ...)
{
    _cleanup_(freep) char *what = xasprintf_rest(fmt);
    return cli_error(
        EXIT_LOCAL_RESOURCE, fix,
        "system '%s' cannot start: %s (profile '%s'; choose other systems with --systems)",
        system->name, what, profile->name);
}

/* Returns a file in the profile's folder that its commands name and that is missing, or NULL. */
static const char *missing_file(const struct profile *profile)
{
    if (profile->folder == NULL) {
        return NULL; /* it is part of this program: it has no files */
    }
    const size_t len = strlen(profile->folder);
    for (int role = 0; role < ROLE_COUNT; role++) {
        vec_each (char *const, word, &profile->commands[role].list) {
            if (strncmp(*word, profile->folder, len) == 0 && (*word)[len] == '/' &&
                access(*word, F_OK) < 0) {
                return *word;
            }
        }
    }
    return NULL;
}

/* Returns the program of any role, or NULL if the system has no command of its own. */
static const char *own_program(const struct system *system)
{
    const json_t *command = json_object_get(system->launch, "command");
    for (enum role role = 0; role < ROLE_COUNT && command == NULL; role++) {
        command = json_object_get(system_launch(system, role), "command");
    }
    return json_string_value(json_array_get(command, 0));
}

/* The launcher takes `benchworker` from the place where this finds it. */
static enum exit_code check_found(const struct system *system, const struct profile *profile,
                                  const char *program, const char *fix)
{
    _cleanup_(freep) char *found = NULL;
    struct err ignored;
    if (str_eq(program, "benchworker")) {
        (void)host_find_worker(&found, &ignored); /* NULL: it is missing */
    } else {
        found = host_find_program(program);
    }
    return found != NULL
               ? EXIT_OK
               : cannot_start(system, profile, fix, "the program '%s' is missing", program);
}

static enum exit_code check_programs(const struct system *system, const struct profile *profile)
{
    enum exit_code code = EXIT_OK;
    /* Its folder is made whole, and is named after the pins: what is there has every package. */
    if (profile->interpreter != NULL && access(profile->interpreter, X_OK) < 0) {
        code = cannot_start(system, profile, profile->install,
                            "no Python with the packages of %s/%s in %s", profile->folder,
                            profile->requirements, profile->interpreter);
    }
    for (int role = 0; role < ROLE_COUNT && profile->interpreter == NULL; role++) {
        const struct texts *command = &profile->commands[role];
        if (code == EXIT_OK && command->list.len > 0) {
            code = check_found(system, profile, command->list.items[0], profile->install);
        }
    }
    return code;
}

static enum exit_code check(const struct system *system, const struct profile *profile)
{
    const char *own = own_program(system);
    if (own != NULL) { /* it needs that program, and nothing of the profile */
        return check_found(system, profile, own, "install it, or correct the system's command");
    }
    enum exit_code code = check_programs(system, profile);
    const char *file = code == EXIT_OK ? missing_file(profile) : NULL;
    return file == NULL ? code
                        : cannot_start(system, profile,
                                       "put it next to profile.yaml, or correct the command",
                                       "the file '%s' is missing", file);
}

enum exit_code profiles_check(const struct profiles *profiles, const struct spec *spec)
{
    enum exit_code worst = EXIT_OK;
    vec_each (struct system, system, &spec->systems) { /* each may take minutes to install */
        const struct profile *profile = profiles_find(profiles, system->profile);
        enum exit_code code = profile == NULL ? EXIT_OK : check(system, profile);
        worst = code == EXIT_OK ? worst : code;
    }
    return worst;
}
