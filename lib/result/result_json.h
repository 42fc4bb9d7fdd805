/* A result as its JSON document, and the parts that documents of results and of comparisons are
 * made of. Pure. */
#pragma once

#include <jansson.h>

#include "result/result.h"

/* All owned by the caller. The first is the document of docs/contracts/result.md. */
json_t *result_to_json(const struct result *r);
json_t *figure_to_json(const struct figure *f);
json_t *params_to_json(const struct params *params);
json_t *counts_to_json(const uint32_t counts[ROLE_COUNT]);
json_t *json_number_or_null(double value); /* null: not finite */
