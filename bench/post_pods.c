/* What benchd is measured against (script/bench controller): posts the pods of one point, with
 * bodies made before, by the shortest way that libcurl has, and says how long that took.
 *
 *   post_pods KUBECONFIG NAMESPACE DEFINITION RUN UID IN_FLIGHT
 *
 * One HTTP/2 connection, opened before the clock starts by the POST of the Service that the names
 * of these pods need: its lists of addresses keep the API server busy while pods come up, whoever
 * makes them. IN_FLIGHT requests at a time; easy handles are made once and used again. The bodies
 * and paths are those that benchd would send. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/vec.h"
#include "kube/config.h"
#include "kube/request.h"
#include "pod/body.h"
#include "spec/spec_load.h"

struct loop {
    CURLM *multi;
    struct kube_config config;
    struct kube_request service;
    VEC(struct kube_request) requests;
    size_t next;
    unsigned n_created, n_other;
};

static int complain(const char *what, const char *why)
{
    (void)fprintf(stderr, "post_pods: %s: %s\n", what, why);
    return -1;
}

/* NULL: said why. */
static struct run_def *load(const char *path, const char *run, const char *uid)
{
    char *text;
    size_t len;
    struct err err;
    struct diags diags = {0};
    struct spec *spec = NULL;
    struct run_def *def = NULL;
    if (kube_file_read(path, &text, &len, &err) < 0) {
        (void)complain(path, err.msg);
        return NULL;
    }
    const struct run_def_params params = {.name = run, .uid = uid};
    if (spec_load(text, len, NULL, &spec, &diags) < 0 ||
        run_def_new(spec, &params, &def, &diags) < 0) {
        (void)complain(path, diags.list.len > 0 ? diags.list.items[0].message : "no definition");
    }
    diags_done(&diags);
    free(text);
    return def;
}

/* Attempt 0 of trial 0 of point 0, by DNS. */
static int make_requests(struct loop *l, const struct run_def *def, const char *ns)
{
    int r = 0;
    const uint32_t *n = def->matrix.points[0].replicas;
    json_t *service = pod_service_body(def);
    kube_request_create(&kube_services, ns, service, KUBE_WRITE, &l->service);
    json_decref(service);
    struct gang_addresses addresses = {.is_pods = true};
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        addresses.of_role[role] = xnew_array(char *, n[role] + 1);
        for (uint32_t i = 0; i < n[role]; i++) {
            const struct replica_id id = {.role = role, .index = i};
            addresses.of_role[role][i] = pod_dns_address(def, &id);
        }
    }
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t i = 0; i < n[role] && r == 0; i++) {
            const struct replica_id id = {.role = role, .index = i};
            json_t *body;
            struct err err;
            if (pod_body(def, &id, &addresses, POD_BY_DNS, &body, &err) < 0) {
                r = complain("pod", err.msg);
                break;
            }
            kube_request_create(&kube_pods, ns, body, KUBE_WRITE, vec_push(&l->requests));
            json_decref(body);
        }
    }
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t i = 0; i < n[role]; i++) {
            free(addresses.of_role[role][i]);
        }
        free(addresses.of_role[role]);
    }
    return r;
}

static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
    (void)data, (void)ctx;
    return size * n;
}

static void set_blob(CURL *easy, CURLoption option, const char *pem)
{
    if (pem != NULL) {
        struct curl_blob blob = {(void *)(uintptr_t)pem, strlen(pem), CURL_BLOB_NOCOPY};
        (void)curl_easy_setopt(easy, option, &blob); /* lacks memory only; the request then fails */
    }
}

/* NULL: no memory. */
static CURL *make_easy(const struct loop *l, struct curl_slist *headers)
{
    CURL *easy = curl_easy_init();
    if (easy == NULL) {
        return NULL;
    }
    set_blob(easy, CURLOPT_CAINFO_BLOB, l->config.ca_pem);
    set_blob(easy, CURLOPT_SSLCERT_BLOB, l->config.cert_pem);
    set_blob(easy, CURLOPT_SSLKEY_BLOB, l->config.key_pem);
    /* Plain settings: none of them can fail. */
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    (void)curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    return easy;
}

static void set_url(const struct loop *l, CURL *easy, const char *path)
{
    _cleanup_(freep) char *url = xasprintf("%s%s", l->config.server, path);
    (void)curl_easy_setopt(easy, CURLOPT_URL, url); /* as above */
}

static bool post(struct loop *l, CURL *easy, const struct kube_request *req)
{
    set_url(l, easy, req->path);
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)req->body_len);
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, req->body);
    return curl_multi_add_handle(l->multi, easy) == CURLM_OK;
}

/* The next body on this handle; false if none exists. */
static bool post_next(struct loop *l, CURL *easy)
{
    return l->next < l->requests.len && post(l, easy, &l->requests.items[l->next++]);
}

static void count(struct loop *l, CURL *easy, CURLcode result)
{
    long code = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code); /* stays 0 */
    const bool is_created = result == CURLE_OK && code == 201;
    l->n_created += is_created;
    l->n_other += !is_created;
    if (!is_created) {
        (void)fprintf(stderr, "post_pods: %s: HTTP %ld\n", curl_easy_strerror(result), code);
    }
}

static int run(struct loop *l)
{
    for (int n_running = 1; n_running > 0;) {
        if (curl_multi_perform(l->multi, &n_running) != CURLM_OK) {
            return complain("curl", "perform");
        }
        int n_left;
        for (CURLMsg *msg; (msg = curl_multi_info_read(l->multi, &n_left)) != NULL;) {
            CURL *easy = msg->easy_handle;
            count(l, easy, msg->data.result);
            (void)curl_multi_remove_handle(l->multi, easy); /* it was added */
            n_running += post_next(l, easy);
        }
        if (n_running > 0 && curl_multi_poll(l->multi, NULL, 0, 1000, NULL) != CURLM_OK) {
            return complain("curl", "poll");
        }
    }
    return 0;
}

static struct curl_slist *make_headers(const struct kube_config *config)
{
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (config->token != NULL) {
        _cleanup_(freep) char *line = xasprintf("Authorization: Bearer %s", config->token);
        headers = curl_slist_append(headers, line);
    }
    return headers;
}

/* Seconds, or less than 0. */
static double measure(struct loop *l, CURL **handles, size_t n_handles)
{
    const size_t n = l->requests.len;
    l->next = n;
    if (!post(l, handles[0], &l->service) || run(l) < 0 || l->n_created != 1) {
        return -1;
    }
    l->next = l->n_created = 0;
    const int64_t began_ns = clock_monotonic_ns();
    for (size_t i = 0; i < n_handles; i++) {
        (void)post_next(l, handles[i]); /* false: fewer pods than handles */
    }
    return run(l) < 0 ? -1 : (double)(clock_monotonic_ns() - began_ns) / 1e9;
}

static int post_all(struct loop *l, size_t n_handles)
{
    struct curl_slist *headers = make_headers(&l->config);
    CURL **handles = xnew_array(CURL *, n_handles);
    double took_s = 0;
    for (size_t i = 0; i < n_handles && took_s == 0; i++) {
        handles[i] = make_easy(l, headers);
        took_s = handles[i] == NULL ? complain("curl", "no handle") : 0;
    }
    took_s = took_s < 0 ? took_s : measure(l, handles, n_handles);
    (void)printf("{\"created\": %u, \"other\": %u, \"wall_s\": %.6f}\n", l->n_created, l->n_other,
                 took_s);
    for (size_t i = 0; i < n_handles; i++) {
        curl_easy_cleanup(handles[i]); /* NULL is fine */
    }
    free(handles);
    curl_slist_free_all(headers);
    return took_s < 0 || l->n_created < l->requests.len ? -1 : 0;
}

static int start(struct loop *l, const char *kubeconfig)
{
    struct err err;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
        (l->multi = curl_multi_init()) == NULL) {
        return complain("curl", "cannot be started");
    }
    return kube_config_load(kubeconfig, NULL, &l->config, &err) < 0 ? complain(kubeconfig, err.msg)
                                                                    : 0;
}

int main(int argc, char **argv)
{
    struct loop l = {0};
    int64_t n_handles = 0;
    if (argc != 7 || parse_i64_in(argv[6], 1, 1000, &n_handles) < 0) {
        (void)complain("usage", "post_pods KUBECONFIG NAMESPACE DEFINITION RUN UID IN_FLIGHT");
        return 2;
    }
    int r = start(&l, argv[1]);
    struct run_def *def = r < 0 ? NULL : load(argv[3], argv[4], argv[5]);
    r = def == NULL ? -1 : make_requests(&l, def, argv[2]);
    r = r < 0 ? r : post_all(&l, (size_t)n_handles);
    kube_request_done(&l.service); /* nothing in it where there is no definition */
    vec_each (struct kube_request, req, &l.requests) {
        kube_request_done(req);
    }
    vec_done(&l.requests);
    run_def_free(def);
    kube_config_done(&l.config);
    (void)curl_multi_cleanup(l.multi); /* every handle was removed */
    curl_global_cleanup();
    return r < 0;
}
