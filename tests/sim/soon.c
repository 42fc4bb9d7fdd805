/* What benchd shall do it does soon, while nothing goes wrong. Looked at every few seconds. */
#include "sim.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"
#include "core/phase.h"

#define LOOK_EVERY_NS (5 * SIM_S)
#define SOON_NS (90 * SIM_S)      /* a restart, the Lease, back-offs */
#define AT_ONCE_NS (15 * SIM_S)   /* if nothing went wrong for a while */
#define TOLD_NS (25 * SIM_S)      /* why a run waits */
#define GOES_ON_NS (6 * SIM_S)    /* it does not wait */
#define BACK_SEEN_NS (35 * SIM_S) /* benchd knows that an object is back */

static struct {
    int64_t down_ns;                      /* when no benchd led last */
    int64_t refused_ns[FAULT_KIND_COUNT]; /* since when something is, for this reason */
    unsigned n_refused[FAULT_KIND_COUNT]; /* since then */
    int64_t accepted_ns;                  /* when a pod was created last */
    int64_t told_ns[FAULT_KIND_COUNT];    /* when a status said so last */
} soon;

static int64_t last_trouble_ns(enum fault_kind but, bool with_wishes)
{
    const int64_t last_ns = fault_last_ns(but, with_wishes);
    return last_ns > soon.down_ns ? last_ns : soon.down_ns;
}

static bool is_overdue(int64_t since_ns, int64_t limit_ns, enum fault_kind but)
{
    const int64_t trouble_ns = last_trouble_ns(but, false);
    return since_ns != 0 && sim.now_ns - (since_ns > trouble_ns ? since_ns : trouble_ns) > limit_ns;
}

/* What happens while benchd cannot see it is lost to it. */
static bool was_seen(int64_t at_ns)
{
    return last_trouble_ns(FAULT_DISK_FULL, false) + SOON_NS < at_ns;
}

bool soon_is_back_unseen(const struct sim_run *r)
{
    return r->back_ns != 0 && (sim.now_ns - r->back_ns < BACK_SEEN_NS ||
                               last_trouble_ns(FAULT_KIND_COUNT, false) > r->back_ns);
}

static int seconds_since(int64_t at_ns)
{
    return (int)((sim.now_ns - at_ns) / SIM_S);
}

static void check_stopped(const struct sim_run *r)
{
    for (size_t i = 0; i < node_count(); i++) {
        const struct sim_pod *p = node_get(i);
        if (node_is_alive(p) && str_eq(p->run_uid, r->uid)) {
            sim_broken("%s still runs %d s after its run was cancelled, suspended or deleted",
                       p->name, seconds_since(r->stop_ns));
        }
    }
}

static void check_ended(const struct sim_run *r, const struct run_status *status, int64_t ended_ns)
{
    const char *phase = run_phase_to_string(status->phase);
    if (disk_is_claimed(r->uid)) {
        sim_broken("%s is %s for %d s and still has an open file", r->name, phase,
                   seconds_since(ended_ns));
    }
    const bool is_going = (r->wishes & WISH_DELETE) != 0; /* nothing is written to it any more */
    if (user_object_of(r) != NULL && r->back_ns == 0 && !is_going &&
        !str_eq(user_phase_in_object(r), phase)) {
        sim_broken("%s is %s for %d s and its object says '%s'", r->name, phase,
                   seconds_since(ended_ns), user_phase_in_object(r));
    }
}

bool soon_is_left_to_garbage(const struct sim_run *r)
{
    const bool is_slow =
        sim.is_littered || fault_was_on(FAULT_SLOW_GARBAGE, SOON_NS + r->grace_s * SIM_S);
    return (r->is_orphaning || (is_slow && user_object_of(r) == NULL)) && !was_seen(r->stop_ns);
}

static void look_at_run(const struct sim_run *r)
{
    const int64_t grace_ns = r->grace_s * SIM_S, limit_ns = SOON_NS + grace_ns;
    if (r->stop_ns != 0 && sim.now_ns - r->stop_ns > grace_ns + AT_ONCE_NS &&
        was_seen(r->stop_ns)) {
        check_stopped(r);
    }
    if (is_overdue(r->stop_ns, limit_ns, FAULT_DISK_FULL) && !soon_is_left_to_garbage(r)) {
        check_stopped(r);
    }
    if ((r->wishes & WISH_ERASE) != 0 && is_overdue(r->gone_ns, limit_ns, FAULT_DISK_FULL) &&
        was_seen(r->gone_ns) && disk_has_run(process_store(), r->uid)) {
        sim_broken("the results of %s are there %d s after they were to be erased", r->name,
                   seconds_since(r->gone_ns));
    }
    int64_t ended_ns;
    const struct run_status *status = promise_end_of(r->uid, &ended_ns);
    if (status != NULL && is_overdue(ended_ns, SOON_NS, FAULT_KIND_COUNT)) {
        check_ended(r, status, ended_ns);
    }
}

void soon_refused(enum fault_kind why)
{
    soon.refused_ns[why] = soon.refused_ns[why] == 0 ? sim.now_ns : soon.refused_ns[why];
    soon.n_refused[why]++;
}

void soon_accepted(void)
{
    soon.accepted_ns = sim.now_ns;
    memset(soon.refused_ns, 0, sizeof(soon.refused_ns));
    memset(soon.n_refused, 0, sizeof(soon.n_refused));
}

/* Somebody has waited for a while for what is refused, and it can be told to them. */
static bool has_open_run(void)
{
    for (size_t i = 0; i < server_count(KIND_RUNS); i++) {
        const struct sim_object *o = server_get(KIND_RUNS, i);
        const struct sim_run *r = user_find(o->uid);
        int64_t ended_ns;
        if (r != NULL && r->wishes == 0 && !r->is_hostile && sim.now_ns - r->made_ns > TOLD_NS &&
            promise_end_of(o->uid, &ended_ns) == NULL) {
            return true;
        }
    }
    return false;
}

/* The server's words are in the status of some run, or what keeps it from asking again. */
static void check_told(enum fault_kind kind, const char *words)
{
    const int64_t since_ns = soon.refused_ns[kind];
    if (!fault_is_on(kind, NULL)) {
        soon.refused_ns[kind] = 0;
        soon.n_refused[kind] = 0;
        return;
    }
    if (since_ns == 0 || !has_open_run() || sim.now_ns - since_ns < TOLD_NS ||
        sim.now_ns - soon.told_ns[kind] < TOLD_NS || sim.now_ns - soon.accepted_ns < GOES_ON_NS ||
        last_trouble_ns(kind, true) + TOLD_NS > since_ns) {
        return;
    }
    for (size_t i = 0; i < server_count(KIND_RUNS); i++) {
        _cleanup_(freep) char *status =
            json_dumps(json_object_get(server_get(KIND_RUNS, i)->json, "status"), JSON_ENCODE_ANY);
        if (status != NULL &&
            (strstr(status, words) != NULL || strstr(status, "PodsRemain") != NULL ||
             strstr(status, "PodNotSetUp") != NULL)) {
            soon.told_ns[kind] = sim.now_ns;
            return;
        }
    }
    sim_broken("for %d s something is refused ('%s'), and no run's status says so",
               seconds_since(since_ns), words);
}

/* For whatever: of a run with several lanes the status says what one of them waits for. */
static bool says_that_it_waits(const struct sim_object *o)
{
    const json_t *status = json_object_get(o->json, "status");
    const json_t *waiting = fact_find(json_object_get(status, "conditions"), "type", "Waiting");
    return str_eq(fact_text(waiting, "status"), "True");
}

#define SETUP_TOLD_NS (45 * SIM_S) /* 30 s, and until the API has it */

/* Why a run stands still that has a pod without a place, or one which its node does not set up. */
static void check_set_up(void)
{
    for (size_t i = 0; i < node_count(); i++) {
        const struct sim_pod *p = node_get(i);
        const struct sim_run *r = user_find(p->run_uid);
        const bool is_gated = p->unplaced != NULL && str_eq(p->unplaced, "SchedulingGated");
        const char *reason = is_gated              ? "Queued"
                             : p->unplaced != NULL ? "WaitsForNodes"
                                                   : "PodNotSetUp";
        const enum fault_kind but = is_gated              ? FAULT_GATE
                                    : p->unplaced != NULL ? FAULT_FULL
                                                          : FAULT_KIND_COUNT;
        const int64_t since_ns = p->unplaced != NULL ? p->unplaced_ns : p->scheduled_ns;
        if (p->object == NULL || since_ns == 0 || p->container.has_started || p->is_deleting ||
            p->rejection != NULL || sim.now_ns - since_ns < SETUP_TOLD_NS || r == NULL ||
            r->wishes != 0 || r->is_hostile || user_object_of(r) == NULL ||
            process_began_ns(process_current()) > since_ns || promise_has_row(p) ||
            last_trouble_ns(but, true) > since_ns) {
            continue;
        }
        _cleanup_(freep) char *status =
            json_dumps(json_object_get(user_object_of(r)->json, "status"), JSON_ENCODE_ANY);
        if (p->unplaced != NULL && sim_is_impatient(sim.seed) && !sim.has_stepped &&
            sim.now_ns - since_ns > SIM_WAIT_S * SIM_S + SETUP_TOLD_NS) {
            sim_broken("%s still waits for its place after %d s", p->name, seconds_since(since_ns));
        }
        const bool is_queued = str_eq(user_phase_in_object(r), "Queued");
        const bool is_told = r->n_lanes > 1 ? says_that_it_waits(user_object_of(r))
                                            : status != NULL && strstr(status, reason) != NULL &&
                                                  is_queued == (p->unplaced != NULL);
        if (!is_told && (status == NULL || strstr(status, "PodNotSetUp") == NULL)) {
            sim_broken("%s has no container for %d s, and its run's status does not say %s",
                       p->name, seconds_since(since_ns), reason);
        }
    }
}

#define HALF_A_GANG_NS (50 * SIM_S) /* benchd gives up after 14 s of refusals */

/* Members of it that run, but not all were ever created: they keep room from others. */
static void check_half_gangs(void)
{
    for (size_t i = 0; i < node_count(); i++) {
        const struct sim_pod *p = node_get(i);
        if (!node_is_alive(p) || p->is_deleting ||
            sim.now_ns - p->container.started_ns < HALF_A_GANG_NS) {
            continue;
        }
        uint32_t n = 0;
        for (size_t k = 0; k < node_count(); k++) {
            n += node_is_of_gang(p, node_get(k));
        }
        if (n < p->n_servers + p->n_trainers) {
            sim_broken("half a gang (%s) keeps its room for %d s", p->name,
                       seconds_since(p->container.started_ns));
        }
    }
}

/* Where no pod at all may be created, each lane asks for one now and then. */
static void check_quota(void)
{
    const struct fault *f;
    const int64_t since_ns = soon.refused_ns[FAULT_QUOTA];
    if (since_ns == 0 || !fault_is_on(FAULT_QUOTA, &f) ||
        last_trouble_ns(FAULT_QUOTA, true) + TOLD_NS > since_ns) {
        return;
    }
    const unsigned n_most = sim_lanes(sim.seed) * (8 + (unsigned)seconds_since(since_ns) / 8);
    if (f->n == 1 && soon.n_refused[FAULT_QUOTA] > n_most) {
        sim_broken("a full quota was asked %u times in %d s", soon.n_refused[FAULT_QUOTA],
                   seconds_since(since_ns));
    }
    check_half_gangs();
}

/* ---- deadlines ---- */

static bool has_live_pods(const struct sim_run *r, bool of_others)
{
    for (size_t i = 0; i < node_count(); i++) {
        const struct sim_pod *p = node_get(i);
        const bool has_ended = p->rejection != NULL || (p->container.has_ended && p->is_phase_told);
        const bool is_live = p->object != NULL && !has_ended;
        if (is_live && str_eq(p->run_uid, r->uid) != of_others) {
            return true;
        }
    }
    return false;
}

static bool has_unplaced_pods(const struct sim_run *r)
{
    for (size_t i = 0; i < node_count(); i++) {
        const struct sim_pod *p = node_get(i);
        if (p->object != NULL && p->unplaced != NULL && str_eq(p->run_uid, r->uid)) {
            return true;
        }
    }
    return false;
}

/* Its pods are there, or nobody else keeps them from being there. */
static bool is_to_blame(const struct sim_run *r)
{
    if (r->is_suspended) {
        return false;
    }
    const struct fault *quota;
    const bool is_full = fault_is_on(FAULT_QUOTA, &quota) && quota->n == 1; /* for any pod */
    const bool is_refused = is_full || fault_is_on(FAULT_WEBHOOK, NULL);
    const bool is_known = sim.now_ns - soon.down_ns > LOOK_EVERY_NS;
    if (r->n_lanes > 1 && has_live_pods(r, false)) {
        return true; /* one lane may go on while another waits */
    }
    if (is_known && has_unplaced_pods(r) && !fault_was_on(FAULT_SLOW_WATCHES, SOON_NS)) {
        return false;
    }
    return has_live_pods(r, false) || !(has_live_pods(r, true) || (is_refused && is_known));
}

static void count_own_time(void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < user_count(); i++) {
        struct sim_run *r = user_get(i);
        r->own_ns += r->uid != NULL && is_to_blame(r) ? SIM_S : 0;
    }
    sim_after(SIM_S, count_own_time, NULL);
}

bool soon_may_be_late(const struct sim_run *r)
{
    return sim_has_deadline(sim.seed) &&
           (sim.has_stepped || r->own_ns >= (SIM_DEADLINE_S - 5) * SIM_S);
}

static void look(void *ctx)
{
    (void)ctx;
    const bool is_cut_off = fault_is_on(FAULT_REFUSE, NULL) || fault_is_on(FAULT_SILENCE, NULL);
    if (is_cut_off || !process_is_leading()) { /* a next one may lead under the old one's name */
        soon.down_ns = sim.now_ns;
    }
    for (size_t i = 0; i < user_count() && process_is_running(); i++) {
        if (user_get(i)->uid != NULL) {
            look_at_run(user_get(i));
        }
    }
    check_told(FAULT_WEBHOOK, "failed calling webhook");
    check_quota();
    check_told(FAULT_QUOTA, sim_has_hidden_quota(sim.seed) ? "quota" : "exceeded quota");
    check_told(FAULT_DISK_FULL, "the disk of benchd's store is full");
    if (process_is_running()) {
        check_set_up();
    }
    sim_after(LOOK_EVERY_NS, look, NULL);
}

void soon_begin(void)
{
    sim_after(LOOK_EVERY_NS, look, NULL);
    if (sim_has_deadline(sim.seed)) {
        sim_after(SIM_S, count_own_time, NULL);
    }
}
