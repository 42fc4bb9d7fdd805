/* The fields of the two kinds as people read them: the schemas of lib/spec/schema, by which a
 * cluster checks them, too. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "doc/tree.h"

struct schema_field {
    const char *kind;        /* "Benchmark" or "BenchmarkRun"; static */
    const char *name;        /* borrowed; "" for the kind itself */
    const struct node *node; /* borrowed from kinds */
    bool is_required;
};

/* The field at "spec.systems.log", at "bmr.spec" or "benchmarkrun.status" of the other kind, or at
 * "": the kind itself; `kinds` is that of schema_kinds() (spec/schemas.h). Indexes of lists may be
 * given or left out: "spec.systems[0].log". -ENOENT if none exists; err names the field that lacks
 * it, *ret the last one on the way, *ret_wrong (owned) the word. */
int schema_find(const struct node *kinds, const char *path, struct schema_field *ret,
                char **ret_wrong, struct err *err);
/* Returns the i-th field in it, or false after the last one. */
bool schema_child(const struct schema_field *field, size_t i, struct schema_field *ret);
/* "[]string", "integer", "map[string][]integer or string". */
void schema_put_type(const struct schema_field *field, struct buf *out);
/* "1 to 64", "one of Sync"; nothing without a bound. */
void schema_put_bounds(const struct schema_field *field, struct buf *out);
/* What it means, and what it is when it is left out; nothing where the schema does not say. */
void schema_put_description(const struct schema_field *field, struct buf *out);
