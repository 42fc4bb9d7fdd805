/* Every kernel of every instruction set that this CPU has against ref.c, over odd and real shapes,
 * with guard bands around all outputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "guard.h"
#include "worker/kernels/kernels.h"

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))
#define TOLERANCE 4e-6 /* of the largest element; sums of up to 9*512 products */

static struct kernels ref, best;

/* A pair of outputs: the reference's and the one under test. */
struct pair {
    float *want, *got;
    size_t n;
};

static struct pair pair_new(size_t n)
{
    return (struct pair){.want = guarded_new(n, 91), .got = guarded_new(n, 92), .n = n};
}

static void pair_check(struct pair p, const char *row, const char *what)
{
    char name[128];
    snprintf(name, sizeof(name), "%s %s %s", best.isa, row, what);
    assert_close(p.got, p.want, p.n, TOLERANCE, name);
    guarded_free(p.want, p.n, name);
    guarded_free(p.got, p.n, name);
}

static void conv_row(const char *row, const struct conv_shape *s)
{
    size_t hw = (size_t)s->h * s->w, nx = s->n * s->c * hw, ny = s->n * s->k * hw;
    size_t nw = (size_t)s->k * s->c * 9, n_scratch = best.conv3x3_scratch(s);
    float *x = guarded_new(nx, 1), *w = guarded_new(nw, 2), *b = guarded_new(s->k, 3);
    float *g = guarded_new(ny, 4), *scratch = guarded_new(n_scratch, 5);
    struct pair y = pair_new(ny), dx = pair_new(nx), dw = pair_new(nw), db = pair_new(s->k);

    ref.conv3x3_forward(s, x, w, b, y.want, NULL);
    best.conv3x3_forward(s, x, w, b, y.got, scratch);
    ref.conv3x3_backward_data(s, g, w, dx.want, NULL);
    best.conv3x3_backward_data(s, g, w, dx.got, scratch);
    ref.conv3x3_backward_weight(s, x, g, dw.want, db.want, NULL);
    best.conv3x3_backward_weight(s, x, g, dw.got, db.got, scratch);

    pair_check(y, row, "y");
    pair_check(dx, row, "dx");
    pair_check(dw, row, "dweight");
    pair_check(db, row, "dbias");
    guarded_free(scratch, n_scratch, "scratch");
    guarded_free(x, nx, "x");
    guarded_free(w, nw, "weight");
    guarded_free(b, s->k, "bias");
    guarded_free(g, ny, "dy");
}

static void conv(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct conv_shape shape;
    } rows[] = {
        {"one of everything", {1, 1, 1, 1, 1}},
        {"odd", {3, 5, 7, 5, 3}},
        {"one row", {2, 3, 4, 1, 9}},
        {"one column", {2, 3, 4, 9, 1}},
        {"first layer", {2, 3, 64, 32, 32}},
        {"one image a block", {2, 4, 5, 32, 32}},
        {"conv2", {3, 6, 5, 16, 16}},
        {"conv3, last block short", {5, 17, 9, 8, 8}},
        {"conv4", {33, 9, 8, 4, 4}},
        {"conv5, last block short", {131, 7, 10, 2, 2}},
        {"deep", {2, 96, 33, 4, 4}},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        conv_row(rows[i].name, &rows[i].shape);
    }
}

static void fc(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t n, c, k;
    } rows[] = {{"one", 1, 1, 1}, {"odd", 3, 7, 5}, {"head", 16, 512, 512}, {"last", 5, 512, 10}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint32_t n = rows[i].n, c = rows[i].c, k = rows[i].k;
        size_t nx = (size_t)n * c, ny = (size_t)n * k, nw = (size_t)k * c;
        float *x = guarded_new(nx, 1), *w = guarded_new(nw, 2), *b = guarded_new(k, 3);
        float *g = guarded_new(ny, 4);
        struct pair y = pair_new(ny), dx = pair_new(nx), dw = pair_new(nw), db = pair_new(k);
        ref.fc_forward(n, c, k, x, w, b, y.want);
        best.fc_forward(n, c, k, x, w, b, y.got);
        ref.fc_backward(n, c, k, x, w, g, dx.want, dw.want, db.want);
        best.fc_backward(n, c, k, x, w, g, NULL, dw.got, db.got);
        memset(dw.got, 0x7f, nw * sizeof(float)); /* overwritten, not added to */
        best.fc_backward(n, c, k, x, w, g, dx.got, dw.got, db.got);
        pair_check(y, rows[i].name, "y");
        pair_check(dx, rows[i].name, "dx");
        pair_check(dw, rows[i].name, "dweight");
        pair_check(db, rows[i].name, "dbias");
        guarded_free(x, nx, "x");
        guarded_free(w, nw, "weight");
        guarded_free(b, k, "bias");
        guarded_free(g, ny, "dy");
    }
}

static void bn_row(const char *row, const struct bn_shape *s)
{
    size_t n = (size_t)s->n * s->k * s->hw, k = s->k;
    float *y = guarded_new(n, 1), *da = guarded_new(n, 2), *gamma = guarded_new(k, 3);
    float *shift = guarded_new(k, 4), *inv_std = guarded_new(k, 5);
    struct pair mean = pair_new(k), var = pair_new(k), a = pair_new(n), dy = pair_new(n);
    struct pair dgamma = pair_new(k), dbeta = pair_new(k);
    for (size_t i = 0; i < n; i++) {
        y[i] = 0.25f * y[i] + 30; /* a mean far from zero: E[y^2] - E[y]^2 would fail */
        da[i] += 0.5f;            /* sums that do not cancel: the tolerance means something */
    }
    for (size_t i = 0; i < k; i++) {
        shift[i] -= 30 * gamma[i];
        inv_std[i] = 1.5f + inv_std[i];
    }
    ref.bn_stats(s, y, mean.want, var.want);
    best.bn_stats(s, y, mean.got, var.got);
    ref.bn_relu_forward(s, y, gamma, shift, a.want);
    best.bn_relu_forward(s, y, gamma, shift, a.got);
    ref.bn_relu_backward(s, y, a.want, da, mean.want, inv_std, gamma, dy.want, dgamma.want,
                         dbeta.want);
    best.bn_relu_backward(s, y, a.want, da, mean.want, inv_std, gamma, dy.got, dgamma.got,
                          dbeta.got);
    pair_check(mean, row, "mean");
    pair_check(var, row, "var");
    pair_check(a, row, "a");
    pair_check(dy, row, "dy");
    pair_check(dgamma, row, "dgamma");
    pair_check(dbeta, row, "dbeta");
    guarded_free(y, n, "y");
    guarded_free(da, n, "da");
    guarded_free(gamma, k, "gamma");
    guarded_free(shift, k, "shift");
    guarded_free(inv_std, k, "inv_std");
}

static void bn(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct bn_shape shape;
    } rows[] = {
        {"two values", {2, 1, 1}},  {"fc", {33, 129, 1}},       {"conv5", {9, 70, 4}},
        {"odd plane", {3, 5, 37}},  {"conv4", {17, 130, 16}},   {"conv1", {3, 65, 1024}},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        bn_row(rows[i].name, &rows[i].shape);
    }
}

static void dropout(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 15, 16, 63, 64, 65, 1000};
    struct dropout_mask mask = {.key = {.seed = 3, .stream = 4}, .below = 0x4ccccccc};
    for (size_t i = 0; i < N_ROWS(sizes); i++) {
        size_t n = sizes[i];
        float *x = guarded_new(n, 1);
        struct pair y = pair_new(n);
        ref.dropout(n, &mask, x, y.want);
        best.dropout(n, &mask, x, y.got);
        assert_memory_equal(y.got, y.want, n * sizeof(float));
        best.dropout(n, &mask, x, x); /* in place */
        assert_memory_equal(x, y.want, n * sizeof(float));
        pair_check(y, "dropout", "y");
        guarded_free(x, n, "x");
    }
}

static void dropout_keeps_its_rate(void **state)
{
    (void)state;
    static const double rates[] = {0.3, 0.4, 0.5};
    enum { N = 1000003 };
    float *x = guarded_new(N, 1);
    for (size_t i = 0; i < N; i++) {
        x[i] = 1;
    }
    for (size_t r = 0; r < N_ROWS(rates); r++) {
        float *y = guarded_new(N, 2);
        struct dropout_mask mask = {.key = {.seed = r, .stream = 9},
                                    .below = (uint32_t)(rates[r] * 0x1p32)};
        double kept = 0;
        best.dropout(N, &mask, x, y);
        for (size_t i = 0; i < N; i++) {
            assert_true(y[i] == 0 || y[i] == 1);
            kept += (double)y[i];
        }
        double sigma = sqrt(rates[r] * (1 - rates[r]) / N);
        if (fabs(kept / N - (1 - rates[r])) > 5 * sigma) {
            fail_msg("rate %g: kept %.6f, expected %.6f +- %.6f", rates[r], kept / N, 1 - rates[r],
                     5 * sigma);
        }
        guarded_free(y, N, "y");
    }
    guarded_free(x, N, "x");
}

static void pool(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct pool_shape shape;
    } rows[] = {{"one block", {1, 2, 2}}, {"odd", {3, 6, 10}}, {"conv1", {5, 32, 32}},
                {"conv5", {130, 2, 2}}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct pool_shape *s = &rows[i].shape;
        size_t nx = (size_t)s->planes * s->h * s->w, ny = nx / 4;
        float *x = guarded_new(nx, 1), *g = guarded_new(ny, 2);
        for (size_t j = 0; j < nx; j++) {
            x[j] = roundf(x[j] * 3); /* many ties, zeros of both signs among them */
        }
        struct pair y = pair_new(ny), dx = pair_new(nx);
        ref.maxpool2x2_forward(s, x, y.want);
        best.maxpool2x2_forward(s, x, y.got);
        ref.maxpool2x2_backward(s, x, g, dx.want);
        best.maxpool2x2_backward(s, x, g, dx.got);
        pair_check(y, rows[i].name, "y");
        pair_check(dx, rows[i].name, "dx");
        guarded_free(x, nx, "x");
        guarded_free(g, ny, "g");
    }
}

static void softmax(void **state)
{
    (void)state;
    enum { N = 3, K = 4 };
    static const float logits[N * K] = {1, 2, 3, 4, 500, 0, 0, 0, -1, -1, -1, -1};
    static const uint8_t labels[N] = {3, 1, 2};
    float grad[N * K];
    uint32_t right = 99;
    double loss = best.softmax_xent(N, K, logits, labels, grad, &right);
    double row0 = log(exp(-3) + exp(-2) + exp(-1) + 1), row1 = 500, row2 = log(4);
    assert_int_equal(right, 1); /* of equal logits the first is the answer */
    if (fabs(loss - (row0 + row1 + row2) / 3) > 1e-12 * loss) {
        fail_msg("loss %.15g, expected %.15g", loss, (row0 + row1 + row2) / 3);
    }
    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        for (size_t j = 0; j < K; j++) {
            sum += (double)grad[i * K + j];
        }
        assert_true(fabs(sum) < 1e-7);
    }
    assert_true(fabs((double)grad[8] - 0.25 / 3) < 1e-8);
    assert_true(fabs((double)grad[10] - (0.25 - 1) / 3) < 1e-8);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv),    cmocka_unit_test(fc),
        cmocka_unit_test(bn),      cmocka_unit_test(dropout),
        cmocka_unit_test(pool),    cmocka_unit_test(dropout_keeps_its_rate),
        cmocka_unit_test(softmax),
    };
    const char *isa = argc == 2 ? argv[1] : "baseline";
    kernels_init_ref(&ref);
    if (kernels_init_isa(&best, 1, isa) < 0) {
        printf("1..0 # SKIP this CPU has no %s\n", isa);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
