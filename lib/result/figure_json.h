/* What documents of results and of comparisons are made of (docs/contracts/result.md, "Figures"),
 * as JSON that the caller owns. Pure. */
#pragma once

#include <jansson.h>

#include "result/result.h"

json_t *json_number_or_null(double value); /* null: not finite */
json_t *json_count(uint64_t n);            /* summaries hold no count beyond INT64_MAX */
json_t *figure_to_json(const struct figure *f);
