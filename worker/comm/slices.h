/* The flat parameter arena cut into slices, and the slices dealt to parameter servers. Pure: both
 * sides compute the same plan from the same three numbers.
 *
 * Every server gets the same number of slices, all of one length but for rounding to a cache line,
 * so bytes are even within k cache lines. Slice i belongs to server i mod n_servers: neighbours in
 * layer order go to different servers, which are then all busy from the first slice on. Only an
 * arena smaller than a cache line a slice leaves some slices empty; they are sent all the same. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SLICES_MAX_BYTES (1u << 20)

struct slices {
    size_t n_params;
    uint32_t n_servers; /* at least 1 */
    uint32_t n;         /* slices: a multiple of n_servers */
};

struct slice {
    size_t offset; /* floats into the arena */
    size_t len;    /* floats */
    uint32_t server;
};

/* `max_bytes` caps a slice; at least 128, two cache lines. */
struct slices slices_plan(size_t n_params, uint32_t n_servers, size_t max_bytes);
struct slice slices_get(const struct slices *s, uint32_t i);
/* Floats that one server owns. */
size_t slices_server_params(const struct slices *s, uint32_t server);
