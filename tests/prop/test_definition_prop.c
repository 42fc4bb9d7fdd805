/* Random valid definitions: what docs/definitions.md and docs/contracts/order.md promise about
 * their points holds for each. The seed is printed; BENCHD_PROP_SEED=N starts with definition N. */
#include "tests/test.h"
#include "small_definition.h"

#include "base/parse.h"
#include "base/splitmix.h"
#include "spec/run_def.h"

#define N_DEFINITIONS (IS_SANITIZED ? 100 : 400)

static unsigned below(uint64_t *state, unsigned n)
{
    return (unsigned)(splitmix_next(state) % n);
}

static const char *const names[] = {"pservers", "trainers", "batch_size", "threads", "cpu"};
#define N_NAMES 5

/* Keys in any order, so that sorting is tried as well. */
static void shuffle_names(uint64_t *state, const char **shuffled, unsigned n)
{
    memcpy(shuffled, names, n * sizeof(*names));
    for (unsigned i = n - 1; i > 0; i--) {
        unsigned j = below(state, i + 1);
        const char *moved = shuffled[i];
        shuffled[i] = shuffled[j];
        shuffled[j] = moved;
    }
}

/* n different values, ascending or descending; texts for cpu now and then. */
static void put_values(uint64_t *state, const char *name, unsigned n, struct buf *out)
{
    bool is_down = below(state, 2) == 1;
    bool is_text = strcmp(name, "cpu") == 0 && below(state, 2) == 1;
    unsigned first = 1 + below(state, 3);
    for (unsigned i = 0; i < n; i++) {
        unsigned value = first + (is_down ? n - 1 - i : i);
        buf_printf(out, is_text ? "%s\"%u.5\"" : "%s%u", i == 0 ? "" : ", ", value);
    }
}

static void put_sweep(uint64_t *state, struct buf *out)
{
    const char *shuffled[N_NAMES];
    unsigned n_names = 2 + below(state, N_NAMES - 1);
    shuffle_names(state, shuffled, n_names);
    const bool is_list = below(state, 3) == 0;
    const unsigned n = is_list ? 1 + below(state, 4) : 0;
    buf_puts(out, is_list ? "points: [" : "grid: {");
    for (unsigned i = 0; i < n_names && !is_list; i++) {
        buf_printf(out, "%s%s: [", i == 0 ? "" : ", ", shuffled[i]);
        put_values(state, shuffled[i], 1 + below(state, 4), out);
        buf_putc(out, ']');
    }
    for (unsigned i = 0; i < n; i++) { /* the first name makes them different */
        buf_puts(out, i == 0 ? "{" : ", {");
        for (unsigned k = 0; k < n_names; k++) {
            buf_printf(out, "%s%s: %u", k == 0 ? "" : ", ", shuffled[k],
                       1 + (k == 0 ? i : below(state, 4)));
        }
        buf_putc(out, '}');
    }
    buf_putc(out, is_list ? ']' : '}');
}

static char *make_definition(uint64_t seed)
{
    uint64_t state = seed;
    _cleanup_(buf_done) struct buf sweep = BUF_INIT;
    put_sweep(&state, &sweep);
    _cleanup_(freep) char *swept = definition_with(
        "grid: {pservers: [1, 2], trainers: [1, 2, 4], batch_size: [16]}", buf_cstr(&sweep));
    const char *baseline = below(&state, 2) == 0 ? "kind: SingleNode"
                                                 : "kind: Point, where: {trainers: 1, pservers: 1}";
    const char *at = strstr(swept, "kind: SingleNode");
    return xasprintf("%.*s%s%s", (int)(at - swept), swept, baseline,
                     at + strlen("kind: SingleNode"));
}

static bool is_same_point(const struct point *a, const struct point *b)
{
    return a->system == b->system && a->exchange == b->exchange &&
           memcmp(a->replicas, b->replicas, sizeof(a->replicas)) == 0 &&
           params_contain(&a->params, &b->params) && params_contain(&b->params, &a->params);
}

static void check_point(const struct spec *spec, const struct point *p)
{
    assert_int_equal(p->params.list.len, spec->sweep.kind == SWEEP_POINTS
                                             ? spec->sweep.points.items[0].list.len
                                             : spec->sweep.axes.len);
    for (size_t i = 1; i < p->params.list.len; i++) {
        assert_true(strcmp(p->params.list.items[i - 1].name, p->params.list.items[i].name) < 0);
    }
    assert_int_equal(p->replicas[ROLE_TRAINER], params_get(&p->params, "trainers")->i);
    assert_int_equal(p->replicas[ROLE_PSERVER], params_get(&p->params, "pservers")->i);
    const struct value *batch_size = params_get(&p->params, "batch_size");
    assert_int_equal(p->batch_size, batch_size == NULL ? 64 : batch_size->i);
    const struct value *threads = params_get(&p->params, "threads");
    assert_int_equal(p->threads, threads == NULL ? 1 : threads->i);
}

static void check_baseline(const struct spec *spec, const struct matrix *m, const struct point *p)
{
    assert_true(p->baseline_index < m->n_points);
    const struct point *b = &m->points[p->baseline_index];
    bool is_single = spec->baseline.kind == BASELINE_SINGLE_NODE;
    assert_int_equal(b->baseline_index, b->index);
    assert_int_equal(b->replicas[ROLE_TRAINER], 1);
    assert_int_equal(b->replicas[ROLE_PSERVER], is_single ? 0 : 1);
    assert_int_equal(b->exchange, is_single ? EXCHANGE_NONE : EXCHANGE_PSERVER);
    assert_int_equal(b->batch_size, p->batch_size);
    assert_int_equal(b->threads, p->threads);
    const struct value *cpu = params_get(&p->params, "cpu");
    assert_true(cpu == NULL || value_eq(cpu, params_get(&b->params, "cpu")));
}

static size_t count_expected(const struct spec *spec)
{
    if (spec->sweep.kind == SWEEP_POINTS) {
        return spec->sweep.points.len;
    }
    size_t n = 1;
    vec_each (const struct axis, axis, &spec->sweep.axes) {
        n *= axis->values.len;
    }
    return n;
}

static void check_matrix(const struct spec *spec, const struct matrix *m)
{
    assert_int_equal(m->n_swept, count_expected(spec));
    for (uint32_t i = 0; i < m->n_points; i++) {
        const struct point *p = &m->points[i];
        assert_int_equal(p->index, i);
        assert_int_equal(p->is_baseline, i >= m->n_swept);
        check_point(spec, p);
        check_baseline(spec, m, p);
        for (uint32_t k = 0; k < i; k++) {
            assert_false(is_same_point(&m->points[k], p));
        }
    }
    /* No baseline point is there for nothing. */
    for (uint32_t i = m->n_swept; i < m->n_points; i++) {
        uint32_t k = 0;
        while (k < m->n_swept && m->points[k].baseline_index != i) {
            k++;
        }
        assert_true(k < m->n_swept);
    }
}

/* Frozen and read again: the same points, the same order. */
static void check_frozen(const struct run_def *def, const struct run_def_params *params)
{
    _cleanup_(freep) char *frozen = json_dumps(def->spec->definition, JSON_SORT_KEYS);
    _cleanup_(run_def_freep) struct run_def *again =
        run_def_of(definition_load(frozen, NULL), params);
    assert_int_equal(again->matrix.n_points, def->matrix.n_points);
    for (uint32_t i = 0; i < def->matrix.n_points; i++) {
        assert_true(is_same_point(&again->matrix.points[i], &def->matrix.points[i]));
    }
    assert_int_equal(again->n_slots, def->n_slots);
    assert_memory_equal(again->slots, def->slots, def->n_slots * sizeof(*def->slots));
}

TEST(points_are_what_was_promised)
{
    uint64_t first = 1;
    const char *given = getenv("BENCHD_PROP_SEED");
    assert_true(given == NULL || parse_u64(given, &first) == 0);
    for (uint64_t seed = first; seed < first + N_DEFINITIONS; seed++) {
        print_message("# seed %llu\n", (unsigned long long)seed);
        _cleanup_(freep) char *text = make_definition(seed);
        struct run_def_params params = {.name = "n", .uid = "u", .cpus = 1 + (int64_t)(seed % 9)};
        _cleanup_(run_def_freep) struct run_def *def =
            run_def_of(definition_load(text, NULL), &params);
        check_matrix(def->spec, &def->matrix);
        bool needs_more = false;
        for (uint32_t i = 0; i < def->matrix.n_points; i++) {
            needs_more |= point_busy_threads(&def->matrix.points[i]) > params.cpus;
        }
        assert_int_equal(def->rehearsal, needs_more);
        check_frozen(def, &params);
    }
}
