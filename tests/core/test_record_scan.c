/* The fast way to read steps and summaries. */
#include "tests/test.h"
#include "core/record_internal.h"

#include <math.h>

#include "../golden.h"
#include "base/mem.h"
#include "base/splitmix.h"

static double any_number(uint64_t *random)
{
    const uint32_t kind = splitmix_below(random, 6);
    return kind == 0   ? NAN
           : kind == 1 ? 0
           : kind == 2 ? (double)splitmix_below(random, 1000000)
           : kind == 3 ? 1e300 * splitmix_below(random, 1000)
           : kind == 4 ? 1e-12 * splitmix_below(random, 1000000)
                       : splitmix_below(random, 1000000) / 1e5;
}

static int64_t any_time(uint64_t *random)
{
    const uint32_t kind = splitmix_below(random, 200);
    return kind == 0   ? INT64_MAX /* more digits than are scanned */
           : kind == 1 ? 0
                       : (int64_t)(splitmix_next(random) >> (6 + kind % 56));
}

static void write_any_step(uint64_t *random, struct buf *out)
{
    const struct record_who who = {(enum role)splitmix_below(random, ROLE_COUNT),
                                   splitmix_below(random, 200), splitmix_below(random, 3)};
    struct record_step step = {.step = splitmix_below(random, 1000),
                               .warmup = splitmix_below(random, 4) == 0,
                               .t_ns = any_time(random),
                               .step_ns = any_time(random),
                               .samples = splitmix_below(random, 1000),
                               .loss = any_number(random),
                               .bytes_tx = (uint64_t)any_time(random),
                               .bytes_rx = (uint64_t)any_time(random)};
    for (int i = 0; i < PHASE_COUNT; i++) {
        step.phase_ns[i] = any_time(random);
    }
    record_write_step(out, &who, &step);
}

static void write_any_summary(uint64_t *random, struct buf *out)
{
    const struct record_who who = {(enum role)splitmix_below(random, ROLE_COUNT),
                                   splitmix_below(random, 200), splitmix_below(random, 3)};
    struct summary s = {.samples = (uint64_t)any_time(random),
                        .duration_ns = any_time(random),
                        .steps = splitmix_below(random, 1000),
                        .bytes_tx = (uint64_t)any_time(random),
                        .bytes_rx = (uint64_t)any_time(random),
                        .loss_first = any_number(random),
                        .loss_last = any_number(random),
                        .throttled_ns = any_time(random),
                        .max_rss_bytes = (uint64_t)any_time(random),
                        .cpu_ns = any_time(random),
                        .last = {.trainer = 3, .steps = splitmix_below(random, 2), .wait_ns = 7}};
    int64_t step_ns[40];
    const size_t n = splitmix_below(random, 40);
    for (size_t i = 0; i < n; i++) {
        step_ns[i] = any_time(random);
    }
    if (splitmix_below(random, 2) == 0) {
        static char digest[65];
        s.environment_digest = memset(digest, 'a', sizeof(digest) - 1);
    }
    if (splitmix_below(random, 2) == 0) {
        s.noise.before =
            (struct noise_probe){splitmix_below(random, 1000), splitmix_below(random, 1000)};
        s.noise.after = (struct noise_probe){1 + splitmix_below(random, 1000), 7};
        s.noise.busy_ns = splitmix_below(random, 1000);
        s.noise.steal_ns = s.noise.busy_ns / 2;
        s.noise.cpu_run_ns = splitmix_below(random, 3);
        s.noise.cpu_wait_ns = s.noise.cpu_run_ns > 0 ? splitmix_below(random, 1000) : 0;
        s.noise.by_launcher = splitmix_below(random, 2) == 0;
    }
    record_write_summary(out, &who, &s, step_ns, n);
}

static bool is_same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void assert_same_record(const struct record *a, const struct record *b, const char *line)
{
    bool same = a->type == b->type && a->who.role == b->who.role && a->who.index == b->who.index &&
                a->who.attempt == b->who.attempt;
    if (same && a->type == RECORD_STEP) {
        struct record_step x = a->step, y = b->step;
        same = is_same_number(x.loss, y.loss) && x.step == y.step && x.warmup == y.warmup &&
               x.t_ns == y.t_ns && x.step_ns == y.step_ns && x.samples == y.samples &&
               memcmp(x.phase_ns, y.phase_ns, sizeof(x.phase_ns)) == 0 &&
               x.bytes_tx == y.bytes_tx && x.bytes_rx == y.bytes_rx;
    } else if (same) {
        const struct summary *x = &a->summary, *y = &b->summary;
        same = a->type == RECORD_SUMMARY && x->samples == y->samples &&
               x->duration_ns == y->duration_ns && x->steps == y->steps &&
               memcmp(x->phase_ns, y->phase_ns, sizeof(x->phase_ns)) == 0 &&
               x->bytes_tx == y->bytes_tx && x->bytes_rx == y->bytes_rx &&
               is_same_number(x->loss_first, y->loss_first) &&
               is_same_number(x->loss_last, y->loss_last) && x->throttled_ns == y->throttled_ns &&
               x->throttled_periods == y->throttled_periods &&
               x->max_rss_bytes == y->max_rss_bytes && x->cpu_ns == y->cpu_ns &&
               is_same_text(x->environment_digest, y->environment_digest) &&
               memcmp(&x->last, &y->last, sizeof(x->last)) == 0 &&
               memcmp(&x->noise, &y->noise, sizeof(x->noise)) == 0 && x->n_series == y->n_series &&
               (x->n_series == 0 ||
                (x->series_k == y->series_k &&
                 memcmp(x->series_us, y->series_us, x->n_series * sizeof(double)) == 0));
    }
    if (!same) {
        fail_msg("read otherwise: %s", line);
    }
}

/* Whatever the scan accepts, the tree reads, too, and the same; so what it refuses
 * can go wrong nowhere. */
TEST(the_fast_way_reads_the_same)
{
    static const char alphabet[] = "{}[]\":,.-+eE0123456789 \\\nnulltrue\x01\x7f\xc3\xa9"
                                   "abkt_";
    uint64_t random = 20181120;
    size_t n_scanned = 0, n_plain = 0;
    const size_t n = 60000;
    for (size_t i = 0; i < n; i++) {
        struct buf line = BUF_INIT;
        (i % 2 == 0 ? write_any_step : write_any_summary)(&random, &line);
        const uint32_t n_edits = splitmix_below(&random, 4);
        for (uint32_t k = 0; k < n_edits; k++) {
            line.data[splitmix_below(&random, (uint32_t)line.len)] =
                alphabet[splitmix_below(&random, sizeof(alphabet) - 1)];
        }
        const size_t len = line.len - (splitmix_below(&random, 50) == 0 ? 1 : 0);
        struct record fast, slow;
        if (record_scan(line.data, len, &fast)) {
            struct err err = {0};
            if (record_read_tree(line.data, len, &slow, &err) != 1) {
                fail_msg("accepted: %s: %s", line.data, err.msg);
            }
            assert_same_record(&fast, &slow, line.data);
            record_done(&fast);
            record_done(&slow);
            n_scanned++;
            n_plain += n_edits == 0;
        }
        buf_done(&line);
    }
    print_message("# %zu of %zu lines were scanned, %zu as they were written\n", n_scanned, n,
                  n_plain);
    assert_true(n_plain > n / 10);          /* it is not idle */
    assert_true(n_scanned > n_plain + 100); /* some edits change a number alone */
}

TEST(the_fast_way_reads_real_records)
{
    static const char *const files[] = {"docs/contracts/golden/record.jsonl",
                                        "docs/contracts/golden/summary.json"};
    size_t n = 0;
    for (size_t i = 0; i < N_ROWS(files); i++) {
        _cleanup_(freep) char *text = golden_read(files[i]);
        for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            struct record r;
            if (record_scan(line, (size_t)(end - line), &r)) {
                n++;
                record_done(&r);
            }
        }
    }
    assert_int_equal(n, 4); /* three steps and a summary */
}
