/* See carry.h. */
#include "ctl/local/carry.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "base/whole_file.h"
#include "host/host.h"

/* Names may be links: what they lead to is in this folder, too, and others may read it. */
static bool is_of_this_folder(const char *name, bool *ret_is_executable)
{
    char path[PATH_MAX], folder[PATH_MAX];
    struct stat st;
    if (realpath(name, path) == NULL || realpath(".", folder) == NULL) {
        return false;
    }
    const size_t len = strlen(folder);
    if (strncmp(path, folder, len) != 0 || path[len] != '/' ||
        !program_file_may_travel(path + len + 1) || stat(path, &st) < 0) {
        return false;
    }
    *ret_is_executable = (st.st_mode & S_IXUSR) != 0;
    return S_ISREG(st.st_mode) && (st.st_mode & (S_IRGRP | S_IROTH)) != 0;
}

/* `digest`: as replicas recorded it; NULL: none did. */
static void add(struct carry *c, const char *name, const char *digest)
{
    struct program_file file = {.name = xstrdup(name)};
    char own[65];
    const bool is_new = json_object_get(c->seen, name) == NULL;
    (void)json_object_set_new(c->seen, name, json_true());
    if (is_new && program_file_may_travel(name) && is_of_this_folder(name, &file.is_executable) &&
        file_read(name, PROGRAM_FILES_MAX_BYTES, &file.content, NULL) >= 0) {
        host_digest_text(buf_cstr(&file.content), file.content.len, own);
        if (digest == NULL || str_has_prefix(own, digest)) {
            (void)c->store->ops->put_file(c->store, c->def->uid, &file, NULL); /* see carry_begin */
        }
    }
    program_file_done(&file);
}

static const json_t *listed(const struct run_def *def)
{
    return json_object_get(json_object_get(def->spec->definition, "spec"), "files");
}

void carry_begin(struct carry *c, struct store *s, const struct run_def *def)
{
    *c = (struct carry){.store = s, .def = def, .seen = json_object()};
    for (size_t i = 0; i < json_array_size(listed(def)); i++) {
        add(c, json_string_value(json_array_get(listed(def), i)), NULL);
    }
}

void carry_attempt(struct carry *c, const struct attempt_row *row)
{
    if (listed(c->def) != NULL) {
        return;
    }
    vec_each (const struct replica_row, replica, &row->replicas) {
        const char *name;
        json_t *digest;
        json_object_foreach (json_object_get(replica->environment.facts, "program_files"), name,
                             digest) {
            add(c, name, json_string_value(digest));
        }
    }
}

void carry_done(struct carry *c)
{
    json_decref(c->seen);
}
