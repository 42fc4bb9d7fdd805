/* Real data, the shipped network: a short training must learn. Without dropout, since with it the
 * first hundred steps hardly do.
 * Fashion-MNIST is where Debian's dataset-fashion-mnist puts it; without it the test is skipped. */
#include <math.h>
#include <unistd.h>

#include "tests/test.h"
#include "worker/data/dataset.h"
#include "worker/kernels/blas.h"
#include "worker/kernels/cpu.h"
#include "worker/learner.h"
#include "worker/model/adam.h"

#define DATA_DIR "/usr/share/datasets/fashion-mnist"

enum { BATCH = 16, WINDOW = 10, STEPS = 40 };

static double mean(const double *x, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum / (double)n;
}

static void train(double loss[static STEPS])
{
    const struct model_params params = {
        .def = model_def_find("vgg16-fluid-fc512"), .batch = BATCH, .threads = 1, .seed = 1};
    _cleanup_(learner_done) struct learner l;
    struct dataset *data;
    struct adam adam = ADAM_DEFAULT;
    assert_int_equal(learner_init(&l, &params, NULL), 0);
    assert_int_equal(dataset_open("idx:" DATA_DIR, DATA_TRAIN, 1, &data, NULL), 0);
    const size_t n = model_n_params(l.model);
    adam_init(&adam, n);
    for (uint64_t step = 0; step < STEPS; step++) {
        const struct data_batch batch = {
            .shuffle = true, .first = step * BATCH, .stride = 1, .n = BATCH};
        dataset_read(data, &batch, l.x, l.labels);
        loss[step] = model_forward(l.model, l.x, l.labels, BATCH, (struct model_key){.step = step});
        assert_true(isfinite(loss[step]));
        model_backward(l.model);
        adam_apply(&adam, step + 1, 0, n, model_param_data(l.model), model_grad_data(l.model),
                   1.0f);
    }
    adam_done(&adam);
    dataset_free(data);
}

TEST(short_training_learns)
{
    double loss[STEPS];
    train(loss);
    for (uint32_t i = 0; i + WINDOW <= STEPS; i += WINDOW) {
        print_message("# steps %3u..: mean loss %.4f\n", i, mean(loss + i, WINDOW));
    }
    const double first = mean(loss, WINDOW), last = mean(loss + STEPS - WINDOW, WINDOW);
    if (!(last < 0.8 * first && last < 0.8 * log(10))) {
        fail_msg("mean loss of the first %d steps %.4f, of the last %.4f; expected less than 0.8 "
                 "of it and of ln 10",
                 WINDOW, first, last);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    if (access(DATA_DIR, F_OK) != 0) {
        printf("1..0 # SKIP no %s (Debian package dataset-fashion-mnist)\n", DATA_DIR);
        return 0;
    }
    blas_repair(argv); /* as benchworker does, like the next */
    cpu_flush_denormals();
    return test_run_all(NULL);
}
