/* The cluster of test_pods_random.c: a server of pods with its watch and its nodes, behind fakes of
 * kube/client.h and kube/follow.h. Everything random comes from the world's seed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <uv.h>

#include "base/vec.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/follow.h"
#include "run/pods/pods.h"

#define GANG 3 /* one server, two trainers */

struct kube_call {
    struct kube_request req;
    kube_done_fn on_done;
    void *ctx;
    bool is_served; /* it had its effect */
    int r, http_code;
    char *body; /* owned */
};

struct kube_follow {
    struct kube_follow_params params;
    bool has_container_ended;
};

/* A pod of the server. */
struct server_pod {
    json_t *json;
    uint32_t attempt;
    enum { POD_PENDING, POD_RUNNING, POD_ENDED, POD_REPORTED } step; /* REPORTED: by its phase */
    bool is_deleting;
};

struct told {
    bool is_removal;
    json_t *json;
};

struct world {
    uint64_t seed, random;
    uv_loop_t loop;
    struct run_def *def;
    enum pod_naming naming;
    struct kube_cache cache;
    struct pods_counters counters;
    struct launcher *launcher;
    bool is_calm;
    bool is_ending; /* the driver removes whatever it observes */
    unsigned next_uid;
    VEC(struct server_pod) pods;
    VEC(struct told) watch; /* to be told, in order */
    VEC(struct kube_call *) calls;
    VEC(struct kube_follow *) follows;
    bool has_secret, has_service;

    uint32_t attempt;    /* the next one */
    bool is_asked[GANG]; /* collected, with -EAGAIN */
    char known[512];     /* what the driver knows */
    unsigned n_requests, n_changes;
};

extern struct world *the_world; /* of the fakes */
extern int64_t now_ns;

uint32_t below(struct world *w, uint32_t n);
/* One in so many, and never when it is calm. */
bool fault(struct world *w, uint32_t one_in);
/* Fails the test with the world's seed. */
void check(const struct world *w, bool holds, const char *promise);

/* What may happen next. */
void kubelet(struct world *w);  /* a pod goes on */
void outsider(struct world *w); /* deletes a pod */
void relist(struct world *w);   /* the watch broke off: what it did not tell, a new list tells */
void tell(struct world *w);     /* the next event of the watch */
void answer_one(struct world *w);
void follow_on(struct world *w); /* a followed log goes on, or ends */
/* For the cache: tells the launcher. */
void on_pod(void *ctx, enum kube_change change, const struct kube_object *object);
