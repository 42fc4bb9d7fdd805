/* A result as its JSON document. Pure. */
#pragma once

#include <jansson.h>

#include "result/result.h"

/* All owned by the caller. The first is the document of docs/contracts/result.md. */
json_t *result_to_json(const struct result *r);
/* The same in parts, for callers that do not have it in memory as a whole: the document with empty
 * lists of points and curves, and point `i` of the result; those before
 * matrix.n_swept are `points`, the others `baselines`. */
json_t *result_frame_to_json(const struct result *r);
json_t *result_point_to_json(const struct result *r, uint32_t i);
/* What documents say of a run and of a point, each as the next members of an object, which is
 * returned. */
json_t *result_json_put_run(json_t *o, const struct result *r);
json_t *result_json_put_point(json_t *o, const struct result *r, const struct point *point);
