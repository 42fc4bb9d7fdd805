/* See policy_attempt.h. */
#include "decide/policy_attempt.h"

#include <string.h>

#include <inttypes.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/replica.h"
#include "core/summary.h"
#include "decide/policy_overlap.h"

enum failure_class failure_of_replica(const struct observed_replica *replica)
{
    if (replica->state == REPLICA_LOST) {
        return FAILURE_INFRASTRUCTURE;
    }
    if (replica->state != REPLICA_FAILED) {
        return FAILURE_NONE;
    }
    if (replica->failure != FAILURE_NONE) {
        return replica->failure;
    }
    enum failure_class by_exit = failure_classify_exit(replica->exit_code, 0, false);
    /* It failed for an unknown reason: more likely the machine's fault than the program's. */
    return by_exit == FAILURE_NONE ? FAILURE_INFRASTRUCTURE : by_exit;
}

/* What one walk over the gang finds. */
struct findings {
    const struct observed_replica *cause;    /* the first failure that is no consequence */
    const struct observed_replica *launcher; /* it failed */
    bool has_launcher_done; /* it has succeeded: what becomes of its workers does not matter */
    const struct observed_replica *survivor; /* the first that lost a peer */
    const struct observed_replica *silent;   /* a trainer or worker that succeeded without a summary
                                              that can be used */
    bool has_job_summary;                    /* one speaks for all trainers */
    bool has_missing;
    enum role missing_role;
    uint32_t missing_index;
    bool has_ended;                                  /* any */
    bool has_live;                                   /* any pending or running */
    bool has_live_trainer;                           /* whoever leads (core/replica.h) */
    int64_t trainers_ended_unix_ms;                  /* the last one */
    const struct observed_replica *live_trainer;     /* or worker: the first that has not exited */
    const struct observed_replica *observed_trainer; /* the first whose output is seen live */
    bool has_unstarted;
    int64_t started_unix_ms; /* of the last member to start */
    int64_t output_unix_ms;  /* the last of whoever trains */
};

/* What a gang does after the preemption of a member explains nothing, also where both are seen at
 * once. Failures without a known time come last; at the same time a permanent one explains more. */
static bool is_earlier(const struct observed_replica *a, const struct observed_replica *b)
{
    const bool is_preempted = failure_of_replica(a) == FAILURE_PREEMPTED;
    if (is_preempted != (failure_of_replica(b) == FAILURE_PREEMPTED)) {
        return is_preempted;
    }
    const int64_t at = a->ended_unix_ms == 0 ? INT64_MAX : a->ended_unix_ms;
    const int64_t bt = b->ended_unix_ms == 0 ? INT64_MAX : b->ended_unix_ms;
    if (at != bt) {
        return at < bt;
    }
    return failure_of_replica(a) == FAILURE_PERMANENT && failure_of_replica(b) != FAILURE_PERMANENT;
}

static void look_at_failure(struct findings *f, const struct observed_replica *r)
{
    const struct observed_replica **first = &f->cause;
    if (r->id.role == ROLE_LAUNCHER) {
        first = &f->launcher;
    } else if (failure_of_replica(r) == FAILURE_CONSEQUENCE) {
        first = &f->survivor;
    }
    if (*first == NULL || is_earlier(r, *first)) {
        *first = r;
    }
}

static void look_at_times(struct findings *f, const struct observed_replica *r, bool is_trainer)
{
    f->has_unstarted |= r->started_unix_ms == 0 && !r->has_exited;
    if (r->started_unix_ms > f->started_unix_ms) {
        f->started_unix_ms = r->started_unix_ms;
    }
    if (!is_trainer || r->has_exited) {
        return;
    }
    f->live_trainer = f->live_trainer == NULL ? r : f->live_trainer;
    if (r->output_unix_ms != 0) {
        f->observed_trainer = f->observed_trainer == NULL ? r : f->observed_trainer;
        f->output_unix_ms =
            r->output_unix_ms > f->output_unix_ms ? r->output_unix_ms : f->output_unix_ms;
    }
}

static void look_at_member(struct findings *f, const struct gang *gang,
                           const struct observed_replica *r)
{
    const bool is_trainer = role_leads(r->id.role, gang->size);
    const bool has_succeeded = r->state == REPLICA_SUCCEEDED || /* or its log is still read */
                               (r->state == REPLICA_RUNNING && r->has_exited && r->exit_code == 0);
    f->has_launcher_done |= r->id.role == ROLE_LAUNCHER && has_succeeded;
    switch (r->state) {
    case REPLICA_PENDING:
    case REPLICA_RUNNING:
        f->has_live = true;
        f->has_live_trainer |= is_trainer;
        look_at_times(f, r, is_trainer);
        return;
    case REPLICA_SUCCEEDED:
        f->has_ended = true;
        if (is_trainer && r->ended_unix_ms > f->trainers_ended_unix_ms) {
            f->trainers_ended_unix_ms = r->ended_unix_ms;
        }
        if (is_trainer && !summary_is_usable(r->summary) && f->silent == NULL) {
            f->silent = r;
        }
        f->has_job_summary |=
            is_trainer && summary_is_usable(r->summary) && r->summary->source.is_job;
        return;
    case REPLICA_FAILED:
    case REPLICA_LOST:
        f->has_ended = true;
        look_at_failure(f, r);
        return;
    }
}

static struct findings look_at_gang(const struct gang *gang)
{
    struct findings f = {0};
    size_t next = 0;
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t index = 0; index < gang->size[role]; index++) {
            const struct observed_replica *r = &gang->members[next];
            if (next < gang->n_members && r->id.role == role && r->id.index == index) {
                look_at_member(&f, gang, r);
                next++;
            } else if (!f.has_missing) {
                f.has_missing = true;
                f.missing_role = role;
                f.missing_index = index;
            }
        }
    }
    return f;
}

static const enum attempt_end end_of_class[] = {
    [FAILURE_NONE] = ATTEMPT_END_INFRASTRUCTURE,
    [FAILURE_PERMANENT] = ATTEMPT_END_PERMANENT,
    [FAILURE_INFRASTRUCTURE] = ATTEMPT_END_INFRASTRUCTURE,
    [FAILURE_CONSEQUENCE] = ATTEMPT_END_INFRASTRUCTURE,
    [FAILURE_NO_ROOM] = ATTEMPT_END_NO_ROOM,
    [FAILURE_PREEMPTED] = ATTEMPT_END_PREEMPTED,
    [FAILURE_WAIT_OVER] = ATTEMPT_END_WAIT_OVER,
};

/* Whether the loader or Python said that a library is missing: any other attempt lacks it, too. */
static bool lacks_library(const char *message)
{
    return strstr(message, "cannot open shared object file") != NULL ||
           strstr(message, "ModuleNotFoundError: No module named") != NULL;
}

static void end_with_cause(struct attempt_verdict *ret, const struct observed_replica *r)
{
    char code[32] = "failed";
    if (r->state != REPLICA_LOST && r->exit_code > 0) {
        text_put(code, sizeof(code), "exit code %d", r->exit_code);
    }
    const char *what = r->message != NULL && r->message[0] != '\0' ? r->message
                       : r->state == REPLICA_LOST                  ? "vanished"
                                                                   : code;
    ret->has_ended = true;
    ret->end = lacks_library(what) ? ATTEMPT_END_LACKING : end_of_class[failure_of_replica(r)];
    text_put(ret->error, sizeof(ret->error), "%s/%u: %s", role_to_string(r->id.role), r->id.index,
             what);
}

static void end_with_missing(struct attempt_verdict *ret, const struct findings *f, const char *why)
{
    ret->has_ended = true;
    ret->end = ATTEMPT_END_INFRASTRUCTURE;
    text_put(ret->error, sizeof(ret->error), "%s/%u: %s", role_to_string(f->missing_role),
             f->missing_index, why);
}

/* What is known of the peer that a survivor names, which still seems to run; NULL: nothing. */
static const char *known_of_blamed(const struct gang *gang, const struct observed_replica *s)
{
    for (size_t i = 0; i < gang->n_members; i++) {
        const struct observed_replica *r = &gang->members[i];
        if (s->has_blamed && r->id.role == s->blamed_role && r->id.index == s->blamed_index &&
            r->state == REPLICA_RUNNING) {
            return r->message;
        }
    }
    return NULL;
}

/* Somebody still runs, and may be seen to have failed until then. */
static bool may_show_cause(const struct findings *f, int64_t until_unix_ms, int64_t now_unix_ms,
                           struct attempt_verdict *ret)
{
    if (!f->has_live || now_unix_ms >= until_unix_ms) {
        return false;
    }
    ret->recheck_unix_ms = until_unix_ms;
    return true;
}

/* The peer that a survivor names, as the number of a member; the number of members if the peer is
 * not one. */
static size_t number_of_blamed(const struct gang *gang, const struct observed_replica *s)
{
    return s->blamed_index < gang->size[s->blamed_role]
               ? member_number(gang->size, s->blamed_role, s->blamed_index)
               : member_count(gang->size);
}

static bool names_a_peer(const struct observed_replica *r)
{
    return r->id.role != ROLE_LAUNCHER && failure_of_replica(r) == FAILURE_CONSEQUENCE &&
           r->has_blamed;
}

/* The survivor whose word counts: the first of those that name the peer that most of them name.
 * Both sides of a cut link name each other, and the replica that is cut off may be the first to do
 * so; but all others agree. */
static const struct observed_replica *speaker(const struct findings *f, const struct gang *gang)
{
    const struct observed_replica *best = f->survivor;
    uint32_t most = 0;
    _cleanup_(freep) uint32_t *votes = xnew_array(uint32_t, member_count(gang->size) + 1);
    for (size_t i = 0; i < gang->n_members; i++) {
        if (names_a_peer(&gang->members[i])) {
            votes[number_of_blamed(gang, &gang->members[i])]++;
        }
    }
    for (size_t i = 0; i < gang->n_members; i++) {
        const struct observed_replica *r = &gang->members[i];
        const uint32_t n = names_a_peer(r) ? votes[number_of_blamed(gang, r)] : 0;
        if (n > most || (n > 0 && n == most && is_earlier(r, best))) {
            best = r;
            most = n;
        }
    }
    return best;
}

/* Only survivors have failed: the peer that they name is the cause. */
static void judge_survivor(const struct findings *f, const struct gang *gang, int64_t now_unix_ms,
                           struct attempt_verdict *ret)
{
    const struct observed_replica *s = f->survivor;
    if (may_show_cause(f, s->ended_unix_ms + ATTEMPT_CONSEQUENCE_GRACE_MS, now_unix_ms, ret)) {
        return;
    }
    s = speaker(f, gang);
    const char *role = role_to_string(s->id.role);
    const char *message = s->message != NULL ? s->message : "exit code 11";
    ret->has_ended = true;
    ret->end = ATTEMPT_END_INFRASTRUCTURE;
    const char *known = known_of_blamed(gang, s);
    if (s->has_blamed) {
        text_put(ret->error, sizeof(ret->error), "%s/%u: %s%slost, reported by %s/%u: %s",
                 role_to_string(s->blamed_role), s->blamed_index, known == NULL ? "" : known,
                 known == NULL ? "" : "; ", role, s->id.index, message);
    } else {
        text_put(ret->error, sizeof(ret->error), "%s/%u: lost a peer: %s", role, s->id.index,
                 message);
    }
}

/* A replica that succeeded has a message if one of its records was damaged (perhaps the summary),
 * or if its log has no figure. The cause is its first line. */
static void say_silent(struct attempt_verdict *ret, const struct gang *gang,
                       const struct observed_replica *r)
{
    const bool is_refused = r->summary != NULL;
    const char *why = is_refused ? summary_fault(r->summary) : r->message;
    const char *separator = why == NULL ? "" : is_refused ? ": " : "; ";
    const int why_len = why == NULL ? 0 : (int)strcspn(why, "\n");
    if (r->has_log_rule && why != NULL) { /* no summary of it is expected */
        const char *role = role_to_string(r->id.role);
        const struct observed_replica *other =
            array_find(gang->members, gang->n_members, it,
                       it->has_log_rule && it->summary != NULL && it->id.role == r->id.role);
        text_put(ret->error, sizeof(ret->error), "%s/%u: %.*s", role, r->id.index, why_len, why);
        if (other != NULL) {
            const size_t used = strlen(ret->error);
            text_put(ret->error + used, sizeof(ret->error) - used,
                     ", but %s/%u printed figures; where one %s prints for all, add 'scope: Each' "
                     "to the line of the rule ('scope: Job' if its figure is of all together)",
                     role, other->id.index, role);
        }
        return;
    }
    text_put(ret->error, sizeof(ret->error), "%s/%u: succeeded but %s%s%.*s",
             role_to_string(r->id.role), r->id.index,
             is_refused ? SUMMARY_REFUSED : SUMMARY_MISSING, separator, why_len,
             why == NULL ? "" : why);
}

/* The launcher failed, and no other replica has yet. */
static void judge_launcher(const struct findings *f, int64_t now_unix_ms,
                           struct attempt_verdict *ret)
{
    const int64_t until_unix_ms = f->launcher->ended_unix_ms + ATTEMPT_LAUNCHER_GRACE_MS;
    if (!may_show_cause(f, until_unix_ms, now_unix_ms, ret)) {
        end_with_cause(ret, f->launcher);
    }
}

/* All is well but for the machine of some member. */
static void judge_noise(const struct gang *gang, struct attempt_verdict *ret)
{
    char why[ATTEMPT_ERROR_SIZE];
    for (size_t i = 0; i < gang->n_members; i++) {
        const struct observed_replica *r = &gang->members[i];
        if (r->summary != NULL && noise_is_invalid(&r->summary->noise, why, sizeof(why))) {
            ret->end = ATTEMPT_END_NOISY;
            text_put(ret->error, sizeof(ret->error), "%s/%u: %s", role_to_string(r->id.role),
                     r->id.index, why);
            return;
        }
    }
}

static void judge_success(const struct findings *f, const struct gang *gang, int64_t now_unix_ms,
                          struct attempt_verdict *ret)
{
    if (f->has_live && gang->size[ROLE_LAUNCHER] == 0) { /* pservers alone */
        const int64_t until_unix_ms = f->trainers_ended_unix_ms + ATTEMPT_PSERVER_GRACE_MS;
        if (now_unix_ms < until_unix_ms) {
            ret->recheck_unix_ms = until_unix_ms;
            return;
        }
    }
    ret->has_ended = true;
    ret->end = ATTEMPT_END_WELL;
    if (f->silent != NULL && !f->has_job_summary) {
        ret->end = ATTEMPT_END_NO_SUMMARY;
        say_silent(ret, gang, f->silent);
    } else {
        judge_noise(gang, ret);
    }
}

/* True: those that lead did not run together. For lack of room that is tried again without limit;
 * anything else is likely to happen again, so it counts as an attempt. */
static bool judge_overlap(const struct gang *gang, struct attempt_verdict *ret)
{
    struct overlap overlap;
    overlap_find(gang->members, gang->n_members, &gang->members->id.attempt, gang->size, &overlap);
    if (overlap.late != NULL) {
        ret->has_ended = true;
        ret->end = overlap.is_for_room ? ATTEMPT_END_NO_ROOM : ATTEMPT_END_INFRASTRUCTURE;
        text_put(ret->error, sizeof(ret->error), "%s", overlap.words);
    }
    return ret->has_ended;
}

/* True: the limit has passed, and the attempt has ended. Else it is judged again when it will. */
static bool judge_limit(const struct observed_replica *r, int64_t from_unix_ms, int64_t limit_s,
                        int64_t now_unix_ms, struct attempt_verdict *ret)
{
    if (limit_s == 0 || r == NULL) {
        return false;
    }
    const int64_t until_unix_ms = from_unix_ms + limit_s * 1000;
    if (now_unix_ms < until_unix_ms) {
        if (ret->recheck_unix_ms == 0 || until_unix_ms < ret->recheck_unix_ms) {
            ret->recheck_unix_ms = until_unix_ms;
        }
        return false;
    }
    *ret = (struct attempt_verdict){.has_ended = true, .end = ATTEMPT_END_TIMED_OUT};
    return true;
}

static void judge_limits(const struct findings *f, const struct gang *gang, int64_t now_unix_ms,
                         struct attempt_verdict *ret)
{
    if (f->has_unstarted) {
        return; /* the time that images and nodes take is not the trial's */
    }
    const struct observed_replica *r = f->live_trainer, *o = f->observed_trainer;
    if (judge_limit(r, f->started_unix_ms, gang->timeout_s, now_unix_ms, ret)) {
        text_put(ret->error, sizeof(ret->error),
                 "%s/%u: still running after %" PRId64 " s (runPolicy.trialTimeoutSeconds)",
                 role_to_string(r->id.role), r->id.index, gang->timeout_s);
    } else if (judge_limit(o, f->output_unix_ms, gang->stall_s, now_unix_ms, ret)) {
        text_put(ret->error, sizeof(ret->error),
                 "%s/%u: no output for %" PRId64 " s (runPolicy.stallSeconds)",
                 role_to_string(o->id.role), o->id.index, gang->stall_s);
    }
}

void attempt_judge(const struct gang *gang, int64_t now_unix_ms, struct attempt_verdict *ret)
{
    *ret = (struct attempt_verdict){0};
    const struct findings f = look_at_gang(gang);

    if (f.has_missing && gang->missing == MISSING_UNDECIDED) {
        return;
    }
    if (f.has_launcher_done) {
        if (!f.has_live_trainer) {
            judge_success(&f, gang, now_unix_ms, ret);
        }
    } else if (f.cause != NULL) {
        end_with_cause(ret, f.cause);
    } else if (f.has_missing && gang->missing == MISSING_VANISHED) {
        end_with_missing(ret, &f, "vanished");
    } else if (f.has_missing && f.has_ended) {
        end_with_missing(ret, &f, "was not created before another replica ended");
    } else if (f.survivor != NULL) {
        judge_survivor(&f, gang, now_unix_ms, ret);
    } else if (f.launcher != NULL) {
        judge_launcher(&f, now_unix_ms, ret);
    } else if (judge_overlap(gang, ret)) {
        return;
    } else if (!f.has_missing && !f.has_live_trainer) {
        judge_success(&f, gang, now_unix_ms, ret);
    } else if (!f.has_missing) {
        judge_limits(&f, gang, now_unix_ms, ret);
    }
}

uint32_t attempt_number(const struct attempt_seen *seen)
{
    if (seen->is_status_live) {
        return (uint32_t)seen->last_status;
    }
    if (seen->last_live > seen->last_row) {
        return (uint32_t)seen->last_live;
    }
    const int64_t last = seen->last_row > seen->last_status ? seen->last_row : seen->last_status;
    return (uint32_t)(last + 1);
}

/* ---- whether the trial is retried ---- */

enum attempt_outcome retry_decide(enum attempt_end end, enum on_trial_failure on_trial_failure,
                                  uint32_t attempts_before, int64_t backoff_limit)
{
    const bool has_attempts_left = (int64_t)attempts_before < backoff_limit;

    switch (end) {
    case ATTEMPT_END_WELL:
    case ATTEMPT_END_NOISY: /* it has its numbers; invalid_decide may still refuse them */
        return ATTEMPT_SUCCEEDED;
    case ATTEMPT_END_NO_SUMMARY:
        /* The program ran as configured: another attempt would have no summary either. */
        return ATTEMPT_METRICS_UNAVAILABLE;
    case ATTEMPT_END_NO_ROOM: /* these get no row, and another attempt follows */
    case ATTEMPT_END_PREEMPTED:
        return ATTEMPT_VOID;
    case ATTEMPT_END_WAIT_OVER: /* the next one would wait as long */
    case ATTEMPT_END_LACKING:
        return ATTEMPT_FAILED;
    case ATTEMPT_END_INFRASTRUCTURE:
        return has_attempts_left ? ATTEMPT_VOID : ATTEMPT_FAILED;
    case ATTEMPT_END_TIMED_OUT: /* once: a hang may be chance, but each costs the whole limit */
        return has_attempts_left && attempts_before == 0 ? ATTEMPT_VOID : ATTEMPT_FAILED;
    case ATTEMPT_END_PERMANENT:
        return has_attempts_left && on_trial_failure == ON_FAILURE_RETRY ? ATTEMPT_VOID
                                                                         : ATTEMPT_FAILED;
    }
    return ATTEMPT_FAILED;
}

bool invalid_decide(enum attempt_end end, uint32_t invalid_before, int64_t invalid_repeats)
{
    return end == ATTEMPT_END_NOISY && (int64_t)invalid_before < invalid_repeats;
}
