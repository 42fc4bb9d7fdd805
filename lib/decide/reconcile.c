/* reconcile(observed) -> plan. The driver calls it whenever something changed. reconcile.h has the
 * rules for callers; this is how they are kept.
 *
 * A call folds the world into a view (view.h) and keeps that up to date with the actions that it
 * plans. So a plan goes on from its own effects, and a second call, after the plan was applied, has
 * nothing to add.
 *
 *   run      (new) --start_run--> Running --end_run--> Succeeded | PartiallyFailed | Failed |
 *                                                   Cancelled
 *                     Running --pause_run--> Suspended --start_run--> Running
 *
 *   trial    undecided --find_slot-----> current --judge_current, row not Void--> decided
 *                                        |     ^
 *                                        +-----+ judge_current, row Void: the next attempt
 *
 *   attempt  nothing --create_gang--> alive --judge_current--> row kept --delete_gang--> gone
 *                                     |   |                        ^
 *                                     |   +-- sweep_strays: Void --+  (it should not be there)
 *                                     +-- end_run: cut short, no row -----delete_gang--> gone
 *
 * Nothing is owned beyond the call; `observed` is only read. */
#include "decide/reconcile.h"

#include <string.h>

#include "base/text.h"
#include "decide/plan.h"
#include "decide/policy_cleanup.h"
#include "decide/policy_deadline.h"
#include "decide/policy_retry.h"
#include "decide/world.h"

struct pass {
    const struct observed *o;
    const struct run_def *def;
    struct view view;
    struct plan *plan;
    char error[256]; /* of the one current attempt that a call can save */

    bool has_current;               /* else the run has ended */
    struct attempt_id current;      /* that is due */
    struct gang_view *current_gang; /* NULL: nothing of it lives */
    bool is_interrupted;            /* cancelled, suspended or out of time */
    int64_t deadline_ms;            /* left; DEADLINE_NONE */
    int64_t recheck_ms;             /* left until a verdict may change by itself; DEADLINE_NONE */
    struct run_status status;       /* as it shall be */
};

/* The undecided trial whose gang the status names and that lives, so that nothing (a row that the
 * store has lost, say) makes a healthy gang a stray; else the first undecided one in the order. */
static const struct slot *find_slot(const struct pass *p)
{
    const struct slot *first = NULL;
    for (uint32_t i = 0; i < p->def->n_slots; i++) {
        const struct slot *slot = &p->def->slots[i];
        const struct trial *t = view_trial(&p->view, slot->point, slot->trial);
        if (!t->is_decided && t->seen.is_status_live) {
            return slot;
        }
        if (!t->is_decided && first == NULL) {
            first = slot;
        }
    }
    return first;
}

/* The trial that is due, its attempt, and what lives of it. None once the run has ended. */
static void find_current(struct pass *p)
{
    p->has_current = false;
    p->current_gang = NULL;
    if (run_end_decide(&p->view.counts, &p->def->spec->failure_policy).is_end) {
        return;
    }
    const struct slot *slot =
        find_slot(p); /* not NULL: with all trials decided the run has ended */
    p->has_current = true;
    p->current =
        (struct attempt_id){slot->point, slot->trial,
                            attempt_number(&view_trial(&p->view, slot->point, slot->trial)->seen)};
    vec_each (struct gang_view, g, &p->view.gangs) {
        if (!g->has_row && attempt_id_eq(&g->members[0].id.attempt, &p->current)) {
            p->current_gang = g;
        }
    }
}

static void save_attempt(struct pass *p, struct gang_view *g, enum attempt_outcome outcome,
                         const char *error)
{
    plan_save(p->plan, &g->members[0].id, outcome, error);
    view_add_row(&p->view, g, outcome, error);
}

static void delete_gang(struct pass *p, const struct gang_view *g)
{
    const struct cleanup_facts facts = {
        .in_definition = true,
        .has_row = g->has_row,
        .is_run_final = run_phase_is_final(p->o->status.phase),
        .is_interrupted = p->is_interrupted,
    };
    for (size_t i = 0; i < g->n_members && cleanup_may_delete(&facts); i++) {
        plan_delete(p->plan, &g->members[i].id);
    }
}

/* Replicas that no trial of the definition asks for. */
static void sweep_unknown(struct pass *p)
{
    const struct cleanup_facts facts = {.in_definition = false};
    vec_each (struct replica_id, id, &p->view.unknown) {
        if (cleanup_may_delete(&facts)) {
            plan_delete(p->plan, id);
        }
    }
}

/* Gangs whose row is kept, and gangs that should not be. The latter are nobody's result, but what
 * they said is kept before they go. */
static void sweep_strays(struct pass *p)
{
    vec_each (struct gang_view, g, &p->view.gangs) {
        if (g == p->current_gang) {
            continue;
        }
        if (!g->has_row) {
            save_attempt(p, g, ATTEMPT_VOID, "not the attempt that should run");
            plan_event(p->plan, EVENT_WARNING, "StrayReplicas",
                       "replicas of an attempt that should not run were deleted");
        }
        delete_gang(p, g);
    }
}

static enum missing_means missing_means(const struct pass *p)
{
    const struct run_status *s = &p->o->status;
    if (p->is_interrupted) {
        return MISSING_UNDECIDED;
    }
    /* The status is patched behind the creations of the same plan: it names complete gangs only. */
    const bool is_named = s->has_current && attempt_id_eq(&s->current, &p->current);
    return is_named ? MISSING_VANISHED : MISSING_NOT_CREATED;
}

static void announce_attempt(struct pass *p, const struct replica_id *id,
                             enum attempt_outcome outcome)
{
    static const struct {
        const char *reason, *what;
    } texts[] = {
        [ATTEMPT_SUCCEEDED] = {NULL, NULL}, /* the rule, and the rows tell it */
        [ATTEMPT_VOID] = {"AttemptVoid", "tried again"},
        [ATTEMPT_FAILED] = {"TrialFailed", "failed"},
        [ATTEMPT_METRICS_UNAVAILABLE] = {"MetricsUnavailable", "no result"},
    };
    if (texts[outcome].reason == NULL) {
        return;
    }
    char note[256];
    text_put(note, sizeof(note), "point %u trial %u attempt %u: %s: %s", id->attempt.point,
             id->attempt.trial, id->attempt.number, texts[outcome].what, p->error);
    plan_event(p->plan, EVENT_WARNING, texts[outcome].reason, note);
}

/* Decides the outcome of an ended attempt and leaves what a person needs in p->error. */
static enum attempt_outcome decide_outcome(struct pass *p, const struct attempt_verdict *verdict)
{
    const enum on_trial_failure policy = p->def->spec->failure_policy.on_trial_failure;
    const int64_t backoff_limit = p->def->spec->run_policy.backoff_limit;
    const uint32_t n_rows = view_trial(&p->view, p->current.point, p->current.trial)->n_rows;
    const enum attempt_outcome outcome = retry_decide(verdict->end, policy, n_rows, backoff_limit);
    const bool is_last_of_many = n_rows > 0 && outcome == ATTEMPT_FAILED &&
                                 retry_decide(verdict->end, policy, 0, 1) == ATTEMPT_VOID;
    if (is_last_of_many) {
        text_put(p->error, sizeof(p->error), "%s (no attempt left after %u)", verdict->error,
                 n_rows + 1);
    } else {
        text_put(p->error, sizeof(p->error), "%s", verdict->error);
    }
    return outcome;
}

/* If the current attempt has ended: keeps its row, deletes its gang, finds what comes next. */
static void judge_current(struct pass *p)
{
    struct gang_view *g = p->current_gang;
    if (g == NULL) {
        return;
    }
    const struct gang gang = {
        .members = g->members,
        .n_members = g->n_members,
        .size = p->def->matrix.points[p->current.point].replicas,
        .missing = missing_means(p),
    };
    struct attempt_verdict verdict;
    attempt_judge(&gang, p->o->now_unix_ms, &verdict);
    if (!verdict.has_ended) {
        if (verdict.recheck_unix_ms != 0) {
            p->recheck_ms = verdict.recheck_unix_ms - p->o->now_unix_ms;
        }
        return;
    }
    const enum attempt_outcome outcome = decide_outcome(p, &verdict);
    save_attempt(p, g, outcome, p->error);
    announce_attempt(p, &g->members[0].id, outcome);
    delete_gang(p, g);
    find_current(p);
}

static void create_gang(struct pass *p)
{
    const struct point *point = &p->def->matrix.points[p->current.point];
    const struct gang_view *g = p->current_gang;
    size_t next = 0; /* member of g that comes next in the same order */
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t index = 0; index < point->replicas[role]; index++) {
            const struct replica_id id = {p->current, role, index};
            if (g != NULL && next < g->n_members && g->members[next].id.role == role &&
                g->members[next].id.index == index) {
                next++;
            } else {
                plan_create(p->plan, &id);
            }
        }
    }
    p->status.has_current = true;
    p->status.current = p->current;
    text_put(p->status.message, sizeof(p->status.message), "point %u, trial %u, attempt %u",
             p->current.point, p->current.trial, p->current.number);
}

/* ---- the run ---- */

/* Time in which the run stood still does not count: its start moves behind by that much. */
static int64_t start_after_pause(const struct pass *p)
{
    const struct run_status *before = &p->o->status;
    const int64_t paused_ms = p->o->now_unix_ms - before->ended_unix_ms;
    const bool is_paused = before->phase == RUN_SUSPENDED && paused_ms > 0;
    return before->started_unix_ms + (is_paused ? paused_ms : 0);
}

static void start_run(struct pass *p)
{
    const struct run_status *before = &p->o->status;
    if (before->started_unix_ms == 0) {
        char note[256];
        text_put(note, sizeof(note), "points: %u, trials: %u", p->def->matrix.n_points,
                 p->view.counts.total);
        plan_event(p->plan, EVENT_NORMAL, "RunStarted", note);
        p->status.started_unix_ms = p->o->now_unix_ms;
    } else {
        p->status.started_unix_ms = start_after_pause(p);
    }
    if (before->trials_done > p->view.counts.done) {
        char note[256];
        text_put(note, sizeof(note), "results that the store has lost: %u; their trials run again",
                 before->trials_done - p->view.counts.done);
        plan_event(p->plan, EVENT_WARNING, "ResultsLost", note);
    }
    p->deadline_ms = deadline_remaining_ms(
        p->status.started_unix_ms, p->def->spec->run_policy.active_deadline_s, p->o->now_unix_ms);
    p->is_interrupted = p->o->request != REQUEST_NONE || p->deadline_ms == 0;
}

/* The counts, and the first failure in the order of trials. */
static void describe_end(struct pass *p)
{
    char *dst = p->status.message;
    const size_t size = sizeof(p->status.message);
    const struct trial_counts *n = &p->view.counts;
    text_put(dst, size, "%u of %u trials done, %u failed", n->done, n->total, n->failed);
    for (uint32_t i = 0; i < p->def->n_slots; i++) {
        const struct slot *slot = &p->def->slots[i];
        const struct trial *t = view_trial(&p->view, slot->point, slot->trial);
        if (t->is_decided && t->outcome != ATTEMPT_SUCCEEDED) {
            text_put(dst, size, "%u of %u trials done, %u failed; point %u trial %u: %s", n->done,
                     n->total, n->failed, slot->point, slot->trial, t->error);
            return;
        }
    }
}

/* True if the run is over. What lives is deleted without a row: its attempt was cut short. Trials
 * that are all decided go before a cancellation or deadline that comes too late. */
static bool end_run(struct pass *p)
{
    struct run_end end = run_end_decide(&p->view.counts, &p->def->spec->failure_policy);
    if (!end.is_end && p->o->request == REQUEST_CANCEL) {
        end = (struct run_end){true, RUN_CANCELLED, "CancelRequested"};
    } else if (!end.is_end && p->deadline_ms == 0) {
        end = (struct run_end){true, RUN_FAILED, "DeadlineExceeded"};
    }
    p->status.phase = end.phase;
    text_put(p->status.reason, sizeof(p->status.reason), "%s", end.reason);
    if (!end.is_end) {
        return false;
    }
    if (p->current_gang != NULL) {
        delete_gang(p, p->current_gang);
    }
    p->status.ended_unix_ms = p->o->now_unix_ms;
    describe_end(p);
    const bool is_good = end.phase == RUN_SUCCEEDED || end.phase == RUN_CANCELLED;
    plan_event(p->plan, is_good ? EVENT_NORMAL : EVENT_WARNING, end.reason, p->status.message);
    return true;
}

/* Like an end that is none: what lives goes without a row, and the attempt's number stays named, so
 * that the next one gets another. */
static void pause_run(struct pass *p)
{
    const struct run_status *before = &p->o->status;
    const bool is_new = before->phase != RUN_SUSPENDED;
    const struct trial_counts *n = &p->view.counts;
    if (p->current_gang != NULL) {
        delete_gang(p, p->current_gang);
    }
    p->status.phase = RUN_SUSPENDED;
    p->status.has_current = before->has_current;
    p->status.current = before->current;
    p->status.ended_unix_ms = is_new ? p->o->now_unix_ms : before->ended_unix_ms;
    if (!is_new) {
        p->status.started_unix_ms = before->started_unix_ms;
    }
    text_put(p->status.reason, sizeof(p->status.reason), "SuspendRequested");
    text_put(p->status.message, sizeof(p->status.message), "%u of %u trials done, %u failed",
             n->done, n->total, n->failed);
    if (is_new) {
        plan_event(p->plan, EVENT_NORMAL, "Suspended", p->status.message);
    }
}

static void write_status(struct pass *p)
{
    p->status.trials_total = p->view.counts.total;
    p->status.trials_done = p->view.counts.done;
    p->status.trials_failed = p->view.counts.failed;
    if (!run_status_eq(&p->status, &p->o->status)) {
        plan_status(p->plan, &p->status);
    }
}

static void go_on(struct pass *p)
{
    start_run(p);
    find_current(p);
    sweep_strays(p);
    judge_current(p);
    bool is_over = end_run(p);
    if (!is_over && p->o->request == REQUEST_SUSPEND) {
        pause_run(p);
        is_over = true;
    } else if (!is_over) {
        create_gang(p);
    }
    write_status(p);
    const int64_t requeue_ms = p->recheck_ms < p->deadline_ms ? p->recheck_ms : p->deadline_ms;
    if (!is_over && requeue_ms != DEADLINE_NONE) {
        plan_requeue(p->plan, requeue_ms);
    }
}

void reconcile(const struct observed *observed, struct plan *plan)
{
    struct pass p;
    memset(&p, 0, sizeof(p)); /* padding too: the status goes into the plan byte by byte */
    p.o = observed;
    p.def = observed->def;
    p.plan = plan;
    p.deadline_ms = DEADLINE_NONE;
    p.recheck_ms = DEADLINE_NONE;
    view_init(&p.view, observed);
    sweep_unknown(&p);
    if (!run_phase_is_final(observed->status.phase)) {
        go_on(&p);
    } else {
        vec_each (struct gang_view, g, &p.view.gangs) {
            delete_gang(&p, g); /* stragglers: a finished run only cleans up */
        }
    }
    view_done(&p.view);
}
