/* See spec_parts.h. */
#include "spec/spec_parts.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define WORD_MAX 32768
#define WORDS_MAX 1000
#define RESERVED_PREFIX "BENCHD_"

bool spec_path_is_valid(struct diags *diags, const struct place *place, const char *path)
{
    if (str_has_prefix(path, "/spec/") || str_has_prefix(path, "/metadata/")) {
        return true;
    }
    return reader_complain(diags, place,
                           "write a path such as /spec/containers/0/resources/requests/cpu",
                           "'%s' is not a path into a pod template: it must start with /spec/ or "
                           "/metadata/",
                           path);
}

void spec_read_flags(struct diags *diags, const struct place *map, const char *key,
                     const char *const *names, size_t n, bool *flags)
{
    read_items (item, diags, map, key, n) {
        int value;
        if (read_enum(diags, &item, names, n, NULL, &value)) {
            flags[value] = true;
        }
    }
}

void spec_read_roles_or_all(struct diags *diags, const struct place *map, bool *flags)
{
    if (tree_get(map->node, "roles") == NULL) {
        memset(flags, true, ROLE_COUNT * sizeof(*flags));
    }
    spec_read_flags(diags, map, "roles", role_names, ROLE_COUNT, flags);
}

const char *const spec_role_fields[] = {"pserver", "trainer", "worker", "launcher", NULL};

bool spec_read_words(struct diags *diags, const struct place *list, struct command *ret)
{
    const bool is_empty =
        list->node != NULL && list->node->kind == NODE_SEQ && list->node->n_children == 0;
    if (is_empty) {
        return true;
    }
    if (!read_list(diags, list, WORDS_MAX)) {
        return false;
    }
    place_each (item, list) {
        const char *word;
        if (read_text(diags, &item, WORD_MAX, &word)) {
            *vec_push(&ret->words) = xstrdup(word);
        }
    }
    return true;
}

const char *spec_read_env_name(struct diags *diags, const struct place *place)
{
    const char *name;
    if (!read_text(diags, place, 256, &name)) {
        return NULL;
    }
    if (name[0] == '\0' || strchr(name, '=') != NULL) {
        reader_complain(diags, place, NULL, "'%s' is not a valid variable name", name);
        return NULL;
    }
    if (str_has_prefix(name, RESERVED_PREFIX)) {
        reader_complain(diags, place, "choose another name",
                        "names that begin with " RESERVED_PREFIX " are benchd's own");
        return NULL;
    }
    return name;
}

bool spec_same_scalar(const struct node *a, const struct node *b)
{
    if (a->kind != b->kind) {
        return false;
    }
    return a->kind == NODE_INT ? a->i == b->i : a->kind == NODE_STRING && str_eq(a->s, b->s);
}
