/* BenchmarkRun objects: the definition that they ask for, and their status. Pure: the time is an
 * argument. Used by the files of a run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "daemon/cluster/bmr_facts.h"
#include "core/phase.h"
#include "result/result.h"
#include "spec/run_def.h"

#define BMR_DEFINITION_MAX 32768 /* bytes of status.definition */

/* The run that the object asks for: its own definition, else `benchmark`, the spec of the
 * Benchmark, with the overrides; and its options. `queue` is for runs that name none; NULL: none.
 * -ENOENT: it needs a benchmark and got NULL; -EINVAL: what is wrong with it, one line. *ret is
 * owned. */
int bmr_load_run(const json_t *bmr, const json_t *benchmark, const char *queue,
                 const struct run_def_params *params, struct run_def **ret, struct err *err);
/* For status.definition: the `spec` of the frozen document. -E2BIG: it does not fit. Owned. */
int bmr_definition(const struct spec *spec, json_t **ret, struct err *err);

/* The field selector of objects whose status does not say that their run is over. Needs
 * selectableFields of manifests/benchmark-crd.yaml. Owned. */
char *bmr_open_selector(void);

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
    int64_t now_unix_ms;
};
/* The `status` that manager benchd applies; owned. A condition's date changes with its status
 * alone: `dates` has those of the last status, and afterwards of this one. */
json_t *bmr_status_json(const struct bmr_status *s, struct bmr_conditions *dates);
/* The whole body of a server-side apply to the object's status; takes `status`. Owned. */
json_t *bmr_apply_body(const char *name, const char *uid, json_t *status_take);
