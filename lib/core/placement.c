/* See placement.h. */
#include "core/placement.h"

#include <jansson.h>

#include "base/mem.h"
#include "core/record.h"

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
