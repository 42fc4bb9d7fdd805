/* What a run says apart from its definition: the fields of a BenchmarkRun's spec that are fixed
 * when the run is accepted. Local runs have none of them. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "doc/diag.h"

struct node;

/* spec.scheduling and spec.parallelism, where waitSeconds is the one that may change later: the
 * object has its value. */
struct run_options {      /* texts are owned */
    char *queue;          /* a LocalQueue of Kueue; NULL: the scheduler gets the pods */
    char *priority_class; /* a WorkloadPriorityClass; NULL: none */
    char *topology_key;   /* of nodes: one value for a whole attempt; NULL: any node */
    bool exclusive_nodes; /* no pod of another attempt, of any run, on the nodes of an attempt */
    uint32_t trials;      /* under way at a time, each in a lane of its own; 0: one */
    json_t *document; /* the fields as they were read, for the store, without those that name the
                       * definition or stop the run; NULL: none was given */
};
void run_options_done(struct run_options *o);

/* Checks the fields under that key of the document, as the schema of a BenchmarkRun and the rules
 * between them say, and reads them. -EINVAL with diagnostics. */
int run_options_read(struct node *document, const char *key, struct run_options *ret,
                     struct diags *diags);
/* The first half of that: each field by itself, as the schema says, also those that name the
 * definition or stop the run. */
void run_options_check_form(struct node *document, const char *key, struct diags *diags);

/* How many trials run at a time: 1 or more. */
uint32_t run_options_lanes(const struct run_options *o);
/* "queue 'team-a', priority class 'low', one node label 'zone', exclusive nodes"; nothing, where
 * there is nothing to say. */
void run_options_put(const struct run_options *o, struct buf *out);
