/* What a large run takes in a store, and how long it takes to write and to read: 44 points of 160 pods (60
 * parameter servers, 100 trainers), five trials each of 100 steps, without logs.
 *
 *   store_size FILE [POINTS [TRIALS]]
 *
 * FILE must not exist. The rows are those of made_up.h. Prints one JSON object. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "made_up.h"
#include "store/store.h"

#define SERVERS 60
#define TRAINERS 100
#define UID "0c2e4b8e-0000-4000-8000-000000000001"

static int write_run(struct store *s, uint32_t points, uint32_t trials, int64_t *ret_ns,
                     struct err *err)
{
    const struct run_row run = {.uid = (char *)UID,
                                .name = (char *)"vgg16-pserver-sweep-7k3fq",
                                .benchmark = (char *)"vgg16-pserver-sweep",
                                .definition_json = (char *)"{}"};
    int r = s->ops->put_run(s, &run, err);
    uint64_t random = 1;
    int64_t took_ns = 0;
    for (uint32_t i = 0; i < points * trials && r >= 0; i++) {
        struct attempt_row row = {.id = {i % points, i / points, 0}, .outcome = ATTEMPT_SUCCEEDED};
        made_up_replicas(&row, ROLE_PSERVER, SERVERS, 1, &random);
        made_up_replicas(&row, ROLE_TRAINER, TRAINERS, 1, &random);
        const int64_t started_ns = clock_monotonic_ns();
        r = s->ops->save_attempt(s, UID, &row, NULL, 0, err);
        took_ns += clock_monotonic_ns() - started_ns;
        attempt_row_done(&row);
    }
    *ret_ns = took_ns;
    return r;
}

/* The best of five, in CPU time. */
static int read_run(struct store *s, int64_t *ret_ns, struct err *err)
{
    *ret_ns = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        struct attempt_row *rows = NULL;
        size_t n = 0;
        const int64_t started_ns = clock_thread_cpu_ns();
        int r = s->ops->list_attempts(s, UID, &rows, &n, err);
        if (r < 0) {
            return r;
        }
        const int64_t took_ns = clock_thread_cpu_ns() - started_ns;
        *ret_ns = took_ns < *ret_ns ? took_ns : *ret_ns;
        for (size_t k = 0; k < n; k++) {
            attempt_row_done(&rows[k]);
        }
        free(rows);
    }
    return 0;
}

static int measure(const char *file, int64_t points, int64_t trials, struct err *err)
{
    _cleanup_(freep) char *url = xasprintf("sqlite:%s", file);
    struct store *s = NULL;
    int64_t wrote_ns = 0, read_ns = 0, bytes = 0;
    int r = store_open(url, true, &s, err);
    r = r < 0 ? r : write_run(s, (uint32_t)points, (uint32_t)trials, &wrote_ns, err);
    r = r < 0 ? r : read_run(s, &read_ns, err);
    r = r < 0 ? r : s->ops->get_used(s, &bytes, err);
    store_close(s);
    const int64_t n = points * trials;
    if (r >= 0) {
        (void)printf("{\"points\": %" PRId64 ", \"trials\": %" PRId64 ", \"pods\": %d, "
                     "\"bytes\": %" PRId64 ", \"bytes_a_replica\": %" PRId64
                     ", \"save_ms_an_attempt\": %.2f, \"list_cpu_ms\": %.1f}\n",
                     points, trials, SERVERS + TRAINERS, bytes, bytes / n / (SERVERS + TRAINERS),
                     (double)wrote_ns / (double)n / 1e6, (double)read_ns / 1e6);
    }
    return r;
}

int main(int argc, char **argv)
{
    int64_t points = 44, trials = 5;
    if (argc < 2 || (argc > 2 && parse_i64_in(argv[2], 1, 10000, &points) < 0) ||
        (argc > 3 && parse_i64_in(argv[3], 1, 100, &trials) < 0)) {
        (void)fprintf(stderr, "usage: store_size FILE [POINTS [TRIALS]]\n");
        return 2;
    }
    struct err err;
    if (measure(argv[1], points, trials, &err) < 0) {
        (void)fprintf(stderr, "store_size: %s\n", err.msg);
        return 1;
    }
    return 0;
}
