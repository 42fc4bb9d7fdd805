/* See texts.h. */
#include "base/texts.h"

#include <string.h>

#include "base/vec.h"

void str_list_free(char **list)
{
    for (char **it = list; it != NULL && *it != NULL; it++) {
        free(*it);
    }
    free(list);
}

char **str_list_dup(char *const *list)
{
    if (list == NULL) {
        return NULL;
    }
    VEC(char *) copy = {0};
    for (; *list != NULL; list++) {
        *vec_push(&copy) = xstrdup(*list);
    }
    *vec_push(&copy) = NULL;
    return copy.items;
}

bool str_list_sets(char *const *list, const char *entry)
{
    const size_t len = strcspn(entry, "=");
    while (*list != NULL && (strcspn(*list, "=") != len || memcmp(*list, entry, len) != 0)) {
        list++;
    }
    return *list != NULL;
}
