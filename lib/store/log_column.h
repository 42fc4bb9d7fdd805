/* The numbers of a form's lines, column by column. A column keeps what its rule does not foresee:
 *
 *   foreseen = what the `order` lines before extend to (0: zero, 1: the last number, 2: the
 *              straight line of two)
 *            + the sum of `n_others` numbers of the same line, from number `first` on, which
 *              follow it
 *
 * So the end of a step costs nothing where it is the last end plus the step's time, and that time
 * little where it is the sum of the phases after it. All arithmetic is modulo 2^64: any rule gives
 * back any numbers. Used by log_pack.c and log_unpack.c. Pure. */
#pragma once

#include "store/log_bytes.h"
#include "store/log_line.h"

/* `numbers`: n_rows x n_slots, row-major. */
void log_columns_put(const struct log_number *numbers, size_t n_rows, size_t n_slots,
                     struct log_packed *out);
/* False: the bytes are no columns of so many numbers, or of numbers that are printed otherwise. */
bool log_columns_get(struct log_bytes *in, size_t n_rows, size_t n_slots,
                     struct log_number *ret_numbers);
