/* See pod_jobs.h. */
#include "run/pods/pod_jobs.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"
#include "kube/json.h"
#include "pod/body.h"
#include "pod/job_body.h"
#include "run/pods/pod_logs.h"
#include "run/pods/pods_internal.h"
#include "spec/job_template.h"

#define LOOK_NS (2 * INT64_C(1000000000))
#define LOOK_SOON_NS INT64_C(500000000)           /* while something waits for its word */
#define SHORT_USUAL_NS (10 * INT64_C(1000000000)) /* pods are made within that time */
#define VERDICT_WAIT_MS 60000 /* of an object of which all pods have ended well */

struct pod_job {
    struct pods *owner;
    struct attempt_id attempt;
    const json_t *spec; /* spec/job_template.h; borrowed from the run's definition */
    char *name;         /* owned */
    enum job_step {
        JOB_WANTED,   /* not there; created when its attempt may begin */
        JOB_POSTING,  /* call: the POST */
        JOB_UNKNOWN,  /* may exist */
        JOB_THERE,    /* call: the POST of one of job.objects; NULL: none */
        JOB_DELETING, /* call: the DELETE */
        JOB_GOING,    /* exists until all that it owns has gone */
        JOB_REFUSED,  /* the server has made none */
        JOB_GONE,     /* it was there */
    } step;
    bool is_removed;
    struct kube_call *call; /* NULL in other steps */
    struct job_state state; /* as listed; owned; all 0 before THERE */
    size_t n_made;          /* of job.objects; all of them once one was refused */
    unsigned n_taken;       /* so many POSTs in a row found the name taken, by no known object */
    int64_t due_ns;
    int64_t since_ns;  /* a list that was sent before knows nothing of this step */
    int64_t doubt_ns;  /* since when a member waits for its word; 0: none does */
    bool was_admitted; /* it was not suspended once */
    struct pod_trouble trouble;
};

/* The list of one system's objects. */
struct pod_job_kind {
    struct pod_jobs *jobs;
    const json_t *spec;            /* NULL: the system is not one */
    struct kube_resource resource; /* owned */
    struct kube_call *call;
    bool is_known; /* a list was read */
    int64_t due_ns, sent_ns;
    struct pod_trouble trouble;
};

/* The arrows of pod_jobs.h. */
#define TO(name) (1U << JOB_##name)
static const unsigned arrows[] = {
    [JOB_WANTED] = TO(POSTING) | TO(REFUSED) | TO(THERE),
    [JOB_POSTING] = TO(THERE) | TO(UNKNOWN) | TO(REFUSED),
    [JOB_UNKNOWN] = TO(WANTED) | TO(THERE),
    [JOB_THERE] = TO(DELETING) | TO(GONE),
    [JOB_DELETING] = TO(GOING) | TO(THERE),
    [JOB_GOING] = TO(GONE),
    [JOB_REFUSED... JOB_GONE] = TO(THERE),
};

static int64_t now_of(const struct pod_jobs *j)
{
    return j->owner->params.now_ns();
}

static const struct run_def *def_of(const struct pod_jobs *j)
{
    return j->owner->params.def;
}

static size_t n_kinds(const struct pod_jobs *j)
{
    return j->kinds == NULL ? 0 : def_of(j)->spec->systems.len;
}

static struct pod_job *find(const struct pod_jobs *j, const struct attempt_id *attempt)
{
    return vec_find_item(&j->list, job, attempt_id_eq(&job->attempt, attempt));
}

static struct pod_job_kind *kind_of(const struct pod_job *job)
{
    const struct run_def *def = job->owner->params.def;
    return &job->owner->jobs.kinds[def->matrix.points[job->attempt.point].system];
}

static bool is_of(const struct pod_member *m, const struct pod_job *job)
{
    return m->life < MEMBER_DYING_POSTING && attempt_id_eq(&m->id.attempt, &job->attempt);
}

static bool has_member(const struct pod_job *job)
{
    return vec_any(&job->owner->members, it, is_of(*it, job));
}

static void enter(struct pod_job *job, enum job_step step)
{
    (void)arrows; /* unused without assertions */
    assert((arrows[job->step] >> step & 1) != 0);
    job->step = step;
    job->since_ns = now_of(&job->owner->jobs);
    pod_gang_of(job->owner, &job->attempt)->is_probed |= step == JOB_THERE;
    kind_of(job)->due_ns = step == JOB_UNKNOWN ? 0 : kind_of(job)->due_ns;
    pods_tick_soon(job->owner);
}

static void try_again(struct pod_job *job, int r, const struct kube_response *res,
                      const char *words)
{
    job->due_ns = now_of(&job->owner->jobs) + pod_trouble_note(&job->trouble, r, res, words);
}

/* Ends a member, so that the attempt fails. NULL: one without a pod, or else any. */
static void fail(struct pod_job *job, struct pod_member *m, enum failure_class failure,
                 const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static void fail(struct pod_job *job, struct pod_member *m, enum failure_class failure,
                 const char *fmt, ...)
{
    struct pods *l = job->owner;
    m = m != NULL ? m : vec_find_item(&l->members, it, is_of(it, job) && pod_member_is_wanted(it));
    m = m != NULL ? m : vec_find_item(&l->members, it, is_of(it, job));
    if (m != NULL) {
        va_list ap;
        va_start(ap, fmt);
        _cleanup_(freep) char *text = xvasprintf(fmt, ap);
        va_end(ap);
        _cleanup_(freep) char *words =
            xasprintf("%s '%s' %s", job_kind(job->spec), job->name, text);
        pod_member_fail(m, failure, words, now_of(&l->jobs));
        pods_tick_soon(l);
    }
}

/* ---- what the object says ---- */

static void read_job(struct pod_job *job, const json_t *object)
{
    const enum job_verdict before = job->state.verdict;
    job_state_read(job->spec, object, &job->state);
    job->was_admitted |= !job->state.is_suspended;
    vec_each (struct pod_member *, it, &job->owner->members) {
        (*it)->has_news |= job->state.verdict != before && is_of(*it, job);
    }
}

/* A list has it, or not (NULL); is_taken: it has one of that name, of a deleted run. */
static void look(struct pod_job *job, const json_t *object, bool is_taken)
{
    const bool is_going = *kube_json_metadata(object, "deletionTimestamp") != '\0';
    const enum job_step before = job->step;
    if (object != NULL && (!is_going || job->is_removed)) {
        read_job(job, object);
        if (before != JOB_THERE && before != JOB_GOING) {
            pod_trouble_clear(&job->trouble); /* of the POST */
            enter(job, JOB_THERE);
        }
    } else if (object == NULL && (before == JOB_THERE || before == JOB_GOING)) {
        enter(job, JOB_GONE);
        if (!job->is_removed) {
            fail(job, NULL, FAILURE_INFRASTRUCTURE, "was deleted, but not by benchd");
        }
    } else if (object == NULL && before == JOB_UNKNOWN) {
        enter(job, JOB_WANTED);
        if (is_taken) {
            job->n_taken = 0;
            try_again(job, -EEXIST, NULL,
                      "an object of that name, of a deleted run, is not removed yet");
        } else if (job->n_taken > 1) { /* it has not gone since the last POST */
            enter(job, JOB_REFUSED);
            fail(job, NULL, FAILURE_PERMANENT,
                 "exists already and is not of this run; delete it or give the run another name");
        }
    }
}

static void on_listed(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_job_kind *kind = ctx;
    struct pod_jobs *j = kind->jobs;
    json_auto_t *list = NULL;
    struct err parsed = *err;
    kind->call = NULL;
    r = r < 0 ? r : kube_json_load(res->body, res->body_len, &list, &parsed);
    pods_tick_soon(j->owner);
    if (r < 0 && (r != -ENOENT || kind->is_known)) {
        const bool is_transient = pods_is_transient(j->owner, r, res);
        kind->is_known |= !is_transient; /* what cannot be listed was not created either */
        kind->due_ns = now_of(j) + pod_trouble_note(&kind->trouble, r, res, parsed.msg);
        return;
    }
    const json_t *items = json_object_get(list, "items");
    json_auto_t *by_name = json_object(), *taken = json_object();
    for (size_t i = 0; i < json_array_size(items); i++) {
        json_t *item = json_array_get(items, i);
        const json_t *metadata = json_object_get(item, "metadata");
        const char *name = kube_json_metadata(item, "name");
        const bool is_own = pod_is_owned(def_of(j), item);
        struct attempt_id attempt;
        if (is_own && job_identify(def_of(j), item, &attempt)) {
            (void)json_object_set(by_name, name, item);
            pod_jobs_want(j, &attempt, true);
        } else if (!is_own && pod_is_of_a_run(json_object_get(metadata, "ownerReferences"))) {
            (void)json_object_set(taken, name, item);
        }
    }
    kind->is_known = true;
    kind->due_ns = now_of(j) + LOOK_NS;
    pod_trouble_clear(&kind->trouble);
    vec_each (struct pod_job *, it, &j->list) {
        if (kind_of(*it) == kind && (*it)->since_ns <= kind->sent_ns && (*it)->call == NULL) {
            const char *name = (*it)->name;
            look(*it, json_object_get(by_name, name), json_object_get(taken, name) != NULL);
        }
    }
}

/* ---- requests ---- */

/* Of job.objects; NULL: all are made. */
static const json_t *next_extra(const struct pod_job *job)
{
    return json_array_get(json_object_get(job->spec, "objects"), job->n_made);
}

static void refuse(struct pod_job *job, int r, const struct kube_response *res, const char *words)
{
    const json_t *extra = job->step == JOB_THERE ? next_extra(job) : NULL;
    const char *advice =
        !kube_lacks_right(res) ? (r == -ENOENT ? "; install its kind in the cluster" : "")
        : extra == NULL        ? "; " JOB_RIGHTS_ADVICE
                               : "; apply manifests/rbac.yaml and manifests/jobs/objects.yaml";
    job->owner->params.counters->failed++;
    if (extra != NULL) { /* the object is there, and is deleted with the attempt */
        job->n_made = SIZE_MAX;
        fail(job, NULL, FAILURE_PERMANENT, "needs %s '%s-%s', which cannot be created%s: %s",
             fact_text(extra, "kind"), kube_json_metadata(extra, "name"), job->name, advice, words);
    } else {
        enter(job, JOB_REFUSED);
        fail(job, NULL, FAILURE_PERMANENT, "cannot be created%s: %s", advice, words);
    }
}

/* Of the object itself, or, once it is there, of one of those that its pods need. */
static void on_posted(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_job *job = ctx;
    struct pods *l = job->owner;
    const bool is_extra = job->step == JOB_THERE;
    json_auto_t *object = NULL;
    job->call = NULL;
    job->n_taken = r == -EEXIST ? job->n_taken + 1 : 0;
    if (is_extra && (r == 0 || r == -EEXIST)) {
        pod_trouble_clear(&job->trouble);
        job->n_made++;
    } else if (r == 0 && kube_json_load(res->body, res->body_len, &object, NULL) == 0) {
        pod_denial_clear(&l->denial);
        pod_trouble_clear(&job->trouble);
        read_job(job, object);
        enter(job, JOB_THERE);
    } else if (r == -EEXIST || r == 0 || pods_is_transient(l, r, res)) {
        if (!is_extra) {
            enter(job, JOB_UNKNOWN);
        }
        try_again(job, r, res, err->msg);
    } else {
        refuse(job, r, res, err->msg);
    }
    pods_tick_soon(job->owner);
}

static struct kube_call *call_as_account(const struct pods *l, struct kube_request *req,
                                         kube_done_fn on_done, void *ctx)
{
    kube_request_send_as(req, l->params.ns, JOB_ACCOUNT);
    return kube_call(l->params.client, req, KUBE_ONCE, on_done, ctx);
}

static void post(struct pod_job *job, json_t *body)
{
    const struct pods_params *params = &job->owner->params;
    struct kube_resource resource;
    struct kube_request req;
    kube_resource_of(body, &resource);
    kube_request_create(&resource, params->ns, body, KUBE_WRITE, &req);
    job->call = call_as_account(job->owner, &req, on_posted, job);
    kube_resource_done(&resource);
}

static void post_job(struct pod_job *job)
{
    const struct pods_params *params = &job->owner->params;
    json_auto_t *body = NULL;
    struct err err;
    if (job_body(params->def, &job->attempt, params->account, &body, &err) < 0) {
        enter(job, JOB_REFUSED);
        fail(job, NULL, FAILURE_PERMANENT, "cannot be made: %s", err.msg);
    } else {
        pod_set_registry(body, params->registry);
        enter(job, JOB_POSTING);
        post(job, body);
    }
}

static void on_deleted(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_job *job = ctx;
    job->call = NULL;
    if (r == 0 || r == -ENOENT || r == -ESTALE) { /* another uid: it has gone */
        pod_trouble_clear(&job->trouble);
        kind_of(job)->due_ns = 0;
        enter(job, JOB_GOING);
    } else {
        (void)pods_is_transient(job->owner, r, res);
        enter(job, JOB_THERE);
        try_again(job, r, res, err->msg);
    }
}

static void delete (struct pod_job *job)
{
    struct kube_request req;
    kube_request_delete_tree(&kind_of(job)->resource, job->owner->params.ns, job->name,
                             job->state.uid, &req);
    enter(job, JOB_DELETING);
    job->call = call_as_account(job->owner, &req, on_deleted, job);
}

static void list(struct pod_job_kind *kind, int64_t now_ns)
{
    const struct pods *l = kind->jobs->owner;
    _cleanup_(freep) char *selector =
        xasprintf(POD_SELECTOR "," POD_LABEL_RUN "=%s", l->params.def->name);
    struct kube_request req;
    kube_request_list(&kind->resource, l->params.ns,
                      &(struct kube_list_options){.label_selector = selector}, &req);
    kind->sent_ns = now_ns;
    kind->call = call_as_account(l, &req, on_listed, kind);
}

bool pod_jobs_post(struct pod_jobs *j, const struct attempt_id *attempt, int64_t now_ns)
{
    struct pod_job *job = find(j, attempt);
    if (job != NULL && job->step == JOB_WANTED && now_ns >= job->due_ns && !job->is_removed &&
        !j->is_stopped) {
        post_job(job);
    }
    return job != NULL;
}

/* ---- its members ---- */

/* Its pod was deleted, of which the object may know why; or it has ended well, and the object has
 * not. */
static bool waits_for_word(const struct pod_job *job, const struct pod_member *m)
{
    return pod_member_has_ended(m) && !m->is_completed &&
           (m->state.is_deleted || (m->state.state == REPLICA_SUCCEEDED && pod_logs_leads(m) &&
                                    job->state.verdict != JOB_SUCCEEDED));
}

/* The word has come. */
static void explain(struct pod_job *job, struct pod_member *m)
{
    const bool was_deleted = m->state.is_deleted;
    m->state.is_deleted = false;
    m->has_news |= was_deleted;
    if (was_deleted && job->state.is_suspended) {
        m->state.failure = FAILURE_PREEMPTED;
        pod_state_say(&m->state, "%s '%s' was suspended", job_kind(job->spec), job->name);
    } else if (job->state.verdict == JOB_FAILED) {
        fail(job, m, FAILURE_INFRASTRUCTURE, "failed: %s", job->state.why);
    } else if (!was_deleted && clock_steady_unix_ms() - m->ended_unix_ms > VERDICT_WAIT_MS) {
        fail(job, NULL, FAILURE_PERMANENT, "has not succeeded, although its pods have: %s is wrong",
             json_string_value(json_object_get(job->spec, "succeeded")));
    }
}

static void look_at_missing(struct pod_job *job, size_t n_seen)
{
    const struct pods *l = job->owner;
    if (job->state.is_suspended && job->was_admitted) {
        fail(job, NULL, FAILURE_PREEMPTED, "was suspended");
    } else if (job->state.verdict == JOB_FAILED) {
        fail(job, NULL, FAILURE_INFRASTRUCTURE, "failed: %s", job->state.why);
    } else if (job->state.verdict == JOB_SUCCEEDED) {
        fail(job, NULL, FAILURE_PERMANENT,
             "has ended with %zu pods, and the point has %u; job.set must give it their number",
             n_seen, member_count(l->params.def->matrix.points[job->attempt.point].replicas));
    } else if (clock_steady_unix_ms() - job->state.made_unix_ms > l->wait_ms) {
        fail(job, NULL, FAILURE_WAIT_OVER, "waited %lld s for its pods (scheduling.waitSeconds)",
             (long long)(l->wait_ms / 1000));
    } else if (pod_gang_of(job->owner, &job->attempt)->ran_ms > POD_HALF_GANG_MS) {
        const char *why = pod_events_words(&l->events, job->name);
        fail(job, NULL, FAILURE_NO_ROOM, "lacks some of its pods: %s", why ?: "no event says why");
    }
}

static void look_at_members(struct pod_job *job, int64_t now_ns)
{
    struct pods *l = job->owner;
    const bool has_word =
        job->doubt_ns != 0 && kind_of(job)->sent_ns > job->doubt_ns && kind_of(job)->call == NULL;
    size_t n = 0, n_seen = 0, n_waiting = 0, n_ended = 0;
    vec_each (struct pod_member *, it, &l->members) {
        if (is_of(*it, job)) {
            if (has_word && waits_for_word(job, *it)) {
                explain(job, *it);
            }
            n++;
            n_seen += (*it)->is_shown;
            n_waiting += waits_for_word(job, *it);
            n_ended += pod_member_has_ended(*it);
        }
    }
    job->is_removed |= n == 0 && job->step != JOB_UNKNOWN; /* found, and not wanted */
    job->doubt_ns = n_waiting == 0 ? 0 : has_word || job->doubt_ns == 0 ? now_ns : job->doubt_ns;
    if (n_seen < n && n_ended == 0 && job->step == JOB_THERE) {
        look_at_missing(job, n_seen);
    }
}

/* True: nothing is left of it. */
static bool send_due(struct pod_job *job, int64_t now_ns)
{
    if (job->call != NULL || now_ns < job->due_ns) {
        return false;
    }
    if (job->is_removed && job->step == JOB_THERE) {
        delete (job);
    } else if (job->step == JOB_THERE && next_extra(job) != NULL) {
        json_auto_t *extra =
            job_extra_body(job->owner->params.def, &job->attempt, job->n_made, job->state.uid);
        post(job, extra);
    }
    return job->is_removed && (job->step == JOB_WANTED || job->step >= JOB_REFUSED);
}

static void list_due(struct pod_jobs *j, struct pod_job_kind *kind, int64_t now_ns)
{
    const bool is_used = vec_any(&j->list, it, kind_of(*it) == kind);
    const bool is_urgent =
        vec_any(&j->list, it, (*it)->doubt_ns != 0 || (*it)->step == JOB_GOING) &&
        now_ns - kind->sent_ns >= LOOK_SOON_NS && kind->trouble.words == NULL;
    if (kind->spec != NULL && kind->call == NULL && (is_used || !kind->is_known) &&
        (now_ns >= kind->due_ns || is_urgent)) {
        list(kind, now_ns);
    }
}

static void free_one(struct pod_job *job)
{
    kube_call_cancel(job->call);
    free(job->name);
    job_state_done(&job->state);
    pod_trouble_clear(&job->trouble);
    free(job);
}

bool pod_jobs_tick(struct pod_jobs *j, int64_t now_ns)
{
    const bool was_removing = j->was_removing;
    size_t n = 0;
    for (size_t i = 0; i < n_kinds(j); i++) {
        list_due(j, &j->kinds[i], now_ns);
    }
    vec_each (struct pod_job *, it, &j->list) {
        struct pod_job *job = *it;
        if (!job->is_removed && !j->is_stopped) {
            look_at_members(job, now_ns);
        }
        if (send_due(job, now_ns)) {
            free_one(job);
        } else {
            j->list.items[n++] = job;
        }
    }
    j->list.len = n;
    j->was_removing = pod_jobs_are_removing(j);
    return j->was_removing != was_removing;
}

/* ---- pods ---- */

/* A pod that makes the attempt's measurement another one. */
static void note_surplus(struct pod_jobs *j, const struct kube_object *object, uint32_t n)
{
    const struct pod_facts *pod = object->facts;
    struct pod_job *job = find(j, &pod->id.attempt);
    if (job != NULL && !pod_is_over(pod)) {
        fail(job, NULL, FAILURE_PERMANENT,
             "has pod '%s' too, and the point has %u of role %s; job.set must give it their number",
             object->name, n, role_to_string(pod->id.role));
    }
}

bool pod_jobs_identify(struct pod_jobs *j, const struct kube_object *object, struct replica_id *ret)
{
    const struct pods *l = j->owner;
    const struct pod_facts *pod = object->facts;
    const struct run_def *def = def_of(j);
    if (pod_identify(def, pod, ret)) {
        return true;
    }
    if (!pod->is_of_a_job || !pod->has_id || !str_eq(pod->owner_uid, def->uid) ||
        job_of_point(def, pod->id.attempt.point) == NULL) {
        return false;
    }
    const struct pod_member *known =
        vec_find_item(&l->members, m, m->uid != NULL && str_eq(m->uid, object->uid));
    const uint32_t n = def->matrix.points[pod->id.attempt.point].replicas[pod->id.role];
    struct replica_id id = known != NULL ? known->id : pod->id;
    if (known == NULL) {
        id.index = pod->id.index == POD_INDEX_ANY ? 0 : n;
        while (id.index < n && vec_any(&l->members, it,
                                       (*it)->life < MEMBER_DYING_POSTING && (*it)->uid != NULL &&
                                           replica_id_eq(&(*it)->id, &id))) {
            id.index++;
        }
    }
    if (id.index >= n) {
        note_surplus(j, object, n);
        return false;
    }
    *ret = id;
    return true;
}

void pod_jobs_note_second(struct pod_jobs *j, struct pod_member *m, const char *name)
{
    if (find(j, &m->id.attempt) != NULL && !pod_member_has_ended(m)) {
        _cleanup_(freep) char *words =
            xasprintf("pod '%s' was made in its place; a measurement is one start", name);
        pod_member_fail(m, FAILURE_INFRASTRUCTURE, words, now_of(j));
    }
}

bool pod_jobs_hold_pod(const struct pod_jobs *j, const struct pod_member *m)
{
    const struct pod_job *job = find(j, &m->id.attempt);
    return job != NULL && job->step != JOB_WANTED && job->step < JOB_GOING;
}

const char *pod_jobs_hold_end(const struct pod_jobs *j, const struct pod_member *m)
{
    const struct pod_job *job = find(j, &m->id.attempt);
    const bool is_there = job != NULL && !job->is_removed && job->step == JOB_THERE;
    return is_there && waits_for_word(job, m) ? job->name : NULL;
}

/* ---- the whole ---- */

void pod_jobs_init(struct pod_jobs *j, struct pods *owner)
{
    const struct spec *spec = owner->params.def->spec;
    *j = (struct pod_jobs){.owner = owner};
    if (!vec_any(&spec->systems, s, s->job != NULL)) {
        return;
    }
    j->kinds = xnew_array(struct pod_job_kind, spec->systems.len);
    for (size_t i = 0; i < spec->systems.len; i++) {
        const json_t *job = spec->systems.items[i].job;
        j->kinds[i] = (struct pod_job_kind){.jobs = j, .spec = job, .is_known = job == NULL};
        if (job != NULL) {
            kube_resource_of(json_object_get(job, "template"), &j->kinds[i].resource);
        }
    }
    pods_tick_soon(owner);
}

void pod_jobs_done(struct pod_jobs *j)
{
    for (size_t i = 0; i < n_kinds(j); i++) {
        kube_call_cancel(j->kinds[i].call);
        kube_resource_done(&j->kinds[i].resource);
        pod_trouble_clear(&j->kinds[i].trouble);
    }
    vec_each (struct pod_job *, it, &j->list) {
        free_one(*it);
    }
    vec_done(&j->list);
    free(j->kinds);
    *j = (struct pod_jobs){0};
}

void pod_jobs_want(struct pod_jobs *j, const struct attempt_id *attempt, bool may_exist)
{
    const json_t *spec = job_of_point(def_of(j), attempt->point);
    if (spec == NULL || find(j, attempt) != NULL) {
        return;
    }
    struct pod_job *job = xnew(struct pod_job);
    *job = (struct pod_job){.owner = j->owner,
                            .attempt = *attempt,
                            .spec = spec,
                            .name = pod_attempt_name(def_of(j), attempt),
                            .step = may_exist ? JOB_UNKNOWN : JOB_WANTED};
    *vec_push(&j->list) = job;
    pods_tick_soon(j->owner);
}

void pod_jobs_remove(struct pod_jobs *j, const struct attempt_id *attempt)
{
    struct pod_job *job = find(j, attempt);
    if (job != NULL && !job->is_removed) {
        job->is_removed = true;
        job->due_ns = 0;
    }
}

bool pod_jobs_are_removing(const struct pod_jobs *j)
{
    return vec_any(&j->list, it, (*it)->is_removed || !has_member(*it)) ||
           array_any(j->kinds, n_kinds(j), it, !it->is_known);
}

bool pod_jobs_stop(struct pod_jobs *j)
{
    j->is_stopped = true;
    return !vec_any(&j->list, it, (*it)->step == JOB_POSTING);
}

/* It exists, and its controller has not made all of its pods. */
static bool is_short(const struct pod_job *job)
{
    return job->step == JOB_THERE && !job->is_removed &&
           vec_any(&job->owner->members, m, is_of(*m, job) && pod_member_is_wanted(*m));
}

const char *pod_jobs_find_short(const struct pod_jobs *j, int64_t now_ns)
{
    const struct pod_job *job = vec_find_item(&j->list, it,
                                              is_short(it) && !it->state.is_suspended &&
                                                  now_ns - it->since_ns >= SHORT_USUAL_NS);
    return job == NULL ? NULL : job->name;
}

static void say(const struct pod_job *job, struct run_wait *ret)
{
    const bool needs_list = job->step != JOB_THERE || job->doubt_ns != 0;
    const struct pod_trouble *trouble =
        job->trouble.words != NULL || !needs_list ? &job->trouble : &kind_of(job)->trouble;
    const char *why = pod_events_words(&job->owner->events, job->name);
    const bool is_leaving = job->step == JOB_DELETING || job->step == JOB_GOING;
    _cleanup_(freep) char *more = is_leaving    ? pod_wait_holder(job->state.held_by)
                                  : why == NULL ? xstrdup("")
                                                : xasprintf(": %s", why);
    const char *words = is_leaving       ? "is being deleted, and something of it may run"
                        : !is_short(job) ? NULL
                        : job->state.is_suspended
                            ? "is suspended: its queue has not admitted it"
                            : "exists, and its controller has not made all of "
                              "its pods";
    if (trouble->words != NULL) {
        pod_wait_say(ret, job->is_removed ? "DeletionFails" : pod_answer_reason(trouble->code),
                     "%s", trouble->words);
    } else if (words != NULL) {
        pod_wait_say(ret, is_leaving ? "PodsRemain" : "Queued", "%s '%s' %s%s", job_kind(job->spec),
                     job->name, words, more);
    }
}

void pod_jobs_wait(const struct pod_jobs *j, struct run_wait *ret)
{
    for (size_t i = 0; i < j->list.len && ret->reason[0] == '\0'; i++) {
        say(j->list.items[i], ret);
    }
    const struct pod_job_kind *unknown =
        array_find(j->kinds, n_kinds(j), it, !it->is_known && it->trouble.words != NULL);
    if (unknown != NULL && ret->reason[0] == '\0') {
        pod_wait_say(ret, pod_answer_reason(unknown->trouble.code), "%s", unknown->trouble.words);
    }
}
