/* The numbers of a replica's result as columns of 64 bits, for trial_figures.c alone. Pure. */
#pragma once

#include "result/result.h"

size_t replica_numbers_count(void);
uint64_t replica_number_get(const struct replica_result *r, size_t column);
/* In the order of the columns, for the last one follows from others. False: no writer produces
 * that. */
bool replica_number_set(struct replica_result *r, size_t column, uint64_t value);
