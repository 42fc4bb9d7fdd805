/* See prometheus.h. */
#include "run/prometheus.h"

#include <errno.h>
#include <math.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "core/summary.h"
#include "kube/client.h"
#include "pod/replica_spec.h"

struct prometheus {
    struct kube_client *client;
    struct launcher *launcher;
    const char *ns;
    VEC(struct metric_batch *) batches;
};
struct query {
    struct metric_batch *batch;
    const char *name;
    double value; /* NaN: unknown, */
    char *why;    /* because of this; owned */
};
struct metric_batch { /* the queries about one attempt */
    struct prometheus *owner;
    struct attempt_id id;
    struct query queries[METRICS_ASKED_MAX];
    size_t n, n_open;
};

/* The value of a query is a number if it is a scalar, or a vector of one series. */
static void read_value(const json_t *data, struct query *q)
{
    const char *type = json_string_value(json_object_get(data, "resultType")) ?: "foreign answer";
    const json_t *result = json_object_get(data, "result");
    const bool is_vector = str_eq(type, "vector");
    const size_t n = json_array_size(result);
    const json_t *pair = is_vector ? json_object_get(json_array_get(result, 0), "value") : result;
    const char *text = json_string_value(json_array_get(pair, 1));
    if (is_vector && n != 1) {
        q->why = n == 0 ? xstrdup("no data in the measured steps")
                        : xasprintf("%zu series instead of one; add sum() or avg()", n);
    } else if (!(is_vector || str_eq(type, "scalar")) || text == NULL) {
        q->why = xasprintf("a %s instead of a number", type);
    } else if (parse_f64(text, &q->value) < 0) {
        q->why = xasprintf("its value is %s", text);
    }
}

static void on_answered(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)err; /* its words are about an API server */
    struct query *q = ctx;
    json_auto_t *answer = json_loadb(res->body, res->body_len, 0, NULL);
    const char *words = json_string_value(json_object_get(answer, "error"));
    if (words != NULL) {
        q->why = xasprintf("Prometheus says: %s", words);
    } else if (res->failure == KUBE_TIMED_OUT) {
        q->why = xasprintf("no answer within %d s", PROMETHEUS_WAIT_S);
    } else if (r < 0) {
        q->why = res->failure != KUBE_ANSWERED ? xasprintf("no answer: %s", res->failure_text ?: "")
                                               : xasprintf("HTTP %d", res->http_code);
    } else {
        read_value(json_object_get(answer, "data"), q);
    }
    struct launcher *launcher = q->batch->owner->launcher;
    if (--q->batch->n_open == 0 && launcher->on_change != NULL) {
        launcher->on_change(launcher->ctx);
    }
}

/* By POST: the names of many pods are too long for a URL. */
static void send_query(struct query *q, const char *text, int64_t at_unix_ms)
{
    struct buf body = BUF_INIT;
    buf_printf(&body, "time=%.3f&query=", (double)at_unix_ms / 1e3);
    buf_put_percent(&body, text, BUF_ALNUM);
    struct kube_request req = {.method = KUBE_POST,
                               .path = xstrdup("/api/v1/query"),
                               .content_type = "application/x-www-form-urlencoded",
                               .body_len = body.len,
                               .what = xstrdup("query Prometheus")};
    req.body = buf_take(&body);
    const struct kube_call_options once = {.timeout_ns = PROMETHEUS_WAIT_S * INT64_C(1000000000),
                                           .max_tries = 1};
    (void)kube_call(q->batch->owner->client, &req, &once, on_answered, q); /* the client ends it */
}

/* What $(NAME) stands for; a name without a value stays, and matches nothing. */
static void make_env(const struct prometheus *p, const struct attempt_output *output,
                     int64_t window_ms, struct texts *ret)
{
    _cleanup_(freep) char *window = xasprintf("%lldms", (long long)window_ms);
    _cleanup_(buf_done) struct buf nodes = BUF_INIT;
    vec_each (const struct replica_row, r, &output->row.replicas) {
        attempt_add_name(&nodes, r->environment.node);
    }
    const char *const values[][2] = {{"WINDOW", window},
                                     {"PODS", buf_cstr(&output->pods)},
                                     {"NODES", buf_cstr(&nodes)},
                                     {"NAMESPACE", p->ns == NULL ? "" : p->ns}};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        if (*values[i][1] != '\0') {
            expand_env_set(ret, values[i][0], values[i][1]);
        }
    }
}

static int start(struct prometheus *p, const struct spec *spec, const struct replica_row *row,
                 const struct attempt_output *output, struct buf *ret_unknown)
{
    struct texts env = {0};
    if (output->measured_to_unix_ms == 0 || !summary_is_usable(row->summary)) {
        buf_puts(ret_unknown, "the log does not say when the measured steps were");
        return 0;
    }
    make_env(p, output, row->summary->duration_ns / 1000000, &env);
    struct metric_batch *b = xnew(struct metric_batch);
    *vec_push(&p->batches) = b;
    b->owner = p;
    b->id = output->row.id;
    b->n = b->n_open = spec->metrics.len;
    for (size_t i = 0; i < b->n; i++) {
        _cleanup_(freep) char *text = expand(spec->metrics.items[i].query, &env);
        b->queries[i] = (struct query){b, spec->metrics.items[i].name, NAN, NULL};
        send_query(&b->queries[i], text, output->measured_to_unix_ms);
    }
    texts_done(&env);
    return -EAGAIN;
}

static void batch_free(struct metric_batch **b)
{
    for (size_t i = 0; i < (*b)->n; i++) {
        free((*b)->queries[i].why);
    }
    free(*b);
}

int prometheus_add(struct prometheus *p, const struct run_def *def, struct attempt_output *output,
                   struct buf *ret_unknown)
{
    const uint32_t *sizes = def->matrix.points[output->row.id.point].replicas;
    struct replica_row *row =
        vec_find(&output->row.replicas, it, role_leads(it->id.role, sizes) && it->summary != NULL);
    struct metric_batch **at =
        vec_find(&p->batches, it, attempt_id_eq(&(*it)->id, &output->row.id));
    if (row == NULL || at == NULL) {
        return row == NULL ? 0 : start(p, def->spec, row, output, ret_unknown);
    }
    if ((*at)->n_open > 0) {
        return -EAGAIN;
    }
    struct metrics metrics = {0};
    for (size_t i = 0; i < (*at)->n; i++) {
        const struct query *q = &(*at)->queries[i];
        metrics_set(&metrics, q->name, q->value);
        if (q->why != NULL) {
            buf_printf(ret_unknown, "%s%s: %s", ret_unknown->len > 0 ? "; " : "", q->name, q->why);
        }
    }
    batch_free(at);
    *at = p->batches.items[--p->batches.len];
    attempt_add_metrics(output, sizes, &metrics);
    metrics_done(&metrics);
    return 0;
}

void prometheus_free(struct prometheus *p)
{
    if (p != NULL) {
        kube_client_free(p->client); /* with its calls */
        vec_done_each(&p->batches, batch_free);
        free(p);
    }
}

int prometheus_new(struct uv_loop_s *loop, const char *url, struct launcher *launcher,
                   const char *ns, struct prometheus **ret, struct err *err)
{
    struct kube_config config = {.server = (char *)url}; /* copied */
    const struct kube_client_params params = {
        .loop = loop, .config = &config, .user_agent = "benchd"};
    struct kube_client *client = NULL;
    const int r = url == NULL ? 0 : kube_client_new(&params, &client, err);
    if (url == NULL || r < 0) {
        return r < 0 ? err_wrap(err, r, "--prometheus") : 0;
    }
    struct prometheus *p = xnew(struct prometheus);
    *p = (struct prometheus){.client = client, .launcher = launcher, .ns = ns};
    *ret = p;
    return 0;
}
