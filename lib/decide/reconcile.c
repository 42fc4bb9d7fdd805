/* reconcile(observed) -> plan. The driver calls it whenever something changed. reconcile.h has the
 * rules for callers.
 *
 * A call folds what is observed into a view (decision_view.h) and keeps that up to date with
 * the actions that it plans. So a plan continues from its own effects, and a second call, after the
 * plan was applied, has nothing to add.
 *
 *   run      (new) --start_run--> Running --end_run--> Succeeded | PartiallyFailed | Failed |
 *                                                   Cancelled
 *                     Running --pause_run--> Suspended --start_run--> Running
 *                     Running --tell_wait--> Queued --end_run--> Running, or as above
 *
 *   trial    undecided --find_slot-----> current --judge_current, row not Void--> decided
 *                                        |     ^
 *                                        +-----+ judge_current, row Void: the next attempt
 *            undecided --judge_current, the point is given up--> never run
 *
 *   attempt  nothing --create_gang--> alive --judge_current--> row kept --delete_gang--> gone
 *                                     |   |                        ^
 *                                     |   +- delete_strays: Void --+  (it should not be there)
 *                                     +-- end_run: cut short, no row -----delete_gang--> gone
 *                                     +-- pause_run, give_way, delete_cut_short: the status
 *                                         says so first ------------------delete_gang--> gone
 *
 * Nothing is owned beyond the call; `observed` is only read. */
#include "decide/reconcile.h"

#include <string.h>

#include "base/str.h"
#include "decide/policy_end.h"
#include "decide/lanes.h"

/* Of the options in a command: a longer text is left out, because a message would cut it. */
#define WHERE_MAX 80
/* The store has a row as soon as it is acknowledged. */
#define AWAITED_ROW_MS 1
/* So many attempts in a row without a row, the last one preempted, are worth a warning. */
#define PREEMPTED_OFTEN 5

static void save_attempt(struct decision *d, struct observed_gang *g, enum attempt_outcome outcome,
                         const char *error)
{
    plan_save(d->plan, &g->members[0].id, outcome, error);
    decision_view_add_row(&d->view, g, outcome, error);
}

/* Replicas go when the store has their result, or no result will come: the run was over before this
 * call, or their attempt never ends. */
static void delete_gang(struct decision *d, const struct observed_gang *g)
{
    const bool is_needless =
        g->has_row || run_phase_is_final(d->o->status.phase) || d->is_interrupted;
    for (size_t i = 0; i < g->n_members && is_needless; i++) {
        plan_delete(d->plan, &g->members[i].id);
    }
}

/* Deletes replicas that are not in the definition. */
static void delete_unknown(struct decision *d)
{
    vec_each (struct replica_id, id, &d->view.unknown) {
        plan_delete(d->plan, id);
    }
}

/* Deletes a gang that never ends. Nothing is kept of it. The status says so first: a process that
 * finds the rest of it later must not take it for a failure, whoever deletes it then. */
static void cut_short(struct decision *d, size_t lane, struct observed_gang *g)
{
    struct run_status status;
    memcpy(&status, &d->said, sizeof(status)); /* with the padding, as the plan has it */
    status.lanes[lane].has_current = status.lanes[lane].is_cut_short = true;
    status.lanes[lane].current = g->members[0].id.attempt;
    if (!run_status_eq(&status, &d->said)) {
        plan_status(d->plan, &status);
        memcpy(&d->said, &status, sizeof(status));
    }
    decision_view_cut_short(&d->view, g);
    for (size_t i = 0; i < g->n_members; i++) {
        plan_delete(d->plan, &g->members[i].id);
    }
}

/* A gang that should not exist gets a Void row before it goes, so that its logs are kept. */
static void save_stray(struct decision *d, struct observed_gang *g)
{
    save_attempt(d, g, ATTEMPT_VOID, "not the current attempt");
    plan_event(d->plan, EVENT_WARNING, "StrayReplicas",
               "deleted the replicas of an attempt that is not the current one");
}

/* A suspended run has no attempt; an attempt that was cut short does not count. What is still
 * seen of the one that the status names is about to go: its pods have a grace period, which may
 * last longer than the suspension, or than the process that deleted them. Whatever else a
 * suspended run has should not exist. The status must not name that instead: it would forget a
 * number, which then is used again. */
static void delete_cut_short(struct decision *d)
{
    const struct run_status *s = &d->o->status;
    const bool is_suspended = s->phase == RUN_SUSPENDED;
    vec_each (struct observed_gang, g, &d->view.gangs) {
        const struct run_lane *named = run_status_find(s, &g->members[0].id.attempt);
        if (g->has_row) {
            continue;
        }
        if (named != NULL && (is_suspended || named->is_cut_short)) {
            cut_short(d, (size_t)(named - s->lanes), g);
        } else if (is_suspended) {
            save_stray(d, g); /* delete_strays deletes it */
        }
    }
}

/* Deletes gangs whose row is stored, and gangs that should not exist. */
static void delete_strays(struct decision *d)
{
    vec_each (struct observed_gang, g, &d->view.gangs) {
        if (g->is_cut_short || vec_any(&d->lanes, it, it->gang == g)) {
            continue;
        }
        if (!g->has_row) {
            save_stray(d, g);
        }
        delete_gang(d, g);
    }
}

static enum missing_means missing_means(const struct decision *d, const struct lane *l)
{
    if (d->is_interrupted) {
        return MISSING_UNDECIDED;
    }
    /* A plan patches the status after its creations, so a status names complete gangs only. */
    return run_status_find(&d->o->status, &l->current) != NULL ? MISSING_VANISHED
                                                               : MISSING_NOT_CREATED;
}

static void announce_attempt(struct decision *d, const struct lane *l, enum attempt_outcome outcome)
{
    static const struct {
        const char *reason, *what;
    } texts[] = {
        [ATTEMPT_SUCCEEDED] = {NULL, NULL}, /* the usual case: the rows say it */
        [ATTEMPT_VOID] = {"AttemptVoid", "will be retried"},
        [ATTEMPT_FAILED] = {"TrialFailed", "failed"},
        [ATTEMPT_METRICS_UNAVAILABLE] = {"MetricsUnavailable", "has no result"},
        [ATTEMPT_INVALID] = {"TrialInvalid", "is invalid and is repeated"},
    };
    if (texts[outcome].reason == NULL) {
        return;
    }
    plan_event(d->plan, EVENT_WARNING, texts[outcome].reason,
               "point %u, trial %u, attempt %u %s: %s", l->current.point, l->current.trial,
               l->current.number, texts[outcome].what, l->error);
}

/* The command that shows the output of a trial: that of the point's first one needs no number. */
static void put_logs_command(const struct decision *d, uint32_t point, uint32_t trial, char *dst,
                             size_t size)
{
    const size_t where_len = d->o->where == NULL ? 0 : strlen(d->o->where);
    const bool has_where = where_len > 0 && where_len <= WHERE_MAX;
    char number[32] = "";
    if (trial > 0) {
        text_put(number, sizeof(number), " --trial %u", trial);
    }
    text_put(dst, size, "benchctl logs %s%s%s --point %u%s", d->def->name, has_where ? " " : "",
             has_where ? d->o->where : "", point, number);
}

/* The trials of a point that has been given up are not run. */
static void announce_point(struct decision *d, const struct attempt_id *id, uint32_t n_not_run)
{
    char command[192];
    put_logs_command(d, id->point, id->trial, command, sizeof(command));
    plan_event(d->plan, EVENT_WARNING, "PointGivenUp",
               "point %u has failed, so %u trial%s of it %s not run; see %s", id->point, n_not_run,
               n_not_run == 1 ? "" : "s", n_not_run == 1 ? "is" : "are", command);
}

/* Decides the outcome of an ended attempt and writes its cause, for a person, to l->error. */
static enum attempt_outcome decide_outcome(struct decision *d, struct lane *l,
                                           const struct attempt_verdict *verdict)
{
    const enum on_trial_failure policy = d->def->spec->failure_policy.on_trial_failure;
    const int64_t backoff_limit = d->def->spec->run_policy.backoff_limit;
    const uint32_t n_rows =
        decision_view_trial(&d->view, l->current.point, l->current.trial)->n_rows;
    const enum attempt_outcome outcome = retry_decide(verdict->end, policy, n_rows, backoff_limit);
    if (invalid_decide(verdict->end, d->view.counts.invalid,
                       d->def->spec->run_policy.invalid_repeats)) {
        text_put(l->error, sizeof(l->error), "%s", verdict->error);
        return ATTEMPT_INVALID;
    }
    const bool is_last_of_many = n_rows > 0 && outcome == ATTEMPT_FAILED &&
                                 retry_decide(verdict->end, policy, 0, 1) == ATTEMPT_VOID;
    if (is_last_of_many) {
        text_put(l->error, sizeof(l->error), "%s (gave up after %u attempts)", verdict->error,
                 n_rows + 1);
    } else {
        text_put(l->error, sizeof(l->error), "%s",
                 outcome == ATTEMPT_SUCCEEDED ? "" : verdict->error);
    }
    return outcome;
}

/* The queue or the scheduler, which the error quotes, may never let this trial end. */
static void warn_if_often(struct decision *d, const struct lane *l,
                          const struct attempt_verdict *verdict)
{
    const struct attempt_id *id = &l->current;
    const int64_t n =
        (int64_t)id->number - decision_view_trial(&d->view, id->point, id->trial)->seen.last_row;
    if (n % PREEMPTED_OFTEN == 0) {
        plan_event(d->plan, EVENT_WARNING, "PreemptedOften",
                   "point %u, trial %u: %lld attempts in a row had no result, the last one was "
                   "preempted: %s",
                   id->point, id->trial, (long long)n, verdict->error);
    }
}

/* The gang found no room or had to leave it, so it has no result and costs no attempt: it goes, and
 * the next attempt follows. Launchers make a pause before that. */
static void give_way(struct decision *d, struct lane *l, const struct attempt_verdict *verdict)
{
    if (d->is_interrupted) {
        return; /* the end deletes it */
    }
    const bool is_preempted = verdict->end == ATTEMPT_END_PREEMPTED;
    cut_short(d, lane_place(d, l), l->gang);
    plan_event(d->plan, EVENT_WARNING, is_preempted ? PREEMPTED_EVENT : "NoRoom",
               "point %u, trial %u, attempt %u %s and is tried again: %s", l->current.point,
               l->current.trial, l->current.number,
               is_preempted ? "was preempted" : "found no room", verdict->error);
    if (is_preempted) {
        warn_if_often(d, l, verdict);
    }
    lane_retry(d, l);
}

/* If the attempt of the lane has ended: saves its row, deletes its gang, finds what comes next. */
static void judge_lane(struct decision *d, struct lane *l)
{
    struct observed_gang *g = l->gang;
    if (g == NULL) {
        return;
    }
    const struct gang gang = {
        .members = g->members,
        .n_members = g->n_members,
        .size = d->def->matrix.points[l->current.point].replicas,
        .missing = missing_means(d, l),
        .timeout_s = d->def->spec->run_policy.trial_timeout_s,
        .stall_s = d->def->spec->run_policy.stall_s,
    };
    struct attempt_verdict verdict;
    attempt_judge(&gang, d->o->now_unix_ms, &verdict);
    if (!verdict.has_ended) {
        if (verdict.recheck_unix_ms != 0) {
            const int64_t ms = verdict.recheck_unix_ms - d->o->now_unix_ms;
            d->recheck_ms = ms < d->recheck_ms ? ms : d->recheck_ms;
        }
        return;
    }
    if (verdict.end == ATTEMPT_END_NO_ROOM || verdict.end == ATTEMPT_END_PREEMPTED) {
        give_way(d, l, &verdict);
        return;
    }
    const enum attempt_outcome outcome = decide_outcome(d, l, &verdict);
    const uint32_t not_run = d->view.counts.not_run;
    save_attempt(d, g, outcome, l->error);
    announce_attempt(d, l, outcome);
    delete_gang(d, g);
    if (d->def->spec->stop.is_set && outcome == ATTEMPT_SUCCEEDED) {
        d->awaits_row = true; /* how many trials its point needs may depend on its throughput */
        return;
    }
    const struct attempt_id ended = l->current;
    lane_retry(d, l);
    if (!lanes_are_over(d) && d->view.counts.not_run > not_run) { /* else the end says it */
        announce_point(d, &ended, d->view.counts.not_run - not_run);
    }
}

static void count_trials(struct decision *d)
{
    d->status.trials_total = d->view.counts.total;
    d->status.trials_done = d->view.counts.done;
    d->status.trials_failed = d->view.counts.failed;
}

/* Says that the run is no longer suspended, before anything is created: from then on what is seen
 * is not taken for remains of the suspension. The status names the attempt before the next one, so
 * its number is not used again. */
static void leave_suspension(struct decision *d)
{
    if (d->o->status.phase != RUN_SUSPENDED) {
        return;
    }
    count_trials(d);
    vec_each (struct lane, l, &d->lanes) {
        struct run_lane *said = &d->status.lanes[lane_place(d, l)];
        said->has_current = said->is_cut_short = l->has_current && l->current.number > 0;
        if (said->has_current) {
            said->current = l->current;
            said->current.number--;
        }
    }
    text_put(d->status.message, sizeof(d->status.message), "resumed");
    plan_status(d->plan, &d->status);
}

static void create_gang(struct decision *d, const struct lane *l)
{
    const struct point *point = &d->def->matrix.points[l->current.point];
    const struct observed_gang *g = l->gang;
    size_t next = 0; /* member of g that comes next in the same order */
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t index = 0; index < point->replicas[role]; index++) {
            const struct replica_id id = {l->current, role, index};
            if (g != NULL && next < g->n_members && g->members[next].id.role == role &&
                g->members[next].id.index == index) {
                next++;
            } else {
                plan_create(d->plan, &id);
            }
        }
    }
}

static void create_gangs(struct decision *d)
{
    const struct lane *first = NULL;
    uint32_t n = 0;
    vec_each (struct lane, l, &d->lanes) {
        struct run_lane *lane = &d->status.lanes[lane_place(d, l)];
        memset(lane, 0, sizeof(*lane));
        if (l->has_current) {
            create_gang(d, l);
            lane->has_current = true;
            lane->current = l->current;
            first = n++ == 0 || attempt_id_compare(&l->current, &first->current) < 0 ? l : first;
        }
    }
    if (first != NULL) {
        char others[32] = "";
        if (n > 1) {
            text_put(others, sizeof(others), "; and %u more", n - 1);
        }
        text_put(d->status.message, sizeof(d->status.message), "point %u, trial %u, attempt %u%s",
                 first->current.point, first->current.trial, first->current.number, others);
    }
}

/* What keeps the new gang from being started. */
static void tell_wait(struct decision *d)
{
    const struct run_wait *wait = &d->o->wait;
    if (wait_is_news(wait, &d->o->status)) {
        plan_event(d->plan, EVENT_WARNING, wait->reason, "%s", wait->text);
    }
    wait_put(wait, &d->status);
}

/* ---- the run ---- */

/* Time does not count while the run is suspended, or waits for what is not its own: the start moves
 * by the length of the pause when that is over. */
static void count_time(struct decision *d)
{
    const struct run_status *before = &d->o->status;
    const bool was_paused = before->ended_unix_ms > 0 &&
                            (before->phase == RUN_SUSPENDED || wait_stops_clock(before->reason));
    d->is_paused = d->o->request == REQUEST_NONE && !d->o->wait.is_partial &&
                   wait_stops_clock(d->o->wait.reason);
    if (d->is_paused) {
        const int64_t start_unix_ms = d->status.started_unix_ms;
        const int64_t since_unix_ms = d->o->now_unix_ms - d->o->wait.before_ms;
        const int64_t from_unix_ms = since_unix_ms > start_unix_ms ? since_unix_ms : start_unix_ms;
        d->status.ended_unix_ms = was_paused ? before->ended_unix_ms : from_unix_ms;
    } else if (was_paused && d->o->now_unix_ms > before->ended_unix_ms) {
        d->status.started_unix_ms += d->o->now_unix_ms - before->ended_unix_ms;
    }
}

static void start_run(struct decision *d)
{
    const struct run_status *before = &d->o->status;
    d->status.started_unix_ms = before->started_unix_ms;
    if (before->started_unix_ms == 0) {
        const uint32_t n_points = d->def->matrix.n_points, n_trials = d->view.counts.total;
        plan_event(d->plan, EVENT_NORMAL, "RunStarted", "%u point%s, %s%u trial%s", n_points,
                   n_points == 1 ? "" : "s", d->def->spec->stop.is_set ? "up to " : "", n_trials,
                   n_trials == 1 ? "" : "s");
        d->status.started_unix_ms = d->o->now_unix_ms;
    }
    count_time(d);
    if (before->trials_done > d->view.counts.done) {
        const uint32_t n_lost = before->trials_done - d->view.counts.done;
        plan_event(d->plan, EVENT_WARNING, "ResultsLost",
                   "the store has lost %u result%s, so %s will run again", n_lost,
                   n_lost == 1 ? "" : "s", n_lost == 1 ? "its trial" : "their trials");
    }
    d->deadline_ms =
        deadline_remaining_ms(d->status.started_unix_ms, d->def->spec->run_policy.active_deadline_s,
                              d->is_paused ? d->status.ended_unix_ms : d->o->now_unix_ms);
    d->is_interrupted = d->o->request != REQUEST_NONE || d->deadline_ms == 0;
}

/* "5 of 8 trials done, 1 failed, 2 not run, 3 preempted" */
static void put_counts(const struct trial_counts *n, char *dst, size_t size)
{
    char not_run[32] = "", preempted[32] = "";
    if (n->not_run > 0) {
        text_put(not_run, sizeof(not_run), ", %u not run", n->not_run);
    }
    if (n->preempted > 0) {
        text_put(preempted, sizeof(preempted), ", %u preempted", n->preempted);
    }
    text_put(dst, size, "%u of %u trials done, %u failed%s%s", n->done, n->total, n->failed,
             not_run, preempted);
}

/* The counts, and what a run that ends early waited for; else the first failure in the order of
 * trials, then the command that shows more of it, if that fits whole. */
static void describe_end(struct decision *d, bool is_early)
{
    char *dst = d->status.message;
    const size_t size = sizeof(d->status.message);
    char counts[96], command[192];
    put_counts(&d->view.counts, counts, sizeof(counts));
    text_put(dst, size, "%s", counts);
    if (is_early && wait_is_in(&d->o->status)) {
        text_put(dst, size, "%s; %s: %s", counts, d->o->status.reason, d->o->status.message);
        return;
    }
    for (uint32_t i = 0; i < d->def->n_slots; i++) {
        const struct slot *slot = &d->def->slots[i];
        const struct trial *t = decision_view_trial(&d->view, slot->point, slot->trial);
        if (t->is_decided && t->outcome != ATTEMPT_SUCCEEDED) {
            text_put(dst, size, "%s; point %u, trial %u: %s", counts, slot->point, slot->trial,
                     t->error);
            put_logs_command(d, slot->point, slot->trial, command, sizeof(command));
            const size_t len = strlen(dst);
            if (len + strlen("; ") + strlen(command) < size) {
                text_put(dst + len, size - len, "; %s", command);
            }
            return;
        }
    }
}

/* True if the run is over. A live gang is deleted without a row: its attempt was interrupted. If
 * all trials are decided, a cancellation or deadline comes too late. */
static bool end_run(struct decision *d)
{
    struct run_end end = run_end_decide(&d->view.counts, &d->def->spec->failure_policy);
    const bool is_early = !end.is_end;
    if (!end.is_end && d->o->request == REQUEST_CANCEL) {
        end = (struct run_end){true, RUN_CANCELLED, "CancelRequested"};
    } else if (!end.is_end && d->deadline_ms == 0) {
        end = (struct run_end){true, RUN_FAILED, "DeadlineExceeded"};
    }
    d->status.phase = end.phase;
    text_put(d->status.reason, sizeof(d->status.reason), "%s", end.reason);
    if (!end.is_end) {
        return false;
    }
    vec_each (struct lane, l, &d->lanes) {
        const bool stays_interrupted = d->o->request == REQUEST_CANCEL || d->deadline_ms == 0;
        if (l->gang != NULL && stays_interrupted) {
            delete_gang(d, l->gang);
        } else if (l->gang != NULL) { /* a failure in another lane ends the run */
            cut_short(d, lane_place(d, l), l->gang);
        }
    }
    d->status.ended_unix_ms = d->o->now_unix_ms;
    describe_end(d, is_early);
    const bool is_good = end.phase == RUN_SUCCEEDED || end.phase == RUN_CANCELLED;
    plan_event(d->plan, is_good ? EVENT_NORMAL : EVENT_WARNING, end.reason, "%s",
               d->status.message);
    return true;
}

/* Like an end, but not final: a live gang is deleted without a row, and the status names that
 * attempt, so that the next one gets another number. */
static void pause_run(struct decision *d)
{
    const struct run_status *before = &d->o->status;
    const bool is_new = before->phase != RUN_SUSPENDED;
    vec_each (struct lane, l, &d->lanes) {
        if (l->gang != NULL) {
            cut_short(d, lane_place(d, l), l->gang);
        }
    }
    memcpy(d->status.lanes, d->said.lanes, sizeof(d->status.lanes));
    d->status.phase = RUN_SUSPENDED;
    d->status.ended_unix_ms = is_new ? d->o->now_unix_ms : before->ended_unix_ms;
    if (!is_new) {
        d->status.started_unix_ms = before->started_unix_ms;
    }
    text_put(d->status.reason, sizeof(d->status.reason), "SuspendRequested");
    put_counts(&d->view.counts, d->status.message, sizeof(d->status.message));
    if (is_new) {
        plan_event(d->plan, EVENT_NORMAL, "Suspended", "%s", d->status.message);
    }
}

static void write_status(struct decision *d)
{
    count_trials(d);
    if (!run_status_eq(&d->status, &d->o->status)) {
        plan_status(d->plan, &d->status);
    }
}

static void go_on(struct decision *d)
{
    start_run(d);
    delete_cut_short(d);
    lanes_find(d);
    delete_strays(d);
    vec_each (struct lane, l, &d->lanes) {
        judge_lane(d, l);
    }
    if (d->awaits_row) {
        plan_requeue(d->plan, AWAITED_ROW_MS);
        return;
    }
    lanes_find_more(d);
    bool is_over = end_run(d);
    if (!is_over && d->o->request == REQUEST_SUSPEND) {
        pause_run(d);
        is_over = true;
    } else if (!is_over) {
        leave_suspension(d);
        create_gangs(d);
        tell_wait(d);
    }
    write_status(d);
    const int64_t deadline_ms = d->is_paused ? DEADLINE_NONE : d->deadline_ms;
    const int64_t requeue_ms = d->recheck_ms < deadline_ms ? d->recheck_ms : deadline_ms;
    if (!is_over && requeue_ms != DEADLINE_NONE) {
        plan_requeue(d->plan, requeue_ms);
    }
}

void reconcile(const struct observed *observed, struct plan *plan)
{
    struct decision d;
    memset(&d, 0, sizeof(d)); /* padding too: the status goes into the plan byte by byte */
    d.o = observed;
    d.def = observed->def;
    d.plan = plan;
    memcpy(&d.said, &observed->status, sizeof(d.said));
    d.deadline_ms = DEADLINE_NONE;
    d.recheck_ms = DEADLINE_NONE;
    decision_view_init(&d.view, observed);
    delete_unknown(&d);
    if (!run_phase_is_final(observed->status.phase)) {
        go_on(&d);
    } else {
        vec_each (struct observed_gang, g, &d.view.gangs) {
            delete_gang(&d, g); /* stragglers: a finished run only cleans up */
        }
    }
    decision_view_done(&d.view);
    vec_done(&d.lanes);
}
