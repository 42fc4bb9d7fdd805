/* What an ended run's rows say, as bytes that a store keeps next to them, so that the rows need not
 * be read again: a table needs a fifth of them, a comparison a thousandth. Pure.
 *
 * Only what is read from a row is in it (a trial's throughput, a replica's summary without its
 * series, ...). What follows from that (medians, intervals, speedups, warnings, ...) is computed by
 * the code that computes it from rows, so that the two cannot differ. Bytes are read by the code
 * that wrote them and by no other: figures_version().
 *
 *   points    for comparisons and histories: 2 kB of 44 points with five trials, compressed
 *   replicas  the rest, for tables that look at single replicas: 70 bytes each, compressed */
#pragma once

#include "base/buf.h"
#include "result/result.h"

/* Zero-initialised is empty. */
struct figures_bytes {
    struct buf points, replicas;
};
void figures_bytes_done(struct figures_bytes *b);

#define FIGURES_MAX_REPLICAS 300000 /* of a run; 70 MB when they are unpacked */

/* Of a result with a final phase. The second part stays empty where it has no replicas (any more),
 * or more than FIGURES_MAX_REPLICAS; then only figures_unpack_points can be asked. */
void figures_pack(const struct result *r, bool has_replicas, struct figures_bytes *ret);
