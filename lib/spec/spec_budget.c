/* Reading what a run may cost: budget. See spec_internal.h. */
#include "spec/spec_internal.h"

#define HOURS_MAX 1e9
#define MONEY_MAX 1e12

/* A bound of 0 would be a run that does nothing. */
static bool read_positive(struct reading *r, const struct place *place, double max, double *ret)
{
    double value = 0;
    if (!read_number(r->diags, place, 0, max, &value)) {
        return false;
    }
    if (value <= 0) {
        reader_complain(r->diags, place, "write more than 0, or remove it",
                        "nothing can be measured for 0");
        return false;
    }
    *ret = value;
    return true;
}

static void read_cost(struct reading *r, const struct place *place)
{
    struct budget *budget = &r->spec->budget;
    if (!read_map(r->diags, place, FIELDS("*max", "perCpuHour", "perReplicaHour"))) {
        return;
    }
    struct place cpu = place_get(place, "perCpuHour");
    struct place replica = place_get(place, "perReplicaHour");
    (void)read_positive(r, PLACE(place, "max"), MONEY_MAX, &budget->cost); /* noted */
    (void)read_number(r->diags, &cpu, 0, MONEY_MAX, &budget->per_cpu_hour);
    (void)read_number(r->diags, &replica, 0, MONEY_MAX, &budget->per_replica_hour);
    if (cpu.node == NULL && replica.node == NULL) {
        reader_complain(r->diags, place, "for example, add 'perCpuHour: 0.04'",
                        "a cost needs a price: perCpuHour, perReplicaHour or both");
    }
}

void spec_read_budget(struct reading *r)
{
    struct place budget = place_get(&r->at, "budget");
    if (!read_map(r->diags, &budget, FIELDS("cpuHours", "cost"))) {
        return;
    }
    struct place hours = place_get(&budget, "cpuHours");
    struct place cost = place_get(&budget, "cost");
    if (hours.node == NULL && cost.node == NULL) {
        reader_complain(r->diags, &budget, "for example, add 'cpuHours: 2', or remove it",
                        "a budget needs cpuHours or cost");
    }
    (void)read_positive(r, &hours, HOURS_MAX, &r->spec->budget.cpu_hours); /* noted */
    read_cost(r, &cost);
}
