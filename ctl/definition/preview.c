/* See preview.h. */
#include "ctl/definition/preview.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"
#include "ctl/cli/human.h"
#include "pod/replica_spec.h"
#include "report/table.h"
#include "report/terminal.h"
#include "report/words.h"

#define WIDTH 80 /* Lines are broken here if stdout is no terminal. */
#define INDENT 2 /* The rest of a broken line is indented by this. */

/* What all replicas of a point request; 0 where none is given. */
struct demand {
    int64_t cpu_millicores, mem_bytes, n_replicas;
};

static int measure(const struct run_def *def, uint32_t point, struct demand *ret, struct err *err)
{
    const struct gang_addresses none = {0};
    for (int role = 0; role < ROLE_COUNT; role++) {
        const int64_t n = def->matrix.points[point].replicas[role];
        const struct replica_id id = {.attempt.point = point, .role = (enum role)role};
        struct replica_spec spec = {0};
        const int r = n == 0 ? 0 : replica_spec_build(def, &id, &none, &spec, err);
        if (r < 0) {
            return err_wrap(err, r, "point %u: %s", point, role_to_string(id.role));
        }
        ret->n_replicas += n;
        ret->cpu_millicores += spec.cpu_millicores * n;
        ret->mem_bytes += spec.mem_bytes * n;
        replica_spec_done(&spec);
    }
    return 0;
}

/* What each point takes, owned. -EINVAL when a parameter does not fit its template. */
static int measure_all(const struct run_def *def, struct demand **ret, struct err *err)
{
    int r = 0;
    *ret = xnew_array(struct demand, def->matrix.n_points);
    for (uint32_t i = 0; r >= 0 && i < def->matrix.n_points; i++) {
        r = measure(def, i, &(*ret)[i], err);
    }
    return r;
}

/* What only some points have, but for numbers of replicas, which have columns; or what all have. */
static void format_params(const struct run_def *def, const struct point *p, bool are_common,
                          struct buf *out)
{
    vec_each (const struct param, param, &p->params.list) {
        const bool is_common =
            array_all(def->matrix.points, def->matrix.n_points, it, params_has(&it->params, param));
        if (!param_is_replicas(def->spec, param->name) && is_common == are_common) {
            buf_printf(out, "%s%s=", out->len == 0 ? "" : " ", param->name);
            value_format(&param->value, out);
        }
    }
}

/* The heading above the number of those who train. */
static const char *training_heading(const struct run_def *def)
{
    const struct training_words words = matrix_training_words(&def->matrix);
    return str_eq(words.many, "trainers")  ? "TRAINERS"
           : str_eq(words.many, "workers") ? "WORKERS"
                                           : "TRAINERS/WORKERS";
}

static void put_resources(struct table *t, const struct point *p, const struct demand *demand,
                          bool is_local)
{
    char cores[HUMAN_SIZE], memory[HUMAN_SIZE];
    human_millicores(demand->cpu_millicores, cores);
    human_bytes(demand->mem_bytes, memory);
    if (is_local) {
        table_number(t, "THREADS", "%lld", (long long)point_busy_threads(p));
    } else {
        table_number(t, "CPU", "%s", demand->cpu_millicores > 0 ? cores : "-");
        table_number(t, "MEMORY", "%s", demand->mem_bytes > 0 ? memory : "-");
    }
}

static void put_point(const struct run_def *def, const struct point *p, const struct demand *demand,
                      bool is_local, struct table *t)
{
    const struct spec *spec = def->spec;
    _cleanup_(buf_done) struct buf params = BUF_INIT;
    format_params(def, p, false, &params);
    table_number(t, "POINT", "%u", p->index);
    if (spec->systems.len > 1) {
        table_text(t, "SYSTEM", "%s", spec->systems.items[p->system].label);
    }
    table_text(t, "PARAMETERS", "%s%s%s", buf_cstr(&params),
               p->is_baseline && params.len > 0 ? " " : "", p->is_baseline ? "(baseline)" : "");
    if (array_any(def->matrix.points, def->matrix.n_points, it, it->replicas[ROLE_PSERVER] > 0)) {
        table_number(t, "PSERVERS", "%u", p->replicas[ROLE_PSERVER]);
    }
    table_number(t, training_heading(def), "%u", point_training_replicas(p));
    if (p->devices > 0) {
        table_number(t, "DEVICES", "%u", p->devices);
    }
    put_resources(t, p, demand, is_local);
    if (spec->stop.is_set) {
        table_number(t, "TRIALS", "%lld..%lld", (long long)spec->min_repeats,
                     (long long)spec->repeats);
    } else {
        table_number(t, "TRIALS", "%lld", (long long)spec->repeats);
    }
    table_end_row(t);
}

static void format_points(const struct run_def *def, const struct demand *demands,
                          const struct preview_opts *opts, struct buf *out)
{
    _cleanup_(table_freep) struct table *t = table_new();
    _cleanup_(buf_done) struct buf common = BUF_INIT;
    format_params(def, &def->matrix.points[0], true, &common);
    if (common.len > 0) {
        _cleanup_(freep) char *line = xasprintf("In all points: %s", buf_cstr(&common));
        wrap_text(out, line, opts->columns == 0 ? WIDTH : opts->columns, 0, INDENT);
    }
    for (uint32_t i = 0; i < def->matrix.n_points; i++) {
        put_point(def, &def->matrix.points[i], &demands[i], opts->is_local, t);
    }
    table_format_list(t, 1, !opts->no_headers, opts->columns, out);
}

static void format_totals(const struct run_def *def, const struct demand *demands,
                          const struct preview_opts *opts, struct buf *out)
{
    const struct demand *most = &demands[0];
    uint32_t devices = def->matrix.points[0].devices;
    for (uint32_t i = 1; i < def->matrix.n_points; i++) {
        const struct demand *d = &demands[i];
        const uint32_t own = def->matrix.points[i].devices;
        if (own > devices || (own == devices && d->n_replicas > most->n_replicas)) {
            most = d;
            devices = own;
        }
    }
    char cores[HUMAN_SIZE], memory[HUMAN_SIZE];
    human_millicores(most->cpu_millicores, cores);
    human_bytes(most->mem_bytes, memory);
    const struct spec *spec = def->spec;
    buf_putc(out, '\n');
    if (spec->stop.is_set) {
        buf_printf(out, "%lld to ", (long long)(def->matrix.n_points * spec->min_repeats));
    }
    buf_printf(out,
               "%u trial%s of %lld warm-up + %lld measured step%s%s.\n"
               "Largest point: %u replica%s",
               def->n_slots, plural(def->n_slots), (long long)spec->warmup_steps,
               (long long)spec->steps, plural((uint64_t)spec->steps),
               def->n_slots == 1 ? "" : ", one after another", (uint32_t)most->n_replicas,
               plural((uint64_t)most->n_replicas));
    if (!opts->is_local && most->cpu_millicores > 0) {
        buf_printf(out, ", %s CPU, %s memory", cores, memory);
    }
    if (devices > 0) {
        buf_printf(out, ", %u device%s", devices, plural(devices));
    }
    buf_puts(out, ".\n");
    if (spec->stop.is_set) {
        buf_printf(out,
                   "A point's first %lld trials decide how many it needs for a 95%% interval "
                   "within %.3g%%;\n  a point that has them is not run again.\n",
                   (long long)spec->min_repeats, 100 * spec->stop.half_width_ratio);
    }
}

void preview_rehearsal(const struct run_def *def, struct buf *out)
{
    if (!def->rehearsal) {
        return;
    }
    if (def->spec->workload.compute == COMPUTE_EMULATED) {
        buf_printf(out,
                   "rehearsal: the %s are emulated, they sleep instead of computing:\n"
                   "  compare the figures within this run only\n",
                   matrix_training_words(&def->matrix).many);
        return;
    }
    const struct point *p = matrix_busiest(&def->matrix);
    const uint32_t trainers = point_training_replicas(p), servers = p->replicas[ROLE_PSERVER];
    _cleanup_(freep) char *and_servers =
        servers == 0 ? NULL : xasprintf(" + %u pserver%s", servers, servers == 1 ? "" : "s");
    buf_printf(out,
               "rehearsal: point %u needs %lld busy threads (%u %s%s x %lld%s),\n"
               "  but this machine has %lld CPU%s: compare the figures within this run only\n",
               p->index, (long long)point_busy_threads(p), trainers,
               role_to_string(point_training_role(p)), trainers == 1 ? "" : "s",
               (long long)p->threads, and_servers == NULL ? "" : and_servers, (long long)def->cpus,
               def->cpus == 1 ? "" : "s");
}

/* Each line as it is, or broken at its blanks where it does not fit. */
static void put_lines(const char *text, size_t columns, struct buf *out)
{
    while (columns > 0 && *text != '\0') {
        const size_t bytes = strcspn(text, "\n"), blanks = strspn(text, " ");
        _cleanup_(freep) char *line = xstrndup(text + blanks, bytes - blanks);
        buf_append(out, text, blanks);
        wrap_text(out, line, columns, blanks, INDENT);
        text += bytes + (text[bytes] == '\n');
    }
    buf_puts(out, text);
}

int preview_text(const struct run_def *def, const struct preview_opts *opts, struct buf *out,
                 struct err *err)
{
    _cleanup_(freep) struct demand *demands = NULL;
    int r = measure_all(def, &demands, err);
    if (r < 0) {
        return r;
    }
    format_points(def, demands, opts, out);
    _cleanup_(buf_done) struct buf lines = BUF_INIT;
    format_totals(def, demands, opts, &lines);
    put_lines(buf_cstr(&lines), opts->columns, out);
    return 0;
}

static json_t *point_json(const struct run_def *def, uint32_t index, const struct demand *demand)
{
    const struct point *p = &def->matrix.points[index];
    const struct spec *spec = def->spec;
    json_t *o =
        json_pack("{s:i, s:s, s:b, s:o, s:{s:i, s:i, s:i}, s:I, s:I, s:I, s:o, s:I}", "point",
                  (int)index, "system", def->spec->systems.items[p->system].name, "baseline",
                  p->is_baseline, "parameters", params_to_json(&p->params), "replicas", "pserver",
                  (int)p->replicas[ROLE_PSERVER], "trainer", (int)p->replicas[ROLE_TRAINER],
                  "worker", (int)p->replicas[ROLE_WORKER], "cpuMillicores",
                  (json_int_t)demand->cpu_millicores, "memoryBytes", (json_int_t)demand->mem_bytes,
                  "busyThreads", (json_int_t)point_busy_threads(p), "baselinePoint",
                  p->baseline_excluded ? json_null() : json_integer(p->baseline_index), "trials",
                  (json_int_t)(spec->stop.is_set ? spec->min_repeats : spec->repeats));
    JSON_ADD(o, {"devices", p->devices > 0 ? json_integer(p->devices) : NULL},
             {"maxTrials", spec->stop.is_set ? json_integer(spec->repeats) : NULL});
    return o;
}

int preview_json(const struct run_def *def, bool is_local, json_t **ret, struct err *err)
{
    _cleanup_(freep) struct demand *demands = NULL;
    int r = measure_all(def, &demands, err);
    if (r < 0) {
        return r;
    }
    json_t *points = JSON_ARRAY_OF(for (uint32_t i = 0; i < def->matrix.n_points; i++),
                                   point_json(def, i, &demands[i]));
    json_t *order = JSON_ARRAY_OF(for (uint32_t i = 0; i < def->n_slots; i++),
                                  json_pack("{s:i, s:i}", "point", (int)def->slots[i].point,
                                            "trial", (int)def->slots[i].trial));
    *ret =
        json_pack("{s:s, s:s, s:s, s:b, s:o, s:b, s:I, s:I, s:o, s:o}", "apiVersion",
                  "benchd.io/v1alpha1", "kind", "BenchmarkPlan", "benchmark", def->spec->name,
                  "local", is_local, "cpus", def->cpus > 0 ? json_integer(def->cpus) : json_null(),
                  "rehearsal", def->rehearsal, "warmupSteps", (json_int_t)def->spec->warmup_steps,
                  "steps", (json_int_t)def->spec->steps, "points", points, "order", order);
    return 0;
}
