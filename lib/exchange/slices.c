/* Slices of the parameter arena, see slices.h. */
#include "exchange/slices.h"

#include <assert.h>

#include "exchange/flow.h"

#define LINE 16 /* floats in a cache line: slices start on one */

struct slices slices_plan(size_t n_params, uint32_t n_servers, size_t max_bytes)
{
    assert(n_servers > 0 && max_bytes >= 2 * LINE * sizeof(float));
    /* Rounding makes a slice up to a line longer than the mean. */
    size_t max_len = max_bytes / sizeof(float) / LINE * LINE;
    size_t per_round = (max_len - LINE) * n_servers;
    size_t rounds = n_params == 0 ? 1 : (n_params + per_round - 1) / per_round;
    return (struct slices){
        .n_params = n_params,
        .n_servers = n_servers,
        .n = (uint32_t)(rounds * n_servers),
        .n_threads = 1,
    };
}

struct slices slices_of_gang(size_t n_params, uint32_t n_servers, uint32_t n_trainers)
{
    assert(n_trainers > 0);
    const size_t fair = FLOW_BYTES / n_trainers;
    return slices_plan(n_params, n_servers,
                       fair < SLICES_MIN_BYTES   ? SLICES_MIN_BYTES
                       : fair > SLICES_MAX_BYTES ? SLICES_MAX_BYTES
                                                 : fair);
}

/* Where slice i starts: the i-th of n equal parts, rounded down to a line. */
static size_t start(const struct slices *s, uint32_t i)
{
    if (i == s->n) {
        return s->n_params;
    }
    /* Split so that the product stays small: n_params = q * n + r. */
    size_t q = s->n_params / s->n;
    size_t r = s->n_params % s->n;
    return (q * i + r * i / s->n) / LINE * LINE;
}

struct slice slices_get(const struct slices *s, uint32_t i)
{
    assert(i < s->n);
    size_t offset = start(s, i);
    return (struct slice){
        .offset = offset,
        .len = start(s, i + 1) - offset,
        .server = i % s->n_servers,
    };
}

size_t slices_longest(const struct slices *s)
{
    size_t longest = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const size_t len = slices_get(s, i).len;
        longest = len > longest ? len : longest;
    }
    return longest;
}

size_t slices_server_params(const struct slices *s, uint32_t server)
{
    size_t sum = 0;
    for (uint32_t i = server; i < s->n; i += s->n_servers) {
        sum += slices_get(s, i).len;
    }
    return sum;
}

uint32_t slices_server(const struct slices *s, uint32_t process, uint32_t thread)
{
    return thread * (s->n_servers / s->n_threads) + process;
}

size_t slices_process_params(const struct slices *s, uint32_t process, uint32_t n_threads)
{
    size_t sum = 0;
    for (uint32_t t = 0; t < n_threads; t++) {
        sum += slices_server_params(s, slices_server(s, process, t));
    }
    return sum;
}
