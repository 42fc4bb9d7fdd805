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

uint32_t company_choose_point(const struct matrix *m)
{
    const struct point *points = m->points;
    uint32_t most = 0, best = 0;
    for (uint32_t i = 0; i < m->n_swept; i++) {
        most = point_pods(&points[i]) > most ? point_pods(&points[i]) : most;
    }
    for (uint32_t i = 0, n_best = 0; i < m->n_swept; i++) {
        const uint32_t n = point_pods(&points[i]);
        if (2 * n <= most && n > n_best) {
            n_best = n;
            best = i;
        }
    }
    return best;
}

void run_def_schedule(struct run_def *def)
{
    const uint32_t n = 2 * def->scheduling.check;
    def->company_point = company_choose_point(&def->matrix);
    def->slots = xreallocarray(def->slots, (size_t)def->n_slots + n + 1, sizeof(*def->slots));
    def->n_slots = order_put_first(def->slots, def->n_slots, def->company_point, n);
}

uint32_t company_trials(const struct run_def *def, uint32_t point)
{
    return point == def->company_point ? 2 * def->scheduling.check : 0;
}

uint32_t run_def_trials(const struct run_def *def, uint32_t point)
{
    const uint32_t n = company_trials(def, point), repeats = (uint32_t)def->spec->repeats;
    return n > repeats ? n : repeats;
}

bool company_is_alone(const struct run_def *def, uint32_t point, uint32_t trial)
{
    return trial < company_trials(def, point) && (trial + 1) % 4 < 2;
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
