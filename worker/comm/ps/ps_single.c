/* See ps_single.h. */
#include "worker/comm/ps/ps_single.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "worker/tensor/accumulate.h"

void ps_single_init(struct ps_single *s, uint32_t n_trainers, enum exchange_wire wire,
                    size_t n_slices, size_t max_len, uint64_t max_each)
{
    *s = (struct ps_single){
        .n_trainers = n_trainers,
        .wire = wire,
        .n_slices = n_slices,
        .max_len = max_len,
        .versions = xnew_array(uint64_t, n_slices),
        .seen = xnew_array(uint64_t, n_trainers * n_slices),
        .copies = xnew_array(void *, n_trainers *max_each),
        .max_each = max_each,
    };
}

void ps_single_done(struct ps_single *s)
{
    for (size_t i = 0; i < s->n_trainers * s->max_each; i++) {
        free(s->copies[i]);
    }
    vec_free(&s->spare);
    free(s->copies);
    free(s->seen);
    free(s->versions);
    *s = (struct ps_single){0};
}

void *ps_single_take(struct ps_single *s)
{
    return s->spare.len > 0 ? s->spare.items[--s->spare.len] : xnew_array(float, s->max_len);
}

void ps_single_drop(struct ps_single *s, void *buffer)
{
    *vec_push(&s->spare) = buffer;
}

/* bf16 is widened from the upper half of the floats to the front. */
void *ps_single_landing(const struct ps_single *s, void *buffer, size_t len)
{
    return s->wire == EXCHANGE_WIRE_BF16 ? (void *)((uint16_t *)buffer + len) : buffer;
}

uint64_t ps_single_arrived(struct ps_single *s, uint32_t trainer, size_t slice, void *buffer,
                           size_t len)
{
    if (s->wire == EXCHANGE_WIRE_BF16) {
        bf16_widen(buffer, ps_single_landing(s, buffer, len), len);
    }
    const uint64_t staleness = s->versions[slice] - s->seen[trainer * s->n_slices + slice];
    s->staleness_sum += staleness;
    s->staleness_max = staleness > s->staleness_max ? staleness : s->staleness_max;
    s->n_gradients++;
    return ++s->versions[slice];
}

static void **copy_of(const struct ps_single *s, uint32_t trainer, uint64_t number)
{
    return &s->copies[trainer * s->max_each + number % s->max_each];
}

const void *ps_single_send(struct ps_single *s, uint32_t trainer, size_t slice, uint64_t number,
                           const float *params, size_t len)
{
    void **copy = copy_of(s, trainer, number);
    assert(*copy == NULL);
    *copy = ps_single_take(s);
    if (s->wire == EXCHANGE_WIRE_BF16) {
        bf16_narrow(*copy, params, len);
    } else {
        memcpy(*copy, params, len * sizeof(*params));
    }
    s->seen[trainer * s->n_slices + slice] = s->versions[slice];
    return *copy;
}

void ps_single_release(struct ps_single *s, uint32_t trainer, uint64_t number)
{
    void **copy = copy_of(s, trainer, number);
    ps_single_drop(s, *copy);
    *copy = NULL;
}
