/* Fields of documents between our own programs: what is read, and how a wrong one is named. */
#include "tests/test.h"
#include "core/json_field.h"

#include <errno.h>

static json_t *parse(const char *text)
{
    json_t *o = json_loads(text, 0, NULL);
    assert_non_null(o);
    return o;
}

TEST(whole_numbers)
{
    static const struct {
        const char *json;
        int64_t lo, hi, value;
        const char *error; /* NULL: read */
    } rows[] = {
        {"{\"n\": 7}", 0, 10, 7, NULL},
        {"{\"n\": 0}", 0, 10, 0, NULL},
        {"{\"n\": 10}", 0, 10, 10, NULL},
        {"{\"n\": -1}", 0, 10, 0, "'n' is -1, which is out of range"},
        {"{\"n\": 11}", 0, 10, 0, "'n' is 11, which is out of range"},
        {"{\"n\": 9223372036854775807}", 0, INT64_MAX, INT64_MAX, NULL},
        {"{\"n\": 1.0}", 0, 10, 0, "'n' is not a whole number"},
        {"{\"n\": \"7\"}", 0, 10, 0, "'n' is not a whole number"},
        {"{\"n\": null}", 0, 10, 0, "'n' is not a whole number"},
        {"{}", 0, 10, 0, "'n' is not a whole number"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(json_decrefp) json_t *o = parse(rows[i].json);
        int64_t value = 4711;
        struct err err = {0};
        const int r = json_field_int(o, "n", rows[i].lo, rows[i].hi, &value, &err);
        const bool is_read = rows[i].error == NULL;
        if (r != (is_read ? 0 : -EPROTO) || value != (is_read ? rows[i].value : 4711) ||
            (!is_read && strstr(err.msg, rows[i].error) == NULL)) {
            fail_msg("%s: got %d, %lld, '%s'", rows[i].json, r, (long long)value, err.msg);
        }
    }
}

TEST(strings)
{
    static const struct {
        const char *json, *value, *error;
    } rows[] = {
        {"{\"s\": \"a\"}", "a", NULL},
        {"{\"s\": \"\"}", "", NULL},
        {"{\"s\": null}", NULL, "'s' is missing"},
        {"{}", NULL, "'s' is missing"},
        {"{\"s\": 1}", NULL, "'s' is not a string"},
        {"{\"s\": []}", NULL, "'s' is not a string"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(json_decrefp) json_t *o = parse(rows[i].json);
        const char *text = "untouched";
        struct err err = {0};
        const int r = json_field_text(o, "s", &text, &err);
        assert_int_equal(r, rows[i].error == NULL ? 0 : -EPROTO);
        assert_string_equal(text, rows[i].error == NULL ? rows[i].value : "untouched");
        assert_true(rows[i].error == NULL || strstr(err.msg, rows[i].error) != NULL);
    }
}

TEST(bytes_become_utf8)
{
    json_t *value = json_text_or_null("a\xff");
    assert_string_equal(json_string_value(value), "a?");
    json_decref(value);
    value = json_text_or_null(NULL);
    assert_true(json_is_null(value));
    json_decref(value);
}

TEST(document_of_items)
{
    _cleanup_(json_decrefp) json_t *list = document_list("RunList", json_pack("[i, i]", 1, 2));
    _cleanup_(freep) char *text = json_dumps(list, JSON_COMPACT);
    assert_string_equal(
        text, "{\"apiVersion\":\"benchd.io/v1alpha1\",\"kind\":\"RunList\",\"items\":[1,2]}");
}

TEST(first_item_with_a_text)
{
    _cleanup_(json_decrefp) json_t *list =
        parse("[{\"type\": 1}, 7, {\"type\": \"A\"}, {\"type\": \"B\"}, {\"type\": \"A\"}]");
    assert_ptr_equal(fact_find(list, "type", "A"), json_array_get(list, 2));
    assert_ptr_equal(fact_find(list, "type", "B"), json_array_get(list, 3));
    assert_null(fact_find(list, "type", "C"));
    assert_null(fact_find(list, "kind", "A"));
    assert_null(fact_find(NULL, "type", "A"));
}
