/* --systems: what only the systems used that are left out is left out, too, and nothing else. */
#include "tests/test.h"
#include "small_definition.h"

#include "base/str.h"
#include "spec/spec_load.h"

/* Parameter servers, AllReduce, and one trainer alone; `rest`: the sweep and what
 * depends on it. Owned. */
static char *compose(const char *rest)
{
    return xasprintf("apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\n"
                     "spec:\n"
                     "  systems:\n"
                     "  - {name: ps, profile: other}\n"
                     "  - {name: ring, profile: other, exchange: {kind: AllReduce}}\n"
                     "  - {name: alone, profile: other, exchange: {kind: None}}\n"
                     "  - {name: mpi, profile: other, exchange: {kind: AllReduce}, roles: "
                     "{launcher: {command: [x]}}}\n"
                     "  workload: {model: resnet50, batchSize: 32}\n"
                     "  measure: {steps: 5}\n"
                     "%s",
                     rest);
}

/* The named part of spec as compact JSON, "-" where it is not there. Owned. */
static char *part(const struct spec *spec, const char *name)
{
    const json_t *o = json_object_get(json_object_get(spec->definition, "spec"), name);
    return o == NULL ? xstrdup("-") : json_dumps(o, JSON_COMPACT);
}

#define ROLES                                                                                      \
    "  roles: {pserver: {replicas: {from: pservers}}, trainer: {replicas: {from: trainers}},"      \
    " worker: {replicas: {from: trainers}}, launcher: {}}\n"
#define OWN_COUNT                                                                                  \
    "  roles: {pserver: {replicas: {from: pservers}}, trainer: {replicas: {from: trainers}},"      \
    " worker: {replicas: {from: workers}}, launcher: {}}\n"
#define GRID "  sweep: {grid: {pservers: [1, 2], trainers: [1, 4]}}\n"
#define POINTS                                                                                     \
    "  sweep: {points: [{pservers: 1, trainers: 4}, {pservers: 2, trainers: 4},"                   \
    " {pservers: 2, trainers: 8}]}\n"
#define JUST_TRAINERS "{\"grid\":{\"trainers\":[1,4]}}"
#define OF_WORKERS "{\"worker\":{\"replicas\":{\"from\":\"trainers\"}}}"

TEST(what_only_others_used_is_gone)
{
    static const struct {
        const char *systems, *rest, *name, *expected;
    } rows[] = {
        {"ring", ROLES GRID, "roles", OF_WORKERS},
        {"ring", ROLES GRID, "sweep", JUST_TRAINERS},
        {"alone", ROLES GRID, "roles", "{\"trainer\":{\"replicas\":{\"from\":\"trainers\"}}}"},
        {"alone", ROLES GRID, "sweep", JUST_TRAINERS},
        {"ps", ROLES GRID, "roles",
         "{\"pserver\":{\"replicas\":{\"from\":\"pservers\"}},"
         "\"trainer\":{\"replicas\":{\"from\":\"trainers\"}}}"},
        {"ps", ROLES GRID, "sweep", "{\"grid\":{\"pservers\":[1,2],\"trainers\":[1,4]}}"},
        {"mpi", ROLES GRID, "roles",
         "{\"worker\":{\"replicas\":{\"from\":\"trainers\"}},\"launcher\":{}}"},
        {"ps,mpi", ROLES GRID, "sweep", "{\"grid\":{\"pservers\":[1,2],\"trainers\":[1,4]}}"},
        /* points that differed in servers only are one */
        {"ring", ROLES POINTS, "sweep", "{\"points\":[{\"trainers\":4},{\"trainers\":8}]}"},
        {"ps,alone", OWN_COUNT "  sweep: {grid: {pservers: [1], trainers: [1], workers: [1, 4]}}\n",
         "sweep", "{\"grid\":{\"pservers\":[1],\"trainers\":[1]}}"},
        /* where the names stood, too */
        {"ring",
         ROLES "  sweep: {grid: {pservers: [1, 2], trainers: [1, 4]},"
               " exclude: [{pservers: 1, trainers: 4}]}\n",
         "sweep", JUST_TRAINERS},
        {"ring",
         ROLES GRID "  thresholds: [{metric: speedup, min: 1, where: {pservers: 1}},"
                    " {metric: speedup, min: 2, where: {trainers: 4}}]\n",
         "thresholds", "[{\"metric\":\"speedup\",\"min\":2,\"where\":{\"trainers\":4}}]"},
        {"ring", ROLES GRID "  baseline: {kind: Point, where: {pservers: 1, trainers: 1}}\n",
         "baseline", "{\"kind\":\"Point\",\"where\":{\"trainers\":1}}"},
        {"ring", ROLES GRID "  local: {sweep: {grid: {pservers: [1], trainers: [2]}}}\n", "local",
         "{\"sweep\":{\"grid\":{\"trainers\":[2]}}}"},
        {"ring",
         ROLES "  sweep: {grid: {pservers: [1], trainers: [1], a: [1], b: [1]}}\n"
               "  parameters: [{name: a, targets: [{roles: [pserver], env: [A]}]},"
               " {name: b, targets: [{roles: [pserver, worker], env: [B]}]}]\n",
         "parameters", "[{\"name\":\"b\",\"targets\":[{\"roles\":[\"worker\"],\"env\":[\"B\"]}]}]"},
        {"ring",
         ROLES "  sweep: {grid: {pservers: [1], trainers: [1], x: [1]}}\n"
               "  parameters: [{name: x, targets: [{roles: [pserver], env: [X]}]}]\n",
         "sweep", "{\"grid\":{\"trainers\":[1]}}"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row %zu: %s\n", i, rows[i].systems);
        _cleanup_(freep) char *text = compose(rows[i].rest);
        spec_free(definition_load(text, NULL)); /* all of them fit */
        struct spec_overrides overrides = {.systems = rows[i].systems};
        _cleanup_(spec_freep) struct spec *spec = definition_load(text, &overrides);
        _cleanup_(freep) char *got = part(spec, rows[i].name);
        assert_string_equal(got, rows[i].expected);
    }
}

/* What was wrong before stays an error: a role that no system of the definition ever used. */
TEST(a_mistake_is_not_hidden)
{
    static const struct {
        const char *systems, *rest, *error;
    } rows[] = {
        {"ring", ROLES GRID "  baseline: {kind: Point, where: {pservers: 1}}\n",
         "spec.baseline.where: the map is empty"},
        {"ring", ROLES "  sweep: {grid: {trainers: [1], workers: [2]}}\n",
         "'workers' is swept, but no role uses it"},
        {"ps,ring", "  roles: 5\n" GRID, "spec.roles: must be a map"},
        {"ring", ROLES "  sweep: {points: 3}\n", "must be a list"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text = compose(rows[i].rest);
        struct spec_overrides overrides = {.systems = rows[i].systems};
        _cleanup_(freep) char *errors = definition_errors(text, &overrides);
        if (strstr(errors, rows[i].error) == NULL) {
            fail_msg("expected '%s', got\n%s", rows[i].error, errors);
        }
    }
}
