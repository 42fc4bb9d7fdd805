/* The names that a sweep may use without a declaration in spec.parameters. Pure. */
#pragma once

#include <stdint.h>

#define BATCH_SIZE_MAX 65536
#define THREADS_MAX 1024

struct builtin {
    const char *name;
    int64_t min, max;
};
#define BUILTIN_COUNT 5
extern const struct builtin builtins[BUILTIN_COUNT];
const struct builtin *builtin_find(const char *name); /* NULL: none */
