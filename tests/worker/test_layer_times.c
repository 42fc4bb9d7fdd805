/* The schedule of an emulated trainer: a trace as text, the jitter of a step, when a layer ends. */
#include <math.h>

#include "tests/test.h"
#include "core/emulation_limits.h"
#include "network/layer_def.h"
#include "worker/emulation.h"

/* conv1_1: 3*3*1*2 + 3*2 floats; fc1: 4*4*2/4 * 5 + 5 floats. */
static const struct layer_def layers[] = {{LAYER_CONV, 2, 0}, {LAYER_POOL, 0, 0}, {LAYER_FC, 5, 0}};
static const struct model_def tiny = {"tiny", 1, 4, 4, layers, N_ROWS(layers)};

TEST(times_have_their_layers)
{
    struct layer_times p;
    struct err err = {0};
    assert_int_equal(layer_times_read(&tiny, "fc1=5:6,conv1_1=1:2", &p, &err), 0);
    static const struct layer_time want[] = {{0, 24, 1, 2}, {24, 0, 0, 0}, {24, 45, 5, 6}};
    assert_int_equal(p.n_layers, N_ROWS(want));
    for (size_t i = 0; i < N_ROWS(want); i++) {
        assert_memory_equal(&p.layers[i], &want[i], sizeof(want[i]));
    }
    assert_int_equal(p.layers[2].offset + p.layers[2].n, model_def_n_params(&tiny));
    layer_times_done(&p);
    assert_int_equal(layer_times_read(&tiny, "conv1_1=1:2,pool1=3:4,fc1=0:3600000000000", &p, &err),
                     0);
    assert_int_equal(p.layers[1].forward_ns, 3);
    assert_int_equal(p.layers[1].backward_ns, 4);
    layer_times_done(&p);
}

TEST(wrong_texts)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "'': expected LAYER=FORWARD:BACKWARD"},
        {"conv1_1=1:2,", "'': expected LAYER=FORWARD:BACKWARD"},
        {"conv1_1", "'conv1_1': expected LAYER=FORWARD:BACKWARD"},
        {"conv1_1=1", "'conv1_1=1': expected LAYER=FORWARD:BACKWARD"},
        {"conv1_1=1:2", "layer 'fc1' has parameters and no times"},
        {"fc1=1:2", "layer 'conv1_1' has parameters and no times"},
        {"conv1_1=1:2,conv1_1=1:2,fc1=1:2", "layer 'conv1_1' is there twice"},
        {"conv1_1=1:2,fc2=1:2", "tiny has no layer 'fc2'"},
        {"conv1_1=-1:2,fc1=1:2", "layer 'conv1_1': '-1:2': expected nanoseconds"},
        {"conv1_1=1:2.5,fc1=1:2", "'1:2.5': expected nanoseconds"},
        {"conv1_1=1:3600000000001,fc1=1:2", "expected nanoseconds from 0 to 3600000000000"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct layer_times p;
        struct err err = {0};
        assert_int_equal(layer_times_read(&tiny, rows[i].text, &p, &err), -EINVAL);
        if (strstr(err.msg, rows[i].says) == NULL) {
            fail_msg("'%s': %s", rows[i].text, err.msg);
        }
    }
}

TEST(a_layer_ends)
{
    enum { MS = 1000000 };
    static const struct {
        const char *name;
        int64_t due_ns, asked_ns, got_ns, layer_ns, want_ns;
    } rows[] = {
        {"on time, nothing to wait for", 0, 0, 0, 10 * MS, 10 * MS},
        {"it overslept: the layer began when it was due", 0, 3 * MS, 3 * MS, 10 * MS, 10 * MS},
        {"what asking costs is no wait", 0, 3 * MS, 3 * MS + LAYER_TIMES_WAITED_NS - 1, 10 * MS,
         10 * MS},
        {"it waited: the layer began when the parameters came", 0, 0, 40 * MS, 10 * MS, 50 * MS},
        {"the shortest wait", 0, 0, LAYER_TIMES_WAITED_NS, 10 * MS,
         LAYER_TIMES_WAITED_NS + 10 * MS},
        {"it overslept and waited", 0, 3 * MS, 7 * MS, 10 * MS, 17 * MS},
        {"a layer that takes no time", 5 * MS, 5 * MS, 5 * MS, 0, 5 * MS},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        assert_int_equal(
            layer_times_end(rows[i].due_ns, rows[i].asked_ns, rows[i].got_ns, rows[i].layer_ns),
            rows[i].want_ns);
    }
}

TEST(jitter_is_of_the_seed)
{
    double sum = 0, squares = 0, least = 2, most = 0;
    enum { N = 20000 };
    for (uint32_t i = 0; i < N; i++) {
        const double f = layer_times_factor(7, i % 100, i / 100, 0.1);
        assert_true(f == layer_times_factor(7, i % 100, i / 100, 0.1));
        sum += f;
        squares += (f - 1) * (f - 1);
        least = fmin(least, f);
        most = fmax(most, f);
    }
    assert_float_equal(sum / N, 1, 0.003);
    assert_float_equal(sqrt(squares / N), 0.1, 0.003);
    assert_true(least >= 0.7 - 1e-6 && most <= 1.3 + 1e-6);
    assert_true(least < 0.71 && most > 1.29); /* some are cut */
    assert_true(layer_times_factor(7, 1, 2, 0) == 1);
    assert_true(layer_times_factor(7, 1, 2, 0.1) != layer_times_factor(8, 1, 2, 0.1));
    assert_true(layer_times_factor(7, 1, 2, 0.1) != layer_times_factor(7, 2, 2, 0.1));
    assert_true(layer_times_factor(7, 1, 2, 0.1) != layer_times_factor(7, 1, 3, 0.1));
    for (uint32_t i = 0; i < N; i++) {
        assert_true(layer_times_factor(1, i, 0, EMULATED_JITTER_MAX) >= 0.0999);
    }
}
