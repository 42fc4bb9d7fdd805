/* Objects that the API server has written as protobuf, as the trees that its JSON would be. It
 * has every state of a pod in this form for the nodes, the scheduler and the controllers; JSON
 * it would make for us alone. A shape names the fields that are read; the others are skipped. Pure.
 *
 * The form: protobuf.dev/programming-guides/encoding. What is in it: generated.proto in each
 * package of k8s.io/api and k8s.io/apimachinery; numbers of fields never change. An object outside
 * a watch, and each object inside one, is "k8s" and a zero, and then a message Unknown: the kind,
 * and the object's own bytes (kubernetes.io/docs/reference/using-api/api-concepts, "Kubernetes
 * Protobuf encoding"). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "kube/json.h"

/* What the value is in JSON. */
enum kube_proto_kind {
    KUBE_PROTO_TEXT,
    KUBE_PROTO_INTEGER,
    KUBE_PROTO_BOOL,
    /* seconds since 1970, "2026-11-20T08:52:51Z"; a date that is not set is left out */
    KUBE_PROTO_TIME,
    KUBE_PROTO_OBJECT, /* of `shape` */
    KUBE_PROTO_TEXTS,  /* an object of texts: labels */
    KUBE_PROTO_AMOUNTS /* the same of resource.Quantity: limits */
};

struct kube_proto_field {
    uint32_t number;
    enum kube_proto_kind kind;
    const char *key;
    const struct kube_proto_shape *shape;
    bool is_list;   /* of objects */
    bool has_empty; /* JSON has the field although it is "" or 0 */
};

#define KUBE_PROTO_FIELDS 12
struct kube_proto_shape {
    struct kube_proto_field fields[KUBE_PROTO_FIELDS]; /* the rest has number 0 */
};

/* metadata of any object, but for managedFields, annotations and finalizers. */
extern const struct kube_proto_shape kube_proto_metadata;

/* As first choice: a kind that is not built in, and an old proxy, have JSON only. */
#define KUBE_PROTO_ACCEPT "application/vnd.kubernetes.protobuf, application/json"

/* Does an answer begin as protobuf does? */
bool kube_proto_is(const char *data, size_t len);
/* May a watch begin so? JSON begins with '{'. Of a watch the first of four
 * bytes of length is meant. */
bool kube_proto_is_watch(char first);

/* A message of `shape`, without envelope; *ret is owned. Text that is no UTF-8 has '?' for each
 * wrong byte. -EPROTO. */
int kube_proto_message(const struct kube_proto_shape *shape, const char *data, size_t len,
                       json_t **ret, struct err *err);
/* An object in its envelope: a Status, or else one of `shape` (NULL: a Status only). It
 * has "kind". -EPROTO. */
int kube_proto_object(const struct kube_proto_shape *shape, const char *data, size_t len,
                      json_t **ret, struct err *err);
/* As kube_json_load_list, of items of `shape`. */
int kube_proto_list(const struct kube_proto_shape *shape, const char *data, size_t len,
                    kube_item_fn each, void *ctx, json_t **ret, struct err *err);
/* {"type": ..., "object": ...}, as a line of a watch has it. -EPROTO. */
int kube_proto_event(const struct kube_proto_shape *shape, const char *data, size_t len,
                     json_t **ret, struct err *err);
