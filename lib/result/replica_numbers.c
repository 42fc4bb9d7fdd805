/* See replica_numbers.h. Everything of a summary but its series and the digest of its environment,
 * which no figure needs. */
#include "result/replica_numbers.h"

#include <string.h>

#include "result/replica_speed.h"

enum kind { I64, U64, U32, REAL, FLAG };

#define OF(member) offsetof(struct replica_result, member)
#define PHASE(k)                                                                                   \
    {                                                                                              \
        I64, OF(summary.phase_ns[k])                                                               \
    }

static const struct column {
    enum kind kind;
    size_t offset;
} columns[] = {
    {FLAG, OF(has_summary)},
    {U64, OF(summary.samples)},
    {I64, OF(summary.duration_ns)},
    {U32, OF(summary.steps)},
    PHASE(0),
    PHASE(1),
    PHASE(2),
    PHASE(3),
    PHASE(4),
    PHASE(5),
    PHASE(6),
    {U64, OF(summary.bytes_tx)},
    {U64, OF(summary.bytes_rx)},
    {REAL, OF(summary.loss_first)},
    {REAL, OF(summary.loss_last)},
    {I64, OF(summary.throttled_ns)},
    {U64, OF(summary.throttled_periods)},
    {U64, OF(summary.max_rss_bytes)},
    {I64, OF(summary.cpu_ns)},
    {U32, OF(summary.series_k)},
    {FLAG, OF(summary.source.is_job)},
    {REAL, OF(summary.source.accuracy_last)},
    {U32, OF(summary.last.trainer)},
    {U32, OF(summary.last.steps)},
    {I64, OF(summary.last.wait_ns)},
    {U64, OF(summary.staleness.slices)},
    {REAL, OF(summary.staleness.mean)},
    {U64, OF(summary.staleness.max)},
    {U64, OF(summary.late.slices)},
    {U64, OF(summary.late.dropped)},
    {U32, OF(summary.late.trainer)},
    {U64, OF(summary.late.most)},
    {U64, OF(summary.noise.before.spins_per_s)},
    {U64, OF(summary.noise.before.copy_bytes_per_s)},
    {U64, OF(summary.noise.after.spins_per_s)},
    {U64, OF(summary.noise.after.copy_bytes_per_s)},
    {I64, OF(summary.noise.busy_ns)},
    {I64, OF(summary.noise.steal_ns)},
    {I64, OF(summary.noise.cpu_run_ns)},
    {I64, OF(summary.noise.cpu_wait_ns)},
    {FLAG, OF(summary.noise.by_launcher)},
    {U32, OF(summary.transport)},
    {REAL, OF(steps.sum_s)},
    {REAL, OF(steps.fall)},
};
_Static_assert(PHASE_COUNT == 7, "a column for each phase");
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* After the table. PACE: bits of a median step time; 0 if none exists, or the
 * summary says the pace. */
enum { UNIT = N_COLUMNS, PACE, ALL_COLUMNS };

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
    switch (columns[column].kind) {
    case I64:
    case U64:
    case REAL:
        memcpy(&value, at, sizeof(value));
        break;
    case U32: {
        uint32_t small;
        memcpy(&small, at, sizeof(small));
        value = small;
        break;
    }
    case FLAG: {
        bool flag;
        memcpy(&flag, at, sizeof(flag));
        value = flag;
        break;
    }
    }
    return value;
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
    switch (columns[column].kind) {
    case I64:
    case U64:
    case REAL:
        memcpy(at, &value, sizeof(value));
        break;
    case U32: {
        const uint32_t small = (uint32_t)value;
        memcpy(at, &small, sizeof(small));
        break;
    }
    case FLAG: {
        const bool flag = value != 0;
        memcpy(at, &flag, sizeof(flag));
        break;
    }
    }
    return true;
}
