/* Random numbers that the made-up trials of interval_coverage.c and its like are drawn with; they follow from the state of
 * splitmix64 alone. */
#pragma once

#include <stdint.h>

double draw_uniform(uint64_t *state); /* in (0, 1] */
double draw_normal(
    uint64_t *state); /* mean 0, deviation 1; Box and Muller, Ann. Math. Statist. 29 (1958) 610 */
