/* The numbers of one line, and which lines are refused because a number may be cut. */
#include "tests/test.h"
#include "logparse/values.h"

#include <errno.h>
#include <math.h>

static const char cut[] = "perhaps only the end of a number with a blank in it";

/* clang-format off */
static const struct {
    const char *pattern, *line;
    enum log_group group;
    double value;
    const char *why; /* the line is refused; else NULL */
} rows[] = {
    {"(?<rate>) images/s", "step 0: 1,234.5 images/sec", LOG_RATE, 1234.5, NULL},
    {"(?<rate>) images/s", "step 0: 1'234.5 images/sec", LOG_RATE, 1234.5, NULL},
    {"(?<rate>) images/s", "step 0: 1_234.5 images/sec", LOG_RATE, 1234.5, NULL},
    {"(?<rate>) images/s", "step 0: 1\u00a0234.5 images/sec", LOG_RATE, 1234.5, NULL},
    {"(?<rate>) images/s", "step 0: 1\u202f234.5 images/sec", LOG_RATE, 1234.5, NULL},
    {"(?<rate>) images/s", "step 0: 796,31 images/sec", LOG_RATE, 796.31, NULL},
    {"(?<rate>) images/s", "step 0: 1.25 k images/sec", LOG_RATE, 1250, NULL},
    {"(?<rate>) images/s", "step 0: 1234,567 images/sec", LOG_RATE, 0, "not a number"},
    /* an ordinary blank */
    {"(?<rate>) images/s", "step 0: 1 234.5 images/sec", LOG_RATE, 0, cut},
    {"(?<rate>) images/s", "1 234 images/sec", LOG_RATE, 0, cut},
    {"(?<rate>) images/s", "speed 1 234,5 images/sec", LOG_RATE, 0, cut},
    {"(?<rate>) images/s", "1 234 567.5 images/sec", LOG_RATE, 0, cut},
    {"step (?<step>)", "Schritt | step 1 234", LOG_STEP, 1, NULL},
    {"\\d (?<step>)/", "[1 234/2 000]", LOG_STEP, 0, cut},
    {"^(?<step>) (?<rate>) images/s", "1 234.5 images/sec", LOG_RATE, 234.5, NULL},
    {"(?<rate>) images/s", "1 34.5 images/sec", LOG_RATE, 34.5, NULL},
    {"(?<rate>) images/s", "1  234.5 images/sec", LOG_RATE, 234.5, NULL},
    {"(?<rate>) images/s", "1\t234.5 images/sec", LOG_RATE, 234.5, NULL},
    {"(?<rate>) images/s", "1234 234.5 images/sec", LOG_RATE, 234.5, NULL},
    {"(?<rate>) images/s", "0 234.5 images/sec", LOG_RATE, 234.5, NULL},
    {"(?<rate>) images/s", "1.5 234.5 images/sec", LOG_RATE, 234.5, NULL},
    {"(?<rate>) images/s", "[1/60 234.5 images/sec", LOG_RATE, 234.5, NULL},
    {"(?<rate>) images/s", "12:00:01 234.5 images/sec", LOG_RATE, 234.5, NULL},
    {"(?<rate>) images/s", "2023-01-12 234.5 images/sec", LOG_RATE, 234.5, NULL},
    {"(?<rate>) images/s", "epoch 1 234.5 images/sec", LOG_RATE, 234.5, NULL},
    {"(?<rate>) images/s", "step: 12 234.5 images/sec", LOG_RATE, 234.5, NULL},
    {"(?<rate>) images/s", "loss=2 234.5 images/sec", LOG_RATE, 234.5, NULL},
    {"(?<rate>) images/s", "x1 234.5 images/sec", LOG_RATE, 234.5, NULL},
    {"x (?<rate>\\d+)", "x 234", LOG_RATE, 234, NULL},
    {"(?<rate>\\d+)$", "1 234", LOG_RATE, 0, cut},
    {"(?<loss>)$", "1 234", LOG_LOSS, 0, cut},
    /* whole numbers and clocks */
    {"global_step=(?<step>)(?:\\.0+)?,", "global_step=1e+3, x", LOG_STEP, 1000, NULL},
    {"global_step=(?<step>)(?:\\.0+)?,", "global_step=2e+3, x", LOG_STEP, 2000, NULL},
    {"global_step=(?<step>)(?:\\.0+)?,", "global_step=999.00, x", LOG_STEP, 999, NULL},
    {"step (?<step>) ", "step 1.0e3 x", LOG_STEP, 1000, NULL},
    {"step (?<step>) ", "step 1,000 x", LOG_STEP, 1000, NULL},
    {"step (?<step>) ", "step 1.0005e3 x", LOG_STEP, 0, "out of range"},
    {"in (?<time_clock>)", "in 1:02:05", LOG_TIME_CLOCK, 3725, NULL},
    {"in (?<time_clock>)", "in 1:00:00:05", LOG_TIME_CLOCK, 86405, NULL},
    {".*(?<time_clock>)", "in 11:02:05", LOG_TIME_CLOCK, 39725, NULL},
};
/* clang-format on */

TEST(a_line_is_read_or_refused)
{
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s\n", rows[i].line);
        struct log_pattern *p;
        struct log_match match;
        struct log_values v;
        struct err err = {0};
        size_t offset;
        assert_int_equal(log_pattern_new(rows[i].pattern, &p, &offset, NULL), 0);
        struct log_matcher *m = log_matcher_new();
        assert_int_equal(log_matcher_run(m, p, rows[i].line, strlen(rows[i].line), &match), 1);
        const int r = log_values_read(&match, &v, &err);
        log_matcher_free(m);
        log_pattern_free(p);
        assert_int_equal(r, rows[i].why == NULL ? 0 : -EINVAL);
        if (r == 0) {
            assert_true(fabs(v.number[rows[i].group] - rows[i].value) < 1e-9);
        } else {
            assert_non_null(strstr(err.msg, rows[i].why));
        }
    }
}
