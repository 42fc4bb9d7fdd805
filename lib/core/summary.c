/* See summary.h. */
#include "core/summary.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define NS_PER_S 1e9

const char *summary_fault(const struct summary *s)
{
    return s->samples == 0 ? "'samples' is 0" : s->duration_ns <= 0 ? "'duration_ns' is 0" : NULL;
}

double summary_throughput(const struct summary *s)
{
    return (double)s->samples / ((double)s->duration_ns / NS_PER_S);
}

bool noise_is_known(const struct noise *n)
{
    return n->before.spins_per_s > 0 || n->after.spins_per_s > 0 || n->busy_ns > 0 ||
           n->cpu_run_ns > 0;
}

bool summary_is_usable(const struct summary *s)
{
    return s != NULL && summary_fault(s) == NULL;
}

char *summary_explain(const struct summary *s)
{
    return s == NULL ? xstrdup(SUMMARY_MISSING)
                     : xasprintf(SUMMARY_REFUSED ": %s", summary_fault(s));
}

char *summary_write(const struct summary *s, const struct replica_id *id)
{
    struct buf out = BUF_INIT;
    record_write_summary(&out, &(struct record_who){id->role, id->index, id->attempt.number}, s);
    out.data[out.len - 1] = '\0';
    return buf_take(&out);
}

/* ---- the throughput of a trial ---- */

struct figures {
    double sum, job_sum; /* of those that lead; of summaries of the whole job */
    uint32_t n, n_job;
    enum summary_unit unit, job_unit; /* of those that lead; of the whole job */
    bool is_mixed;
};

static void add(struct figures *f, const struct replica_row *row, enum role leading,
                uint32_t n_leading)
{
    const struct summary *s = row->summary;
    if (row->id.role == ROLE_PSERVER || !summary_is_usable(s)) {
        return;
    }
    const double x = summary_throughput(s);
    if (s->source.is_job) {
        f->job_sum += x;
        f->job_unit = s->source.unit;
        f->n_job++;
    }
    if (row->id.role == leading && row->id.index < n_leading) {
        f->is_mixed |= f->n > 0 && f->unit != s->source.unit;
        f->unit = s->source.unit;
        f->sum += x;
        f->n++;
    }
}

static struct figures figures_of(const struct attempt_row *row,
                                 const uint32_t sizes[static ROLE_COUNT])
{
    const enum role leading = role_leading(sizes);
    struct figures f = {0};
    for (size_t i = 0; i < row->replicas.len && row->outcome == ATTEMPT_SUCCEEDED; i++) {
        add(&f, &row->replicas.items[i], leading, sizes[leading]);
    }
    return f;
}

double throughput_of_attempt(const struct attempt_row *row, const uint32_t sizes[static ROLE_COUNT])
{
    const struct figures f = figures_of(row, sizes);
    const uint32_t n_leading = sizes[role_leading(sizes)];
    if (f.n_job > 0) {
        return f.job_sum / f.n_job;
    }
    return f.n == n_leading && n_leading > 0 && !f.is_mixed ? f.sum : NAN;
}

enum summary_unit throughput_unit_of_attempt(const struct attempt_row *row,
                                             const uint32_t sizes[static ROLE_COUNT])
{
    const struct figures f = figures_of(row, sizes);
    return f.n_job > 0 ? f.job_unit : f.unit;
}

/* ---- noise ---- */

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
}

void summary_add_counts(struct summary *s, const struct noise *counted, int64_t throttled_ns)
{
    struct noise *noise = &s->noise;
    if (noise->busy_ns == 0) {
        noise->busy_ns = counted->busy_ns;
        noise->steal_ns = counted->steal_ns;
    }
    if (noise->cpu_run_ns == 0 && counted->cpu_run_ns > 0) {
        noise->cpu_run_ns = s->cpu_ns = counted->cpu_run_ns;
        noise->cpu_wait_ns = counted->cpu_wait_ns;
        noise->by_launcher = true;
        s->throttled_ns = s->throttled_ns > 0 ? s->throttled_ns : throttled_ns;
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
