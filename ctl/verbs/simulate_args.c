/* See simulate_args.h. */
#include "ctl/verbs/simulate_args.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "core/emulation_limits.h"
#include "ctl/definition/definition.h"
#include "base/whole_file.h"
#include "ctl/runs/find.h"
#include "ctl/local/local_store.h"
#include "ctl/verbs/verbs.h"
#include "predict/calibrate.h"
#include "spec/spec_load.h"

#define COST_NS_MAX 1e6
#define CORES_MAX 100000
#define LATENCY_US_MAX 1e6
#define LAYERS_MAX_BYTES ((size_t)1 << 20)
#define RECORD_FIX "record them: benchworker bench --batch N -o trace >layers.yaml"
#define LAYERS_OF "benchd.io/layers" /* annotation: the definition that has its trace */
#define LAYERS_MEASURED_ON "benchd.io/measured-on" /* and of that: on what machine */
#define RATE_MIN_BITS 1 /* near 0 a step takes more seconds than a number holds */
#define RATE_MAX_BITS 1e15

/* ---- options ---- */

/* "10gbit", "2.5gbit", "100mbit": bytes of payload a second. -EINVAL: it is not a rate; -ERANGE: it
 * is too slow or too fast. */
static int parse_rate(const char *text, double *ret)
{
    static const struct {
        const char *unit;
        double bits;
    } units[] = {{"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}, {"tbit", 1e12}};
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        const size_t len = strlen(text), n = strlen(units[i].unit);
        if (len <= n || !str_eq(text + len - n, units[i].unit)) {
            continue;
        }
        _cleanup_(freep) char *number = xstrndup(text, len - n);
        double value;
        if (parse_f64(number, &value) < 0) {
            return -EINVAL;
        }
        const double bits = value * units[i].bits;
        *ret = bits / 8 * PREDICT_ETHERNET_PAYLOAD;
        return bits < RATE_MIN_BITS || bits > RATE_MAX_BITS ? -ERANGE : 0;
    }
    return -EINVAL;
}

static enum exit_code take_rate(const struct cli *cli, const char *option, double *ret)
{
    const char *text = args_get(&cli->args, option, NULL);
    const int r = text == NULL ? 0 : parse_rate(text, ret);
    if (r >= 0) {
        return EXIT_OK;
    }
    _cleanup_(freep) char *fix = xasprintf("for example --%s 10gbit", option);
    return r == -ERANGE
               ? cli_error(EXIT_USAGE, fix,
                           "--%s '%s': expected a rate from 0.001kbit (1 bit/s) to 1000tbit",
                           option, text)
               : cli_error(EXIT_USAGE, fix,
                           "--%s '%s': expected a number with kbit, mbit, gbit or tbit", option,
                           text);
}

/* `of`: what the number counts, "" or " of microseconds". */
static enum exit_code take_number(const struct cli *cli, const char *option, const char *of,
                                  double max, double scale, double *ret)
{
    const char *text = args_get(&cli->args, option, NULL);
    double value;
    if (text == NULL) {
        return EXIT_OK;
    }
    if (parse_f64(text, &value) < 0 || value < 0 || value > max) {
        return cli_error(EXIT_USAGE, NULL, "--%s '%s': expected a number%s from 0 to %.15g", option,
                         text, of, max);
    }
    *ret = value * scale;
    return EXIT_OK;
}

/* Does a point exchange over links that the definition does not shape? */
static bool needs_links(const struct run_def *def)
{
    return array_any(def->matrix.points, def->matrix.n_points, p,
                     p->exchange != EXCHANGE_NONE && p->link.bits_per_s == 0);
}

/* An option that would change no point. */
static enum exit_code check_shaped(const struct cli *cli, const struct run_def *def)
{
    static const char *const options[] = {"link", "server-link", "first-link", "latency"};
    if (!spec_shapes_links(def->spec) || needs_links(def)) {
        return EXIT_OK;
    }
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        if (args_get(&cli->args, options[i], NULL) != NULL) {
            _cleanup_(freep) char *fix = xasprintf("leave --%s out", options[i]);
            return cli_error(EXIT_USAGE, fix, "--%s: the definition shapes the links of all points",
                             options[i]);
        }
    }
    return EXIT_OK;
}

static enum exit_code take_links(const struct cli *cli, const struct run_def *def,
                                 struct predict_params *p)
{
    int64_t n_cores = cli->is_local ? def->cpus : 0;
    p->trainer_bytes_per_s = p->server_bytes_per_s = INFINITY;
    enum exit_code code = cli_take_number(cli, "cores", 1, CORES_MAX, &n_cores);
    p->n_cores = (double)n_cores;
    code = code == EXIT_OK ? check_shaped(cli, def) : code;
    if (code == EXIT_OK && n_cores == 0 && args_get(&cli->args, "link", NULL) == NULL &&
        needs_links(def)) {
        code = cli_error(EXIT_USAGE, "for example --link 10gbit; or --cores 2, all on one machine",
                         "--link is missing: the speed of the network is unknown");
    }
    code = code != EXIT_OK ? code : take_rate(cli, "link", &p->trainer_bytes_per_s);
    p->server_bytes_per_s = p->trainer_bytes_per_s;
    code = code != EXIT_OK ? code : take_rate(cli, "server-link", &p->server_bytes_per_s);
    code = code != EXIT_OK ? code : take_rate(cli, "first-link", &p->first_bytes_per_s);
    return code != EXIT_OK ? code
                           : take_number(cli, "latency", " of microseconds", LATENCY_US_MAX, 1e-6,
                                         &p->latency_s);
}

static enum exit_code take_cost(const struct cli *cli, const char *option, double *ret)
{
    return take_number(cli, option, " of nanoseconds a byte", COST_NS_MAX, 1e-9, ret);
}

static enum exit_code take_costs(const struct cli *cli, struct simulate_inputs *in)
{
    struct gang_costs *c = &in->params.costs;
    double both = -1, jitter = in->trace.jitter_ratio;
    enum exit_code code = take_cost(cli, "server-cost", &both);
    if (both >= 0) {
        c->receive = c->send = both;
    }
    double update = -1;
    code = code != EXIT_OK ? code : take_cost(cli, "update-cost", &update);
    if (update >= 0) {
        c->update = c->worker_update = update;
    }
    code = code != EXIT_OK ? code : take_cost(cli, "trainer-cost", &c->trainer);
    code = code != EXIT_OK ? code : take_cost(cli, "worker-cost", &c->worker);
    code = code != EXIT_OK ? code : take_number(cli, "jitter", "", EMULATED_JITTER_MAX, 1, &jitter);
    in->trace.jitter_ratio = jitter;
    return code;
}

/* ---- times of layers ---- */

static void copy_trace(const struct trace *from, struct trace *ret)
{
    ret->jitter_ratio = from->jitter_ratio;
    vec_each (const struct trace_layer, l, &from->layers) {
        *vec_push(&ret->layers) =
            (struct trace_layer){xstrdup(l->name), l->forward_ns, l->backward_ns};
    }
}

/* NULL: it has none. Borrowed. */
static const char *annotation_of(const struct spec *spec, const char *key)
{
    const json_t *metadata = json_object_get(spec->definition, "metadata");
    return json_string_value(json_object_get(json_object_get(metadata, "annotations"), key));
}

/* The trace of a definition of that name, and where it was measured. */
static enum exit_code read_sibling(const char *name, struct simulate_inputs *ret)
{
    _cleanup_(definition_file_done) struct definition_file file = {0};
    _cleanup_(diags_done) struct diags diags = {0};
    struct err err = {0};
    struct spec *spec = NULL;
    if (definition_find(name, &file, &err) < 0) {
        _cleanup_(freep) char *fix = definition_fix(name, false);
        return cli_error(EXIT_NOT_FOUND, fix, "layers: %s", err.msg);
    }
    const struct spec_overrides overrides = {TEMPLATES_OF(&file)};
    if (spec_load(file.text, file.len, &overrides, &spec, &diags) < 0) {
        return cli_print_diags(&diags, file.path, file.text);
    }
    const struct workload *w = &spec->workload;
    const char *machine = annotation_of(spec, LAYERS_MEASURED_ON);
    copy_trace(&w->trace, &ret->trace);
    ret->params.batch_size = w->batch_size;
    ret->params.threads = w->threads;
    buf_printf(&ret->from, "times: the layers of %s, batch %lld, %.0f ms a step, measured on %s\n",
               name, (long long)w->batch_size, (double)trace_step_ns(&w->trace) / 1e6,
               machine == NULL ? "an unknown machine" : machine);
    spec_free(spec);
    return EXIT_OK;
}

static enum exit_code read_layers(const struct cli *cli, const char *path,
                                  struct simulate_inputs *ret)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    struct err err = {0};
    _cleanup_(diags_done) struct diags diags = {0};
    int64_t batch = 0, recorded = 0;
    enum exit_code code = definition_number(cli, "layers-batch", INT32_MAX, &batch);
    if (code != EXIT_OK) {
        return code;
    }
    const bool is_name = !definition_is_file(path);
    const int r = is_name ? 0 : file_read(path, LAYERS_MAX_BYTES, &text, &err);
    if (is_name) {
        code = read_sibling(path, ret);
    } else if (r < 0) {
        _cleanup_(freep) char *fix = file_fix(r, path, RECORD_FIX);
        code = cli_error(r == -ENOENT ? EXIT_NOT_FOUND : EXIT_LOCAL_RESOURCE, fix, "%s", err.msg);
    } else if (spec_load_trace(buf_cstr(&text), text.len, &ret->trace, &recorded, &diags) < 0) {
        code = cli_print_diags(&diags, path, buf_cstr(&text));
    }
    batch = batch > 0 ? batch : recorded;
    ret->params.batch_size = batch > 0 ? batch : ret->params.batch_size;
    return code;
}

/* The layers' shares of a pass stay as they are. */
static void scale_trace(struct trace *t, double forward_s, double backward_s)
{
    double forward = 0, backward = 0;
    vec_each (struct trace_layer, l, &t->layers) {
        forward += (double)l->forward_ns;
        backward += (double)l->backward_ns;
    }
    vec_each (struct trace_layer, l, &t->layers) {
        const double f = forward > 0 ? (double)l->forward_ns / forward : 0;
        const double b = backward > 0 ? (double)l->backward_ns / backward : 0;
        l->forward_ns = llround(f * forward_s * 1e9);
        l->backward_ns = llround(b * backward_s * 1e9);
    }
}

/* ---- a stored run ---- */

/* Takes the passes of `c`. The times are the run's, unless the trainers of both only sleep and the
 * definition says how long. */
static void use_times(const struct loaded_run *run, struct calibration *c,
                      struct simulate_inputs *in)
{
    const struct workload *w = &run->def->spec->workload;
    const bool has_times = in->trace.layers.len > 0;
    if (w->compute == COMPUTE_EMULATED && has_times) {
        return;
    }
    if (!has_times) {
        copy_trace(&w->trace, &in->trace);
    }
    if (w->compute == COMPUTE_REAL) {
        scale_trace(&in->trace, c->forward_s, c->backward_s);
        in->passes = c->passes;
        c->passes = (struct passes){0};
        in->trace.jitter_ratio = isnan(c->jitter_ratio)
                                     ? in->trace.jitter_ratio
                                     : fmin(c->jitter_ratio, EMULATED_JITTER_MAX);
    }
    in->params.batch_size = c->batch_size;
    in->params.threads = c->threads;
    buf_printf(&in->from,
               "times: run %s, point %u: forward %.1f ms, backward %.1f ms, jitter %.1f%%\n",
               run->def->name, c->point, c->forward_s * 1e3, c->backward_s * 1e3,
               in->trace.jitter_ratio * 100);
    vec_each (const struct pass, it, &in->passes) {
        if (it->batch_size != c->batch_size) {
            buf_printf(&in->from, "times of batch %lld: forward %.1f ms, backward %.1f ms\n",
                       (long long)it->batch_size, it->forward_s * 1e3, it->backward_s * 1e3);
        }
    }
}

static void note_costs(const struct loaded_run *run, const struct calibration *c, struct buf *out)
{
    const struct gang_costs *costs = &c->costs;
    const char *shm = c->shares_memory ? "; through shared memory: over TCP it is more" : "";
    if (c->server_bytes > 0) {
        buf_printf(out,
                   "costs: run %s, %.1f GB: a server receives a byte in %.2f ns and sends one in "
                   "%.2f, updates in %.2f; a trainer's thread needs %.2f%s\n",
                   run->def->name, (double)c->server_bytes / 1e9, costs->receive * 1e9,
                   costs->send * 1e9, costs->update * 1e9, costs->trainer * 1e9, shm);
    }
    if (c->worker_bytes > 0) {
        buf_printf(out,
                   "costs: run %s, %.1f GB: a worker sends or receives a byte in %.2f ns, updates "
                   "one in %.2f%s\n",
                   run->def->name, (double)c->worker_bytes / 1e9, costs->worker * 1e9,
                   costs->worker_update * 1e9, shm);
    }
    if (c->server_bytes == 0 && c->worker_bytes == 0) {
        buf_printf(out,
                   "costs: run %s has no Sync/Fp32 exchange, so costs come from options only\n",
                   run->def->name);
    }
}

static enum exit_code use_run(const struct loaded_run *run, const struct run_def *def,
                              struct simulate_inputs *in)
{
    _cleanup_(calibration_done) struct calibration c = {0};
    struct err err = {0};
    const char *model = run->def->spec->workload.model;
    if (!str_eq(model, def->spec->workload.model)) {
        return cli_error(EXIT_USAGE, NULL, "run '%s' trained %s, and this is %s", run->def->name,
                         model, def->spec->workload.model);
    }
    if (calibrate(run->result, &c, &err) < 0) {
        return cli_error(EXIT_USAGE, "name a run of benchworker", "%s", err.msg);
    }
    use_times(run, &c, in);
    in->params.costs = c.costs;
    note_costs(run, &c, &in->from);
    return EXIT_OK;
}

static enum exit_code read_run(const struct cli *cli, const char *name, const struct run_def *def,
                               struct simulate_inputs *in)
{
    _cleanup_(backend_freep) struct backend *b = NULL;
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    enum exit_code code = backend_open(cli, &b);
    if (code == EXIT_UNREACHABLE && !cli->is_local && cli->store == NULL) {
        _cleanup_(freep) char *url = local_store_url(cli);
        cli_note_prose(cli,
                       "if run %s is one of this machine, add --store %s; --local would predict "
                       "this machine, too",
                       name, url == NULL ? "sqlite:FILE" : url);
    }
    code = code == EXIT_OK ? b->ops->load_run(b, name, &run) : code;
    code = code == EXIT_OK ? loaded_run_check(cli, &run) : code;
    return code == EXIT_OK ? use_run(&run, def, in) : code;
}

/* ---- all of it ---- */

/* Of which batch the definition's own times are. Where the sweep alone has one, that of all points;
 * 0: they have several. */
static int64_t batch_of(const struct run_def *def)
{
    const struct workload *w = &def->spec->workload;
    const struct matrix *m = &def->matrix;
    if (w->batch_size > 0 && w->compute == COMPUTE_REAL) {
        return w->batch_size;
    }
    const int64_t first = m->points[0].batch_size;
    return array_all(m->points, m->n_points, p, p->batch_size == first) ? first : 0;
}

/* Emulated trainers sleep as the trace says, whatever they have: all the same
 * (spec_check_compute). */
static int64_t threads_of(const struct run_def *def)
{
    const struct workload *w = &def->spec->workload;
    return w->compute == COMPUTE_EMULATED ? def->matrix.points[0].threads : w->threads;
}

enum exit_code simulate_inputs_read(const struct cli *cli, const struct run_def *def,
                                    struct simulate_inputs *ret)
{
    const struct workload *w = &def->spec->workload;
    const char *layers = args_get(&cli->args, "layers", annotation_of(def->spec, LAYERS_OF));
    const char *run = args_get(&cli->args, "trace", NULL);
    enum exit_code code = EXIT_OK;
    *ret = (struct simulate_inputs){
        .params = {.batch_size = batch_of(def), .threads = threads_of(def)},
        .from = BUF_INIT,
    };
    if (layers == NULL && args_get(&cli->args, "layers-batch", NULL) != NULL) {
        return cli_error(EXIT_USAGE, NULL, "--layers-batch needs --layers");
    }
    if (layers != NULL) {
        code = read_layers(cli, layers, ret);
    } else {
        copy_trace(&w->trace, &ret->trace);
    }
    if (code == EXIT_OK && run != NULL) {
        code = read_run(cli, run, def, ret);
    }
    if (code == EXIT_OK && ret->trace.layers.len == 0) {
        code = cli_error(EXIT_USAGE, RECORD_FIX "; then add --layers layers.yaml",
                         "layer times are missing; pass --layers FILE%s",
                         run == NULL ? "" : ", and the run has the time of whole steps only");
    }
    if (code == EXIT_OK && trace_step_ns(&ret->trace) == 0) {
        code = cli_error(EXIT_USAGE, NULL, "the layers take no time");
    }
    if (code == EXIT_OK && ret->params.batch_size == 0) {
        code = cli_error(EXIT_USAGE, "add --layers-batch N",
                         "the batch size of the layer times is missing: neither the file nor "
                         "workload.batchSize gives it");
    }
    code = code != EXIT_OK ? code : take_links(cli, def, &ret->params);
    code = code != EXIT_OK ? code : take_costs(cli, ret);
    ret->params.trace = &ret->trace;
    ret->params.passes = &ret->passes;
    return code;
}

void simulate_inputs_done(struct simulate_inputs *in)
{
    trace_done(&in->trace);
    vec_done(&in->passes);
    buf_done(&in->from);
}
