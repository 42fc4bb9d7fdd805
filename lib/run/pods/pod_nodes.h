/* What labels of nodes say of the machine that a pod runs on: its instance type, zone, GPU and
 * driver, and what the administrator asks for. A node is read once for an attempt. That needs a
 * right that is optional (manifests/node-reader.yaml): without it these facts are unknown. And the
 * version of the API server, which whoever has an account may ask: once for a launcher. */
#pragma once

#include <jansson.h>

#include "base/vec.h"
#include "core/replica.h"

struct pods;
struct pod_member;
struct kube_call;

#define NODE_LABELS_MAX 16
struct node_labels {                   /* of all launchers of a process */
    const char *more[NODE_LABELS_MAX]; /* keys in addition, NULL after the last; borrowed */
    bool is_denied;                    /* the right is missing, so nothing is asked any more */
    bool is_reported;                  /* for the owner: it has said so */
};

struct pod_node {
    struct pods *owner;
    struct attempt_id attempt;
    char *name;             /* owned */
    struct kube_call *call; /* NULL: answered */
    json_t *facts;          /* by keys of environments (docs/contracts/record.md); NULL: unknown */
};
struct pod_nodes {
    VEC(struct pod_node *) list;
    struct kube_call *version_call; /* NULL: answered, or not asked */
    char *kubernetes;               /* the version of the API server, owned; NULL: unknown */
    bool has_asked_version;
};

/* Asks for the nodes of a gang once all of its pods run, so that it does not delay them, and drops
 * what no attempt needs any more. */
void pod_nodes_tick(struct pods *l);
/* Asks for the node of the member, unless it was. True: it is being read, and the driver is
 * notified when it was. */
bool pod_nodes_ask(struct pods *l, struct pod_member *m);
/* The environment with the facts that it does not say itself; owned, replaces the text. */
void pod_nodes_add(const struct pods *l, const struct pod_member *m, json_t **environment);
void pod_nodes_done(struct pod_nodes *n);
