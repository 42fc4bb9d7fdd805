/* A result as its JSON document. Pure. */
#pragma once

#include <jansson.h>

#include "result/result.h"

/* The document of docs/contracts/result.md, a point at a time. */
void result_json_put(const struct result *r, struct buf *out);
/* What documents say of a run and of a point, each as the next members of an object, which is
 * returned. */
json_t *result_json_put_run(json_t *o, const struct result *r);
json_t *result_json_put_point(json_t *o, const struct result *r, const struct point *point);
