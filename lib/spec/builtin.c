/* See builtin.h. */
#include "spec/builtin.h"

#include "base/str.h"
#include "base/vec_walk.h"
#include "spec/spec.h"

const struct builtin builtins[BUILTIN_COUNT] = {
    {"batch_size", 1, BATCH_SIZE_MAX},  {"link", 0, 0},
    {"pservers", 1, SPEC_MAX_IMPORTED}, {"threads", 1, THREADS_MAX},
    {"trainers", 1, SPEC_MAX_IMPORTED}, {"workers", 1, SPEC_MAX_IMPORTED},
};

const struct builtin *builtin_find(const char *name)
{
    return array_find(builtins, BUILTIN_COUNT, it, str_eq(it->name, name));
}
