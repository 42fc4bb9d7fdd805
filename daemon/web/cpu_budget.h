/* How much of a CPU the readers over HTTP may use while a run is driven: a token bucket of CPU
 * time. It earns one CPU_BUDGET_SHARE-th of the time that passes, up to CPU_BUDGET_BURST_NS, so
 * that somebody who opens a page now and then waits for nothing. A reader that has used it up waits
 * until CPU_BUDGET_SLICE_NS is available again: few longer pieces of work get in the way of the
 * loop less often than many short ones. A document that took longer than CPU_BUDGET_DEBT_NS owes no
 * more than that, because others could not be answered in their time. Pure: takes time as data. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CPU_BUDGET_SHARE 5
#define CPU_BUDGET_BURST_NS (500 * INT64_C(1000000))
#define CPU_BUDGET_SLICE_NS (20 * INT64_C(1000000))
#define CPU_BUDGET_DEBT_NS INT64_C(1000000000)

struct cpu_budget {
    int64_t left_ns;         /* of CPU time; below 0: a debt */
    int64_t seen_ns, cpu_ns; /* of the last look */
    bool is_used_up;         /* until there is a slice again */
};
/* Full. `cpu_ns`: what the readers' threads have used since they began. */
void cpu_budget_init(struct cpu_budget *b, int64_t now_ns, int64_t cpu_ns);
/* How long nothing may be begun; 0: go on. While nothing is driven it is full, whatever is used. */
int64_t cpu_budget_wait_ns(struct cpu_budget *b, int64_t now_ns, int64_t cpu_ns, bool is_driving);
