/* Protobuf as the API server writes it: the fields of a shape, and nothing that is damaged. The
 * real server's is compared with its JSON in tests/e2e/test_kube.py. */
#include "cmocka_kube.h"

#include "kube/proto.h"

#include "base/buf.h"
#include "base/mem.h"
#include "kube/status.h"
#include "kube/watch.h"

/* ---- writing it ---- */

static void put_varint(struct buf *b, uint64_t n)
{
    for (; n >= 0x80; n >>= 7) {
        buf_putc(b, (char)(0x80 | (n & 0x7f)));
    }
    buf_putc(b, (char)n);
}

static void put_number(struct buf *b, uint32_t field, uint64_t n)
{
    put_varint(b, (uint64_t)field << 3);
    put_varint(b, n);
}

static void put_bytes(struct buf *b, uint32_t field, const void *data, size_t len)
{
    put_varint(b, (uint64_t)field << 3 | 2);
    put_varint(b, len);
    buf_append(b, data, len);
}

static void put_text(struct buf *b, uint32_t field, const char *text)
{
    put_bytes(b, field, text, strlen(text));
}

/* `from` is emptied. */
static void put_message(struct buf *b, uint32_t field, struct buf *from)
{
    put_bytes(b, field, buf_cstr(from), from->len);
    buf_done(from);
}

static void put_envelope(struct buf *b, const char *kind, struct buf *object)
{
    struct buf type = BUF_INIT;
    buf_append(b, "k8s", 4);
    put_text(&type, 1, "v1");
    put_text(&type, 2, kind);
    put_message(b, 1, &type);
    put_message(b, 2, object);
    put_text(b, 3, "");
    put_text(b, 4, "");
}

/* ---- messages ---- */

static const struct kube_proto_shape inner = {{
    {1, KUBE_PROTO_TEXT, "text"},
    {2, KUBE_PROTO_INTEGER, "number", .has_empty = true},
}};
static const struct kube_proto_shape outer = {{
    {1, KUBE_PROTO_TEXT, "text"},
    {2, KUBE_PROTO_TEXT, "kept", .has_empty = true},
    {3, KUBE_PROTO_INTEGER, "number"},
    {4, KUBE_PROTO_BOOL, "bool", .has_empty = true},
    {5, KUBE_PROTO_TIME, "time"},
    {6, KUBE_PROTO_OBJECT, "one", .shape = &inner},
    {7, KUBE_PROTO_OBJECT, "many", .shape = &inner, .is_list = true},
    {8, KUBE_PROTO_TEXTS, "texts"},
    {9, KUBE_PROTO_AMOUNTS, "amounts"},
    {300, KUBE_PROTO_TEXT, "far"},
}};

static void put_entry(struct buf *b, uint32_t field, const char *key, const char *value,
                      bool is_amount)
{
    struct buf entry = BUF_INIT, amount = BUF_INIT;
    put_text(&entry, 1, key);
    if (is_amount) {
        put_text(&amount, 1, value);
        put_message(&entry, 2, &amount);
    } else {
        put_text(&entry, 2, value);
    }
    put_message(b, field, &entry);
}

static void put_time(struct buf *b, uint32_t field, int64_t seconds)
{
    struct buf time = BUF_INIT;
    put_number(&time, 1, (uint64_t)seconds);
    put_number(&time, 2, 0);
    put_message(b, field, &time);
}

static void put_inner(struct buf *b, uint32_t field, const char *text, int64_t number)
{
    struct buf message = BUF_INIT;
    put_text(&message, 1, text);
    put_number(&message, 2, (uint64_t)number);
    put_message(b, field, &message);
}

static void put_all(struct buf *b)
{
    put_text(b, 1, "\xc3\xa9");
    put_text(b, 2, "");
    put_number(b, 3, (uint64_t)-5);
    put_number(b, 4, 0);
    put_time(b, 5, 1795164771);
    put_number(b, 10, 7); /* nobody reads from here on ... */
    put_text(b, 11, "x");
    buf_append(b,
               "\x61"
               "12345678"
               "\x6d"
               "1234",
               14);         /* fixed64, fixed32 */
    put_inner(b, 6, "", 0); /* ... to here */
    put_inner(b, 7, "a", 1);
    put_inner(b, 7, "", INT64_MIN);
    put_entry(b, 8, "k", "v", false);
    put_entry(b, 8, "e", "", false);
    put_entry(b, 9, "memory", "1Gi", true);
    put_text(b, 300, "f");
}
static const char all[] =
    "{\"text\":\"\xc3\xa9\",\"kept\":\"\",\"number\":-5,\"bool\":false,\"time\":\"2026-11-20T08:52:"
    "51Z\","
    "\"one\":{\"number\":0},\"many\":[{\"text\":\"a\",\"number\":1},{\"number\":-"
    "9223372036854775808}],"
    "\"texts\":{\"k\":\"v\",\"e\":\"\"},\"amounts\":{\"memory\":\"1Gi\"},\"far\":\"f\"}";

static void assert_reads(const struct buf *b, const char *wanted)
{
    _cleanup_(json_decrefp) json_t *got = NULL;
    struct err err = {0};
    const int r = kube_proto_message(&outer, b->data, b->len, &got, &err);
    _cleanup_(freep) char *text = r < 0 ? xstrdup(err.msg) : json_dumps(got, JSON_COMPACT);
    assert_string_equal(text, wanted);
}

TEST(reads_each_kind_of_field)
{
    _cleanup_(buf_done) struct buf b = BUF_INIT;
    put_all(&b);
    assert_reads(&b, all);
}

TEST(leaves_out_what_json_leaves_out)
{
    _cleanup_(buf_done) struct buf b = BUF_INIT;
    put_text(&b, 1, "");
    put_number(&b, 3, 0);
    put_bytes(&b, 5, "", 0); /* a date that is not set */
    assert_reads(&b, "{}");
}

TEST(reads_the_years_1_to_9999)
{
    static const struct {
        int64_t seconds;
        int r;
    } rows[] = {
        {-62135596801, -EPROTO}, {-62135596800, 0}, {253402300799, 0}, {253402300800, -EPROTO}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(buf_done) struct buf b = BUF_INIT;
        _cleanup_(json_decrefp) json_t *got = NULL;
        put_time(&b, 5, rows[i].seconds);
        assert_int_equal(kube_proto_message(&outer, b.data, b.len, &got, NULL), rows[i].r);
    }
}

TEST(text_that_is_none_has_question_marks)
{
    _cleanup_(buf_done) struct buf b = BUF_INIT;
    put_text(&b, 1, "cut \xe2\x82");
    put_entry(&b, 8, "k", "\xff", false);
    assert_reads(&b, "{\"text\":\"cut ??\",\"texts\":{\"k\":\"?\"}}");
}

/* Cut at any byte it is refused, or a whole number of fields. */
TEST(refuses_what_is_cut_off)
{
    _cleanup_(buf_done) struct buf b = BUF_INIT;
    size_t n_whole = 0;
    put_all(&b);
    for (size_t len = 0; len < b.len; len++) {
        char *piece = xmalloc(len + 1); /* of exactly these bytes, for the sanitizer */
        _cleanup_(json_decrefp) json_t *got = NULL;
        memcpy(piece, b.data, len);
        const int r = kube_proto_message(&outer, piece, len, &got, NULL);
        assert_true(r == 0 || r == -EPROTO);
        n_whole += r == 0;
        free(piece);
    }
    assert_int_equal(n_whole, 16); /* before each field */
}

TEST(refuses_what_is_no_protobuf_of_the_api)
{
#define ROW(text, words)                                                                           \
    {                                                                                              \
        text, sizeof(text) - 1, words                                                              \
    }
    static const struct {
        const char *data;
        size_t len;
        const char *words;
    } rows[] = {
        ROW("\x08\x01", "'text' is of another kind"),
        ROW("\x1a\x01x", "'number' is of another kind"),
        ROW("\x00\x01", "a field is cut off or of no known kind"), /* number 0 */
        ROW("\x0b\x01", "a field is cut off or of no known kind"), /* a group */
        ROW("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "a field is cut off"), /* longer than memory */
        ROW("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "a field is cut off"), /* 11 bytes */
        ROW("\x42\x05\x0a\x01\xff\x12\x00", "a key is no text"),
        ROW("\x32\x02\x08\x01", "'text' is of another kind"), /* inside */
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        json_t *got = NULL;
        struct err err = {0};
        const int r = kube_proto_message(&outer, rows[i].data, rows[i].len, &got, &err);
        if (r != -EPROTO || strstr(err.msg, rows[i].words) == NULL) {
            fail_msg("row %zu: expected '%s', got %d '%s'", i, rows[i].words, r, err.msg);
        }
    }
}

/* ---- in envelopes ---- */

static const struct kube_proto_shape pod = {{
    {1, KUBE_PROTO_OBJECT, "metadata", .shape = &kube_proto_metadata},
}};

static void put_pod(struct buf *b, const char *name, const char *version)
{
    struct buf metadata = BUF_INIT;
    put_text(&metadata, 1, name);
    put_text(&metadata, 6, version);
    put_message(b, 1, &metadata);
}

static void put_status(struct buf *b, int code, const char *reason)
{
    struct buf status = BUF_INIT, details = BUF_INIT, cause = BUF_INIT;
    put_text(&cause, 1, "NamespaceTerminating");
    put_message(&details, 4, &cause);
    put_number(&details, 5, 3);
    put_text(&status, 2, "Failure");
    put_text(&status, 3, "too old");
    put_text(&status, 4, reason);
    put_message(&status, 5, &details);
    put_number(&status, 6, (uint64_t)code);
    put_envelope(b, "Status", &status);
}

static void note_item(void *ctx, json_t *item)
{
    buf_printf(ctx, "%s@%s ", kube_json_metadata(item, "name"),
               kube_json_metadata(item, "resourceVersion"));
}

TEST(reads_a_list)
{
    struct buf b = BUF_INIT, list = BUF_INIT, item = BUF_INIT, seen = BUF_INIT;
    json_t *got = NULL;
    put_text(&item, 2, "9");
    put_text(&item, 3, "next");
    put_message(&list, 1, &item);
    put_pod(&item, "a", "1");
    put_message(&list, 2, &item);
    put_pod(&item, "b", "2");
    put_message(&list, 2, &item);
    put_envelope(&b, "PodList", &list);
    assert_true(kube_proto_is(b.data, b.len));
    assert_int_equal(kube_proto_list(&pod, b.data, b.len, note_item, &seen, &got, NULL), 0);
    assert_string_equal(buf_cstr(&seen), "a@1 b@2 ");
    assert_string_equal(kube_json_metadata(got, "resourceVersion"), "9");
    assert_string_equal(kube_json_metadata(got, "continue"), "next");
    assert_true(json_is_array(json_object_get(got, "items")));
    json_decref(got);
    for (size_t len = 0; len < b.len - 4; len++) { /* its last two fields are empty */
        got = NULL;
        const int r = kube_proto_list(&pod, b.data, len, note_item, &seen, &got, NULL);
        assert_true(r == -EPROTO ||
                    (r == 0 && kube_json_metadata(got, "resourceVersion")[0] == '\0'));
        json_decref(got);
    }
    buf_done(&b);
    buf_done(&seen);
}

TEST(reads_a_status)
{
    _cleanup_(buf_done) struct buf b = BUF_INIT;
    struct kube_status status;
    put_status(&b, 410, "Expired");
    kube_status_read("application/vnd.kubernetes.protobuf", b.data, b.len, 410, &status);
    assert_true(status.is_status);
    assert_string_equal(status.reason, "Expired");
    assert_string_equal(status.message, "too old");
    assert_string_equal(status.cause, "NamespaceTerminating");
    buf_clear(&b);
    struct buf object = BUF_INIT;
    put_pod(&object, "a", "1");
    put_envelope(&b, "Pod", &object);
    kube_status_read("application/vnd.kubernetes.protobuf", b.data, b.len, 500, &status);
    assert_false(status.is_status);
}

/* ---- in a watch ---- */

static void put_event(struct buf *b, const char *type, struct buf *object)
{
    struct buf event = BUF_INIT, extension = BUF_INIT;
    put_message(&extension, 1, object);
    put_text(&event, 1, type);
    put_message(&event, 2, &extension);
    const char head[] = {(char)(event.len >> 24), (char)(event.len >> 16), (char)(event.len >> 8),
                         (char)event.len};
    buf_append(b, head, sizeof(head));
    buf_append(b, buf_cstr(&event), event.len);
    buf_done(&event);
}

static void put_pod_event(struct buf *b, const char *type, const char *name, const char *version)
{
    struct buf object = BUF_INIT, envelope = BUF_INIT;
    put_pod(&object, name, version);
    put_envelope(&envelope, "Pod", &object);
    put_event(b, type, &envelope);
}

static int note_event(void *ctx, enum kube_event_type type, json_t *object, struct err *err)
{
    (void)err;
    buf_printf(ctx, "%d %s@%s %lld\n", type, kube_json_metadata(object, "name"),
               kube_json_metadata(object, "resourceVersion"),
               (long long)json_integer_value(json_object_get(object, "code")));
    return 0;
}

static void put_stream(struct buf *b)
{
    struct buf status = BUF_INIT;
    char name[300];
    memset(name, 'n', sizeof(name) - 1); /* its frame has two bytes of length that count */
    name[sizeof(name) - 1] = '\0';
    put_pod_event(b, "ADDED", "a", "1");
    put_pod_event(b, "MODIFIED", name, "2");
    put_pod_event(b, "DELETED", "a", "3");
    put_pod_event(b, "BOOKMARK", "", "4");
    put_status(&status, 410, "Expired");
    put_event(b, "ERROR", &status);
}

/* Feeds pieces of exactly their bytes. */
static int feed(struct kube_watch_parser *p, const struct buf *b, size_t cut, size_t again,
                struct err *err)
{
    const size_t cuts[] = {0, cut, again, b->len};
    int r = 0;
    for (size_t i = 0; r == 0 && i + 1 < N_ROWS(cuts); i++) {
        const size_t len = cuts[i + 1] - cuts[i];
        _cleanup_(freep) char *piece = xmalloc(len + 1);
        memcpy(piece, b->data + cuts[i], len);
        r = kube_watch_parser_feed(p, piece, len, err);
    }
    return r;
}

TEST(same_events_however_split)
{
    _cleanup_(buf_done) struct buf b = BUF_INIT, seen = BUF_INIT, first = BUF_INIT;
    put_stream(&b);
    for (size_t cut = 0; cut <= b.len; cut++) {
        _cleanup_(kube_watch_parser_done) struct kube_watch_parser p;
        struct err err = {0};
        kube_watch_parser_init(&p, KUBE_LINE_MAX, note_event, &seen);
        p.shape = &pod;
        if (feed(&p, &b, cut, cut + (b.len - cut) / 2, &err) < 0) {
            fail_msg("cut at %zu: %s", cut, err.msg);
        }
        if (cut == 0) {
            buf_puts(&first, buf_cstr(&seen));
            assert_non_null(strstr(buf_cstr(&first), "0 a@1 0\n1 nnn"));
            assert_non_null(strstr(buf_cstr(&first), "@2 0\n2 a@3 0\n3 @4 0\n4 @ 410\n"));
        }
        assert_string_equal(buf_cstr(&seen), buf_cstr(&first));
        buf_clear(&seen);
    }
}

/* A frame begins with its length, of which the first byte is 0; JSON may begin with white space. */
TEST(a_watch_that_begins_with_a_tab_is_lines)
{
    assert_true(kube_proto_is_watch('\b'));
    assert_false(kube_proto_is_watch('\t'));
}

/* After the end of a stream the next may have the other form. */
TEST(the_next_stream_may_be_lines)
{
    _cleanup_(buf_done) struct buf b = BUF_INIT, seen = BUF_INIT;
    _cleanup_(kube_watch_parser_done) struct kube_watch_parser p;
    static const char line[] = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"l\"}}}\n";
    kube_watch_parser_init(&p, KUBE_LINE_MAX, note_event, &seen);
    p.shape = &pod;
    put_pod_event(&b, "ADDED", "a", "1");
    assert_int_equal(kube_watch_parser_feed(&p, b.data, b.len, NULL), 0);
    assert_int_equal(kube_watch_parser_feed(&p, b.data, 7, NULL), 0);
    kube_watch_parser_reset(&p);
    assert_int_equal(kube_watch_parser_feed(&p, line, sizeof(line) - 1, NULL), 0);
    kube_watch_parser_reset(&p);
    assert_int_equal(kube_watch_parser_feed(&p, b.data, b.len, NULL), 0);
    assert_string_equal(buf_cstr(&seen), "0 a@1 0\n0 l@ 0\n0 a@1 0\n");
}

TEST(refuses_frames_that_are_no_events)
{
    static const struct {
        const char *data;
        size_t len;
        int code;
        const char *words;
    } rows[] = {
        {"\0\0\0\0", 4, -EPROTO, "a watch frame of 0 bytes: an object that does not begin"},
        {"\0\0\0\x50", 4, 0, ""},
        {"\0\0\0\x51", 4, -E2BIG, "a watch frame of 81 bytes exceeds 80"},
        {"\0\0\0\x02\x0a\x07", 6, -EPROTO, "cut off"},
        {"\0\0\0\x0d\x0a\x01X\x12\x08\x0a\x06k8s\0\x12\0", 17, -EPROTO, "is not an event"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(buf_done) struct buf seen = BUF_INIT;
        _cleanup_(kube_watch_parser_done) struct kube_watch_parser p;
        struct err err = {0};
        kube_watch_parser_init(&p, 80, note_event, &seen);
        p.shape = &pod;
        const struct buf b = {.data = (char *)(uintptr_t)rows[i].data, .len = rows[i].len};
        const int r = feed(&p, &b, 1, 3, &err);
        if (r != rows[i].code || strstr(err.msg, rows[i].words) == NULL || seen.len != 0) {
            fail_msg("row %zu: expected %d '%s', got %d '%s'", i, rows[i].code, rows[i].words, r,
                     err.msg);
        }
    }
}

/* Who has no shape has not asked for it. */
TEST(a_watch_without_a_shape_takes_lines_only)
{
    _cleanup_(buf_done) struct buf b = BUF_INIT, seen = BUF_INIT;
    _cleanup_(kube_watch_parser_done) struct kube_watch_parser p;
    kube_watch_parser_init(&p, KUBE_LINE_MAX, note_event, &seen);
    put_pod_event(&b, "ADDED", "a", "1");
    buf_putc(&b, '\n');
    assert_int_equal(kube_watch_parser_feed(&p, b.data, b.len, NULL), -EPROTO);
    assert_int_equal(seen.len, 0);
}
