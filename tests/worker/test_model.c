/* The shipped network's shape and start, and what every network must do, on a small one. */
#include "tests/test.h"
#include "guard.h"
#include "kernels_ref.h"
#include "worker/model/adam.h"
#include "worker/model/model_internal.h"
#include "worker/tensor/accumulate.h"

FREEP(model_free, struct model)

#define VGG "vgg16-fluid-fc512"

static const struct layer_def small_layers[] = {
    {LAYER_CONV, 32, 0.3}, {LAYER_CONV, 32, 0}, {LAYER_POOL, 0, 0},      {LAYER_CONV, 64, 0.4},
    {LAYER_CONV, 32, 0},   {LAYER_POOL, 0, 0},  {LAYER_DROPOUT, 0, 0.5}, {LAYER_FC_BN, 32, 0.5},
    {LAYER_FC, 16, 0},     {LAYER_FC, 10, 0},
};
static const struct model_def small = {
    .name = "small",
    .c = 3,
    .h = 8,
    .w = 8,
    .layers = small_layers,
    .n_layers = N_ROWS(small_layers),
};
enum { SMALL_FLOATS = 3 * 8 * 8, BATCH = 8 };

static float pixels[BATCH * 3 * 32 * 32];
static const uint8_t labels[BATCH] = {3, 1, 4, 1, 5, 9, 2, 6};

static struct model *new_model(const struct model_def *def, uint32_t batch, uint64_t seed,
                               bool dropout)
{
    struct model_params params = {
        .def = def, .batch = batch, .threads = 1, .seed = seed, .dropout = dropout};
    struct model *m = NULL;
    assert_int_equal(model_new(&params, &m, NULL), 0);
    model_init_params(def, seed, model_param_data(m));
    return m;
}

TEST(shape)
{
    const struct model_def *def = model_def_find(VGG);
    assert_non_null(def);
    assert_null(model_def_find("vgg16"));
    assert_string_equal(model_def_names(), VGG);
    assert_int_equal(model_def_n_params(def), 15254602);
    /* 313,196,544 multiply-adds in the convolutions, 529,408 behind; three times, but once less for
     * the first layer's 1,769,472. */
    assert_true(model_def_flops_per_sample(def) ==
                2.0 * (3.0 * (313196544.0 + 529408.0) - 1769472.0));
    /* After conv i of each stack of facts: .3 0 / .4 0 / .4 .4 0 three times; head .5 and .5. */
    static const double drops[] = {.3, 0, .4, 0, .4, .4, 0, .4, .4, 0, .4, .4, 0};
    for (uint32_t i = 0, conv = 0; i < def->n_layers; i++) {
        if (def->layers[i].kind == LAYER_CONV) {
            assert_true(def->layers[i].dropout == drops[conv++]);
        } else if (def->layers[i].kind != LAYER_POOL) {
            assert_true(def->layers[i].dropout == (def->layers[i].kind == LAYER_FC ? 0 : 0.5));
        }
    }
}

static void spread(const float *x, size_t n, double *ret_mean, double *ret_sd, double *ret_max)
{
    double sum = 0, squares = 0;
    *ret_max = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
        *ret_max = fmax(*ret_max, fabs((double)x[i]));
    }
    *ret_mean = sum / (double)n;
    *ret_sd = sqrt(squares / (double)n - *ret_mean * *ret_mean);
}

static void assert_all(const float *x, size_t n, float value)
{
    for (size_t i = 0; i < n; i++) {
        assert_true(x[i] == value);
    }
}

TEST(initial_values)
{
    double before = 0; /* the first weight of the layer before, in its deviations */
    _cleanup_(model_freep) struct model *m = new_model(model_def_find(VGG), 1, 7, true);
    for (uint32_t i = 0; i < m->def->n_layers; i++) {
        const struct layer *l = &m->layers[i];
        const float *p = m->params + l->param;
        double mean, sd, max, want;
        if (!layer_has_weight(l->def)) {
            continue;
        }
        spread(p, l->sizes.weight, &mean, &sd, &max);
        if (l->def->kind == LAYER_CONV) {
            want = sqrt(2.0 / (9.0 * l->shape.c));
            assert_true(max > 2.5 * want && max < 6 * want); /* tails of a normal */
        } else {
            double bound = sqrt(6.0 / (double)(l->shape.c + l->shape.k));
            want = bound / sqrt(3);
            assert_true(max < bound && max > 0.99 * bound);
        }
        double error = 5 * want / sqrt((double)l->sizes.weight);
        if (fabs(mean) > error || fabs(sd - want) > error) {
            fail_msg("layer %u: mean %g sd %g, expected 0 and %g", i, mean, sd, want);
        }
        assert_true(fabs((double)p[0] / sd - before) > 1e-3); /* its own random numbers */
        before = (double)p[0] / sd;
        p += l->sizes.weight;
        assert_all(p, l->sizes.bias, 0);
        assert_all(p + l->sizes.bias, l->sizes.gamma, 1);
        assert_all(p + l->sizes.bias + l->sizes.gamma, l->sizes.beta, 0);
    }
}

/* Trains `steps` steps on the same batch; returns the last loss. */
static double train(struct model *m, uint32_t n, int steps)
{
    size_t n_params = model_n_params(m);
    _cleanup_(adam_done) struct adam adam = ADAM_DEFAULT;
    double loss = 0;
    adam_init(&adam, n_params);
    for (int i = 0; i < steps; i++) {
        loss = model_forward(m, pixels, labels, n, (struct model_key){.step = (uint64_t)i});
        model_backward(m);
        adam_apply(&adam, (uint64_t)i + 1, 0, n_params, model_param_data(m), model_grad_data(m), 1);
    }
    return loss;
}

/* The second model of a row may have more threads: they change no bit. */
TEST(same_seed_same_bits)
{
    static const struct {
        const char *name;
        const struct model_def *def;
        uint32_t threads;
        int steps;
    } rows[] = {{"small", &small, 1, 20}, {VGG, NULL, 2, IS_SANITIZED ? 1 : 2}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct model_def *def = rows[i].def == NULL ? model_def_find(VGG) : rows[i].def;
        double loss[3];
        struct model *m[3] = {NULL};
        const int n = IS_SANITIZED && rows[i].def == NULL ? 2 : 3;
        for (int j = 0; j < n; j++) { /* the third with another seed */
            struct model_params params = {.def = def,
                                          .batch = 2,
                                          .dropout = true,
                                          .threads = j == 1 ? rows[i].threads : 1,
                                          .seed = j == 2 ? 6 : 5};
            assert_int_equal(model_new(&params, &m[j], NULL), 0);
            model_init_params(def, params.seed, model_param_data(m[j]));
            loss[j] = train(m[j], 2, rows[i].steps);
        }
        size_t bytes = model_n_params(m[0]) * sizeof(float);
        print_message("# %s: loss %.17g\n", rows[i].name, loss[0]);
        assert_memory_equal(&loss[0], &loss[1], sizeof(loss[0]));
        assert_memory_equal(model_param_data(m[0]), model_param_data(m[1]), bytes);
        assert_true(n == 2 || loss[0] != loss[2]);
        model_free(m[0]), model_free(m[1]), model_free(m[2]);
    }
}

/* A short last batch gives what a model made for that size gives. */
TEST(short_batch)
{
    struct model *large = new_model(&small, BATCH, 5, true), *exact = new_model(&small, 3, 5, true);
    double a = train(large, 3, 3), b = train(exact, 3, 3);
    assert_memory_equal(&a, &b, sizeof(a));
    assert_int_equal(model_right(large), model_right(exact));
    model_free(large);
    model_free(exact);
}

TEST(best_equals_reference)
{
    struct model_params params = {
        .def = &small, .batch = BATCH, .threads = 1, .seed = 3, .dropout = true};
    struct kernels ref;
    _cleanup_(model_freep) struct model *fast = new_model(&small, BATCH, 3, true), *slow = NULL;
    kernels_init_ref(&ref);
    assert_int_equal(model_new_with(&params, &ref, &slow, NULL), 0);
    model_init_params(&small, 3, model_param_data(slow));
    double a = train(fast, BATCH, 1), b = train(slow, BATCH, 1);
    if (fabs(a - b) > 1e-6 * b) {
        fail_msg("loss %.9g, reference %.9g", a, b);
    }
    for (uint32_t i = 0; i < small.n_layers; i++) {
        const struct layer *l = &fast->layers[i];
        char what[32];
        snprintf(what, sizeof(what), "gradient of layer %u", i);
        assert_close(fast->grads + l->param, slow->grads + l->param, l->sizes.weight, 1e-4, what);
    }
}

static bool is_kept(const struct layer *l, size_t i)
{
    size_t pixel = i / l->shape.k, k = i % l->shape.k;
    return (l->kept[pixel * KEPT_WORDS(l->shape.k) + k / 32] >> k % 32 & 1) != 0;
}

/* Layers keep the bits of their training's output, and inference leaves them alone. */
TEST(kept_bits)
{
    _cleanup_(model_freep) struct model *m = new_model(&small, BATCH, 3, true);
    const struct layer *l = &m->layers[0], *fc = &m->layers[7];
    size_t words = (size_t)BATCH * 8 * 8 * KEPT_WORDS(32);
    (void)model_forward(m, pixels, labels, BATCH, (struct model_key){0});
    for (uint32_t i = 0; i < small.n_layers; i++) {
        bool has = layer_has_bn(m->layers[i].def) && !m->layers[i].pools;
        assert_true(has == (m->layers[i].kept != NULL));
        for (size_t j = 0; has && j < BATCH * layer_out_floats(&m->layers[i]); j++) {
            assert_true(is_kept(&m->layers[i], j) == (m->layers[i].out[j] > 0));
        }
    }
    assert_true(m->layers[1].pools && fc->kept != NULL);
    _cleanup_(freep) uint32_t *before = malloc(words * sizeof(*before));
    memcpy(before, l->kept, words * sizeof(*before));
    (void)model_evaluate(m, pixels + SMALL_FLOATS, labels, BATCH);
    assert_memory_equal(l->kept, before, words * sizeof(*before));
}

/* Fluid's convention: running = .9 * running + .1 * batch, from 0 and 1, biased variance. */
TEST(running_statistics)
{
    _cleanup_(model_freep) struct model *m = new_model(&small, BATCH, 3, true);
    const struct layer *l = &m->layers[0];
    (void)model_forward(m, pixels, labels, BATCH, (struct model_key){0});
    float *mean = guarded_new(l->shape.k, 1), *var = guarded_new(l->shape.k, 2);
    struct bn_shape s = layer_bn_shape(l, BATCH);
    struct kernels ref;
    kernels_init_ref(&ref);
    ref.bn_stats(&s, l->y, mean, var, NULL);
    for (uint32_t k = 0; k < s.k; k++) {
        mean[k] = 0.1f * mean[k];
        var[k] = 0.9f + 0.1f * var[k];
    }
    assert_close(l->running_mean, mean, s.k, 1e-6, "running mean");
    assert_close(l->running_var, var, s.k, 1e-6, "running variance");
    (void)model_evaluate(m, pixels, labels, BATCH); /* leaves them alone */
    assert_close(l->running_mean, mean, s.k, 1e-6, "running mean after a test");
    guarded_free(mean, s.k, "mean");
    guarded_free(var, s.k, "var");
}

/* Inference: out = relu(y * scale + shift), by the running statistics, times what dropout keeps. */
TEST(inference)
{
    for (int dropout = 0; dropout < 2; dropout++) {
        _cleanup_(model_freep) struct model *m = new_model(&small, BATCH, 3, dropout != 0);
        const struct layer *l = &m->layers[0];
        float *gamma = m->params + l->param + l->sizes.weight + l->sizes.bias;
        float scale[32], shift[32], keep = dropout != 0 ? 0.7f : 1;
        for (uint32_t k = 0; k < 32; k++) {
            gamma[k] = 1 + 0.1f * (float)k;
            gamma[32 + k] = 0.5f - 0.1f * (float)k; /* beta */
        }
        (void)model_forward(m, pixels, labels, BATCH, (struct model_key){0});
        (void)model_evaluate(m, pixels + SMALL_FLOATS, labels, BATCH - 1);
        for (uint32_t k = 0; k < 32; k++) {
            scale[k] = keep * gamma[k] / sqrtf(l->running_var[k] + BN_EPS);
            shift[k] = keep * gamma[32 + k] - l->running_mean[k] * scale[k];
        }
        assert_close(l->scale, scale, 32, 1e-6, "scale");
        assert_close(l->shift, shift, 32, 1e-6, "shift");
    }
}

/* A channel of the input that is 0 everywhere is the only one whose weights have no gradient. */
TEST(input_channels)
{
    enum { HW = 8 * 8, K = 32 };
    for (size_t empty = 0; empty < 3; empty++) {
        static float x[BATCH * SMALL_FLOATS];
        _cleanup_(model_freep) struct model *m = new_model(&small, BATCH, 3, false);
        memcpy(x, pixels, sizeof(x));
        for (size_t n = 0; n < BATCH; n++) {
            memset(x + (n * 3 + empty) * HW, 0, HW * sizeof(*x));
        }
        (void)model_forward(m, x, labels, BATCH, (struct model_key){0});
        model_backward(m);
        for (size_t i = 0; i < (size_t)9 * 3; i++) { /* (tap, channel, K) */
            double mean, sd, max;
            spread(m->grads + i * K, K, &mean, &sd, &max);
            assert_true((max > 0) == (i % 3 != empty));
        }
    }
}

/* Learns eight random images by heart, and knows them by its running statistics too. */
TEST(learns)
{
    _cleanup_(model_freep) struct model *m = new_model(&small, BATCH, 3, true);
    _cleanup_(model_freep) struct model *plain = new_model(&small, BATCH, 3, false);
    double first = train(m, BATCH, 1), last = train(m, BATCH, 300);
    uint32_t right = model_evaluate(m, pixels, labels, BATCH);
    if (!(last < first / 2) || right < 7) {
        fail_msg("loss %g then %g, %u of 8 right", first, last, right);
    }
    last = train(plain, BATCH, 100);
    if (!(last < 0.1)) {
        fail_msg("without dropout: loss %g, expected < 0.1", last);
    }
    assert_int_equal(model_right(plain), BATCH);
    assert_int_equal(model_evaluate(plain, pixels, labels, BATCH), BATCH);
}

/* Masks: the same for the same (step, trainer), others for others; inference has none. */
TEST(dropout_keys)
{
    _cleanup_(model_freep) struct model *m = new_model(&small, BATCH, 3, true);
    static const struct model_key keys[] = {{0, 0}, {0, 0}, {1, 0}, {0, 1}, {1, 1}};
    double loss[N_ROWS(keys)];
    for (size_t i = 0; i < N_ROWS(keys); i++) {
        loss[i] = model_forward(m, pixels, labels, BATCH, keys[i]);
    }
    assert_true(loss[0] == loss[1]);
    for (size_t i = 1; i < N_ROWS(keys); i++) {
        for (size_t j = i + 1; j < N_ROWS(keys); j++) {
            assert_true(loss[i] != loss[j]);
        }
    }
    struct dropout_mask a = layer_mask(m, &m->layers[0]), b = layer_mask(m, &m->layers[3]);
    assert_true(a.key.stream != b.key.stream);
}

/* Three micro-batches with their own statistics, summed in order: what trainers and a server do. */
TEST(micro_batches)
{
    struct model *m = new_model(&small, BATCH, 3, true), *n = new_model(&small, BATCH, 3, true);
    size_t n_params = model_n_params(m);
    float *sum = guarded_new(n_params, 1), *mean = guarded_new(n_params, 2);
    struct adam a = ADAM_DEFAULT, b = ADAM_DEFAULT;
    adam_init(&a, n_params);
    adam_init(&b, n_params);
    for (uint32_t t = 0; t < 3; t++) {
        (void)model_forward(m, pixels + t * SMALL_FLOATS, labels + t, 2,
                            (struct model_key){.trainer = t});
        model_backward(m);
        if (t == 0) {
            memcpy(sum, model_grad_data(m), n_params * sizeof(float));
        } else {
            grad_add(sum, model_grad_data(m), n_params);
        }
    }
    for (size_t i = 0; i < n_params; i++) {
        mean[i] = sum[i] * (1.0f / 3);
    }
    adam_apply(&a, 1, 0, n_params, model_param_data(m), sum, 1.0f / 3);
    adam_apply(&b, 1, 0, n_params, model_param_data(n), mean, 1);
    assert_memory_equal(model_param_data(m), model_param_data(n), n_params * sizeof(float));
    adam_done(&a);
    adam_done(&b);
    guarded_free(sum, n_params, "sum");
    guarded_free(mean, n_params, "mean");
    model_free(m);
    model_free(n);
}

/* Parameters come when forward wants them and are gone when backward is done with them; gradients
 * do not change after they are ready. */
struct exchange {
    struct model *m;
    const float *right; /* (n_params) the parameters */
    float *grads;       /* (n_params) as they were when they were ready */
    size_t wanted, ready;
    unsigned n_wants, n_ready;
};

static void on_want(void *ctx, size_t offset, size_t n)
{
    struct exchange *x = ctx;
    assert_int_equal(offset, x->wanted);
    x->wanted += n;
    x->n_wants++;
    memcpy(model_param_data(x->m) + offset, x->right + offset, n * sizeof(float));
}

static void on_ready(void *ctx, size_t offset)
{
    struct exchange *x = ctx;
    assert_true(offset < x->ready);
    memcpy(x->grads + offset, model_grad_data(x->m) + offset, (x->ready - offset) * sizeof(float));
    for (size_t i = offset; i < x->ready; i++) {
        model_param_data(x->m)[i] = NAN;
    }
    x->ready = offset;
    x->n_ready++;
}

TEST(hooks)
{
    static const struct model_key key = {.step = 1};
    struct model *plain = new_model(&small, BATCH, 3, true), *m = new_model(&small, BATCH, 3, true);
    const size_t n = model_n_params(m);
    float *grads = guarded_new(n, 1), *right = guarded_new(n, 2);
    memcpy(right, model_param_data(plain), n * sizeof(float));
    const double loss = model_forward(plain, pixels, labels, BATCH, key);
    model_backward(plain);
    struct exchange x = {.m = m, .right = right, .grads = grads, .ready = n};
    const struct model_hooks model_hooks = {on_want, on_ready, &x};
    for (size_t i = 0; i < n; i++) {
        model_param_data(m)[i] = NAN;
    }
    model_set_hooks(m, &model_hooks);
    assert_true(model_forward(m, pixels, labels, BATCH, key) == loss);
    assert_int_equal(x.wanted, n);
    model_backward(m);
    assert_int_equal(x.ready, 0);
    print_message("# wanted in %u parts, ready in %u\n", x.n_wants, x.n_ready);
    assert_true(x.n_wants > 2 && x.n_ready == x.n_wants);
    assert_memory_equal(grads, model_grad_data(plain), n * sizeof(float));
    assert_memory_equal(model_grad_data(m), model_grad_data(plain), n * sizeof(float));
    guarded_free(grads, n, "grads");
    guarded_free(right, n, "right");
    model_free(m);
    model_free(plain);
}

TEST(no_memory)
{
    struct model_params params = {.def = model_def_find(VGG), .batch = UINT32_MAX, .threads = 1};
    struct model *m = NULL;
    struct err err;
    assert_int_equal(model_new(&params, &m, &err), -ENOMEM);
    assert_null(m);
    print_message("# %s\n", err.msg);
    assert_non_null(strstr(err.msg, "bytes"));
    struct arena a = {0};
    assert_int_equal(arena_new(&a, SIZE_MAX / sizeof(float), "all", &err), -ENOMEM);
    assert_null(a.data);
    assert_string_equal(err.msg, "all: 4611686018427387903 floats do not fit the address space");
}

int main(int argc, char **argv)
{
    rng_uniform((struct rng_key){.seed = 1, .stream = 1}, pixels, N_ROWS(pixels));
    return test_run_all(argc > 1 ? argv[1] : NULL);
}
