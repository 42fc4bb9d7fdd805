/* Every kernel of every instruction set that this CPU has against kernels_ref.c, over odd and real
 * shapes, with guard bands around all outputs. */
#include "tests/test.h"
#include "guard.h"
#include "kernels_ref.h"

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

static double rms_error(struct pair p)
{
    double error = 0, scale = 0;
    for (size_t i = 0; i < p.n; i++) {
        double diff = (double)p.got[i] - (double)p.want[i];
        error += diff * diff;
        scale += (double)p.want[i] * (double)p.want[i];
    }
    return error == 0 ? 0 : sqrt(error / scale);
}

/* As pair_check, for sums that schemes form in another order: relative rms against double. */
static void pair_check_rms(struct pair p, double tolerance, const char *row, const char *what)
{
    double error = rms_error(p);
    if (!(error <= tolerance)) {
        fail_msg("%s %s %s: relative rms %.3g, expected at most %.3g", best.isa, row, what, error,
                 tolerance);
    }
    guarded_free(p.want, p.n, what);
    guarded_free(p.got, p.n, what);
}

#define FORWARD_RMS 5e-6
#define WEIGHT_RMS 2e-5

static void conv_row(const char *row, const struct conv_shape *s, struct thread_pool *threads)
{
    size_t hw = (size_t)s->h * s->w, nx = s->n * s->c * hw, ny = s->n * s->k * hw;
    size_t nw = (size_t)s->k * s->c * 9;
    size_t n_scratch = best.conv3x3_scratch(s, thread_pool_size(threads));
    float *x = guarded_new(nx, 1), *w_block = guarded_new(nw + 1, 2), *b = guarded_new(s->k, 3);
    float *w = w_block + 1; /* parameters need not be aligned */
    float *g = guarded_new(ny, 4), *scratch = guarded_new(n_scratch, 5);
    struct pair y = pair_new(ny), dx = pair_new(nx), dw = pair_new(nw), db = pair_new(s->k);
    struct pair mean = pair_new(s->k), var = pair_new(s->k);
    struct work work = {.threads = threads, .scratch = scratch};
    for (size_t i = 0; i < ny; i++) {
        g[i] += 0.5f; /* bias gradients that do not cancel */
    }

    ref.conv3x3_forward(s, x, w, b, y.want, mean.want, var.want, NULL);
    memset(scratch, 0xff, n_scratch * sizeof(float)); /* no numbers: they must not count */
    best.conv3x3_forward(s, x, w, b, y.got, mean.got, var.got, &work);
    memset(y.got, 0x7f, ny * sizeof(float)); /* without statistics: the same y */
    best.conv3x3_forward(s, x, w, b, y.got, NULL, NULL, &work);
    if (s->c != 3) { /* 3 are those of an image, which needs no gradient */
        ref.conv3x3_backward_data(s, g, w, dx.want, NULL);
        memset(scratch, 0xff, n_scratch * sizeof(float));
        best.conv3x3_backward_data(s, g, w, dx.got, &work);
    } else {
        memcpy(dx.got, dx.want, nx * sizeof(float));
    }
    ref.conv3x3_backward_weight(s, x, g, dw.want, db.want, NULL);
    memset(scratch, 0xff, n_scratch * sizeof(float));
    best.conv3x3_backward_weight(s, x, g, dw.got, db.got, &work);

    print_message("# %s: rms y %.2g, dx %.2g, dweight %.2g\n", row, rms_error(y), rms_error(dx),
                  rms_error(dw));
    pair_check_rms(y, FORWARD_RMS, row, "y");
    pair_check_rms(dx, FORWARD_RMS, row, "dx");
    pair_check_rms(dw, WEIGHT_RMS, row, "dweight");
    pair_check(db, row, "dbias");
    for (size_t k = 0; k < s->k; k++) { /* a mean matters as a part of a deviation */
        double off = (double)mean.got[k] - (double)mean.want[k], sd = sqrt((double)var.want[k]);
        if (fabs(off) > 2e-6 * (sd + fabs((double)mean.want[k]))) {
            fail_msg("%s %s mean[%zu]: got %.9g, expected %.9g, deviation %.3g", best.isa, row, k,
                     (double)mean.got[k], (double)mean.want[k], sd);
        }
    }
    pair_check_rms(mean, FORWARD_RMS, row, "mean");
    pair_check_rms(var, FORWARD_RMS, row, "var");
    guarded_free(scratch, n_scratch, "scratch");
    guarded_free(x, nx, "x");
    guarded_free(w_block, nw + 1, "weight");
    guarded_free(b, s->k, "bias");
    guarded_free(g, ny, "dy");
}

static const struct {
    const char *name;
    struct conv_shape shape;
} conv_rows[] = {
    {"first layer", {2, 3, 64, 32, 32}},
    {"first layer, odd image", {9, 3, 32, 5, 7}},
    {"first layer, one pixel", {1, 3, 32, 1, 1}},
    {"one tile", {1, 32, 32, 4, 4}},
    {"oblong", {3, 32, 64, 4, 12}},
    {"blocks, last short", {3, 32, 32, 28, 28}},
    {"two parts, last short", {11, 32, 32, 28, 28}},
    {"conv1_2", {1, 64, 64, 32, 32}},
    {"conv3, wide", {2, 96, 64, 8, 8}},
    {"conv4, two chunks", {67, 32, 96, 4, 4}},
    {"conv5", {131, 32, 64, 2, 2}},
    {"conv5, lanes all full", {64, 64, 96, 2, 2}},
    {"conv5, lanes not full", {29, 96, 32, 2, 2}},
    {"conv5, lanes too empty", {28, 32, 32, 2, 2}},
};

/* An image's input gradient has the same bits in a batch that fills the lanes (conv_lanes.c) and in
 * one that does not (conv_tiles.c). */
TEST(pair_ways_agree)
{
    struct conv_shape full = {.n = 32, .c = 64, .k = 96, .h = 2, .w = 2}, few = full;
    few.n = 5;
    size_t nx = (size_t)full.n * full.c * 4, ny = (size_t)full.n * full.k * 4, nw = 9 * 64 * 96;
    size_t few_nx = (size_t)few.n * few.c * 4, n_scratch = best.conv3x3_scratch(&full, 1);
    float *w = guarded_new(nw, 1), *dy = guarded_new(ny, 2), *scratch = guarded_new(n_scratch, 3);
    float *dx = guarded_new(nx, 4), *few_dx = guarded_new(few_nx, 5);
    struct work work = {.scratch = scratch};
    best.conv3x3_backward_data(&full, dy, w, dx, &work);
    best.conv3x3_backward_data(&few, dy, w, few_dx, &work);
    assert_memory_equal(dx, few_dx, few_nx * sizeof(float));
    guarded_free(w, nw, "weight");
    guarded_free(dy, ny, "dy");
    guarded_free(scratch, n_scratch, "scratch");
    guarded_free(dx, nx, "dx");
    guarded_free(few_dx, few_nx, "dx of few");
}

/* A model's scratch is planned for its largest batch and used with smaller ones. */
TEST(scratch_grows)
{
    for (size_t i = 0; i < N_ROWS(conv_rows); i++) {
        for (unsigned threads = 1; threads < 4; threads++) {
            struct conv_shape s = conv_rows[i].shape;
            size_t most = 0;
            for (s.n = 1; s.n <= 600; s.n++) {
                size_t n = best.conv3x3_scratch(&s, threads);
                if (n < most) {
                    fail_msg("%s %s, %u threads: batch %u needs %zu floats of scratch, a smaller "
                             "one %zu",
                             best.isa, conv_rows[i].name, threads, s.n, n, most);
                }
                most = n;
            }
        }
    }
}

TEST(conv)
{
    struct thread_pool *threads = NULL;
    assert_int_equal(thread_pool_new(3, &threads, NULL), 0);
    for (size_t i = 0; i < N_ROWS(conv_rows); i++) {
        for (size_t with = 0; with < 2; with++) { /* under a sanitizer by turns */
            if (!IS_SANITIZED || with == i % 2) {
                conv_row(conv_rows[i].name, &conv_rows[i].shape, with == 0 ? NULL : threads);
            }
        }
    }
    thread_pool_free(threads);
}

TEST(fc)
{
    static const struct {
        const char *name;
        uint32_t n, c, k;
    } rows[] = {{"one", 1, 1, 1},
                {"odd", 3, 7, 5},
                {"head", 16, 512, 512},
                {"last", 5, 512, 10},
                {"slices, last short", 4, 130, 300}};
    struct work alone = {0}, shared = {0};
    assert_int_equal(thread_pool_new(3, &shared.threads, NULL), 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint32_t n = rows[i].n, c = rows[i].c, k = rows[i].k;
        size_t nx = (size_t)n * c, ny = (size_t)n * k, nw = (size_t)k * c;
        float *x = guarded_new(nx, 1), *w = guarded_new(nw, 2), *b = guarded_new(k, 3);
        float *g = guarded_new(ny, 4);
        struct pair y = pair_new(ny), dx = pair_new(nx), dw = pair_new(nw), db = pair_new(k);
        float *y_shared = guarded_new(ny, 5), *dw_shared = guarded_new(nw, 6);
        float *dx_shared = guarded_new(nx, 7);
        ref.fc_forward(n, c, k, x, w, b, y.want, NULL);
        best.fc_forward(n, c, k, x, w, b, y.got, &alone);
        best.fc_forward(n, c, k, x, w, b, y_shared, &shared);
        ref.fc_backward(n, c, k, x, w, g, dx.want, dw.want, db.want, NULL);
        best.fc_backward(n, c, k, x, w, g, NULL, dw.got, db.got, &alone);
        memset(dw.got, 0x7f, nw * sizeof(float)); /* overwritten, not added to */
        best.fc_backward(n, c, k, x, w, g, dx.got, dw.got, db.got, &alone);
        best.fc_backward(n, c, k, x, w, g, dx_shared, dw_shared, db.got, &shared);
        assert_memory_equal(y.got, y_shared, ny * sizeof(float)); /* bits know no threads */
        assert_memory_equal(dw.got, dw_shared, nw * sizeof(float));
        assert_memory_equal(dx.got, dx_shared, nx * sizeof(float));
        guarded_free(y_shared, ny, "y of three threads");
        guarded_free(dw_shared, nw, "dweight of three threads");
        guarded_free(dx_shared, nx, "dx of three threads");
        pair_check(y, rows[i].name, "y");
        pair_check(dx, rows[i].name, "dx");
        pair_check(dw, rows[i].name, "dweight");
        pair_check(db, rows[i].name, "dbias");
        guarded_free(x, nx, "x");
        guarded_free(w, nw, "weight");
        guarded_free(b, k, "bias");
        guarded_free(g, ny, "dy");
    }
    thread_pool_free(shared.threads);
}

struct bn_arrays {
    size_t n, k;
    float *y, *gamma, *shift, *inv_std, *scratch;
    struct work work;
};

static struct bn_arrays bn_new(const struct bn_shape *s, struct thread_pool *threads)
{
    struct bn_arrays b = {.n = (size_t)s->n * s->h * s->w * s->k, .k = s->k};
    b.y = guarded_new(b.n, 1);
    b.gamma = guarded_new(b.k, 3);
    b.shift = guarded_new(b.k, 4);
    b.inv_std = guarded_new(b.k, 5);
    b.scratch = guarded_new(BN_SCRATCH(b.k), 6);
    b.work = (struct work){threads, b.scratch};
    for (size_t i = 0; i < b.n; i++) {
        b.y[i] = 0.25f * b.y[i] + 30; /* a mean far from zero: E[y^2] - E[y]^2 would fail */
    }
    for (size_t i = 0; i < b.k; i++) {
        b.shift[i] -= 30 * b.gamma[i];
        b.inv_std[i] = 1.5f + b.inv_std[i];
    }
    return b;
}

static void bn_free(struct bn_arrays *b)
{
    guarded_free(b->y, b->n, "y");
    guarded_free(b->gamma, b->k, "gamma");
    guarded_free(b->shift, b->k, "shift");
    guarded_free(b->inv_std, b->k, "inv_std");
    guarded_free(b->scratch, BN_SCRATCH(b->k), "scratch");
}

/* Straight from what kernels.h says of the bits; those of no channel are 0. */
static void check_kept(const char *row, const struct bn_shape *s, const float *a,
                       const uint32_t *kept)
{
    for (size_t pixel = 0; pixel < (size_t)s->n * s->h * s->w; pixel++) {
        for (size_t k = 0; k < 32 * KEPT_WORDS(s->k); k++) {
            uint32_t bit = kept[pixel * KEPT_WORDS(s->k) + k / 32] >> k % 32 & 1;
            float value = k < s->k ? a[pixel * s->k + k] : 0;
            if (bit != (value > 0)) {
                fail_msg("%s %s: pixel %zu, channel %zu of %u: bit %u, a %g", best.isa, row, pixel,
                         k, s->k, bit, (double)value);
            }
        }
    }
}

/* Of each kernel's own a: near 0, where they round otherwise, their bits may differ. */
static void kept_row(const char *row, const struct bn_shape *s, const struct dropout_mask *mask,
                     struct bn_arrays *b, const struct pair *a, uint32_t *want)
{
    size_t words = (size_t)s->n * s->h * s->w * KEPT_WORDS(s->k);
    uint32_t *got = guarded_words_new(words);
    ref.bn_relu_forward(s, mask, b->y, b->gamma, b->shift, a->want, want, NULL);
    best.bn_relu_forward(s, mask, b->y, b->gamma, b->shift, a->got, NULL, &b->work);
    float *unasked = guarded_new(b->n, 7);
    memcpy(unasked, a->got, b->n * sizeof(float));
    best.bn_relu_forward(s, mask, b->y, b->gamma, b->shift, a->got, got, &b->work);
    assert_memory_equal(unasked, a->got, b->n * sizeof(float));
    check_kept(row, s, a->want, want);
    check_kept(row, s, a->got, got);
    guarded_free(unasked, b->n, "a without bits");
    guarded_free((void *)got, words, "bits");
}

static void bn_row(const char *row, const struct bn_shape *s, const struct dropout_mask *mask,
                   struct thread_pool *threads)
{
    _cleanup_(bn_free) struct bn_arrays b = bn_new(s, threads);
    size_t n = b.n, k = b.k, words = n / k * KEPT_WORDS(k);
    uint32_t *kept = guarded_words_new(words);
    float *da = guarded_new(n, 2);
    struct pair mean = pair_new(k), var = pair_new(k), a = pair_new(n), dy = pair_new(n);
    struct pair dgamma = pair_new(k), dbeta = pair_new(k);
    for (size_t i = 0; i < n; i++) {
        da[i] += 0.5f; /* sums that do not cancel: the tolerance means something */
    }
    ref.bn_stats(s, b.y, mean.want, var.want, NULL);
    best.bn_stats(s, b.y, mean.got, var.got, &b.work);
    kept_row(row, s, mask, &b, &a, kept);
    ref.bn_relu_backward(s, b.y, kept, da, mean.want, b.inv_std, b.gamma, dy.want, dgamma.want,
                         dbeta.want, NULL);
    memcpy(dy.got, da, n * sizeof(float)); /* in place */
    best.bn_relu_backward(s, b.y, kept, dy.got, mean.want, b.inv_std, b.gamma, dy.got, dgamma.got,
                          dbeta.got, &b.work);
    pair_check(mean, row, "mean");
    pair_check(var, row, "var");
    pair_check(a, row, "a");
    pair_check(dy, row, "dy");
    pair_check(dgamma, row, "dgamma");
    pair_check(dbeta, row, "dbeta");
    guarded_free(da, n, "da");
    guarded_free((void *)kept, words, "bits of ref");
}

TEST(bn)
{
    /* clang-format off */
    static const struct {
        const char *name;
        struct bn_shape shape;
    } rows[] = {
        {"two values", {2, 1, 1, 32}},  {"fc", {33, 1, 1, 160}},     {"conv5", {9, 2, 2, 96}},
        {"odd plane", {3, 37, 1, 32}},  {"conv4", {17, 4, 4, 128}},  {"conv1", {3, 32, 32, 64}},
        {"past the caches", {17, 32, 32, 64}},
        {"odd slots", {5, 6, 6, 64}},   {"half a tile", {5, 3, 7, 96}},
    };
    /* clang-format on */
    struct dropout_mask mask = {.key = {.seed = 3, .stream = 4}, .below = 19661};
    struct thread_pool *threads = NULL;
    assert_int_equal(thread_pool_new(2, &threads, NULL), 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        bn_row(rows[i].name, &rows[i].shape, NULL, NULL);
        bn_row(rows[i].name, &rows[i].shape, &mask, threads);
    }
    thread_pool_free(threads);
}

static void bn_pool_row(const char *row, const struct bn_shape *s)
{
    _cleanup_(bn_free) struct bn_arrays b = bn_new(s, NULL);
    size_t n = b.n, k = b.k;
    float *da = guarded_new(n / 4, 2), *mean = guarded_new(k, 8);
    struct pair a = pair_new(n / 4), dy = pair_new(n), dgamma = pair_new(k), dbeta = pair_new(k);
    for (size_t i = 0; i < n; i++) {
        b.y[i] = roundf(b.y[i] * 8) / 8; /* ties */
    }
    for (size_t i = 0; i < k; i++) {
        b.gamma[i] = roundf(b.gamma[i] * 8) / 8; /* exact products: the same side of 0 for both */
        b.shift[i] = roundf(b.shift[i]);
        mean[i] = 30 + 0.1f * mean[i];
    }
    ref.bn_relu_pool_forward(s, b.y, b.gamma, b.shift, a.want, NULL);
    best.bn_relu_pool_forward(s, b.y, b.gamma, b.shift, a.got, &b.work);
    ref.bn_relu_pool_backward(s, b.y, b.gamma, b.shift, da, mean, b.inv_std, b.gamma, dy.want,
                              dgamma.want, dbeta.want, NULL);
    best.bn_relu_pool_backward(s, b.y, b.gamma, b.shift, da, mean, b.inv_std, b.gamma, dy.got,
                               dgamma.got, dbeta.got, &b.work);
    pair_check(a, row, "pooled a");
    pair_check(dy, row, "pooled dy");
    pair_check(dgamma, row, "pooled dgamma");
    pair_check(dbeta, row, "pooled dbeta");
    guarded_free(da, n / 4, "da");
    guarded_free(mean, k, "mean");
}

TEST(bn_pool)
{
    /* clang-format off */
    static const struct {
        const char *name;
        struct bn_shape shape;
    } rows[] = {
        {"one block", {1, 2, 2, 32}}, {"odd", {3, 6, 10, 96}}, {"conv5", {9, 2, 2, 64}},
        {"conv1", {5, 32, 32, 64}}, {"past the caches", {17, 32, 32, 64}},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        bn_pool_row(rows[i].name, &rows[i].shape);
    }
}

TEST(dropout)
{
    static const size_t sizes[] = {1, 15, 16, 63, 64, 65, 128, 200, 1000};
    struct dropout_mask mask = {.key = {.seed = 3, .stream = 4}, .below = 19661};
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

/* An element is dropped if its 16 bits are below the limit, not if they equal it. */
TEST(dropout_limit)
{
    struct dropout_mask mask = {.key = {.seed = 3, .stream = 4}};
    uint32_t words[RNG_TILE];
    rng_tile(mask.key, 0, words);
    for (uint32_t above = 0; above < 2; above++) {
        float x[RNG_TILE], y[RNG_TILE] = {0};
        for (size_t i = 0; i < RNG_TILE; i++) {
            x[i] = 1;
        }
        mask.below = (words[5] & 0xffff) + above;
        best.dropout(RNG_TILE, &mask, x, y);
        assert_true(y[5] == (above == 0 ? x[5] : 0));
    }
}

static void check_share(double rate, const char *what, double got, double expected, double n)
{
    double sigma = sqrt(expected * (1 - expected) / n);
    if (fabs(got - expected) > 5 * sigma) {
        fail_msg("rate %g: %s %.6f, expected %.6f +- %.6f", rate, what, got, expected, 5 * sigma);
    }
}

TEST(dropout_keeps_its_rate)
{
    static const double rates[] = {0.3, 0.4, 0.5};
    enum { N = 1000003 };
    float *x = guarded_new(N, 1);
    for (size_t i = 0; i < N; i++) {
        x[i] = 1;
    }
    for (size_t r = 0; r < N_ROWS(rates); r++) {
        float *y = guarded_new(N, 2);
        struct dropout_mask mask = {.key = {.seed = r, .stream = 9},
                                    .below = (uint32_t)(rates[r] * DROPOUT_ONE)};
        double kept = 0, both = 0, keep = 1 - rates[r];
        best.dropout(N, &mask, x, y);
        for (size_t i = 0; i < N; i++) {
            assert_true(y[i] == 0 || y[i] == 1);
            kept += (double)y[i];
            both += i < 64 ? 0 : (double)(y[i] * y[i - 64]); /* in half of them one word decides */
        }
        check_share(rates[r], "kept", kept / N, keep, N);
        check_share(rates[r], "kept and kept", both / (N - 64), keep * keep, N - 64);
        guarded_free(y, N, "y");
    }
    guarded_free(x, N, "x");
}

TEST(softmax)
{
    enum { N = 3, K = 4 };
    static const float logits[N * K] = {1, 2, 3, 4, 500, 0, 0, 0, -1, -1, -1, -1};
    static const uint8_t labels[N] = {3, 1, 3};
    float grad[N * K];
    uint32_t right = 99;
    double loss = kernels_softmax_xent(N, K, logits, labels, grad, &right);
    double row0 = log(exp(-3) + exp(-2) + exp(-1) + 1), row1 = 500, row2 = log(4);
    assert_int_equal(right, 1); /* of equal logits the first is the answer, not the last */
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
    assert_true(fabs((double)grad[11] - (0.25 - 1) / 3) < 1e-8);
}

int main(int argc, char **argv)
{
    const char *isa = argc == 2 ? argv[1] : "baseline";
    kernels_init_ref(&ref);
    if (kernels_init_isa(&best, isa) < 0) {
        printf("1..0 # SKIP this CPU has no %s\n", isa);
        return 0;
    }
    return test_run_all(NULL);
}
