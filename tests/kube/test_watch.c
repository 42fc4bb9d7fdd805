/* Watch lines: however the bytes come, the events are the same. */
#include "cmocka_kube.h"

#include "kube/reflector.h"

#include "base/mem.h"
#include "kube/json.h"

static int note_event(void *ctx, enum kube_event_type type, json_t *object, struct err *err)
{
    struct buf *seen = ctx;
    (void)err;
    buf_printf(seen, "%d %s@%s\n", type, kube_json_metadata(object, "name"),
               kube_json_metadata(object, "resourceVersion"));
    return 0;
}

#define POD(name, rv) "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" rv "\"}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"

static const char stream[] =
    EVENT("ADDED", POD("a", "1")) EVENT("MODIFIED", POD("\xc3\xa9\xe2\x82\xac", "2")) "\n" EVENT(
        "DELETED", POD("c\\u0000d",
                       "3")) "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":"
                             "\"4\"}}}\r\n" EVENT("ERROR", "{\"kind\":\"Status\",\"code\":410}");
static const char events[] = "0 a@1\n1 \xc3\xa9\xe2\x82\xac@2\n2 c@3\n3 @4\n4 @\n";

static void assert_events(size_t first, size_t second)
{
    struct buf seen = BUF_INIT;
    _cleanup_(kube_watch_parser_done) struct kube_watch_parser p;
    kube_watch_parser_init(&p, KUBE_LINE_MAX, note_event, &seen);
    const size_t cuts[] = {0, first, second, sizeof(stream) - 1};
    for (size_t i = 0; i + 1 < N_ROWS(cuts); i++) {
        struct err err = {0};
        /* A copy of exactly these bytes: a read beyond them is seen by the sanitizer. */
        const size_t len = cuts[i + 1] - cuts[i];
        _cleanup_(freep) char *piece = xmalloc(len + 1);
        memcpy(piece, stream + cuts[i], len);
        if (kube_watch_parser_feed(&p, piece, len, &err) < 0) {
            fail_msg("cut at %zu and %zu: %s", first, second, err.msg);
        }
    }
    assert_string_equal(buf_cstr(&seen), events);
    buf_done(&seen);
}

TEST(same_events_however_split)
{
    for (size_t i = 0; i < sizeof(stream); i++) {
        assert_events(i, i);
        assert_events(i, i + (sizeof(stream) - 1 - i) / 2);
    }
}

TEST(same_events_byte_by_byte)
{
    struct buf seen = BUF_INIT;
    _cleanup_(kube_watch_parser_done) struct kube_watch_parser p;
    kube_watch_parser_init(&p, KUBE_LINE_MAX, note_event, &seen);
    for (size_t i = 0; i + 1 < sizeof(stream); i++) {
        assert_int_equal(kube_watch_parser_feed(&p, &stream[i], 1, NULL), 0);
    }
    assert_string_equal(buf_cstr(&seen), events);
    buf_done(&seen);
}

TEST(refuses_what_is_no_event)
{
    static const struct {
        const char *name, *line;
        int code;
        const char *text;
    } rows[] = {
        {"half JSON", "{\"type\":\n", -EPROTO, "not JSON"},
        {"HTML", "<html>\n", -EPROTO, "not JSON"},
        {"unknown type", EVENT("MOVED", POD("a", "1")), -EPROTO, "is not an event"},
        {"no type", "{\"object\":{}}\n", -EPROTO, "is not an event"},
        {"no object", "{\"type\":\"ADDED\"}\n", -EPROTO, "is not an event"},
        {"an array", "[]\n", -EPROTO, "is not an event"},
        {"longer than the limit",
         EVENT("ADDED", POD("0123456789012345678901234567890123456789", "1")), -E2BIG,
         "exceeds 80"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        for (size_t cut = 0; cut <= strlen(rows[i].line); cut++) {
            struct buf seen = BUF_INIT;
            _cleanup_(kube_watch_parser_done) struct kube_watch_parser p;
            struct err err = {0};
            kube_watch_parser_init(&p, 80, note_event, &seen);
            int r = kube_watch_parser_feed(&p, rows[i].line, cut, &err);
            if (r == 0) {
                r = kube_watch_parser_feed(&p, rows[i].line + cut, strlen(rows[i].line) - cut,
                                           &err);
            }
            if (r != rows[i].code || strstr(err.msg, rows[i].text) == NULL || seen.len != 0) {
                fail_msg("%s, cut at %zu: expected %d '%s', got %d '%s', events '%s'", rows[i].name,
                         cut, rows[i].code, rows[i].text, r, err.msg, buf_cstr(&seen));
            }
            buf_done(&seen);
        }
    }
}

/* A line that never ends is refused at the limit, not when memory is out. */
TEST(refuses_an_endless_line)
{
    _cleanup_(buf_done) struct buf seen = BUF_INIT;
    _cleanup_(kube_watch_parser_done) struct kube_watch_parser p;
    struct err err = {0};
    kube_watch_parser_init(&p, 80, note_event, &seen);
    for (int i = 0; i < 80; i++) {
        assert_int_equal(kube_watch_parser_feed(&p, " ", 1, &err), 0);
    }
    assert_int_equal(kube_watch_parser_feed(&p, " ", 1, &err), -E2BIG);
    assert_string_equal(err.msg, "a watch line exceeds 80 bytes");
}

/* The project's limit: a line of 16 MiB is read, one byte more is not, and never kept. */
TEST(holds_the_real_limit)
{
    static const char head[] =
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"big\",\"x\":\"";
    static const char tail[] = "\"}}}";
    for (int over = 0; over <= 1; over++) {
        _cleanup_(buf_done) struct buf seen = BUF_INIT, line = BUF_INIT;
        _cleanup_(kube_watch_parser_done) struct kube_watch_parser p;
        kube_watch_parser_init(&p, KUBE_LINE_MAX, note_event, &seen);
        buf_puts(&line, head);
        while (line.len < KUBE_LINE_MAX - strlen(tail) + (size_t)over) {
            static const char x[] =
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
            const size_t room = KUBE_LINE_MAX - strlen(tail) + (size_t)over - line.len;
            buf_append(&line, x, room < 64 ? room : 64);
        }
        buf_puts(&line, tail);
        buf_putc(&line, '\n');
        int r = 0;
        for (size_t at = 0; r == 0 && at < line.len; at += 16384) {
            const size_t n = line.len - at < 16384 ? line.len - at : 16384;
            r = kube_watch_parser_feed(&p, line.data + at, n, NULL);
        }
        assert_int_equal(r, over ? -E2BIG : 0);
        assert_string_equal(buf_cstr(&seen), over ? "" : "0 big@\n");
    }
}

TEST(reset_forgets_half_a_line)
{
    struct buf seen = BUF_INIT;
    _cleanup_(kube_watch_parser_done) struct kube_watch_parser p;
    kube_watch_parser_init(&p, KUBE_LINE_MAX, note_event, &seen);
    assert_int_equal(kube_watch_parser_feed(&p, stream, 20, NULL), 0);
    kube_watch_parser_reset(&p);
    assert_int_equal(kube_watch_parser_feed(&p, stream, sizeof(stream) - 1, NULL), 0);
    assert_string_equal(buf_cstr(&seen), events);
    buf_done(&seen);
}

/* A user may put 10^20 into a free-form field: the API server prints it, the
 * rest stays readable. */
TEST(large_integers_do_not_spoil_the_rest)
{
    static const char text[] = "{\"a\":100000000000000000000,\"b\":[1,2.5,{\"c\":-7}],\"d\":1e3}";
    _cleanup_(json_decrefp) json_t *json;
    assert_int_equal(kube_json_load(text, sizeof(text) - 1, &json, NULL), 0);
    assert_true(json_is_real(json_object_get(json, "a")));
    json_t *list = json_object_get(json, "b");
    assert_true(json_is_integer(json_array_get(list, 0)));
    assert_true(json_is_real(json_array_get(list, 1)));
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 2), "c")), -7);
}

/* Nor what jansson refuses: a NUL in a key, and what lies deep. Both anybody may write into a
 * Benchmark, and each list and watch of them would end there. */
TEST(hostile_objects_do_not_spoil_the_rest)
{
    enum { DEPTH = 9000 };
    static const struct {
        const char *name, *text, *expected; /* <: so many brackets, >: the same ones closed */
    } rows[] = {
        {"a NUL in a key", "{\"a\\u0000b\":1,\"c\":\"\\u0000\"}",
         "{\"a\\u0001b\":1,\"c\":\"\\u0001\"}"},
        {"a NUL in a text alone", "{\"a\":\"\\u0000\"}", "{\"a\":\"\\u0000\"}"},
        {"a backslash, and no NUL", "{\"\\u0000\":1,\"b\\\\u0000\":\"\\\"\\\\\"}",
         "{\"\\u0001\":1,\"b\\\\u0000\":\"\\\"\\\\\"}"},
        {"a large integer, too", "{\"\\u0000\":1,\"b\":100000000000000000000}",
         "{\"\\u0001\":1,\"b\":1e20}"},
        {"before it", "{\"b\":100000000000000000000,\"\\u0000\":1}", "{\"b\":1e20,\"\\u0001\":1}"},
        {"lists in lists", "{\"a\":<>,\"b\":[2]}", NULL},
        {"cut off", "{\"a\":<", ""},
        {"a NUL, cut off", "{\"\\u0000\":1,\"b\\", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        for (const char *c = rows[i].text; *c != '\0'; c++) {
            for (int k = 0; k < (*c == '<' || *c == '>' ? DEPTH : 1); k++) {
                buf_putc(&text, *c == '<' ? '[' : *c == '>' ? ']' : *c);
            }
        }
        _cleanup_(json_decrefp) json_t *json = NULL;
        const int r = kube_json_load(text.data, text.len, &json, NULL);
        _cleanup_(freep) char *got = r < 0 ? xstrdup("") : json_dumps(json, JSON_COMPACT);
        if (rows[i].expected != NULL ? strcmp(got, rows[i].expected) != 0
                                     : !json_is_array(json_object_get(json, "b"))) {
            fail_msg("row '%s': got %.200s", rows[i].name, got);
        }
    }
}

TEST(managed_fields_are_not_parsed)
{
    static const struct {
        const char *name, *text, *expected; /* NULL: no JSON */
    } rows[] = {
        {"none", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"one", "{\"managedFields\":[{\"f\":{\"k:{\\\"x\\\":\\\"]\\\"}\":{}}}],\"b\":2}",
         "{\"managedFields\":[],\"b\":2}"},
        {"of each object", "[{\"managedFields\":[[]]},{\"managedFields\":[{}],\"a\":1}]",
         "[{\"managedFields\":[]},{\"managedFields\":[],\"a\":1}]"},
        {"within a text", "{\"a\":\"{\\\"managedFields\\\":[1]}\"}",
         "{\"a\":\"{\\\"managedFields\\\":[1]}\"}"},
        {"the end of another key", "{\"a\\\"managedFields\":[1]}", "{\"a\\\"managedFields\":[1]}"},
        {"no array", "{\"managedFields\":null}", "{\"managedFields\":null}"},
        {"cut off", "{\"managedFields\":[{\"a\":1}", NULL},
        {"alone", "\"managedFields\":[1]", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(json_decrefp) json_t *json = NULL;
        struct err err = {0};
        const int r = kube_json_load_lean(rows[i].text, strlen(rows[i].text), &json, &err);
        _cleanup_(freep) char *got = r < 0 ? NULL : json_dumps(json, JSON_COMPACT);
        const bool is_right = rows[i].expected == NULL
                                  ? got == NULL
                                  : got != NULL && strcmp(got, rows[i].expected) == 0;
        if (!is_right) {
            fail_msg("row '%s': expected %s, got %s %s", rows[i].name, rows[i].expected, got,
                     err.msg);
        }
    }
}

static void note_item(void *ctx, json_t *item)
{
    _cleanup_(freep) char *text = json_dumps(item, JSON_COMPACT | JSON_ENCODE_ANY);
    buf_printf(ctx, "%s;", text);
}

TEST(lists_are_read_item_by_item)
{
    static const struct {
        const char *name, *text, *items, *rest; /* rest NULL: -EPROTO */
    } rows[] = {
        {"none", "{\"items\":[],\"a\":1}", "", "{\"items\":[],\"a\":1}"},
        {"two", "{\"a\":1,\"items\":[{\"b\":2},{\"c\":[3]}],\"d\":4}", "{\"b\":2};{\"c\":[3]};",
         "{\"a\":1,\"items\":[],\"d\":4}"},
        {"items within items", "{\"items\":[{\"items\":[{\"b\":2}]},{\"c\":3}]}",
         "{\"items\":[{\"b\":2}]};{\"c\":3};", "{\"items\":[]}"},
        {"items before its own", "{\"a\":{\"items\":[{\"b\":2}]},\"items\":[{\"c\":3}]}",
         "{\"c\":3};", "{\"a\":{\"items\":[{\"b\":2}]},\"items\":[]}"},
        {"the word as a value", "{\"a\":\"items\",\"items\":[{\"c\":3}]}", "{\"c\":3};",
         "{\"a\":\"items\",\"items\":[]}"},
        {"brackets and quotes in texts", "{\"a\":\"]}\\\"\",\"items\":[{\"b\":\"}\\\"]\"},{}]}",
         "{\"b\":\"}\\\"]\"};{};", "{\"a\":\"]}\\\"\",\"items\":[]}"},
        {"spaces between them", "{\"items\":[ {\"b\":2} ,\n{\"c\":3} ]}", "{\"b\":2};{\"c\":3};",
         "{\"items\":[]}"},
        {"spaces elsewhere too", "{ \"items\" : [ {\"b\":2} ] }", "{\"b\":2};",
         "{\"items\":[{\"b\":2}]}"},
        {"null", "{\"items\":null}", "", "{\"items\":null}"},
        {"lean", "{\"items\":[{\"managedFields\":[{}],\"env\":[1]}]}",
         "{\"managedFields\":[],\"env\":[1]};", "{\"items\":[]}"},
        {"cut off", "{\"items\":[{\"b\":2},{\"c\":", "", NULL},
        {"a bad item", "{\"items\":[{\"b\":2},{\"c\"}]}", "{\"b\":2};", NULL},
        {"no comma", "{\"items\":[{\"b\":2}{\"c\":3}]}", "{\"b\":2};", NULL},
        {"no objects", "{\"items\":[1]}", "", NULL},
        {"a bad rest", "{\"items\":[{\"b\":2}],}", "", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(buf_done) struct buf items = BUF_INIT;
        _cleanup_(json_decrefp) json_t *rest = NULL;
        struct err err = {0};
        const int r =
            kube_json_load_list(rows[i].text, strlen(rows[i].text), note_item, &items, &rest, &err);
        _cleanup_(freep) char *got = r < 0 ? NULL : json_dumps(rest, JSON_COMPACT);
        const bool is_right =
            strcmp(buf_cstr(&items), rows[i].items) == 0 &&
            (rows[i].rest == NULL ? r == -EPROTO : got != NULL && strcmp(got, rows[i].rest) == 0);
        if (!is_right) {
            fail_msg("row '%s': got %d '%s' and %s, %s", rows[i].name, r, buf_cstr(&items), got,
                     err.msg);
        }
    }
}
