#include "tests/test.h"
#include "compare/compare_parts.h"

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
         "run/demo-7k3fq and run/demo-q2v8n do not compare: spec.workload.compute is Emulated in "
         "the one and Real in the other"},
        {false, true, false, "spec.workload.compute is Real in the one and Emulated in the other"},
        {false, true, true, "spec.workload.compute is Real in the one and Emulated in the other"},
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
            assert_string_equal(
                fix,
                "compare runs that were measured in the same way, or sweep both values in one run");
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
    machines_add_value(f->result->machines.items[0], MACHINE_TRANSPORT, "TCP");
}

static void used_nccl(struct fixture *f)
{
    machines_add_value(f->result->machines.items[0], MACHINE_TRANSPORT, "NCCL");
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
        const char *message; /* NULL: they compare */
    } rows[] = {
        {nothing, other_wire,
         "exchange is Sync FP32 Auto in the one and Sync BF16 Auto in the other"},
        {other_wire, other_wire, NULL},
        {nothing, local_steps,
         "exchange is Sync FP32 Auto in the one and Sync localSteps=2 FP32 Auto in the other"},
        {local_steps, local_steps, NULL},
        {nothing, async, "exchange is Sync FP32 Auto in the one and Async FP32 Auto in the other"},
        {async, async, NULL},
        {nothing, shaped_link, "spec.workload.link is none in the one and 1gbit 1ms in the other"},
        {shaped_link, shaped_link, NULL},
        {nothing, asked_for_tcp,
         "exchange is Sync FP32 Auto in the one and Sync FP32 TCP in the other"},
        {asked_for_tcp, asked_for_tcp, NULL},
        {used_nccl, used_tcp,
         "the transport that replicas used is NCCL in the one and TCP in the other"},
        {used_nccl, used_nccl, NULL},
        {used_nccl, nothing, NULL},
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
            assert_non_null(fix);
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
         "rehearsal (fewer CPUs than busy threads) is true in the one and false in"},
        {"a rehearsal as candidate", false, false, false, true, true,
         "rehearsal (fewer CPUs than busy threads) is false in the one and true in"},
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
