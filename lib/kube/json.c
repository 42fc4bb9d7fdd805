/* JSON from the API server, see json.h. */
#include "kube/json.h"

#include <math.h>

/* Reals up to here stand for one integer each. */
#define EXACT_MAX 9007199254740992.0

/* The value that should stand in the place of `value`, NULL: as it is. */
static json_t *as_integer(const json_t *value)
{
    if (!json_is_real(value)) {
        return NULL;
    }
    const double real = json_real_value(value);
    return fabs(real) <= EXACT_MAX && floor(real) == real ? json_integer((json_int_t)real) : NULL;
}

/* Undoes JSON_DECODE_INT_AS_REAL where it can be undone. jansson has limited the depth. */
static void restore_integers(json_t *value)
{
    const char *key;
    json_t *child;
    size_t i;
    void *next;
    json_object_foreach_safe(value, next, key, child) {
        json_t *integer = as_integer(child);
        restore_integers(child);
        if (integer != NULL) {
            (void)json_object_set_new(value, key, integer); /* fails only without memory */
        }
    }
    json_array_foreach(value, i, child) {
        json_t *integer = as_integer(child);
        restore_integers(child);
        if (integer != NULL) {
            (void)json_array_set_new(value, i, integer); /* the same */
        }
    }
}

int kube_json_load(const char *data, size_t len, json_t **ret, struct err *err)
{
    json_error_t error;
    json_t *json = json_loadb(data, len, JSON_ALLOW_NUL, &error);
    if (json == NULL && json_error_code(&error) == json_error_numeric_overflow) {
        json = json_loadb(data, len, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
        restore_integers(json);
    }
    if (json == NULL) {
        return err_set(err, EPROTO, "not JSON: byte %d: %s", error.position, error.text);
    }
    *ret = json;
    return 0;
}

const char *kube_json_metadata(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(json_object_get(object, "metadata"),
                                                          key));
    return value == NULL ? "" : value;
}
