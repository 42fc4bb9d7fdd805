/* JSON from the API server. Pure. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/err.h"

/* One document. Users can write anything into free-form fields, and must not make the
 * rest unreadable with it: NULs in strings are accepted, and integers beyond 64 bits
 * become reals. -EPROTO. */
int kube_json_load(const char *data, size_t len, json_t **ret, struct err *err);
/* The same, but every "managedFields" is emptied before parsing: these are much of an object's
 * bytes, and are never read. For lists and watches. */
int kube_json_load_lean(const char *data, size_t len, json_t **ret, struct err *err);
/* `item` is borrowed for the call. */
typedef void (*kube_item_fn)(void *ctx, json_t *item);
/* A page of a list: `each` gets one item after the other, each loaded as above and freed again, so
 * that no tree has them all. *ret is the list, with or without its items. After an error some items
 * may have been given. -EPROTO. */
int kube_json_load_list(const char *data, size_t len, kube_item_fn each, void *ctx, json_t **ret,
                        struct err *err);
/* metadata.KEY, "" if it is not a string. Borrowed. */
const char *kube_json_metadata(const json_t *object, const char *key);
/* A cache's decode function (cache.h) for owners that seldom read an object: the whole of it as
 * text, without managedFields. */
void *kube_json_keep(json_t *object);
/* What it was given; a new tree, owned. */
json_t *kube_json_kept(const void *facts);
