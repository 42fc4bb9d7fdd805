/* A frozen run, see run_def.h. */
#include "spec/run_def.h"

#include <string.h>

#include "base/mem.h"
#include "base/splitmix.h"
#include "doc/tree.h"
#include "spec/spec_load.h"

/* ---- the order of trials ---- */

static void shuffle(struct slot *items, uint32_t n, uint64_t *state)
{
    for (uint32_t i = n; i-- > 1;) {
        const uint32_t j = splitmix_below(state, i + 1);
        const struct slot moved = items[i];
        items[i] = items[j];
        items[j] = moved;
    }
}

struct slot *order_slots(uint32_t n_points, uint32_t repeats, enum order_kind order, uint64_t seed)
{
    const size_t n = (size_t)n_points * repeats;
    struct slot *slots = xnew_array(struct slot, n + 1);
    uint64_t state = seed;
    for (uint32_t i = 0; i < n; i++) {
        slots[i] = order == ORDER_SEQUENTIAL ? (struct slot){i / repeats, i % repeats}
                                             : (struct slot){i % n_points, i / n_points};
    }
    for (uint32_t trial = 0; trial < repeats && order == ORDER_INTERLEAVED; trial++) {
        shuffle(&slots[(size_t)trial * n_points], n_points, &state);
    }
    return slots;
}

/* ---- a run ---- */

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
    run_options_done(&def->options);
    matrix_done(&def->matrix);
    free(def->slots);
    free(def);
}

char *run_def_text(const struct run_def *def)
{
    json_auto_t *document = json_copy(def->spec->definition);
    if (json_object_size(def->options.document) > 0) {
        (void)json_object_set(document, "run", def->options.document); /* a key is ASCII */
    }
    return json_dumps(document, JSON_COMPACT);
}

int run_def_load(const char *text, const struct spec_overrides *overrides,
                 const struct run_def_params *params, struct run_def **ret, struct diags *diags)
{
    struct node *root;
    struct run_options options;
    struct spec *spec;
    int r = tree_parse(text, strlen(text), &TREE_LIMITS_DEFAULT, &root, diags);
    if (r < 0) {
        return r;
    }
    if ((r = run_options_read(root, "run", &options, diags)) < 0) {
        tree_free(root);
        return r;
    }
    tree_remove(root, "run");
    r = spec_load_tree(root, overrides, &spec, diags);
    r = r < 0 ? r : run_def_new(spec, params, ret, diags);
    if (r < 0) {
        run_options_done(&options);
        return r;
    }
    (*ret)->options = options;
    return 0;
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
