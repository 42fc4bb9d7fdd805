/* See noise_rule.h. */
#include "core/noise_rule.h"

#include <math.h>

#include "base/text.h"

/* Both are known and differ by more than `bound`, either being the whole. */
static bool differ(uint64_t before, uint64_t after, double bound)
{
    const uint64_t less = before < after ? before : after, more = before < after ? after : before;
    return less > 0 && (double)less < (1 - bound) * (double)more;
}

bool noise_worker_looks(enum exchange_kind exchange, bool has_warmup,
                        const struct exchange_mode *mode)
{
    return exchange == EXCHANGE_NONE || (has_warmup && mode->kind == EXCHANGE_SYNC);
}

void noise_add_seen(struct noise *noise, const struct noise *seen)
{
    if (noise->before.spins_per_s == 0 && noise->after.spins_per_s == 0) {
        noise->before = seen->before;
        noise->after = seen->after;
        noise->by_launcher = true;
    }
    if (noise->busy_ns == 0) {
        noise->busy_ns = seen->busy_ns;
        noise->steal_ns = seen->steal_ns;
    }
}

/* What the probes were around. */
static const char *between_of(const struct noise *n)
{
    return n->by_launcher ? "attempt" : "measured steps";
}

static void say_change(const struct noise *n, const char *what, uint64_t before, uint64_t after,
                       char *dst, size_t size)
{
    text_put(dst, size, "%s %.0f%% %s after the %s than before", what,
             100 * fabs((double)after / (double)before - 1), after < before ? "lower" : "higher",
             between_of(n));
}

bool noise_is_invalid(const struct noise *n, char *ret_why, size_t size)
{
    const struct noise_probe *before = &n->before, *after = &n->after;
    const bool is_probed = before->spins_per_s > 0 && after->spins_per_s > 0;
    if (differ(before->spins_per_s, after->spins_per_s, NOISE_INVALID_CLOCK)) {
        say_change(n, "clock", before->spins_per_s, after->spins_per_s, ret_why, size);
    } else if (differ(before->copy_bytes_per_s, after->copy_bytes_per_s, NOISE_INVALID_COPY)) {
        say_change(n, "memory copies", before->copy_bytes_per_s, after->copy_bytes_per_s, ret_why,
                   size);
    } else if (is_probed && (before->copy_bytes_per_s == 0) != (after->copy_bytes_per_s == 0)) {
        text_put(ret_why, size, "the machine was too busy for one copy %s the %s",
                 after->copy_bytes_per_s == 0 ? "after" : "before", between_of(n));
    } else if (n->busy_ns >= NOISE_STEAL_MIN_BUSY_NS &&
               (double)n->steal_ns > NOISE_INVALID_STEAL * (double)n->busy_ns) {
        text_put(ret_why, size, "the hypervisor took %.0f%% of the time in which its CPUs had work",
                 100 * (double)n->steal_ns / (double)n->busy_ns);
    } else {
        return false;
    }
    return true;
}
