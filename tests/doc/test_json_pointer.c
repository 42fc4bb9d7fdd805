/* Where a JSON pointer puts a value, and where it leads nowhere. */
#include "tests/test.h"
#include "doc/json_pointer.h"

TEST(sets)
{
    static const struct {
        const char *name, *before, *pointer;
        const char *after; /* NULL: refused, with this end of the error: */
        const char *error;
    } rows[] = {
        {"a key", "{\"a\":1}", "/a", "{\"a\":7}", NULL},
        {"a new key", "{\"a\":1}", "/b", "{\"a\":1,\"b\":7}", NULL},
        {"a key within", "{\"a\":{\"b\":1}}", "/a/b", "{\"a\":{\"b\":7}}", NULL},
        {"maps on the way are made", "{}", "/a/b/c", "{\"a\":{\"b\":{\"c\":7}}}", NULL},
        {"a key with nothing behind it becomes a map", "{\"a\":null}", "/a/b", "{\"a\":{\"b\":7}}",
         NULL},
        {"an item with nothing behind it, too", "{\"a\":[null]}", "/a/0/b", "{\"a\":[{\"b\":7}]}",
         NULL},
        {"an item", "{\"a\":[1,2]}", "/a/1", "{\"a\":[1,7]}", NULL},
        {"in an item", "{\"a\":[{\"b\":1}]}", "/a/0/b", "{\"a\":[{\"b\":7}]}", NULL},
        {"~1 is a slash", "{}", "/metadata/labels/a.b~1c",
         "{\"metadata\":{\"labels\":{\"a.b/c\":7}}}", NULL},
        {"~0 is a tilde, once", "{}", "/a~01", "{\"a~1\":7}", NULL},
        {"~2 is itself", "{}", "/a~2", "{\"a~2\":7}", NULL},
        {"an empty key", "{}", "/", "{\"\":7}", NULL},
        {"no slash", "{}", "a", NULL, "'a' does not start with '/'"},
        {"behind the last item", "{\"a\":[1,2]}", "/a/2", NULL,
         "path '/a/2': the list has no item '2', only 0 to 1"},
        {"a missing item on the way", "{\"a\":[1]}", "/a/1/b", NULL,
         "path '/a/1/b': the list has no item '1', only 0 to 0"},
        {"a new item", "{\"a\":[1]}", "/a/-", "{\"a\":[1,7]}", NULL},
        {"in a new item of a new list", "{}", "/a/-/b", "{\"a\":[{\"b\":7}]}", NULL},
        {"an item by its key", "{\"a\":[{\"k\":\"w\"},{\"k\":\"v/v\"}]}", "/a/k=v~1v/b",
         "{\"a\":[{\"k\":\"w\"},{\"b\":7,\"k\":\"v/v\"}]}", NULL},
        {"a new item with that key", "{}", "/a/k=v/b", "{\"a\":[{\"b\":7,\"k\":\"v\"}]}", NULL},
        {"no number of an item", "{\"a\":[1]}", "/a/x", NULL,
         "path '/a/x': the list has no item 'x', only 0 to 0"},
        {"an empty list", "{\"a\":[]}", "/a/0", NULL, "path '/a/0': the list is empty"},
        {"in a number", "{\"a\":1}", "/a/b", NULL,
         "path '/a/b': 'b' would be inside a value that is not a map or a list"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(json_decrefp) json_t *root = json_loads(rows[i].before, 0, NULL);
        struct err err = {0};
        const int r = json_pointer_set_new(root, rows[i].pointer, json_integer(7), &err);
        _cleanup_(freep) char *got = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
        const char *expected = rows[i].after != NULL ? rows[i].after : rows[i].before;
        if ((r < 0) != (rows[i].after == NULL) || strcmp(got, expected) != 0 ||
            (r < 0 && strcmp(err.msg, rows[i].error) != 0)) {
            fail_msg("%s: expected %s %s, got %d %s %s", rows[i].name, expected,
                     rows[i].error == NULL ? "" : rows[i].error, r, got, err.msg);
        }
    }
}
