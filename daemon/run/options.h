/* The command line of benchd. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "decide/policy_retention.h"
#include "run/pods/pod_nodes.h"

struct options {                           /* texts are borrowed from argv */
    const char *kubeconfig, *context, *ns; /* NULL: in the cluster; the context's namespace */
    const char *store;                     /* "sqlite:FILE" */
    bool is_store_given;                   /* else it is the default place */
    const char *archive;                   /* where finished runs are kept, too; NULL: nowhere */
    const char *listen;                    /* "host:port" */
    const char *tls_cert, *tls_key;        /* files; NULL: plain HTTP */
    const char *address; /* for the Lease; NULL: "service" in a cluster, else the URL of `listen` */
    int64_t lease_ms;    /* without a renewal; then another benchd may take it */
    int64_t wait_ms, image_wait_ms, setup_wait_ms;
    int64_t log_file_bytes;         /* containerLogMaxSize of the nodes */
    int64_t undelete_ms;            /* after its object was deleted */
    struct retention_policy keep;   /* of finished runs */
    const char *queue;              /* of runs that name none; NULL: none */
    const char *replica_account;    /* NULL: the default one */
    const char *registry;           /* of images of this tree; NULL: as definitions name them */
    const char *prometheus;         /* URL; NULL: none */
    struct node_labels node_labels; /* to be stored of nodes */
    bool has_policies;              /* NetworkPolicies, one a run */
    bool needs_read_key;
    bool has_json_logs;
    bool is_debug;
};

/* 0: continue; 1: help or version was printed, exit with 0; -EINVAL: the text says why. */
int options_parse(int argc, char **argv, struct options *ret, struct err *err);
