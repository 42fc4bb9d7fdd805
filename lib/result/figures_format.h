/* The columns of a replica, for figures_pack.c and figures_unpack.c alone. Pure. */
#pragma once

#include "result/result.h"

#define FIGURES_FORMAT 3 /* the first byte of both parts */

/* Numbers of a replica's result; a column a number. They are set in their order, for the last ones
 * follow from others. */
size_t figures_column_count(void);
uint64_t figures_column_get(const struct replica_result *r, size_t column);
/* False: no writer produces that. `n_hardware`: how many kinds of machines the result has. */
bool figures_column_set(struct replica_result *r, size_t column, uint64_t value, size_t n_hardware);

/* Its texts, which are columns of references. */
enum figures_text { FIGURES_FAILURE, FIGURES_NODE, FIGURES_RULE, FIGURES_METHOD };
#define FIGURES_TEXT_COUNT 4
