/* The names that a sweep may use without a declaration in spec.parameters. Pure. */
#pragma once

#include <stdint.h>

#define BATCH_SIZE_MAX (INT64_C(1) << 31)
#define NATIVE_BATCH_MAX 65536 /* as benchworker has it */
#define THREADS_MAX 1024

struct builtin {
    const char *name;
    int64_t min, max; /* of a number; 0 and 0: a text that core/link.h reads */
    int counts;       /* the enum role of which it is the number of replicas; -1: none */
};
#define BUILTIN_COUNT 6
extern const struct builtin builtins[BUILTIN_COUNT];
const struct builtin *builtin_find(const char *name); /* NULL: none */
