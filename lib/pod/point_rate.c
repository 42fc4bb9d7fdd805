/* See point_rate.h. */
#include "pod/point_rate.h"

#include "pod/replica_spec.h"

int point_rate_of(const struct run_def *def, uint32_t point, struct point_rate *ret,
                  struct err *err)
{
    const struct point *p = &def->matrix.points[point];
    const struct gang_addresses none = {0};
    struct point_rate rate = {0};
    for (int role = 0; role < ROLE_COUNT; role++) {
        if (p->replicas[role] == 0) {
            continue;
        }
        struct replica_id id = {.attempt.point = point, .role = (enum role)role};
        struct replica_spec spec = {0};
        int r = replica_spec_build(def, &id, &none, &spec, err);
        if (r < 0) {
            return err_wrap(err, r, "point %u: %s", point, role_to_string(id.role));
        }
        rate.n_replicas += p->replicas[role];
        rate.cpu_millicores += spec.cpu_millicores * p->replicas[role];
        rate.mem_bytes += spec.mem_bytes * p->replicas[role];
        replica_spec_done(&spec);
    }
    *ret = rate;
    return 0;
}
