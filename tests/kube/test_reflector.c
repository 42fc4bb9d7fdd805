/* The reflector as a table of stories: what the server says, and what is asked next. No socket, no
 * clock: a story is a text of one step a line.
 *
 *   list              next() asks for a list; "list?continue=X" when the request holds that
 *   first             the same for the list before that of all; only stories with it have one
 *   watch RV          next() asks for a watch from RV
 *   stop, abandon     next() asks to cancel the watch, or to leave its connection too
 *   wait MIN MAX      next() waits MIN to MAX milliseconds; the clock goes there
 *   > CODE BODY       the answer to the list; CODE 0: no connection, 1: it is too large
 *   open | = LINE     the watch is open | brings this line
 *   bad LINE          ... and says that the stream is useless
 *   half LINE         it brings the first half of this line
 *   end CODE          the watch ends; CODE -1: broken, 0: no connection
 *   after SECONDS     Retry-After of the answers from now on
 *   sleep MS          time goes by
 *   cache TEXT        name@version ... of the cache
 *   told TEXT         changes since the last "told"
 *   error TEXT        is part of the error; "none": there is none
 *   knows TEXT        nothing, first or all: which objects it knows */
#include "cmocka_kube.h"

#include "kube/json.h"
#include "kube/reflector.h"

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

#define MS_NS 1000000

struct story {
    const char *name, *text;
    int line;
    struct kube_reflector *reflector;
    int64_t now_ns;
    int64_t retry_after_s; /* -1: answers do not say */
    struct buf told;
    bool is_first_wanted;
};
#define FIRST "open" /* the selector of stories that ask for a first list */

static void on_change(void *ctx, enum kube_change change, const struct kube_object *o)
{
    struct story *s = ctx;
    buf_printf(&s->told, "%s%c%s@%s", s->told.len > 0 ? " " : "", "+~-"[change], o -> name,
               o -> resource_version);
}

static void on_synced(void *ctx)
{
    struct story *s = ctx;
    buf_printf(&s->told, "%ssynced", s->told.len > 0 ? " " : "");
}

static void on_silence(void *ctx, const struct kube_resource *resource)
{
    struct story *s = ctx;
    buf_printf(&s->told, "%ssilent %s", s->told.len > 0 ? " " : "", resource->plural);
}

#define FAIL(s, ...)                                                                               \
    do {                                                                                           \
        _cleanup_(freep) char *why_ = xasprintf(__VA_ARGS__);                                      \
        fail_msg("%s, line %d: %s", (s)->name, (s)->line, why_);                                   \
    } while (0)

static int64_t number(struct story *s, const char *text)
{
    int64_t value = 0;
    if (parse_i64(text, &value) < 0) {
        FAIL(s, "'%s' is no number", text);
    }
    return value;
}

static void expect_request(struct story *s, enum kube_reflector_need wanted, const char *part)
{
    _cleanup_(kube_request_done) struct kube_request req = {0};
    int64_t deadline_ns;
    const enum kube_reflector_need need =
        kube_reflector_next(s->reflector, s->now_ns, &req, &deadline_ns);
    if (need != wanted) {
        FAIL(s, "expected need %d, got %d (wait %lld ms)", wanted, need,
             (long long)((deadline_ns - s->now_ns) / MS_NS));
    }
    if (part[0] != '\0' && strstr(req.path, part) == NULL) {
        FAIL(s, "expected '%s' in %s", part, req.path);
    }
    if (part[0] == '\0' && wanted == KUBE_REFLECTOR_LIST && strstr(req.path, "continue=") != NULL) {
        FAIL(s, "expected a first page, got %s", req.path);
    }
    const bool is_first = req.path != NULL && strstr(req.path, "fieldSelector=" FIRST) != NULL;
    if (is_first != s->is_first_wanted) {
        FAIL(s, "expected %s list, got %s", s->is_first_wanted ? "the first" : "an ordinary",
             req.path);
    }
}

static void expect_wait(struct story *s, const char *bounds)
{
    struct kube_request req = {0};
    int64_t deadline_ns;
    const enum kube_reflector_need need =
        kube_reflector_next(s->reflector, s->now_ns, &req, &deadline_ns);
    if (need != KUBE_REFLECTOR_WAIT) {
        FAIL(s, "expected a wait, got %d %s", (int)need, req.path == NULL ? "" : req.path);
    }
    char low[32], high[32];
    assert_int_equal(sscanf(bounds, "%31s %31s", low, high), 2);
    const int64_t wait_ms = (deadline_ns - s->now_ns + MS_NS - 1) / MS_NS;
    if (wait_ms < number(s, low) || wait_ms > number(s, high)) {
        FAIL(s, "expected %s ms, got %lld", bounds, (long long)wait_ms);
    }
    s->now_ns = deadline_ns;
}

static struct kube_response response(const struct story *s, int64_t code, const char *body)
{
    const enum kube_failure failure = code == 1   ? KUBE_TOO_LARGE
                                      : code > 0  ? KUBE_ANSWERED
                                      : code == 0 ? KUBE_UNREACHABLE
                                                  : KUBE_BROKEN;
    struct kube_response res = response_of(failure, code > 0 ? (int)code : 0, body);
    res.failure_text = "words";
    res.retry_after_s = s->retry_after_s;
    return res;
}

static void answer_list(struct story *s, const char *rest)
{
    char code[8] = "";
    const size_t n = strcspn(rest, " ");
    memcpy(code, rest, n < sizeof(code) ? n : 0);
    const struct kube_response res =
        response(s, number(s, code), rest[n] == '\0' ? "" : rest + n + 1);
    kube_reflector_list_done(s->reflector, s->now_ns, &res);
}

static void feed_line(struct story *s, const char *line, bool is_good)
{
    _cleanup_(freep) char *data = xasprintf("%s\n", line);
    const size_t len = strlen(data), half = len / 2;
    int r = kube_reflector_watch_data(s->reflector, s->now_ns, data, half);
    if (r == 0) {
        r = kube_reflector_watch_data(s->reflector, s->now_ns, data + half, len - half);
    }
    if ((r == 0) != is_good) {
        FAIL(s, "watch_data gave %d", r);
    }
}

static void expect_cache(struct story *s, const char *wanted)
{
    _cleanup_(buf_done) struct buf got = BUF_INIT;
    const struct kube_cache *c = kube_reflector_cache(s->reflector);
    vec_each (struct kube_object *, it, &c->objects) {
        buf_printf(&got, "%s%s@%s", got.len > 0 ? " " : "", (*it)->name, (*it)->resource_version);
        assert_ptr_equal(kube_cache_get(c, (*it)->name), *it);
    }
    if (strcmp(buf_cstr(&got), wanted) != 0) {
        FAIL(s, "expected cache '%s', got '%s'", wanted, buf_cstr(&got));
    }
}

static void expect_told(struct story *s, const char *wanted)
{
    if (strcmp(buf_cstr(&s->told), wanted) != 0) {
        FAIL(s, "expected told '%s', got '%s'", wanted, buf_cstr(&s->told));
    }
    buf_clear(&s->told);
}

static void expect_error(struct story *s, const char *wanted)
{
    const struct err *err = kube_reflector_error(s->reflector);
    const char *got = err == NULL ? "none" : err->msg;
    if (strstr(got, wanted) == NULL) {
        FAIL(s, "expected error '%s', got '%s'", wanted, got);
    }
}

static void expect_known(struct story *s, const char *wanted)
{
    const bool has_first = kube_reflector_has_first(s->reflector);
    const bool is_synced = kube_reflector_is_synced(s->reflector);
    const char *got = is_synced ? "all" : has_first ? "first" : "nothing";
    if (strcmp(got, wanted) != 0 || (is_synced && !has_first)) {
        FAIL(s, "expected it to know %s, not %s", wanted, got);
    }
}

static void play(struct story *s, const char *verb, const char *rest)
{
    s->is_first_wanted = str_eq(verb, "first");
    if (s->is_first_wanted) {
        expect_request(s, KUBE_REFLECTOR_LIST, rest);
    } else if (str_eq(verb, "list")) {
        expect_request(s, KUBE_REFLECTOR_LIST, rest);
    } else if (str_eq(verb, "watch")) {
        _cleanup_(freep) char *part = xasprintf("&resourceVersion=%s&", rest);
        expect_request(s, KUBE_REFLECTOR_WATCH, part);
    } else if (str_eq(verb, "stop")) {
        expect_request(s, KUBE_REFLECTOR_STOP, "");
    } else if (str_eq(verb, "abandon")) {
        expect_request(s, KUBE_REFLECTOR_ABANDON, "");
    } else if (str_eq(verb, "wait")) {
        expect_wait(s, rest);
    } else if (str_eq(verb, ">")) {
        answer_list(s, rest);
    } else if (str_eq(verb, "open")) {
        kube_reflector_watch_opened(s->reflector, s->now_ns);
    } else if (str_eq(verb, "=")) {
        feed_line(s, rest, true);
    } else if (str_eq(verb, "bad")) {
        feed_line(s, rest, false);
    } else if (str_eq(verb, "half")) {
        const int r = kube_reflector_watch_data(s->reflector, s->now_ns, rest, strlen(rest) / 2);
        assert_int_equal(r, 0);
    } else if (str_eq(verb, "after")) {
        s->retry_after_s = number(s, rest);
    } else if (str_eq(verb, "end")) {
        const struct kube_response res = response(s, number(s, rest), "");
        kube_reflector_watch_end(s->reflector, s->now_ns, &res);
    } else if (str_eq(verb, "sleep")) {
        s->now_ns += number(s, rest) * MS_NS;
    } else if (str_eq(verb, "cache")) {
        expect_cache(s, rest);
    } else if (str_eq(verb, "told")) {
        expect_told(s, rest);
    } else if (str_eq(verb, "knows")) {
        expect_known(s, rest);
    } else if (str_eq(verb, "error")) {
        expect_error(s, rest);
    } else {
        FAIL(s, "no such step '%s'", verb);
    }
}

/* Short names for what is long on the wire; applied to the text of a story. */
#define ITEM(name, uid, rv)                                                                        \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv           \
    "\",\"managedFields\":[1]}}"
#define PAGE(rv, token, items)                                                                     \
    "> 200 {\"metadata\":{\"resourceVersion\":\"" rv "\",\"continue\":\"" token                    \
    "\"},\"items\":[" items "]}\n"
#define EV(type, object) "= {\"type\":\"" type "\",\"object\":" object "}\n"
#define BOOKMARK(rv) EV("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" rv "\"}}")
#define HALF(type, object) "half {\"type\":\"" type "\",\"object\":" object "}\n"
#define ERROR(code, reason)                                                                        \
    "bad {\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":" #code                      \
    ",\"reason\":\"" reason "\",\"message\":\"m\"}}\n"
#define SYNCED_AT_5 "list\n" PAGE("5", "", ITEM("a", "u1", "3")) "watch 5\nopen\ntold +a@3 synced\n"

/* clang-format off */
static const struct {
    const char *name, *text;
} stories[] = {
    {"a list, then events",
     "error none\nlist\n" PAGE("5", "", ITEM("b", "u2", "4") "," ITEM("a", "u1", "3"))
     "told +b@4 +a@3 synced\ncache a@3 b@4\nwatch 5\nopen\n" EV("ADDED", ITEM("c", "u3", "6"))
     EV("MODIFIED", ITEM("a", "u1", "7")) EV("DELETED", ITEM("b", "u2", "8"))
     "told +c@6 ~a@7 -b@8\ncache a@7 c@6\nerror none\nend 200\nwait 50 100\nwatch 8\n"},
    {"an empty list", "list\n> 200 {\"metadata\":{\"resourceVersion\":\"1\"},\"items\":null}\n"
                      "told synced\ncache \nwatch 1\n"},
    {"pages replace the cache at once",
     SYNCED_AT_5 "end 410\nwait 250 500\nlist\n" PAGE("9", "T1", ITEM("b", "u2", "8"))
     "told \ncache a@3\nlist continue=T1\n" PAGE("9", "", ITEM("c", "u3", "9"))
     "told +b@8 +c@9 -a@3 synced\nwatch 9\n"},
    {"a page that is too large is asked for in halves",
     "list limit=100\n> 1\nerror none\nlist limit=50\n" PAGE("9", "T1", ITEM("b", "u2", "8"))
     "list limit=50&continue=T1\n> 1\nlist limit=25&continue=T1\n"
     PAGE("9", "", ITEM("c", "u3", "9")) "told +b@8 +c@9 synced\nwatch 9\nopen\nend 410\n"
     "wait 250 500\nlist limit=25\n"},
    {"an object that is too large alone",
     "list\n> 1\nlist limit=50\n> 1\nlist limit=25\n> 1\nlist limit=12\n> 1\nlist limit=6\n> 1\n"
     "list limit=3\n> 1\nlist limit=1\n> 1\n"
     "error the answer is too large\nwait 250 500\nlist limit=1\n"},
    {"410 on a continue token", "list\n" PAGE("9", "T1", ITEM("b", "u2", "8"))
     "list continue=T1\n> 410 {}\nwait 250 500\nlist\n" PAGE("12", "", ITEM("c", "u3", "9"))
     "told +c@9 synced\nwatch 12\n"},
    {"410 inside a 200", SYNCED_AT_5 ERROR(410, "Expired") "error the server ended the watch: 410\n"
     "wait 250 500\nlist\n" PAGE("9", "", "") "told -a@3 synced\nerror none\nwatch 9\n"},
    {"410 by its reason alone", SYNCED_AT_5 ERROR(500, "Gone") "wait 250 500\nlist\n"},
    {"another error event: the same version again",
     SYNCED_AT_5 BOOKMARK("6") ERROR(500, "InternalError") "wait 250 500\nwatch 6\n"},
    {"an error event that says when to come back",
     SYNCED_AT_5 BOOKMARK("6")
     "bad {\"type\":\"ERROR\",\"object\":{\"code\":429,\"details\":{\"retryAfterSeconds\":20}}}\n"
     "error not a Status object\nwait 20000 25000\nwatch 6\n"},
    {"always 410: no hot loop",
     SYNCED_AT_5 ERROR(410, "Expired") "wait 250 500\nlist\n" PAGE("6", "", "") "watch 6\nopen\n"
     ERROR(410, "Expired") "wait 500 1000\nlist\n" PAGE("7", "", "") "watch 7\nopen\n"
     ERROR(410, "Expired") "wait 1000 2000\nlist\n"},
    {"bookmarks move the version", SYNCED_AT_5 BOOKMARK("70") "told \nend 200\nwait 50 100\n"
                                   "watch 70\n"},
    {"one empty watch is tried again, two make a list",
     SYNCED_AT_5 "end 200\nwait 250 500\nwatch 5\nopen\nend 200\nwait 500 1000\nlist\n"},
    {"an empty watch that lasted is normal",
     SYNCED_AT_5 "sleep 5000\nend 200\nwait 50 100\nwatch 5\nopen\nsleep 5000\nend 200\n"
     "wait 50 100\nwatch 5\nopen\nsleep 1000\nend 200\nwait 50 100\nwatch 5\nopen\nsleep 999\n"
     "end 200\nwait 250 500\n"},
    {"silence is no failure, and silence again makes a list",
     SYNCED_AT_5 "wait 90000 90000\nabandon\ntold silent pods\nerror none\nwatch 5\nerror none\nopen\n"
     "wait 90000 90000\nabandon\ntold silent pods\nerror none\nlist\n" PAGE("2", "", ITEM("a", "u1", "3"))
     "told synced\nerror none\nwatch 2\n"},
    {"a server that has gone fails the request after the silence", SYNCED_AT_5 "wait 90000 90000\nabandon\nwatch 5\n"
     "end 0\nerror cannot reach the API server\nwait 250 500\nwatch 5\nopen\nerror none\n"},
    {"silence after a failure does not hide it", SYNCED_AT_5 "end -1\nerror connection lost\nwait 250 500\nwatch 5\n"
     "wait 90000 90000\nabandon\nerror connection lost\nwatch 5\nopen\nerror none\n"},
    {"any byte breaks the silence",
     SYNCED_AT_5 "sleep 89000\n" BOOKMARK("6") "wait 90000 90000\nabandon\nwatch 6\nopen\nsleep 1000\n"
     BOOKMARK("7") "wait 90000 90000\nabandon\nwatch 7\n"},
    {"a fresh list after half an hour or more",
     SYNCED_AT_5 "sleep 3600000\n" BOOKMARK("6") "stop\nlist\n" PAGE("9", "", ITEM("a", "u1", "3"))
     "told synced\nwatch 9\nopen\nwait 90000 90000\nabandon\ntold silent pods\nwatch 9\n"},
    {"time for a fresh list, and silence: one request less", SYNCED_AT_5
     "sleep 3600000\nabandon\nlist\n"},
    {"no server at first", "list\n> 0\nerror cannot reach the API server\nwait 250 500\nlist\n> 0\n"
                           "wait 500 1000\nlist\n> 0\nwait 1000 2000\nlist\n" PAGE("1", "", "")
                           "error none\nwatch 1\n"},
    {"a server that is busy says when", "after 2\nlist\n> 429 x\nwait 2000 2500\nlist\n"},
    {"... but not at once", "after 0\nlist\n> 429 x\nwait 250 500\nlist\n"},
    {"... nor in an hour", "after 3600\nlist\n> 429 x\nwait 300000 375000\nlist\n"},
    {"a version from the future", "list\n> 504 {\"kind\":\"Status\",\"message\":\"Too large "
                                  "resource version\"}\nerror Too large\nwait 250 500\nlist\n"},
    {"the definition is missing", "list\n> 404 404 page not found\nwait 250 500\nlist\n"},
    {"the server goes away", SYNCED_AT_5 "end -1\nerror connection lost\nwait 250 500\nwatch 5\n"
     "end 0\nerror cannot reach\nwait 500 1000\nwatch 5\nopen\nerror none\n" BOOKMARK("6")
     "end -1\nwait 250 500\nwatch 6\n"},
    {"a watch that lasted begins anew to count pauses", SYNCED_AT_5 "end -1\nwait 250 500\nwatch 5\nopen\n"
     "sleep 10000\nend -1\nwait 250 500\nwatch 5\nopen\nsleep 9999\nend -1\nwait 500 1000\n"},
    {"many failures make a list", SYNCED_AT_5 "end -1\nwait 250 500\nwatch 5\nend -1\n"
     "wait 500 1000\nwatch 5\nend 500\nwait 1000 2000\nwatch 5\nend 503\nwait 2000 4000\n"
     "watch 5\nend 0\nwait 4000 8000\nlist\n"},
    {"410 as an HTTP code", SYNCED_AT_5 "end 410\nwait 250 500\nlist\n"},
    {"half a line, then the end", SYNCED_AT_5 HALF("MODIFIED", ITEM("a", "u1", "7"))
     "end -1\nwait 250 500\nwatch 5\nopen\n"
     EV("MODIFIED", ITEM("a", "u1", "9")) "told ~a@9\n"},
    {"half a line, then silence", SYNCED_AT_5 HALF("MODIFIED", ITEM("a", "u1", "7"))
     "wait 90000 90000\nabandon\nwatch 5\nopen\n"
     EV("MODIFIED", ITEM("a", "u1", "9")) "told silent pods ~a@9\n"},
    {"lines that are no events", SYNCED_AT_5 "bad <html>\nerror watch pods in 'n': a watch line\n"
     "wait 250 500\nwatch 5\nopen\nbad {\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}\n"
     "error an event without resourceVersion\nwait 500 1000\nwatch 5\n"},
    {"a list that is no list", "list\n> 200 <html>\nerror not JSON\nwait 250 500\nlist\n"
     "> 200 {\"items\":[]}\nerror the answer is not a list\nwait 500 1000\nlist\n"
     "> 200 {\"metadata\":{\"resourceVersion\":\"1\"},\"items\":{}}\nwait 1000 2000\nlist\n"},
    {"the same name, another object", SYNCED_AT_5 EV("ADDED", ITEM("a", "u9", "6"))
     "told -a@3 +a@6\n" EV("DELETED", ITEM("a", "u1", "7")) "told \ncache a@6\n"},
    {"... seen by a list only", SYNCED_AT_5 "end 410\nwait 250 500\nlist\n"
     PAGE("9", "", ITEM("a", "u9", "8")) "told -a@3 +a@8 synced\n"},
    {"some first, then all",
     "knows nothing\nfirst\n" PAGE("5", "", ITEM("b", "u2", "4"))
     "told +b@4 synced\nknows first\nlist\n" PAGE("6", "", ITEM("a", "u1", "3") "," ITEM("b", "u2", "4"))
     "told +a@3 synced\nknows all\ncache a@3 b@4\nwatch 6\nopen\nend 410\nwait 250 500\nlist\n"},
    {"what the first list said is old when all have come", "first\n"
     PAGE("5", "", ITEM("a", "u1", "3") "," ITEM("b", "u2", "4")) "told +a@3 +b@4 synced\nlist\n"
     PAGE("9", "", ITEM("a", "u1", "7") "," ITEM("c", "u3", "8")) "told ~a@7 +c@8 -b@4 synced\n"},
    {"pages of the first list", "first\n" PAGE("5", "T1", ITEM("a", "u1", "3")) "told \nknows nothing\n"
     "first continue=T1\n" PAGE("5", "", ITEM("b", "u2", "4")) "told +a@3 +b@4 synced\nknows first\nlist\n"},
    {"a server that does not know the field", "first\n> 400 {\"kind\":\"Status\",\"message\":\"field label "
     "not supported\"}\nerror none\nknows nothing\nlist\n" PAGE("5", "", "") "told synced\nknows all\nwatch 5\n"},
    {"a first list that fails is left out", "first\n> 500 x\nerror HTTP 500\nknows nothing\nwait 250 500\n"
     "list\n> 0\nwait 500 1000\nlist\n" PAGE("5", "", "") "told synced\nwatch 5\n"},
    {"half a first list is none", "first\n" PAGE("9", "T1", ITEM("a", "u1", "8")) "first continue=T1\n> 410 {}\n"
     "wait 250 500\nlist\n" PAGE("12", "", ITEM("b", "u2", "9")) "told +b@9 synced\n"},
    {"a list tells only what is new", SYNCED_AT_5 "end 410\nwait 250 500\nlist\n"
     PAGE("9", "", ITEM("a", "u1", "3") "," ITEM("b", "u2", "4")) "told +b@4 synced\n"},
    {"objects without name are nobody's", SYNCED_AT_5
     EV("ADDED", "{\"metadata\":{\"resourceVersion\":\"6\"}}") "told \nend 200\nwait 50 100\n"
     "watch 6\n"},
};
/* clang-format on */

TEST(tells_its_stories)
{
    for (size_t i = 0; i < N_ROWS(stories); i++) {
        struct story s = {
            .name = stories[i].name, .text = stories[i].text, .now_ns = S_NS, .retry_after_s = -1};
        const bool has_first = strstr(s.text, "first\n") != NULL;
        s.reflector = kube_reflector_new(
            &(struct kube_reflector_params){.resource = &kube_pods,
                                            .ns = "n",
                                            .label_selector = "x=y",
                                            .first_field_selector = has_first ? FIRST : NULL,
                                            .on_change = on_change,
                                            .on_synced = on_synced,
                                            .on_silence = on_silence,
                                            .ctx = &s,
                                            .seed = 42});
        for (const char *at = s.text; *at != '\0';) {
            const size_t len = strcspn(at, "\n");
            _cleanup_(freep) char *step = xstrndup(at, len);
            char *space = strchr(step, ' ');
            if (space != NULL) {
                *space = '\0';
            }
            s.line++;
            play(&s, step, space == NULL ? "" : space + 1);
            at += len + 1;
        }
        kube_reflector_free(s.reflector);
        buf_done(&s.told);
    }
}

/* A list and a watch ask for the form that can be read; the answer may be of either. */
static void count(void *ctx, enum kube_change change, const struct kube_object *object)
{
    (void)change;
    (void)object;
    ++*(unsigned *)ctx;
}

/* Answers the next list with `n` objects; *now_ns moves to the time when it is due. */
static void answer_with(struct kube_reflector *r, int64_t *now_ns, unsigned n)
{
    struct kube_request req;
    int64_t deadline_ns;
    while (kube_reflector_next(r, *now_ns, &req, &deadline_ns) != KUBE_REFLECTOR_LIST) {
        assert_true(deadline_ns < INT64_MAX);
        *now_ns = deadline_ns;
    }
    kube_request_done(&req);
    _cleanup_(buf_done) struct buf body = BUF_INIT;
    buf_puts(&body, "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[");
    for (unsigned i = 0; i < n; i++) {
        buf_printf(&body, "%s{\"metadata\":{\"name\":\"p%u\",\"uid\":\"u%u\"}}", i == 0 ? "" : ",",
                   i, i);
    }
    buf_puts(&body, "]}");
    const struct kube_response res = {.http_code = 200,
                                      .content_type = "",
                                      .body = buf_cstr(&body),
                                      .body_len = body.len,
                                      .retry_after_s = -1};
    kube_reflector_list_done(r, *now_ns, &res);
}

/* Thousands of objects come, or are gone, in one list: not one turn of the loop. */
TEST(tells_a_list_in_slices)
{
    unsigned n_told = 0;
    struct kube_reflector *r = kube_reflector_new(&(struct kube_reflector_params){
        .resource = &kube_pods, .ns = "n", .on_change = count, .ctx = &n_told});
    int64_t now_ns = 1, deadline_ns;
    for (unsigned round = 0; round < 2; round++) {
        struct kube_request req;
        answer_with(r, &now_ns, round == 0 ? 150 : 0);
        assert_int_equal(n_told, 150 * round + 64);
        assert_int_equal(kube_reflector_next(r, now_ns, &req, &deadline_ns), KUBE_REFLECTOR_WAIT);
        assert_true(deadline_ns > now_ns); /* what else is due comes first */
        assert_int_equal(n_told, 150 * round + 64);
        now_ns = deadline_ns;
        assert_int_equal(kube_reflector_next(r, now_ns, &req, &deadline_ns), KUBE_REFLECTOR_WAIT);
        assert_int_equal(n_told, 150 * round + 128);
        now_ns = deadline_ns;
        assert_int_equal(kube_reflector_is_synced(r), round == 1);
        assert_int_equal(kube_reflector_next(r, now_ns, &req, &deadline_ns), KUBE_REFLECTOR_WATCH);
        kube_request_done(&req);
        assert_int_equal(n_told, 150 * (round + 1));
        assert_true(kube_reflector_is_synced(r));
        const struct kube_response gone = {
            .http_code = 410, .content_type = "", .body = "", .retry_after_s = -1};
        kube_reflector_watch_end(r, now_ns, &gone);
    }
    kube_reflector_free(r);
}

static void *decode_kind(json_t *object)
{
    return xstrdup(json_string_value(json_object_get(object, "kind")));
}

TEST(keeps_what_its_owner_decodes)
{
    _cleanup_(kube_cache_done) struct kube_cache c;
    kube_cache_init(&c, &(struct kube_cache_params){.decode = decode_kind});
    json_t *object = json_loads("{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}", 0, NULL);
    assert_true(kube_cache_put(&c, object));
    json_decref(object);
    assert_string_equal(kube_cache_get(&c, "a")->facts, "Pod");
    assert_null(kube_cache_get(&c, "b"));
}

/* Whatever users write into it. */
TEST(keeps_the_whole_object_for_who_decodes_nothing)
{
    static const char kept[] =
        "{\"metadata\":{\"name\":\"a\"},\"spec\":[null,true,false,-9223372036854775808,0.5,-1e300,"
        "9223372036854775807,\"\",[[[{}]]],{\"\":{\"b\":\"b\"}},\"nul \\u0000 inside\","
        "\"\\u00e9\\ud83d\\ude00 \\\"\\n\"]}";
    _cleanup_(kube_cache_done) struct kube_cache c;
    kube_cache_init(&c, &(struct kube_cache_params){0});
    json_t *expected = json_loads(kept, JSON_ALLOW_NUL, NULL), *object = json_deep_copy(expected);
    assert_non_null(expected);
    (void)json_object_set_new(json_object_get(object, "metadata"), "managedFields", json_array());
    assert_true(kube_cache_put(&c, object));
    json_decref(object);
    _cleanup_(json_decrefp) json_t *found = kube_json_kept(kube_cache_get(&c, "a")->facts);
    assert_true(json_equal(found, expected));
    json_decref(expected);
}
