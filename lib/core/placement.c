/* See placement.h. */
#include "core/placement.h"

#include <stddef.h>

#include <jansson.h>

#include "base/mem.h"
#include "core/record.h"

static char *text_of(const json_t *environment, const char *key)
{
    const char *s = json_string_value(json_object_get(environment, key));
    return s == NULL ? NULL : xstrdup(s);
}

void placement_read(const char *environment_json, struct placement *ret)
{
    /* The store does not check it; a damaged text describes nothing. */
    json_t *o = environment_json == NULL ? NULL : json_loads(environment_json, 0, NULL);
    *ret = (struct placement){
        .node = text_of(o, "node"),
        .image_id = text_of(o, "image_id"),
        .cpu_model = text_of(o, "cpu_model"),
        .kernel = text_of(o, "kernel"),
        .cpuset = text_of(o, "cpuset"),
    };
    json_decref(o);
}

void placement_done(struct placement *placement)
{
    free(placement->node);
    free(placement->image_id);
    free(placement->cpu_model);
    free(placement->kernel);
    free(placement->cpuset);
    *placement = (struct placement){0};
}

static void set_known(json_t *o, const char *key, const char *value)
{
    json_t *text = value == NULL ? NULL : json_string(value); /* also NULL if it is not UTF-8 */
    if (text != NULL) {
        (void)json_object_set_new(o, key, text); /* fails without memory only */
    }
}

char *placement_add(const char *environment_json, const char *node, const char *image_id)
{
    if (node == NULL && image_id == NULL) {
        return environment_json == NULL ? NULL : xstrdup(environment_json);
    }
    json_t *o = environment_json == NULL ? json_object() : json_loads(environment_json, 0, NULL);
    set_known(o, "node", node);
    set_known(o, "image_id", image_id);
    char *text = record_environment_canonical(o);
    json_decref(o);
    return text;
}
