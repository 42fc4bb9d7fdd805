/* Real data, the shipped network: a short training must learn. Without dropout, since with it the
 * first hundred steps hardly do (docs/training-fashion-mnist.md has the long run as published).
 * Fashion-MNIST is where Debian's dataset-fashion-mnist puts it; without it the test is skipped. */
#include <unistd.h>

#include <math.h>

#include "tests/test.h"
#include "worker/train.h"

#define DATA_DIR "/usr/share/datasets/fashion-mnist"

enum { SAMPLES = 640, BATCH = 16, EPOCHS = 1, WINDOW = 10, MAX_STEPS = 512 };

struct history {
    double loss[MAX_STEPS];
    uint64_t steps, epochs;
};

static int keep_step(void *ctx, const struct train_step *step, struct err *err)
{
    struct history *h = ctx;
    (void)err;
    assert_int_equal(step->step, h->steps);
    assert_true(isfinite(step->loss));
    h->loss[h->steps++] = step->loss;
    return 0;
}

static int keep_epoch(void *ctx, const struct train_epoch *epoch, struct err *err)
{
    struct history *h = ctx;
    (void)err;
    assert_int_equal(epoch->samples, SAMPLES);
    print_message("# epoch %llu: loss %.4f train accuracy %.4f\n", (unsigned long long)epoch->epoch,
                  epoch->loss, epoch->train_accuracy);
    h->epochs++;
    return 0;
}

static double mean(const double *x, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum / (double)n;
}

TEST(short_training_learns)
{
    struct history h = {0};
    struct dataset *data = NULL;
    struct err err = {0};
    if (dataset_open("idx:" DATA_DIR, DATA_TRAIN, SAMPLES, 1, &data, &err) < 0) {
        fail_msg("%s", err.msg);
    }
    struct train_params params = {.def = model_def_find("vgg16-fluid-fc512"),
                                  .train = data,
                                  .batch = BATCH,
                                  .threads = 1,
                                  .seed = 1,
                                  .epochs = EPOCHS,
                                  .dropout = false};
    struct train_reporter reporter = {.step = keep_step, .epoch = keep_epoch, .ctx = &h};
    assert_int_equal(train(&params, &reporter, &err), 0);
    dataset_free(data);
    assert_int_equal(h.epochs, EPOCHS);
    assert_int_equal(h.steps, SAMPLES / BATCH * EPOCHS);
    for (uint64_t i = 0; i + WINDOW <= h.steps; i += WINDOW) {
        print_message("# steps %3llu..: mean loss %.4f\n", (unsigned long long)i,
                      mean(h.loss + i, WINDOW));
    }
    double first = mean(h.loss, WINDOW), last = mean(h.loss + h.steps - WINDOW, WINDOW);
    if (!(last < 0.8 * first && last < 0.8 * log(10))) {
        fail_msg("mean loss of the first %d steps %.4f, of the last %.4f; expected less than 0.8 "
                 "of it and of ln 10",
                 WINDOW, first, last);
    }
}

int main(void)
{
    if (access(DATA_DIR, F_OK) != 0) {
        printf("1..0 # SKIP no %s (Debian package dataset-fashion-mnist)\n", DATA_DIR);
        return 0;
    }
    return test_run_all(NULL);
}
