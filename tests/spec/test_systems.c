/* Systems that are not the native worker: what a definition may say of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "definition.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "spec/matrix.h"
#include "spec/profile.h"
#include "spec/spec_load.h"

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))

/* A definition of a foreign system; NULL of a part: as here. Owned. */
static char *compose(const char *systems, const char *workload, const char *sweep,
                     const char *roles)
{
    return xasprintf(
        /* 1 */ "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\n"
                /* 4 */ "spec:\n"
                /* 5 */ "  systems: %s\n"
                /* 6 */ "  workload: %s\n"
                /* 7 */ "  sweep: %s\n"
                /* 8 */ "  roles: %s\n"
                "  measure: {steps: 5}\n",
        systems == NULL ? "[{name: mine, profile: other}]" : systems,
        workload == NULL ? "{model: resnet50, batchSize: 32, exchange: {kind: AllReduce}}"
                         : workload,
        sweep == NULL ? "{grid: {workers: [1, 2]}}" : sweep,
        roles == NULL ? "{worker: {replicas: {from: workers}}}" : roles);
}

/* "1p 2t 3w NAME -> baseline" of each point, and '*' of an added one. Owned. */
static char *describe(const struct spec *spec, const struct matrix *m)
{
    struct buf out = BUF_INIT;
    for (uint32_t i = 0; i < m->n_points; i++) {
        const struct point *p = &m->points[i];
        buf_printf(&out, "%s%up %ut %uw %s -> %u\n", p->is_baseline ? "*" : "",
                   p->replicas[ROLE_PSERVER], p->replicas[ROLE_TRAINER], p->replicas[ROLE_WORKER],
                   workload_exchange_name(&spec->workload, p->exchange), p->baseline_index);
    }
    return buf_take(&out);
}

static void roles_follow_the_exchange(void **state)
{
    (void)state;
    static const struct {
        const char *name, *workload, *sweep, *roles, *expected;
    } rows[] = {
        {"all-reduce: one worker is its own baseline", NULL, NULL, NULL,
         "0p 0t 1w AllReduce -> 0\n0p 0t 2w AllReduce -> 0\n"},
        {"all-reduce: the baseline is added", NULL, "{grid: {workers: [4, 2]}}", NULL,
         "0p 0t 4w AllReduce -> 2\n0p 0t 2w AllReduce -> 2\n*0p 0t 1w AllReduce -> 2\n"},
        {"a foreign exchange with trainers and servers",
         "{model: Big.Net_2, batchSize: 1, exchange: {kind: Gossip}}",
         "{grid: {trainers: [2], pservers: [3]}}",
         "{trainer: {replicas: {from: trainers}}, pserver: {replicas: {from: pservers}}}",
         "3p 2t 0w Gossip -> 1\n*0p 1t 0w None -> 1\n"},
        {"a foreign exchange without servers keeps its name in the baseline",
         "{model: m, batchSize: 1, exchange: {kind: Ring}}", "{grid: {workers: [2]}}", NULL,
         "0p 0t 2w Ring -> 1\n*0p 0t 1w Ring -> 1\n"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s\n", rows[i].name);
        _cleanup_(freep) char *text = compose(NULL, rows[i].workload, rows[i].sweep, rows[i].roles);
        struct spec *spec = definition_load(text, NULL);
        struct matrix m;
        struct diags diags = {0};
        assert_int_equal(matrix_expand(spec, &m, &diags), 0);
        _cleanup_(freep) char *got = describe(spec, &m);
        assert_string_equal(got, rows[i].expected);
        matrix_done(&m);
        spec_free(spec);
    }
}

static void who_trains_is_counted(void **state)
{
    (void)state;
    const struct point workers = {.replicas = {[ROLE_WORKER] = 3}, .threads = 2};
    const struct point trainers = {.replicas = {[ROLE_TRAINER] = 4, [ROLE_PSERVER] = 2},
                                   .threads = 3};
    assert_int_equal(point_training_role(&workers), ROLE_WORKER);
    assert_int_equal(point_training_replicas(&workers), 3);
    assert_int_equal(point_busy_threads(&workers), 6);
    assert_int_equal(point_training_role(&trainers), ROLE_TRAINER);
    assert_int_equal(point_training_replicas(&trainers), 4);
    assert_int_equal(point_busy_threads(&trainers), 14);
}

static void names_of_foreign_systems_are_free(void **state)
{
    (void)state;
    _cleanup_(freep) char *text =
        compose(NULL,
                "{model: ResNet-50_v1.5, batchSize: 1, dataset: {kind: ImageNet, path: /data}, "
                "exchange: {kind: AllReduce}}",
                NULL, NULL);
    struct spec *s = definition_load(text, NULL);
    assert_string_equal(s->workload.model, "ResNet-50_v1.5");
    assert_int_equal(s->workload.dataset, DATASET_OTHER);
    assert_string_equal(workload_dataset_name(&s->workload), "ImageNet");
    assert_string_equal(s->workload.dataset_path, "/data");
    spec_free(s);

    _cleanup_(freep) char *without_path = compose(
        NULL, "{model: m, batchSize: 1, dataset: {kind: Words}, exchange: {kind: AllReduce}}", NULL,
        NULL);
    s = definition_load(without_path, NULL);
    assert_null(s->workload.dataset_path);
    spec_free(s);
}

static const struct {
    const char *systems, *workload, *sweep, *roles;
    const char *message; /* "LINE:COLUMN: error: path: text" */
    const char *fix;     /* NULL: any */
} mistakes[] = {
    {NULL, NULL, NULL, "{trainer: {replicas: {from: workers}}}",
     "8:11: error: spec.roles.trainer: exchange AllReduce uses no trainer",
     "rename it to 'worker'"},
    {NULL, NULL, NULL, "{trainer: {replicas: {from: workers}}}",
     "8:3: error: spec.roles.worker: exchange AllReduce requires roles.worker",
     "add 'worker: {replicas: {from: workers}}'"},
    {NULL, NULL, NULL, "{worker: {replicas: {from: workers}}, pserver: {replicas: {value: 1}}}",
     "8:48: error: spec.roles.pserver: exchange AllReduce uses no pserver", "remove the role"},
    {NULL, "{model: m, batchSize: 1, exchange: {kind: None}}", NULL, NULL,
     "8:11: error: spec.roles.worker: exchange None uses no worker",
     "remove the role, or write exchange: {kind: AllReduce}"},
    {NULL, "{model: m, batchSize: 1, exchange: {kind: Ring}}", "{grid: {batch_size: [1]}}", "{}",
     "8:3: error: spec.roles.worker: exchange Ring requires exactly one of",
     "for example, write 'worker: {replicas: {from: workers}}'"},
    {NULL, NULL, "{grid: {workers: [1], trainers: [1]}}", NULL,
     "7:32: error: spec.sweep.grid.trainers: 'trainers' is swept, but no role uses it",
     "remove it; exchange AllReduce uses no trainer"},
    {NULL, NULL, "{grid: {workers: [0]}}", NULL,
     "7:28: error: spec.sweep.grid.workers[0]: 0 is out of range", NULL},
    {NULL, "{model: a b, batchSize: 1, exchange: {kind: AllReduce}}", NULL, NULL,
     "6:21: error: spec.workload.model: 'a b' is not a valid name", NULL},
    {NULL, "{model: m, batchSize: 1, exchange: {kind: -x}}", NULL, NULL,
     "6:55: error: spec.workload.exchange.kind: '-x' is not a valid name", NULL},
    /* With the native worker beside them, all names must be its own. */
    {"[{name: mine, profile: other}, {name: ours, profile: benchworker}]", NULL, NULL, NULL,
     "6:21: error: spec.workload.model: unknown value 'resnet50'", NULL},
    {"[{name: mine, profile: other}, {name: ours, profile: benchworker}]", NULL, NULL, NULL,
     "6:63: error: spec.workload.exchange.kind: 'AllReduce' is not supported by this version",
     NULL},
};

static void reports_what_is_wrong(void **state)
{
    (void)state;
    size_t n_failed = 0;
    for (size_t i = 0; i < N_ROWS(mistakes); i++) {
        _cleanup_(freep) char *text = compose(mistakes[i].systems, mistakes[i].workload,
                                              mistakes[i].sweep, mistakes[i].roles);
        _cleanup_(freep) char *errors = definition_errors(text, NULL);
        _cleanup_(freep) char *start = xasprintf("f.yaml:%s", mistakes[i].message);
        const char *at = strstr(errors, start);
        const char *fix = mistakes[i].fix == NULL ? "" : mistakes[i].fix;
        if (at == NULL || strstr(at, fix) == NULL) {
            n_failed++;
            print_message("# row %zu\nexpected: %s\n  fix: %s\ngot:\n%s", i, start, fix, errors);
        }
    }
    assert_int_equal(n_failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles_follow_the_exchange),
        cmocka_unit_test(who_trains_is_counted),
        cmocka_unit_test(names_of_foreign_systems_are_free),
        cmocka_unit_test(reports_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
