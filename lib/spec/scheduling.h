/* How the pods of a run get their nodes: spec.scheduling and spec.parallelism of a BenchmarkRun, as
 * they were when the run started; stored with the definition, which knows nothing of clusters.
 * waitSeconds is not here: it may be changed while the run waits. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"

struct scheduling {       /* texts are owned */
    char *queue;          /* a LocalQueue of Kueue; NULL: the scheduler gets the pods */
    char *priority_class; /* a WorkloadPriorityClass; NULL: none */
    char *topology_key;   /* of nodes: one value for a whole attempt; NULL: any node */
    bool exclusive_nodes; /* no pod of another attempt, of any run, on the nodes of an attempt */
    uint32_t trials;      /* under way at a time, each in a lane of its own; 0: one */
};
void scheduling_done(struct scheduling *s);
/* 1 or more. */
uint32_t scheduling_lanes(const struct scheduling *s);

/* `json`: the fields of both as text, NULL: absent. `queue`: of runs that name none; NULL: none.
 * -EINVAL: its fields contradict each other. The API server has checked them one by one. */
int scheduling_read(const char *json, const char *queue, struct scheduling *ret, struct err *err);
/* As it is read again, owned; NULL: there is nothing to say. */
json_t *scheduling_to_json(const struct scheduling *s);
/* "queue 'team-a', priority class 'low', one node label 'zone', exclusive nodes"; nothing, where
 * there is nothing to say. */
void scheduling_put(const struct scheduling *s, struct buf *out);
