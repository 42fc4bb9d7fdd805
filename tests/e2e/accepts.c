/* Whether benchd takes the objects that it reads, as JSON, one a line: first the spec of the
 * Benchmark that runs refer to, then objects of both kinds. One line for each of these: what a run
 * is refused for before benchd asks the API server about its templates, or null. */
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "daemon/cluster/bmr.h"
#include "kube/json.h"
#include "spec/spec.h"

static int accept_run(const json_t *run, const json_t *benchmark, struct err *err)
{
    const struct run_def_params params = {.name = "run", .uid = "uid"};
    _cleanup_(run_def_freep) struct run_def *def = NULL;
    json_auto_t *definition = NULL;
    const int r = bmr_load_run(run, benchmark, NULL, &params, &def, err);
    return r < 0 ? r : bmr_definition(def->spec, &definition, err);
}

/* A Benchmark is asked for by a run of it. */
static int accept(const json_t *object, const json_t *benchmark, struct err *err)
{
    if (!str_eq_or_null(json_string_value(json_object_get(object, "kind")), "Benchmark")) {
        return accept_run(object, benchmark, err);
    }
    json_t *name = json_object_get(json_object_get(object, "metadata"), "name");
    json_auto_t *run = json_pack("{s:{s:s}, s:{s:{s:O}}}", "metadata", "name", "run", "spec",
                                 "benchmarkRef", "name", name == NULL ? json_null() : name);
    return accept_run(run, json_object_get(object, "spec"), err);
}

int main(void)
{
    _cleanup_(freep) char *line = NULL;
    json_auto_t *benchmark = NULL;
    size_t size = 0;
    for (ssize_t len; (len = getline(&line, &size, stdin)) > 0;) {
        json_auto_t *object = NULL;
        struct err err;
        int r = kube_json_load_lean(line, (size_t)len, &object, &err);
        if (r >= 0 && benchmark == NULL) {
            benchmark = json_incref(object);
            continue;
        }
        r = r < 0 ? r : accept(object, benchmark, &err);
        json_auto_t *answer = r < 0 ? json_string(err.msg) : json_null();
        json_dumpf(answer, stdout, JSON_ENCODE_ANY);
        putchar('\n');
        fflush(stdout);
    }
    return 0;
}
