/* Answers and their failures, see status.h. */
#include "kube/status.h"

#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "kube/json.h"

#define SHOWN_MAX 200 /* bytes of a foreign body in a message */

static void copy_text(char *dst, size_t size, const json_t *text)
{
    const char *s = json_string_value(text);
    text_put(dst, size, "%s", s == NULL ? "" : s);
}

int kube_status_read_object(const json_t *object, struct kube_status *ret)
{
    *ret = (struct kube_status){0};
    const char *kind = json_string_value(json_object_get(object, "kind"));
    ret->is_status = kind != NULL && strcmp(kind, "Status") == 0;
    if (!ret->is_status) {
        text_put(ret->message, sizeof(ret->message), "not a Status object");
        return 0;
    }
    copy_text(ret->reason, sizeof(ret->reason), json_object_get(object, "reason"));
    copy_text(ret->message, sizeof(ret->message), json_object_get(object, "message"));
    const json_t *causes = json_object_get(json_object_get(object, "details"), "causes");
    copy_text(ret->cause, sizeof(ret->cause), json_object_get(json_array_get(causes, 0), "reason"));
    if (ret->message[0] == '\0') {
        text_put(ret->message, sizeof(ret->message), "%s",
                 ret->reason[0] == '\0' ? "no reason given" : ret->reason);
    }
    return (int)json_integer_value(json_object_get(object, "code"));
}

void kube_status_read(const char *content_type, const char *body, size_t len, int http_code,
                      struct kube_status *ret)
{
    json_t *object = NULL;
    if (len > 0 && body[0] == '{' && kube_json_load(body, len, &object, NULL) == 0) {
        (void)kube_status_read_object(object, ret); /* the HTTP code decides, not the object's */
        json_decref(object);
        if (ret->is_status) {
            return;
        }
    }
    *ret = (struct kube_status){0};
    while (len > 0 && strchr(" \t\r\n", *body) != NULL) {
        body++;
        len--;
    }
    struct buf shown = BUF_INIT;
    buf_put_utf8(&shown, body, SHOWN_MAX);
    char *const text = ret->message;
    if (len == 0) {
        text_put(text, sizeof(ret->message), "HTTP %d without a message", http_code);
    } else if (body[0] == '<' || strncmp(content_type, "text/html", 9) == 0) {
        text_put(text, sizeof(ret->message),
                 "an HTML page, not an answer of the API server; is a proxy in between? %s",
                 buf_cstr(&shown));
    } else {
        text_put(text, sizeof(ret->message), "%s", buf_cstr(&shown));
        for (size_t end = strlen(text); end > 0 && text[end - 1] == ' ';) {
            text[--end] = '\0'; /* the newline at the end of a plain text */
        }
    }
    buf_done(&shown);
}

static int code_of_403(const struct kube_status *status)
{
    if (strcmp(status->cause, "NamespaceTerminating") == 0) {
        return ESHUTDOWN;
    }
    const bool is_quota = strstr(status->message, "exceeded quota") != NULL ||
                          strstr(status->message, "status unknown for quota") != NULL;
    return is_quota ? EDQUOT : EACCES;
}

static int code_of(const struct kube_response *res, const struct kube_status *status)
{
    switch (res->http_code) {
    case 401:
        return EACCES;
    case 403:
        return code_of_403(status);
    case 404:
        return ENOENT;
    case 409:
        return strcmp(status->reason, "AlreadyExists") == 0 ? EEXIST : ESTALE;
    case 410:
        return ESTALE;
    case 429:
        return EBUSY;
    case 408:
    case 504:
        return ETIMEDOUT;
    default:
        return res->http_code >= 400 && res->http_code < 500 ? EINVAL : EIO;
    }
}

/* The authoriser and admission give the same code and reason; only the message differs. */
static bool is_about_rights(const struct kube_status *status)
{
    return strcmp(status->reason, "Forbidden") == 0 &&
           strstr(status->message, " cannot ") != NULL &&
           strstr(status->message, "system:anonymous") == NULL; /* no account at all */
}

bool kube_lacks_right(const struct kube_response *res)
{
    struct kube_status status;
    if (res->failure != KUBE_ANSWERED || res->http_code != 403) {
        return false;
    }
    kube_status_read(res->content_type, res->body, res->body_len, res->http_code, &status);
    return is_about_rights(&status);
}

/* What the user can do, "" if the server's own message says enough. */
static const char *advice(const struct kube_request *req, const struct kube_response *res,
                          const struct kube_status *status)
{
    switch (res->http_code) {
    case 401:
        return "; the credentials were refused: log in again, or choose another context";
    case 403:
        if (strstr(status->message, "system:anonymous") != NULL) {
            return "; no credentials were accepted: log in again, or choose another context";
        }
        return is_about_rights(status)
                   ? "; ask an administrator for this right, or choose another namespace"
                   : "";
    case 404:
        return !status->is_status && strstr(req->path, "/apis/benchd.io/") != NULL
                   ? "; benchd's kinds are not installed: kubectl apply -f "
                     "manifests/benchmark-crd.yaml"
                   : "";
    case 429:
        return "; the API server is busy: try again later";
    default:
        return "";
    }
}

static int fail_without_answer(const struct kube_request *req, const struct kube_response *res,
                               struct err *err)
{
    static const struct {
        int code;
        const char *what, *advice;
    } rows[] = {
        [KUBE_UNREACHABLE] = {EHOSTUNREACH, "cannot reach the API server",
                              "; is it running, and is its address right in the kubeconfig?"},
        [KUBE_TLS] = {EPROTO, "TLS",
                      "; check certificate-authority and client-certificate in the kubeconfig"},
        [KUBE_TIMED_OUT] = {ETIMEDOUT, "no answer in time", ""},
        [KUBE_BROKEN] = {ECONNRESET, "connection lost", ""},
        [KUBE_TOO_LARGE] = {E2BIG, "the answer is too large", ""},
        [KUBE_LOCAL] = {EIO, "cannot send", ""},
        [KUBE_ANSWERED] = {EIO, "no answer", ""},
    };
    const bool has_text = res->failure_text != NULL && res->failure_text[0] != '\0';
    return err_set(err, rows[res->failure].code, "%s: %s%s%s%s", req->what, rows[res->failure].what,
                   has_text ? ": " : "", has_text ? res->failure_text : "",
                   rows[res->failure].advice);
}

int kube_check(const struct kube_request *req, const struct kube_response *res, struct err *err)
{
    if (res->failure != KUBE_ANSWERED || res->http_code == 0) {
        return fail_without_answer(req, res, err);
    }
    if (res->http_code >= 200 && res->http_code < 300) {
        return 0;
    }
    struct kube_status status;
    kube_status_read(res->content_type, res->body, res->body_len, res->http_code, &status);
    char head[200];
    text_put(head, sizeof(head), "%s: HTTP %d%s%s: ", req->what, res->http_code,
             status.reason[0] == '\0' ? "" : " ", status.reason);
    /* The advice is kept whole; the server's message is cut if there is too little room. */
    const char *then = advice(req, res, &status);
    char message[sizeof(status.message)];
    const size_t room = ERR_MSG_SIZE - strlen(head) - strlen(then);
    text_put(message, room < sizeof(message) ? room : sizeof(message), "%s", status.message);
    return err_set(err, code_of(res, &status), "%s%s%s", head, message, then);
}
