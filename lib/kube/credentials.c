/* Bearer tokens, see credentials.h. */
#include "kube/credentials.h"

#include <string.h>

#include "base/mem.h"
#include "kube/config.h"
#include "kube/exec_credential.h"

void kube_credentials_done(struct kube_credentials *c)
{
    free(c->token);
    *c = (struct kube_credentials){0};
}

/* Cuts trailing white space. */
static int clean(char *token, const char *path, struct err *err)
{
    size_t len = strlen(token);
    while (len > 0 && strchr(" \t\r\n", token[len - 1]) != NULL) {
        token[--len] = '\0';
    }
    const size_t fault = kube_token_fault(token);
    if (fault > 0) {
        return err_set(err, EINVAL, "token file %s: byte %zu is not allowed in a token", path,
                       fault);
    }
    return len == 0 ? err_set(err, EINVAL, "token file %s is empty", path) : 0;
}

static int read_token(struct kube_credentials *c, struct err *err)
{
    _cleanup_(freep) char *text = NULL;
    size_t len;
    int r = kube_file_read(c->file, &text, &len, err);
    r = r < 0 ? r : clean(text, c->file, err);
    if (r == 0) {
        free(c->token);
        c->token = take_ptr(text);
    }
    return r;
}

int kube_credentials_get(struct kube_credentials *c, int64_t now_ns, const char **ret,
                         struct err *err)
{
    if (c->file == NULL) {
        *ret = c->fixed;
        return 0;
    }
    if (c->token == NULL || c->is_refused || now_ns - c->read_ns >= KUBE_TOKEN_AGE_NS) {
        const int r = read_token(c, err);
        if (r < 0 && c->token == NULL) {
            return r;
        }
        c->read_ns = now_ns;
        c->is_refused = false;
    }
    *ret = c->token;
    return 0;
}

void kube_credentials_refused(struct kube_credentials *c)
{
    c->is_refused = true;
}
