/* What a run that was measured says of times that a simulation needs: how long a trainer computes, how much that
 * varies, and what a byte costs a server. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "predict/gang.h"
#include "result/result.h"

struct calibration {
    /* Of the trainer that computed with the fewest others, at best alone. */
    uint32_t point;
    int64_t batch_size, threads;
    double forward_s, backward_s; /* of a step, without waiting */
    double jitter_ratio;          /* of its step times; NaN: it was not alone */
    struct gang_costs costs;      /* over all points with servers; 0 where there are none */
    uint64_t server_bytes;        /* that these are from */
    bool shares_memory;           /* some trainers and servers did: over TCP a byte costs more */
};
/* `rows` of the result have their summaries. -EINVAL: it has no trainer with phases. */
int calibrate(const struct result *r, struct calibration *ret, struct err *err);
