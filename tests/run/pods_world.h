/* The pod launcher over a client without a network, for its tests: a run of one server and two
 * trainers, their pods, and what the watch tells of them. */
#pragma once

#include <jansson.h>
#include <uv.h>

#include "fake_kube.h"
#include "run/pods/pods.h"
#include "run/pods/pods_internal.h"

struct world {
    uv_loop_t loop;
    struct run_def *def;
    struct kube_cache cache, workload_cache;
    struct pod_workloads workloads; /* of that, and known */
    struct pods_counters counters;
    struct launcher *launcher;
    unsigned n_changes, n_records;
    json_t *pods[3]; /* of accept_pods and world_open_pods; NULL: none */
    struct run_wait wait;
    int64_t denied_wait_ms;
    bool has_policy;  /* of the next make_launcher */
    bool opens_gates; /* of each attempt, since open_gates */
};

extern const struct replica_id ids[3];

/* What the launcher takes for the time. */
extern int64_t world_now_ns;
/* Lets the launcher act on what it heard. */
void turn(struct world *w);
/* Lets time pass, and the launcher act. */
void pass_ms(struct world *w, int64_t ms);
/* fake_kube_answer, and what the launcher makes of it. */
void answer(struct world *w, struct kube_call *call, int r, const char *text);
/* The same for each open call, also for those that follow, up to the first of another method. */
void answer_all(struct world *w, enum kube_method method, int r, const char *text);

#define CONTAINER(state)                                                                           \
    "\"containerStatuses\":[{\"name\":\"main\",\"containerID\":\"c://1\","                         \
    "\"state\":" state "}]"
#define RUNNING "{\"phase\":\"Running\",\"podIP\":\"10.0.0.7\"," CONTAINER("{\"running\":{}}") "}"
#define ENDED "{\"phase\":\"Succeeded\"," CONTAINER("{\"terminated\":{\"exitCode\":0}}") "}"

void make_launcher(struct world *w, enum pod_naming naming);
void world_open(struct world *w, enum pod_naming naming);
/* The same with a log rule of the system. */
void world_open_with_log(struct world *w, enum pod_naming naming, const char *log);
/* By IP, of three points, with so many lanes and open gates. */
void world_open_lanes(struct world *w, uint32_t n_lanes);
void world_close(struct world *w);
/* The three replicas of an attempt. */
void create_gang(struct world *w, uint32_t attempt);
/* The three of attempt 0, as one pass of the driver does. */
void remove_gang(struct world *w);
/* The Secret and, with names, the Service; those of later attempts when they are posted. */
void open_gates(struct world *w);
/* world_open by DNS, then the gang of attempt 0, with its gates open. */
void world_open_gang(struct world *w);
/* What is written of their addresses. */
void answer_slices(struct world *w);
/* The pod of a POST as the server returns it; its uid is its name. Owned. */
json_t *pod_of(const struct kube_call *call);
/* What the watch says of the pod; the launcher acts on it with the next turn. */
void notify_soon(struct world *w, enum kube_change change, json_t *pod);
/* The same, after `status` (NULL: as it is) has become the pod's, and a turn. */
void notify(struct world *w, enum kube_change change, json_t *pod, const char *status);
/* Answers every open POST of a pod, also those that follow, and the watch tells of them; the
 * pods, in their order. */
size_t accept_pods(struct world *w, json_t *ret[3]);
/* world_open_gang, then accept_pods of its three, which are w->pods. */
void world_open_pods(struct world *w);
/* The observed replica; NULL: none. Borrowed till the next call. */
const struct observed_replica *seen(struct world *w, const struct replica_id *id);
/* What it says that it waits for. */
struct run_wait wait_of(const struct world *w);
/* The one replica of an attempt of its own gang. */
void create_server(struct world *w, uint32_t point, uint32_t attempt);
/* For _cleanup_: releases those that there are. */
void drop_pods(json_t *(*pods)[3]);
