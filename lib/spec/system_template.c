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

static json_t *words_to_json(const struct command *command)
{
    return JSON_ARRAY_OF(vec_each (char *const, word, &command->words), json_string(*word));
}

/* A command of its own takes the place of the template's command with its arguments, as a
 * container's command takes that of its image. A role's own goes before that of all roles. */
static void set_words(json_t *container, const struct launch *launch)
{
    const bool has_command = launch->command.words.len > 0;
    if (has_command) {
        (void)json_object_del(container, "args"); /* it may be missing */
    }
    JSON_ADD(container, {"command", has_command ? words_to_json(&launch->command) : NULL},
             {"args", launch->has_args ? words_to_json(&launch->args) : NULL},
             {"image", launch->image != NULL ? json_string(launch->image) : NULL});
}

static int apply_patches(json_t *template, const struct system *system, enum role role,
                         struct err *err)
{
    vec_each (const struct system_patch, patch, &system->patches) {
        int r = !patch->roles[role] ? 0
                                    : json_pointer_set_new(template, patch->path,
                                                           json_deep_copy(patch->value), err);
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
    set_words(container, &system->all_roles);
    set_words(container, &system->of_role[role]);
    const int r = apply_patches(template, system, role, err);
    if (r == 0) {
        *ret = take_ptr(template);
    }
    return r;
}

const char *template_image(const json_t *template)
{
    return json_string_value(json_object_get(template_container(template), "image"));
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
