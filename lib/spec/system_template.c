/* See system_template.h. */
#include "spec/system_template.h"

#include <string.h>

#include "base/str.h"
#include "core/json_field.h"
#include "doc/json_pointer.h"
#include "spec/job_template.h"

json_t *template_container(const json_t *template)
{
    const json_t *spec = json_object_get(template, "spec");
    return json_array_get(json_object_get(spec, "containers"), 0);
}

/* A command of its own takes the place of the template's command with its arguments, as a
 * container's command takes that of its image. A role's own goes before that of all roles. */
static void set_words(json_t *container, const json_t *launch)
{
    static const char *const keys[] = {"command", "args", "image"};
    if (json_object_get(launch, "command") != NULL) {
        (void)json_object_del(container, "args"); /* it may be missing */
    }
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const json_t *own = json_object_get(launch, keys[i]);
        JSON_ADD(container, {keys[i], own == NULL ? NULL : json_deep_copy(own)});
    }
}

static int apply_patches(json_t *template, const struct system *system, enum role role,
                         struct err *err)
{
    const json_t *patch;
    size_t i;
    json_array_foreach (json_object_get(system->launch, "patches"), i, patch) {
        const char *path = json_string_value(json_object_get(patch, "path"));
        const json_t *value = json_object_get(patch, "value");
        if (path == NULL || value == NULL || !is_for_role(patch, role)) {
            continue; /* of another role, or wrong, as was noted */
        }
        const int r = json_pointer_set_new(template, path, json_deep_copy(value), err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int system_template(const struct spec *spec, const struct system *system, enum role role,
                    json_t **ret, struct err *err)
{
    const json_t *source =
        system->job == NULL
            ? spec->roles[role].template
            : job_pod_template(system->job, json_object_get(system->job, "template"), role);
    json_auto_t *template =
        source != NULL ? json_deep_copy(source) : json_pack("{s{s[{}]}}", "spec", "containers");
    json_t *container = template_container(template);
    set_words(container, system->launch);
    set_words(container, system_launch(system, role));
    const int r = apply_patches(template, system, role, err);
    if (r == 0) {
        *ret = take_ptr(template);
    }
    return r;
}

bool template_has_command(const json_t *template)
{
    return json_array_size(json_object_get(template_container(template), "command")) > 0;
}

char *template_hash(const json_t *template)
{
    if (template == NULL) {
        return xstrdup("none");
    }
    _cleanup_(freep) char *text =
        json_dumps(template, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    return xasprintf("%016llx", (unsigned long long)str_hash(text, strlen(text)));
}
