/* Lists of addresses as text (docs/contracts/environment.md, "Address lists"): "host:port"
 * separated by commas, where "name-{0..19}.svc:7164" stands for twenty. A gang of pods has
 * addresses that differ by a number, so the pattern is as short for thousands as for three.
 * Pure. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Appends them one by one. */
void address_list_write(char *const *addresses, uint32_t n, struct buf *out);
/* Appends a range, or the same as above where the addresses do not count up. No address has a brace
 * or a comma. */
void address_list_write_pattern(char *const *addresses, uint32_t n, struct buf *out);

/* Gets the addresses in their order; a negative result ends the reading. */
typedef int (*address_fn)(void *ctx, const char *address, struct err *err);
/* -EINVAL: a pattern is wrong, or stands for more than `max` addresses together with what is before
 * it; err quotes it. */
int address_list_read(const char *text, uint32_t max, address_fn on_address, void *ctx,
                      struct err *err);
