/* See matrix.h. */

#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "doc/json_pointer.h"
#include "spec/job_template.h"
#include "spec/matrix.h"
#include "spec/system_template.h"

/* Extended resources that are an accelerator each. Names of other things begin like these:
 * nvidia.com/gpumem and nvidia.com/gpucores of HAMi, gpu.intel.com/millicores. */
static const char *const resources[] = {"nvidia.com/gpu",           "amd.com/gpu",
                                        "gpu.intel.com/i915",       "gpu.intel.com/xe",
                                        "habana.ai/gaudi",          "google.com/tpu",
                                        "aws.amazon.com/neuron",    "aws.amazon.com/neurondevice",
                                        "aws.amazon.com/neuroncore"};

/* -1: this is not a number of devices. */
static int64_t count_of(const json_t *quantity)
{
    const char *text = json_string_value(quantity);
    int64_t n = json_is_integer(quantity) ? json_integer_value(quantity) : -1;
    return text != NULL && parse_i64(text, &n) < 0 ? -1 : n;
}

/* A swept value that goes into the limits of a container. */
static void set_limits(json_t *template, const struct spec *spec, enum role role,
                       const struct params *params)
{
    const json_t *target, *path;
    size_t i, k;
    vec_each (const struct parameter, parameter, &spec->parameters) {
        const struct value *v = params_get(params, parameter->name);
        json_array_foreach (parameter->targets, i, target) {
            json_array_foreach (json_object_get(target, "paths"), k, path) {
                const char *text = json_string_value(path);
                if (v != NULL && is_for_role(target, role) && strstr(text, "/limits/") != NULL) {
                    /* where it does not fit, the pod is refused */
                    (void)json_pointer_set_new(template, text, value_to_json(v), NULL);
                }
            }
        }
    }
}

int64_t devices_of_template(const struct spec *spec, const struct system *system, enum role role,
                            const struct params *params, bool *ret_slices, char **ret_wrong)
{
    json_auto_t *template = NULL;
    const char *name;
    const json_t *container;
    json_t *limit;
    size_t i;
    int64_t n = 0;
    *ret_slices = false;
    if (system->job != NULL) {
        const struct point point = {.system = (uint32_t)(system - spec->systems.items),
                                    .params = *params};
        (void)job_point_template(spec, &point, role, &template, NULL); /* none: no devices */
    } else if (spec->roles[role].template != NULL &&
               system_template(spec, system, role, &template, NULL) == 0) {
        set_limits(template, spec, role, params);
    }
    json_array_foreach (json_object_get(json_object_get(template, "spec"), "containers"), i,
                        container) {
        json_t *limits = json_object_get(json_object_get(container, "resources"), "limits");
        json_object_foreach (limits, name, limit) {
            const bool is_slice =
                str_has_prefix(name, "nvidia.com/mig-") || str_eq(name, "nvidia.com/gpu.shared");
            const bool is_device =
                is_slice || array_any(resources, COUNT_OF(resources), it, str_eq(name, *it));
            const int64_t some = is_device && !json_is_null(limit) ? count_of(limit) : 0;
            if (some < 0 || some > DEVICES_MAX - n) {
                *ret_wrong =
                    system->job != NULL
                        ? xasprintf("spec.systems[%td].job.template", system - spec->systems.items)
                        : xasprintf(
                              "spec.roles.%s.template.spec.containers[%zu].resources.limits.%s",
                              role_to_string(role), i, name);
                return -1;
            }
            n += some;
            *ret_slices |= is_slice;
        }
    }
    return n;
}
