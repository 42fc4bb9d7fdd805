/* Cuts the flat parameter arena into slices and assigns them to parameter servers. Pure: both sides
 * compute the same slices from the same numbers.
 *
 * Every server gets the same number of slices, all of the same length up to rounding to a cache
 * line, so the bytes of two servers differ by at most a cache line per slice. Slice i belongs to
 * server i mod n_servers: neighbours in layer order go to different servers, which are all busy
 * from the first slice on. Slices are empty only in an arena of less than a cache line per slice;
 * they are sent too. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SLICES_MIN_BYTES (256u << 10)
#define SLICES_MAX_BYTES (1u << 20)

struct slices {
    size_t n_params;
    uint32_t n_servers; /* at least 1; each thread of a server process is one */
    uint32_t n;         /* slices: a multiple of n_servers */
    uint32_t n_threads; /* of each process; n_servers is a multiple of it */
};

struct slice {
    size_t offset; /* floats into the arena */
    size_t len;    /* floats */
    uint32_t server;
};

/* `max_bytes` limits the size of a slice; at least 128, two cache lines. */
struct slices slices_plan(size_t n_params, uint32_t n_servers, size_t max_bytes);
struct slice slices_get(const struct slices *s, uint32_t i);
/* Those of servers and trainers. Slices are as long as a server lets all its trainers send one at a
 * time (FLOW_BYTES), within the two limits above. Longer ones leave most trainers' links idle while
 * all servers serve the same few, and the last slice of all trainers, which nothing hides, takes
 * longer. Shorter ones cost more CPU time a byte. */
struct slices slices_of_gang(size_t n_params, uint32_t n_servers, uint32_t n_trainers);
/* Floats of the longest slice. */
size_t slices_longest(const struct slices *s);
/* Floats that one server owns. */
size_t slices_server_params(const struct slices *s, uint32_t server);
/* The server that is this thread of a process: neighbours in layer order go to different processes,
 * then to different threads. */
uint32_t slices_server(const struct slices *s, uint32_t process, uint32_t thread);
/* Floats that a process owns, with the first `n_threads` of its threads. */
size_t slices_process_params(const struct slices *s, uint32_t process, uint32_t n_threads);
