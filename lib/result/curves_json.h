/* A curve of a result in its document (docs/contracts/result.md, "Curves"). Pure. */
#pragma once

#include <jansson.h>

struct curve;
struct result;

json_t *curve_to_json(const struct result *r, const struct curve *c); /* owned by the caller */
