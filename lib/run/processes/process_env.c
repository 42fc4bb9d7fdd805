/* The environment of a local child, see process_env.h. */
#include "run/processes/process_env.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/str_list.h"
#include "base/vec.h"
#include "base/vec_walk.h"

static const char *const handed_down[] = {
    "PATH",         "HOME",         "USER",         "LOGNAME",       "SHELL",
    "LANG",         "LC_ALL",       "TZ",           "TMPDIR",        "LD_LIBRARY_PATH",
    "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "BENCHD_PEER_TIMEOUT_S",
};
/* Which devices a program sees, and how it talks to them. */
static const char *const prefixes[] = {"CUDA_", "NCCL_", "RCCL_", "HIP_", "ROCR_"};

const char *process_env_get(char *const *list, const char *name)
{
    const char *value = NULL;
    for (; *list != NULL; list++) {
        if (str_has_prefix(*list, name) && (*list)[strlen(name)] == '=') {
            value = *list + strlen(name) + 1;
        }
    }
    return value;
}

char **process_env_build(char *const *contract, char *const *extra)
{
    VEC(char *) list = {0};
    for (size_t i = 0; i < COUNT_OF(handed_down); i++) {
        const char *value = getenv(handed_down[i]);
        if (value != NULL && process_env_get(contract, handed_down[i]) == NULL) {
            *vec_push(&list) = xasprintf("%s=%s", handed_down[i], value);
        }
    }
    for (char **entry = environ; *entry != NULL; entry++) {
        if (array_any(prefixes, COUNT_OF(prefixes), it, str_has_prefix(*entry, *it)) &&
            !str_list_sets(contract, *entry)) {
            *vec_push(&list) = xstrdup(*entry);
        }
    }
    for (char *const *entry = contract; *entry != NULL; entry++) {
        if (!str_list_sets(entry + 1, *entry) && !str_list_sets(extra, *entry)) {
            *vec_push(&list) = xstrdup(*entry);
        }
    }
    for (; *extra != NULL; extra++) {
        *vec_push(&list) = xstrdup(*extra);
    }
    *vec_push(&list) = NULL;
    return list.items;
}
