/* A small definition, frozen: for the tests of what benchctl prints. */
#pragma once

#include "tests/test.h"
#include "spec/run_def.h"
#include "spec/spec_load.h"

/* Owned. */
static inline char *make_def_text(const char *grid)
{
    return xasprintf(
        "apiVersion: benchd.io/v1alpha1\n"
        "kind: Benchmark\n"
        "metadata: {name: tiny}\n"
        "spec:\n"
        "  systems: [{name: benchworker, profile: benchworker}]\n"
        "  workload: {model: vgg16-fluid-fc512, dataset: {kind: Synthetic}, batchSize: 4,\n"
        "    threads: 1, seed: 1, exchange: {kind: PServer, mode: Sync, wire: FP32}, compute: "
        "Real}\n"
        "  sweep: {grid: %s}\n"
        "  baseline: {kind: Point, where: {trainers: 1}}\n"
        "  roles: {pserver: {replicas: {value: 1}}, trainer: {replicas: {from: trainers}}}\n"
        "  measure: {warmupSteps: 2, steps: 8}\n"
        "  repeats: {min: 2, order: Sequential}\n",
        grid);
}

static inline struct run_def *make_def_of(const char *text, int64_t cpus)
{
    _cleanup_(diags_done) struct diags diags = {0};
    struct spec *spec = NULL;
    struct run_def *def = NULL;
    struct run_def_params params = {.name = "tiny-7k3fq", .uid = "u", .cpus = cpus};
    int r = spec_load(text, strlen(text), NULL, &spec, &diags);
    if (r >= 0) {
        r = run_def_new(spec, &params, &def, &diags);
    }
    if (r < 0) {
        fail_msg("definition: %s: %s", diags.list.items[0].path, diags.list.items[0].message);
    }
    return def;
}

static inline struct run_def *make_def(const char *grid, int64_t cpus)
{
    _cleanup_(freep) char *text = make_def_text(grid);
    return make_def_of(text, cpus);
}
