/* Gradients against central differences, in double precision (double.h): every operation of
 * kernels_ref.c, then a small network of every layer kind, dropout and batch statistics included.
 * test_kernels ties the fast kernels to kernels_ref.c, test_model the fast model to the reference
 * model. */
#include "kernels_ref.h"
#include "worker/model/model_internal.h"

#define TOLERANCE 1e-6 /* of the largest gradient in the array */

/* model.c asks for it; this program is about the reference. */
void kernels_init_best(struct kernels *k)
{
    kernels_init_ref(k);
}

static struct kernels ref;

static double *seeded(size_t n, uint64_t seed)
{
    double *out = calloc(n, sizeof(*out));
    rng_uniform((struct rng_key){.seed = seed, .stream = 5}, out, n);
    for (size_t i = 0; i < n; i++) {
        out[i] = 2 * out[i] - 1;
    }
    return out;
}

/* A scalar function of arrays that the checks disturb one element at a time. */
struct objective {
    double (*value)(void *ctx);
    void *ctx;
};

static double slope(const struct objective *f, double *p, double h)
{
    double saved = *p;
    *p = saved + h;
    double up = f->value(f->ctx);
    *p = saved - h;
    double down = f->value(f->ctx);
    *p = saved;
    return (up - down) / (2 * h);
}

/* A step may cross a kink of ReLU or of the pooling's maximum; a smaller one then does not. */
static void check(const struct objective *f, double *p, const double *gradient, size_t n,
                  const char *what)
{
    static const double steps[] = {1e-5, 1e-6, 1e-7};
    double scale = 1e-3;
    for (size_t i = 0; i < n; i++) {
        scale = fmax(scale, fabs(gradient[i]));
    }
    for (size_t i = 0; i < n; i++) {
        double numeric = 0;
        size_t s = 0;
        do {
            numeric = slope(f, &p[i], steps[s]);
        } while (fabs(numeric - gradient[i]) > TOLERANCE * scale && ++s < N_ROWS(steps));
        if (s == N_ROWS(steps)) {
            fail_msg("%s[%zu]: gradient %.12g, numeric %.12g", what, i, gradient[i], numeric);
        }
    }
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

struct op { /* arrays of the operation under test; r weighs its output */
    struct conv_shape conv;
    struct bn_shape bn;
    struct dropout_mask mask;
    uint32_t n, c, k;
    bool pools;
    size_t n_out;
    double *x, *w, *b, *y, *r;
    double *mean, *var, *inv_std, *scale, *shift;
    uint32_t *kept;
    const uint8_t *labels;
};

static double conv_value(void *ctx)
{
    struct op *o = ctx;
    ref.conv3x3_forward(&o->conv, o->x, o->w, o->b, o->y, NULL, NULL, NULL);
    return dot(o->y, o->r, o->n_out);
}

TEST(conv)
{
    static const struct conv_shape shapes[] = {{1, 1, 1, 1, 1}, {2, 3, 2, 3, 4}, {3, 2, 3, 2, 2}};
    for (size_t i = 0; i < N_ROWS(shapes); i++) {
        const struct conv_shape *s = &shapes[i];
        size_t hw = (size_t)s->h * s->w, nx = s->n * s->c * hw, ny = s->n * s->k * hw;
        size_t nw = (size_t)s->k * s->c * 9;
        struct op o = {.conv = *s, .n_out = ny, .x = seeded(nx, 1), .w = seeded(nw, 2)};
        o.b = seeded(s->k, 3), o.y = seeded(ny, 4), o.r = seeded(ny, 5);
        double *dx = seeded(nx, 6), *dw = seeded(nw, 7), *db = seeded(s->k, 8);
        struct objective f = {conv_value, &o};
        ref.conv3x3_backward_data(s, o.r, o.w, dx, NULL);
        ref.conv3x3_backward_weight(s, o.x, o.r, dw, db, NULL);
        check(&f, o.x, dx, nx, "conv x");
        check(&f, o.w, dw, nw, "conv weight");
        check(&f, o.b, db, s->k, "conv bias");
        free(o.x), free(o.w), free(o.b), free(o.y), free(o.r), free(dx), free(dw), free(db);
    }
}

static double fc_value(void *ctx)
{
    struct op *o = ctx;
    ref.fc_forward(o->n, o->c, o->k, o->x, o->w, o->b, o->y, NULL);
    return dot(o->y, o->r, o->n_out);
}

TEST(fc)
{
    enum { N = 3, C = 4, K = 5 };
    struct op o = {.n = N, .c = C, .k = K, .n_out = N * K, .x = seeded(N * C, 1)};
    o.w = seeded(K * C, 2), o.b = seeded(K, 3), o.y = seeded(N * K, 4), o.r = seeded(N * K, 5);
    double dx[N * C], dw[K * C], db[K];
    struct objective f = {fc_value, &o};
    ref.fc_backward(N, C, K, o.x, o.w, o.r, dx, dw, db, NULL);
    check(&f, o.x, dx, N * C, "fc x");
    check(&f, o.w, dw, K * C, "fc weight");
    check(&f, o.b, db, K, "fc bias");
    free(o.x), free(o.w), free(o.b), free(o.y), free(o.r);
}

static double bn_value(void *ctx) /* w: gamma, b: beta */
{
    struct op *o = ctx;
    ref.bn_stats(&o->bn, o->x, o->mean, o->var, NULL);
    for (uint32_t k = 0; k < o->bn.k; k++) {
        o->inv_std[k] = 1 / sqrt(o->var[k] + 1e-5);
        o->scale[k] = o->w[k] * o->inv_std[k];
        o->shift[k] = o->b[k] - o->mean[k] * o->scale[k];
    }
    if (o->pools) {
        ref.bn_relu_pool_forward(&o->bn, o->x, o->scale, o->shift, o->y, NULL);
    } else {
        ref.bn_relu_forward(&o->bn, &o->mask, o->x, o->scale, o->shift, o->y, o->kept, NULL);
    }
    return dot(o->y, o->r, o->n_out);
}

TEST(bn_relu_dropout)
{
    static const struct {
        struct bn_shape shape;
        bool pools;
    } rows[] = {
        {{4, 1, 1, 3}, false}, {{2, 2, 2, 3}, false}, {{3, 3, 3, 2}, false},
        {{2, 2, 2, 3}, true},  {{3, 4, 6, 2}, true},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct bn_shape *s = &rows[i].shape;
        size_t k = s->k, n = (size_t)s->n * s->h * s->w * s->k;
        struct op o = {.bn = *s, .pools = rows[i].pools, .x = seeded(n, 1), .w = seeded(k, 2)};
        o.b = seeded(k, 3), o.y = seeded(n, 4), o.r = seeded(n, 5);
        o.mean = seeded(k, 6), o.var = seeded(k, 7), o.inv_std = seeded(k, 8);
        o.scale = seeded(k, 9), o.shift = seeded(k, 10);
        o.kept = calloc(n / k * KEPT_WORDS(k), sizeof(*o.kept));
        o.mask = (struct dropout_mask){.key = {1, 2}, .below = 19661};
        double *dy = seeded(n, 11), *dgamma = seeded(k, 12), *dbeta = seeded(k, 13);
        struct objective f = {bn_value, &o};
        o.n_out = o.pools ? n / 4 : n;
        (void)bn_value(&o); /* for the statistics and the output */
        if (o.pools) {
            ref.bn_relu_pool_backward(s, o.x, o.scale, o.shift, o.r, o.mean, o.inv_std, o.w, dy,
                                      dgamma, dbeta, NULL);
        } else {
            ref.bn_relu_backward(s, o.x, o.kept, o.r, o.mean, o.inv_std, o.w, dy, dgamma, dbeta,
                                 NULL);
        }
        check(&f, o.x, dy, n, "bn x");
        check(&f, o.w, dgamma, k, "bn gamma");
        check(&f, o.b, dbeta, k, "bn beta");
        free(o.x), free(o.w), free(o.b), free(o.y), free(o.r), free(o.mean), free(o.var);
        free(o.inv_std), free(o.scale), free(o.shift), free(o.kept);
        free(dy), free(dgamma), free(dbeta);
    }
}

static double softmax_value(void *ctx)
{
    struct op *o = ctx;
    uint32_t right;
    return kernels_softmax_xent(o->n, o->k, o->x, o->labels, o->y, &right);
}

TEST(softmax)
{
    enum { N = 3, K = 10 };
    static const uint8_t labels[N] = {9, 0, 4};
    struct op o = {.n = N, .k = K, .labels = labels, .x = seeded(N * K, 1), .y = seeded(N * K, 2)};
    double dlogits[N * K];
    struct objective f = {softmax_value, &o};
    (void)softmax_value(&o);
    memcpy(dlogits, o.y, sizeof(dlogits));
    check(&f, o.x, dlogits, N * K, "softmax logits");
    free(o.x), free(o.y);
}

/* Every kind of layer, with and without dropout behind it, odd channel counts. */
static const struct layer_def small_layers[] = {
    {LAYER_CONV, 3, 0.3}, {LAYER_CONV, 4, 0}, {LAYER_POOL, 0, 0},      {LAYER_CONV, 5, 0.4},
    {LAYER_CONV, 4, 0},   {LAYER_POOL, 0, 0}, {LAYER_DROPOUT, 0, 0.5}, {LAYER_FC_BN, 7, 0.5},
    {LAYER_FC, 6, 0},     {LAYER_FC, 4, 0},
};
static const struct model_def small = {
    .name = "small",
    .c = 2,
    .h = 8,
    .w = 8,
    .layers = small_layers,
    .n_layers = N_ROWS(small_layers),
};

struct chain {
    struct model *m;
    const double *x;
    const uint8_t *labels;
};

static double chain_value(void *ctx)
{
    struct chain *c = ctx;
    return model_forward(c->m, c->x, c->labels, 5, (struct model_key){.step = 3, .trainer = 1});
}

static void check_network(bool dropout)
{
    static const uint8_t labels[5] = {0, 3, 1, 2, 3};
    struct model_params params = {
        .def = &small, .batch = 6, .threads = 1, .seed = 11, .dropout = dropout};
    struct chain c = {.x = seeded(5 * 2 * 8 * 8, 21), .labels = labels};
    assert_int_equal(model_new(&params, &c.m, NULL), 0);
    size_t n = model_n_params(c.m);
    double *p = model_param_data(c.m), *noise = seeded(n, 22);
    model_init_params(&small, 11, p);
    for (size_t i = 0; i < n; i++) {
        p[i] += 0.2 * noise[i]; /* biases off 0 and gammas off 1, where errors could hide */
    }
    (void)chain_value(&c);
    model_backward(c.m);
    struct objective f = {chain_value, &c};
    for (uint32_t i = 0; i < small.n_layers; i++) {
        const struct layer *l = &c.m->layers[i];
        char what[64];
        snprintf(what, sizeof(what), "%s layer %u", dropout ? "dropout" : "plain", i);
        check(&f, p + l->param, model_grad_data(c.m) + l->param, layer_params_total(&l->sizes),
              what);
    }
    model_free(c.m);
    free((void *)c.x);
    free(noise);
}

TEST(network)
{
    check_network(false);
}

TEST(network_with_dropout)
{
    check_network(true);
}

int main(void)
{
    kernels_init_ref(&ref);
    return test_run_all(NULL);
}
