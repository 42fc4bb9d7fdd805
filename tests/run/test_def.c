/* See test_def.h. */
#include "test_def.h"

#include "tests/test.h"
#include "base/buf.h"
#include "spec/spec_load.h"

static void write_role(struct buf *b, const char *role, const char *command)
{
    buf_printf(b, "    %s:\n      replicas: {from: %ss}\n", role, role);
    buf_printf(b, "      template: {spec: {containers: [{name: main%s%s}]}}\n",
               command != NULL ? ", command: " : "", command != NULL ? command : "");
}

static void fail_with(const struct diags *diags, const struct buf *text)
{
    struct buf out = BUF_INIT;
    diags_format(diags, "test", buf_cstr(text), &out);
    fail_msg("%s", buf_cstr(&out));
}

struct run_def *test_def_new(const struct test_def_params *p)
{
    _cleanup_(buf_done) struct buf b = BUF_INIT;
    buf_puts(&b,
             "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: test}\nspec:\n");
    buf_printf(&b, "  systems: [{name: benchworker, profile: benchworker%s%s}]\n",
               p->log == NULL ? "" : ", log: ", p->log == NULL ? "" : p->log);
    buf_puts(&b, "  workload: {model: vgg16-fluid-fc512, dataset: {kind: Synthetic}, batchSize: 8,"
                 " threads: 1, seed: 1, exchange: {kind: PServer}}\n");
    buf_printf(&b,
               "  sweep: {grid: %s}\n  baseline: {kind: Point, where: {trainers: %d}}\n"
               "  roles:\n",
               p->grid, p->baseline_trainers != 0 ? p->baseline_trainers : 1);
    write_role(&b, "pserver", p->command);
    write_role(&b, "trainer", p->command);
    buf_printf(&b,
               "  measure: {warmupSteps: 1, steps: 2}\n"
               "  failurePolicy: {onTrialFailure: %s, maxFailedTrials: %d}\n",
               p->on_failure != NULL ? p->on_failure : "Retry", p->max_failed);
    if (p->range != NULL) {
        buf_printf(&b, "  repeats: %s\n", p->range);
    } else {
        buf_printf(&b, "  repeats: {min: %d}\n", p->repeats);
    }
    buf_printf(&b, "  runPolicy: {backoffLimit: %d", p->backoff_limit);
    if (p->deadline_s != 0) {
        buf_printf(&b, ", activeDeadlineSeconds: %d", p->deadline_s);
    }
    buf_puts(&b, "}\n");
    _cleanup_(diags_done) struct diags diags = {0};
    struct spec *spec = NULL;
    struct run_def *def = NULL;
    if (spec_load(b.data, b.len, NULL, &spec, &diags) < 0 ||
        run_def_new(spec, &(struct run_def_params){.name = "test-abcde", .uid = "uid-1", .cpus = 2},
                    &def, &diags) < 0) {
        fail_with(&diags, &b);
    }
    return def;
}
