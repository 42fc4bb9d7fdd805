/* See s3.h. One request on an easy handle each time; libcurl signs it. Edge file: libcurl. */
#include "bucket/s3.h"

#include <errno.h>
#include <string.h>

#include <curl/curl.h>
#include <openssl/sha.h>

#include "base/mem.h"
#include "base/str.h"

#define PLAIN BUF_ALNUM "._-" /* what needs no escape in a URL and in XML */
#define CONNECT_TIMEOUT_S 10L
#define SILENCE_S 30L
#define ANSWER_MAX ((size_t)4 << 20) /* of a list or an error; a list has 1,000 names */

/* NULL: it is not set, or empty. */
static const char *read_env(char *(*env)(const char *name), const char *name)
{
    const char *value = env(name);
    return value == NULL || value[0] == '\0' ? NULL : value;
}

int s3_open(const char *place, char *(*env)(const char *name), struct s3 *ret, struct err *err)
{
    const size_t bucket_len = strcspn(place, "/");
    const char *prefix = place + bucket_len + strspn(place + bucket_len, "/");
    if (bucket_len == 0 || place[strspn(place, PLAIN "/")] != '\0') {
        return err_set(err, EINVAL,
                       "s3://%s: bucket and prefix may have letters, digits, '.', '_', '-' and '/'",
                       place);
    }
    const char *id = read_env(env, "AWS_ACCESS_KEY_ID");
    const char *secret = read_env(env, "AWS_SECRET_ACCESS_KEY");
    if (id == NULL || secret == NULL) {
        return err_set(err, EINVAL, "s3://%s: the variable %s is not set", place,
                       id == NULL ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY");
    }
    const char *region = read_env(env, "AWS_REGION") ?: "us-east-1";
    const char *own = read_env(env, "AWS_ENDPOINT_URL"),
               *token = read_env(env, "AWS_SESSION_TOKEN");
    _cleanup_(freep) char *endpoint =
        own != NULL ? xstrdup(own) : xasprintf("https://s3.%s.amazonaws.com", region);
    ret->url = xasprintf("%.*s/%.*s", (int)(strlen(endpoint) - str_has_suffix(endpoint, "/")),
                         endpoint, (int)bucket_len, place);
    ret->prefix =
        xasprintf("%s%s", prefix, prefix[0] == '\0' || str_has_suffix(prefix, "/") ? "" : "/");
    ret->sign = xasprintf("aws:amz:%s:s3", region);
    ret->user = xasprintf("%s:%s", id, secret);
    ret->token = token == NULL ? NULL : xasprintf("x-amz-security-token: %s", token);
    ret->ca = xstrdup_or_null(read_env(env, "AWS_CA_BUNDLE") ?: read_env(env, "SSL_CERT_FILE"));
    return 0;
}

/* ---- a request ---- */

static size_t on_bytes(char *data, size_t size, size_t n, void *ctx)
{
    return buf_try_append(ctx, data, size * n) < 0 ? 0 : size * n;
}

static int on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct s3 *s = ctx;
    (void)a, (void)b, (void)c, (void)d;
    return atomic_load(&s->is_stopping); /* not 0: the request ends */
}

/* The text of the first element of that name, owned, and what follows it. NULL: it is not there. */
static char *read_element(const char *xml, const char *name, const char **ret_rest)
{
    _cleanup_(freep) char *open = xasprintf("<%s>", name), *close = xasprintf("</%s>", name);
    const char *from = strstr(xml, open);
    const char *to = from == NULL ? NULL : strstr(from, close);
    if (to == NULL) {
        return NULL;
    }
    *ret_rest = to;
    return xstrndup(from + strlen(open), (size_t)(to - from) - strlen(open));
}

/* S3 says in XML what is wrong. */
static int refused(const char *url, long code, const struct buf *body, struct err *err)
{
    const char *rest;
    _cleanup_(freep) char *name = read_element(buf_cstr(body), "Code", &rest);
    _cleanup_(freep) char *message = read_element(buf_cstr(body), "Message", &rest);
    return err_set(err,
                   str_eq_or_null(name, "NoSuchKey") ? ENOENT
                   : code == 403                     ? EACCES
                                                     : EIO,
                   "%s: the server answered %ld: %s%s%.300s", url, code,
                   name ?: "no reason is given", message == NULL ? "" : ": ", message ?: "");
}

static void set_options(CURL *c, struct s3 *s, const char *url, const struct buf *body,
                        struct curl_slist *headers)
{
    /* They fail only without memory, and then the request does. */
    (void)curl_easy_setopt(c, CURLOPT_URL, url);
    (void)curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(c, CURLOPT_AWS_SIGV4, s->sign);
    (void)curl_easy_setopt(c, CURLOPT_USERPWD, s->user);
    (void)curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
    (void)curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    (void)curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, SILENCE_S);
    (void)curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    (void)curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
    (void)curl_easy_setopt(c, CURLOPT_XFERINFODATA, s);
    if (s->ca != NULL) {
        (void)curl_easy_setopt(c, CURLOPT_CAINFO, s->ca);
        (void)curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
    }
    if (body != NULL) { /* as a POST its bytes are signed, too */
        (void)curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
        (void)curl_easy_setopt(c, CURLOPT_POSTFIELDS, body->data);
        (void)curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, "PUT");
    }
}

/* Of the body, which the server compares; S3 wants it to be signed, and libcurl before 8 leaves it
 * out. Owned. */
static char *hash_header(const struct buf *body)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    struct buf header = BUF_INIT;
    (void)SHA256((const unsigned char *)(body == NULL ? "" : buf_cstr(body)),
                 body == NULL ? 0 : body->len, digest); /* a wrong one is refused */
    buf_puts(&header, "x-amz-content-sha256: ");
    for (size_t i = 0; i < sizeof(digest); i++) {
        buf_printf(&header, "%02x", digest[i]);
    }
    return buf_take(&header);
}

/* Of its URL without query, for people: `url`. Appends the answer; on error maybe some. */
static int ask(struct s3 *s, const char *url, const char *query, const struct buf *body,
               struct buf *ret, struct err *err)
{
    char why[CURL_ERROR_SIZE] = "";
    long code = 0;
    _cleanup_(freep) char *all = xasprintf("%s%s", url, query);
    _cleanup_(freep) char *hash = hash_header(body);
    struct curl_slist *headers = curl_slist_append(NULL, hash);
    if (body != NULL) {
        headers = curl_slist_append(headers, "Content-Type: application/octet-stream");
    }
    headers = s->token == NULL ? headers : curl_slist_append(headers, s->token);
    CURL *c = curl_easy_init();
    set_options(c, s, all, body, headers);
    (void)curl_easy_setopt(c, CURLOPT_ERRORBUFFER, why);
    (void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes);
    (void)curl_easy_setopt(c, CURLOPT_WRITEDATA, ret);
    const CURLcode r = curl_easy_perform(c);
    (void)curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &code); /* 0: none came */
    curl_easy_cleanup(c);
    curl_slist_free_all(headers);
    if (r == CURLE_WRITE_ERROR) {
        return err_set(err, E2BIG, "%s has more than %zu bytes", url, ret->max);
    }
    if (r != CURLE_OK) {
        return err_set(err, EIO, "%s: %s", url, why[0] == '\0' ? curl_easy_strerror(r) : why);
    }
    return code >= 200 && code < 300 ? 0 : refused(url, code, ret, err);
}

/* ---- names ---- */

static void take_names(const struct s3 *s, const char *page, struct texts *ret)
{
    for (char *key; (key = read_element(page, "Key", &page)) != NULL; free(key)) {
        if (str_has_prefix(key, s->prefix)) {
            *vec_push(&ret->list) = xstrdup(key + strlen(s->prefix));
        }
    }
}

int s3_list(struct s3 *s, struct texts *ret, struct err *err)
{
    _cleanup_(freep) char *token = NULL;
    int r = 0;
    do {
        /* Sorted by name, as they are signed. */
        _cleanup_(buf_done) struct buf query = BUF_INIT, page = {.max = ANSWER_MAX};
        buf_puts(&query, token == NULL ? "?" : "?continuation-token=");
        buf_put_percent(&query, token == NULL ? "" : token, PLAIN);
        buf_printf(&query, "%slist-type=2&prefix=", token == NULL ? "" : "&");
        buf_put_percent(&query, s->prefix, PLAIN);
        free(take_ptr(token));
        if ((r = ask(s, s->url, buf_cstr(&query), NULL, &page, err)) >= 0) {
            take_names(s, buf_cstr(&page), ret);
            const char *rest;
            token = read_element(buf_cstr(&page), "NextContinuationToken", &rest);
        }
    } while (r >= 0 && token != NULL);
    return r;
}

int s3_get(struct s3 *s, const char *name, size_t max_bytes, struct buf *ret, struct err *err)
{
    _cleanup_(freep) char *url = xasprintf("%s/%s%s", s->url, s->prefix, name);
    _cleanup_(buf_done) struct buf data = {.max = max_bytes};
    const int r = ask(s, url, "", NULL, &data, err);
    if (r >= 0) {
        *ret = data;
        data = BUF_INIT;
    }
    return r;
}

int s3_put(struct s3 *s, const char *name, const struct buf *data, struct err *err)
{
    _cleanup_(freep) char *url = xasprintf("%s/%s%s", s->url, s->prefix, name);
    _cleanup_(buf_done) struct buf answer = {.max = ANSWER_MAX};
    return ask(s, url, "", data, &answer, err);
}
