/* Systems that are not the native worker: what a definition may say of them. */
#include "tests/test.h"
#include "small_definition.h"

#include "base/str.h"
#include "spec/matrix.h"
#include "spec/profile.h"
#include "spec/spec_load.h"
#include "spec/system_template.h"

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
                   point_exchange_name(spec, p), p->baseline_index);
    }
    return buf_take(&out);
}

TEST(roles_follow_the_exchange)
{
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
        _cleanup_(spec_freep) struct spec *spec = definition_load(text, NULL);
        _cleanup_(matrix_done) struct matrix m;
        assert_int_equal(matrix_expand(spec, &m, NULL), 0);
        _cleanup_(freep) char *got = describe(spec, &m);
        assert_string_equal(got, rows[i].expected);
    }
}

/* benchworker needs a batch size, and so does a command that takes it. Other programs have their
 * own, which may be unknown. */
TEST(a_batch_may_be_unknown)
{
    static const char workload[] = "{model: m, exchange: {kind: AllReduce}}";
    static const struct {
        const char *system, *sweep;
        bool is_wrong;
    } rows[] = {
        {"profile: other", NULL, false},
        {"profile: benchworker", NULL, true},
        {"profile: benchworker", "{grid: {workers: [1], batch_size: [4]}}", false},
        {"profile: other, command: [a, --batch=$(BENCHD_BATCH_SIZE)]", NULL, true},
        {"profile: other, args: [$(BENCHD_BATCH_SIZE)]", NULL, true},
        {"profile: other, env: [{name: B, value: $(BENCHD_BATCH_SIZE)}]", NULL, true},
        {"profile: other, roles: {worker: {command: [a, $(BENCHD_BATCH_SIZE)]}}", NULL, true},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s\n", rows[i].system);
        _cleanup_(freep) char *systems = xasprintf("[{name: mine, %s}]", rows[i].system);
        _cleanup_(freep) char *text = compose(systems, workload, rows[i].sweep, NULL);
        _cleanup_(freep) char *errors = definition_errors(text, NULL);
        assert_int_equal(strstr(errors, "system 'mine' needs a batch size") != NULL,
                         rows[i].is_wrong);
        if (!rows[i].is_wrong && str_eq(rows[i].system, "profile: other")) {
            _cleanup_(spec_freep) struct spec *spec = definition_load(text, NULL);
            assert_int_equal(spec->workload.batch_size, 0);
        }
    }
}

/* The program divides the batch of the job among its workers. */
TEST(a_batch_of_the_job_is_divided)
{
    static const char fixed[] =
        "{model: m, batchSize: 8, batchScope: Job, exchange: {kind: AllReduce}}";
    static const char swept[] = "{model: m, batchScope: Job, exchange: {kind: AllReduce}}";
    static const char read[] = "[{name: mine, profile: other, log: torch-ddp}]";
    static const struct {
        const char *systems, *workload, *sweep, *error;
        int64_t of_worker[3];
    } rows[] = {
        {read, fixed, "{grid: {workers: [2, 4]}}", NULL, {4, 2, 8}},
        {read, swept, "{grid: {workers: [2], batch_size: [6]}}", NULL, {3, 6}},
        {read, fixed, "{grid: {workers: [1, 2, 3]}, require: [8 % workers == 0]}", NULL, {8, 4}},
        {read, fixed, "{grid: {workers: [2, 3]}}",
         "the batch of the job is 8, which 3 workers do not divide evenly"},
        {read, swept, "{grid: {workers: [2]}}", "the batch of the job is unknown"},
        {"[{name: mine, profile: other}]", fixed, NULL, "system 'mine' has no log rule"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s\n", rows[i].sweep);
        _cleanup_(freep) char *text =
            compose(rows[i].systems, rows[i].workload, rows[i].sweep, NULL);
        if (rows[i].error != NULL) {
            _cleanup_(freep) char *errors = definition_errors(text, NULL);
            assert_non_null(strstr(errors, rows[i].error));
            continue;
        }
        _cleanup_(spec_freep) struct spec *spec = definition_load(text, NULL);
        _cleanup_(matrix_done) struct matrix m;
        assert_int_equal(matrix_expand(spec, &m, NULL), 0);
        for (uint32_t k = 0; k < m.n_points; k++) {
            const struct point *p = &m.points[k];
            assert_int_equal(p->worker_batch, rows[i].of_worker[k]);
            assert_int_equal(p->batch_size, p->worker_batch * point_training_replicas(p));
        }
    }
}

TEST(programs_that_benchd_ends_have_a_log_rule)
{
    static const char *const systems[] = {"[{name: mine, profile: other, log: torch-ddp}]", NULL};
    for (size_t i = 0; i < N_ROWS(systems); i++) {
        _cleanup_(freep) char *text = compose(systems[i], NULL, NULL, NULL);
        _cleanup_(freep) char *ends =
            xasprintf("%.*s, until: Steps}\n", (int)strlen(text) - 2, text);
        _cleanup_(freep) char *errors = definition_errors(ends, NULL);
        assert_int_equal(strstr(errors, "system 'mine' has no log rule: it writes records") != NULL,
                         i == 1);
        assert_int_equal(errors[0] != '\0', i == 1);
    }
}

#define SERVED_AND_REDUCED                                                                         \
    "[{name: served, profile: other}, "                                                            \
    "{name: reduced, profile: other, exchange: {kind: AllReduce}}]"
#define SERVED "{model: m, batchSize: 1}"

TEST(a_system_has_an_exchange_of_its_own)
{
    static const struct {
        const char *name, *systems, *sweep, *roles, *expected, *words;
    } rows[] = {
        {"one axis counts trainers or workers; what has no server has one point",
         SERVED_AND_REDUCED, "{grid: {trainers: [1, 2], pservers: [1, 3]}}",
         "{trainer: {replicas: {from: trainers}}, worker: {replicas: {from: trainers}}, "
         "pserver: {replicas: {from: pservers}}}",
         "1p 1t 0w PServer -> 6\n1p 2t 0w PServer -> 6\n3p 1t 0w PServer -> 6\n"
         "3p 2t 0w PServer -> 6\n0p 0t 1w AllReduce -> 4\n0p 0t 2w AllReduce -> 4\n"
         "*0p 1t 0w None -> 6\n",
         "trainer or worker, trainers or workers"},
        {"an axis each", SERVED_AND_REDUCED,
         "{points: [{trainers: 2, workers: 3}, {trainers: 4, workers: 6}]}",
         "{trainer: {replicas: {from: trainers}}, worker: {replicas: {from: workers}}, "
         "pserver: {replicas: {value: 1}}}",
         "1p 2t 0w PServer -> 4\n1p 4t 0w PServer -> 4\n0p 0t 3w AllReduce -> 5\n"
         "0p 0t 6w AllReduce -> 5\n*0p 1t 0w None -> 4\n*0p 0t 1w AllReduce -> 5\n",
         "trainer or worker, trainers or workers"},
        {"copies beside them", "[{name: copies, profile: other, exchange: {kind: None}}]",
         "{grid: {trainers: [2]}}", "{trainer: {replicas: {from: trainers}}}",
         "0p 2t 0w None -> 1\n*0p 1t 0w None -> 1\n", "trainer, trainers"},
        {"the workload's exchange is of no system",
         "[{name: reduced, profile: other, exchange: {kind: AllReduce}}]", "{grid: {workers: [2]}}",
         "{worker: {replicas: {from: workers}}}",
         "0p 0t 2w AllReduce -> 1\n*0p 0t 1w AllReduce -> 1\n", "worker, workers"},
        {"a name of its own",
         "[{name: a, profile: other, exchange: {kind: Ring}}, "
         "{name: b, profile: other, exchange: {kind: Gossip}}]",
         "{grid: {workers: [1]}}", "{worker: {replicas: {from: workers}}}",
         "0p 0t 1w Ring -> 0\n0p 0t 1w Gossip -> 1\n", "worker, workers"},
        {"beside the native worker",
         "[{name: ours, profile: benchworker}, "
         "{name: reduced, profile: other, exchange: {kind: AllReduce}}]",
         "{grid: {trainers: [1]}}",
         "{trainer: {replicas: {from: trainers}}, worker: {replicas: {from: trainers}}, "
         "pserver: {replicas: {value: 2}}}",
         "2p 1t 0w PServer -> 2\n0p 0t 1w AllReduce -> 1\n*0p 1t 0w None -> 2\n",
         "trainer or worker, trainers or workers"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s\n", rows[i].name);
        _cleanup_(freep) char *text =
            compose(rows[i].systems, "{model: vgg16-fluid-fc512, batchSize: 1}", rows[i].sweep,
                    rows[i].roles);
        _cleanup_(spec_freep) struct spec *spec = definition_load(text, NULL);
        _cleanup_(matrix_done) struct matrix m;
        assert_int_equal(matrix_expand(spec, &m, NULL), 0);
        _cleanup_(freep) char *got = describe(spec, &m);
        assert_string_equal(got, rows[i].expected);
        const struct training_words words = matrix_training_words(&m);
        _cleanup_(freep) char *got_words = xasprintf("%s, %s", words.one, words.many);
        assert_string_equal(got_words, rows[i].words);
    }
}

/* A table has a value in each column: what a system has none of is 0. */
TEST(what_a_system_has_none_of_is_0)
{
    _cleanup_(freep) char *text =
        compose(SERVED_AND_REDUCED, SERVED, "{points: [{trainers: 2, workers: 3, pservers: 1}]}",
                "{trainer: {replicas: {from: trainers}}, worker: {replicas: {from: workers}}, "
                "pserver: {replicas: {from: pservers}}}");
    static const struct {
        const char *name;
        int64_t expected[2]; /* of the points of both systems */
    } rows[] = {{"trainers", {2, 0}}, {"workers", {0, 3}}, {"pservers", {1, 0}}};
    _cleanup_(spec_freep) struct spec *spec = definition_load(text, NULL);
    _cleanup_(matrix_done) struct matrix m;
    assert_int_equal(matrix_expand(spec, &m, NULL), 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        for (size_t system = 0; system < 2; system++) {
            const struct value *v = params_get(&m.points[system].params, rows[i].name);
            assert_non_null(v);
            assert_int_equal(v->i, rows[i].expected[system]);
        }
    }
}

TEST(who_trains_is_counted)
{
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

TEST(names_of_foreign_systems_are_free)
{
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

TEST(a_launcher_leads)
{
    const struct point led = {.replicas = {[ROLE_WORKER] = 3, [ROLE_LAUNCHER] = 1}, .threads = 2};
    assert_int_equal(point_training_role(&led), ROLE_WORKER);
    assert_int_equal(point_leading_role(&led), ROLE_LAUNCHER);
    assert_int_equal(point_busy_threads(&led), 6); /* it waits */
    assert_true(role_leads(ROLE_LAUNCHER, led.replicas));
    assert_false(role_leads(ROLE_WORKER, led.replicas));
    const struct point other = {.replicas = {[ROLE_WORKER] = 3, [ROLE_PSERVER] = 1}};
    assert_int_equal(point_leading_role(&other), ROLE_WORKER);
    assert_true(role_leads(ROLE_WORKER, other.replicas));
    assert_false(role_leads(ROLE_PSERVER, other.replicas));
}

/* What container 0 of a role becomes, compact. Owned. */
static char *container_of(const struct spec *spec, size_t system, enum role role)
{
    struct err err;
    _cleanup_(json_decrefp) json_t *template;
    assert_int_equal(system_template(spec, &spec->systems.items[system], role, &template, &err), 0);
    json_t *containers = json_object_get(json_object_get(template, "spec"), "containers");
    return json_dumps(json_array_get(containers, 0), JSON_COMPACT);
}

TEST(a_system_has_its_own)
{
    static const struct {
        const char *name, *system, *template, *expected;
    } rows[] = {
        {"nothing", "", "{command: [c], args: [a], image: i}",
         "{\"command\":[\"c\"],\"args\":[\"a\"],\"image\":\"i\"}"},
        {"an image", ", image: j", "{image: i}", "{\"image\":\"j\"}"},
        {"a command takes the template's arguments away", ", command: [d, e]",
         "{command: [c], args: [a]}", "{\"command\":[\"d\",\"e\"]}"},
        {"arguments alone keep the command", ", args: [b]", "{command: [c], args: [a]}",
         "{\"command\":[\"c\"],\"args\":[\"b\"]}"},
        {"no arguments", ", args: []", "{command: [c], args: [a]}",
         "{\"command\":[\"c\"],\"args\":[]}"},
        {"a role's own goes first",
         ", command: [d], args: [b], image: j, roles: {worker: {command: [f], image: k}}", "{}",
         "{\"command\":[\"f\"],\"image\":\"k\"}"},
        {"a role's arguments for the command of all",
         ", command: [d], roles: {worker: {args: [g]}}", "{}",
         "{\"command\":[\"d\"],\"args\":[\"g\"]}"},
        {"patches",
         ", patches: [{path: /spec/containers/0/x, value: {w: [1]}}, "
         "{roles: [pserver], path: /spec/containers/0/z, value: 2}]",
         "{}", "{\"x\":{\"w\":[1]}}"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s\n", rows[i].name);
        _cleanup_(freep) char *systems =
            xasprintf("[{name: mine, profile: other%s}]", rows[i].system);
        _cleanup_(freep) char *roles =
            xasprintf("{worker: {replicas: {from: workers}, template: {spec: {containers: [%s]}}}}",
                      rows[i].template);
        _cleanup_(freep) char *text = compose(systems, NULL, NULL, roles);
        _cleanup_(spec_freep) struct spec *spec = definition_load(text, NULL);
        _cleanup_(freep) char *got = container_of(spec, 0, ROLE_WORKER);
        assert_string_equal(got, rows[i].expected);
    }
}

static const struct {
    const char *systems, *workload, *sweep, *roles;
    const char *message; /* "LINE:COLUMN: error: path: text" */
    const char *fix;     /* NULL: any */
} mistakes[] = {
    {NULL, NULL, NULL, "{trainer: {replicas: {from: workers}}}",
     "8:11: error: spec.roles.trainer: exchange AllReduce uses no trainer",
     "rename it to 'worker'"},
    {NULL, NULL, NULL, "{pserver: {replicas: {value: 1}}}",
     "8:3: error: spec.roles.worker: exchange AllReduce requires roles.worker",
     "add 'worker: {replicas: {from: workers}}'"},
    {NULL, NULL, NULL, "{worker: {replicas: {from: workers}}, pserver: {replicas: {value: 1}}}",
     "8:48: error: spec.roles.pserver: exchange AllReduce uses no pserver", "remove the role"},
    {NULL, "{model: m, batchSize: 1, exchange: {kind: None}}", NULL, NULL,
     "8:11: error: spec.roles.worker: exchange None uses no worker",
     "rename it to 'trainer', or write exchange: {kind: AllReduce}"},
    {NULL, "{model: m, batchSize: 1, exchange: {kind: None}}",
     "{grid: {workers: [1], trainers: [1]}}",
     "{trainer: {replicas: {from: trainers}}, worker: {replicas: {from: workers}}}",
     "8:50: error: spec.roles.worker: exchange None uses no worker", "remove the role, or write"},
    {"[{name: ours, profile: benchworker}]", "{model: vgg16-fluid-fc512, batchSize: 1}", NULL, NULL,
     "8:11: error: spec.roles.worker: exchange PServer uses no worker",
     "rename it to 'trainer', or write exchange: {kind: AllReduce}"},
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
    /* Systems with exchanges of their own. */
    {SERVED_AND_REDUCED, SERVED, "{grid: {trainers: [1]}}",
     "{trainer: {replicas: {from: trainers}}, pserver: {replicas: {value: 1}}}",
     "8:3: error: spec.roles.worker: exchange AllReduce requires roles.worker", NULL},
    {SERVED_AND_REDUCED, SERVED, "{grid: {workers: [1]}}",
     "{worker: {replicas: {from: workers}}, pserver: {replicas: {value: 1}}}",
     "8:3: error: spec.roles.trainer: exchange PServer requires roles.trainer", NULL},
    {SERVED_AND_REDUCED, SERVED, "{grid: {workers: [1], trainers: [1]}}",
     "{worker: {replicas: {from: workers}}, trainer: {replicas: {from: trainers}}}",
     "8:3: error: spec.roles.pserver: exchange PServer requires roles.pserver", NULL},
    {"[{name: a, profile: other, exchange: {kind: None}}, "
     "{name: b, profile: other, exchange: {kind: AllReduce}}]",
     SERVED, "{grid: {workers: [1], pservers: [1]}}",
     "{worker: {replicas: {from: workers}}, trainer: {replicas: {value: 1}}}",
     "7:32: error: spec.sweep.grid.pservers: 'pservers' is swept, but no role uses it",
     "remove it; exchange None and AllReduce uses no pserver"},
    {"[{name: mine, profile: other, exchange: {kind: None}}]", NULL, NULL, NULL,
     "8:11: error: spec.roles.worker: exchange None uses no worker", NULL},
    {"[{name: mine, profile: other, exchange: {kind: -x}}]", NULL, NULL, NULL,
     "5:59: error: spec.systems[0].exchange.kind: '-x' is not a valid name", NULL},
    {"[{name: mine, profile: other, exchange: {mode: Async}}]", NULL, NULL, NULL,
     "5:42: error: spec.systems[0].exchange.kind: required field 'kind' is missing", NULL},
    {"[{name: ours, profile: benchworker, exchange: {kind: Gossip}}]",
     "{model: vgg16-fluid-fc512, batchSize: 1}", NULL, NULL,
     "5:65: error: spec.systems[0].exchange.kind: unknown value 'Gossip'", NULL},
    {"[{name: served, profile: other}, "
     "{name: reduced, profile: other, exchange: {kind: AllReduce}, roles: {trainer: {args: [x]}}}]",
     SERVED, "{grid: {trainers: [1]}}",
     "{trainer: {replicas: {from: trainers}}, worker: {replicas: {from: trainers}}, "
     "pserver: {replicas: {value: 1}}}",
     "5:114: error: spec.systems[1].roles.trainer: exchange AllReduce uses no trainer",
     "remove it"},
    {"[{name: a, profile: other, exchange: {kind: Ring}}, "
     "{name: b, profile: other, exchange: {kind: AllReduce}}]",
     SERVED, "{grid: {workers: [1]}}",
     "{worker: {replicas: {from: workers}}, trainer: {replicas: {value: 1}}}",
     "8:19: error: spec.roles.worker: exchange Ring requires exactly one of", NULL},
    /* What a system has of its own. */
    {"[{name: mine, profile: other, comand: [x]}]", NULL, NULL, NULL,
     "5:42: error: spec.systems[0].comand: unknown field", "did you mean 'command'?"},
    {"[{name: mine, profile: other, command: x}]", NULL, NULL, NULL,
     "5:51: error: spec.systems[0].command: must be a list", NULL},
    {"[{name: mine, profile: other, command: []}]", NULL, NULL, NULL,
     "5:51: error: spec.systems[0].command: the list is empty", NULL},
    {"[{name: mine, profile: other, image: ''}]", NULL, NULL, NULL,
     "5:49: error: spec.systems[0].image: the image is empty", "for example, write registry"},
    {"[{name: mine, profile: other, env: [{name: BENCHD_INDEX, value: '1'}]}]", NULL, NULL, NULL,
     "5:55: error: spec.systems[0].env[0].name: names that begin with BENCHD_ are benchd's own",
     "choose another name"},
    {"[{name: mine, profile: other, env: [{name: A, value: 1}]}]", NULL, NULL, NULL,
     "5:65: error: spec.systems[0].env[0].value: must be a string", "put quotes around it"},
    {"[{name: mine, profile: other, env: [{name: A}]}]", NULL, NULL, NULL,
     "5:48: error: spec.systems[0].env[0].value: required field 'value' is missing", NULL},
    {"[{name: mine, profile: other, roles: {pserver: {args: [x]}}}]", NULL, NULL, NULL,
     "5:50: error: spec.systems[0].roles.pserver: spec.roles.pserver does not exist",
     "remove it, or add the role to spec.roles"},
    {"[{name: mine, profile: other, patches: [{path: spec/x, value: 1}]}]", NULL, NULL, NULL,
     "5:59: error: spec.systems[0].patches[0].path: 'spec/x' is not a path into a pod template",
     NULL},
    {"[{name: mine, profile: other, patches: [{path: /spec/containers/1/x, value: 1}]}]", NULL,
     NULL, NULL, "5:51: error: spec.systems[0].patches: the template of worker has no such path",
     "use paths that the template has"},
    {"[{name: mine, profile: other, patches: [{path: /spec/restartPolicy, value: Always}]}]", NULL,
     NULL, NULL,
     "5:51: error: spec.systems[0].patches: template of worker: spec.restartPolicy: must be Never",
     NULL},
    /* A launcher. */
    {NULL, NULL, NULL,
     "{worker: {replicas: {from: workers}}, launcher: {template: {spec: {containers: [{image: "
     "i}]}}}}",
     "8:48: error: spec.roles.launcher: no system has a launcher; the profile open-mpi brings one",
     "write roles: {launcher: {command: [...]}} in a system"},
    {"[{name: mine, profile: open-mpi, command: [mpirun, x]}]", NULL, NULL,
     "{worker: {replicas: {from: workers}}, launcher: {replicas: {value: 2}}}",
     "8:59: error: spec.roles.launcher.replicas: unknown field 'replicas'", NULL},
    {"[{name: ours, profile: benchworker, roles: {launcher: {args: [x]}}}]",
     "{model: vgg16-fluid-fc512, batchSize: 1, exchange: {kind: None}}", "{grid: {trainers: [1]}}",
     "{trainer: {replicas: {from: trainers}}}",
     "5:56: error: spec.systems[0].roles.launcher: a system with profile benchworker has no "
     "launcher",
     "remove it"},
    /* A format that only benchworker's servers send is nobody else's, however it comes to them. */
    {"[{name: ours, profile: benchworker}, {name: mine, profile: other}]",
     "{model: vgg16-fluid-fc512, batchSize: 1, exchange: {kind: PServer, wire: BF16}}",
     "{grid: {trainers: [1]}}",
     "{pserver: {replicas: {value: 1}}, trainer: {replicas: {from: trainers}}}",
     "5:49: error: spec.systems[1]: wire BF16: only benchworker's parameter servers have it, and "
     "system "
     "'mine' has profile 'other'",
     "give the system an exchange of its own, without it"},
    {"[{name: ours, profile: benchworker}, {name: mine, profile: other, exchange: {kind: PServer, "
     "serverThreads: 2}}]",
     "{model: vgg16-fluid-fc512, batchSize: 1}", "{grid: {trainers: [1]}}",
     "{pserver: {replicas: {value: 1}}, trainer: {replicas: {from: trainers}}}",
     "5:119: error: spec.systems[1].exchange.serverThreads: serverThreads: only benchworker's "
     "parameter servers have it, and system 'mine' has profile 'other'",
     "leave it out"},
    {"[{name: ours, profile: benchworker, exchange: {kind: AllReduce, serverThreads: 2}}]",
     "{model: vgg16-fluid-fc512, batchSize: 1}", NULL, NULL,
     "5:91: error: spec.systems[0].exchange.serverThreads: serverThreads: only benchworker's "
     "parameter servers have it",
     "leave serverThreads out, or write kind: PServer"},
    {"[{name: ours, profile: benchworker, exchange: {kind: AllReduce, wire: BF16}}]",
     "{model: vgg16-fluid-fc512, batchSize: 1}", NULL, NULL,
     "5:82: error: spec.systems[0].exchange.wire: wire BF16: only benchworker's parameter servers "
     "have it",
     "leave wire out, or write kind: PServer"},
    {"[{name: ours, profile: benchworker}]",
     "{model: vgg16-fluid-fc512, batchSize: 1, exchange: {kind: AllReduce, wire: BF16}}", NULL,
     NULL, "6:88: error: spec.workload.exchange.wire: wire BF16: only benchworker's parameter",
     "leave wire out, or write kind: PServer"},
    {"[{name: mine, profile: other, exchange: {kind: PServer, wire: BF16}}]", NULL,
     "{grid: {trainers: [1]}}",
     "{pserver: {replicas: {value: 1}}, trainer: {replicas: {from: trainers}}}",
     "5:74: error: spec.systems[0].exchange.wire: wire BF16: only benchworker's parameter servers "
     "have "
     "it, and system 'mine' has profile 'other'",
     "leave it out"},
    /* Nor do others exchange as its trainers do. */
    {"[{name: ours, profile: benchworker}, {name: mine, profile: other}]",
     "{model: vgg16-fluid-fc512, batchSize: 1, exchange: {kind: PServer, localSteps: 2}}",
     "{grid: {trainers: [1]}}",
     "{pserver: {replicas: {value: 1}}, trainer: {replicas: {from: trainers}}}",
     "5:49: error: spec.systems[1]: localSteps: only benchworker's trainers with parameter servers "
     "know it, and system 'mine' has profile 'other'",
     "give the system an exchange of its own, without it"},
    {"[{name: ours, profile: benchworker, exchange: {kind: AllReduce, localSteps: 2}}]",
     "{model: vgg16-fluid-fc512, batchSize: 1}", NULL, NULL,
     "5:88: error: spec.systems[0].exchange.localSteps: localSteps: only benchworker's trainers "
     "with parameter servers know it",
     "leave localSteps out, or write kind: PServer"},
    /* The same holds for the way that only benchworker's replicas choose. */
    {"[{name: ours, profile: benchworker}, {name: mine, profile: torchrun, command: [a]}]",
     "{model: vgg16-fluid-fc512, batchSize: 1, exchange: {kind: AllReduce, transport: TCP}}",
     "{grid: {workers: [1]}}", "{worker: {replicas: {from: workers}}}",
     "5:49: error: spec.systems[1]: transport TCP: only benchworker's workers, trainers and "
     "parameter servers choose it, and system 'mine' has profile 'torchrun'",
     "give the system an exchange of its own, without it"},
    {"[{name: ours, profile: benchworker, exchange: {kind: PServer, transport: NCCL}}]",
     "{model: vgg16-fluid-fc512, batchSize: 1}", NULL, NULL,
     "5:85: error: spec.systems[0].exchange.transport: transport NCCL: only benchworker's workers "
     "choose it",
     "leave transport out, or write kind: AllReduce"},
    {"[{name: ours, profile: benchworker, exchange: {kind: None, transport: TCP}}]",
     "{model: vgg16-fluid-fc512, batchSize: 1}", NULL, NULL,
     "5:82: error: spec.systems[0].exchange.transport: transport TCP: only benchworker's workers, "
     "trainers and parameter servers choose it",
     "leave transport out, or write kind: PServer or AllReduce"},
    {"[{name: ours, profile: benchworker, exchange: {kind: AllReduce, transport: Rdma}}]",
     "{model: vgg16-fluid-fc512, batchSize: 1}", "{grid: {workers: [1]}}",
     "{worker: {replicas: {from: workers}}}",
     "5:87: error: spec.systems[0].exchange.transport: unknown value 'Rdma'", NULL},
    /* With the native worker beside them, all names must be its own. */
    {"[{name: mine, profile: other}, {name: ours, profile: benchworker}]", NULL, NULL, NULL,
     "6:21: error: spec.workload.model: unknown value 'resnet50'", NULL},
};

static void assert_word(const struct spec *spec, enum role role, const char *key, size_t i,
                        const char *word)
{
    const json_t *launch = system_launch(&spec->systems.items[0], role);
    assert_string_equal(json_string_value(json_array_get(json_object_get(launch, key), i)), word);
}

/* open-mpi beside a system without a launcher, in one definition. */
TEST(a_launcher_is_of_its_system)
{
    _cleanup_(freep) char *text =
        compose("[{name: mpi, profile: open-mpi, command: [mpirun, ./train], args: [-v]}, "
                "{name: ddp, profile: torchrun, command: [train.py]}]",
                NULL, "{grid: {workers: [2]}}", NULL);
    _cleanup_(spec_freep) struct spec *spec = definition_load(text, NULL);
    _cleanup_(matrix_done) struct matrix m;
    assert_int_equal(matrix_expand(spec, &m, NULL), 0);
    static const uint32_t expected[][2] = {{2, 1}, {2, 0}, {1, 1}, {1, 0}}; /* the baselines last */
    assert_int_equal(m.n_points, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(m.points[i].replicas[ROLE_WORKER], expected[i][0]);
        assert_int_equal(m.points[i].replicas[ROLE_LAUNCHER], expected[i][1]);
    }
    assert_word(spec, ROLE_LAUNCHER, "command", 0, "sh");
    assert_word(spec, ROLE_WORKER, "args", 2, "-v");
    /* What is frozen is read again without a profile, and stays the same. */
    _cleanup_(freep) char *frozen = json_dumps(spec->definition, JSON_SORT_KEYS);
    _cleanup_(spec_freep) struct spec *again = definition_load(frozen, NULL);
    _cleanup_(freep) char *thawed = json_dumps(again->definition, JSON_SORT_KEYS);
    assert_string_equal(frozen, thawed);
}

TEST(a_role_s_own_command_replaces_the_entrypoint)
{
    _cleanup_(freep) char *text =
        compose("[{name: mpi, profile: open-mpi, command: [mpirun, ./train], "
                "roles: {worker: {command: [serve]}, launcher: {args: [other]}}}]",
                NULL, NULL,
                "{worker: {replicas: {from: workers}}, launcher: {template: {spec: {containers: "
                "[{image: i}]}}}}");
    _cleanup_(spec_freep) struct spec *spec = definition_load(text, NULL);
    assert_word(spec, ROLE_WORKER, "command", 0, "serve");
    assert_word(spec, ROLE_LAUNCHER, "args", 2, "other");
    assert_non_null(spec->roles[ROLE_LAUNCHER].template);
}

/* Nobody exchanges as the workload does, once the system that did is left out. */
TEST(the_format_of_nobody)
{
    _cleanup_(freep) char *text =
        compose("[{name: ours, profile: benchworker}, "
                "{name: mine, profile: none, command: [a], exchange: {kind: None}}]",
                "{model: vgg16-fluid-fc512, batchSize: 1, exchange: {kind: PServer, wire: BF16}}",
                "{grid: {trainers: [1]}}",
                "{pserver: {replicas: {value: 1}}, trainer: {replicas: {from: trainers}}}");
    static const char *const kept[] = {NULL, "mine", "ours"};
    for (size_t i = 0; i < N_ROWS(kept); i++) {
        struct spec_overrides overrides = {.systems = kept[i]};
        _cleanup_(spec_freep) struct spec *spec = definition_load(text, &overrides);
        vec_each (const struct system, s, &spec->systems) {
            assert_int_equal(s->exchange.wire,
                             s->name[0] == 'o' ? EXCHANGE_WIRE_BF16 : EXCHANGE_WIRE_FP32);
        }
    }
}

TEST(reports_what_is_wrong)
{
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

TEST(what_follows_from_a_mistake_is_no_other)
{
    static const struct {
        const char *systems, *workload, *error;
    } rows[] = {
        {"[{name: mine, profile: torch-run, command: [x]}]", NULL,
         "f.yaml:5:35: error: spec.systems[0].profile: unknown value 'torch-run'"},
        {"[{name: mine, profile: bare, command: [x]}]", "{model: m, batchSize: 1}",
         "f.yaml:8:11: error: spec.roles.worker: exchange PServer uses no worker"},
    };
    static const char bare[] = "name: bare\n";
    _cleanup_(profiles_done) struct profiles profiles = {0};
    struct diags diags = {0};
    struct profile *profile;
    assert_int_equal(profile_load(bare, strlen(bare), &profile, &diags), 0);
    *vec_push(&profiles.list) = profile;
    struct spec_overrides overrides = {.profiles = &profiles};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text = compose(rows[i].systems, rows[i].workload, NULL, NULL);
        _cleanup_(freep) char *errors = definition_errors(text, &overrides);
        const size_t len = strlen(rows[i].error);
        if (strncmp(errors, rows[i].error, len) != 0 || strstr(errors + len, "error: ") != NULL) {
            fail_msg("expected only '%s', got\n%s", rows[i].error, errors);
        }
    }
}

TEST(a_command_must_come_from_somewhere)
{
    static const char bare[] = "name: bare\n";
    static const struct {
        const char *name, *systems, *roles, *error;
    } rows[] = {
        {"nowhere", "[{name: mine, profile: bare}]", NULL,
         "f.yaml:5:13: error: spec.systems[0]: system 'mine' has no command for role worker"},
        {"of another role", "[{name: mine, profile: bare, roles: {trainer: {command: [x]}}}]", NULL,
         "system 'mine' has no command for role worker"},
        {"of the system", "[{name: mine, profile: bare, command: [x]}]", NULL, ""},
        {"of the system, as a text", "[{name: mine, profile: bare, command: x y}]", NULL,
         "^\n  fix: write 'command: [x, y]'\n1 error in f.yaml"},
        {"of the system, empty", "[{name: mine, profile: bare, command: []}]", NULL,
         "^\n  fix: add an item, or remove the field\n1 error in f.yaml"},
        {"of its role", "[{name: mine, profile: bare, roles: {worker: {command: [x]}}}]", NULL, ""},
        {"of the template", "[{name: mine, profile: bare}]",
         "{worker: {replicas: {from: workers}, template: {spec: {containers: [{command: [x]}]}}}}",
         ""},
    };
    _cleanup_(profiles_done) struct profiles profiles = {0};
    struct diags diags = {0};
    struct profile *profile;
    assert_int_equal(profile_load(bare, strlen(bare), &profile, &diags), 0);
    *vec_push(&profiles.list) = profile;
    struct spec_overrides overrides = {.profiles = &profiles};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s\n", rows[i].name);
        _cleanup_(freep) char *text = compose(rows[i].systems, NULL, NULL, rows[i].roles);
        _cleanup_(freep) char *errors = definition_errors(text, &overrides);
        if (strstr(errors, rows[i].error) == NULL ||
            (rows[i].error[0] == '\0') != (errors[0] == '\0')) {
            fail_msg("expected '%s', got\n%s", rows[i].error, errors);
        }
    }
}

/* Allreduce would be a name of its own, with other rules than AllReduce;
 * stored runs stay readable. */
TEST(our_names_in_other_letters_are_mistakes)
{
    static const struct profiles none = {0};
    static const char *const wrong[] = {"exchange: {kind: Allreduce}",
                                        "exchange: {kind: AllReduce}, dataset: {kind: synthetic}"};
    static const char *const fixes[] = {"did you mean 'AllReduce'?", "did you mean 'Synthetic'?"};
    for (size_t i = 0; i < N_ROWS(wrong); i++) {
        _cleanup_(freep) char *workload = xasprintf("{model: m, batchSize: 1, %s}", wrong[i]);
        _cleanup_(freep) char *text = compose(NULL, workload, NULL, NULL);
        _cleanup_(freep) char *errors =
            definition_errors(text, &(struct spec_overrides){.profiles = &none});
        assert_non_null(strstr(errors, fixes[i]));
        _cleanup_(freep) char *without =
            definition_errors(text, &(struct spec_overrides){.is_new = true});
        assert_non_null(strstr(without, fixes[i]));
        spec_free(definition_load(text, NULL));
    }
}
