/* Prints a prediction: a table, or docs/contracts/prediction.md. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/simulate_args.h"
#include "report/json_text.h"
#include "report/table.h"
#include "report/terminal.h"

/* Columns of replicas that the points have, and of links that the definition shapes. */
struct columns {
    bool has_trainers, has_workers, has_links;
};

static struct columns columns_of(const struct prediction *p)
{
    struct columns c = {0};
    for (uint32_t i = 0; i < p->def->matrix.n_points; i++) {
        const uint32_t *n = p->points[i].point->replicas;
        c.has_trainers |= n[ROLE_TRAINER] > 0 || n[ROLE_PSERVER] > 0;
        c.has_workers |= n[ROLE_WORKER] > 0;
        c.has_links |= p->points[i].point->link.bits_per_s > 0;
    }
    return c;
}

/* The columns that identify a point: point, trainers, servers, workers, link, batch. */
static size_t n_point_columns(const struct prediction *p)
{
    const struct columns c = columns_of(p);
    return 2 + (c.has_trainers ? 2 : 0) + (c.has_workers ? 1 : 0) + (c.has_links ? 1 : 0);
}

static struct figure of(const struct estimate *e, const char *unit)
{
    return (struct figure){.estimate = *e, .unit = unit, .scope = "job"};
}

static void add_row(struct table *t, const struct columns *c, const struct predicted_point *it)
{
    const struct point *p = it->point;
    const struct figure x = of(&it->throughput, "samples/s"), s = of(&it->speedup, "ratio");
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
    table_figure(t, "PREDICTED SAMPLES/S", &x);
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

static struct table *make_table(const struct prediction *p)
{
    const struct columns c = columns_of(p);
    struct table *t = table_new();
    for (uint32_t i = 0; i < p->def->matrix.n_points; i++) {
        add_row(t, &c, &p->points[i]);
    }
    return t;
}

/* A line below the table, as wide as the terminal is. */
__attribute__((format(printf, 3, 4))) static void put_line(const struct cli *cli, struct buf *out,
                                                           const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    _cleanup_(freep) char *text = xvasprintf(fmt, args);
    va_end(args);
    wrap_text(out, text, show_terminal(cli).columns, 0, 2);
}

static void put_servers(const struct cli *cli, const struct prediction *p, struct buf *out)
{
    vec_each (const struct predicted_servers, s, &p->servers) {
        const struct point *best = s->best->point, *fewest = s->fewest->point;
        const bool is_shaped = fewest->link.bits_per_s > 0;
        char link[LINK_TEXT_MAX];
        link_text(&fewest->link, link);
        put_line(
            cli, out,
            "Servers for %u trainer%s, batch %lld%s%s: of %zu numbers %u is the smallest within "
            "%.0f%% of the fastest (%u).",
            fewest->replicas[ROLE_TRAINER], fewest->replicas[ROLE_TRAINER] == 1 ? "" : "s",
            (long long)fewest->batch_size, is_shaped ? ", link " : "", is_shaped ? link : "", s->n,
            fewest->replicas[ROLE_PSERVER], PREDICT_NEAR * 100, best->replicas[ROLE_PSERVER]);
    }
}

static void put_notes(const struct cli *cli, const struct prediction *p,
                      const struct simulate_inputs *in, struct buf *out)
{
    bool is_scaled = false;
    for (uint32_t i = 0; i < p->def->matrix.n_points; i++) {
        is_scaled |= p->points[i].is_scaled;
    }
    if (p->n_seeds > 1) {
        put_line(cli, out,
                 "Interval: that of the median of %u simulations with other seeds. It shows what "
                 "jitter of %.1f%% does, not how wrong the model may be.",
                 p->n_seeds, in->trace.jitter_ratio * 100);
    } else {
        put_line(cli, out, "No interval: %s.",
                 in->trace.jitter_ratio == 0 ? "without jitter every simulation is the same"
                                             : "one simulation a point");
    }
    if (is_scaled) {
        put_line(cli, out,
                 "* The times of the layers are those of batch %lld; they are assumed to grow with "
                 "the batch.",
                 (long long)in->params.batch_size);
    }
    const char *line = buf_cstr(&in->from);
    for (size_t len; *line != '\0'; line += len + 1) {
        len = strcspn(line, "\n");
        put_line(cli, out, "%.*s", (int)len, line);
    }
}

/* As the terminal takes it: in parts that begin with the point's own columns. */
static void put_table(const struct cli *cli, const struct prediction *p, const struct table *t,
                      struct buf *out)
{
    if (cli->no_headers) {
        table_format(t, false, out);
    } else {
        table_format_parts(t, n_point_columns(p), show_terminal(cli).columns, out);
    }
}

enum exit_code simulate_show(const struct cli *cli, const struct prediction *p,
                             const struct simulate_inputs *in)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    if (cli_output_is(cli, "json")) {
        json_text_put(prediction_to_json(p), &out);
    } else {
        _cleanup_(table_freep) struct table *t = make_table(p);
        buf_printf(&out, "Predicted, not measured: %s, %lld steps\n\n", p->def->spec->name,
                   (long long)p->def->spec->steps);
        if (cli_output_is(cli, "markdown")) {
            table_format_markdown(t, &out);
        } else {
            put_table(cli, p, t, &out);
        }
        buf_puts(&out, "\n");
        put_servers(cli, p, &out);
        put_notes(cli, p, in, &out);
    }
    return cli_show(cli, &out);
}
