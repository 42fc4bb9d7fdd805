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

/* The same system with other numbers on the network is another one. */
TEST(other_wires_do_not_compare)
{
    static const double x[] = {40, 70, 120, 200};
    for (int same = 0; same < 2; same++) {
        _cleanup_(fixture_done) struct fixture a, b;
        make_run(&a, "demo-7k3fq", 3, x, 0);
        make_run(&b, "demo-q2v8n", 3, x, 0);
        b.def->spec->systems.items[0].exchange.wire = EXCHANGE_WIRE_BF16;
        a.def->spec->systems.items[0].exchange.wire =
            same ? EXCHANGE_WIRE_BF16 : EXCHANGE_WIRE_FP32;
        _cleanup_(comparison_freep) struct comparison *c = NULL;
        const char *fix = NULL;
        struct err err = {0};
        int r = comparison_new(a.result, b.result, &defaults, &c, &fix, &err);
        print_message("# %d %s\n", r, err.msg);
        assert_int_equal(r, same ? 0 : -EINVAL);
        if (!same) {
            assert_non_null(strstr(err.msg, "of run/demo-7k3fq exchanges numbers in Fp32, that of "
                                            "run/demo-q2v8n in Bf16"));
            assert_non_null(strstr(fix, "compare runs with the same exchange.wire"));
        }
    }
}

/* Nor does one that exchanges at other times. */
TEST(other_modes_do_not_compare)
{
    static const double x[] = {40, 70, 120, 200};
    static const struct {
        struct exchange_mode mode;
        const char *text;
    } rows[] = {{{.local_steps = 2}, "Sync localSteps=2"}, {{.kind = EXCHANGE_ASYNC}, "Async"}};
    for (uint32_t i = 0; i < 2 * N_ROWS(rows); i++) {
        const bool same = i % 2 == 1;
        _cleanup_(fixture_done) struct fixture a, b;
        make_run(&a, "demo-7k3fq", 3, x, 0);
        make_run(&b, "demo-q2v8n", 3, x, 0);
        b.def->spec->systems.items[0].exchange.mode = rows[i / 2].mode;
        a.def->spec->systems.items[0].exchange.mode = same ? rows[i / 2].mode : EXCHANGE_MODE_SYNC;
        _cleanup_(comparison_freep) struct comparison *c = NULL;
        const char *fix = NULL;
        struct err err = {0};
        int r = comparison_new(a.result, b.result, &defaults, &c, &fix, &err);
        print_message("# %d %s\n", r, err.msg);
        assert_int_equal(r, same ? 0 : -EINVAL);
        if (!same) {
            assert_non_null(strstr(err.msg, "of run/demo-7k3fq exchanges by 'Sync', that of "
                                            "run/demo-q2v8n by '"));
            assert_non_null(strstr(err.msg, rows[i / 2].text));
            assert_non_null(strstr(fix, "compare runs with the same mode and localSteps"));
        }
    }
}

/* Nor runs over other links. */
TEST(other_links_do_not_compare)
{
    static const double x[] = {40, 70, 120, 200};
    for (uint32_t same = 0; same < 2; same++) {
        _cleanup_(fixture_done) struct fixture a, b;
        make_run(&a, "demo-7k3fq", 3, x, 0);
        make_run(&b, "demo-q2v8n", 3, x, 0);
        b.def->spec->workload.link = (struct link){1000000000, 1000000};
        a.def->spec->workload.link = (struct link){same ? 1000000000 : 0, same ? 1000000 : 0};
        _cleanup_(comparison_freep) struct comparison *c = NULL;
        const char *fix = NULL;
        struct err err = {0};
        int r = comparison_new(a.result, b.result, &defaults, &c, &fix, &err);
        print_message("# %d %s\n", r, err.msg);
        assert_int_equal(r, same ? 0 : -EINVAL);
        if (!same) {
            assert_non_null(strstr(err.msg, "the links of run/demo-7k3fq are shaped to none, those "
                                            "of run/demo-q2v8n to 1gbit 1ms"));
            assert_non_null(strstr(fix, "compare runs with the same spec.workload.link"));
        }
    }
}

static void set_transport(struct result *r, const char *name)
{
    machines_add_value(r->machines.items[0], MACHINE_TRANSPORT, name);
}

/* What the definitions ask for, and what the workers say they had. */
TEST(other_transports_do_not_compare)
{
    static const double x[] = {40, 70, 120, 200};
    enum { ASKED, ASKED_THE_SAME, USED, USED_THE_SAME, ONE_IS_SILENT, KINDS };
    for (int kind = 0; kind < KINDS; kind++) {
        _cleanup_(fixture_done) struct fixture a, b;
        make_run(&a, "demo-7k3fq", 3, x, 0);
        make_run(&b, "demo-q2v8n", 3, x, 0);
        if (kind <= ASKED_THE_SAME) {
            b.def->spec->systems.items[0].exchange.transport = EXCHANGE_TRANSPORT_TCP;
            a.def->spec->systems.items[0].exchange.transport =
                kind == ASKED ? EXCHANGE_TRANSPORT_AUTO : EXCHANGE_TRANSPORT_TCP;
        } else {
            set_transport(a.result, "Nccl");
            if (kind != ONE_IS_SILENT) {
                set_transport(b.result, kind == USED ? "Tcp" : "Nccl");
            }
        }
        _cleanup_(comparison_freep) struct comparison *c = NULL;
        const char *fix = NULL;
        struct err err = {0};
        const int r = comparison_new(a.result, b.result, &defaults, &c, &fix, &err);
        print_message("# %d %s\n", r, err.msg);
        assert_int_equal(r, kind == ASKED || kind == USED ? -EINVAL : 0);
        if (kind == ASKED) {
            assert_non_null(strstr(err.msg, "of run/demo-7k3fq has transport Auto, that of "
                                            "run/demo-q2v8n Tcp"));
        } else if (kind == USED) {
            assert_string_equal(err.msg, "run/demo-7k3fq exchanged over Nccl, "
                                         "run/demo-q2v8n over Tcp");
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
