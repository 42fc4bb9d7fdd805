/* See prop_world.h. */
#include "prop_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/record.h"
#include "decide/policy_attempt.h"
#include "failure_names.h"
#include "plan_format.h"
#include "spec/stop_rule.h"

/* ---- random numbers: splitmix64 ---- */

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

uint64_t rng_next(struct rng *r)
{
    r->state += 0x9E3779B97F4A7C15U;
    return mix(r->state);
}

uint32_t rng_below(struct rng *r, uint32_t n)
{
    return (uint32_t)(rng_next(r) % n);
}

bool rng_percent(struct rng *r, uint32_t percent)
{
    return rng_below(r, 100) < percent;
}

/* ---- definition ---- */

void sim_init(struct sim *sim, struct test_run *run, struct rng *rng)
{
    *sim = (struct sim){.run = run, .now_ms = 1000000, .fate_seed = rng_next(rng)};
    test_run_init(run);
    const uint32_t n_points = 1 + rng_below(rng, 3);
    for (uint32_t i = 0; i < n_points; i++) {
        if (rng_percent(rng, 20)) {
            test_run_add_point(run, 0, 0, 1 + rng_below(rng, 3));
        } else {
            test_run_add_point(run, rng_below(rng, 3), 1 + rng_below(rng, 3), 0);
        }
    }
    run->spec.stop.is_set = rng_percent(rng, 40);
    run->spec.stop.half_width_ratio = 0.02 * (1 + rng_below(rng, 5));
    run->spec.min_repeats = 3;
    run->def.scheduling.trials = rng_percent(rng, 50) ? 1 : 2 + rng_below(rng, 3);
    test_run_set_repeats(run, (run->spec.stop.is_set ? 4 : 1) + rng_below(rng, 3));
    for (uint32_t i = run->def.n_slots - 1; i > 0; i--) { /* any order of trials is one */
        const uint32_t j = rng_below(rng, i + 1);
        const struct slot tmp = run->slots[i];
        run->slots[i] = run->slots[j];
        run->slots[j] = tmp;
    }
    run->spec.failure_policy.on_trial_failure = (enum on_trial_failure)rng_below(rng, 3);
    run->spec.failure_policy.max_failed_trials = rng_below(rng, 4);
    run->spec.run_policy.backoff_limit = rng_below(rng, 4);
    run->spec.run_policy.active_deadline_s = rng_percent(rng, 20) ? 5 + rng_below(rng, 120) : 0;
    run->spec.run_policy.invalid_repeats = rng_below(rng, 3);
}

/* ---- fate ---- */

enum fate_kind {
    FATE_WELL,
    FATE_PSERVERS_STAY, /* foreign ones: they end by nobody's goodbye */
    FATE_NO_SUMMARY,
    FATE_NOISY, /* the machine of one was another afterwards */
    FATE_INFRASTRUCTURE,
    FATE_PREEMPTED,
    FATE_NO_ROOM,
    FATE_PERMANENT,
    FATE_VANISH,
    FATE_LOST,
    FATE_SILENT, /* it goes on, its peers give up */
    FATE_KIND_COUNT,
};

struct fate { /* of one attempt */
    enum fate_kind kind;
    uint32_t victim;          /* chosen among the members */
    int64_t at_ms;            /* after its creation */
    bool has_survivors_leave; /* the others notice: exit 11 */
    int64_t notice_ms;
    struct rng rest;
};

static uint32_t gang_size(const struct point *point)
{
    return point->replicas[0] + point->replicas[1] + point->replicas[2];
}

static uint32_t ordinal(const struct point *point, const struct replica_id *id)
{
    uint32_t n = id->index;
    for (enum role role = 0; role < id->role; role++) {
        n += point->replicas[role];
    }
    return n;
}

static struct fate fate_of_attempt(const struct sim *sim, const struct replica_id *id)
{
    struct rng r = {mix(sim->fate_seed ^ mix(id->attempt.point + 1)) ^
                    mix(id->attempt.trial + 100) ^ mix(id->attempt.number + 10000)};
    struct fate f = {0};
    f.kind = rng_percent(&r, 55) ? FATE_WELL : (enum fate_kind)rng_below(&r, FATE_KIND_COUNT);
    f.victim = rng_below(&r, gang_size(&sim->run->points[id->attempt.point]));
    f.at_ms = 100 + rng_below(&r, 6000);
    f.has_survivors_leave = rng_percent(&r, 60);
    f.notice_ms = rng_percent(&r, 50) ? rng_below(&r, 50) : 6000;
    f.rest = r;
    return f;
}

static void end_replica(struct sim_replica *r, enum replica_state state, int exit_code,
                        int64_t at_ms)
{
    r->seen.state = state;
    r->seen.exit_code = exit_code;
    r->seen.ended_unix_ms = at_ms;
}

static void fail_victim(struct sim_replica *r, struct fate *f, int64_t at_ms)
{
    static const int permanent[] = {1, 2, 10, 12, 255};
    switch (f->kind) {
    case FATE_PERMANENT:
        end_replica(r, REPLICA_FAILED, permanent[rng_below(&f->rest, 5)], at_ms);
        r->seen.failure = FAILURE_PERMANENT;
        r->seen.message = "wrong";
        return;
    case FATE_LOST:
        end_replica(r, REPLICA_LOST, -1, rng_percent(&f->rest, 50) ? at_ms : 0);
        return;
    default:
        end_replica(r, REPLICA_FAILED, rng_percent(&f->rest, 50) ? -1 : 13, at_ms);
        r->seen.failure = f->kind == FATE_NO_ROOM     ? FAILURE_NO_ROOM
                          : f->kind == FATE_PREEMPTED ? FAILURE_PREEMPTED
                                                      : FAILURE_INFRASTRUCTURE;
        r->seen.message = "killed";
        return;
    }
}

static void leave_as_survivor(struct sim_replica *r, const struct point *point,
                              const struct fate *f, int64_t at_ms)
{
    end_replica(r, REPLICA_FAILED, 11, at_ms);
    r->seen.failure = FAILURE_CONSEQUENCE;
    r->seen.message = "connection reset";
    r->seen.has_blamed = true;
    uint32_t index = f->victim;
    enum role role = 0;
    while (index >= point->replicas[role]) {
        index -= point->replicas[role++];
    }
    r->seen.blamed_role = role;
    r->seen.blamed_index = index;
}

/* False: it vanishes. */
static bool advance_replica(struct sim *sim, struct sim_replica *r)
{
    if (r->seen.ended_unix_ms != 0 || r->seen.state == REPLICA_LOST) {
        return true;
    }
    const bool is_full = (sim->fate_seed + (uint64_t)sim->now_ms / 10000) % 4 == 0;
    if (r->seen.state == REPLICA_PENDING && is_full) {
        r->created_ms = sim->now_ms;
        sim->lacks_place = true;
        return true;
    }
    const struct point *point = &sim->run->points[r->seen.id.attempt.point];
    struct fate f = fate_of_attempt(sim, &r->seen.id);
    const int64_t age_ms = sim->now_ms - r->created_ms;
    if (age_ms >= 50) {
        r->seen.state = REPLICA_RUNNING;
    }
    const bool is_victim = ordinal(point, &r->seen.id) == f.victim;
    if (f.kind >= FATE_INFRASTRUCTURE) {
        if (is_victim && age_ms >= f.at_ms && f.kind == FATE_VANISH) {
            return false;
        } else if (is_victim && age_ms >= f.at_ms && f.kind != FATE_SILENT) {
            fail_victim(r, &f, r->created_ms + f.at_ms);
            return true;
        } else if (!is_victim && age_ms >= f.at_ms + f.notice_ms &&
                   (f.has_survivors_leave || f.kind == FATE_SILENT)) {
            leave_as_survivor(r, point, &f, r->created_ms + f.at_ms + f.notice_ms);
            return true;
        }
    }
    /* Nobody gets on with a silent peer; alone, there is nobody to be silent to. */
    const bool ends = f.kind != FATE_SILENT || gang_size(point) == 1;
    const bool is_pserver = r->seen.id.role == ROLE_PSERVER;
    const int64_t life_ms = 7000 + 10 * (int64_t)r->seen.id.index + (is_pserver ? 500 : 0);
    if (ends && age_ms >= life_ms && !(is_pserver && f.kind == FATE_PSERVERS_STAY)) {
        end_replica(r, REPLICA_SUCCEEDED, 0, r->created_ms + life_ms);
        r->seen.has_summary = !is_pserver && !(f.kind == FATE_NO_SUMMARY && is_victim);
        if (f.kind == FATE_NOISY && is_victim) {
            static const struct noise noisy = {{1000, 1000}, {800, 1000}, 0, 0};
            r->seen.noise = &noisy;
        }
    }
    return true;
}

/* Whoever made it takes it down after a while. */
static void advance_foreign(const struct sim *sim, struct sim_replica *r)
{
    if (r->seen.state <= REPLICA_RUNNING && sim->now_ms >= r->created_ms + 20000) {
        end_replica(r, REPLICA_FAILED, 143, sim->now_ms);
    }
}

void sim_advance(struct sim *sim, int64_t ms)
{
    sim->now_ms += ms;
    sim->own_ms += sim->status.phase != RUN_QUEUED ? ms : 0;
    sim->lacks_place = false;
    size_t kept = 0;
    for (size_t i = 0; i < sim->n_replicas; i++) {
        struct sim_replica *r = &sim->replicas[i];
        if (r->is_foreign) {
            advance_foreign(sim, r);
        } else if (!advance_replica(sim, r)) {
            continue;
        }
        sim->replicas[kept++] = *r;
    }
    sim->n_replicas = kept;
}

/* ---- the driver's side ---- */

/* What a trial that succeeds reaches: some points are calm, some are not. */
static double throughput_of(const struct sim *sim, uint32_t point, uint32_t trial)
{
    const double spread = 0.005 * (double)(1 + mix(sim->fate_seed + point) % 8);
    const uint64_t drawn = mix(sim->fate_seed ^ mix(1000 * (point + 1) + trial));
    return 100 * (1 + spread * ((double)(drawn % 1000) / 500 - 1));
}

bool sim_point_has_enough(const struct sim *sim, uint32_t point)
{
    const struct spec *spec = &sim->run->spec;
    double values[TEST_RUN_MAX_SLOTS];
    uint32_t n_values = 0, n_decided = 0;
    for (uint32_t trial = 0; trial < spec->repeats; trial++) {
        const struct sim_row *decides = NULL;
        for (size_t i = 0; i < sim->n_rows; i++) {
            const struct sim_row *row = &sim->rows[i];
            if (row->point == point && row->trial == trial &&
                attempt_outcome_decides(row->outcome) &&
                (decides == NULL || row->attempt < decides->attempt)) {
                decides = row;
            }
        }
        n_decided += decides != NULL;
        if (decides != NULL && decides->outcome == ATTEMPT_SUCCEEDED) {
            values[n_values++] = throughput_of(sim, point, trial);
        }
    }
    const uint32_t needed = stop_rule_needed(spec, values, n_values);
    return n_decided >= stop_rule_trials(spec, needed, n_decided, n_values);
}

void sim_observe(const struct sim *sim, struct rng *order, struct snapshot *ret)
{
    ret->observed = (struct observed){
        .def = &sim->run->def,
        .request = sim->request,
        .now_unix_ms = sim->now_ms,
        .status = sim->status,
        .replicas = ret->replicas,
        .history = &ret->history,
    };
    if (sim->lacks_place) {
        ret->observed.wait = (struct run_wait){.reason = "WaitsForNodes", .text = "full"};
    }
    ret->n_rows = 0;
    for (size_t i = 0; i < sim->n_replicas; i++) {
        const size_t at = rng_below(order, (uint32_t)(ret->observed.n_replicas + 1));
        ret->replicas[ret->observed.n_replicas++] = ret->replicas[at];
        ret->replicas[at] = sim->replicas[i].seen;
    }
    for (size_t i = 0; i < sim->n_rows; i++) {
        const struct sim_row *row = &sim->rows[i];
        if (row->acknowledged_ms > sim->now_ms) {
            continue;
        }
        const size_t at = rng_below(order, (uint32_t)(ret->n_rows + 1));
        ret->rows[ret->n_rows++] = ret->rows[at];
        ret->rows[at] = (struct attempt_row){
            .id.point = row->point,
            .id.trial = row->trial,
            .id.number = row->attempt,
            .outcome = row->outcome,
            .error = row->error[0] != '\0' ? (char *)row->error : NULL,
        };
    }
    attempt_history_init(&ret->history, ret->observed.def);
    for (size_t i = 0; i < ret->n_rows; i++) {
        const struct attempt_row *row = &ret->rows[i];
        const double x = throughput_of(sim, row->id.point, row->id.trial);
        attempt_history_add(&ret->history,
                            &(struct history_row){
                                .id = row->id,
                                .outcome = row->outcome,
                                .error = row->error,
                                .throughput = row->outcome == ATTEMPT_SUCCEEDED ? x : NAN,
                            });
    }
}

static struct sim_replica *find_replica(struct sim *sim, const struct replica_id *id)
{
    for (size_t i = 0; i < sim->n_replicas; i++) {
        const struct replica_id *other = &sim->replicas[i].seen.id;
        if (attempt_id_eq(&other->attempt, &id->attempt) && other->role == id->role &&
            other->index == id->index) {
            return &sim->replicas[i];
        }
    }
    return NULL;
}

static struct sim_row *find_row(struct sim *sim, uint32_t point, uint32_t trial, uint32_t attempt)
{
    for (size_t i = 0; i < sim->n_rows; i++) {
        struct sim_row *row = &sim->rows[i];
        if (row->point == point && row->trial == trial && row->attempt == attempt) {
            return row;
        }
    }
    return NULL;
}

bool sim_point_is_given_up(const struct sim *sim, uint32_t point)
{
    bool has_failed = false, has_succeeded = false;
    for (size_t i = 0; i < sim->n_rows; i++) {
        const struct sim_row *row = &sim->rows[i];
        if (row->point == point) {
            has_succeeded |= row->outcome == ATTEMPT_SUCCEEDED;
            has_failed |=
                row->outcome == ATTEMPT_FAILED || row->outcome == ATTEMPT_METRICS_UNAVAILABLE;
        }
    }
    return has_failed && !has_succeeded;
}

static bool is_of_run(const struct sim *sim, const struct replica_id *id)
{
    return id->attempt.point < sim->run->def.matrix.n_points &&
           id->attempt.trial < sim->run->spec.repeats &&
           id->index < sim->run->points[id->attempt.point].replicas[id->role];
}

/* Of other attempts that live none is of the same point, and each has a lane. */
static bool has_free_lane(const struct sim *sim, const struct attempt_id *id)
{
    uint32_t n = 1;
    for (size_t i = 0; i < sim->n_replicas; i++) {
        const struct attempt_id *other = &sim->replicas[i].seen.id.attempt;
        size_t first = 0;
        while (!attempt_id_eq(&sim->replicas[first].seen.id.attempt, other)) {
            first++;
        }
        if (first == i && !attempt_id_eq(other, id)) {
            n++;
            if (other->point == id->point) {
                return false;
            }
        }
    }
    return n <= sim->run->def.scheduling.trials;
}

static const char *apply_create(struct sim *sim, const struct replica_id *id)
{
    if (run_phase_is_final(sim->status.phase)) {
        return "a finished run creates nothing";
    }
    if (!is_of_run(sim, id)) {
        return "no replica beyond the definition";
    }
    if (find_replica(sim, id) != NULL) {
        return "no replica twice";
    }
    if (!has_free_lane(sim, &id->attempt)) {
        return "one gang a lane, and none of a point that another lane measures";
    }
    for (size_t i = 0; i < sim->n_replicas; i++) {
        const struct replica_id *other = &sim->replicas[i].seen.id;
        if (attempt_id_eq(&other->attempt, &id->attempt) &&
            sim->replicas[i].seen.state >= REPLICA_SUCCEEDED) {
            return "nobody joins a gang that has begun to end";
        }
    }
    if (find_row(sim, id->attempt.point, id->attempt.trial, id->attempt.number) != NULL) {
        return "no replica of an attempt that has a row";
    }
    if (sim_point_is_given_up(sim, id->attempt.point)) {
        return "a point that is given up is not tried again";
    }
    if (sim->run->spec.stop.is_set && sim_point_has_enough(sim, id->attempt.point)) {
        return "a point that has enough trials gets no more";
    }
    sim->replicas[sim->n_replicas++] = (struct sim_replica){
        .seen = {.id = *id, .state = REPLICA_PENDING},
        .created_ms = sim->now_ms,
    };
    return sim->n_replicas < SIM_MAX_REPLICAS ? NULL : "the world is big enough";
}

static const char *apply_delete(struct sim *sim, const struct replica_id *id)
{
    struct sim_replica *r = find_replica(sim, id);
    if (r == NULL) {
        return "nothing is deleted that is not there";
    }
    const struct sim_row *row =
        find_row(sim, id->attempt.point, id->attempt.trial, id->attempt.number);
    const bool is_kept = row != NULL && row->acknowledged_ms <= sim->now_ms;
    const int64_t deadline_ms = sim->run->spec.run_policy.active_deadline_s * 1000;
    const struct run_lane *named = run_status_find(&sim->status, &id->attempt);
    const bool is_cut_short = (named != NULL && named->is_cut_short) ||
                              sim->request == REQUEST_CANCEL ||
                              (deadline_ms != 0 && sim->status.started_unix_ms != 0 &&
                               sim->now_ms >= sim->status.started_unix_ms + deadline_ms);
    if (!is_kept && !is_cut_short && is_of_run(sim, id) && !run_phase_is_final(sim->status.phase)) {
        return "no replica is deleted before its row is kept, or its attempt is said to be cut "
               "short";
    }
    *r = sim->replicas[--sim->n_replicas];
    return NULL;
}

/* What the world knows of a gang, counted apart from the policies. */
struct headcount {
    uint32_t n_members, n_failed, n_noisy, n_preempted;
    uint32_t n_trainers_done, n_trainers_mute; /* workers too */
};

static struct headcount count_heads(const struct sim *sim, const struct action *a)
{
    struct headcount n = {0};
    for (size_t i = 0; i < sim->n_replicas; i++) {
        const struct observed_replica *r = &sim->replicas[i].seen;
        if (!attempt_id_eq(&r->id.attempt, &a->save.id) || !is_of_run(sim, &r->id)) {
            continue;
        }
        n.n_members++;
        n.n_failed += r->state == REPLICA_FAILED || r->state == REPLICA_LOST;
        n.n_preempted += r->failure == FAILURE_PREEMPTED;
        n.n_noisy += r->has_summary && r->noise != NULL;
        if (r->id.role != ROLE_PSERVER && r->state == REPLICA_SUCCEEDED) {
            n.n_trainers_done += r->has_summary;
            n.n_trainers_mute += !r->has_summary;
        }
    }
    return n;
}

/* NULL, or how a row contradicts its gang. */
static const char *contradiction(const struct sim *sim, const struct action *a)
{
    const struct headcount n = count_heads(sim, a);
    const struct point *point = &sim->run->points[a->save.id.point];
    const uint32_t n_trainers = point->replicas[ROLE_TRAINER] + point->replicas[ROLE_WORKER];
    const bool is_whole = n.n_members == gang_size(point);
    /* A point whose rows were lost may have failed by those that are left: its
     * attempt is due no more. */
    const bool is_due = run_status_find(&sim->status, &a->save.id) != NULL &&
                        !sim_point_is_given_up(sim, a->save.id.point) &&
                        !sim_point_has_enough(sim, a->save.id.point);
    int64_t n_invalid = 0;
    for (size_t i = 0; i < sim->n_rows; i++) {
        n_invalid += sim->rows[i].outcome == ATTEMPT_INVALID;
    }
    if (n.n_members == 0) {
        return "a row is kept while its gang is there to be read";
    }
    switch (a->save.outcome) {
    case ATTEMPT_SUCCEEDED:
        if (n.n_noisy > 0 && n_invalid < sim->run->spec.run_policy.invalid_repeats) {
            return "Succeeded: on a noisy machine, with repeats left";
        }
        return is_whole && n.n_failed == 0 && n.n_trainers_done == n_trainers
                   ? NULL
                   : "Succeeded: all trainers, with summaries";
    case ATTEMPT_INVALID:
        return is_whole && n.n_failed == 0 && n.n_trainers_done == n_trainers && n.n_noisy > 0 &&
                       n_invalid < sim->run->spec.run_policy.invalid_repeats
                   ? NULL
                   : "Invalid: all trainers, one on a noisy machine, with repeats left";
    case ATTEMPT_METRICS_UNAVAILABLE:
        return is_whole && n.n_failed == 0 && n.n_trainers_mute > 0 &&
                       n.n_trainers_done + n.n_trainers_mute == n_trainers
                   ? NULL
                   : "MetricsUnavailable: all trainers, one without summary";
    case ATTEMPT_VOID:
    case ATTEMPT_FAILED:
        if (is_due && n.n_preempted > 0) {
            return "an attempt that was preempted has no row";
        }
        return !is_due || !is_whole || n.n_failed > 0
                   ? NULL
                   : "Void and Failed: a member failed or vanished, or it should not run";
    }
    return "an outcome";
}

static const char *apply_save(struct sim *sim, const struct action *a)
{
    if (find_row(sim, a->save.id.point, a->save.id.trial, a->save.id.number) != NULL) {
        return NULL; /* the same attempt again changes nothing */
    }
    if (sim->n_rows == SIM_MAX_ROWS) {
        return "attempts are limited";
    }
    const char *broken = contradiction(sim, a);
    if (broken != NULL) {
        return broken;
    }
    struct sim_row *row = &sim->rows[sim->n_rows++];
    memset(row, 0, sizeof(*row));
    row->point = a->save.id.point;
    row->trial = a->save.id.trial;
    row->attempt = a->save.id.number;
    row->outcome = a->save.outcome;
    memcpy(row->error, a->save.error, sizeof(row->error));
    row->acknowledged_ms = sim->now_ms + sim->ack_delay_ms;
    return NULL;
}

const char *sim_apply(struct sim *sim, const struct plan *plan, size_t n)
{
    sim->is_whole_plan_applied = false;
    for (size_t i = 0; i < n; i++) {
        const struct action *a = &plan->actions.items[i];
        const char *broken = NULL;
        switch (a->kind) {
        case ACTION_CREATE_REPLICA:
            broken = apply_create(sim, &a->replica);
            break;
        case ACTION_DELETE_REPLICA:
            broken = apply_delete(sim, &a->replica);
            break;
        case ACTION_SAVE_RESULT:
            broken = apply_save(sim, a);
            if (broken == NULL &&
                find_row(sim, a->save.id.point, a->save.id.trial, a->save.id.number)
                        ->acknowledged_ms > sim->now_ms) {
                return NULL; /* the driver waits for the store */
            }
            break;
        case ACTION_PATCH_STATUS:
            sim->status = a->status;
            break;
        case ACTION_EMIT_EVENT:
        case ACTION_REQUEUE_AFTER:
            break;
        }
        if (broken != NULL) {
            return broken;
        }
    }
    sim->is_whole_plan_applied = n == plan->actions.len;
    return NULL;
}

/* ---- faults ---- */

void sim_kill_all(struct sim *sim)
{
    sim->n_replicas = 0;
}

void sim_add_foreign(struct sim *sim, struct rng *rng)
{
    const struct replica_id id = {
        .attempt.point = rng_below(rng, sim->run->def.matrix.n_points + 1),
        .attempt.trial = rng_below(rng, (uint32_t)sim->run->spec.repeats + 1),
        .attempt.number = rng_below(rng, 4),
        .role = (enum role)rng_below(rng, ROLE_COUNT),
        .index = rng_below(rng, 4),
    };
    if (find_replica(sim, &id) != NULL || sim->n_replicas + 16 > SIM_MAX_REPLICAS) {
        return;
    }
    struct sim_replica *r = &sim->replicas[sim->n_replicas++];
    *r = (struct sim_replica){.seen = {.id = id}, .created_ms = sim->now_ms, .is_foreign = true};
    r->seen.state = (enum replica_state)rng_below(rng, 5);
    if (r->seen.state >= REPLICA_SUCCEEDED) {
        r->seen.ended_unix_ms = sim->now_ms;
    }
    r->seen.has_summary = r->seen.state == REPLICA_SUCCEEDED;
}

void sim_lose_row(struct sim *sim, struct rng *rng)
{
    if (sim->n_rows > 0) {
        sim->rows[rng_below(rng, (uint32_t)sim->n_rows)] = sim->rows[sim->n_rows - 1];
        sim->n_rows--;
    }
}

void sim_settle_store(struct sim *sim, bool is_kept)
{
    size_t n = 0;
    for (size_t i = 0; i < sim->n_rows; i++) {
        if (sim->rows[i].acknowledged_ms <= sim->now_ms || is_kept) {
            sim->rows[n] = sim->rows[i];
            sim->rows[n].acknowledged_ms = 0;
            n++;
        }
    }
    sim->n_rows = n;
}

bool sim_is_store_busy(const struct sim *sim)
{
    for (size_t i = 0; i < sim->n_rows; i++) {
        if (sim->rows[i].acknowledged_ms > sim->now_ms) {
            return true;
        }
    }
    return false;
}

/* ---- comparing ---- */

static int compare_lanes(const void *pa, const void *pb)
{
    const struct run_lane *a = pa, *b = pb;
    const int by_use = (a->has_current < b->has_current) - (a->has_current > b->has_current);
    return by_use != 0 ? by_use : attempt_id_compare(&a->current, &b->current);
}

/* Whichever lane measures what. */
static bool status_eq(struct run_status a, struct run_status b)
{
    qsort(a.lanes, LANES_MAX, sizeof(*a.lanes), compare_lanes);
    qsort(b.lanes, LANES_MAX, sizeof(*b.lanes), compare_lanes);
    return memcmp(&a, &b, sizeof(a)) == 0;
}

bool sim_eq(const struct sim *a, const struct sim *b)
{
    if (a->n_replicas != b->n_replicas || a->n_rows != b->n_rows ||
        !status_eq(a->status, b->status)) {
        return false;
    }
    for (size_t i = 0; i < a->n_replicas; i++) {
        if (find_replica((struct sim *)b, &a->replicas[i].seen.id) == NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < a->n_rows; i++) {
        const struct sim_row *x = &a->rows[i];
        const struct sim_row *y = find_row((struct sim *)b, x->point, x->trial, x->attempt);
        if (y == NULL || x->outcome != y->outcome || strcmp(x->error, y->error) != 0) {
            return false;
        }
    }
    return true;
}
