/* See cpu_budget.h. */
#include "daemon/web/cpu_budget.h"

static int64_t within(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

void cpu_budget_init(struct cpu_budget *b, int64_t now_ns, int64_t cpu_ns)
{
    *b = (struct cpu_budget){.left_ns = CPU_BUDGET_BURST_NS, .seen_ns = now_ns, .cpu_ns = cpu_ns};
}

int64_t cpu_budget_wait_ns(struct cpu_budget *b, int64_t now_ns, int64_t cpu_ns, bool is_driving)
{
    if (!is_driving) {
        cpu_budget_init(b, now_ns, cpu_ns);
        return 0;
    }
    const int64_t earned_ns = (now_ns - b->seen_ns) / CPU_BUDGET_SHARE;
    const int64_t used_ns = cpu_ns - b->cpu_ns;
    b->left_ns = within(b->left_ns + earned_ns - used_ns, -CPU_BUDGET_DEBT_NS, CPU_BUDGET_BURST_NS);
    b->seen_ns = now_ns;
    b->cpu_ns = cpu_ns;
    b->is_used_up = b->left_ns < (b->is_used_up ? CPU_BUDGET_SLICE_NS : 1);
    return b->is_used_up ? (CPU_BUDGET_SLICE_NS - b->left_ns) * CPU_BUDGET_SHARE : 0;
}
