/* Sums of all ranks' numbers, see collective_sum.h. */
#include "worker/comm/collective/collective_sum.h"

#include "worker/tensor/accumulate.h"

struct terms {
    uint32_t n_ranks;
    const float *const *numbers;
    size_t at, n; /* the floats of this block */
};

static const float *term(const struct terms *t, uint32_t rank)
{
    return t->numbers[rank] + t->at;
}

/* From the rank after the owner round to the owner. */
static void add_ring(const struct terms *t, uint32_t owner, float *to, float *scratch)
{
    const float *sum = term(t, (owner + 1) % t->n_ranks);
    for (uint32_t k = 2; k < t->n_ranks; k++) {
        grad_sum(scratch, sum, term(t, (owner + k) % t->n_ranks), t->n);
        sum = scratch;
    }
    grad_sum(to, sum, term(t, owner), t->n);
}

/* What `rank` has after n_steps of the pairs: in step k it has added what the rank n_ranks >> k
 * away had. The result is a term, or in the first of the n_steps blocks of `scratch`. */
static const float *add_pairs(const struct terms *t, uint32_t n_steps, uint32_t rank,
                              float *scratch)
{
    if (n_steps == 0) {
        return term(t, rank);
    }
    const uint32_t other = rank ^ (t->n_ranks >> n_steps);
    const float *own_sum = add_pairs(t, n_steps - 1, rank, scratch);
    const float *other_sum = add_pairs(t, n_steps - 1, other, scratch + COLLECTIVE_SUM_BLOCK);
    grad_sum(scratch, own_sum, other_sum, t->n);
    return scratch;
}

/* All steps, the last of which adds to where the sum belongs. */
static void add_tree(const struct terms *t, float *to, float *scratch)
{
    const uint32_t n_steps = (uint32_t)__builtin_ctz(t->n_ranks);
    const float *own_sum = add_pairs(t, n_steps - 1, 0, scratch);
    const float *other_sum = add_pairs(t, n_steps - 1, 1, scratch + COLLECTIVE_SUM_BLOCK);
    grad_sum(to, own_sum, other_sum, t->n);
}

void collective_sum(enum collective_way way, uint32_t n_ranks, uint32_t owner,
                    const float *const *numbers, float *to, size_t n, float *scratch)
{
    for (size_t at = 0; at < n; at += COLLECTIVE_SUM_BLOCK) {
        const struct terms t = {
            .n_ranks = n_ranks,
            .numbers = numbers,
            .at = at,
            .n = n - at < COLLECTIVE_SUM_BLOCK ? n - at : COLLECTIVE_SUM_BLOCK,
        };
        if (way == WAY_RING) {
            add_ring(&t, owner, to + at, scratch);
        } else {
            add_tree(&t, to + at, scratch);
        }
    }
}
