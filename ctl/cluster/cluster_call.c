/* Requests that a verb waits for, and what their errors mean. See cluster_internal.h. */
#include "ctl/cluster/cluster_internal.h"

#include "kube/json.h"

#define SECOND_NS INT64_C(1000000000)

const struct kube_call_options cluster_options = {
    .max_bytes = (size_t)512 * 1024 * 1024, /* the summaries of a large run */
    .timeout_ns = 30 * SECOND_NS,
    .max_tries = 3,
};

struct waiting {
    struct cluster_answer *answer;
    bool is_over;
};

static void on_done(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct waiting *w = ctx;
    struct kube_status status;
    kube_status_read(res->content_type, res->body, res->body_len, res->http_code, &status);
    w->answer->r = r;
    w->answer->http_code = res->http_code;
    w->answer->is_status = status.is_status;
    w->answer->date_unix_ms = res->date_unix_ms;
    w->answer->err = *err;
    buf_append(&w->answer->body, res->body, res->body_len);
    w->is_over = true;
}

void cluster_answer_done(struct cluster_answer *a)
{
    buf_done(&a->body);
}

int cluster_call(struct cluster *c, struct kube_client *client, struct kube_request *req,
                 struct cluster_answer *ret)
{
    *ret = (struct cluster_answer){0};
    struct waiting w = {.answer = ret};
    (void)kube_call(client, req, &cluster_options, on_done, &w);
    while (!w.is_over) {
        (void)uv_run(&c->loop, UV_RUN_ONCE); /* on_done is always called */
    }
    return ret->r;
}

int cluster_get(struct cluster *c, struct kube_request *req, json_t **ret, struct err *err)
{
    _cleanup_(cluster_answer_done) struct cluster_answer a = {0};
    int r = cluster_call(c, c->client, req, &a);
    if (r < 0) {
        *err = a.err;
        return r;
    }
    return kube_json_load(buf_cstr(&a.body), a.body.len, ret, err);
}

int cluster_get_object(struct cluster *c, const struct kube_resource *res, const char *name,
                       json_t **ret, struct err *err)
{
    struct kube_request req;
    kube_request_get(res, c->ns, name, &req);
    return cluster_get(c, &req, ret, err);
}

int cluster_get_list(struct cluster *c, const struct kube_resource *res, const char *ns,
                     json_t **ret, struct err *err)
{
    const struct kube_list_options options = {0};
    struct kube_request req;
    kube_request_list(res, ns, &options, &req);
    return cluster_get(c, &req, ret, err);
}

enum exit_code cluster_error(int r, const struct err *err)
{
    return cli_error(cluster_exit_code(r), NULL, "%s", err->msg);
}

enum exit_code cluster_exit_code(int r)
{
    switch (r) {
    case -ENOENT:
    case -ESHUTDOWN: /* its namespace is being deleted */
        return EXIT_NOT_FOUND;
    case -EACCES:
    case -EDQUOT:
        return EXIT_NOT_AUTHORISED;
    case -EINVAL:
    case -EEXIST:
    case -ESTALE:
        return EXIT_USAGE;
    default:
        return EXIT_UNREACHABLE;
    }
}
