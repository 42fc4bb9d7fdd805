/* A fact of a pod is read from JSON and from protobuf. Of protobuf only what the shape names is
 * read, and without it the fact is silently missing. */
#include "tests/test.h"
#include "tests/pod/whole_pod.h"
#include "run/pods/pod_shape.h"

#include "base/str.h"

static const struct kube_proto_field *find(const struct kube_proto_shape *shape, const char *key)
{
    for (size_t i = 0; i < KUBE_PROTO_FIELDS && shape->fields[i].number != 0; i++) {
        if (str_eq(shape->fields[i].key, key)) {
            return &shape->fields[i];
        }
    }
    return NULL;
}

/* Returns how many fields the object has, with those of the objects in it. */
static unsigned check_object(json_t *object, const struct kube_proto_shape *shape)
{
    const char *key;
    json_t *value, *item;
    size_t i;
    unsigned n = 0;
    json_object_foreach (object, key, value) {
        const struct kube_proto_field *field = find(shape, key);
        n++;
        if (str_eq(key, "env")) {
            assert_null(field); /* it is long, and volumeMounts name the container, too */
            continue;
        }
        if (field == NULL) {
            fail_msg("the shape of a pod lacks '%s'", key);
        }
        if (field->kind != KUBE_PROTO_OBJECT) {
            continue;
        }
        assert_int_equal(json_is_array(value), field->is_list);
        n += json_is_array(value) ? 0 : check_object(value, field->shape);
        json_array_foreach (value, i, item) {
            n += check_object(item, field->shape);
        }
    }
    return n;
}

TEST(has_each_field_of_the_facts)
{
    _cleanup_(json_decrefp) json_t *pod = json_loads(whole_pod, 0, NULL);
    assert_non_null(pod);
    assert_true(check_object(pod, &pod_shape) > 50);
}
