/* A frozen run, see run_def.h. */
#include "spec/run_def.h"

#include "base/mem.h"

int run_def_new(struct spec *spec_take, const struct run_def_params *params, struct run_def **ret,
                struct diags *diags)
{
    struct matrix matrix;
    int r = matrix_expand(spec_take, &matrix, diags);
    if (r < 0) {
        spec_free(spec_take);
        return r;
    }
    struct run_def *def = xnew(struct run_def);
    uint32_t repeats = (uint32_t)spec_take->repeats; /* 1..1000 */
    *def = (struct run_def){
        .name = xstrdup(params->name),
        .uid = xstrdup(params->uid),
        .created_unix_ms = params->created_unix_ms,
        .cpus = params->cpus,
        .rehearsal =
            spec_take->workload.compute == COMPUTE_EMULATED ||
            (params->cpus > 0 && point_busy_threads(matrix_busiest(&matrix)) > params->cpus),
        .spec = spec_take,
        .matrix = matrix,
        .slots = order_slots(matrix.n_points, repeats, spec_take->order, spec_take->workload.seed),
        .n_slots = matrix.n_points * repeats,
    };
    *ret = def;
    return 0;
}

void run_def_free(struct run_def *def)
{
    if (def == NULL) {
        return;
    }
    free(def->name);
    free(def->uid);
    spec_free(def->spec);
    scheduling_done(&def->scheduling);
    matrix_done(&def->matrix);
    free(def->slots);
    free(def);
}

struct trial_terms run_def_terms(const struct run_def *def, uint32_t point)
{
    if (point >= def->matrix.n_points) {
        return (struct trial_terms){0};
    }
    const struct point *p = &def->matrix.points[point];
    const enum role leading = point_leading_role(p);
    return (struct trial_terms){
        .leading = leading,
        .n_leading = p->replicas[leading],
        .n_pods = point_pods(p),
        .goal = def->spec->goal,
        .accuracy_after_s = def->spec->accuracy_after_s,
        .flops = def->spec->workload.flops,
        .precision = p->has_slices ? PRECISION_UNKNOWN : def->spec->workload.precision,
        .devices = p->devices,
    };
}
