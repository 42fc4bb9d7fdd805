/* Sums in trainer order, see reduce.h. */
#include "worker/comm/ps/reduce.h"

#include <assert.h>

#include "base/mem.h"
#include "worker/comm/link/frame.h"
#include "worker/tensor/accumulate.h"

#define LINE_BYTES 64

static void *new_lines(size_t bytes)
{
    void *p = aligned_alloc(LINE_BYTES, (bytes + LINE_BYTES) / LINE_BYTES * LINE_BYTES);
    if (p == NULL) {
        abort(); /* as xmalloc */
    }
    return p;
}

void reduce_init(struct reduce *r, uint32_t n_trainers, enum exchange_wire wire, const size_t *lens,
                 size_t n, size_t max_early_bytes)
{
    *r = (struct reduce){.n_trainers = n_trainers, .wire = wire, .n = n};
    r->slices = xnew_array(struct reduce_slice, n);
    for (size_t i = 0; i < n; i++) {
        r->slices[i] = (struct reduce_slice){
            .len = lens[i],
            .sum = new_lines(lens[i] * sizeof(float)),
            .early = xnew_array(void *, n_trainers),
        };
        const size_t bytes = lens[i] * frame_wire_bytes(wire);
        r->buffer_bytes = bytes > r->buffer_bytes ? bytes : r->buffer_bytes;
    }
    r->max_early = r->buffer_bytes > 0 ? max_early_bytes / r->buffer_bytes : max_early_bytes;
    r->max_early = r->max_early > 0 ? r->max_early : 1;
}

void reduce_done(struct reduce *r)
{
    for (size_t i = 0; i < r->n; i++) {
        for (uint32_t t = 0; t < r->n_trainers; t++) {
            free(r->slices[i].early[t]);
        }
        free(r->slices[i].early);
        free(r->slices[i].sum);
    }
    free(r->slices);
    vec_free(&r->spare);
    *r = (struct reduce){0};
}

bool reduce_has_room(const struct reduce *r, size_t i, uint32_t trainer)
{
    const bool is_wanted_next = i == r->first && trainer == r->slices[i].next;
    return trainer == 0 || r->n_reserved + (is_wanted_next ? 0 : 1) < r->max_early;
}

void reduce_reserve(struct reduce *r, size_t i, uint32_t trainer)
{
    (void)i; /* unused without assertions */
    assert(reduce_has_room(r, i, trainer));
    r->n_reserved += trainer != 0;
}

/* Where trainer 0's gradient lands. What is in bf16 is widened from there to the front. */
static void *landing(const struct reduce *r, size_t i)
{
    const struct reduce_slice *s = &r->slices[i];
    return r->wire == EXCHANGE_WIRE_BF16 ? (void *)((uint16_t *)s->sum + s->len) : s->sum;
}

void *reduce_take(struct reduce *r, size_t i, uint32_t trainer)
{
    if (trainer == 0) {
        return landing(r, i);
    }
    r->n_taken++;
    assert(r->n_taken <= r->n_reserved);
    r->n_peak = r->n_taken > r->n_peak ? r->n_taken : r->n_peak;
    return r->spare.len > 0 ? r->spare.items[--r->spare.len] : new_lines(r->buffer_bytes);
}

void reduce_drop(struct reduce *r, size_t i, uint32_t trainer, void *grad)
{
    (void)i; /* unused without assertions */
    assert((trainer == 0) == (grad == landing(r, i)));
    if (trainer == 0) {
        return;
    }
    r->n_taken--;
    r->n_reserved--;
    *vec_push(&r->spare) = grad;
}

void reduce_add_part(struct reduce *r, size_t i, uint32_t trainer, const void *grad, size_t n)
{
    struct reduce_slice *s = &r->slices[i];
    if (trainer != s->next || (trainer == 0 && r->wire == EXCHANGE_WIRE_FP32)) {
        return;
    }
    assert(n >= s->n_added && n <= s->len);
    float *sum = s->sum + s->n_added;
    const size_t more = n - s->n_added;
    if (r->wire == EXCHANGE_WIRE_FP32) {
        grad_add(sum, (const float *)grad + s->n_added, more);
    } else if (trainer == 0) {
        bf16_widen(sum, (const uint16_t *)grad + s->n_added, more);
    } else {
        bf16_add(sum, (const uint16_t *)grad + s->n_added, more);
    }
    s->n_added = n;
}

bool reduce_add(struct reduce *r, size_t i, uint32_t trainer, void *grad)
{
    struct reduce_slice *s = &r->slices[i];
    if (trainer != s->next) {
        assert(trainer > s->next && s->early[trainer] == NULL);
        s->early[trainer] = grad;
        return false;
    }
    while (grad != NULL) {
        reduce_add_part(r, i, s->next, grad, s->len);
        s->n_added = 0;
        reduce_drop(r, i, s->next, grad);
        s->next++;
        if (s->next == r->n_trainers) {
            s->next = 0;
            assert(i == r->first);
            r->first = i + 1 < r->n ? i + 1 : 0;
            return true;
        }
        grad = s->early[s->next];
        s->early[s->next] = NULL;
    }
    return false;
}

const float *reduce_sum(const struct reduce *r, size_t i)
{
    return r->slices[i].sum;
}
