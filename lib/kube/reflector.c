/* List and watch, see reflector.h. */
#include "kube/reflector.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/json.h"

#define S_NS INT64_C(1000000000)
#define TELL_MOST 64          /* objects of a list in a turn of the loop: a new run takes .1 ms */
#define TELL_NS (S_NS / 1000) /* then what is due comes first */
#define BACKOFF_MIN_NS (S_NS / 2)
#define BACKOFF_MAX_NS (30 * S_NS)
#define REWATCH_NS                                                                                 \
    (S_NS / 20) /* after a normal end, up to doubled by jitter: no herd after a restart */
#define RELIST_NS                                                                                  \
    (1800 * S_NS)           /* a fresh list, in case anything was missed; up to doubled by jitter */
#define WATCH_TIMEOUT_S 300 /* up to doubled by jitter */
#define SHORT_WATCH_NS S_NS
#define GOOD_WATCH_NS (10 * S_NS) /* a watch that lasted so long resets the back-off */
#define BAD_IN_A_ROW 2            /* empty or silent watches before a list */
#define FAILURES_MAX 5            /* of watches in a row before a list */

enum state { LIST_DUE, LISTING, TELLING, WATCH_DUE, WATCHING };

struct kube_reflector {
    struct kube_reflector_params params;
    char *ns, *label_selector, *field_selector; /* copies, in params too */
    /* NULL: its list has arrived, or none was asked for */
    char *first_field_selector;
    enum state state;
    int64_t due_ns; /* of LIST_DUE, TELLING and WATCH_DUE */
    struct kube_cache cache;
    struct kube_watch_parser parser;
    struct kube_backoff backoff;
    uint64_t jitter;

    unsigned limit;         /* objects of a page */
    char *continue_token;   /* of the next page; NULL: the first */
    char *resource_version; /* of the latest list or event */
    bool has_first, is_synced;

    int64_t watch_began_ns, heard_ns, relist_ns;
    bool has_event;                                         /* the current watch delivered one */
    unsigned empty_watches, silent_watches, watch_failures; /* in a row */
    bool is_expired;                                        /* an ERROR event said 410 */
    int64_t retry_after_s;                                  /* from an ERROR event, -1: not said */

    struct err error;
};

static int on_event(void *ctx, enum kube_event_type type, json_t *object, struct err *err);

struct kube_reflector *kube_reflector_new(const struct kube_reflector_params *params)
{
    struct kube_reflector *r = xnew(struct kube_reflector);
    r->params = *params;
    r->params.ns = r->ns = xstrdup(params->ns);
    r->params.label_selector = r->label_selector = xstrdup_or_null(params->label_selector);
    r->params.field_selector = r->field_selector = xstrdup_or_null(params->field_selector);
    r->first_field_selector = xstrdup_or_null(params->first_field_selector);
    r->params.first_field_selector = NULL; /* the copy counts */
    assert(r->field_selector == NULL || r->first_field_selector == NULL);
    r->due_ns = INT64_MIN;
    r->limit = KUBE_LIST_LIMIT;
    r->jitter = params->seed ^ 0x5bf03635;
    r->retry_after_s = -1;
    kube_cache_init(&r->cache, &(struct kube_cache_params){.decode = params->decode,
                                                           .on_change = params->on_change,
                                                           .ctx = params->ctx});
    kube_watch_parser_init(&r->parser, params->line_max == 0 ? KUBE_LINE_MAX : params->line_max,
                           on_event, r);
    kube_backoff_init(&r->backoff, BACKOFF_MIN_NS, BACKOFF_MAX_NS, params->seed);
    return r;
}

void kube_reflector_free(struct kube_reflector *r)
{
    if (r == NULL) {
        return;
    }
    kube_cache_done(&r->cache);
    kube_watch_parser_done(&r->parser);
    free(r->continue_token);
    free(r->resource_version);
    free(r->ns);
    free(r->label_selector);
    free(r->field_selector);
    free(r->first_field_selector);
    free(r);
}

static void become(struct kube_reflector *r, enum state state, int64_t due_ns)
{
    r->state = state;
    r->due_ns = due_ns;
}

static struct kube_list_options options_of(const struct kube_reflector *r)
{
    return (struct kube_list_options){.label_selector = r->label_selector,
                                      .field_selector = r->first_field_selector != NULL
                                                            ? r->first_field_selector
                                                            : r->field_selector,
                                      .limit = r->limit,
                                      .continue_token = r->continue_token};
}

/* When we end the watch ourselves. */
static int64_t watch_deadline(const struct kube_reflector *r)
{
    const int64_t silence_ns = r->heard_ns + KUBE_SILENCE_NS;
    return silence_ns < r->relist_ns ? silence_ns : r->relist_ns;
}

static enum kube_reflector_need end_watch_ourselves(struct kube_reflector *r, int64_t now_ns)
{
    if (now_ns < r->heard_ns + KUBE_SILENCE_NS) {
        become(r, LIST_DUE, now_ns);
        return KUBE_REFLECTOR_STOP;
    }
    if (r->params.on_silence != NULL) {
        r->params.on_silence(r->params.ctx, r->params.resource);
    }
    r->silent_watches++;
    const bool is_list_due = r->silent_watches >= BAD_IN_A_ROW || now_ns >= r->relist_ns;
    become(r, is_list_due ? LIST_DUE : WATCH_DUE, now_ns);
    return KUBE_REFLECTOR_ABANDON;
}

static void begin_watch(struct kube_reflector *r, int64_t now_ns, struct kube_request *ret)
{
    struct kube_list_options options = options_of(r);
    options.limit = 0;
    const int64_t timeout_ns = kube_jitter(&r->jitter, WATCH_TIMEOUT_S * S_NS, 1);
    kube_request_watch(r->params.resource, r->ns, &options, r->resource_version,
                       (uint32_t)(timeout_ns / S_NS), ret);
    kube_watch_parser_reset(&r->parser);
    r->watch_began_ns = r->heard_ns = now_ns;
    r->has_event = r->is_expired = false;
    r->retry_after_s = -1;
    become(r, WATCHING, 0);
}

/* From now on all objects are listed. */
static void drop_first_selector(struct kube_reflector *r)
{
    free(r->first_field_selector);
    r->first_field_selector = NULL;
}

/* Of the first list: the cache was empty, nothing is removed. */
static void tell_list(struct kube_reflector *r, int64_t now_ns)
{
    if (!kube_cache_end_list(&r->cache, TELL_MOST)) {
        become(r, TELLING, now_ns + TELL_NS);
        return;
    }
    r->error = (struct err){0};
    r->has_first = true;
    if (r->first_field_selector != NULL) {
        drop_first_selector(r);
        become(r, LIST_DUE, now_ns);
    } else {
        r->is_synced = true;
        r->empty_watches = r->silent_watches = r->watch_failures = 0;
        r->relist_ns = now_ns + kube_jitter(&r->jitter, RELIST_NS, 1);
        become(r, WATCH_DUE, now_ns);
    }
    if (r->params.on_synced != NULL) {
        r->params.on_synced(r->params.ctx);
    }
}

enum kube_reflector_need kube_reflector_next(struct kube_reflector *r, int64_t now_ns,
                                             struct kube_request *ret_request,
                                             int64_t *ret_deadline_ns)
{
    *ret_deadline_ns = INT64_MAX;
    if (r->state == TELLING && now_ns >= r->due_ns) {
        tell_list(r, now_ns);
    }
    switch (r->state) {
    case TELLING:
        *ret_deadline_ns = r->due_ns;
        return KUBE_REFLECTOR_WAIT;
    case LIST_DUE:
    case WATCH_DUE:
        if (now_ns < r->due_ns) {
            *ret_deadline_ns = r->due_ns;
            return KUBE_REFLECTOR_WAIT;
        }
        if (r->state == WATCH_DUE) {
            begin_watch(r, now_ns, ret_request);
            return KUBE_REFLECTOR_WATCH;
        }
        const struct kube_list_options options = options_of(r);
        kube_request_list(r->params.resource, r->ns, &options, ret_request);
        become(r, LISTING, 0);
        return KUBE_REFLECTOR_LIST;
    case WATCHING:
        if (now_ns >= watch_deadline(r)) {
            return end_watch_ourselves(r, now_ns);
        }
        *ret_deadline_ns = watch_deadline(r);
        return KUBE_REFLECTOR_WAIT;
    case LISTING:
        break;
    }
    return KUBE_REFLECTOR_WAIT;
}

static int64_t backoff_until(struct kube_reflector *r, int64_t now_ns, int64_t retry_after_s)
{
    const int64_t wait_ns = kube_backoff_next(&r->backoff);
    if (retry_after_s <= 0) {
        return now_ns + wait_ns;
    }
    const int64_t asked_ns = (retry_after_s < 300 ? retry_after_s : 300) * S_NS;
    return now_ns + kube_jitter(&r->jitter, asked_ns, 0.25);
}

/* --- lists --- */

static void take_item(void *ctx, json_t *item)
{
    struct kube_reflector *r = ctx;
    kube_cache_add_listed(&r->cache, item);
}

/* One page: its items join the others. */
static int take_page(struct kube_reflector *r, const struct kube_response *res, struct err *err)
{
    json_t *list;
    if (r->continue_token == NULL) {
        kube_cache_begin_list(&r->cache);
    }
    const int code = kube_json_load_list(res->body, res->body_len, take_item, r, &list, err);
    if (code < 0) {
        return err_wrap(err, code, "list %s in '%s'", r->params.resource->plural, r->ns);
    }
    const json_t *items = json_object_get(list, "items");
    const char *version = kube_json_metadata(list, "resourceVersion");
    if (version[0] == '\0' || !(json_is_array(items) || json_is_null(items))) {
        json_decref(list);
        return err_set(err, EPROTO, "list %s in '%s': the answer is not a list",
                       r->params.resource->plural, r->ns);
    }
    free(r->resource_version);
    r->resource_version = xstrdup(version);
    const char *token = kube_json_metadata(list, "continue");
    free(r->continue_token);
    r->continue_token = token[0] == '\0' ? NULL : xstrdup(token);
    json_decref(list);
    return 0;
}

static void fail_list(struct kube_reflector *r, int64_t now_ns, int code,
                      const struct kube_response *res)
{
    /* A 410 for a continue token that is too old, or a page that cannot be read: list from the
     * start. The back-off applies to the first such failure, too; otherwise a server that always
     * answers so would be asked in a busy loop. */
    free(r->continue_token);
    r->continue_token = NULL;
    if (code == -EINVAL && r->first_field_selector != NULL) {
        /* A server, or a definition of the kind, that does not know the field: no failure. */
        r->error = (struct err){0};
        become(r, LIST_DUE, now_ns);
    } else {
        become(r, LIST_DUE, backoff_until(r, now_ns, res->retry_after_s));
    }
    drop_first_selector(r);
}

void kube_reflector_list_done(struct kube_reflector *r, int64_t now_ns,
                              const struct kube_response *res)
{
    assert(r->state == LISTING);
    struct kube_request req;
    const struct kube_list_options options = options_of(r);
    kube_request_list(r->params.resource, r->ns, &options, &req);
    int code = kube_check(&req, res, &r->error);
    kube_request_done(&req);
    if (code == 0) {
        code = take_page(r, res, &r->error);
    }
    if (code == -E2BIG && r->limit > 1) {
        r->limit /= 2; /* a continue token goes with any limit */
        r->error = (struct err){0};
        become(r, LIST_DUE, now_ns);
    } else if (code < 0) {
        fail_list(r, now_ns, code, res);
    } else if (r->continue_token != NULL) {
        become(r, LIST_DUE, now_ns);
    } else {
        tell_list(r, now_ns);
    }
}

/* --- watches --- */

static int on_error_event(struct kube_reflector *r, const json_t *object, struct err *err)
{
    struct kube_status status;
    const int code = kube_status_read_object(object, &status);
    r->is_expired =
        code == 410 || strcmp(status.reason, "Expired") == 0 || strcmp(status.reason, "Gone") == 0;
    const json_t *after = json_object_get(json_object_get(object, "details"), "retryAfterSeconds");
    r->retry_after_s = json_is_integer(after) ? json_integer_value(after) : -1;
    return err_set(err, r->is_expired ? ESTALE : EIO, "the server ended the watch: %d %s: %s", code,
                   status.reason, status.message);
}

static int on_event(void *ctx, enum kube_event_type type, json_t *object, struct err *err)
{
    struct kube_reflector *r = ctx;
    if (type == KUBE_ERROR) {
        return on_error_event(r, object, err);
    }
    const char *version = kube_json_metadata(object, "resourceVersion");
    if (version[0] == '\0') {
        return err_set(err, EPROTO, "an event without resourceVersion");
    }
    free(r->resource_version);
    r->resource_version = xstrdup(version);
    r->has_event = true;
    r->empty_watches = r->watch_failures = 0;
    kube_backoff_reset(&r->backoff);
    if (type == KUBE_DELETED) {
        kube_cache_remove(&r->cache, object);
    } else if (type != KUBE_BOOKMARK) {
        kube_cache_put(&r->cache, object);
    }
    return 0;
}

/* The watch has failed; the reason is in r->error. */
static void fail_watch(struct kube_reflector *r, int64_t now_ns, bool is_expired,
                       int64_t retry_after_s)
{
    if (now_ns - r->watch_began_ns >= GOOD_WATCH_NS) {
        kube_backoff_reset(&r->backoff);
    }
    r->watch_failures++;
    const bool is_list_due = is_expired || r->watch_failures >= FAILURES_MAX;
    become(r, is_list_due ? LIST_DUE : WATCH_DUE, backoff_until(r, now_ns, retry_after_s));
}

void kube_reflector_watch_opened(struct kube_reflector *r, int64_t now_ns)
{
    assert(r->state == WATCHING);
    r->heard_ns = now_ns;
    r->error = (struct err){0};
}

int kube_reflector_watch_data(struct kube_reflector *r, int64_t now_ns, const char *data,
                              size_t len)
{
    assert(r->state == WATCHING);
    r->heard_ns = now_ns;
    r->silent_watches = 0;
    const int code = kube_watch_parser_feed(&r->parser, data, len, &r->error);
    if (code < 0) {
        (void)err_wrap(&r->error, code, "watch %s in '%s'", r->params.resource->plural, r->ns);
        kube_watch_parser_reset(&r->parser);
        fail_watch(r, now_ns, r->is_expired, r->retry_after_s);
        return code;
    }
    r->error = (struct err){0};
    return 0;
}

static void end_watch(struct kube_reflector *r, int64_t now_ns)
{
    if (r->has_event || now_ns - r->watch_began_ns >= SHORT_WATCH_NS) {
        r->empty_watches = 0;
        become(r, WATCH_DUE, now_ns + kube_jitter(&r->jitter, REWATCH_NS, 1));
        return;
    }
    /* Some kinds end a watch from a version that is too old like this, without a 410. */
    r->empty_watches++;
    become(r, r->empty_watches >= BAD_IN_A_ROW ? LIST_DUE : WATCH_DUE,
           backoff_until(r, now_ns, -1));
}

void kube_reflector_watch_end(struct kube_reflector *r, int64_t now_ns,
                              const struct kube_response *res)
{
    assert(r->state == WATCHING);
    struct kube_request req;
    const struct kube_list_options options = options_of(r);
    kube_request_watch(r->params.resource, r->ns, &options, r->resource_version, 0, &req);
    struct err error = {0};
    const int code = kube_check(&req, res, &error);
    kube_request_done(&req);
    if (code == 0) {
        end_watch(r, now_ns);
    } else {
        r->error = error;
        fail_watch(r, now_ns, res->http_code == 410, res->retry_after_s);
    }
}

const struct kube_cache *kube_reflector_cache(const struct kube_reflector *r)
{
    return &r->cache;
}

bool kube_reflector_is_synced(const struct kube_reflector *r)
{
    return r->is_synced;
}

bool kube_reflector_has_first(const struct kube_reflector *r)
{
    return r->has_first;
}

const struct err *kube_reflector_error(const struct kube_reflector *r)
{
    return r->error.code == 0 ? NULL : &r->error;
}

/* ---- the lines of a watch ---- */

void kube_watch_parser_init(struct kube_watch_parser *p, size_t line_max, kube_event_fn each,
                            void *ctx)
{
    *p = (struct kube_watch_parser){.line_max = line_max, .on_event = each, .ctx = ctx};
    buf_init(&p->line, line_max);
}

void kube_watch_parser_done(struct kube_watch_parser *p)
{
    buf_done(&p->line);
}

void kube_watch_parser_reset(struct kube_watch_parser *p)
{
    buf_done(&p->line); /* frees the memory of a large line */
}

static int type_of(const char *text)
{
    static const char *const names[] = {
        [KUBE_ADDED] = "ADDED",       [KUBE_MODIFIED] = "MODIFIED", [KUBE_DELETED] = "DELETED",
        [KUBE_BOOKMARK] = "BOOKMARK", [KUBE_ERROR] = "ERROR",
    };
    return text == NULL ? -EINVAL : str_index(text, names, COUNT_OF(names));
}

static int take_event(struct kube_watch_parser *p, const json_t *event, size_t len, struct err *err)
{
    json_t *object = json_object_get(event, "object");
    const int type = type_of(json_string_value(json_object_get(event, "type")));
    return type < 0 || !json_is_object(object)
               ? err_set(err, EPROTO, "a watch line of %zu bytes is not an event", len)
               : p->on_event(p->ctx, (enum kube_event_type)type, object, err);
}

static int take_line(struct kube_watch_parser *p, const char *line, size_t len, struct err *err)
{
    if (len > p->line_max) {
        return err_set(err, E2BIG, "a watch line of %zu bytes exceeds %zu", len, p->line_max);
    }
    if (len > 0 && line[len - 1] == '\r') {
        len--;
    }
    if (len == 0) {
        return 0;
    }
    json_auto_t *event = NULL;
    const int r = kube_json_load_lean(line, len, &event, err);
    if (r < 0) {
        return err_wrap(err, r, "a watch line of %zu bytes", len);
    }
    return take_event(p, event, len, err);
}

static int keep_rest(struct kube_watch_parser *p, const char *data, size_t len, struct err *err)
{
    if (buf_try_append(&p->line, data, len) < 0) {
        return err_set(err, E2BIG, "a watch line exceeds %zu bytes", p->line_max);
    }
    return 0;
}

int kube_watch_parser_feed(struct kube_watch_parser *p, const char *data, size_t len,
                           struct err *err)
{
    while (len > 0) {
        const char *end = memchr(data, '\n', len);
        const size_t n = end == NULL ? len : (size_t)(end - data);
        int r;
        if (end == NULL) {
            return keep_rest(p, data, n, err);
        }
        if (p->line.len == 0) {
            r = take_line(p, data, n, err);
        } else {
            r = keep_rest(p, data, n, err);
            if (r == 0) {
                r = take_line(p, p->line.data, p->line.len, err);
                buf_clear(&p->line);
            }
        }
        if (r < 0) {
            return r;
        }
        data += n + 1;
        len -= n + 1;
    }
    return 0;
}
