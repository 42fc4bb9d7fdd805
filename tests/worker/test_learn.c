/* Real data, the shipped network: a short training must learn. Without dropout, since with it the
 * first hundred steps hardly do.
 * Fashion-MNIST is where Debian's dataset-fashion-mnist puts it; without it the test is skipped. */
#include <unistd.h>

#include <math.h>

#include "base/exit_code.h"
#include "child_program.h"
#include "core/record.h"
#include "tests/test.h"

#define DATA_DIR "/usr/share/datasets/fashion-mnist"

enum { SAMPLES = 640, BATCH = 16, WINDOW = 10, STEPS = SAMPLES / BATCH };

static struct child child;

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
    double loss[STEPS];
    uint32_t n = 0;
    _cleanup_(freep) char *program = xasprintf("%s/worker/benchworker", getenv("BENCHD_BUILD_DIR"));
    char *argv[] = {
        program, "train",        "--data", "idx:" DATA_DIR, "--limit", "640",  "--batch",
        "16",    "--test-limit", "0",      "--no-dropout",  "-o",      "json", NULL};
    child.argv = argv;
    child_run(&child);
    assert_int_equal(child.exit_code, EXIT_OK);
    for (const char *line = child.out; *line != '\0'; line += strcspn(line, "\n") + 1) {
        _cleanup_(record_done) struct record r;
        assert_int_equal(record_read(line, strcspn(line, "\n"), &r, NULL), 1);
        if (r.type == RECORD_STEP) {
            assert_true(n < STEPS && isfinite(r.step.loss));
            loss[n++] = r.step.loss;
        }
    }
    assert_int_equal(n, STEPS);
    for (uint32_t i = 0; i + WINDOW <= n; i += WINDOW) {
        print_message("# steps %3u..: mean loss %.4f\n", i, mean(loss + i, WINDOW));
    }
    double first = mean(loss, WINDOW), last = mean(loss + n - WINDOW, WINDOW);
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
