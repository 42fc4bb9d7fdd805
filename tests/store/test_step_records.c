/* The records of a large gang take a fifth of their JSON in the store, or less, and
 * come back byte by byte. */
#include "store_fixture.h"

#include "base/splitmix.h"
#include "core/record.h"

#define GANG 120
#define STEPS 100

static int64_t about(int64_t ns, uint64_t *random)
{
    return ns + splitmix_below(random, (uint32_t)(ns / 50) + 1);
}

/* As worker writes it: a start record, each step, a summary. Phases vary by 2%, as on a quiet
 * machine; the sizes of messages do not. `ret_summary` and `ret_environment` are what a launcher
 * stores beside the log; owned. */
static struct buf write_log(uint32_t index, uint64_t *random, char **ret_summary,
                            char **ret_environment)
{
    struct buf log = BUF_INIT;
    const struct record_who who = {ROLE_TRAINER, index, 0};
    _cleanup_(freep) char *host = xasprintf("vgg16-pserver-sweep-7k3fq-p0t0a0-trainer-%u", index);
    json_t *environment = json_pack("{s:s, s:s, s:s, s:i, s:s}", "build", "benchworker 0.1.0",
                                    "cpu_model", "Intel(R) Xeon(R) Processor @ 2.80GHz", "kernel",
                                    "6.1.0-34-amd64", "threads", 1, "host", host);
    *ret_environment = record_environment_canonical(environment);
    record_write_start(&log, &who, environment);
    json_decref(environment);
    struct summary s = {.samples = STEPS * 64, .steps = STEPS, .loss_first = 2.3, .loss_last = 2.1};
    int64_t step_ns[STEPS];
    for (uint32_t i = 0; i < STEPS; i++) {
        struct record_step step = {
            .step = i,
            .samples = 64,
            .loss = 2.3 - 0.002 * i + 1e-4 * splitmix_below(random, 100),
            .phase_ns = {about(1000000, random), about(130000000, random), about(260000000, random),
                         about(9000000, random), about(4000000, random), 0, about(8000000, random)},
            .bytes_tx = 61023288,
            .bytes_rx = 61023288,
        };
        for (int k = 0; k < PHASE_COUNT; k++) {
            step.step_ns += step.phase_ns[k];
            s.phase_ns[k] += step.phase_ns[k];
        }
        s.duration_ns += step.step_ns;
        step.t_ns = s.duration_ns;
        step_ns[i] = step.step_ns;
        record_write_step(&log, &who, &step);
    }
    const size_t at = log.len;
    record_write_summary(&log, &who, &s, step_ns, STEPS);
    *ret_summary = xstrdup(buf_cstr(&log) + at);
    return log;
}

TEST(a_gang_takes_a_fifth_of_its_json)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(store_closep) struct store *s = open_with_run(&f);
    int64_t before = 0, after = 0, json = 0;
    assert_int_equal(s->ops->get_used(s, &before, NULL), 0);
    _cleanup_(attempt_row_done) struct attempt_row row = {.outcome = ATTEMPT_SUCCEEDED};
    struct buf texts[GANG];
    struct replica_log logs[GANG];
    uint64_t random = 20181120;
    for (uint32_t i = 0; i < GANG; i++) {
        struct replica_row replica = {.id = {row.id, ROLE_TRAINER, i}};
        texts[i] = write_log(i, &random, &replica.summary_json, &replica.environment_json);
        logs[i] = (struct replica_log){replica.id, texts[i].data, texts[i].len};
        replica.log_bytes = texts[i].len;
        *vec_push(&row.replicas) = replica;
        json += (int64_t)texts[i].len;
    }
    assert_int_equal(s->ops->save_attempt(s, UID, &row, &terms, logs, GANG, NULL, NULL), 0);
    assert_int_equal(s->ops->get_used(s, &after, NULL), 0);
    print_message("# %lld bytes of JSON take %lld\n", (long long)json, (long long)(after - before));
    assert_true(json > (int64_t)GANG * STEPS * 200); /* whole records */
    assert_true(after > before);
    assert_true(json >= 5 * (after - before));
    for (uint32_t i = 0; i < GANG; i++) {
        _cleanup_(freep) char *text = NULL;
        size_t len = 0;
        assert_int_equal(s->ops->get_log(s, UID, &logs[i].id, &text, &len, NULL), 0);
        assert_int_equal(len, texts[i].len);
        assert_memory_equal(text, texts[i].data, len);
        buf_done(&texts[i]);
    }
}
