/* See builtin.h. */
#include "spec/builtin.h"

#include "base/str.h"
#include "base/vec_walk.h"
#include "spec/spec.h"

const struct builtin builtins[BUILTIN_COUNT] = {
    {"batch_size", 1, BATCH_SIZE_MAX, -1},
    {"link", 0, 0, -1},
    {"pservers", 1, SPEC_MAX_IMPORTED, ROLE_PSERVER},
    {"threads", 1, THREADS_MAX, -1},
    {"trainers", 1, SPEC_MAX_IMPORTED, ROLE_TRAINER},
    {"workers", 1, SPEC_MAX_IMPORTED, ROLE_WORKER},
};

const struct builtin *builtin_find(const char *name)
{
    return array_find(builtins, BUILTIN_COUNT, it, str_eq(it->name, name));
}
