/* Systems that are job objects (spec/job_template.h): the object of each attempt. Its controller
 * makes the pods, so pods.c posts none: their members wait until the watch shows them, and all else
 * about them is as of other pods.
 *
 *   WANTED --post_job--> POSTING --on_posted--> THERE --delete--> DELETING --on_deleted--> GOING
 *   POSTING --no answer, it exists--> UNKNOWN --not listed--> WANTED
 *   WANTED, POSTING --refused--> REFUSED            DELETING --try again--> THERE
 *   THERE, GOING --not listed--> GONE             WANTED, UNKNOWN, REFUSED, GONE --listed--> THERE
 * Removed, it is freed in WANTED, REFUSED and GONE: what may exist ends by a list without it.
 *
 * A list of the run's objects says every two seconds which exist and how they are; the first one
 * shows what an earlier process has made. The object is deleted before its pods, which its
 * controller would replace, and stays until they have gone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "decide/policy_wait.h"
#include "run/pods/pod_member.h"

struct kube_object;
struct pod_job;
struct pod_job_kind;

struct pod_jobs {
    struct pods *owner;
    VEC(struct pod_job *) list; /* one an attempt; owned */
    struct pod_job_kind *kinds; /* of the systems; owned; NULL: no system is a job object */
    bool was_removing;          /* at the last tick */
    bool is_stopped;            /* nothing is created or removed any more */
};

void pod_jobs_init(struct pod_jobs *j, struct pods *owner);
void pod_jobs_done(struct pod_jobs *j);

/* A member was asked for, so its attempt needs an object; or something of it is there already. */
void pod_jobs_want(struct pod_jobs *j, const struct attempt_id *attempt, bool may_exist);
/* A member is removed, so the object is deleted with all its pods. */
void pod_jobs_remove(struct pod_jobs *j, const struct attempt_id *attempt);
/* True: this attempt has a job object, which is created now if it is not there. */
bool pod_jobs_post(struct pod_jobs *j, const struct attempt_id *attempt, int64_t now_ns);
/* Sends the rest that is due, and ends the members of objects that have ended. True: what
 * pod_jobs_are_removing() says has changed. */
bool pod_jobs_tick(struct pod_jobs *j, int64_t now_ns);

/* Which replica any pod is, also one that its controller has not numbered. False: none of the run;
 * where it is one more than the point has, its attempt fails. */
bool pod_jobs_identify(struct pod_jobs *j, const struct kube_object *pod, struct replica_id *ret);
/* The pod of that name was made while this member had one. */
void pod_jobs_note_second(struct pod_jobs *j, struct pod_member *m, const char *name);
/* The pod must not be deleted before its object is. */
bool pod_jobs_hold_pod(const struct pod_jobs *j, const struct pod_member *m);
/* How the member ended is not decided: its object has not said how it ended, or why. The name of
 * that object, borrowed; NULL if none holds it. */
const char *pod_jobs_hold_end(const struct pod_jobs *j, const struct pod_member *m);

/* Something exists that must go, or it is not known yet what exists. */
bool pod_jobs_are_removing(const struct pod_jobs *j);
/* True: no POST is on its way. From now on none is sent. */
bool pod_jobs_stop(struct pod_jobs *j);
/* The name of the first object that has lacked pods for a while, though nothing holds it back;
 * NULL: all have them. Borrowed. */
const char *pod_jobs_find_short(const struct pod_jobs *j, int64_t now_ns);
/* What an object waits for; where *ret has a reason, or none waits, it stays as it is. */
void pod_jobs_wait(const struct pod_jobs *j, struct run_wait *ret);
