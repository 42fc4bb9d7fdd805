/* benchctl simulate NAME: what no point of a definition can exceed, without running it. The formula
 * is in predict/bound.h; this file collects its inputs and prints them with the bounds. An input
 * that is not given stays unknown, and so do the bounds that need it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "core/json_field.h"
#include "ctl/definition/definition.h"
#include "ctl/definition/profiles.h"
#include "ctl/runs/find.h"
#include "ctl/runs/reference_sets.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"
#include "predict/bound.h"

#define LAYERS_MAX_BYTES ((size_t)1 << 20)
#define RECORD_FIX "record them: benchworker bench --batch N -o trace >layers.yaml"
#define LAYERS_OF "benchd.io/layers" /* annotation: the definition that has its trace */
#define LAYERS_MEASURED_ON "benchd.io/measured-on" /* and of that: on what machine */

struct point_bound {
    struct bound_inputs in;
    struct bound bound;
    double speedup, efficiency; /* at most; NaN: unknown */
};
struct bounds {
    const struct run_def *def;
    struct bound_assumptions assumed;
    char *step_from;            /* what was timed, owned; NULL: the step is unknown */
    struct point_bound *points; /* (def->matrix.n_points) owned */
};

/* ---- the definition ---- */

static enum exit_code load(const struct cli *cli, struct run_def **ret)
{
    _cleanup_(definition_file_done) struct definition_file file = {0};
    _cleanup_(profiles_done) struct profiles profiles = {0};
    enum exit_code code = profiles_open(&profiles);
    code = code == EXIT_OK ? definition_open(cli, &file) : code;
    return code == EXIT_OK ? definition_load(cli, &file, &profiles, cli->is_local, ret) : code;
}

/* ---- options ---- */

static int parse_number(const char *text, double *ret)
{
    const int r = parse_f64(text, ret);
    return r < 0 ? r : *ret > 0 && *ret < 1e15 ? 0 : -ERANGE;
}

static enum exit_code take_numbers(const struct cli *cli, struct bound_assumptions *ret)
{
    const struct {
        const char *option;
        int (*parse)(const char *text, double *ret);
        const char *expected;
        double unit, *value;
    } rows[] = {
        {"link", link_parse_any_rate, "a rate such as 10gbit", 1, &ret->link_bits_per_s},
        {"server-link", link_parse_any_rate, "a rate such as 10gbit", 1,
         &ret->server_link_bits_per_s},
        {"latency", parse_number, "a number of microseconds", 1e-6, &ret->latency_s},
        {"server-cost", parse_number, "a number of nanoseconds", 1e-9, &ret->server_s_per_byte},
        {"step-time", parse_number, "a number of milliseconds", 1e-3, &ret->step_s},
        {"bytes", parse_number, "a number of bytes", 1, &ret->bytes},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *text = args_get(&cli->args, rows[i].option, NULL);
        double value = NAN;
        if (text != NULL && rows[i].parse(text, &value) < 0) {
            return cli_error(EXIT_USAGE, NULL, "--%s '%s': expected %s", rows[i].option, text,
                             rows[i].expected);
        }
        *rows[i].value = text != NULL ? value * rows[i].unit : *rows[i].value;
    }
    if (isnan(ret->server_link_bits_per_s)) {
        ret->server_link_bits_per_s = ret->link_bits_per_s;
    }
    return EXIT_OK;
}

/* ---- how long a step computes ---- */

/* Returns NULL if the definition does not have it; borrowed. */
static const char *annotation_of(const struct spec *spec, const char *key)
{
    const json_t *metadata = json_object_get(spec->definition, "metadata");
    return json_string_value(json_object_get(json_object_get(metadata, "annotations"), key));
}

/* Takes the times of a trace; step_from becomes
 * "layers of NAME, batch 128, 7650 ms a step, measured on MACHINE". */
static void use_trace(const struct trace *trace, const char *name, const char *machine,
                      struct bounds *ret)
{
    struct bound_assumptions *a = &ret->assumed;
    struct buf out = BUF_INIT;
    a->step_s = (double)trace_step_ns(trace) / 1e9;
    a->is_of_layers = true;
    buf_printf(&out, "layers of %s", name);
    if (a->batch_size > 0) {
        buf_printf(&out, ", batch %" PRId64, a->batch_size);
    }
    buf_printf(&out, ", %.4g ms a step, measured on %s", a->step_s * 1e3,
               machine == NULL ? "an unknown machine" : machine);
    ret->step_from = buf_take(&out);
}

/* Takes the trace of another definition. */
static enum exit_code read_sibling(const char *name, struct bounds *ret)
{
    _cleanup_(definition_file_done) struct definition_file file = {0};
    _cleanup_(diags_done) struct diags diags = {0};
    struct spec *spec = NULL;
    enum exit_code code = definition_take(name, false, &file);
    if (code != EXIT_OK) {
        return code;
    }
    const struct spec_overrides overrides = {TEMPLATES_OF(&file)};
    if (spec_load(file.text, file.len, &overrides, &spec, &diags) < 0) {
        return cli_print_diags(&diags, file.path, file.text);
    }
    if (spec->workload.trace.layers.len == 0) {
        code = cli_error(EXIT_USAGE, RECORD_FIX, "layers: %s has no workload.trace", name);
    } else {
        ret->assumed.batch_size = spec->workload.batch_size;
        ret->assumed.threads = spec->workload.threads;
        use_trace(&spec->workload.trace, name, annotation_of(spec, LAYERS_MEASURED_ON), ret);
    }
    spec_free(spec);
    return code;
}

/* Reads what `benchworker bench -o trace` printed. */
static enum exit_code read_file(const char *path, const struct spec *own, struct bounds *ret)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    _cleanup_(diags_done) struct diags diags = {0};
    _cleanup_(trace_done) struct trace trace = {0};
    struct err err = {0};
    const int r = file_read(path, LAYERS_MAX_BYTES, &text, &err);
    if (r < 0) {
        return file_error(r, path, RECORD_FIX, &err);
    }
    if (spec_load_trace(buf_cstr(&text), text.len, &trace, &ret->assumed.batch_size, &diags) < 0) {
        return cli_print_diags(&diags, path, buf_cstr(&text));
    }
    if (ret->assumed.batch_size == 0) {
        return cli_error(EXIT_USAGE, "add the line 'batchSize: N'",
                         "%s does not say of which batch size its times are", path);
    }
    ret->assumed.threads = own->workload.threads;
    use_trace(&trace, path, NULL, ret);
    return EXIT_OK;
}

static enum exit_code take_step(const struct cli *cli, const struct spec *spec, struct bounds *ret)
{
    const char *asked = args_get(&cli->args, "layers", NULL);
    const char *layers = asked != NULL ? asked : annotation_of(spec, LAYERS_OF);
    if (!isnan(ret->assumed.step_s)) {
        ret->step_from = xasprintf("a step computes for %.6g ms at every point (--step-time)",
                                   ret->assumed.step_s * 1e3);
    } else if (asked == NULL && spec->workload.trace.layers.len > 0) {
        /* Emulated trainers sleep for these times with any batch and threads. */
        use_trace(&spec->workload.trace, spec->name, annotation_of(spec, LAYERS_MEASURED_ON), ret);
    } else if (layers != NULL) {
        return definition_is_file(layers) ? read_file(layers, spec, ret)
                                          : read_sibling(layers, ret);
    }
    return EXIT_OK;
}

/* ---- all points ---- */

/* The baseline of an efficiency must exchange nothing: its time of a step is then the assumed one,
 * and not only a bound. */
static void fill(struct bounds *b)
{
    const struct matrix *m = &b->def->matrix;
    b->points = xnew_array(struct point_bound, m->n_points);
    for (uint32_t i = 0; i < m->n_points; i++) {
        b->points[i].in = bound_inputs_of(b->def, &m->points[i], &b->assumed);
        b->points[i].bound = bound_of(&b->points[i].in);
    }
    for (uint32_t i = 0; i < m->n_points; i++) {
        struct point_bound *it = &b->points[i];
        const struct point_bound *base = &b->points[m->points[i].baseline_index];
        const bool has_base = !m->points[i].baseline_excluded && base->in.replica.out == 0;
        it->speedup = has_base ? it->bound.samples_per_s / base->bound.samples_per_s : NAN;
        it->efficiency = it->speedup * base->in.n_replicas / it->in.n_replicas;
    }
}

/* Adds "; text" to a list. */
static __attribute__((format(printf, 2, 3))) void add(struct buf *list, const char *fmt, ...)
{
    _cleanup_(freep) char *text = xasprintf_rest(fmt);
    buf_printf(list, "%s%s", list->len == 0 ? "" : "; ", text);
}

/* Adds every assumption, and how to give what is unknown at some point. */
static void describe(const struct cli *cli, const struct bounds *b, struct buf *out)
{
    const struct bound_assumptions *a = &b->assumed;
    const uint32_t n = b->def->matrix.n_points;
    const char *link = args_get(&cli->args, "link", NULL);
    const char *server_link = args_get(&cli->args, "server-link", NULL);
    if (spec_shapes_links(b->def->spec)) {
        add(out, "links and their latency as the definition shapes them");
    }
    if (link != NULL) {
        add(out, "links of %s each way (--link)", link);
    } else if (array_any(b->points, n, it,
                         it->in.replica.out != 0 && isnan(it->in.replica_bytes_per_s))) {
        add(out, "links unknown (--link RATE)");
    }
    if (server_link != NULL) {
        add(out, "servers' links of %s each way (--server-link)", server_link);
    }
    add(out, "latency %.6g us (%s)", a->latency_s * 1e6,
        args_get(&cli->args, "latency", NULL) == NULL ? "default" : "--latency");
    if (!isnan(a->server_s_per_byte)) {
        add(out, "a server's CPU needs %.6g ns for a byte (--server-cost)",
            a->server_s_per_byte * 1e9);
    } else if (array_any(b->points, n, it, it->in.server.out != 0)) {
        add(out, "a server's CPU time unknown (--server-cost NS)");
    }
    if (b->step_from != NULL) {
        add(out, "%s", b->step_from);
    }
    if (array_any(b->points, n, it, isnan(it->in.compute_s))) {
        add(out, "step time%s unknown (--layers FILE or --step-time MS)",
            b->step_from == NULL ? "" : " of other systems and numbers of threads");
    }
    if (array_any(b->points, n, it, it->in.is_scaled)) {
        add(out, "a sample takes as long with any batch");
    }
    if (!isnan(a->bytes)) {
        add(out, "%.6g MB of parameters (--bytes)", a->bytes / 1e6);
    } else if (array_any(b->points, n, it, isnan(it->in.replica.out))) {
        add(out, "bytes of other systems than benchworker unknown (--bytes N, if they exchange by "
                 "PServer or AllReduce)");
    }
    add(out, "batch, threads and model of the definition; updates, headers, stragglers and "
             "shared cores cost nothing");
}

/* Returns "-" if no bound is known. */
static const char *limit_of(const struct point_bound *it, const struct point *p)
{
    static const char *const names[BOUND_COUNT + 1] = {"Compute", "TrainerLink", "ServerLink",
                                                       "ServerCpu", "-"};
    const bool waits = it->in.n_latencies * it->in.latency_s > it->in.compute_s;
    const bool is_worker = p->replicas[ROLE_WORKER] > 0;
    return it->bound.limit == BOUND_COMPUTE && waits            ? "Latency"
           : it->bound.limit == BOUND_REPLICA_LINK && is_worker ? "WorkerLink"
                                                                : names[it->bound.limit];
}

static struct figure figure(double value, const char *unit)
{
    return (struct figure){{.known = !isnan(value), .value = value}, .unit = unit, .scope = "job"};
}

/* ---- print ---- */

/* Makes an object of numbers; one that is not known is null. */
struct number {
    const char *name;
    double value;
};
static json_t *numbers_json(const struct number *numbers)
{
    json_t *o = json_object();
    for (; numbers->name != NULL; numbers++) {
        json_object_set_new(o, numbers->name, json_number_or_null(numbers->value));
    }
    return o;
}
#define NUMBERS(...) numbers_json((const struct number[]){__VA_ARGS__, {NULL, 0}})

static json_t *point_json(const struct bounds *b, const struct point *p)
{
    const struct point_bound *it = &b->points[p->index];
    const double *s = it->bound.seconds;
    char link[LINK_TEXT_MAX];
    link_text(&p->link, link);
    return JSON_OBJECT_OF(
        {"index", json_integer(p->index)},
        {"system", json_string(b->def->spec->systems.items[p->system].name)},
        {"baseline", json_boolean(p->is_baseline)},
        {"trainers", json_integer(p->replicas[ROLE_TRAINER])},
        {"pservers", json_integer(p->replicas[ROLE_PSERVER])},
        {"workers", json_integer(p->replicas[ROLE_WORKER])},
        {"batchSize", p->batch_size > 0 ? json_integer(p->batch_size) : json_null()},
        {"link", json_string(link)},
        {"atMost", NUMBERS({"samplesPerSecond", p->batch_size > 0 ? it->bound.samples_per_s : NAN},
                           {"speedup", it->speedup}, {"efficiency", it->efficiency})},
        {"secondsAtLeast",
         NUMBERS({"step", it->bound.step_s}, {"compute", s[BOUND_COMPUTE]},
                 {"replicaLink", s[BOUND_REPLICA_LINK]}, {"serverLink", s[BOUND_SERVER_LINK]},
                 {"serverCpu", s[BOUND_SERVER_CPU]})},
        {"limit", json_string(limit_of(it, p))});
}

static json_t *bounds_json(const struct bounds *b, const char *text)
{
    const struct bound_assumptions *a = &b->assumed;
    const struct matrix *m = &b->def->matrix;
    json_t *assumptions =
        NUMBERS({"linkBitsPerSecond", a->link_bits_per_s},
                {"serverLinkBitsPerSecond", a->server_link_bits_per_s},
                {"latencySeconds", a->latency_s}, {"serverSecondsPerByte", a->server_s_per_byte},
                {"stepSeconds", a->step_s}, {"bytes", a->bytes});
    JSON_ADD(assumptions, {"stepBatchSize", json_integer(a->batch_size)},
             {"stepFrom", json_text_or_null(b->step_from)}, {"text", json_string(text)});
    return JSON_OBJECT_OF(
        {"apiVersion", json_string("benchd.io/v1alpha1")}, {"kind", json_string("BenchmarkBound")},
        {"benchmark", json_string(b->def->spec->name)}, {"assumptions", assumptions}, {
            "points", JSON_ARRAY_OF(for (uint32_t i = 0; i < m->n_points; i++),
                                    point_json(b, &m->points[i]))
        });
}

static void put_ms(struct table *t, const char *title, double seconds)
{
    table_known(t, title, !isnan(seconds), "%.4g", seconds * 1e3);
}

static void put_times(struct table *t, const struct point_bound *it, bool has_trainers,
                      bool has_cpu)
{
    put_ms(t, "STEP ms", it->bound.step_s);
    put_ms(t, "COMPUTE", it->bound.seconds[BOUND_COMPUTE]);
    put_ms(t, has_trainers ? "TRAINER LINK" : "WORKER LINK", it->bound.seconds[BOUND_REPLICA_LINK]);
    if (has_trainers) {
        put_ms(t, "SERVER LINK", it->bound.seconds[BOUND_SERVER_LINK]);
    }
    if (has_cpu) {
        put_ms(t, "SERVER CPU", it->bound.seconds[BOUND_SERVER_CPU]);
    }
}

static void put_table(struct sheet *s, const struct bounds *b)
{
    const struct spec *spec = b->def->spec;
    const struct point *points = b->def->matrix.points;
    const uint32_t n = b->def->matrix.n_points;
    const bool has_systems = spec->systems.len > 1, has_links = spec_shapes_links(spec);
    const bool has_workers = array_any(points, n, p, p->replicas[ROLE_WORKER] > 0);
    const bool has_trainers = array_any(points, n, p, p->replicas[ROLE_TRAINER] > 0);
    struct table *t = table_new();
    for (const struct point *p = points; p < points + n; p++) {
        const struct point_bound *it = &b->points[p->index];
        struct figure x =
            figure(it->bound.samples_per_s, p->batch_size > 0 ? "samples/s" : "steps/s");
        char link[LINK_TEXT_MAX];
        link_text(&p->link, link);
        x.batch = spec->unit == UNIT_OF_BATCHES ? p->batch_size : 0;
        table_text(t, "POINT", "%u%s", p->index, p->is_baseline ? " (baseline)" : "");
        if (has_systems) {
            table_text(t, "SYSTEM", "%s", spec->systems.items[p->system].name);
        }
        if (has_trainers) {
            table_number(t, "TRAINERS", "%u", p->replicas[ROLE_TRAINER]);
            table_number(t, "PSERVERS", "%u", p->replicas[ROLE_PSERVER]);
        }
        if (has_workers) {
            table_number(t, "WORKERS", "%u", p->replicas[ROLE_WORKER]);
        }
        if (has_links) {
            table_number(t, "LINK", "%s", link);
        }
        table_known(t, "BATCH", p->batch_size > 0, "%lld", (long long)p->batch_size);
        table_figure(t,
                     x.batch > 0         ? "AT MOST BATCHES/S"
                     : p->batch_size > 0 ? "AT MOST SAMPLES/S"
                                         : "AT MOST STEPS/S",
                     &x);
        table_percent(t, "EFFICIENCY", it->efficiency, false);
        put_times(t, it, has_trainers, !isnan(b->assumed.server_s_per_byte));
        table_text(t, "LIMIT", "%s", limit_of(it, p));
        table_end_row(t);
    }
    sheet_block(s, NULL);
    sheet_table(s, NULL, t, 2u + has_systems + 2 * has_trainers + has_workers + has_links);
}

/* Published figures next to the bounds, by the code that does so for runs: the bounds become the
 * result of a run for as long as this function lasts. */
static void put_published(const struct cli *cli, struct sheet *s, const struct bounds *b,
                          const struct reference *reference)
{
    const struct matrix *m = &b->def->matrix;
    _cleanup_(freep) struct point_result *points = xnew_array(struct point_result, m->n_points);
    const struct result result = {.def = b->def, .points = points};
    for (uint32_t i = 0; i < m->n_points; i++) {
        points[i].point = &m->points[i];
        points[i].throughput = figure(b->points[i].bound.samples_per_s, "samples/s");
        points[i].speedup = figure(b->points[i].speedup, "ratio");
        points[i].efficiency = figure(b->points[i].efficiency, "ratio");
    }
    sheet_beside(s, &(struct reference_beside){
                        .reference = reference,
                        .asked = args_get(&cli->args, "reference", ""),
                        .result = &result,
                        .year = reference_year_of(&result),
                        .is_bound = true,
                    });
}

static enum exit_code show(const struct cli *cli, const struct bounds *b,
                           const struct reference *reference)
{
    struct sheet s;
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    describe(cli, b, &text);
    show_begin(cli, &s);
    if (s.form == SHEET_JSON) {
        s.document = bounds_json(b, buf_cstr(&text));
        return show_end(&s);
    }
    sheet_line(&s, &sheet_paragraph, "Bounds, not measured: %s", b->def->spec->name);
    sheet_line(&s, &sheet_paragraph, "Assumed: %s.", buf_cstr(&text));
    put_table(&s, b);
    if (reference != NULL) {
        put_published(cli, &s, b, reference);
    }
    return show_end(&s);
}

static enum exit_code run(struct cli *cli)
{
    _cleanup_(run_def_freep) struct run_def *def = NULL;
    struct bounds b = {.assumed = {NAN, NAN, 0, NAN, NAN, NAN, .is_of_layers = false}};
    struct reference *reference = NULL;
    enum exit_code code = reference_take(cli, "leave --reference out", &reference);
    code = code == EXIT_OK ? load(cli, &def) : code;
    code = code == EXIT_OK ? take_numbers(cli, &b.assumed) : code;
    code = code == EXIT_OK ? take_step(cli, def->spec, &b) : code;
    if (code == EXIT_OK) {
        b.def = def;
        fill(&b);
        code = show(cli, &b, reference);
    }
    free(b.step_from);
    free(b.points);
    reference_free(reference);
    return code;
}

static const struct arg_opt opts[] = {
    DEFINITION_OPTS,
    {"link", 0, "RATE", "Rate of each replica's link, each way: 100mbit, 10gbit"},
    {"server-link", 0, "RATE", "Rate of the servers' links, if different"},
    {"latency", 0, "US", "Latency between two replicas in microseconds; default: 0"},
    {"server-cost", 0, "NS", "CPU time of a server per byte received or sent, in ns"},
    {"layers", 0, "FILE|NAME",
     "Take times from what benchworker bench -o trace prints, or from the trace of a definition"},
    {"step-time", 0, "MS", "Time that a trainer or worker of any system computes in a step"},
    {"bytes", 0, "N", "Bytes of the parameters of any system; benchworker's are known"},
    {"reference", 0, "SET", "Print a set of published figures next to it; a wrong name lists them"},
};

const struct verb verb_simulate = {
    .name = "simulate",
    .args = "NAME [option...]",
    .summary = "Print what no point of a run can exceed, without running it",
    .examples = "  benchctl simulate vgg16-pserver-sweep --link 10gbit --layers layers.yaml\n"
                "  benchctl simulate vgg16-allreduce-sweep --set workers=9 --link 1gbit\n"
                "  benchctl simulate vgg16-systems --systems benchworker --set trainers=60 \\\n"
                "      --link 1gbit --reference paddle-vgg16-cpu-2018\n"
                "  benchctl simulate vgg16-systems --systems pytorch-ddp --step-time 430 \\\n"
                "      --bytes 61018408 --link 25gbit\n",
    .details = "For each point it prints how long a step takes at least: by computing, by the\n"
               "links of trainers, workers and servers, and by the CPU of a server. The longest\n"
               "is the limit. What you do not give is unknown and limits nothing; a line above\n"
               "the table says how to give it. docs/prediction.md has the formula.\n"
               "\n"
               "Record the times of the layers first, unless the definition has or names a\n"
               "trace:\n"
               "  benchworker bench --batch 64 -o trace >layers.yaml",
    VERB_OPTS(opts),
    .formats = "text|markdown|json",
    .max_words = 1,
    .run = run,
};
