/* A program that needs no peer and prints its speed, which a log rule reads: the figures of its
 * trials are known from its lines. Its node may begin a new log file, and then returns only
 * that. */
#include "sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "core/phase.h"
#include "core/summary.h"

#define LINES_MIN 12
#define LINES_MAX 30
#define LINE_MIN_NS (SIM_S / 5)
#define LINE_MAX_NS (4 * SIM_S)
#define SLOWER 10                   /* where trainings take minutes */
#define BATCH_SIZE 16               /* user.c, definition() */
#define FILE_NS (12 * SIM_S)        /* no file of a log is replaced before (lib/kube/follow.h) */
#define DATES_NS SIM_S              /* those of containers are whole seconds */
#define CLOCKS_NS (5 * SIM_S)       /* those of two nodes may differ: docs/contracts/retries.md */
#define RATE_OFF 1e-4               /* what rounding may change */
#define UNREADABLE_NS (120 * SIM_S) /* a fault may have kept benchd from a log, or ended it */

void printer_define(json_t *definition)
{
    json_object_set_new(definition, "systems",
                        json_pack("[{s:s, s:s, s:[s], s:{s:s, s:[{s:s, s:s}]}}]", "name", "loop",
                                  "profile", "none", "command", "./loop", "log", "name", "loop",
                                  "lines", "kind", "Step", "pattern",
                                  "step (?<step>): (?<rate>) images/sec"));
    json_object_set_new(json_object_get(definition, "workload"), "exchange",
                        json_pack("{s:s}", "kind", "None"));
    (void)json_object_del(json_object_get(json_object_get(definition, "sweep"), "grid"),
                          "pservers");
    (void)json_object_del(json_object_get(definition, "roles"), "pserver");
}

/* ---- the program ---- */

static void print(void *ctx);

/* Steps take different times, so each line that is missing changes the mean. */
static void begin_step(struct sim_pod *p)
{
    p->step_ns = sim_time(DRAW_PRINTER, LINE_MIN_NS, LINE_MAX_NS) * (sim.is_slow ? SLOWER : 1);
    sim_after(p->step_ns, print, p);
}

static void print(void *ctx)
{
    struct sim_pod *p = ctx;
    if (!p->container.has_started || p->container.has_ended) {
        return;
    }
    if (p->n_printed == p->n_to_print) {
        node_end(p, 0);
        return;
    }
    if (p->n_printed >= p->rotates_at && sim.now_ns - p->container.started_ns > FILE_NS) {
        p->rotates_at = UINT32_MAX;
        logs_rotate(p);
        promise_excuse(p->run_uid, &p->id.attempt, "its node has replaced a log file");
    }
    const double rate = BATCH_SIZE * (double)SIM_S / (double)p->step_ns;
    p->rates_inverse += 1.0 / rate;
    logs_print(p, xasprintf("step %u: %.6f images/sec\n", p->n_printed++, rate));
    p->printed_ns = sim.now_ns;
    begin_step(p);
}

void printer_start(struct sim_pod *p)
{
    p->n_to_print = LINES_MIN + sim_below(DRAW_PRINTER, LINES_MAX - LINES_MIN + 1);
    p->rotates_at = sim_one_in(DRAW_PRINTER, 5) ? LINES_MIN / 2 + sim_below(DRAW_PRINTER, LINES_MIN)
                                                : UINT32_MAX;
    begin_step(p);
}

/* ---- what must be true of a row ---- */

static bool is_of(const struct sim_pod *p, const char *run_uid, const struct attempt_id *id)
{
    return str_eq(p->run_uid, run_uid) && attempt_id_eq(&p->id.attempt, id);
}

/* The members of the attempt that print: from when the last of them began, until the first ended,
 * with its last line and as a container. */
struct together {
    int64_t begun_ns, last_line_ns, ended_ns;
};

static struct together together(const char *run_uid, const struct attempt_id *id)
{
    struct together all = {0, INT64_MAX, INT64_MAX};
    for (size_t i = 0; i < node_count(); i++) {
        const struct sim_pod *p = node_get(i);
        const struct sim_container *c = &p->container;
        if (is_of(p, run_uid, id) && c->has_started) {
            all.begun_ns = c->started_ns > all.begun_ns ? c->started_ns : all.begun_ns;
        }
        if (is_of(p, run_uid, id) && c->has_ended && c->ended_ns < all.ended_ns) {
            all.ended_ns = c->ended_ns;
        }
        if (is_of(p, run_uid, id) && c->has_ended && p->printed_ns < all.last_line_ns) {
            all.last_line_ns = p->printed_ns;
        }
    }
    return all;
}

bool printer_was_apart(const char *run_uid, const struct attempt_id *id)
{
    const struct together all = together(run_uid, id);
    return sim_prints(sim.seed) && all.begun_ns + DATES_NS > all.last_line_ns;
}

/* The throughput of a gang is the sum of its members', and that of a member what all of its lines
 * say: as many images a line, and the time of each from its speed. */
void printer_check_row(const char *run_uid, const struct attempt_row *row)
{
    const uint32_t sizes[ROLE_COUNT] = {0, row->id.point + 1, 0, 0}; /* user.c, definition() */
    double known = 0;
    for (size_t i = 0; i < node_count(); i++) {
        const struct sim_pod *p = node_get(i);
        if (is_of(p, run_uid, &row->id) && p->n_printed > 0) {
            known += p->n_printed / p->rates_inverse;
        }
    }
    const struct together all = together(run_uid, &row->id);
    if (row->outcome == ATTEMPT_SUCCEEDED && all.begun_ns > all.ended_ns + CLOCKS_NS + DATES_NS) {
        sim_broken("p%ut%ua%u succeeded, and its last program began %d ms after another had ended",
                   row->id.point, row->id.trial, row->id.number,
                   (int)((all.begun_ns - all.ended_ns) / SIM_MS));
    }
    const double stored = throughput_of_attempt(row, sizes);
    if (row->outcome == ATTEMPT_SUCCEEDED && !(fabs(stored - known) <= known * RATE_OFF)) {
        sim_broken("p%ut%ua%u has %g images/sec, and its programs printed %g", row->id.point,
                   row->id.trial, row->id.number, stored, known);
    }
}

bool printer_explains(const char *run_uid, const struct attempt_row *row)
{
    if (!sim_prints(sim.seed) || row->error == NULL) {
        return false;
    }
    if (strstr(row->error, "did not measure together") != NULL) {
        return printer_was_apart(run_uid, &row->id);
    }
    return strstr(row->error, "the log could not be read") != NULL &&
           strstr(row->error, "lines may be missing") == NULL &&
           fault_last_ns(FAULT_KIND_COUNT, true) > sim.now_ns - UNREADABLE_NS;
}
