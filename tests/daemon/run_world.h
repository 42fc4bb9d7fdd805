/* One run between its object, the store and a client without a network, for tests of the daemon. */
#pragma once

#include <uv.h>

#include "tests/test.h"
#include "daemon/run/run.h"
#include "fake_kube.h"

FREEP(run_free, struct run)

/* Two points, one trial of each; takes the number of steps. */
#define DEFINITION                                                                                 \
    "{\"systems\":[{\"name\":\"benchworker\",\"profile\":\"benchworker\"}],\"workload\":{"         \
    "\"model\":\"vgg16-fluid-fc512\",\"batchSize\":16},\"sweep\":{\"grid\":{\"pservers\":[1],"     \
    "\"trainers\":[1,2]}},\"baseline\":{\"kind\":\"Point\",\"where\":{\"trainers\":1}},"           \
    "\"measure\":{\"steps\":%d},"                                                                  \
    "\"roles\":{\"pserver\":{\"replicas\":{\"from\":\"pservers\"},\"template\":{\"spec\":{"        \
    "\"containers\":[{\"name\":\"m\"}]}}},\"trainer\":{\"replicas\":{\"from\":\"trainers\"},"      \
    "\"template\":{\"spec\":{\"containers\":[{\"name\":\"m\"}]}}}}}"

/* A store in a folder of its own. */
struct world {
    char folder[64], url[96];
    uv_loop_t loop;                     /* for summaries alone */
    struct kube_cache benchmarks, runs; /* what the watches have */
    struct run_env env;
    struct event_recorder events;
    struct daemon_counters counters;
    unsigned n_wakes;
};

/* As turn_cpu_ns of a run_queue: its turn never ends, however slow the machine is. */
#define TURN_WITHOUT_END INT64_MAX

struct world *world_new(void);
void world_freep(struct world **w); /* fails where a claim is left */

json_t *parse(const char *text); /* fails the test with the place */
json_t *make_bmr(const char *uid, const char *spec, const char *status);
json_t *inline_bmr(const char *uid); /* with a definition, nothing else */
/* The watch shows the object: a run of it is made, or hears of the change. */
struct run *new_run(struct world *w, json_t *bmr);
void update_run(struct run *run, json_t *bmr);
/* Lets the threads that summarize ended runs finish. */
void let_summarize(struct world *w);
/* Answers what was asked for the definition with these objects; `benchmark` may be NULL. */
void answer_reads(json_t *bmr, json_t *benchmark);
/* run_accept, whose definition is read at once; fails the test on an error. */
int take(struct run *run, json_t *bmr, json_t *benchmark);
/* The same, with templates that the server takes. */
int take_good(struct run *run, json_t *bmr, json_t *benchmark);
/* A new run that take_good accepts. */
struct run *accepted_run(struct world *w, json_t *bmr);
/* Answers the dry runs of the templates alike; returns how many. */
size_t answer_checks(int r, const char *text);
/* The i-th open call that is no Event; NULL: there are not so many. */
struct kube_call *open_call(size_t i);
