/* Watch lines, see watch.h. */
#include "kube/watch.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/json.h"

void kube_watch_parser_init(struct kube_watch_parser *p, size_t line_max, kube_event_fn on_event,
                            void *ctx)
{
    *p = (struct kube_watch_parser){.line_max = line_max, .on_event = on_event, .ctx = ctx};
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
