/* JSON from the API server. Pure. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/err.h"

/* One document. What a user can put into a free-form field must not make the rest unreadable, so
 * NULs in strings are taken, and integers beyond 64 bits become reals. -EPROTO. */
int kube_json_load(const char *data, size_t len, json_t **ret, struct err *err);
/* The same with every "managedFields" emptied before it is parsed, and every list under `skip` (NULL:
 * no other): most of a pod's bytes, and nobody reads them. For what comes in numbers. */
int kube_json_load_lean(const char *data, size_t len, const char *skip, json_t **ret,
                        struct err *err);
/* metadata.KEY, "" if it is no text. Borrowed. */
const char *kube_json_metadata(const json_t *object, const char *key);
