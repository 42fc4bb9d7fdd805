/* See result_fixture.h. */
#include "tests/test.h"
#include "result_fixture.h"
#include "core/environment.h"
#include "spec/spec_load.h"
#include "result/result_build.h"
#include "result/result_json.h"

#include <math.h>

static const char environment[] =
    "{\"blas_core\":\"HASWELL\",\"cpu_model\":\"Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz\","
    "\"kernel\":\"6.1.0-34-amd64\"}";

static const char definition[] = "apiVersion: benchd.io/v1alpha1\n"
                                 "kind: Benchmark\n"
                                 "metadata: {name: demo}\n"
                                 "spec:\n";

/* Each unless the test brings its own. */
static const struct {
    const char *key, *text;
} defaults[] = {
    {"systems:", "  systems: [{name: benchworker, profile: benchworker}]\n"},
    {"workload:",
     "  workload: {model: vgg16-fluid-fc512, dataset: {kind: Synthetic}, batchSize: 16,\n"
     "             exchange: {kind: PServer, mode: Sync, wire: FP32}}\n"},
    {"roles: {t", "  roles:\n"
                  "    pserver: {replicas: {from: pservers},\n"
                  "              template: &pod {spec: {containers: [{name: main}]}}}\n"
                  "    trainer: {replicas: {from: trainers}, template: *pod}\n"},
};

void fixture_init(struct fixture *f, const char *sweep, const char *more, int64_t cpus)
{
    *f = (struct fixture){0};
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    const char *measure =
        strstr(more, "measure:") == NULL ? "  measure: {warmupSteps: 2, steps: 8}\n" : "";
    buf_printf(&text, "%s%s  sweep: %s\n%s", definition, measure, sweep, more);
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
        if (strstr(more, defaults[i].key) == NULL) {
            buf_puts(&text, defaults[i].text);
        }
    }
    _cleanup_(diags_done) struct diags diags = {0};
    struct spec *spec = NULL;
    const struct run_def_params params = {
        .name = "demo-7k3fq",
        .uid = "0b5c8f0e-3f5e-4c0a-9d6b-2a1f3c4d5e6f",
        .created_unix_ms = 1795165971000,
        .cpus = cpus,
    };
    if (spec_load(buf_cstr(&text), text.len, NULL, &spec, &diags) < 0 ||
        run_def_new(spec, &params, &f->def, &diags) < 0) {
        struct buf why = BUF_INIT;
        diags_format(&diags, "fixture", buf_cstr(&text), &why);
        fail_msg("%s", buf_cstr(&why));
    }
}

void fixture_done(struct fixture *f)
{
    result_free(f->result);
    vec_each (struct attempt_row, row, &f->rows) {
        attempt_row_done(row);
    }
    vec_done(&f->rows);
    run_def_free(f->def);
}

void fixture_make_workers(struct fixture *f)
{
    for (uint32_t i = 0; i < f->def->matrix.n_points; i++) {
        uint32_t *replicas = f->def->matrix.points[i].replicas;
        replicas[ROLE_WORKER] = replicas[ROLE_TRAINER];
        replicas[ROLE_TRAINER] = replicas[ROLE_PSERVER] = 0;
    }
}

struct attempt_row *fixture_end(struct fixture *f, uint32_t point, uint32_t trial, uint32_t attempt,
                                enum attempt_outcome outcome, const char *error)
{
    struct attempt_row *row = vec_push(&f->rows);
    *row = (struct attempt_row){
        .id.point = point,
        .id.trial = trial,
        .id.number = attempt,
        .outcome = outcome,
        .error = error == NULL ? NULL : xstrdup(error),
    };
    return row;
}

static void add_replica(struct attempt_row *row, enum role role, uint32_t index, double seconds)
{
    const bool trains = role == ROLE_TRAINER || role == ROLE_WORKER;
    struct summary s = {
        .samples = trains ? 128 : 0,
        .duration_ns = llrint(seconds * 1e9),
        .steps = 8,
        .bytes_tx = 60800000,
        .bytes_rx = 60800000,
        .loss_first = trains ? 2.375 : NAN,
        .loss_last = trains ? 2.25 : NAN,
        .max_rss_bytes = 734003200,
        .environment_digest =
            (char *)"5b1c6a0f6f6c2d1f9a3e4d8b7c605142333435363738394041424344454647aa",
    };
    for (int i = 0; i < PHASE_COUNT; i++) {
        s.phase_ns[i] = (i + 1) * INT64_C(1000000);
    }
    *vec_push(&row->replicas) = (struct replica_row){
        .id = {row->id, role, index},
        .environment = environment_said(environment),
    };
    fixture_say(row, row->replicas.len - 1, &s);
}

struct attempt_row *fixture_succeed(struct fixture *f, uint32_t point, uint32_t trial,
                                    uint32_t attempt, const double *seconds)
{
    struct attempt_row *row = fixture_end(f, point, trial, attempt, ATTEMPT_SUCCEEDED, NULL);
    const struct point *p = &f->def->matrix.points[point];
    for (uint32_t i = 0; i < p->replicas[ROLE_PSERVER]; i++) {
        add_replica(row, ROLE_PSERVER, i, 3.3);
    }
    for (uint32_t i = 0; i < p->replicas[ROLE_TRAINER]; i++) {
        add_replica(row, ROLE_TRAINER, i, seconds[i]);
    }
    for (uint32_t i = 0; i < p->replicas[ROLE_WORKER]; i++) {
        add_replica(row, ROLE_WORKER, i, seconds[i]);
    }
    return row;
}

struct attempt_row *fixture_throughput(struct fixture *f, uint32_t point, uint32_t trial,
                                       double samples_per_s)
{
    const uint32_t n = point_training_replicas(&f->def->matrix.points[point]);
    _cleanup_(freep) double *seconds = xnew_array(double, n);
    for (uint32_t i = 0; i < n; i++) {
        seconds[i] = 128 * n / samples_per_s;
    }
    return fixture_succeed(f, point, trial, 0, seconds);
}

void fixture_say(struct attempt_row *row, size_t i, const struct summary *s)
{
    replica_set_summary(&row->replicas.items[i], s, NULL, 0);
}

void fixture_place(struct attempt_row *row, size_t i, const char *node, double work_ms)
{
    struct replica_row *replica = &row->replicas.items[i];
    const enum role role = replica->id.role;
    struct summary s = {
        .samples = role == ROLE_TRAINER ? 128 : 0,
        .duration_ns = INT64_C(3300000000),
        .steps = 8,
        .loss_first = NAN,
        .loss_last = NAN,
        .throttled_ns = INT64_C(330000000),
    };
    s.phase_ns[role == ROLE_TRAINER ? PHASE_FORWARD : PHASE_UPDATE] = llrint(8e6 * work_ms);
    fixture_say(row, i, &s);
    replica_place(replica, node, NULL);
}

void fixture_count_by(struct attempt_row *row, enum summary_unit unit, const char *rule)
{
    vec_each (struct replica_row, replica, &row->replicas) {
        struct summary_source *source = &replica->summary->source;
        source->unit = unit;
        free(source->rule);
        free(source->method);
        source->rule = xstrdup(rule);
        source->method = xstrdup("mean of 8 step lines");
    }
}

void fixture_count(struct attempt_row *row, enum summary_unit unit)
{
    fixture_count_by(row, unit, "mine");
}

void fixture_set_environment(struct fixture *f, size_t row, size_t replica, const char *json)
{
    replica_set_environment(&f->rows.items[row].replicas.items[replica], json);
}

void fixture_spend(struct attempt_row *row, double forward_ms, double wait_ms)
{
    vec_each (struct replica_row, replica, &row->replicas) {
        int64_t *phase_ns = replica->summary->phase_ns;
        for (int k = 0; k < PHASE_COUNT; k++) {
            phase_ns[k] = 0;
        }
        phase_ns[PHASE_FORWARD] = llrint(8e6 * forward_ms);
        phase_ns[PHASE_WAIT] = llrint(8e6 * wait_ms);
    }
}

struct result *fixture_build(struct fixture *f, enum run_phase phase)
{
    result_free(f->result);
    f->result = result_build(f->def, phase, f->rows.items, f->rows.len);
    return f->result;
}

static void scale(struct point_result *p, double factor)
{
    const struct trial_result *trials = p->trials;
    p->trials = xnew_array(struct trial_result, p->n_trials);
    for (size_t i = 0; i < p->n_trials; i++) {
        p->trials[i] = trials[i];
        p->trials[i].throughput *= factor;
    }
    p->throughput.estimate.value *= factor;
}

void fixture_history_init(struct fixture_history *h, const struct result *base,
                          const double factors[static FIXTURE_HISTORY])
{
    for (size_t i = 0; i < FIXTURE_HISTORY; i++) {
        const uint32_t n = base->def->matrix.n_points;
        h->defs[i] = *base->def;
        h->defs[i].uid = xasprintf("history-%zu", i);
        h->defs[i].created_unix_ms += (int64_t)i;
        h->results[i] = *base;
        h->results[i].def = &h->defs[i];
        h->results[i].phase = RUN_SUCCEEDED;
        h->results[i].points = xnew_array(struct point_result, n);
        for (uint32_t p = 0; p < n; p++) {
            h->results[i].points[p] = base->points[p];
            scale(&h->results[i].points[p], factors[i]);
        }
        h->list[i] = &h->results[i];
    }
}

void fixture_history_done(struct fixture_history *h)
{
    for (size_t i = 0; i < FIXTURE_HISTORY; i++) {
        for (uint32_t p = 0; p < h->defs[i].matrix.n_points; p++) {
            free(h->results[i].points[p].trials);
        }
        free(h->results[i].points);
        free(h->defs[i].uid);
    }
}

void result_json_put(const struct result *r, struct buf *out)
{
    struct json_out w = {.out = out};
    result_json_begin(&w, r);
    result_each_point (p, r) {
        struct point_result open = point_open(p, NULL, 0);
        result_json_add(&w, &open);
        point_close(&open);
    }
    result_json_end(&w, r);
}

json_t *result_to_json(const struct result *r)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    result_json_put(r, &text);
    json_t *o = json_loads(buf_cstr(&text), 0, NULL);
    assert_non_null(o);
    return o;
}
