/* What work a log says that it did: the sizes of the model, the sequence and the batch of the job.
 * Logs that name different ones are no points of one curve. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMPORT_FACTS 14
struct import_shape {
    int64_t trainers;
    struct import_fact {
        uint64_t line; /* that says it first; 0: none does */
        bool varies;   /* a later line has another value, so this is not a setting */
        char value[48];
    } facts[IMPORT_FACTS];
};
extern const char *const import_fact_names[IMPORT_FACTS]; /* "hidden_size", ... */

void import_shape_read(const char *text, size_t len, int64_t trainers, struct import_shape *ret);
/* Do both say it, and not the same? A batch of the job may also grow with those who train. */
bool import_shape_differs(const struct import_shape *a, const struct import_shape *b, size_t fact);
