/* See fake_kube.h. */
#include "tests/test.h"

#include "fake_kube.h"

struct fake_kube fake_kube;
struct kube_follow {
    int unused;
};
static struct kube_follow the_follow;

void fake_kube_reset(void)
{
    for (size_t i = 0; i < fake_kube.n; i++) {
        kube_request_done(&fake_kube.calls[i].req);
    }
    fake_kube = (struct fake_kube){0};
}

int kube_client_new(const struct kube_client_params *params, struct kube_client **ret,
                    struct err *err)
{
    (void)params, (void)err;
    *ret = NULL; /* kube_call() looks at none */
    return 0;
}

void kube_client_free(struct kube_client *c)
{
    (void)c;
}

struct kube_call *kube_call(struct kube_client *c, struct kube_request *req,
                            const struct kube_call_options *options, kube_done_fn on_done,
                            void *ctx)
{
    (void)c;
    assert_true(fake_kube.n < FAKE_CALLS_MAX);
    struct kube_call *call = &fake_kube.calls[fake_kube.n++];
    *call = (struct kube_call){.req = *req, .on_done = on_done, .ctx = ctx, .is_open = true};
    if (options != NULL) {
        call->options = *options;
    }
    *req = (struct kube_request){0};
    return call;
}

void kube_call_cancel(struct kube_call *call)
{
    if (call != NULL) {
        assert_true(call->is_open); /* a finished call is forgotten by its owner */
        call->is_open = false;
    }
}

size_t fake_kube_n_open(void)
{
    size_t n = 0;
    for (size_t i = 0; i < fake_kube.n; i++) {
        n += fake_kube.calls[i].is_open;
    }
    return n;
}

struct kube_call *fake_kube_open(size_t index)
{
    for (size_t i = 0; i < fake_kube.n; i++) {
        if (fake_kube.calls[i].is_open && index-- == 0) {
            return &fake_kube.calls[i];
        }
    }
    return NULL;
}

void fake_kube_answer(struct kube_call *call, int r, const char *text)
{
    assert_non_null(call);
    assert_true(call->is_open);
    call->is_open = false;
    struct err err = {.code = -r};
    snprintf(err.msg, sizeof(err.msg), "%s", r < 0 ? text : "");
    const int failure = fake_kube.http_code != 0 ? fake_kube.http_code : 500;
    if (r == 0 && call->options.on_data != NULL) { /* in two pieces; the answer has no body then */
        const size_t half = strlen(text) / 2;
        call->options.on_data(call->ctx, text, half);
        call->options.on_data(call->ctx, text + half, strlen(text) - half);
        text = "";
    }
    const struct kube_response res = {.http_code = r < 0 ? failure : 200,
                                      .date_unix_ms =
                                          fake_kube.date_unix_ms != 0 ? fake_kube.date_unix_ms : -1,
                                      .content_type = "",
                                      .body = text,
                                      .body_len = strlen(text)};
    call->on_done(call->ctx, r, &res, &err);
}

struct kube_follow *kube_follow_new(struct kube_client *client,
                                    const struct kube_follow_params *params)
{
    (void)client;
    fake_kube.follow = *params;
    fake_kube.is_following = true;
    fake_kube.n_following++;
    return &the_follow;
}

void kube_follow_container_ended(struct kube_follow *f)
{
    (void)f;
    fake_kube.has_container_ended = true;
}

void kube_follow_free(struct kube_follow *f)
{
    (void)f;
    fake_kube.is_following = --fake_kube.n_following > 0;
}

int64_t kube_follow_line_ns(const struct kube_follow *f)
{
    (void)f;
    return fake_kube.line_ns;
}
