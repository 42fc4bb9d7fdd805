/* How fast step records become what the store keeps, and how small that is (script/bench results).
 *
 *   step_records FILE REPLICAS
 *
 * FILE must not exist. Each replica writes a start record, a hundred steps and its summary, as the worker does; of one
 * attempt are 120 replicas. What is measured is the way of these bytes in a controller: lines out of a stream, each read as
 * a record, the log and the summary into the store. Prints one JSON object. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/splitmix.h"
#include "core/record.h"
#include "run/capture.h"
#include "store/store.h"

#define STEPS 100
#define GANG 120
#define READ_BYTES 65536 /* of a pipe at a time */
#define LOG_MAX_BYTES ((size_t)10 << 20)
#define UID "0c2e4b8e-0000-4000-8000-000000000002"

struct reader {
    struct replica_id id;
    struct capture capture;
    char *summary;     /* owned */
    char *environment; /* owned */
    size_t n_steps;
};

/* As a launcher does (run/process.c). */
static void on_line(void *ctx, const char *line, size_t len)
{
    struct reader *r = ctx;
    struct record record;
    if (line[0] != '{' || record_read(line, len, &record, NULL) <= 0) {
        return;
    }
    if (record.type == RECORD_START) {
        r->environment = record_environment_canonical(record.start.environment);
    } else if (record.type == RECORD_SUMMARY) {
        r->summary = xstrdup(line);
    } else if (record.type == RECORD_STEP) {
        r->n_steps++;
    }
    record_done(&record);
}

static int64_t about(int64_t ns, uint64_t *random)
{
    return ns + splitmix_below(random, (uint32_t)(ns / 50) + 1);
}

/* The output of a trainer: of the phases of a step some vary by 2%, as they do on a quiet machine. */
static void write_output(const struct replica_id *id, uint64_t *random, struct buf *out)
{
    const struct record_who who = {id->role, id->index, id->attempt.number};
    json_t *environment =
        json_pack("{s:s, s:s, s:s, s:i, s:s}", "build", "benchworker 0.1.0", "cpu_model",
                  "Intel(R) Xeon(R) Processor @ 2.80GHz", "kernel", "6.1.0-34-amd64", "threads", 1,
                  "host", "vgg16-pserver-sweep-7k3fq-p0t0a0-trainer-0");
    record_write_start(out, &who, environment);
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
        record_write_step(out, &who, &step);
    }
    record_write_summary(out, &who, &s, step_ns, STEPS);
}

struct totals {
    int64_t cpu_ns, json_bytes;
    size_t n_steps;
};

static int save_gang(struct store *s, uint32_t gang, uint32_t n, uint64_t *random, struct totals *t,
                     struct err *err)
{
    struct attempt_row row = {.id = {gang, 0, 0}, .outcome = ATTEMPT_SUCCEEDED};
    struct reader *readers = xnew_array(struct reader, n);
    struct replica_log *logs = xnew_array(struct replica_log, n);
    for (uint32_t i = 0; i < n; i++) {
        struct buf output = BUF_INIT;
        readers[i].id = (struct replica_id){row.id, ROLE_TRAINER, i};
        write_output(&readers[i].id, random, &output);
        const int64_t begin_ns = clock_thread_cpu_ns();
        capture_init(&readers[i].capture, LOG_MAX_BYTES, on_line, &readers[i]);
        for (size_t at = 0; at < output.len; at += READ_BYTES) {
            const size_t len = output.len - at < READ_BYTES ? output.len - at : READ_BYTES;
            capture_feed(&readers[i].capture, CAPTURE_STDOUT, output.data + at, len);
        }
        capture_end(&readers[i].capture);
        logs[i].id = readers[i].id;
        logs[i].data = capture_text(&readers[i].capture, &logs[i].len);
        t->cpu_ns += clock_thread_cpu_ns() - begin_ns;
        t->json_bytes += (int64_t)output.len;
        t->n_steps += readers[i].n_steps;
        *vec_push(&row.replicas) = (struct replica_row){.id = readers[i].id,
                                                        .summary_json = readers[i].summary,
                                                        .environment_json = readers[i].environment,
                                                        .log_bytes = logs[i].len};
        buf_done(&output);
    }
    const int64_t begin_ns = clock_thread_cpu_ns();
    const int r = s->ops->save_attempt(s, UID, &row, logs, n, err);
    t->cpu_ns += clock_thread_cpu_ns() - begin_ns;
    for (uint32_t i = 0; i < n; i++) {
        capture_done(&readers[i].capture);
    }
    attempt_row_done(&row); /* with the readers' texts */
    free(readers);
    free(logs);
    return r;
}

static int measure(const char *file, uint32_t replicas, struct err *err)
{
    _cleanup_(freep) char *url = xasprintf("sqlite:%s", file);
    const struct run_row run = {.uid = (char *)UID,
                                .name = (char *)"records-00001",
                                .benchmark = (char *)"records",
                                .definition_json = (char *)"{}"};
    struct store *s = NULL;
    struct totals t = {0};
    int64_t bytes = 0;
    uint64_t random = 20181120;
    int r = store_open(url, true, &s, err);
    r = r < 0 ? r : s->ops->put_run(s, &run, err);
    for (uint32_t done = 0; done < replicas && r >= 0; done += GANG) {
        r = save_gang(s, done / GANG, replicas - done < GANG ? replicas - done : GANG, &random, &t,
                      err);
    }
    r = r < 0 ? r : s->ops->get_used(s, &bytes, err);
    store_close(s);
    if (r >= 0) {
        (void)printf("{\"replicas\": %u, \"records\": %zu, \"json_bytes\": %" PRId64
                     ", \"stored_bytes\": %" PRId64 ", \"records_per_cpu_s\": %.0f}\n",
                     replicas, t.n_steps, t.json_bytes, bytes,
                     (double)t.n_steps / ((double)t.cpu_ns / 1e9));
    }
    return r;
}

int main(int argc, char **argv)
{
    int64_t replicas;
    if (argc != 3 || parse_i64_in(argv[2], 1, 1000000, &replicas) < 0) {
        (void)fprintf(stderr, "usage: step_records FILE REPLICAS\n");
        return 2;
    }
    struct err err = {0};
    if (measure(argv[1], (uint32_t)replicas, &err) < 0) {
        (void)fprintf(stderr, "step_records: %s\n", err.msg);
        return 1;
    }
    return 0;
}
