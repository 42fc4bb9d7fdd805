#include "tests/test.h"
#include "compare/compare_runs.h"

#include "compare_fixture.h"

TEST(emulated_runs_compare_with_each_other)
{
    static const double x[] = {40, 70, 120, 200};
    static const struct {
        bool a, b, are_workers;
        const char *message; /* NULL: they do */
    } rows[] = {
        {true, true, false, NULL},
        {true, false, false,
         "run/demo-7k3fq is a rehearsal with emulated trainers and run/demo-q2v8n is not"},
        {false, true, false,
         "run/demo-q2v8n is a rehearsal with emulated trainers and run/demo-7k3fq is not"},
        {false, true, true,
         "run/demo-q2v8n is a rehearsal with emulated workers and run/demo-7k3fq is not: emulated "
         "workers sleep"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(fixture_done) struct fixture a, b;
        make_run(&a, "demo-7k3fq", 3, x, 0);
        make_run(&b, "demo-q2v8n", 3, x, 0);
        a.def->rehearsal = b.def->rehearsal = true; /* of both kinds */
        if (rows[i].are_workers) {
            fixture_make_workers(&a);
            fixture_make_workers(&b);
        }
        a.def->spec->workload.compute = rows[i].a ? COMPUTE_EMULATED : COMPUTE_REAL;
        b.def->spec->workload.compute = rows[i].b ? COMPUTE_EMULATED : COMPUTE_REAL;
        b.def->spec->workload.trace.jitter_ratio = 0.1;
        _cleanup_(comparison_freep) struct comparison *c = NULL;
        const char *fix = NULL;
        struct err err = {0};
        int r = comparison_new(a.result, b.result, &defaults, &c, &fix, &err);
        if (rows[i].message == NULL) {
            assert_int_equal(r, 0);
            assert_int_equal(c->differences.len, 1);
            assert_string_equal(c->differences.items[0].what, "trace");
            assert_string_equal(c->differences.items[0].base,
                                "0 layers, 0.0 ms, jitter 0 (811c9dc5)");
            assert_string_equal(c->differences.items[0].candidate,
                                "0 layers, 0.0 ms, jitter 0.1 (811c9dc5)");
        } else {
            assert_int_equal(r, -EINVAL);
            assert_non_null(strstr(err.msg, rows[i].message));
            assert_string_equal(fix, "compare runs with the same spec.workload.compute");
        }
    }
}

static void other_wire(struct fixture *f)
{
    f->def->spec->systems.items[0].exchange.wire = EXCHANGE_WIRE_BF16;
}

static void local_steps(struct fixture *f)
{
    f->def->spec->systems.items[0].exchange.mode = (struct exchange_mode){.local_steps = 2};
}

static void async(struct fixture *f)
{
    f->def->spec->systems.items[0].exchange.mode = (struct exchange_mode){.kind = EXCHANGE_ASYNC};
}

static void shaped_link(struct fixture *f)
{
    f->def->spec->workload.link = (struct link){1000000000, 1000000};
}

static void asked_for_tcp(struct fixture *f)
{
    f->def->spec->systems.items[0].exchange.transport = EXCHANGE_TRANSPORT_TCP;
}

static void used_tcp(struct fixture *f)
{
    machines_add_value(f->result->machines.items[0], MACHINE_TRANSPORT, "Tcp");
}

static void used_nccl(struct fixture *f)
{
    machines_add_value(f->result->machines.items[0], MACHINE_TRANSPORT, "Nccl");
}

static void nothing(struct fixture *f)
{
    (void)f;
}

/* The same system that exchanges otherwise is another one; what only one run says is no
 * difference. */
TEST(other_exchanges_do_not_compare)
{
    static const double x[] = {40, 70, 120, 200};
    static const struct {
        void (*base)(struct fixture *f), (*candidate)(struct fixture *f);
        const char *message, *fix; /* NULL: they compare */
    } rows[] = {
        {nothing, other_wire,
         "of run/demo-7k3fq exchanges numbers in Fp32, that of run/demo-q2v8n in Bf16",
         "compare runs with the same exchange.wire"},
        {other_wire, other_wire, NULL, NULL},
        {nothing, local_steps,
         "of run/demo-7k3fq exchanges by 'Sync', that of run/demo-q2v8n by 'Sync localSteps=2",
         "compare runs with the same mode and localSteps"},
        {local_steps, local_steps, NULL, NULL},
        {nothing, async, "exchanges by 'Sync', that of run/demo-q2v8n by 'Async",
         "compare runs with the same mode and localSteps"},
        {async, async, NULL, NULL},
        {nothing, shaped_link,
         "the links of run/demo-7k3fq are shaped to none, those of run/demo-q2v8n to 1gbit 1ms",
         "compare runs with the same spec.workload.link"},
        {shaped_link, shaped_link, NULL, NULL},
        {nothing, asked_for_tcp, "of run/demo-7k3fq has transport Auto, that of run/demo-q2v8n Tcp",
         ""},
        {asked_for_tcp, asked_for_tcp, NULL, NULL},
        {used_nccl, used_tcp, "run/demo-7k3fq exchanged over Nccl, run/demo-q2v8n over Tcp", ""},
        {used_nccl, used_nccl, NULL, NULL},
        {used_nccl, nothing, NULL, NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(fixture_done) struct fixture a, b;
        make_run(&a, "demo-7k3fq", 3, x, 0);
        make_run(&b, "demo-q2v8n", 3, x, 0);
        rows[i].base(&a);
        rows[i].candidate(&b);
        _cleanup_(comparison_freep) struct comparison *c = NULL;
        const char *fix = NULL;
        struct err err = {0};
        const int r = comparison_new(a.result, b.result, &defaults, &c, &fix, &err);
        print_message("# row %zu: %d %s\n", i, r, err.msg);
        assert_int_equal(r, rows[i].message == NULL ? 0 : -EINVAL);
        if (rows[i].message != NULL) {
            assert_non_null(strstr(err.msg, rows[i].message));
            assert_non_null(strstr(fix, rows[i].fix));
        }
    }
}

TEST(some_runs_do_not_compare)
{
    static const double x[] = {40, 70, 120, 200}, none[] = {0, 0, 0, 0};
    static const struct {
        const char *name;
        bool simulated_a, simulated_b, rehearsal_a, rehearsal_b, measured_b;
        const char *message; /* NULL: they do */
    } rows[] = {
        {"plain runs", false, false, false, false, true, NULL},
        {"two rehearsals", false, false, true, true, true, NULL},
        {"a simulated base", true, false, false, false, true,
         "run/demo-7k3fq is simulated and cannot be the base of a comparison: its pods were fake"},
        {"both simulated", true, true, false, false, true, "run/demo-7k3fq is simulated"},
        {"a simulated candidate", false, true, false, false, true,
         "run/demo-q2v8n is simulated and cannot be compared with a real one"},
        {"a rehearsal as base", false, false, true, false, true,
         "run/demo-7k3fq is a rehearsal and run/demo-q2v8n is not"},
        {"a rehearsal as candidate", false, false, false, true, true,
         "run/demo-q2v8n is a rehearsal and run/demo-7k3fq is not"},
        {"no number in common", false, false, false, false, false,
         "no point has a throughput in both run/demo-7k3fq and run/demo-q2v8n"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture a, b;
        make_run(&a, "demo-7k3fq", 3, x, 0);
        make_run(&b, "demo-q2v8n", 3, rows[i].measured_b ? x : none, 0);
        a.result->simulated = rows[i].simulated_a;
        b.result->simulated = rows[i].simulated_b;
        a.def->rehearsal = rows[i].rehearsal_a;
        b.def->rehearsal = rows[i].rehearsal_b;
        _cleanup_(comparison_freep) struct comparison *c = NULL;
        const char *fix = NULL;
        struct err err = {0};
        int r = comparison_new(a.result, b.result, &defaults, &c, &fix, &err);
        if (rows[i].message == NULL) {
            assert_int_equal(r, 0);
        } else {
            assert_int_equal(r, -EINVAL);
            assert_null(c);
            assert_non_null(fix);
            if (strstr(err.msg, rows[i].message) == NULL) {
                fail_msg("expected '%s', got '%s'", rows[i].message, err.msg);
            }
        }
    }
}
