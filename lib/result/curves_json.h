/* The curves of a result in its document (docs/contracts/result.md, "Curves"). Pure; called by
 * result_json.c. */
#pragma once

#include <jansson.h>

struct result;

json_t *curves_to_json(const struct result *r);
