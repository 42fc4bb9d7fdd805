/* What benchd retains of a BenchmarkRun, decoded once, when the object arrives. The cache has these
 * of ten thousand runs, so they have no text of which a creator chooses the size: the definition is
 * read again when the run is accepted (run_accept.c). Pure: JSON of an object in.
 *
 * A field is named as in the API where nothing else is said. A text that the object lacks is "", a
 * date 0. Dates are in milliseconds since 1970. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "core/phase.h"

/* The conditions that benchd writes. */
enum bmr_condition {
    BMR_ACCEPTED, /* always there */
    BMR_SUSPENDED,
    BMR_RUNNING,
    BMR_WAITING,
    BMR_COMPLETE,
    BMR_FAILED,
    BMR_STORE_FULL,
    BMR_METRICS_UNAVAILABLE,
    BMR_THRESHOLD_FAILED,
};
#define BMR_CONDITION_COUNT (BMR_THRESHOLD_FAILED + 1)
const char *bmr_condition_to_string(enum bmr_condition condition);

/* COND_NONE: the object does not have it, or with another status or no date. */
enum condition_status { COND_NONE, COND_FALSE, COND_TRUE, COND_UNKNOWN };
const char *condition_status_to_string(enum condition_status status);

/* Since when each is as it is. */
struct bmr_conditions {
    struct {
        enum condition_status status;
        int64_t since_unix_ms; /* lastTransitionTime */
    } of[BMR_CONDITION_COUNT];
};

struct bmr_facts {
    /* metadata */
    const char *name, *uid;
    const char *created; /* creationTimestamp: RFC 3339, so texts compare like dates */
    int64_t generation;
    bool is_deleting; /* it has a deletionTimestamp */
    /* Its deletion also asks to erase its results, at once. Never true of an object with owners:
     * the garbage collector may delete that, which shows no user's right. */
    bool erase;
    /* spec */
    const char *benchmark;       /* benchmarkRef.name; NULL: an inline definition */
    const char *definition_name; /* the benchmark's; of an inline one the label
                                  * benchd.io/benchmark, else the run's own */
    bool cancel, suspend;        /* false if it is settled */
    int64_t wait_s;              /* scheduling.waitSeconds; 0: not said; -1: no number above 0 */
    bool has_queue;              /* scheduling.queueName is there */

    /* status */
    enum run_phase phase; /* RUN_PENDING if it has none */
    uint32_t trials_done, trials_failed, trials_total;
    int64_t started_unix_ms, ended_unix_ms; /* startTime, completionTime */
    /* The final status is written, for the spec as it is, and no deletion is pending: it needs no
     * more attention. */
    bool is_settled;

    bool is_frozen; /* it has a status.definition */
    int64_t ttl_s; /* of its definition: runPolicy.ttlSecondsAfterFinished; -1: it stays for ever */

    /* status.conditions; NULL if absent, and of a settled object: nothing reads them then */
    const struct bmr_conditions *conditions;
};

/* A struct bmr_facts, whatever JSON it gets: one block with all its texts, owned, for free(). As
 * the cache of kube/ takes it. */
void *bmr_facts_decode(json_t *bmr);

/* status.definition, else spec.definition, else NULL. Borrowed. */
json_t *bmr_definition_of(const json_t *bmr);
/* The name of the Benchmark that defines it. Borrowed. */
const char *bmr_definition_name(const json_t *bmr);

/* What the facts say of the run's status. */
struct run_status bmr_run_status(const struct bmr_facts *f);
