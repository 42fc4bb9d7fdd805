/* Prints a prediction: a table, or docs/contracts/prediction.md. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec_walk.h"
#include "ctl/runs/reference_sets.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/simulate_args.h"
#include "report/table.h"

/* Columns of replicas that the points have, and of links that the definition shapes; its unit. */
struct columns {
    bool has_trainers, has_workers, has_links, in_batches;
};

static struct columns columns_of(const struct prediction *p)
{
    struct columns c = {.in_batches = p->def->spec->unit == UNIT_OF_BATCHES};
    for (uint32_t i = 0; i < p->def->matrix.n_points; i++) {
        const uint32_t *n = p->points[i].point->replicas;
        c.has_trainers |= n[ROLE_TRAINER] > 0 || n[ROLE_PSERVER] > 0;
        c.has_workers |= n[ROLE_WORKER] > 0;
        c.has_links |= p->points[i].point->link.bits_per_s > 0;
    }
    return c;
}

static struct figure of(const struct estimate *e, const char *unit)
{
    return (struct figure){.estimate = *e, .unit = unit, .scope = "job"};
}

static void add_row(struct table *t, const struct columns *c, const struct predicted_point *it)
{
    const struct point *p = it->point;
    struct figure x = of(&it->throughput, "samples/s"), s = of(&it->speedup, "ratio");
    x.batch = c->in_batches ? p->batch_size : 0;
    x = figure_shown(&x);
    const struct estimate *e = &it->efficiency;
    table_text(t, "POINT", "%u%s", p->index, p->is_baseline ? " (baseline)" : "");
    if (c->has_trainers) {
        table_number(t, "TRAINERS", "%u", p->replicas[ROLE_TRAINER]);
        table_number(t, "PSERVERS", "%u", p->replicas[ROLE_PSERVER]);
    }
    if (c->has_workers) {
        table_number(t, "WORKERS", "%u", p->replicas[ROLE_WORKER]);
    }
    if (c->has_links) {
        char text[LINK_TEXT_MAX];
        link_text(&p->link, text);
        table_number(t, "LINK", "%s", text);
    }
    table_number(t, "BATCH", "%lld%s", (long long)p->batch_size, it->is_scaled ? "*" : "");
    table_figure(t, c->in_batches ? "PREDICTED BATCHES/S" : "PREDICTED SAMPLES/S", &x);
    table_interval(t, "95%", &x);
    table_figure(t, "SPEEDUP", &s);
    table_percent(t, "EFFICIENCY", e->known ? e->value : NAN, false);
    table_number(t, "STEP ms", "%.4g", it->mean.step_s * 1e3);
    table_number(t, "FORWARD", "%.4g", it->mean.forward_s * 1e3);
    table_number(t, "BACKWARD", "%.4g", it->mean.backward_s * 1e3);
    table_number(t, "EXPOSED", "%.4g", it->mean.exposed_s * 1e3);
    table_text(t, "LIMIT", "%s", predict_limit_names[it->limit]);
    table_end_row(t);
}

static void put_points(struct sheet *s, const struct prediction *p)
{
    const struct columns c = columns_of(p);
    struct table *t = table_new();
    for (uint32_t i = 0; i < p->def->matrix.n_points; i++) {
        add_row(t, &c, &p->points[i]);
    }
    /* What identifies a point: point, trainers, servers, workers, link, batch. */
    sheet_table(s, NULL, t, (size_t)(2 + 2 * c.has_trainers + c.has_workers + c.has_links));
}

static void put_servers(struct sheet *s, const struct prediction *p)
{
    vec_each (const struct predicted_servers, it, &p->servers) {
        const struct point *best = it->best->point, *fewest = it->fewest->point;
        const bool is_shaped = fewest->link.bits_per_s > 0;
        char link[LINK_TEXT_MAX];
        link_text(&fewest->link, link);
        sheet_line(
            s, NULL,
            "Servers for %u trainer%s, batch %lld%s%s: of %zu numbers %u is the smallest within "
            "%.0f%% of the fastest (%u).",
            fewest->replicas[ROLE_TRAINER], plural(fewest->replicas[ROLE_TRAINER]),
            (long long)fewest->batch_size, is_shaped ? ", link " : "", is_shaped ? link : "", it->n,
            fewest->replicas[ROLE_PSERVER], PREDICT_NEAR * 100, best->replicas[ROLE_PSERVER]);
    }
}

static void put_notes(struct sheet *s, const struct prediction *p, const struct simulate_inputs *in)
{
    if (p->n_seeds > 1) {
        sheet_line(s, NULL,
                   "Interval: that of the median of %u simulations with other seeds. It shows what "
                   "jitter of %.1f%% does, not how wrong the model may be.",
                   p->n_seeds, in->trace.jitter_ratio * 100);
    } else {
        sheet_line(s, NULL, "No interval: %s.",
                   in->trace.jitter_ratio == 0 ? "without jitter every simulation is the same"
                                               : "one simulation a point");
    }
    if (array_any(p->points, p->def->matrix.n_points, it, it->is_scaled)) {
        sheet_line(s, NULL,
                   "* The times of the layers are those of batch %lld; they are assumed to grow "
                   "with the batch.",
                   (long long)in->params.batch_size);
    }
    uint32_t n_short = 0, n_losing = 0;
    uint64_t fewest = UINT64_MAX;
    for (uint32_t i = 0; i < p->def->matrix.n_points; i++) {
        const uint64_t n = p->points[i].mean.n_steps;
        n_short += n < (uint64_t)p->def->spec->steps;
        fewest = n < fewest ? n : fewest;
        n_losing += p->points[i].has_losses;
    }
    if (n_short > 0) {
        sheet_line(s, NULL,
                   "%u point%s too large for all %lld steps: at least %" PRIu64
                   " were simulated, the others count as their mean.",
                   n_short, n_short == 1 ? " is" : "s are", (long long)p->def->spec->steps, fewest);
    }
    if (n_losing > 0) {
        sheet_line(
            s, NULL,
            "At %u point%s a server's link may drop packets, because more is on its way than "
            "waits for it. The simulation has no losses: these points may be slower.",
            n_losing, plural(n_losing));
    }
    const char *line = buf_cstr(&in->from);
    for (size_t len; *line != '\0'; line += len + 1) {
        len = strcspn(line, "\n");
        sheet_line(s, NULL, "%.*s", (int)len, line);
    }
}

/* Published figures next to it, by the code that does so for runs: the prediction becomes the
 * result that it would have, and stays in this function. */
static void put_beside(const struct cli *cli, struct sheet *s, const struct prediction *p,
                       const struct reference *reference)
{
    const uint32_t n = p->def->matrix.n_points;
    _cleanup_(freep) struct point_result *points = xnew_array(struct point_result, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct predicted_point *it = &p->points[i];
        points[i].point = it->point;
        points[i].throughput = of(&it->throughput, "samples/s");
        points[i].speedup = of(&it->speedup, "ratio");
        points[i].efficiency = of(&it->efficiency, "ratio");
    }
    const struct result result = {.def = p->def, .points = points};
    sheet_beside(s, &(struct reference_beside){
                        .reference = reference,
                        .asked = args_get(&cli->args, "reference", ""),
                        .result = &result,
                        .year = reference_year_of(&result),
                        .is_predicted = true,
                    });
}

enum exit_code simulate_show(const struct cli *cli, const struct prediction *p,
                             const struct simulate_inputs *in, const struct reference *reference)
{
    struct sheet s;
    show_begin(cli, &s);
    if (s.form == SHEET_JSON) {
        s.document = prediction_to_json(p);
        return show_end(&s);
    }
    sheet_line(&s, &sheet_paragraph, "Predicted, not measured: %s, %lld steps", p->def->spec->name,
               (long long)p->def->spec->steps);
    put_points(&s, p);
    sheet_block(&s, NULL);
    put_servers(&s, p);
    put_notes(&s, p, in);
    if (reference != NULL) {
        put_beside(cli, &s, p, reference);
    }
    return show_end(&s);
}
