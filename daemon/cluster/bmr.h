/* BenchmarkRun objects: reads what they ask for and writes their status. Pure: JSON in, JSON out,
 * and the time is an argument. Used by the files of a run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "decide/reconcile.h"
#include "result/result.h"
#include "spec/run_def.h"

#define BMR_DEFINITION_MAX 32768 /* bytes of status.definition */
#define BMR_STATUS_MAX 65536     /* bytes of the rest */

/* What an object asks for; borrowed from it. */
struct bmr_spec {
    const char *name, *uid, *created; /* created: RFC 3339, so texts compare like dates */
    const char *benchmark;            /* benchmarkRef.name; NULL: an inline definition */
    const char *definition;           /* its name: the benchmark's; of an inline one the label
                                       * benchd.io/benchmark, else the run's own */
    int64_t generation;
    bool cancel, suspend, is_deleting;
    bool erase;          /* the deletion also asks to erase its results, at once */
    bool has_definition; /* status.definition is written */
};
void bmr_read(const json_t *bmr, struct bmr_spec *ret);

/* The definition that the run is to be frozen from: status.definition, else spec.definition, else
 * `benchmark` (a Benchmark object) with the overrides. -ENOENT: it needs a benchmark and got NULL;
 * -EINVAL: what is wrong with it, one line. *ret is owned. */
int bmr_load_spec(const json_t *bmr, const json_t *benchmark, struct spec **ret, struct err *err);
/* For status.definition: the `spec` of the frozen document. -E2BIG: it does not fit. Owned. */
int bmr_definition(const struct spec *spec, json_t **ret, struct err *err);

/* Phase, counts and dates as the object's status has them; for a store that knows nothing. */
void bmr_read_status(const json_t *bmr, struct run_status *ret);
/* Seconds that the object stays after the end, as its own definition says; -1: for ever. */
int64_t bmr_read_ttl_s(const json_t *bmr);
/* The final status is written, for the spec as it is, and no deletion is pending: it
 * needs no more attention. */
bool bmr_is_settled(const json_t *bmr);
/* It is settled, and its status says that its run ended before that moment. */
bool bmr_ended_before(const json_t *bmr, int64_t unix_ms);
/* The field selector of objects whose status does not say that their run is over. Needs
 * selectableFields of manifests/benchmark-crd.yaml. Owned. */
char *bmr_open_selector(void);
/* Keeps of a settled object what the functions above read, a tenth or less; of another one, all. */
void bmr_prune(json_t *bmr);

struct bmr_status {
    const struct run_status *run;
    int64_t generation;
    bool is_accepted;
    const char *refusal, *refusal_text; /* why it is not accepted: CamelCase, words */
    bool is_final;
    bool is_store_full;                /* it waits for space */
    bool has_mute_trials;              /* some trial ended MetricsUnavailable */
    enum threshold_verdict thresholds; /* of all together */
    int64_t eta_s;                     /* -1: not known */
    const json_t *conditions;          /* the last ones, for their dates; NULL: none */
    int64_t now_unix_ms;
};
/* The `status` that manager benchd applies. Owned. */
json_t *bmr_status_json(const struct bmr_status *s);
/* The whole body of a server-side apply to the object's status; takes `status`. Owned. */
json_t *bmr_apply_body(const char *name, const char *uid, json_t *status_take);
