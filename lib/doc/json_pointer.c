/* JSON pointers, see json_pointer.h. */
#include "doc/json_pointer.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

/* One step of a pointer with ~1 and ~0 undone. Owned. */
static char *step_dup(const char *step, size_t len)
{
    char *out = xmalloc(len + 1);
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        bool escaped = step[i] == '~' && i + 1 < len && (step[i + 1] == '0' || step[i + 1] == '1');
        out[n++] = escaped ? (step[i + 1] == '1' ? '/' : '~') : step[i];
        i += escaped;
    }
    out[n] = '\0';
    return out;
}

static int set_step(json_t *at, const char *step, json_t *value_take, struct err *err)
{
    const size_t n = json_array_size(at);
    uint64_t index;
    int r;
    if (json_is_object(at)) {
        r = json_object_set_new(at, step, value_take);
    } else if (json_is_array(at) && parse_u64(step, &index) == 0 && index < n) {
        r = json_array_set_new(at, index, value_take);
    } else if (json_is_array(at) && str_eq(step, "-")) {
        r = json_array_append_new(at, value_take);
    } else {
        json_decref(value_take);
        return !json_is_array(at)
                   ? err_set(err, EINVAL,
                             "'%s' would be inside a value that is not a map or a list", step)
               : n == 0
                   ? err_set(err, EINVAL, "the list is empty")
                   : err_set(err, EINVAL, "the list has no item '%s', only 0 to %zu", step, n - 1);
    }
    /* Fails on text that is no UTF-8 only; both come from a checked tree. */
    return r == 0 ? 0 : err_set(err, EINVAL, "'%s' cannot be set", step);
}

/* Is the step to an item that may have to be made, "-" or "key=value"? */
static bool makes_item(const char *step)
{
    const size_t len = strcspn(step, "/"), key = strcspn(step, "=");
    return (len == 1 && step[0] == '-') || (key > 0 && key < len);
}

/* The item of a list that has this value, "key=value"; NULL: none, or no such step. */
static json_t *find_item(const json_t *at, const char *step)
{
    const char *value = strchr(step, '=');
    json_t *item;
    size_t i;
    json_array_foreach ((json_t *)at, i, item) { /* only read */
        _cleanup_(freep) char *key = value == NULL ? NULL : xstrndup(step, (size_t)(value - step));
        const char *text = key == NULL ? NULL : json_string_value(json_object_get(item, key));
        if (text != NULL && str_eq(text, value + 1)) {
            return item;
        }
    }
    return NULL;
}

/* NULL without one. */
static json_t *child_of(const json_t *at, const char *step)
{
    uint64_t index;
    return !json_is_array(at)             ? json_object_get(at, step)
           : parse_u64(step, &index) == 0 ? json_array_get(at, index)
                                          : find_item(at, step);
}

/* The child by that step; a missing one, or null, becomes a map, or a list if it shall get an item.
 * NULL if it cannot exist (*err). */
static json_t *enter_step(json_t *at, const char *step, bool gets_item, struct err *err)
{
    json_t *child = child_of(at, step);
    const char *value = strchr(step, '=');
    if (child != NULL && !json_is_null(child)) {
        return child;
    }
    child = gets_item ? json_array() : json_object();
    if (json_is_array(at) && makes_item(step) && value != NULL) {
        _cleanup_(freep) char *key = xstrndup(step, (size_t)(value - step));
        (void)json_object_set_new(child, key, json_string(value + 1)); /* text of a checked tree */
        step = "-";
    }
    return set_step(at, step, child, err) < 0 ? NULL : child;
}

/* Walks to what has the last step, which is *ret_last then (owned). NULL: as above. */
static json_t *enter_parent(json_t *root, const char *pointer, char **ret_last, struct err *err)
{
    json_t *at = root;
    if (pointer[0] != '/') {
        (void)err_set(err, EINVAL, "'%s' does not start with '/'", pointer);
        return NULL;
    }
    for (const char *rest = pointer + 1;;) {
        const size_t len = strcspn(rest, "/");
        char *step = step_dup(rest, len);
        if (rest[len] == '\0') {
            *ret_last = step;
            return at;
        }
        rest += len + 1;
        at = enter_step(at, step, makes_item(rest), err);
        free(step);
        if (at == NULL) {
            (void)err_wrap(err, -EINVAL, "path '%s'", pointer);
            return NULL;
        }
    }
}

int json_pointer_set_new(json_t *root, const char *pointer, json_t *value_take, struct err *err)
{
    _cleanup_(freep) char *last = NULL;
    json_t *at = enter_parent(root, pointer, &last, err);
    if (at == NULL) {
        json_decref(value_take);
        return -EINVAL;
    }
    const int r = set_step(at, last, value_take, err);
    return r < 0 ? err_wrap(err, r, "path '%s'", pointer) : 0;
}

json_t *json_pointer_enter(json_t *root, const char *pointer, struct err *err)
{
    _cleanup_(freep) char *last = NULL;
    json_t *at = enter_parent(root, pointer, &last, err);
    json_t *child = at == NULL ? NULL : enter_step(at, last, false, err);
    if (child != NULL && !json_is_object(child)) {
        (void)err_set(err, EINVAL, "path '%s': not a map", pointer);
        return NULL;
    }
    return child;
}

const json_t *json_pointer_get(const json_t *root, const char *pointer)
{
    const json_t *at = root;
    for (const char *rest = pointer; at != NULL && *rest == '/';) {
        const size_t len = strcspn(rest + 1, "/");
        _cleanup_(freep) char *step = step_dup(rest + 1, len);
        at = child_of(at, step);
        rest += 1 + len;
    }
    return at;
}
