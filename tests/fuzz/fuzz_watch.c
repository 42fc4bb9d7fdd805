/* Watch bytes into a reflector: whatever comes, and wherever it is cut, it ends in the same state,
 * and the cache keeps its order. The first byte says where to cut. */
#include "fuzz.h"

#include "base/buf.h"
#include "kube/reflector.h"

/* A reflector that has listed nothing and watches. */
static struct kube_reflector *watching(void)
{
    struct kube_reflector *r = kube_reflector_new(
        &(struct kube_reflector_params){.resource = &kube_pods, .ns = "n", .line_max = 4096});
    struct kube_request req;
    int64_t deadline_ns;
    must(kube_reflector_next(r, 1, &req, &deadline_ns) == KUBE_REFLECTOR_LIST, "no list");
    kube_request_done(&req);
    static const char list[] = "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}";
    const struct kube_response res = {.http_code = 200,
                                      .content_type = "",
                                      .body = list,
                                      .body_len = sizeof(list) - 1,
                                      .retry_after_s = -1};
    kube_reflector_list_done(r, 1, &res);
    must(kube_reflector_next(r, 1, &req, &deadline_ns) == KUBE_REFLECTOR_WATCH, "no watch");
    kube_request_done(&req);
    kube_reflector_watch_opened(r, 1);
    return r;
}

static void put_state(struct buf *out, const struct kube_reflector *r, int code)
{
    const struct kube_cache *cache = kube_reflector_cache(r);
    buf_printf(out, "%d %s\n", code,
               kube_reflector_error(r) == NULL ? "" : kube_reflector_error(r)->msg);
    for (size_t i = 0; i < cache->objects.len; i++) {
        const struct kube_object *o = cache->objects.items[i];
        const char *name = o->name;
        must(i == 0 || strcmp(cache->objects.items[i - 1]->name, name) < 0, "not in order");
        must(kube_cache_get(cache, name) == o, "not found");
        buf_printf(out, "%s %s %s\n", name, o->uid, o->resource_version);
    }
}

static void feed(const char *data, size_t size, size_t cut, struct buf *out)
{
    struct kube_reflector *r = watching();
    int code = kube_reflector_watch_data(r, 2, data, cut);
    if (code == 0) {
        code = kube_reflector_watch_data(r, 2, data + cut, size - cut);
    }
    must(code <= 0 && (code == 0) == (kube_reflector_error(r) == NULL), "an error without words");
    put_state(out, r, code);
    kube_reflector_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    _cleanup_(buf_done) struct buf whole = BUF_INIT, halves = BUF_INIT;
    const char *text = (const char *)data + 1;
    feed(text, size - 1, 0, &whole);
    feed(text, size - 1, (size_t)data[0] * (size - 1) / 255, &halves);
    /* Where a line is too long, how much of it had come is part of the text. */
    must(strcmp(buf_cstr(&whole), buf_cstr(&halves)) == 0 ||
             strstr(buf_cstr(&whole), "exceeds") != NULL,
         "the cut made a difference");
    return 0;
}
