/* A figure in a document (docs/contracts/result.md, "Figures"). Pure. */
#pragma once

#include <jansson.h>

#include "result/result.h"

json_t *figure_to_json(const struct figure *f);
json_t *json_number_or_null(double value); /* null: not finite */
json_t *json_count(uint64_t n);            /* summaries hold no count beyond INT64_MAX */
