/* Protobuf as trees of JSON, see proto.h. */
#include "kube/proto.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

/* ---- the wire: a field is a number, a type, and a value or bytes ---- */

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct bytes {
    const char *at, *end;
};

struct field {
    uint32_t number;
    enum wire wire;
    uint64_t value;     /* of WIRE_VARINT */
    struct bytes bytes; /* of WIRE_BYTES */
};

static struct bytes bytes_of(const char *data, size_t len)
{
    return (struct bytes){data, data + len};
}

static size_t n_bytes(struct bytes b)
{
    return (size_t)(b.end - b.at);
}

static bool take_varint(struct bytes *b, uint64_t *ret)
{
    *ret = 0;
    for (unsigned shift = 0; shift < 64 && b->at < b->end; shift += 7) {
        const unsigned char c = (unsigned char)*b->at++;
        *ret |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) {
            return true;
        }
    }
    return false;
}

static bool take_bytes(struct bytes *b, uint64_t n, struct bytes *ret)
{
    if (n > n_bytes(*b)) {
        return false;
    }
    *ret = bytes_of(b->at, n);
    b->at += n;
    return true;
}

/* 1: a field, 0: there are no more. */
static int take_field(struct bytes *b, struct field *ret, struct err *err)
{
    uint64_t key, n = 0;
    bool is_ok;
    if (b->at == b->end) {
        return 0;
    }
    *ret = (struct field){0};
    is_ok = take_varint(b, &key) && key >> 3 > 0 && key >> 3 <= UINT32_MAX >> 3;
    ret->number = (uint32_t)(key >> 3);
    ret->wire = (enum wire)(key & 7);
    switch (is_ok ? key & 7 : 7) {
    case WIRE_VARINT:
        is_ok = take_varint(b, &ret->value);
        break;
    case WIRE_BYTES:
        is_ok = take_varint(b, &n) && take_bytes(b, n, &ret->bytes);
        break;
    case WIRE_FIXED64:
    case WIRE_FIXED32:
        is_ok = take_bytes(b, ret->wire == WIRE_FIXED64 ? 8 : 4, &ret->bytes);
        break;
    default: /* groups are of the time before Kubernetes */
        is_ok = false;
    }
    return is_ok ? 1 : err_set(err, EPROTO, "not protobuf: a field is cut off or of no known kind");
}

/* ---- values ---- */

static json_t *text_of(struct bytes b)
{
    json_t *text = json_stringn(b.at, n_bytes(b));
    if (text == NULL) { /* no UTF-8: a message of a container may be cut anywhere */
        _cleanup_(freep) char *foreign = xstrndup(b.at, n_bytes(b));
        _cleanup_(buf_done) struct buf clean = BUF_INIT;
        buf_put_utf8(&clean, foreign, n_bytes(b));
        text = json_string_nocheck(buf_cstr(&clean));
    }
    return text;
}

/* The bytes of the last field with this number; none: it is not there. */
static int find_bytes(struct bytes b, uint32_t number, struct bytes *ret, struct err *err)
{
    struct field f;
    int r;
    *ret = bytes_of("", 0);
    while ((r = take_field(&b, &f, err)) > 0) {
        if (f.number == number && f.wire == WIRE_BYTES) {
            *ret = f.bytes;
        }
    }
    return r;
}

/* *ret NULL: not set. */
static int read_time(struct bytes b, json_t **ret, struct err *err)
{
    struct field f;
    int r;
    int64_t seconds = 0;
    const bool is_set = b.at < b.end;
    while ((r = take_field(&b, &f, err)) > 0) {
        if (f.number == 1 && f.wire == WIRE_VARINT) {
            seconds = (int64_t)f.value;
        }
    }
    if (r < 0 || !is_set) {
        return r;
    }
    if (seconds < -62135596800 ||
        seconds > 253402300799) { /* the years 1 to 9999, as in Timestamp */
        return err_set(err, EPROTO, "not protobuf of the API: a date beyond the year 9999");
    }
    char text[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(seconds * 1000, text);
    *ret = json_string(text);
    return 0;
}

/* An entry of a map is a message: 1 the key, 2 the value. */
static int add_entry(json_t *map, struct bytes entry, bool is_amount, struct err *err)
{
    struct bytes key, value;
    int r = find_bytes(entry, 1, &key, err);
    r = r < 0 ? r : find_bytes(entry, 2, &value, err);
    if (r == 0 && is_amount) {
        r = find_bytes(value, 1, &value, err);
    }
    if (r == 0 && json_object_setn_new(map, key.at, n_bytes(key), text_of(value)) < 0) {
        r = err_set(err, EPROTO, "not protobuf of the API: a key is no text");
    }
    return r;
}

/* The child of that name, which is made if none exists; borrowed. */
static json_t *child_of(json_t *object, const char *key, json_t *(*make)(void))
{
    json_t *child = json_object_get(object, key);
    if (child == NULL) {
        child = make();
        (void)json_object_set_new(object, key, child); /* fails without memory only, also below */
    }
    return child;
}

static enum wire wire_of(enum kube_proto_kind kind)
{
    return kind == KUBE_PROTO_INTEGER || kind == KUBE_PROTO_BOOL ? WIRE_VARINT : WIRE_BYTES;
}

/* *ret NULL: JSON has nothing there. */
static int read_value(const struct kube_proto_field *def, const struct field *f, json_t **ret,
                      struct err *err)
{
    const bool is_empty = f->value == 0 && n_bytes(f->bytes) == 0;
    switch (def->kind) {
    case KUBE_PROTO_TEXT:
        *ret = is_empty && !def->has_empty ? NULL : text_of(f->bytes);
        return 0;
    case KUBE_PROTO_INTEGER:
        *ret = is_empty && !def->has_empty ? NULL : json_integer((json_int_t)f->value);
        return 0;
    case KUBE_PROTO_BOOL:
        *ret = is_empty && !def->has_empty ? NULL : json_boolean(f->value != 0);
        return 0;
    case KUBE_PROTO_TIME:
        return read_time(f->bytes, ret, err);
    case KUBE_PROTO_OBJECT:
    case KUBE_PROTO_TEXTS:
    case KUBE_PROTO_AMOUNTS:
        break;
    }
    return kube_proto_message(def->shape, f->bytes.at, n_bytes(f->bytes), ret, err);
}

static int add_field(json_t *object, const struct kube_proto_field *def, const struct field *f,
                     struct err *err)
{
    if (f->wire != wire_of(def->kind)) {
        return err_set(err, EPROTO, "not protobuf of the API: '%s' is of another kind", def->key);
    }
    if (def->kind == KUBE_PROTO_TEXTS || def->kind == KUBE_PROTO_AMOUNTS) {
        return add_entry(child_of(object, def->key, json_object), f->bytes,
                         def->kind == KUBE_PROTO_AMOUNTS, err);
    }
    json_t *value = NULL;
    const int r = read_value(def, f, &value, err);
    if (r == 0 && def->is_list) {
        (void)json_array_append_new(child_of(object, def->key, json_array), value);
    } else if (r == 0 && value != NULL) {
        (void)json_object_set_new(object, def->key, value);
    }
    return r;
}

static const struct kube_proto_field *find_field(const struct kube_proto_shape *shape,
                                                 uint32_t number)
{
    for (size_t i = 0; i < KUBE_PROTO_FIELDS && shape->fields[i].number != 0; i++) {
        if (shape->fields[i].number == number) {
            return &shape->fields[i];
        }
    }
    return NULL;
}

int kube_proto_message(const struct kube_proto_shape *shape, const char *data, size_t len,
                       json_t **ret, struct err *err)
{
    struct bytes b = bytes_of(data, len);
    struct field f;
    int r;
    json_auto_t *object = json_object();
    while ((r = take_field(&b, &f, err)) > 0) {
        const struct kube_proto_field *def = find_field(shape, f.number);
        if (def != NULL && (r = add_field(object, def, &f, err)) < 0) {
            break;
        }
    }
    if (r == 0) {
        *ret = take_ptr(object);
    }
    return r;
}

/* ---- what is the same in all kinds ---- */

static const struct kube_proto_shape owner_reference = {{
    {5, KUBE_PROTO_TEXT, "apiVersion", .has_empty = true},
    {1, KUBE_PROTO_TEXT, "kind", .has_empty = true},
    {3, KUBE_PROTO_TEXT, "name", .has_empty = true},
    {4, KUBE_PROTO_TEXT, "uid", .has_empty = true},
    {6, KUBE_PROTO_BOOL, "controller", .has_empty = true},
    {7, KUBE_PROTO_BOOL, "blockOwnerDeletion", .has_empty = true},
}};

const struct kube_proto_shape kube_proto_metadata = {{
    {1, KUBE_PROTO_TEXT, "name"},
    {3, KUBE_PROTO_TEXT, "namespace"},
    {5, KUBE_PROTO_TEXT, "uid"},
    {6, KUBE_PROTO_TEXT, "resourceVersion"},
    {8, KUBE_PROTO_TIME, "creationTimestamp"},
    {9, KUBE_PROTO_TIME, "deletionTimestamp"},
    {10, KUBE_PROTO_INTEGER, "deletionGracePeriodSeconds", .has_empty = true},
    {11, KUBE_PROTO_TEXTS, "labels"},
    {13, KUBE_PROTO_OBJECT, "ownerReferences", .shape = &owner_reference, .is_list = true},
}};

static const struct kube_proto_shape list_metadata = {{
    {2, KUBE_PROTO_TEXT, "resourceVersion"},
    {3, KUBE_PROTO_TEXT, "continue"},
}};

static const struct kube_proto_shape list_head = {{
    {1, KUBE_PROTO_OBJECT, "metadata", .shape = &list_metadata},
}};
enum { LIST_ITEMS = 2 };

static const struct kube_proto_shape status_cause = {{
    {1, KUBE_PROTO_TEXT, "reason"},
    {2, KUBE_PROTO_TEXT, "message"},
    {3, KUBE_PROTO_TEXT, "field"},
}};

static const struct kube_proto_shape status_details = {{
    {1, KUBE_PROTO_TEXT, "name"},
    {3, KUBE_PROTO_TEXT, "kind"},
    {4, KUBE_PROTO_OBJECT, "causes", .shape = &status_cause, .is_list = true},
    {5, KUBE_PROTO_INTEGER, "retryAfterSeconds"},
}};

static const struct kube_proto_shape status = {{
    {2, KUBE_PROTO_TEXT, "status"},
    {3, KUBE_PROTO_TEXT, "message"},
    {4, KUBE_PROTO_TEXT, "reason"},
    {5, KUBE_PROTO_OBJECT, "details", .shape = &status_details},
    {6, KUBE_PROTO_INTEGER, "code"},
}};

/* ---- envelopes ---- */

static const char magic[] = {'k', '8', 's', '\0'};
enum {
    UNKNOWN_TYPE = 1,
    UNKNOWN_RAW = 2,
    TYPE_KIND = 2,
    EVENT_TYPE = 1,
    EVENT_OBJECT = 2,
    EXTENSION_RAW = 1
};

bool kube_proto_is(const char *data, size_t len)
{
    return len >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

bool kube_proto_is_watch(char first)
{
    return (unsigned char)first < '\t'; /* the first that JSON may begin with */
}

static int open_envelope(const char *data, size_t len, struct bytes *ret_kind,
                         struct bytes *ret_raw, struct err *err)
{
    if (!kube_proto_is(data, len)) {
        return err_set(err, EPROTO, "an object that does not begin as Kubernetes' protobuf does");
    }
    const struct bytes unknown = bytes_of(data + sizeof(magic), len - sizeof(magic));
    struct bytes type;
    int r = find_bytes(unknown, UNKNOWN_TYPE, &type, err);
    r = r < 0 ? r : find_bytes(type, TYPE_KIND, ret_kind, err);
    return r < 0 ? r : find_bytes(unknown, UNKNOWN_RAW, ret_raw, err);
}

int kube_proto_object(const struct kube_proto_shape *shape, const char *data, size_t len,
                      json_t **ret, struct err *err)
{
    struct bytes kind, raw;
    int r = open_envelope(data, len, &kind, &raw, err);
    if (r < 0) {
        return r;
    }
    const bool is_status =
        n_bytes(kind) == strlen("Status") && memcmp(kind.at, "Status", n_bytes(kind)) == 0;
    if (!is_status && shape == NULL) {
        return err_set(err, EPROTO, "protobuf of an object that nobody reads in this form");
    }
    r = kube_proto_message(is_status ? &status : shape, raw.at, n_bytes(raw), ret, err);
    if (r == 0) {
        (void)json_object_set_new(*ret, "kind", text_of(kind));
    }
    return r;
}

static int give_items(const struct kube_proto_shape *shape, struct bytes list, kube_item_fn each,
                      void *ctx, struct err *err)
{
    struct field f;
    int r;
    while ((r = take_field(&list, &f, err)) > 0) {
        json_t *item;
        if (f.number != LIST_ITEMS || f.wire != WIRE_BYTES) {
            continue;
        }
        r = kube_proto_message(shape, f.bytes.at, n_bytes(f.bytes), &item, err);
        if (r < 0) {
            return err_wrap(err, r, "an item");
        }
        each(ctx, item);
        json_decref(item);
    }
    return r;
}

int kube_proto_list(const struct kube_proto_shape *shape, const char *data, size_t len,
                    kube_item_fn each, void *ctx, json_t **ret, struct err *err)
{
    struct bytes kind, raw;
    json_auto_t *list = NULL;
    int r = open_envelope(data, len, &kind, &raw, err);
    r = r < 0 ? r : kube_proto_message(&list_head, raw.at, n_bytes(raw), &list, err);
    r = r < 0 ? r : give_items(shape, raw, each, ctx, err);
    if (r == 0) {
        (void)json_object_set_new(list, "items", json_array());
        *ret = take_ptr(list);
    }
    return r;
}

int kube_proto_event(const struct kube_proto_shape *shape, const char *data, size_t len,
                     json_t **ret, struct err *err)
{
    const struct bytes event = bytes_of(data, len);
    struct bytes type, extension, raw;
    json_t *object;
    int r = find_bytes(event, EVENT_TYPE, &type, err);
    r = r < 0 ? r : find_bytes(event, EVENT_OBJECT, &extension, err);
    r = r < 0 ? r : find_bytes(extension, EXTENSION_RAW, &raw, err);
    r = r < 0 ? r : kube_proto_object(shape, raw.at, n_bytes(raw), &object, err);
    if (r < 0) {
        return r;
    }
    *ret = json_object();
    (void)json_object_set_new(*ret, "type", text_of(type));
    (void)json_object_set_new(*ret, "object", object);
    return 0;
}
