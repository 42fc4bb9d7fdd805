/* JSON from the API server. Pure. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/err.h"

/* One document. Users can write anything into free-form fields, and must not make the rest unreadable
 * with it: NULs in strings are accepted, and integers beyond 64 bits become reals. -EPROTO. */
int kube_json_load(const char *data, size_t len, json_t **ret, struct err *err);
/* The same, but every "managedFields" is emptied before parsing, and every list under `skip` (NULL: no
 * other). These are most of a pod's bytes, and nobody reads them. For lists and watches. */
int kube_json_load_lean(const char *data, size_t len, const char *skip, json_t **ret,
                        struct err *err);
/* metadata.KEY, "" if it is not a string. Borrowed. */
const char *kube_json_metadata(const json_t *object, const char *key);
