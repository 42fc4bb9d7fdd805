/* A result as its JSON document. Pure. */
#pragma once

#include <jansson.h>

#include "core/json_out.h"
#include "result/result.h"

/* The document of docs/contracts/result.md: each point in order, with the replicas of its
 * trials. Without its end it is no document. */
void result_json_begin(struct json_out *w, const struct result *r);
void result_json_add(struct json_out *w, const struct point_result *p);
void result_json_end(struct json_out *w, const struct result *r);
/* What documents say of a run and of a point: the next members of `o`, which is returned. */
json_t *result_json_put_run(json_t *o, const struct result *r);
json_t *result_json_put_point(json_t *o, const struct result *r, const struct point *point);
