/* The convolutions of vgg16-fluid-fc512 at a real batch: sampled elements of each result against
 * sums in double, relative rms. Errors grow with channels and tiles, so small shapes say little.
 * Also: the bits do not depend on the number of threads. */
#include "tests/test.h"
#include "guard.h"
#include "worker/kernels/kernels.h"

enum { BATCH = 32, SAMPLES = 300 };
static const double forward_rms = 5e-6, weight_rms = 2e-5;

static struct kernels kernels;

struct layer {
    const char *name;
    uint32_t c, k, side;
};
static const struct layer layers[] = {
    {"conv1_1", 3, 64, 32},    {"conv1_2", 64, 64, 32},  {"conv2_1", 64, 128, 16},
    {"conv2_2", 128, 128, 16}, {"conv3_1", 128, 256, 8}, {"conv3_2", 256, 256, 8},
    {"conv4_1", 256, 512, 4},  {"conv4_2", 512, 512, 4}, {"conv5", 512, 512, 2},
};

struct arrays {
    struct conv_shape s;
    size_t nx, ny, nw, n_scratch;
    float *x, *w, *b, *y, *dy, *dx, *dw, *db, *scratch;
};

static struct arrays arrays_new(const struct layer *l, unsigned threads)
{
    struct arrays a = {.s = {BATCH, l->c, l->k, l->side, l->side}};
    size_t pixels = (size_t)BATCH * l->side * l->side;
    a.nx = pixels * l->c;
    a.ny = pixels * l->k;
    a.nw = (size_t)9 * l->c * l->k;
    a.n_scratch = kernels.conv3x3_scratch(&a.s, threads);
    a.x = guarded_new(a.nx, 1);
    a.w = guarded_new(a.nw, 2);
    a.b = guarded_new(l->k, 3);
    a.y = guarded_new(a.ny, 4);
    a.dy = guarded_new(a.ny, 5);
    a.dx = guarded_new(a.nx, 6);
    a.dw = guarded_new(a.nw, 7);
    a.db = guarded_new(l->k, 8);
    a.scratch = guarded_new(a.n_scratch, 9);
    return a;
}

static void arrays_free(struct arrays *a)
{
    guarded_free(a->x, a->nx, "x");
    guarded_free(a->w, a->nw, "weight");
    guarded_free(a->b, a->s.k, "bias");
    guarded_free(a->y, a->ny, "y");
    guarded_free(a->dy, a->ny, "dy");
    guarded_free(a->dx, a->nx, "dx");
    guarded_free(a->dw, a->nw, "dweight");
    guarded_free(a->db, a->s.k, "dbias");
    guarded_free(a->scratch, a->n_scratch, "scratch");
}

static void run(struct arrays *a, struct thread_pool *threads)
{
    struct work work = {.threads = threads, .scratch = a->scratch};
    kernels.conv3x3_forward(&a->s, a->x, a->w, a->b, a->y, NULL, NULL, &work);
    if (a->s.c != 3) { /* 3 are those of an image, which needs no gradient */
        kernels.conv3x3_backward_data(&a->s, a->dy, a->w, a->dx, &work);
    }
    kernels.conv3x3_backward_weight(&a->s, a->x, a->dy, a->dw, a->db, &work);
}

/* Where in the image tensor (n, y, x, 0) lies, or -1 in the padding. */
static int64_t pixel(const struct conv_shape *s, size_t n, int64_t y, int64_t x, size_t channels)
{
    bool is_inside = y >= 0 && x >= 0 && y < (int64_t)s->h && x < (int64_t)s->w;
    return is_inside ? (((int64_t)n * s->h + y) * s->w + x) * (int64_t)channels : -1;
}

static double true_y(const struct arrays *a, size_t at)
{
    const struct conv_shape *s = &a->s;
    size_t k = at % s->k, x = at / s->k % s->w, y = at / s->k / s->w % s->h;
    double sum = (double)a->b[k];
    for (int tap = 0; tap < 9; tap++) {
        int64_t from = pixel(s, at / s->k / s->w / s->h, (int64_t)y + tap / 3 - 1,
                             (int64_t)x + tap % 3 - 1, s->c);
        for (size_t c = 0; from >= 0 && c < s->c; c++) {
            sum +=
                (double)a->x[(size_t)from + c] * (double)a->w[((size_t)tap * s->c + c) * s->k + k];
        }
    }
    return sum;
}

static double true_dx(const struct arrays *a, size_t at)
{
    const struct conv_shape *s = &a->s;
    size_t c = at % s->c, x = at / s->c % s->w, y = at / s->c / s->w % s->h;
    double sum = 0;
    for (int tap = 0; tap < 9; tap++) {
        int64_t from = pixel(s, at / s->c / s->w / s->h, (int64_t)y - tap / 3 + 1,
                             (int64_t)x - tap % 3 + 1, s->k);
        for (size_t k = 0; from >= 0 && k < s->k; k++) {
            sum +=
                (double)a->dy[(size_t)from + k] * (double)a->w[((size_t)tap * s->c + c) * s->k + k];
        }
    }
    return sum;
}

static double true_dw(const struct arrays *a, size_t at)
{
    const struct conv_shape *s = &a->s;
    size_t k = at % s->k, c = at / s->k % s->c, tap = at / s->k / s->c;
    double sum = 0;
    for (size_t i = 0; i < (size_t)s->n * s->h * s->w; i++) {
        size_t x = i % s->w, y = i / s->w % s->h;
        int64_t from =
            pixel(s, i / s->w / s->h, (int64_t)(y + tap / 3) - 1, (int64_t)(x + tap % 3) - 1, s->c);
        sum += from < 0 ? 0 : (double)a->x[(size_t)from + c] * (double)a->dy[i * s->k + k];
    }
    return sum;
}

static double sampled_rms(const struct arrays *a, const float *got, size_t n,
                          double (*truth)(const struct arrays *a, size_t at))
{
    double error = 0, scale = 0;
    for (uint64_t i = 0; i < SAMPLES; i++) {
        size_t at = (size_t)rng_permute((struct rng_key){.seed = 5}, i, n);
        double want = truth(a, at), diff = (double)got[at] - want;
        error += diff * diff;
        scale += want * want;
    }
    return sqrt(error / scale);
}

TEST(accuracy)
{
    for (size_t i = 0; i < N_ROWS(layers); i++) {
        _cleanup_(arrays_free) struct arrays a = arrays_new(&layers[i], 1);
        run(&a, NULL);
        double y = sampled_rms(&a, a.y, a.ny, true_y);
        double dx = a.s.c == 3 ? 0 : sampled_rms(&a, a.dx, a.nx, true_dx);
        double dw = sampled_rms(&a, a.dw, a.nw, true_dw);
        print_message("# %-8s rms y %.2g, dx %.2g, dweight %.2g\n", layers[i].name, y, dx, dw);
        if (!(y <= forward_rms && dx <= forward_rms && dw <= weight_rms)) {
            fail_msg("%s %s: relative rms y %.3g, dx %.3g (at most %.0e), dweight %.3g (%.0e)",
                     kernels.isa, layers[i].name, y, dx, forward_rms, dw, weight_rms);
        }
    }
}

TEST(same_bits_by_threads)
{
    struct thread_pool *threads = NULL;
    assert_int_equal(thread_pool_new(3, &threads, NULL), 0);
    for (size_t i = 0; i < N_ROWS(layers); i++) {
        struct arrays one = arrays_new(&layers[i], 1), three = arrays_new(&layers[i], 3);
        run(&one, NULL);
        run(&three, threads);
        assert_memory_equal(one.y, three.y, one.ny * sizeof(float));
        assert_memory_equal(one.dx, three.dx, one.nx * sizeof(float)); /* of conv1_1 untouched */
        assert_memory_equal(one.dw, three.dw, one.nw * sizeof(float));
        assert_memory_equal(one.db, three.db, one.s.k * sizeof(float));
        arrays_free(&one);
        arrays_free(&three);
    }
    thread_pool_free(threads);
}

int main(int argc, char **argv)
{
    const char *isa = argc == 2 ? argv[1] : "baseline";
    if (kernels_init_isa(&kernels, isa) < 0) {
        printf("1..0 # SKIP this CPU has no %s\n", isa);
        return 0;
    }
    return test_run_all(NULL);
}
