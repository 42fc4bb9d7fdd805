/* The environment of a local child, see process_env.h. */
#include "run/processes/process_env.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

static const char *const handed_down[] = {
    "PATH",         "HOME",         "USER",         "LOGNAME",       "SHELL",
    "LANG",         "LC_ALL",       "TZ",           "TMPDIR",        "LD_LIBRARY_PATH",
    "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "BENCHD_PEER_TIMEOUT_S",
};

static size_t name_length(const char *entry)
{
    return strcspn(entry, "=");
}

static bool same_name(const char *a, const char *b)
{
    size_t len = name_length(a);
    return len == name_length(b) && memcmp(a, b, len) == 0;
}

const char *process_env_get(char *const *list, const char *name)
{
    const char *value = NULL;
    for (; *list != NULL; list++) {
        if (same_name(*list, name) && (*list)[strlen(name)] == '=') {
            value = *list + strlen(name) + 1;
        }
    }
    return value;
}

static bool is_set_later(char *const *entry)
{
    for (char *const *later = entry + 1; *later != NULL; later++) {
        if (same_name(*entry, *later)) {
            return true;
        }
    }
    return false;
}

static bool is_in(char *const *list, const char *entry)
{
    for (; *list != NULL; list++) {
        if (same_name(*list, entry)) {
            return true;
        }
    }
    return false;
}

char **process_env_build(char *const *contract, char *const *extra)
{
    VEC(char *) list = {0};
    for (size_t i = 0; i < sizeof(handed_down) / sizeof(*handed_down); i++) {
        const char *value = getenv(handed_down[i]);
        if (value != NULL && process_env_get(contract, handed_down[i]) == NULL) {
            *vec_push(&list) = xasprintf("%s=%s", handed_down[i], value);
        }
    }
    for (char *const *entry = contract; *entry != NULL; entry++) {
        if (!is_set_later(entry) && !is_in(extra, *entry)) {
            *vec_push(&list) = xstrdup(*entry);
        }
    }
    for (; *extra != NULL; extra++) {
        *vec_push(&list) = xstrdup(*extra);
    }
    *vec_push(&list) = NULL;
    return list.items;
}
