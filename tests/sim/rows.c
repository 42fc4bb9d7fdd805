/* What a row of an attempt must say. */
#include "sim.h"

#include <string.h>

#include "base/str.h"
#include "core/phase.h"

#define DATES_MS 1001   /* the dates of both are whole seconds */
#define LINGER_MS 13000 /* servers have 10 s for their end, and it may be seen late */
#define SEEN_LATE_NS (30 * SIM_S)
#define BLIND_NS (60 * SIM_S) /* watches after a backup was restored */

/* A row has the time from the start of the last container to the end of all, whoever was away. */
static void check_times(const char *run_uid, const struct attempt_row *row)
{
    int64_t start_ns = 0, end_ns = 0;
    for (size_t i = 0; i < node_count(); i++) {
        const struct sim_pod *p = node_get(i);
        const struct sim_container *c = &p->container;
        if (str_eq(p->run_uid, run_uid) && attempt_id_eq(&p->id.attempt, &row->id)) {
            start_ns = c->started_ns > start_ns ? c->started_ns : start_ns;
            end_ns = c->ended_ns > end_ns ? c->ended_ns : end_ns;
            if (!c->has_ended) {
                return; /* it ends when benchd ends it */
            }
        }
    }
    const int64_t off_ms = row->ended_unix_ms - row->started_unix_ms - (end_ns - start_ns) / SIM_MS;
    if (row->outcome == ATTEMPT_SUCCEEDED && process_wall_off_ns() == 0 &&
        !fault_was_on(FAULT_SLOW_WATCHES, SEEN_LATE_NS) && !fault_was_on(FAULT_RESTORE, BLIND_NS) &&
        !fault_was_on(FAULT_NODE_LOST, SEEN_LATE_NS) && /* a server's end is not heard of */
        (off_ms < -DATES_MS || off_ms > DATES_MS + LINGER_MS)) {
        sim_broken("p%ut%ua%u took %lld ms, says its row, and its containers %lld ms",
                   row->id.point, row->id.trial, row->id.number,
                   (long long)(row->ended_unix_ms - row->started_unix_ms),
                   (long long)((end_ns - start_ns) / SIM_MS));
    }
}

void rows_check(const char *run_uid, const struct attempt_row *row)
{
    check_times(run_uid, row);
    if (sim_prints(sim.seed)) {
        printer_check_row(run_uid, row);
    }
}

bool rows_explains(const struct sim_run *run, const struct attempt_row *row)
{
    if (row->error == NULL) {
        return false;
    }
    const bool is_over = strstr(row->error, "scheduling.waitSeconds") != NULL;
    /* benchd counts from the pod's creation, before the scheduler looks at it. */
    const int64_t look_s = fault_was_on(FAULT_SLOW_NODES, SIM_WAIT_S * SIM_S) ? 10 : 2;
    const bool may_be = sim.has_stepped || /* dates of pods are of another clock */
                        strstr(row->error, "rejected by node") != NULL ||
                        (row->outcome == ATTEMPT_FAILED && sim_is_impatient(sim.seed) &&
                         place_was_missing(run->uid, &row->id, (SIM_WAIT_S - look_s) * SIM_S));
    if (strstr(row->error, "preempted") != NULL || (is_over && !may_be)) {
        sim_broken("p%ut%ua%u is %s: %s", row->id.point, row->id.trial, row->id.number,
                   attempt_outcome_to_string(row->outcome), row->error);
    }
    return is_over;
}
