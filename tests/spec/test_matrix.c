#include "tests/test.h"
#include "small_definition.h"

#include <errno.h>

#include "spec/run_def.h"

static const char sample_grid[] = "grid: {pservers: [1, 2], trainers: [1, 2, 4], batch_size: [16]}";

/* One line a point: "0: batch_size=16 pservers=1 trainers=1 | 1 pservers 1 trainers PServer b16 t1
 * -> 6"; an added baseline has a '*'. Owned. */
static char *describe(const struct spec *spec, const struct matrix *m)
{
    struct buf out = BUF_INIT;
    for (uint32_t i = 0; i < m->n_points; i++) {
        const struct point *p = &m->points[i];
        assert_int_equal(p->index, i);
        assert_int_equal(p->is_baseline, i >= m->n_swept);
        buf_printf(&out, "%u%s %u:", i, p->is_baseline ? "*" : "", p->system);
        vec_each (const struct param, it, &p->params.list) {
            buf_printf(&out, " %s=", it->name);
            value_format(&it->value, &out);
        }
        buf_printf(&out, " | %up %ut %s b%lld t%lld -> ", p->replicas[ROLE_PSERVER],
                   p->replicas[ROLE_TRAINER], point_exchange_name(spec, p),
                   (long long)p->batch_size, (long long)p->threads);
        buf_printf(&out, p->baseline_excluded ? "none\n" : "%u\n", p->baseline_index);
        assert_int_equal(p->replicas[ROLE_WORKER], 0);
    }
    return buf_take(&out);
}

static char *expand(const char *text)
{
    _cleanup_(spec_freep) struct spec *spec = definition_load(text, NULL);
    _cleanup_(matrix_done) struct matrix m;
    assert_int_equal(matrix_expand(spec, &m, NULL), 0);
    return describe(spec, &m);
}

TEST(expands)
{
    /* clang-format off */
    static const struct {
        const char *name, *sweep, *baseline, *expected;
    } rows[] = {
        {"grid, last name fastest, one baseline for all", sample_grid, "kind: SingleNode",
         "0 0: batch_size=16 pservers=1 trainers=1 | 1p 1t PServer b16 t1 -> 6\n1 0: "
         "batch_size=16 pservers=1 trainers=2 | 1p 2t PServer b16 t1 -> 6\n2 0: batch_size=16 "
         "pservers=1 trainers=4 | 1p 4t PServer b16 t1 -> 6\n3 0: batch_size=16 pservers=2 "
         "trainers=1 | 2p 1t PServer b16 t1 -> 6\n4 0: batch_size=16 pservers=2 trainers=2 | 2p "
         "2t PServer b16 t1 -> 6\n5 0: batch_size=16 pservers=2 trainers=4 | 2p 4t PServer b16 "
         "t1 -> 6\n6* 0: batch_size=16 pservers=0 trainers=1 | 0p 1t None b16 t1 -> 6\n"},
        {"a baseline for each batch and number of threads",
         "grid: {trainers: [2], pservers: [1], threads: [1, 2], batch_size: [8, 4]}",
         "kind: SingleNode", "0 0: batch_size=8 pservers=1 threads=1 trainers=2 | 1p 2t PServer "
         "b8 t1 -> 4\n1 0: batch_size=8 pservers=1 threads=2 trainers=2 | 1p 2t PServer b8 t2 -> "
         "5\n2 0: batch_size=4 pservers=1 threads=1 trainers=2 | 1p 2t PServer b4 t1 -> 6\n3 0: "
         "batch_size=4 pservers=1 threads=2 trainers=2 | 1p 2t PServer b4 t2 -> 7\n4* 0: "
         "batch_size=8 pservers=0 threads=1 trainers=1 | 0p 1t None b8 t1 -> 4\n5* 0: "
         "batch_size=8 pservers=0 threads=2 trainers=1 | 0p 1t None b8 t2 -> 5\n6* 0: "
         "batch_size=4 pservers=0 threads=1 trainers=1 | 0p 1t None b4 t1 -> 6\n7* 0: "
         "batch_size=4 pservers=0 threads=2 trainers=1 | 0p 1t None b4 t2 -> 7\n"},
        {"other parameters stay in the baseline",
         "grid: {pservers: [1], trainers: [2], cpu: [\"1\", 1]}", "kind: SingleNode",
         "0 0: cpu=1 pservers=1 trainers=2 | 1p 2t PServer b64 t1 -> 2\n1 0: cpu=1 pservers=1 "
         "trainers=2 | 1p 2t PServer b64 t1 -> 3\n2* 0: cpu=1 pservers=0 trainers=1 | 0p 1t None "
         "b64 t1 -> 2\n3* 0: cpu=1 pservers=0 trainers=1 | 0p 1t None b64 t1 -> 3\n"},
        {"points", "points: [{trainers: 3, pservers: 2}, {pservers: 1, trainers: 3}]",
         "kind: SingleNode", "0 0: pservers=2 trainers=3 | 2p 3t PServer b64 t1 -> 2\n1 0: "
         "pservers=1 trainers=3 | 1p 3t PServer b64 t1 -> 2\n2* 0: pservers=0 trainers=1 | 0p 1t "
         "None b64 t1 -> 2\n"},
        {"a swept point is the baseline", "grid: {pservers: [1, 2], trainers: [1, 3]}",
         "kind: Point, where: {trainers: 1}", "0 0: pservers=1 trainers=1 | 1p 1t PServer b64 t1 "
         "-> 0\n1 0: pservers=1 trainers=3 | 1p 3t PServer b64 t1 -> 0\n2 0: pservers=2 "
         "trainers=1 | 2p 1t PServer b64 t1 -> 2\n3 0: pservers=2 trainers=3 | 2p 3t PServer b64 "
         "t1 -> 2\n"},
        {"a baseline that is not swept is added", "grid: {pservers: [1, 2], trainers: [2, 3]}",
         "kind: Point, where: {trainers: 1}", "0 0: pservers=1 trainers=2 | 1p 2t PServer b64 t1 "
         "-> 4\n1 0: pservers=1 trainers=3 | 1p 3t PServer b64 t1 -> 4\n2 0: pservers=2 "
         "trainers=2 | 2p 2t PServer b64 t1 -> 5\n3 0: pservers=2 trainers=3 | 2p 3t PServer b64 "
         "t1 -> 5\n4* 0: pservers=1 trainers=1 | 1p 1t PServer b64 t1 -> 4\n5* 0: pservers=2 "
         "trainers=1 | 2p 1t PServer b64 t1 -> 5\n"},
        {"an excluded point is no baseline, though others have theirs",
         "grid: {cpu: [1, 8], pservers: [1], trainers: [1, 3]}\n    exclude: [{trainers: 1, cpu: "
         "8}]", "kind: Point, where: {trainers: 1}", "0 0: cpu=1 pservers=1 trainers=1 | 1p 1t "
         "PServer b64 t1 -> 0\n1 0: cpu=1 pservers=1 trainers=3 | 1p 3t PServer b64 t1 -> 0\n2 "
         "0: cpu=8 pservers=1 trainers=3 | 1p 3t PServer b64 t1 -> none\n"},
        {"an exclusion of a baseline alone",
         "grid: {cpu: [1, 8], pservers: [1], trainers: [3]}\n    exclude: [{trainers: 1, cpu: 8}]",
         "kind: Point, where: {trainers: 1}", "0 0: cpu=1 pservers=1 trainers=3 | 1p 3t PServer "
         "b64 t1 -> 2\n1 0: cpu=8 pservers=1 trainers=3 | 1p 3t PServer b64 t1 -> none\n2* 0: "
         "cpu=1 pservers=1 trainers=1 | 1p 1t PServer b64 t1 -> 2\n"},
        {"a single node is excluded by the counts that it has",
         "grid: {cpu: [1, 8], pservers: [1], trainers: [3]}\n    exclude: [{trainers: 1, cpu: 8}]",
         "kind: SingleNode", "0 0: cpu=1 pservers=1 trainers=3 | 1p 3t PServer b64 t1 -> 2\n1 0: "
         "cpu=8 pservers=1 trainers=3 | 1p 3t PServer b64 t1 -> none\n2* 0: cpu=1 pservers=0 "
         "trainers=1 | 0p 1t None b64 t1 -> 2\n"},
        {"exclude needs all its pairs", "grid: {pservers: [1, 2], trainers: [1, 3]}\n    "
         "exclude: [{trainers: 1, pservers: 2}, {trainers: 3, pservers: 1}]",
         "kind: Point, where: {trainers: 1, pservers: 1}", "0 0: pservers=1 trainers=1 | 1p 1t "
         "PServer b64 t1 -> 0\n1 0: pservers=2 trainers=3 | 2p 3t PServer b64 t1 -> 0\n"},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *with_sweep = definition_with(sample_grid, rows[i].sweep);
        char *at = strstr(with_sweep, "kind: SingleNode");
        _cleanup_(freep) char *text = xasprintf("%.*s%s%s", (int)(at - with_sweep), with_sweep,
                                                rows[i].baseline, at + strlen("kind: SingleNode"));
        _cleanup_(freep) char *got = expand(text);
        if (strcmp(got, rows[i].expected) != 0) {
            fail_msg("%s\nexpected\n%sgot\n%s", rows[i].name, rows[i].expected, got);
        }
    }
}

static const char alone[] =
    "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: alone}\n"
    "spec:\n"
    "  systems: [{name: one, profile: benchworker}, {name: two, profile: benchworker}]\n"
    "  workload: {model: vgg16-fluid-fc512, batchSize: 8, exchange: {kind: None}}\n"
    "  sweep: {grid: {%s}}\n"
    "  roles: {trainer: {replicas: {%s}}}\n"
    "  measure: {steps: 5}\n";

TEST(points_without_server_serve_as_their_baseline)
{
    static const struct {
        const char *sweep, *replicas, *expected;
    } rows[] = {
        {"batch_size: [1, 2]", "value: 1",
         "0 0: batch_size=1 | 0p 1t None b1 t1 -> 0\n"
         "1 0: batch_size=2 | 0p 1t None b2 t1 -> 1\n"
         "2 1: batch_size=1 | 0p 1t None b1 t1 -> 2\n"
         "3 1: batch_size=2 | 0p 1t None b2 t1 -> 3\n"},
        {"trainers: [2, 1]", "from: trainers",
         "0 0: trainers=2 | 0p 2t None b8 t1 -> 1\n"
         "1 0: trainers=1 | 0p 1t None b8 t1 -> 1\n"
         "2 1: trainers=2 | 0p 2t None b8 t1 -> 3\n"
         "3 1: trainers=1 | 0p 1t None b8 t1 -> 3\n"},
        {"batch_size: [1]", "value: 3",
         "0 0: batch_size=1 | 0p 3t None b1 t1 -> 2\n"
         "1 1: batch_size=1 | 0p 3t None b1 t1 -> 3\n"
         "2* 0: batch_size=1 | 0p 1t None b1 t1 -> 2\n"
         "3* 1: batch_size=1 | 0p 1t None b1 t1 -> 3\n"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const char *first = strstr(alone, "%s");
        const char *second = strstr(first + 2, "%s");
        _cleanup_(freep) char *text =
            xasprintf("%.*s%s%.*s%s%s", (int)(first - alone), alone, rows[i].sweep,
                      (int)(second - first - 2), first + 2, rows[i].replicas, second + 2);
        _cleanup_(freep) char *got = expand(text);
        assert_string_equal(got, rows[i].expected);
    }
}

TEST(replicas_may_come_from_a_declared_name)
{
    static const struct {
        const char *values, *expected;
    } rows[] = {
        {"[3]", ""},
        {"[two]",
         "spec.roles.pserver.replicas: 'cpu' is 'two' in at least one point; it must be a whole"},
        {"[0]",
         "spec.roles.pserver.replicas: 'cpu' is '0' in at least one point; it must be a whole"},
        {"[10001]", "spec.roles.pserver.replicas: 'cpu' is '10001' in at least one point"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *grid = xasprintf("grid: {cpu: %s, trainers: [1]}", rows[i].values);
        _cleanup_(freep) char *with_grid = definition_with(sample_grid, grid);
        char *at = strstr(with_grid, "from: pservers");
        _cleanup_(freep) char *text = xasprintf("%.*sfrom: cpu%s", (int)(at - with_grid), with_grid,
                                                at + strlen("from: pservers"));
        _cleanup_(freep) char *errors = definition_errors(text, NULL);
        assert_int_equal(errors[0] == '\0', rows[i].expected[0] == '\0');
        if (strstr(errors, rows[i].expected) == NULL) {
            fail_msg("%s\nexpected %s\ngot %s", rows[i].values, rows[i].expected, errors);
        }
    }
}

/* Others' programs take larger batches than ours. */
TEST(a_batch_for_benchworker)
{
    _cleanup_(freep) char *at_most = definition_with("batch_size: [16]", "batch_size: [65536]");
    _cleanup_(freep) char *more = definition_with("batch_size: [16]", "batch_size: [65537]");
    _cleanup_(freep) char *good = definition_errors(at_most, NULL);
    _cleanup_(freep) char *errors = definition_errors(more, NULL);
    assert_string_equal(good, "");
    assert_non_null(strstr(errors, "spec.workload.batchSize: benchworker takes at most 65536"));
}

TEST(the_largest_sweep_is_quick)
{
    _cleanup_(buf_done) struct buf grid = BUF_INIT;
    enum { EACH = IS_SANITIZED ? 12 : 50 };
    static const struct {
        const char *name;
        int n;
    } axes[] = {{"pservers", EACH}, {"trainers", EACH}, {"batch_size", 3}};
    buf_puts(&grid, "grid: {");
    for (size_t i = 0; i < N_ROWS(axes); i++) {
        buf_printf(&grid, "%s%s: [", i == 0 ? "" : ", ", axes[i].name);
        for (int k = 1; k <= axes[i].n; k++) {
            buf_printf(&grid, "%s%d", k == 1 ? "" : ", ", k);
        }
        buf_putc(&grid, ']');
    }
    buf_putc(&grid, '}');
    _cleanup_(freep) char *text = definition_with(sample_grid, buf_cstr(&grid));
    _cleanup_(spec_freep) struct spec *spec = definition_load(text, NULL);
    _cleanup_(matrix_done) struct matrix m;
    assert_int_equal(matrix_expand(spec, &m, NULL), 0);
    assert_int_equal(m.n_swept, 3 * EACH * EACH);
    assert_int_equal(m.n_points, m.n_swept + 3);
}

/* "name: [1, 2, ... n]". */
static void put_axis(struct buf *out, const char *name, int from, int to)
{
    buf_printf(out, "%s: [", name);
    for (int k = from; k <= to; k++) {
        buf_printf(out, "%s%d", k == from ? "" : ", ", k);
    }
    buf_putc(out, ']');
}

/* At most 10,000 points, with the baselines that are added. */
TEST(the_limit_counts_added_baselines)
{
    static const struct {
        const char *name;
        int batch_sizes, threads, trainers_from, trainers_to; /* of two systems */
        const char *error;                                    /* NULL: accepted */
        const char *require;
    } rows[] = {
        {"exactly the limit, each with a swept baseline", 50, 50, 1, 2, NULL},
        {"above it", 50, 50, 1, 3, "spec.sweep: the sweep has more than 10000 points"},
        {"exactly the limit with the baselines", 50, 50, 2, 2, NULL},
        {"above it with the baselines alone", 51, 50, 2, 2,
         "spec.sweep: the sweep and its baseline have more than 10000 points"},
        {"above it before the requirements", 50, 50, 1, 20, NULL, "}, require: [trainers <= 2"},
        {"above it after them", 50, 50, 1, 20,
         "spec.sweep: the sweep and its baseline have more than 10000 points",
         "}, require: [trainers <= 3"},
        {"too much to check", 50, 50, 1, 21, "spec.sweep: the sweep has more than 100000 points",
         "}, require: [trainers <= 2"},
    };
    const char *sweep = strstr(alone, "%s"), *replicas = strstr(sweep + 2, "%s");
    const size_t n_large = 3; /* with 100,000 points, which take a sanitizer 6 s */
    for (size_t i = 0; i < N_ROWS(rows) - (IS_SANITIZED ? n_large : 0); i++) {
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        buf_append(&text, alone, (size_t)(sweep - alone));
        put_axis(&text, "batch_size", 1, rows[i].batch_sizes);
        buf_puts(&text, ", ");
        put_axis(&text, "threads", 1, rows[i].threads);
        buf_puts(&text, ", ");
        put_axis(&text, "trainers", rows[i].trainers_from, rows[i].trainers_to);
        const char *after = sweep + 2;
        if (rows[i].require != NULL) {
            buf_printf(&text, "%s]", rows[i].require);
            after++; /* the grid has ended */
        }
        buf_printf(&text, "%.*sfrom: trainers%s", (int)(replicas - after), after, replicas + 2);
        _cleanup_(freep) char *errors = definition_errors(buf_cstr(&text), NULL);
        const char *expected = rows[i].error == NULL ? "" : rows[i].error;
        if ((errors[0] == '\0') != (rows[i].error == NULL) || strstr(errors, expected) == NULL) {
            fail_msg("%s: expected '%s', got '%s'", rows[i].name, expected, errors);
        }
    }
}

TEST(a_baseline_belongs_to_the_system_of_its_point)
{
    const char *sweep = strstr(alone, "%s"), *replicas = strstr(sweep + 2, "%s");
    _cleanup_(freep) char *text = xasprintf("%.*strainers: [2, 4]%.*sfrom: trainers%s"
                                            "  baseline: {kind: Point, where: {trainers: 1}}\n",
                                            (int)(sweep - alone), alone,
                                            (int)(replicas - sweep - 2), sweep + 2, replicas + 2);
    _cleanup_(freep) char *got = expand(text);
    assert_string_equal(got, "0 0: trainers=2 | 0p 2t None b8 t1 -> 4\n"
                             "1 0: trainers=4 | 0p 4t None b8 t1 -> 4\n"
                             "2 1: trainers=2 | 0p 2t None b8 t1 -> 5\n"
                             "3 1: trainers=4 | 0p 4t None b8 t1 -> 5\n"
                             "4* 0: trainers=1 | 0p 1t None b8 t1 -> 4\n"
                             "5* 1: trainers=1 | 0p 1t None b8 t1 -> 5\n");
}

TEST(a_run_of_emulated_trainers_is_a_rehearsal)
{
    static const int64_t cpus[] = {0, 6, 5};
    _cleanup_(freep) char *text = definition_with(
        "batchSize: 64", "batchSize: 64\n    compute: Emulated\n    trace: {layers: [{name: fc1, "
                         "forwardMicroseconds: 1, backwardMicroseconds: 1}]}");
    for (size_t i = 0; i < N_ROWS(cpus); i++) {
        struct run_def_params params = {
            .name = "sample-abcde", .uid = "u", .created_unix_ms = 5, .cpus = cpus[i]};
        _cleanup_(run_def_freep) struct run_def *def =
            run_def_of(definition_load(text, NULL), &params);
        assert_true(def->rehearsal);
    }
}

/* The link is the workload's, or a value of the sweep in its one form. */
TEST(links_are_an_axis)
{
    _cleanup_(freep) char *fixed =
        definition_with("batchSize: 64", "batchSize: 64\n    link: {rate: 1gbit, delay: 1ms}");
    _cleanup_(freep) char *swept =
        definition_with("pservers: [1, 2], trainers: [1, 2, 4], batch_size: [16]",
                        "pservers: [1], trainers: [2], link: [1000mbit, none, \"2gbit 0.5ms\"]");
    static const char *const want[] = {"1gbit", "none", "2gbit 0.5ms"};
    for (int is_swept = 0; is_swept < 2; is_swept++) {
        _cleanup_(spec_freep) struct spec *spec = definition_load(is_swept ? swept : fixed, NULL);
        _cleanup_(matrix_done) struct matrix m;
        assert_int_equal(matrix_expand(spec, &m, NULL), 0);
        assert_true(spec_shapes_links(spec));
        assert_int_equal(m.n_swept, is_swept ? 3 : 6);
        for (uint32_t i = 0; i < m.n_swept; i++) {
            char text[LINK_TEXT_MAX];
            link_text(&m.points[i].link, text);
            assert_string_equal(text, is_swept ? want[i] : "1gbit 1ms");
            const struct value *v = params_get(&m.points[i].params, "link");
            assert_string_equal(v == NULL ? "1gbit 1ms" : v->s, text);
        }
    }
    _cleanup_(freep) char *none = definition_with("batch_size: [16]", "link: [none]");
    struct spec *spec = definition_load(none, NULL);
    assert_false(spec_shapes_links(spec));
    spec_free(spec);
}

TEST(a_run_is_frozen_with_its_order)
{
    static const struct {
        int64_t cpus;
        bool rehearsal;
    } rows[] = {{0, false}, {6, false}, {5, true}, {1, true}}; /* at most 4 trainers + 2 pservers */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct run_def_params params = {
            .name = "sample-abcde", .uid = "u", .created_unix_ms = 5, .cpus = rows[i].cpus};
        _cleanup_(run_def_freep) struct run_def *def =
            run_def_of(definition_load(definition_text, NULL), &params);
        assert_string_equal(def->name, "sample-abcde");
        assert_int_equal(def->rehearsal, rows[i].rehearsal);
        assert_int_equal(def->matrix.n_points, 7);
        assert_int_equal(def->n_slots, 14);
        _cleanup_(freep) struct slot *slots = order_slots(7, 2, ORDER_INTERLEAVED, 1);
        assert_memory_equal(def->slots, slots, 14 * sizeof(*slots));
    }
    run_def_free(NULL);
}

TEST(a_run_of_a_wrong_spec_is_refused)
{
    struct run_def_params params = {.name = "n", .uid = "u"};
    struct run_def *def = NULL;
    _cleanup_(diags_done) struct diags diags = {0};
    struct spec *spec = definition_load(definition_text, NULL);
    for (int i = 1; i <= 2; i++) {
        struct params exclude = {0};
        params_set(&exclude, "pservers", &(struct value){.is_int = true, .i = i});
        *vec_push(&spec->sweep.exclude) = exclude;
    }
    assert_int_equal(run_def_new(spec, &params, &def, &diags), -EINVAL);
    assert_null(def);
    assert_int_equal(diags.list.len, 1);
    assert_string_equal(diags.list.items[0].path, "spec.sweep.exclude");
}
