/* See environment.h. */
#include "core/environment.h"

#include <math.h>

#include "base/mem.h"

json_t *environment_parse(const char *text)
{
    json_t *o = text == NULL ? NULL : json_loads(text, 0, NULL);
    return json_is_object(o) ? o : (json_decref(o), NULL);
}

const char *environment_text(const json_t *facts, const char *key)
{
    return json_string_value(json_object_get(facts, key));
}

char *environment_value_text(const json_t *value)
{
    return value == NULL || json_is_null(value) ? NULL
           : json_is_string(value)
               ? xstrdup(json_string_value(value))
               : json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_COMPACT |
                                       JSON_REAL_PRECISION(15)); /* 2445.406 reads so */
}

double environment_number(const json_t *facts, const char *key)
{
    const json_t *number = json_object_get(facts, key);
    return json_is_number(number) ? json_number_value(number) : NAN;
}

static void set_known(json_t *o, const char *key, const char *value)
{
    json_t *text = value == NULL ? NULL : json_string(value); /* also NULL if it is not UTF-8 */
    if (text != NULL) {
        (void)json_object_set_new(o, key, text); /* fails without memory only */
    }
}

/* A string leaves the object; NULL: not said, or no string. */
static char *take_text(json_t *o, const char *key)
{
    char *text = xstrdup_or_null(environment_text(o, key));
    if (text != NULL) {
        (void)json_object_del(o, key); /* it is there */
    }
    return text;
}

struct environment environment_of(const json_t *record, const char *node, const char *image_id)
{
    if (record == NULL && node == NULL && image_id == NULL) {
        return (struct environment){0};
    }
    json_t *o = record == NULL ? json_object() : json_copy((json_t *)record);
    set_known(o, "node", node);
    set_known(o, "image_id", image_id);
    const double mhz = json_real_value(json_object_get(o, "cpu_mhz")); /* 0 of anything else */
    if (mhz > 0) {
        (void)json_object_del(o, "cpu_mhz"); /* it is there */
    }
    return (struct environment){.facts = o,
                                .host = take_text(o, "host"),
                                .node = take_text(o, "node"),
                                .cpu_mhz = fmax(mhz, 0)};
}

struct environment environment_copy(const struct environment *e)
{
    struct environment copy = e == NULL ? (struct environment){0} : *e;
    copy.facts = json_incref(copy.facts);
    copy.host = xstrdup_or_null(copy.host);
    copy.node = xstrdup_or_null(copy.node);
    return copy;
}

void environment_done(struct environment *e)
{
    json_decref(e->facts);
    free(e->host);
    free(e->node);
    *e = (struct environment){0};
}

json_t *environment_to_json(const struct environment *e)
{
    json_t *o = json_copy(e->facts); /* NULL of NULL */
    set_known(o, "host", e->host);
    set_known(o, "node", e->node);
    if (e->cpu_mhz > 0) {
        (void)json_object_set_new(o, "cpu_mhz", json_real(e->cpu_mhz)); /* as above */
    }
    return o;
}
