/* See job_template.h. */
#include "spec/job_template.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"

#define VERSION "abcdefghijklmnopqrstuvwxyz0123456789"
#define PARTS "/spec/runtimePatches/"
#define PARTS_OF_2_1 "/spec/podTemplateOverrides/" /* Trainer until 2.1 */

/* manifests/jobs has a Role for each of them. */
static const struct kind {
    const char *name, *api; /* api: before the version */
    enum job_use use;
} kinds[] = {
    {"Job", "batch/", JOB_ITSELF},
    {"JobSet", "jobset.x-k8s.io/", JOB_ITSELF},
    {"MPIJob", "kubeflow.org/", JOB_ITSELF},
    {"RayJob", "ray.io/", JOB_ITSELF},
    {"TrainJob", "trainer.kubeflow.org/", JOB_ITSELF},
    {"ConfigMap", "", JOB_EXTRA},
    {"ComputeDomain", "resource.nvidia.com/", JOB_EXTRA},
    {"ResourceClaimTemplate", "resource.k8s.io/", JOB_EXTRA},
    {"Service", "", JOB_EXTRA},
};

/* The version is a part of the path of a request. */
static bool is_of(const struct kind *kind, const json_t *object)
{
    const char *api = fact_text(object, "apiVersion");
    const char *version = str_has_prefix(api, kind->api) ? api + strlen(kind->api) : "";
    return str_eq(fact_text(object, "kind"), kind->name) && version[0] == 'v' &&
           version[strspn(version, VERSION)] == '\0';
}

int job_kind_check(const json_t *object, enum job_use use, struct template_problem *ret)
{
    _cleanup_(buf_done) struct buf names = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (kinds[i].use == use && is_of(&kinds[i], object)) {
            return 0;
        }
        if (kinds[i].use == use) {
            buf_printf(&names, "%s%s (%sv...)", names.len == 0 ? "" : ", ", kinds[i].name,
                       kinds[i].api);
        }
    }
    ret->path[0] = '\0';
    return template_problem_set(ret, "benchd makes no objects of other kinds",
                                "%s (%s) is not one of %s", fact_text(object, "kind"),
                                fact_text(object, "apiVersion"), buf_cstr(&names));
}

int job_object_check(const json_t *object, enum job_use use, struct template_problem *ret)
{
    static const char *const fields[] = {"labels", "annotations", "name", NULL};
    const json_t *metadata = json_object_get(object, "metadata");
    const char *key;
    json_t *value;
    const int r = job_kind_check(object, use, ret);
    json_object_foreach ((json_t *)metadata, key, value) { /* only read */
        if (r == 0 && (!str_is_one_of(key, fields) || (use == JOB_ITSELF && str_eq(key, "name")))) {
            text_put(ret->path, sizeof(ret->path), "metadata.%s", key);
            return template_problem_set(ret, "remove it", "benchd or the API server sets it");
        }
    }
    if (r == 0 && use == JOB_EXTRA && *fact_text(metadata, "name") == '\0') {
        text_put(ret->path, sizeof(ret->path), "metadata.name");
        return template_problem_set(ret, "add metadata: {name: NAME}", "an object needs a name");
    }
    return r < 0 ? r : template_rules_check_object(object, ret);
}

bool job_kind_has_part_at(const json_t *object, const char *path)
{
    return str_eq(fact_text(object, "kind"), "TrainJob") &&
           (str_has_prefix(path, PARTS) || (str_has_prefix(path, PARTS_OF_2_1) &&
                                            strchr(path + strlen(PARTS_OF_2_1), '/') == NULL));
}
