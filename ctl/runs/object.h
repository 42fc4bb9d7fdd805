/* Reads and builds BenchmarkRun objects. Pure. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/err.h"
#include "store/store.h"

/* metadata.creationTimestamp; 0: not set. */
int64_t object_created_unix_ms(const json_t *object);
/* The status as benchd wrote it: phase, counts, dates, and the reason and message of the condition
 * that explains the phase. An object without status is Pending. */
void object_read_status(const json_t *object, struct run_status *ret);
/* A row for lists, owned, without the definition. -EPROTO: not a BenchmarkRun. */
int object_read_row(const json_t *object, struct run_row *ret, struct err *err);

/* A new BenchmarkRun. `request` is a new uuid, which distinguishes our object from another of the
 * same name. */
json_t *object_make_run(const char *name, const char *benchmark, const char *request, json_t *spec);
/* Was it made by the request with this id? */
bool object_is_of_request(const json_t *object, const char *request);

/* A Benchmark as its author wrote it: without what the API server adds. */
json_t *object_plain_benchmark(const json_t *object);
