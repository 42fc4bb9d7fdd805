/* See find.h. Edge file: reads the environment and files. */
#include "ctl/runs/find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "config.h"
#include "doc/tree.h"
#include "base/whole_file.h"
#include "ctl/cli/cli.h"
#include "ctl/cli/this_machine.h"

void definition_file_done(struct definition_file *f)
{
    free(f->path);
    free(f->text);
    *f = (struct definition_file){0};
}

int definition_read(const char *path, struct definition_file *ret, struct err *err)
{
    bool is_stdin = str_eq(path, "-");
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return err_set_errno(err, errno, "%s", path);
    }
    const size_t max_bytes = TREE_LIMITS_DEFAULT.bytes;
    struct buf text;
    int r = file_read_fd(fd, path, max_bytes, &text, err);
    if (!is_stdin) {
        (void)close(fd); /* only read from */
    }
    if (r < 0) {
        return r == -E2BIG ? err_set(err, E2BIG, "%s: longer than %zu bytes", path, max_bytes) : r;
    }
    ret->path = xstrdup(is_stdin ? "(stdin)" : path);
    ret->is_read = true;
    ret->len = text.len;
    ret->text = text.len == 0 ? xstrdup("") : buf_take(&text);
    return 0;
}

void places_list(struct texts *ret)
{
    _cleanup_(freep) char *path = xstrdup_or_null(getenv("BENCHCTL_PATH"));
    char *rest = path;
    for (const char *place; (place = strsep(&rest, ":")) != NULL;) {
        if (place[0] != '\0') {
            *vec_push(&ret->list) = xstrdup(place);
        }
    }
    *vec_push(&ret->list) = xstrdup("benchmarks");
    *vec_push(&ret->list) = xstrdup(BENCHD_DATADIR "/benchmarks");
    _cleanup_(freep) char *program = host_program_folder();
    *vec_push(&ret->list) = xasprintf("%s/../share/benchd/benchmarks", program);
    /* build/ctl in the source tree */
    *vec_push(&ret->list) = xasprintf("%s/../../benchmarks", program);
}

static const char *const endings[] = {".yaml", ".yml", ".json"};

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

bool definition_is_file(const char *name)
{
    return array_any(endings, COUNT_OF(endings), it, str_has_suffix(name, *it)) ||
           strchr(name, '/') != NULL || str_eq(name, "-") || is_file(name);
}

static void add_new(struct texts *sorted, char *name_take)
{
    size_t at;
    if (vec_search(&sorted->list, it, strcmp(*it, name_take), &at)) {
        free(name_take);
    } else {
        *vec_insert(&sorted->list, at) = name_take;
    }
}

void definition_names(struct texts *ret)
{
    _cleanup_(texts_done) struct texts places = {0}, files = {0};
    places_list(&places);
    vec_each (char *const, place, &places.list) {
        file_names(*place, &files);
    }
    vec_each (char *const, file, &files.list) {
        for (size_t k = 0; k < COUNT_OF(endings); k++) {
            if (str_has_suffix(*file, endings[k])) {
                add_new(ret, xstrndup(*file, strlen(*file) - strlen(endings[k])));
            }
        }
    }
}

/* The name in `folder` that is nearest to `name`, with its folder; NULL: none is near. Owned. */
static char *near_file(const char *folder, const char *name)
{
    _cleanup_(texts_done) struct texts names = {0};
    file_names(folder, &names);
    const char *hint = str_suggest(name, (const char *const *)names.list.items, names.list.len);
    return hint == NULL          ? NULL
           : str_eq(folder, ".") ? xstrdup(hint)
                                 : xasprintf("%s/%s", folder, hint);
}

/* The shipped definition of that name, or a near one; NULL: none is near. Owned. */
static char *near_builtin(const char *name)
{
    _cleanup_(texts_done) struct texts names = {0};
    definition_names(&names);
    const char *hint = str_suggest(name, (const char *const *)names.list.items, names.list.len);
    return xstrdup_or_null(hint);
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL   ? xstrdup(".")
           : slash == path ? xstrdup("/")
                           : xstrndup(path, (size_t)(slash - path));
}

/* "did you mean 'x.yaml'?"; NULL if no file next to `path` has a similar name. Owned. */
static char *fix_by_folder(const char *path)
{
    _cleanup_(freep) char *folder = folder_of(path);
    _cleanup_(freep) char *file = near_file(folder, file_last_part(path));
    return file == NULL ? NULL : xasprintf("did you mean '%s'?", file);
}

static char *fix_of_file(const char *path)
{
    const char *last = file_last_part(path);
    char *fix = fix_by_folder(path);
    if (fix != NULL) {
        return fix;
    }
    _cleanup_(freep) char *stem = xstrndup(last, strcspn(last, "."));
    _cleanup_(freep) char *builtin = near_builtin(stem);
    return builtin == NULL ? NULL
                           : xasprintf("write %s, without -f and without an ending, for the "
                                       "shipped definition",
                                       builtin);
}

char *definition_fix(const char *name, bool is_path)
{
    char *fix = NULL;
    if (is_path || definition_is_file(name)) {
        fix = fix_of_file(name);
    } else {
        _cleanup_(freep) char *builtin = near_builtin(name);
        fix = builtin == NULL ? NULL : xasprintf("did you mean '%s'?", builtin);
    }
    return fix != NULL ? fix : xstrdup("list the names with: benchctl get benchmarks --local");
}

/* The first file of that name with one of the endings. -ENOENT, err untouched: none is there. */
static int read_in_places(const struct texts *places, const char *name, const char *const *ends,
                          size_t n_ends, struct definition_file *ret, struct err *err)
{
    int r = -ENOENT;
    for (size_t i = 0; i < places->list.len && r == -ENOENT; i++) {
        for (size_t k = 0; k < n_ends && r == -ENOENT; k++) {
            _cleanup_(freep) char *path =
                xasprintf("%s/%s%s", places->list.items[i], name, ends[k]);
            if (is_file(path)) {
                r = definition_read(path, ret, err);
            }
        }
    }
    return r;
}

int definition_find(const char *name, struct definition_file *ret, struct err *err)
{
    if (definition_is_file(name)) {
        return definition_read(name, ret, err);
    }
    _cleanup_(texts_done) struct texts places = {0};
    places_list(&places);
    const int r = read_in_places(&places, name, endings, COUNT_OF(endings), ret, err);
    if (r == -ENOENT) {
        (void)err_set(err, ENOENT,
                      "benchmark '%s' not found: there is no file and no shipped definition of "
                      "that name",
                      name);
    }
    return r;
}

int definition_read_template(const void *ctx, const char *name, char **ret_path,
                             struct buf *ret_text, struct err *err)
{
    const struct definition_file *definition = ctx;
    _cleanup_(definition_file_done) struct definition_file file = {0};
    _cleanup_(texts_done) struct texts places = {0};
    *vec_push(&places.list) = folder_of(definition->path);
    places_list(&places);
    const int r = !definition->is_read
                      ? -ENOENT
                      : read_in_places(&places, name, (const char *const[]){""}, 1, &file, err);
    if (r >= 0) {
        buf_append(ret_text, file.text, file.len);
        *ret_path = take_ptr(file.path);
    }
    return r != -ENOENT
               ? r
               : err_set(err, ENOENT,
                         "no file '%s' next to the definition or with the shipped ones", name);
}

enum exit_code definition_take(const char *name, bool is_path, struct definition_file *ret)
{
    struct err err = {0};
    const int r = is_path ? definition_read(name, ret, &err) : definition_find(name, ret, &err);
    _cleanup_(freep) char *fix =
        r == -ENOENT  ? definition_fix(name, is_path)
        : r == -E2BIG ? xstrdup("write less; templates of pods may be files (templateFrom)")
                      : NULL;
    return r >= 0 ? EXIT_OK
                  : cli_error(r == -ENOENT  ? EXIT_NOT_FOUND
                              : r == -E2BIG ? EXIT_USAGE
                                            : EXIT_LOCAL_RESOURCE,
                              fix, "%s", err.msg);
}

enum exit_code file_error(int r, const char *path, const char *otherwise, const struct err *err)
{
    _cleanup_(freep) char *nearest = r == -ENOENT ? fix_by_folder(path) : NULL;
    return cli_error(r == -ENOENT                    ? EXIT_NOT_FOUND
                     : r == -EBADMSG || r == -EINVAL ? EXIT_USAGE
                                                     : EXIT_LOCAL_RESOURCE,
                     nearest != NULL || r != -ENOENT ? nearest : otherwise, "%s", err->msg);
}
