/* What one call of reconcile() costs while a gang of 160 pods runs, and 100, 1,000 or 10,000 points of
 * five trials each are done.
 *
 *   reconcile_cost [POINTS...]
 *
 * Prints one line a number of points: CPU time of a call, the best of 20 times 50 calls. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "decide/past.h"
#include "decide/reconcile.h"
#include "spec/order.h"

#define PODS 160
#define REPEATS 5

static void fill(struct past *past, const struct run_def *def, uint32_t n_done)
{
    past_init(past, def);
    for (uint32_t i = 0; i < n_done; i++) {
        past_add(past,
                 &(struct past_row){
                     {def->slots[i].point, def->slots[i].trial, 0}, ATTEMPT_SUCCEEDED, NULL, 100});
    }
}

static double call_us(const struct observed *observed)
{
    int64_t best_ns = INT64_MAX;
    for (int i = 0; i < 20; i++) {
        const int64_t started_ns = clock_thread_cpu_ns();
        for (int k = 0; k < 50; k++) {
            struct plan plan = {0};
            reconcile(observed, &plan);
            plan_done(&plan);
        }
        const int64_t took_ns = clock_thread_cpu_ns() - started_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
    }
    return (double)best_ns / 50 / 1000;
}

static void measure(uint32_t n_points)
{
    struct spec spec = {.repeats = REPEATS};
    struct point *points = xnew_array(struct point, n_points + 1);
    for (uint32_t i = 0; i <= n_points; i++) {
        points[i].replicas[ROLE_TRAINER] = PODS;
    }
    struct run_def def = {.name = (char *)"r",
                          .spec = &spec,
                          .matrix = {.points = points, .n_points = n_points + 1},
                          .n_slots = (n_points + 1) * REPEATS};
    def.slots = order_slots(n_points + 1, REPEATS, ORDER_INTERLEAVED, 1);
    struct past past;
    fill(&past, &def, n_points * REPEATS);
    const struct slot *next = &def.slots[n_points * REPEATS];
    struct observed_replica pods[PODS];
    for (uint32_t i = 0; i < PODS; i++) {
        pods[i] = (struct observed_replica){.id = {{next->point, next->trial, 0}, ROLE_TRAINER, i},
                                            .state = REPLICA_RUNNING};
    }
    const struct observed observed = {
        .def = &def,
        .now_unix_ms = 1000,
        .status = {.phase = RUN_RUNNING,
                   .has_current = true,
                   .current = {next->point, next->trial, 0},
                   .started_unix_ms = 1},
        .replicas = pods,
        .n_replicas = PODS,
        .past = &past,
    };
    (void)printf("%" PRIu32 " points, %" PRIu32 " trials done: %.1f us a call\n", n_points,
                 n_points * REPEATS, call_us(&observed));
    past_done(&past);
    free(def.slots);
    free(points);
}

int main(int argc, char **argv)
{
    static const uint32_t usual[] = {100, 1000, 10000};
    for (size_t i = 0; argc < 2 && i < 3; i++) {
        measure(usual[i]);
    }
    for (int i = 1; i < argc; i++) {
        int64_t n;
        if (parse_i64_in(argv[i], 1, 100000, &n) < 0) {
            (void)fprintf(stderr, "usage: reconcile_cost [POINTS...]\n");
            return 2;
        }
        measure((uint32_t)n);
    }
    return 0;
}
