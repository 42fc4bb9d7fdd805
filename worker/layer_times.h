/* How long the layers of an emulated trainer take: times that `benchworker bench -o trace`
 * recorded, or that somebody wrote down (docs/exchange.md, "Emulated trainers"). Pure.
 * Used by emulation.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/emulation_limits.h"
#include "worker/model/model.h"

struct layer_time {
    size_t offset, n; /* its parameters; n is 0 for a layer without */
    int64_t forward_ns, backward_ns;
};
struct layer_times {
    struct layer_time *layers; /* (n_layers) owned, in the order of the model */
    uint32_t n_layers;
};

#define LAYER_TIMES_LAYER_NS_MAX (EMULATED_LAYER_US_MAX * INT64_C(1000))

/* From "conv1_1=310000:640000,...": nanoseconds forward and backward, in any order. Every layer
 * with parameters is named; one without may be left out and then takes no time. -EINVAL. */
int layer_times_read(const struct model_def *def, const char *text, struct layer_times *ret,
                     struct err *err);
void layer_times_done(struct layer_times *p);

/* What a step's times are multiplied with: about 1, with a standard deviation of jitter_ratio, cut
 * at three of them. A function of (seed, trainer, step). */
double layer_times_factor(uint64_t seed, uint32_t trainer, uint64_t step, double jitter_ratio);

/* A shorter wait for parameters does not count: it is what asking costs. */
#define LAYER_TIMES_WAITED_NS INT64_C(100000)
/* When a layer ends that was due to begin at due_ns. Its parameters were asked for at asked_ns and
 * were there at got_ns. If the trainer had to wait for them, the layer began when they came. If
 * not, it began when it was due, even if the sleep before it took too long: a computing trainer
 * does not oversleep. */
int64_t layer_times_end(int64_t due_ns, int64_t asked_ns, int64_t got_ns, int64_t layer_ns);
