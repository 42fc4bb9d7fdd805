/* See replica_numbers.h. Everything of a summary but its series and the digest of its environment,
 * which no figure needs, and flops_per_s of its probes, which became a metric of the trial. */
#include "result/replica_numbers.h"

#include <string.h>

#include "result/replica_speed.h"

#define OF(member)                                                                                 \
    {                                                                                              \
        offsetof(struct replica_result, member), sizeof(((struct replica_result *)NULL)->member)   \
    }

/* Of 8 bytes: their bits. Of 4: an unsigned number. Of 1: a flag. */
static const struct column {
    size_t offset, size;
} columns[] = {
    OF(has_summary),
    OF(summary.samples),
    OF(summary.duration_ns),
    OF(summary.steps),
    OF(summary.phase_ns[0]),
    OF(summary.phase_ns[1]),
    OF(summary.phase_ns[2]),
    OF(summary.phase_ns[3]),
    OF(summary.phase_ns[4]),
    OF(summary.phase_ns[5]),
    OF(summary.phase_ns[6]),
    OF(summary.bytes_tx),
    OF(summary.bytes_rx),
    OF(summary.loss_first),
    OF(summary.loss_last),
    OF(summary.throttled_ns),
    OF(summary.throttled_periods),
    OF(summary.max_rss_bytes),
    OF(summary.cpu_ns),
    OF(summary.series_k),
    OF(summary.source.is_job),
    OF(summary.source.accuracy_last),
    OF(summary.last.trainer),
    OF(summary.last.steps),
    OF(summary.last.wait_ns),
    OF(summary.staleness.slices),
    OF(summary.staleness.mean),
    OF(summary.staleness.max),
    OF(summary.noise.before.spins_per_s),
    OF(summary.noise.before.copy_bytes_per_s),
    OF(summary.noise.after.spins_per_s),
    OF(summary.noise.after.copy_bytes_per_s),
    OF(summary.noise.busy_ns),
    OF(summary.noise.steal_ns),
    OF(summary.noise.cpu_run_ns),
    OF(summary.noise.cpu_wait_ns),
    OF(summary.noise.by_launcher),
    OF(summary.transport),
    OF(steps.sum_s),
    OF(steps.fall),
    OF(verdict),
};
_Static_assert(PHASE_COUNT == 7, "a column for each phase");

/* After the table. PACE: bits of a median step time; 0 if none exists, or the
 * summary says the pace. */
enum { UNIT = COUNT_OF(columns), PACE, ALL_COLUMNS };

size_t replica_numbers_count(void)
{
    return ALL_COLUMNS;
}

uint64_t replica_number_get(const struct replica_result *r, size_t column)
{
    uint64_t value = 0;
    if (column == UNIT) {
        return r->summary.source.unit;
    }
    if (column == PACE) {
        if (r->speed.kind == SPEED_STEP) {
            memcpy(&value, &r->speed.step_ns, sizeof(value));
        }
        return value;
    }
    const char *at = (const char *)r + columns[column].offset;
    uint32_t small = 0;
    bool flag = false;
    switch (columns[column].size) {
    case sizeof(value):
        memcpy(&value, at, sizeof(value));
        return value;
    case sizeof(small):
        memcpy(&small, at, sizeof(small));
        return small;
    default:
        memcpy(&flag, at, sizeof(flag));
        return flag;
    }
}

static bool set_unit(struct replica_result *r, uint64_t value)
{
    r->summary.source.unit = (enum summary_unit)value;
    return value < SUMMARY_UNIT_COUNT;
}

static void set_pace(struct replica_result *r, uint64_t value)
{
    if (value != 0) {
        r->speed.kind = SPEED_STEP;
        memcpy(&r->speed.step_ns, &value, sizeof(value));
    } else if (r->has_summary) {
        r->speed = replica_speed_of(r->row->id.role, &r->summary);
    }
}

bool replica_number_set(struct replica_result *r, size_t column, uint64_t value)
{
    if (column == UNIT) {
        return set_unit(r, value);
    }
    if (column == PACE) {
        set_pace(r, value);
        return true;
    }
    char *at = (char *)r + columns[column].offset;
    const uint32_t small = (uint32_t)value;
    const bool flag = value != 0;
    switch (columns[column].size) {
    case sizeof(value):
        memcpy(at, &value, sizeof(value));
        return true;
    case sizeof(small):
        memcpy(at, &small, sizeof(small));
        return r->summary.transport < EXCHANGE_TRANSPORT_COUNT && r->verdict < LOG_VERDICT_COUNT;
    default:
        memcpy(at, &flag, sizeof(flag));
        return true;
    }
}
