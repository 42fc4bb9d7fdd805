/* See object.h. */
#include "ctl/runs/object.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"
#include "kube/json.h"

#define REQUEST "benchd.io/request"

/* The first of these that holds explains the phase. */
static void read_cause(const json_t *status, struct run_status *ret)
{
    static const struct {
        const char *type, *status;
    } rows[] = {{"Failed", "True"},    {"Accepted", "False"}, {"Complete", "True"},
                {"Suspended", "True"}, {"Waiting", "True"},   {"Running", "True"},
                {"Running", "False"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const json_t *c = fact_find(json_object_get(status, "conditions"), "type", rows[i].type);
        if (str_eq(fact_text(c, "status"), rows[i].status)) {
            text_put(ret->reason, sizeof(ret->reason), "%s", fact_text(c, "reason"));
            text_put(ret->message, sizeof(ret->message), "%s", fact_text(c, "message"));
            return;
        }
    }
}

void object_read_status(const json_t *object, struct run_status *ret)
{
    const json_t *status = json_object_get(object, "status");
    *ret = (struct run_status){0};
    const int kind = run_phase_from_string(fact_text(status, "phase"));
    ret->phase = kind < 0 ? RUN_PENDING : (enum run_phase)kind;
    ret->trials_failed = (uint32_t)json_integer_value(json_object_get(status, "failed"));
    ret->trials_done = /* whatever their outcome, as the store counts them */
        (uint32_t)json_integer_value(json_object_get(status, "succeeded")) + ret->trials_failed;
    ret->trials_total = (uint32_t)json_integer_value(json_object_get(status, "total"));
    ret->started_unix_ms = fact_date(status, "startTime");
    ret->ended_unix_ms = fact_date(status, "completionTime");
    read_cause(status, ret);
}

int64_t object_created_unix_ms(const json_t *object)
{
    return fact_date(json_object_get(object, "metadata"), "creationTimestamp");
}

int object_read_row(const json_t *object, struct run_row *ret, struct err *err)
{
    const char *name = kube_json_metadata(object, "name");
    if (name[0] == '\0') {
        return err_set(err, EPROTO, "the API server sent a BenchmarkRun without a name");
    }
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *ref = json_object_get(json_object_get(object, "spec"), "benchmarkRef");
    const char *benchmark = json_string_value(json_object_get(ref, "name"));
    const json_t *labels = json_object_get(metadata, "labels");
    if (benchmark == NULL) { /* an inline definition: the label, as benchctl writes it */
        benchmark = json_string_value(json_object_get(labels, "benchd.io/benchmark"));
    }
    *ret = (struct run_row){
        .name = xstrdup(name),
        .uid = xstrdup(kube_json_metadata(object, "uid")),
        .benchmark = xstrdup(benchmark == NULL ? name : benchmark),
        .created_unix_ms = object_created_unix_ms(object),
    };
    object_read_status(object, &ret->status);
    return 0;
}

json_t *object_make_run(const char *name, const char *benchmark, const char *request, json_t *spec)
{
    return json_pack("{s:s, s:s, s:{s:s, s:{s:s}, s:{s:s}}, s:O}", "apiVersion",
                     "benchd.io/v1alpha1", "kind", "BenchmarkRun", "metadata", "name", name,
                     "labels", "benchd.io/benchmark", benchmark, "annotations", REQUEST, request,
                     "spec", spec);
}

bool object_is_of_request(const json_t *object, const char *request)
{
    const json_t *annotations = json_object_get(json_object_get(object, "metadata"), "annotations");
    const char *value = json_string_value(json_object_get(annotations, REQUEST));
    return value != NULL && str_eq(value, request);
}

json_t *object_plain_benchmark(const json_t *object)
{
    return json_pack("{s:s, s:s, s:{s:s}, s:O*}", "apiVersion", "benchd.io/v1alpha1", "kind",
                     "Benchmark", "metadata", "name", kube_json_metadata(object, "name"), "spec",
                     json_object_get(object, "spec"));
}
