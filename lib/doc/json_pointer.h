/* Values of a jansson document by JSON pointer (RFC 6901). A step "key=value" is the item of a list
 * that has this text there; json_pointer_enter makes a missing one. Pure. */
#pragma once

#include <jansson.h>

#include "base/err.h"

/* Sets *root's value at `pointer` ("/spec/containers/0/image"; takes `value`, also on failure).
 * Missing maps on the way are made; an item of a list must exist, or be "-", a new one at the end.
 * -EINVAL: the way leads through a text, a number or a missing item. */
int json_pointer_set_new(json_t *root, const char *pointer, json_t *value_take, struct err *err);
/* The map there, made like those on the way. Borrowed; NULL: *err says why not. */
json_t *json_pointer_enter(json_t *root, const char *pointer, struct err *err);
const json_t *json_pointer_get(const json_t *root, const char *pointer); /* borrowed; NULL: none */
