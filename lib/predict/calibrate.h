/* What a run that was measured says of times that a simulation needs: how long a trainer computes,
 * how much that varies, and what a byte costs a server. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "predict/predict.h"
#include "result/result.h"

struct calibration {
    /* Of the trainer or worker that computed with the fewest others, at best alone. */
    uint32_t point;
    int64_t batch_size, threads;
    double forward_s, backward_s; /* of a step, without waiting */
    struct passes passes; /* owned: the same of each batch that was measured with these threads */
    double jitter_ratio;  /* of its step times; NaN: it was not alone */
    /* Over all points with servers, or workers, that exchange as is simulated; 0
     * where none exist. */
    struct gang_costs costs;
    uint64_t server_bytes; /* that those of servers are from */
    uint64_t worker_bytes; /* the same of workers, sent and received by one of each point */
    bool shares_memory;    /* some replicas did: over TCP a byte costs more */
};
/* `rows` of the result have their summaries. -EINVAL: it has no trainer or worker with phases. */
int calibrate(const struct result *r, struct calibration *ret, struct err *err);
void calibration_done(struct calibration *c);
