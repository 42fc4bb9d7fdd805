/* See throughput.h. */
#include "core/throughput.h"

#include <math.h>

#include "core/summary.h"

struct figures {
    double sum, job_sum; /* of those that lead; of summaries of the whole job */
    uint32_t n, n_job;
    enum summary_unit unit, job_unit; /* of those that lead; of the whole job */
    bool is_mixed;
};

/* As point_leading_role (spec/matrix.h). */
static enum role leading_role(const uint32_t sizes[static ROLE_COUNT])
{
    return sizes[ROLE_LAUNCHER] > 0 ? ROLE_LAUNCHER
           : sizes[ROLE_WORKER] > 0 ? ROLE_WORKER
                                    : ROLE_TRAINER;
}

static void add(struct figures *f, const struct replica_row *row, enum role leading,
                uint32_t n_leading)
{
    struct summary s;
    if (row->id.role == ROLE_PSERVER ||
        summary_read_usable(row->summary_json, &row->id, &s, NULL) < 0) {
        return;
    }
    const double x = summary_throughput(&s);
    if (s.source.is_job) {
        f->job_sum += x;
        f->job_unit = s.source.unit;
        f->n_job++;
    }
    if (row->id.role == leading && row->id.index < n_leading) {
        f->is_mixed |= f->n > 0 && f->unit != s.source.unit;
        f->unit = s.source.unit;
        f->sum += x;
        f->n++;
    }
}

static struct figures figures_of(const struct attempt_row *row,
                                 const uint32_t sizes[static ROLE_COUNT])
{
    const enum role leading = leading_role(sizes);
    struct figures f = {0};
    for (size_t i = 0; i < row->replicas.len && row->outcome == ATTEMPT_SUCCEEDED; i++) {
        add(&f, &row->replicas.items[i], leading, sizes[leading]);
    }
    return f;
}

double throughput_of_attempt(const struct attempt_row *row, const uint32_t sizes[static ROLE_COUNT])
{
    const struct figures f = figures_of(row, sizes);
    const uint32_t n_leading = sizes[leading_role(sizes)];
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
