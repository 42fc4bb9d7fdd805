/* See placement.h. */
#include "core/placement.h"

#include <stddef.h>

#include <jansson.h>

#include "base/mem.h"
#include "core/environment.h"
#include "core/record.h"

void placement_read(const char *environment_json, struct placement *ret)
{
    static const char *const keys[] = {"cpu_model", "cpuset", "image_id", "kernel", "node"};
    char *texts[5];
    environment_texts(environment_json, keys, 5, texts);
    *ret = (struct placement){
        .cpu_model = texts[0],
        .cpuset = texts[1],
        .image_id = texts[2],
        .kernel = texts[3],
        .node = texts[4],
    };
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
