#include <math.h>

#include "tests/test.h"
#include "worker/kernels/cpu.h"
#include "worker/model/adam.h"
#include "worker/tensor/accumulate.h"
#include "worker/tensor/rng.h"

enum { N = 1000 };

/* Two steps from p = 1 with gradients 1 and -0.5, scaled by 1/2 (two trainers), written out:
 *   m_t = b1*m + (1-b1)*g     v_t = b2*v + (1-b2)*g*g
 *   p  -= lr * sqrt(1-b2^t)/(1-b1^t) * m_t / (sqrt(v_t) + eps)
 * The betas are those that fp32 holds: 1 - .999f is 1.3e-5 off .001. */
TEST(by_hand)
{
    const double b1 = (double)0.9f, b2 = (double)0.999f;
    _cleanup_(adam_done) struct adam a = ADAM_DEFAULT;
    adam_init(&a, 1);
    float p = 1, grads[] = {1.0f, -0.5f};

    adam_apply(&a, 1, 0, 1, &p, &grads[0], 0.5f);
    double m1 = (1 - b1) * 0.5, v1 = (1 - b2) * 0.25;
    double p1 = 1 - 1e-3 * sqrt(1 - b2) / (1 - b1) * m1 / (sqrt(v1) + 1e-8);
    assert_near("m after 1", m1, a.m[0], 1e-6);
    assert_near("v after 1", v1, a.v[0], 1e-6);
    assert_near("p after 1", p1, p, 1e-6);
    assert_near("p after 1: the first step is lr whatever the gradient", 0.999, p, 1e-6);

    adam_apply(&a, 2, 0, 1, &p, &grads[1], 0.5f);
    double m2 = b1 * m1 - (1 - b1) * 0.25, v2 = b2 * v1 + (1 - b2) * 0.0625;
    double p2 = p1 - 1e-3 * sqrt(1 - b2 * b2) / (1 - b1 * b1) * m2 / (sqrt(v2) + 1e-8);
    assert_near("m after 2", m2, a.m[0], 1e-6);
    assert_near("v after 2", v2, a.v[0], 1e-6);
    assert_near("p after 2", p2, p, 1e-6);
}

/* A parameter whose gradient stays away, such as one behind a dead ReLU: its moments fade to 0, not
 * to the smallest denormal number, of which 0.9 times rounds to itself. */
TEST(moments_without_a_gradient_end_at_0)
{
    static const float grads[] = {0.1f, 0};
    float p = 1;
    _cleanup_(adam_done) struct adam a = ADAM_DEFAULT;
    cpu_flush_denormals();
    adam_init(&a, 1);
    for (uint64_t t = 1; t <= 1000; t++) {
        adam_apply(&a, t, 0, 1, &p, &grads[t == 1 ? 0 : 1], 1);
    }
    assert_true(a.m[0] == 0);
    assert_true(isfinite(p));
}

static void seeded(float *out, uint64_t stream)
{
    rng_normal((struct rng_key){.seed = 3, .stream = stream}, 1, out, N);
}

/* Servers that own slices get the bits of one process that owns all. */
TEST(slices_equal_whole)
{
    static const size_t cuts[] = {0, 1, 17, 500, 501, N};
    float whole[N], sliced[N], grad[N];
    _cleanup_(adam_done) struct adam a = ADAM_DEFAULT, b = ADAM_DEFAULT;
    adam_init(&a, N);
    adam_init(&b, N);
    seeded(whole, 1);
    memcpy(sliced, whole, sizeof(whole));
    for (uint64_t t = 1; t <= 3; t++) {
        seeded(grad, 10 + t);
        adam_apply(&a, t, 0, N, whole, grad, 1.0f / 3);
        for (size_t i = 0; i + 1 < sizeof(cuts) / sizeof(cuts[0]); i++) {
            adam_apply(&b, t, cuts[i], cuts[i + 1] - cuts[i], sliced + cuts[i], grad + cuts[i],
                       1.0f / 3);
        }
    }
    assert_memory_equal(whole, sliced, sizeof(whole));
}

/* How many threads share a step changes no bit. */
TEST(threads_equal_one)
{
    enum { LONG = 200001 };
    _cleanup_(freep) float *alone = xnew_array(float, LONG), *shared = xnew_array(float, LONG);
    _cleanup_(freep) float *grad = xnew_array(float, LONG);
    _cleanup_(adam_done) struct adam a = ADAM_DEFAULT, b = ADAM_DEFAULT;
    adam_init(&a, LONG);
    adam_init(&b, LONG);
    assert_int_equal(thread_pool_new(3, &b.threads, NULL), 0);
    for (uint64_t t = 1; t <= 3; t++) {
        rng_normal((struct rng_key){.seed = 3, .stream = t}, 1, grad, LONG);
        adam_apply(&a, t, 0, LONG, alone, grad, 1);
        adam_apply(&b, t, 0, LONG, shared, grad, 1);
    }
    assert_memory_equal(alone, shared, LONG * sizeof(float));
    thread_pool_free(b.threads);
}

/* In trainer order, whole or by slices: the same bits; another order gives others. */
TEST(sums_are_ordered)
{
    float g[3][N], whole[N], sliced[N], turned[N];
    for (uint64_t i = 0; i < 3; i++) {
        seeded(g[i], i);
    }
    memcpy(whole, g[0], sizeof(whole));
    grad_add(whole, g[1], N);
    grad_add(whole, g[2], N);
    for (size_t at = 0; at < N; at += 250) {
        memcpy(sliced + at, g[0] + at, 250 * sizeof(float));
        grad_add(sliced + at, g[1] + at, 250);
        grad_add(sliced + at, g[2] + at, 250);
    }
    memcpy(turned, g[2], sizeof(turned));
    grad_add(turned, g[1], N);
    grad_add(turned, g[0], N);
    assert_memory_equal(whole, sliced, sizeof(whole));
    assert_memory_not_equal(whole, turned, sizeof(whole));
    for (size_t i = 0; i < N; i++) {
        assert_true(whole[i] == (g[0][i] + g[1][i]) + g[2][i]);
    }
}

/* Every width of vectors, at every alignment and with every rest: the bits of one addition an
 * element, also of what is not a number or too small for one; the neighbours stay as they are. */
TEST(sums_of_every_width)
{
    enum { LEN = 100, GUARD = 20 };
    static const char *const names[] = {"baseline", "avx2", "avx512"};
    float sum[LEN + 2 * GUARD], grad[LEN + 2 * GUARD], want[LEN + 2 * GUARD], got[LEN + 2 * GUARD];
    for (size_t i = 0; i < LEN + 2 * GUARD; i++) {
        sum[i] = ldexpf((float)((i * 7919) % 1000) - 500.0f, (int)(i % 50) - 25);
        grad[i] = ldexpf((float)((i * 104729) % 1000) - 500.0f, (int)(i % 61) - 30);
    }
    sum[GUARD + 3] = 1e-45f;
    grad[GUARD + 3] = 2e-45f;
    sum[GUARD + 5] = INFINITY;
    grad[GUARD + 6] = -INFINITY;
    sum[GUARD + 7] = NAN;
    for (int isa = VECTORS_BASELINE; isa <= VECTORS_AVX512; isa++) {
        const struct vector_ops *ops = vector_ops((enum vector_isa)isa);
        for (size_t begin = GUARD - 16; begin <= GUARD && ops != NULL; begin++) {
            for (size_t n = 0; n <= LEN; n++) {
                memcpy(want, sum, sizeof(want));
                memcpy(got, sum, sizeof(got));
                for (size_t i = begin; i < begin + n; i++) {
                    want[i] = sum[i] + grad[i];
                }
                ops->add(got + begin, grad + begin, n);
                assert_memory_equal(got, want, sizeof(got));
            }
        }
        print_message("# %s: %s\n", names[isa], ops != NULL ? "the same bits" : "not on this CPU");
        assert_true(ops != NULL || isa != VECTORS_BASELINE);
    }
    memcpy(got, sum, sizeof(got));
    memcpy(want, sum, sizeof(want));
    grad_add(got, grad, LEN);
    vector_ops(VECTORS_BASELINE)->add(want, grad, LEN);
    assert_memory_equal(got, want, sizeof(got));
}
