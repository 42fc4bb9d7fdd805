/* How long a trainer or worker computes in a step of so many samples, measured. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pass {
    int64_t batch_size;
    double forward_s, backward_s; /* without waiting */
};
/* A vector (base/vec.h): each batch once. */
struct passes {
    struct pass *items;
    size_t len, cap;
};
