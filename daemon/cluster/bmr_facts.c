/* See bmr_facts.h. */
#include "daemon/cluster/bmr_facts.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"
#include "kube/request.h"
#include "spec/name.h"

/* ---- conditions ---- */

const char *bmr_condition_to_string(enum bmr_condition condition)
{
    static const char *const names[BMR_CONDITION_COUNT] = {
        [BMR_ACCEPTED] = "Accepted",
        [BMR_SUSPENDED] = "Suspended",
        [BMR_RUNNING] = "Running",
        [BMR_WAITING] = "Waiting",
        [BMR_COMPLETE] = "Complete",
        [BMR_FAILED] = "Failed",
        [BMR_STORE_FULL] = "StoreFull",
        [BMR_METRICS_UNAVAILABLE] = "MetricsUnavailable",
        [BMR_THRESHOLD_FAILED] = "ThresholdFailed",
    };
    return names[condition];
}

const char *condition_status_to_string(enum condition_status status)
{
    static const char *const names[] = {
        [COND_NONE] = "", [COND_FALSE] = "False", [COND_TRUE] = "True", [COND_UNKNOWN] = "Unknown"};
    return names[status];
}

static enum condition_status status_of(const json_t *item)
{
    enum condition_status status = COND_UNKNOWN;
    while (status != COND_NONE &&
           !str_eq(fact_text(item, "status"), condition_status_to_string(status))) {
        status--;
    }
    return fact_date(item, "lastTransitionTime") == 0 ? COND_NONE : status;
}

static void read_conditions(struct bmr_conditions *ret, const json_t *list)
{
    for (unsigned i = 0; i < BMR_CONDITION_COUNT; i++) {
        const char *type = bmr_condition_to_string((enum bmr_condition)i);
        const json_t *item = fact_find(list, "type", type); /* the first one counts */
        ret->of[i].status = status_of(item);
        ret->of[i].since_unix_ms = fact_date(item, "lastTransitionTime");
    }
}

/* ---- the definition ---- */

json_t *bmr_definition_of(const json_t *bmr)
{
    json_t *frozen = json_object_get(json_object_get(bmr, "status"), "definition");
    return frozen ?: json_object_get(json_object_get(bmr, "spec"), "definition");
}

static int64_t ttl_of(const json_t *definition)
{
    const json_t *ttl =
        json_object_get(json_object_get(definition, "runPolicy"), "ttlSecondsAfterFinished");
    return json_is_integer(ttl) ? json_integer_value(ttl) : -1;
}

/* ---- the object ---- */

static const char *benchmark_of(const json_t *spec)
{
    return json_string_value(json_object_get(json_object_get(spec, "benchmarkRef"), "name"));
}

const char *bmr_definition_name(const json_t *bmr)
{
    const json_t *metadata = json_object_get(bmr, "metadata");
    const char *label = fact_text(json_object_get(metadata, "labels"), "benchd.io/benchmark");
    const char *benchmark = benchmark_of(json_object_get(bmr, "spec"));
    return benchmark != NULL             ? benchmark
           : object_name_is_valid(label) ? label
                                         : fact_text(metadata, "name");
}

static void read_metadata(struct bmr_facts *f, const json_t *metadata, struct fact_texts *t)
{
    const char *erase = fact_text(json_object_get(metadata, "annotations"), KUBE_ERASE_ANNOTATION);
    f->name = fact_put_text(t, metadata, "name");
    f->uid = fact_put_text(t, metadata, "uid");
    f->created = fact_put_text(t, metadata, "creationTimestamp");
    f->generation = json_integer_value(json_object_get(metadata, "generation"));
    f->is_deleting = json_object_get(metadata, "deletionTimestamp") != NULL;
    f->erase = str_eq(erase, KUBE_ERASE_NOW) &&
               json_array_size(json_object_get(metadata, "ownerReferences")) == 0;
}

static void read_status(struct bmr_facts *f, const json_t *status)
{
    const json_t *observed = json_object_get(status, "observedGeneration");
    const int phase = run_phase_from_string(fact_text(status, "phase"));
    f->phase = phase < 0 ? RUN_PENDING : (enum run_phase)phase;
    f->trials_failed = (uint32_t)json_integer_value(json_object_get(status, "failed"));
    f->trials_done =
        (uint32_t)json_integer_value(json_object_get(status, "succeeded")) + f->trials_failed;
    f->trials_total = (uint32_t)json_integer_value(json_object_get(status, "total"));
    f->started_unix_ms = fact_date(status, "startTime");
    f->ended_unix_ms = fact_date(status, "completionTime");
    f->is_settled = run_phase_is_final(f->phase) && json_is_integer(observed) &&
                    json_integer_value(observed) == f->generation && !f->is_deleting && !f->erase;
}

static void read_object(struct bmr_facts *f, const json_t *bmr, struct fact_texts *t)
{
    const json_t *metadata = json_object_get(bmr, "metadata");
    const json_t *spec = json_object_get(bmr, "spec");
    const json_t *status = json_object_get(bmr, "status");
    read_metadata(f, metadata, t);
    read_status(f, status);
    f->benchmark = fact_put(t, benchmark_of(spec));
    f->definition_name = fact_put(t, bmr_definition_name(bmr));
    f->is_frozen = json_object_get(status, "definition") != NULL;
    f->ttl_s = ttl_of(bmr_definition_of(bmr));
    const json_t *scheduling = json_object_get(spec, "scheduling");
    const json_t *wait = json_object_get(scheduling, "waitSeconds");
    f->wait_s = wait == NULL ? 0 : json_integer_value(wait) ?: -1;
    f->has_queue = *fact_text(scheduling, "queueName") != '\0';
    /* What a settled object asked for has been done. */
    f->cancel = json_is_true(json_object_get(spec, "cancel")) && !f->is_settled;
    f->suspend = json_is_true(json_object_get(spec, "suspend")) && !f->is_settled;
}

/* ---- the whole ---- */

void *bmr_facts_decode(json_t *bmr)
{
    struct bmr_facts f = {0};
    struct fact_texts texts = {0};
    struct bmr_conditions conditions;
    read_object(&f, bmr, &texts); /* to count them */
    const json_t *list = json_object_get(json_object_get(bmr, "status"), "conditions");
    const bool has_conditions = !f.is_settled && list != NULL;

    char *block = xmalloc(sizeof(f) + has_conditions * sizeof(conditions) + texts.len);
    texts.at = block + sizeof(f);
    if (has_conditions) {
        read_conditions(&conditions, list);
        f.conditions = memcpy(texts.at, &conditions, sizeof(conditions));
        texts.at += sizeof(conditions);
    }
    read_object(&f, bmr, &texts);
    return memcpy(block, &f, sizeof(f));
}

struct run_status bmr_run_status(const struct bmr_facts *f)
{
    return (struct run_status){
        .phase = f->phase,
        .trials_done = f->trials_done,
        .trials_failed = f->trials_failed,
        .trials_total = f->trials_total,
        .started_unix_ms = f->started_unix_ms,
        .ended_unix_ms = f->ended_unix_ms,
    };
}
