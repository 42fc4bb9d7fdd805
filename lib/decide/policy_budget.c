/* See policy_budget.h. */
#include "decide/policy_budget.h"

#include "base/text.h"

#define MS_PER_HOUR 3.6e6
#define MILLI 1000.0

/* a + b * c of numbers that are not negative. */
static int64_t add_product(int64_t a, int64_t b, int64_t c)
{
    int64_t product, sum;
    return __builtin_mul_overflow(b, c, &product) || __builtin_add_overflow(a, product, &sum)
               ? INT64_MAX
               : sum;
}

void budget_add(struct budget_usage *usage, const struct budget_rate *rate, int64_t ms)
{
    usage->cpu_millicore_ms = add_product(usage->cpu_millicore_ms, rate->cpu_millicores, ms);
    usage->replica_ms = add_product(usage->replica_ms, rate->n_replicas, ms);
}

static double cpu_hours(const struct budget_usage *usage)
{
    return (double)usage->cpu_millicore_ms / MILLI / MS_PER_HOUR;
}

static double cost(const struct budget *budget, const struct budget_usage *usage)
{
    return cpu_hours(usage) * budget->per_cpu_hour +
           (double)usage->replica_ms / MS_PER_HOUR * budget->per_replica_hour;
}

static bool exceeds_hours(const struct budget *budget, const struct budget_usage *usage)
{
    return budget->cpu_hours > 0 && cpu_hours(usage) > budget->cpu_hours;
}

static bool exceeds_cost(const struct budget *budget, const struct budget_usage *usage)
{
    return budget->cost > 0 && cost(budget, usage) > budget->cost;
}

bool budget_allows(const struct budget *budget, const struct budget_usage *spent,
                   const struct budget_rate *rate, int64_t next_ms)
{
    struct budget_usage usage = *spent;
    budget_add(&usage, rate, next_ms);
    return !exceeds_hours(budget, &usage) && !exceeds_cost(budget, &usage);
}

void budget_describe(const struct budget *budget, const struct budget_usage *spent,
                     const struct budget_rate *rate, int64_t next_ms, char *dst, size_t size)
{
    struct budget_usage all = *spent, next = {0};
    budget_add(&all, rate, next_ms);
    budget_add(&next, rate, next_ms);
    if (exceeds_hours(budget, &all)) {
        text_put(dst, size, "%.3g of %.3g CPU-hours are spent, and the next trial would take %.3g",
                 cpu_hours(spent), budget->cpu_hours, cpu_hours(&next));
    } else {
        text_put(dst, size, "a cost of %.3g of %.3g is spent, and the next trial would cost %.3g",
                 cost(budget, spent), budget->cost, cost(budget, &next));
    }
}
