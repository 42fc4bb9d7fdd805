/* Random worlds with faults: what reconcile promises (ARCHITECTURE.md, "Decide in memory, then
 * act") holds in each of them, at every step. The seed is printed; BENCHD_PROP_SEED=N
 * starts with the world N, so a failure's seed shows it at once. Stops after BENCHD_PROP_MS
 * (3000) milliseconds. */
#include "tests/test.h"
#include "base/vec_walk.h"
#include "decide/reconcile.h"
#include "failure_names.h"
#include "plan_format.h"
#include "prop_world.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/parse.h"

#define MAX_STEPS 5000
#define MIN_STEPS_PER_S 2000 /* printed when missed; speed fails no test */

struct history {
    uint64_t seed;
    struct rng rng;
    struct test_run run;
    struct sim sim;
    /* Percent a step, fixed for one world. */
    uint32_t crash, down, cancel, foreign, lose_row, slow_store, suspend;
    uint32_t n_faults_left; /* so that the worst world ends */
    bool is_tampered_with;  /* rows lost, or foreign replicas */
};

struct totals {
    uint64_t worlds, steps, plans;
    uint64_t phases[RUN_SUSPENDED + 1];
};

static void print_replica(const struct observed_replica *r, struct buf *out)
{
    static const char *const states[] = {"Pending", "Running", "Succeeded", "Failed", "Lost"};
    buf_printf(out, "replica p%ut%ua%u %s/%u %s %s exit=%d ended=%lld", r->id.attempt.point,
               r->id.attempt.trial, r->id.attempt.number, role_to_string(r->id.role), r->id.index,
               states[r->state], failure_names[r->failure], r->exit_code,
               (long long)r->ended_unix_ms);
    if (r->has_blamed) {
        buf_printf(out, " blames=%s/%u", role_to_string(r->blamed_role), r->blamed_index);
    }
    buf_printf(out, "%s%s%s\n", r->has_summary ? " summary" : "", r->message != NULL ? ": " : "",
               r->message != NULL ? r->message : "");
}

static void sim_print(const struct sim *sim, struct buf *out)
{
    static const char *const policies[] = {
        [ON_FAILURE_RETRY] = "Retry", [ON_FAILURE_SKIP] = "Skip", [ON_FAILURE_STOP] = "Stop"};
    const struct spec *spec = &sim->run->spec;
    for (uint32_t i = 0; i < sim->run->def.matrix.n_points; i++) {
        const uint32_t *n = sim->run->points[i].replicas;
        buf_printf(out, "point pservers=%u trainers=%u workers=%u\n", n[0], n[1], n[2]);
    }
    buf_printf(out,
               "lanes %u\nrepeats %lld\npolicy %s maxFailedTrials=%lld backoffLimit=%lld "
               "activeDeadlineSeconds=%lld\n# order:",
               sim->run->def.scheduling.trials, (long long)spec->repeats,
               policies[spec->failure_policy.on_trial_failure],
               (long long)spec->failure_policy.max_failed_trials,
               (long long)spec->run_policy.backoff_limit,
               (long long)spec->run_policy.active_deadline_s);
    for (uint32_t i = 0; i < sim->run->def.n_slots; i++) {
        buf_printf(out, " p%ut%u", sim->run->slots[i].point, sim->run->slots[i].trial);
    }
    _cleanup_(plan_done) struct plan status = {0};
    if (sim->status.started_unix_ms != 0) {
        *vec_push(&status.actions) =
            (struct action){.kind = ACTION_PATCH_STATUS, .status = sim->status};
    }
    buf_putc(out, '\n');
    plan_format(&status, out);
    for (size_t i = 0; i < sim->n_rows; i++) {
        const struct sim_row *row = &sim->rows[i];
        buf_printf(out, "%srow p%ut%ua%u %s%s%s\n",
                   row->acknowledged_ms > sim->now_ms ? "# not acknowledged: " : "", row->point,
                   row->trial, row->attempt, attempt_outcome_to_string(row->outcome),
                   row->error[0] != '\0' ? ": " : "", row->error);
    }
    for (size_t i = 0; i < sim->n_replicas; i++) {
        print_replica(&sim->replicas[i].seen, out);
    }
    buf_printf(out, "%snow %lld\nplan\n",
               sim->request == REQUEST_CANCEL    ? "cancel\n"
               : sim->request == REQUEST_SUSPEND ? "suspend\n"
                                                 : "",
               (long long)sim->now_ms);
}

static void check(struct history *h, const struct sim *sim, const struct plan *plan, bool holds,
                  const char *promise)
{
    if (holds) {
        return;
    }
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    sim_print(sim, &out);
    if (plan != NULL) {
        plan_format(plan, &out);
    }
    print_message("# broken: %s\n# BENCHD_PROP_SEED=%" PRIu64 "\n%s", promise, h->seed,
                  buf_cstr(&out));
    fail();
}

static struct plan plan_for(struct history *h, const struct sim *sim, struct totals *t)
{
    struct snapshot seen;
    sim_observe(sim, &h->rng, &seen);
    struct plan plan = {0};
    reconcile(&seen.observed, &plan);
    attempt_history_done(&seen.history);
    t->plans++;
    return plan;
}

static bool plan_eq(const struct plan *a, const struct plan *b)
{
    return a->actions.len == b->actions.len &&
           (a->actions.len == 0 || memcmp(a->actions.items, b->actions.items,
                                          a->actions.len * sizeof(*a->actions.items)) == 0);
}

static bool names_cut(const struct run_status *status)
{
    return array_any(status->lanes, LANES_MAX, it, it->has_current && it->is_cut_short);
}

/* Status behind everything else, except one that leaves a suspension before anything is created,
 * and one that says that an attempt is cut short before anything of it is deleted; an event only
 * with what it reports, a requeue at the very end. */
static void check_shape(struct history *h, const struct plan *plan)
{
    const struct sim *sim = &h->sim;
    size_t n_events = 0, n_changes = 0;
    bool has_status = false, has_requeue = false, has_resumed = sim->status.phase != RUN_SUSPENDED;
    vec_each (struct action, a, &plan->actions) {
        check(h, sim, plan, !has_requeue, "nothing behind a requeue");
        check(h, sim, plan, !has_status || a->kind == ACTION_REQUEUE_AFTER,
              "nothing but a requeue behind the status");
        const bool resumes =
            !has_resumed && a->kind == ACTION_PATCH_STATUS && a->status.phase == RUN_RUNNING;
        const bool cuts_short = a->kind == ACTION_PATCH_STATUS && names_cut(&a->status) &&
                                a->status.phase == sim->status.phase;
        check(h, sim, plan, has_resumed || a->kind != ACTION_CREATE_REPLICA,
              "a suspended run creates nothing");
        check(h, sim, plan,
              a->kind != ACTION_PATCH_STATUS || resumes || cuts_short || !sim->lacks_place ||
                  a->status.phase != RUN_RUNNING,
              "a run without a place in the cluster is Queued");
        has_resumed |= resumes;
        has_status |= a->kind == ACTION_PATCH_STATUS && !resumes && !cuts_short;
        has_requeue |= a->kind == ACTION_REQUEUE_AFTER;
        n_events += a->kind == ACTION_EMIT_EVENT;
        n_changes += a->kind != ACTION_EMIT_EVENT && a->kind != ACTION_REQUEUE_AFTER;
        check(h, sim, plan, a->kind != ACTION_REQUEUE_AFTER || a->requeue_ms > 0,
              "a requeue lies ahead");
    }
    check(h, sim, plan, n_events == 0 || n_changes > 0, "an event comes with its transition");
}

/* A plan that saves a row on which more depends ends there; the driver calls again at once. */
static bool follow_row(struct history *h, struct sim *sim, struct totals *t)
{
    if (!h->run.spec.stop.is_set) {
        return true;
    }
    _cleanup_(plan_done) struct plan next = plan_for(h, sim, t);
    const char *broken = sim_apply(sim, &next, next.actions.len);
    check(h, sim, &next, broken == NULL, broken);
    return sim->is_whole_plan_applied;
}

/* Applied whole, the plan leaves nothing to do at the same moment. */
static void check_idempotent(struct history *h, const struct plan *plan, struct sim *after,
                             struct totals *t)
{
    const char *broken = sim_apply(after, plan, plan->actions.len);
    check(h, &h->sim, plan, broken == NULL, broken);
    if (!after->is_whole_plan_applied || !follow_row(h, after, t)) {
        return; /* the store keeps the driver waiting */
    }
    _cleanup_(plan_done) struct plan again = plan_for(h, after, t);
    bool is_empty = true;
    vec_each (struct action, a, &again.actions) {
        is_empty &= a->kind == ACTION_REQUEUE_AFTER;
    }
    check(h, after, &again, is_empty, "apply, then reconcile: nothing but a requeue");
}

/* Whether the status names each attempt that has replicas. A run with lanes that crashed before it
 * did may have stored the row of such an attempt: then the next driver does not know that the trial
 * had a lane, and another trial of the order may take it. */
static bool names_all(const struct sim *sim)
{
    bool is_named = true;
    for (size_t i = 0; i < sim->n_replicas && sim->run->def.scheduling.trials > 1; i++) {
        is_named &= run_status_find(&sim->status, &sim->replicas[i].seen.id.attempt) != NULL;
    }
    return is_named;
}

/* After any prefix and a crash, the next driver gets to where the whole plan leads. */
static void check_prefix(struct history *h, const struct plan *plan, const struct sim *after,
                         struct totals *t)
{
    struct sim other = h->sim;
    const size_t n = rng_below(&h->rng, (uint32_t)plan->actions.len + 1);
    check(h, &h->sim, plan, sim_apply(&other, plan, n) == NULL, "a prefix is safe");
    _cleanup_(plan_done) struct plan rest = plan_for(h, &other, t);
    const char *broken = sim_apply(&other, &rest, rest.actions.len);
    check(h, &other, &rest, broken == NULL, broken);
    (void)(other.is_whole_plan_applied && follow_row(h, &other, t));
    check(h, &other, &rest, !names_all(&h->sim) || sim_eq(&other, after),
          "any prefix, then a crash: the same end");
}

static bool draw_fault(struct history *h, uint32_t percent)
{
    if (h->n_faults_left == 0 || !rng_percent(&h->rng, percent)) {
        return false;
    }
    h->n_faults_left--;
    return true;
}

static void drive(struct history *h, struct totals *t)
{
    struct sim *sim = &h->sim;
    if (sim_is_store_busy(sim)) {
        if (!draw_fault(h, h->crash)) {
            return; /* the driver waits for it */
        }
        sim_settle_store(sim, rng_percent(&h->rng, 50));
    }
    sim->ack_delay_ms = rng_percent(&h->rng, h->slow_store) ? 1 + rng_below(&h->rng, 3000) : 0;
    _cleanup_(plan_done) struct plan plan = plan_for(h, sim, t);
    _cleanup_(plan_done) struct plan shuffled = plan_for(h, sim, t);
    check(h, sim, &plan, plan_eq(&plan, &shuffled), "the order of the input does not matter");
    check_shape(h, &plan);
    struct sim after = *sim;
    check_idempotent(h, &plan, &after, t);
    check_prefix(h, &plan, &after, t);
    if (draw_fault(h, h->crash)) {
        const size_t n = rng_below(&h->rng, (uint32_t)plan.actions.len + 1);
        check(h, sim, &plan, sim_apply(sim, &plan, n) == NULL, "a prefix is safe");
    } else {
        *sim = after;
    }
    t->steps++;
}

static void pass_time(struct history *h, struct totals *t)
{
    struct sim *sim = &h->sim;
    if (draw_fault(h, h->down)) {
        sim_settle_store(sim, rng_percent(&h->rng, 50));
        sim_kill_all(sim);
    }
    if (draw_fault(h, h->foreign)) {
        sim_add_foreign(sim, &h->rng);
        h->is_tampered_with = true;
    }
    if (draw_fault(h, h->lose_row)) {
        sim_lose_row(sim, &h->rng);
        h->is_tampered_with = true;
    }
    if (sim->request == REQUEST_SUSPEND && rng_percent(&h->rng, 20)) {
        sim->request = REQUEST_NONE;
    } else if (sim->request == REQUEST_NONE && draw_fault(h, h->suspend)) {
        sim->request = REQUEST_SUSPEND;
    }
    if (rng_percent(&h->rng, h->cancel)) {
        sim->request = REQUEST_CANCEL;
    }
    if (rng_percent(&h->rng, 30)) { /* exactly when the plan asks for it */
        struct plan plan = plan_for(h, sim, t);
        const size_t n = plan.actions.len;
        if (n > 0 && plan.actions.items[n - 1].kind == ACTION_REQUEUE_AFTER) {
            sim_advance(sim, plan.actions.items[n - 1].requeue_ms);
        }
        plan_done(&plan);
    } else if (rng_percent(&h->rng, 70)) {
        sim_advance(sim, rng_below(&h->rng, 3000));
    }
}

struct tally { /* of the rows, counted apart from reconcile */
    uint32_t done, failed;
    bool has_given_up;
    bool is_all; /* nothing is left to run */
};

static struct tally tally_rows(struct history *h)
{
    struct sim *sim = &h->sim;
    struct tally tally = {.is_all = true};
    int64_t n_invalid = 0;
    for (uint32_t i = 0; i < sim->run->def.n_slots; i++) {
        const struct slot *slot = &sim->run->slots[i];
        uint32_t n_deciding = 0, n_rows = 0;
        bool has_failed = false;
        for (size_t k = 0; k < sim->n_rows; k++) {
            const struct sim_row *row = &sim->rows[k];
            if (row->point != slot->point || row->trial != slot->trial) {
                continue;
            }
            n_rows += row->outcome != ATTEMPT_INVALID;
            n_invalid += row->outcome == ATTEMPT_INVALID;
            n_deciding += attempt_outcome_decides(row->outcome);
            has_failed |=
                row->outcome == ATTEMPT_FAILED || row->outcome == ATTEMPT_METRICS_UNAVAILABLE;
        }
        check(h, sim, NULL, n_deciding <= 1, "one row decides a trial");
        check(h, sim, NULL,
              h->is_tampered_with || n_rows <= sim->run->spec.run_policy.backoff_limit + 1,
              "backoffLimit attempts after the first");
        tally.done += n_deciding > 0;
        tally.failed += has_failed;
        const bool is_given_up = sim_point_is_given_up(sim, slot->point);
        tally.has_given_up |= is_given_up;
        tally.is_all &= is_given_up || sim_point_has_enough(sim, slot->point);
    }
    check(h, sim, NULL,
          h->is_tampered_with || n_invalid <= sim->run->spec.run_policy.invalid_repeats,
          "invalidRepeats repeats in a run");
    return tally;
}

static void check_end(struct history *h)
{
    const struct sim *sim = &h->sim;
    const struct run_status *s = &sim->status;
    const struct spec *spec = &sim->run->spec;
    const struct tally n = tally_rows(h);
    check(h, sim, NULL, s->trials_done == n.done && s->trials_failed == n.failed,
          "the status counts the rows");
    const bool is_all = n.is_all;
    enum run_phase phase = RUN_CANCELLED;
    if ((spec->failure_policy.on_trial_failure == ON_FAILURE_STOP && n.failed > 0) ||
        n.failed > spec->failure_policy.max_failed_trials || (is_all && n.failed == n.done)) {
        phase = RUN_FAILED;
    } else if (is_all) {
        phase = n.failed > 0 ? RUN_PARTIALLY_FAILED : RUN_SUCCEEDED;
    } else if (sim->request != REQUEST_CANCEL) {
        phase = RUN_FAILED; /* the deadline */
        check(h, sim, NULL, spec->run_policy.active_deadline_s > 0, "unfinished without a reason");
        check(h, sim, NULL, sim->own_ms >= spec->run_policy.active_deadline_s * 1000,
              "waits for a place are no part of the deadline");
    }
    check(h, sim, NULL, s->phase == phase, "the phase follows from the rows");
    const bool says_points = strcmp(s->reason, "SomePointsFailed") == 0;
    check(h, sim, NULL,
          phase == RUN_PARTIALLY_FAILED ? says_points == n.has_given_up : !says_points,
          "the reason says whether points have failed");
    check(h, sim, NULL,
          !array_any(s->lanes, LANES_MAX, it, it->has_current) && s->ended_unix_ms != 0,
          "an end has a date");
}

static void run_world(uint64_t seed, struct totals *t)
{
    static struct history h; /* big, and one at a time */
    h = (struct history){.seed = seed, .rng = {seed}, .n_faults_left = 12};
    sim_init(&h.sim, &h.run, &h.rng);
    if (rng_percent(&h.rng, 75)) {
        h.crash = rng_below(&h.rng, 40);
        h.down = rng_below(&h.rng, 5);
        h.slow_store = rng_below(&h.rng, 60);
        h.foreign = rng_percent(&h.rng, 20) ? rng_below(&h.rng, 10) : 0;
        h.lose_row = rng_percent(&h.rng, 10) ? 3 : 0;
        h.suspend = rng_below(&h.rng, 8);
        h.cancel = rng_percent(&h.rng, 25) ? 1 + rng_below(&h.rng, 4) : 0;
    }
    for (int step = 0; step < MAX_STEPS; step++) {
        drive(&h, t);
        if (run_phase_is_final(h.sim.status.phase) && h.sim.n_replicas == 0) {
            check_end(&h);
            t->worlds++;
            t->phases[h.sim.status.phase]++;
            return;
        }
        if (run_phase_is_final(h.sim.status.phase)) {
            h.n_faults_left = 0;
        }
        pass_time(&h, t);
    }
    check(&h, &h.sim, NULL, false, "a run terminates");
}

static uint64_t read_number(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    uint64_t value = fallback;
    if (text != NULL && parse_u64(text, &value) < 0) {
        print_message("# %s is no number: '%s'\n", name, text);
        fail();
    }
    return value;
}

TEST(worlds)
{
    const uint64_t seed = read_number("BENCHD_PROP_SEED", (uint64_t)clock_unix_ms() * 1000003U);
    const int64_t limit_ns = (int64_t)read_number("BENCHD_PROP_MS", 3000) * 1000000;
    const int64_t start_ns = clock_monotonic_ns();
    struct totals t = {0};
    print_message("# BENCHD_PROP_SEED=%" PRIu64 "\n", seed);
    while (clock_monotonic_ns() - start_ns < limit_ns) {
        run_world(seed + t.worlds, &t);
    }
    const double s = (double)(clock_monotonic_ns() - start_ns) / 1e9;
    print_message("# %" PRIu64 " worlds, %" PRIu64 " steps (%.0f/s), %" PRIu64
                  " plans (%.0f/s)%s\n",
                  t.worlds, t.steps, (double)t.steps / s, t.plans, (double)t.plans / s,
                  (double)t.steps / s < MIN_STEPS_PER_S ? ": slow" : "");
    print_message("# ended: %" PRIu64 " Succeeded, %" PRIu64 " PartiallyFailed, %" PRIu64
                  " Failed, %" PRIu64 " Cancelled\n",
                  t.phases[RUN_SUCCEEDED], t.phases[RUN_PARTIALLY_FAILED], t.phases[RUN_FAILED],
                  t.phases[RUN_CANCELLED]);
    assert_true(t.worlds > 0);
}
