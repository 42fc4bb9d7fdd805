/* The pod launcher with a job object, a Job of two workers and a ConfigMap, in a cluster that the
 * test plays: its API server and its controller. */
#pragma once

#include "pods_world.h"

#define NAME "jobs-1-p0t0a0"

/* What goes wrong. */
struct jobs_faults {
    int refuse;                                   /* -Exxx of a POST of the Job; 0: none */
    int refuse_extra, refuse_delete, refuse_list; /* the same of others */
    const char *words;                            /* of a refusal; NULL: "no" */
    const char *events; /* about objects, the list; NULL: no answer. Pods have none. */
    const char *mute;   /* requests with this in their path are not answered; NULL: all are */
};

struct jobs_world {
    struct world w;
    struct jobs_faults faults;
    json_t *job;    /* the object, as the server has it; NULL: none */
    json_t *extra;  /* the ConfigMap */
    bool is_queued; /* a webhook suspends it */
    unsigned n_posts, n_deletes;
};

extern const struct replica_id workers[2];

void jobs_open(struct jobs_world *j);
void jobs_close(struct jobs_world *j);
/* Answers whatever is asked, as the server would; pods' DELETEs take effect by the watch. */
void jobs_serve(struct jobs_world *j);
/* Lets time pass, and answers. */
void jobs_pass(struct jobs_world *j, int64_t ms);
/* The attempt begins. */
void jobs_create(struct jobs_world *j);
/* A pod as the Job's controller makes it of the template. Owned. */
json_t *jobs_pod(const struct jobs_world *j, const char *name, const char *index,
                 const char *status);
/* What the watch says of a pod, as the Job's controller makes it of the template. */
void jobs_watch(struct jobs_world *j, enum kube_change change, const char *name, const char *index,
                const char *status);
const struct observed_replica *jobs_worker(struct jobs_world *j, size_t i);
void jobs_remove(struct jobs_world *j);
/* The controller's end: the pods have gone, then the object. */
void jobs_finish_deletion(struct jobs_world *j);
