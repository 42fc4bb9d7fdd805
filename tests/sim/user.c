/* People: they create runs, cancel, suspend, resume and delete them. */
#include "sim.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/request.h"

#define RUNS_MAX 16

static struct {
    struct sim_run runs[RUNS_MAX];
    unsigned n, n_created;
} user;

/* ---- definitions ---- */

#define LONG_GRACE_S 100
#define LONGEST_GRACE_S 300
#define DEADLINE_S 100000 /* more than a clock is stepped by: the next process goes by it */
#define ORPHANS_S 250     /* so long people leave pods that nothing owns */

/* The `spec` of a Benchmark: one or two points, one or two trials. */
static char *definition(struct sim_run *r)
{
    static const char *const policies[] = {"All", "Running", "None", "OnSuccess"};
    static const char *const addressing[] = {"Auto", "DNS", "IP"};
    const unsigned n_drawn = 1 + sim_below(DRAW_USER, 2);
    r->n_lanes = sim_lanes(sim.seed);
    const unsigned n_points = r->n_lanes > 1 ? 3 : n_drawn;
    const unsigned n_trials = 1 + sim_below(DRAW_USER, 2);
    const char *policy = policies[sim_below(DRAW_USER, 4)];
    const unsigned by = sim_below(DRAW_USER, 3);
    const char *naming = sim_has_queue(sim.seed) ? "DNS" : addressing[by];
    _cleanup_(freep) char *ttl =
        r->is_brief ? xasprintf(",\"ttlSecondsAfterFinished\":%d", SIM_TTL_S) : xstrdup("");
    r->stops_early = sim.seed > 40 && sim.seed % 8 == 5 && sim.seed % 3 != 0 && !sim.is_slow;
    r->n_points = n_points;
    r->n_trials = n_points * (r->stops_early ? SIM_MAX_TRIALS : n_trials);
    _cleanup_(freep) char *repeats =
        r->stops_early
            ? xasprintf("{\"min\":%d,\"max\":%d,\"stopWhen\":{\"relativeHalfWidth\":\"%g\"}}",
                        SIM_MIN_TRIALS, SIM_MAX_TRIALS, SIM_HALF_WIDTH)
            : xasprintf("{\"min\":%u}", n_trials);
    const int64_t long_s = sim_has_long_grace(sim.seed) ? LONGEST_GRACE_S : LONG_GRACE_S;
    r->grace_s = sim_one_in(DRAW_USER, 4) ? long_s : 30;
    _cleanup_(freep) char *pod =
        xasprintf("\"template\":{\"spec\":{\"terminationGracePeriodSeconds\":%d,\"containers\":[{"
                  "\"name\":\"m\","
                  "\"image\":\"i\"}]}}",
                  (int)r->grace_s);
    return xasprintf(
        "{\"systems\":[{\"name\":\"benchworker\",\"profile\":\"benchworker\"}],\"workload\":{"
        "\"model\":\"vgg16-fluid-fc512\",\"batchSize\":16},\"sweep\":{\"grid\":{\"pservers\":[1],"
        "\"trainers\":[%s]}},\"baseline\":{\"kind\":\"Point\",\"where\":{\"trainers\":1}},"
        "\"measure\":{\"steps\":3,\"warmupSteps\":0},\"repeats\":%s,"
        "\"runPolicy\":{\"activeDeadlineSeconds\":%d,\"backoffLimit\":20,\"cleanPodPolicy\":\"%s\"%"
        "s},\"addressing\":\"%s\","
        "\"roles\":{\"pserver\":{\"replicas\":{\"from\":\"pservers\"},%s},"
        "\"trainer\":{\"replicas\":{\"from\":\"trainers\"},%s}}}",
        n_points == 1   ? "1"
        : n_points == 2 ? "1,2"
                        : "1,2,3",
        repeats, sim_has_deadline(sim.seed) ? SIM_DEADLINE_S : DEADLINE_S, policy, ttl, naming, pod,
        pod);
}

static void use_name_again(void *ctx);

/* By a run whose object came back from a backup. Pods of an earlier run may be there. */
static bool is_name_taken(const struct sim_run *r)
{
    return server_find(KIND_RUNS, r->name) != NULL;
}

static void create(void *ctx)
{
    struct sim_run *r = ctx;
    if (fault_is_on(FAULT_DROP_KINDS, NULL) || is_name_taken(r)) {
        sim_after(SIM_S, create, r);
        return;
    }
    _cleanup_(freep) char *text = definition(r);
    json_t *spec = json_loads(text, 0, NULL);
    if (sim_prints(sim.seed)) {
        printer_define(spec);
    }
    if (r->is_hostile) {
        hostile_spoil(spec);
    }
    json_t *asked;
    if (sim_one_in(DRAW_USER, 2)) {
        asked = json_pack("{s:o}", "definition", spec);
    } else {
        _cleanup_(freep) char *name = xasprintf("b-%u-%s", user.n_created, r->name);
        (void)server_create(KIND_BENCHMARKS, json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion",
                                                       "benchd.io/v1alpha1", "kind", "Benchmark",
                                                       "metadata", "name", name, "spec", spec));
        asked = json_pack("{s:{s:s}}", "benchmarkRef", "name", name);
    }
    if (sim_is_impatient(sim.seed)) {
        json_object_set_new(asked, "scheduling", json_pack("{s:i}", "waitSeconds", SIM_WAIT_S));
    }
    if (sim_has_queue(sim.seed)) {
        json_object_set_new(asked, "scheduling", json_pack("{s:s}", "queueName", "team"));
    }
    if (r->n_lanes > 1) {
        json_object_set_new(asked, "parallelism", json_pack("{s:i}", "trials", (int)r->n_lanes));
    }
    const struct sim_object *o = server_create(
        KIND_RUNS, json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", "benchd.io/v1alpha1", "kind",
                             "BenchmarkRun", "metadata", "name", r->name, "spec", asked));
    r->uid = xstrdup(o->uid);
    r->made_ns = sim.now_ns;
    user.n_created++;
    if (r->is_brief) {
        sim_after(SIM_S, use_name_again, r);
    }
}

static struct sim_run *new_run(char *name_take)
{
    struct sim_run *r = &user.runs[user.n++];
    *r = (struct sim_run){.name = name_take};
    return r;
}

/* When its object has expired, and its pods are gone too, another run gets its name, and perhaps
 * one more the name under which benchd would keep the results then; the results of all stay. */
static void use_name_again(void *ctx)
{
    struct sim_run *r = ctx;
    if (is_name_taken(r) || fault_is_on(FAULT_DROP_KINDS, NULL)) {
        sim_after(SIM_S, use_name_again, r);
    } else if ((r->wishes & WISH_DELETE) == 0) {
        if (sim_one_in(DRAW_USER, 2)) {
            create(new_run(xasprintf("%s-%.8s", r->name, r->uid)));
        }
        sim_after(sim_time(DRAW_USER, 0, 30 * SIM_S), create, new_run(xstrdup(r->name)));
    }
}

/* Of the worlds above 40 one in eight has runs of somebody who wants to be benchd. */
static void add_strangers(void)
{
    const unsigned n = sim_has_strangers(sim.seed) ? 2 + sim_below(DRAW_HOSTILE, 3) : 0;
    for (unsigned i = 0; i < n; i++) {
        struct sim_run *r = new_run(xasprintf("stranger-%u", i));
        r->is_hostile = true;
        sim_after(sim_time(DRAW_HOSTILE, 0, 60 * SIM_S), create, r);
    }
}

void user_begin(const struct fault_plan *plan)
{
    const unsigned n_runs = plan->n_runs;
    user.n = n_runs;
    sim.is_slow = sim_one_in(DRAW_USER, 4) || plan->is_slow;
    sim.is_littered = sim_one_in(DRAW_USER, 3);
    for (unsigned i = 0; i < n_runs; i++) {
        user.runs[i].name = xasprintf("run-%u", i);
        user.runs[i].is_brief = sim_one_in(DRAW_USER, 4);
        sim_after(sim_time(DRAW_USER, 0, 60 * SIM_S), create, &user.runs[i]);
    }
    add_strangers();
}

size_t user_count(void)
{
    return user.n;
}

struct sim_run *user_get(size_t i)
{
    return &user.runs[i];
}

struct sim_run *user_find(const char *uid)
{
    for (unsigned i = 0; i < user.n; i++) {
        if (user.runs[i].uid != NULL && str_eq(user.runs[i].uid, uid)) {
            return &user.runs[i];
        }
    }
    return NULL;
}

bool user_is_suspended(void)
{
    for (unsigned i = 0; i < user.n; i++) {
        if (user.runs[i].is_suspended) {
            return true;
        }
    }
    return false;
}

/* ---- wishes ---- */

struct sim_object *user_object_of(const struct sim_run *r)
{
    struct sim_object *o = r->uid == NULL ? NULL : server_find(KIND_RUNS, r->name);
    return o != NULL && str_eq(o->uid, r->uid) ? o : NULL;
}

const char *user_phase_in_object(const struct sim_run *r)
{
    const struct sim_object *o = user_object_of(r);
    const json_t *status = o == NULL ? NULL : json_object_get(o->json, "status");
    const char *phase = json_string_value(json_object_get(status, "phase"));
    return phase == NULL ? "" : phase;
}

static void wish(struct sim_run *r, const char *key, bool value)
{
    struct sim_object *o = user_object_of(r);
    if (o == NULL) {
        return;
    }
    json_object_set_new(json_object_get(o->json, "spec"), key, json_boolean(value));
    json_t *metadata = json_object_get(o->json, "metadata");
    const json_int_t generation = json_integer_value(json_object_get(metadata, "generation"));
    json_object_set_new(metadata, "generation", json_integer(generation + 1));
    sim_trace("user: %s %s=%d", r->name, key, value);
    server_changed(o);
}

/* A wish for an object that is gone has no effect, so its spec decides. */
static bool says(const struct sim_run *r, const char *wish)
{
    const struct sim_object *o = user_object_of(r);
    const json_t *spec = o == NULL ? NULL : json_object_get(o->json, "spec");
    return json_is_true(json_object_get(spec, wish));
}

static void shall_stop(struct sim_run *r)
{
    r->stop_ns = r->stop_ns != 0 ? r->stop_ns : sim.now_ns;
}

void user_cancel(struct sim_run *r)
{
    r->wishes |= WISH_CANCEL;
    shall_stop(r);
    wish(r, "cancel", true);
}

void user_suspend(struct sim_run *r, bool suspend)
{
    r->wishes |= WISH_SUSPEND;
    r->is_suspended = suspend && user_object_of(r) != NULL;
    if (suspend) {
        shall_stop(r);
    } else if (!says(r, "cancel") && (r->wishes & WISH_DELETE) == 0) {
        r->stop_ns = 0;
    }
    wish(r, "suspend", suspend);
}

/* Who orphans pods looks after them some day, also after those that have ended: while one is there,
 * no other run can have its run's name. */
static void remove_orphans(void *ctx)
{
    const struct sim_run *r = ctx;
    for (size_t i = 0; i < node_count(); i++) {
        const struct sim_pod *p = node_get(i);
        if (p->object != NULL && str_eq(p->run_uid, r->uid)) {
            server_delete(p->object, CASCADE_BACKGROUND);
        }
    }
}

void user_delete(struct sim_run *r, enum sim_cascade cascade)
{
    static const char *const words[] = {"", ", its pods first", ", its pods not"};
    struct sim_object *o = user_object_of(r);
    if (o == NULL) {
        return;
    }
    r->wishes |= WISH_DELETE;
    shall_stop(r);
    sim_trace("user: deletes %s%s", r->name, words[cascade]);
    server_delete(o, cascade);
    if (cascade == CASCADE_ORPHAN) {
        r->is_orphaning = true;
        sim_after(ORPHANS_S * SIM_S, remove_orphans, r);
    }
}

void user_erase(struct sim_run *r)
{
    struct sim_object *o = user_object_of(r);
    if (o == NULL) {
        return;
    }
    r->wishes |= WISH_ERASE;
    json_object_set_new(json_object_get(o->json, "metadata"), "annotations",
                        json_pack("{s:s}", KUBE_ERASE_ANNOTATION, KUBE_ERASE_NOW));
    server_changed(o);
    user_delete(r, CASCADE_BACKGROUND);
}

/* ---- objects that come and go ---- */

/* It is back, and nobody wanted that. */
static void delete_again(void *ctx)
{
    struct sim_run *r = ctx;
    if ((r->wishes & WISH_ERASE) != 0) {
        user_erase(r);
    } else {
        user_delete(r, CASCADE_BACKGROUND);
    }
}

void user_lose_objects(void)
{
    for (unsigned i = 0; i < user.n; i++) {
        struct sim_run *r = &user.runs[i];
        if (user_object_of(r) != NULL) {
            r->is_lost = true;
            shall_stop(r);
        }
    }
}

void user_lose_object(const char *uid)
{
    struct sim_run *r = user_find(uid);
    if (r != NULL) {
        r->is_lost = true;
        shall_stop(r);
    }
}

void user_object_gone(const char *uid)
{
    struct sim_run *r = user_find(uid);
    if (r != NULL) {
        r->gone_ns = sim.now_ns;
    }
}

static void resume_again(void *ctx)
{
    struct sim_run *r = ctx;
    if (!r->is_suspended) {
        user_suspend(r, false);
    }
}

void user_object_back(const char *uid)
{
    struct sim_run *r = user_find(uid);
    if (r != NULL) {
        r->is_lost = false;
        r->gone_ns = 0;
        r->back_ns = sim.now_ns;
        r->stop_ns = r->is_suspended || says(r, "cancel") ? sim.now_ns : 0;
        if (says(r, "suspend") && !r->is_suspended) {
            sim_after(sim_time(DRAW_USER, SIM_S, 60 * SIM_S), resume_again, r);
        }
        if ((r->wishes & WISH_DELETE) != 0) {
            sim_after(sim_time(DRAW_USER, SIM_S, 60 * SIM_S), delete_again, r);
        }
    }
}

/* ---- the rival ---- */

static struct {
    int64_t until_ns;
    bool is_leading, is_there;
    char *identity; /* owned */
    char *seen;     /* the record as seen last, and since when; owned */
    int64_t seen_ns;
} rival;

static void write_lease(struct sim_object *lease, const char *holder)
{
    json_t *spec = json_object_get(lease->json, "spec");
    json_object_set_new(spec, "holderIdentity", json_string(holder));
    json_object_set_new(spec, "leaseDurationSeconds", json_integer(*holder == '\0' ? 1 : 15));
    json_object_set_new(spec, "leaseTransitions",
                        json_integer(json_integer_value(json_object_get(spec, "leaseTransitions")) +
                                     (rival.is_leading ? 0 : 1)));
    json_object_set_new(spec, "renewTime", json_integer(sim.now_ns)); /* any change will do */
    server_changed(lease);
}

/* As the election of client-go: who has seen no change of the record for its 15 s may take it. */
static void campaign(void *ctx)
{
    (void)ctx;
    struct sim_object *lease = server_find(KIND_LEASES, "benchd");
    const json_t *spec = lease == NULL ? NULL : json_object_get(lease->json, "spec");
    const char *holder = json_string_value(json_object_get(spec, "holderIdentity"));
    if (sim.now_ns >= rival.until_ns) {
        if (rival.is_leading && lease != NULL) {
            write_lease(lease, "");
        }
        rival.is_leading = rival.is_there = false;
        return;
    }
    char *record = json_dumps(spec, JSON_COMPACT);
    if (record == NULL || rival.seen == NULL || !str_eq(record, rival.seen)) {
        rival.seen_ns = sim.now_ns;
    }
    free(rival.seen);
    rival.seen = record;
    const bool is_free =
        holder != NULL && (*holder == '\0' || str_eq(holder, rival.identity)); /* or its own */
    const bool is_dead = sim.now_ns - rival.seen_ns >= 15 * SIM_S;
    if (lease != NULL && (rival.is_leading || is_free || is_dead)) {
        if (!rival.is_leading) {
            sim_trace("the rival takes the Lease");
        }
        write_lease(lease, rival.identity);
        rival.is_leading = true;
    }
    sim_after(2 * SIM_S, campaign, NULL);
}

bool user_rival_leads(void)
{
    return rival.is_leading;
}

void user_rival(int64_t length_ns, bool is_on_same_host)
{
    rival.until_ns = sim.now_ns + length_ns;
    if (!rival.is_there) {
        rival.is_there = true;
        free(rival.identity);
        rival.identity =
            process_identity_of(is_on_same_host ? process_host() : "host-0", "place-2");
        campaign(NULL);
    }
}
