/* Fields of a kubeconfig's tree, see config_read.h. */
#include "kube/config_read.h"

#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

void config_fail_at(const struct config_reader *r, struct mark mark, const char *fmt, ...)
{
    _cleanup_(freep) char *text = xasprintf_rest(fmt);
    if (r->err->code == 0 && mark.line == 0) {
        (void)err_set(r->err, EINVAL, "%s: %s", r->path, text);
    } else if (r->err->code == 0) {
        (void)err_set(r->err, EINVAL, "%s:%u:%u: %s", r->path, mark.line, mark.column, text);
    }
}

const struct node *config_get_text(const struct config_reader *r, const struct node *map,
                                   const char *key)
{
    const struct node *node = tree_get(map, key);
    if (node == NULL || node->kind == NODE_NULL) {
        return NULL;
    }
    if (node->kind != NODE_STRING) {
        config_fail_at(r, node->mark, "%s must be a string, not %s", key,
                       node_kind_to_string(node->kind));
        return NULL;
    }
    return node->s[0] == '\0' ? NULL : node;
}

void config_copy_text(const struct config_reader *r, const struct node *map, const char *key,
                      char **ret)
{
    const struct node *node = config_get_text(r, map, key);
    if (node != NULL) {
        *ret = xstrdup(node->s);
    }
}

char *config_in_folder(const struct config_reader *r, const char *path)
{
    const char *slash = strrchr(r->path, '/');
    return path[0] == '/' || slash == NULL
               ? xstrdup(path)
               : xasprintf("%.*s/%s", (int)(slash - r->path), r->path, path);
}

void config_copy_path(const struct config_reader *r, const struct node *map, const char *key,
                      char **ret)
{
    const struct node *node = config_get_text(r, map, key);
    if (node != NULL) {
        *ret = config_in_folder(r, node->s);
    }
}

bool config_get_bool(const struct config_reader *r, const struct node *map, const char *key)
{
    const struct node *node = tree_get(map, key);
    if (node != NULL && node->kind != NODE_BOOL) {
        config_fail_at(r, node->mark, "%s must be true or false", key);
        return false;
    }
    return node != NULL && node->b;
}

/* White space is skipped. -EINVAL. */
static int decode_base64(const char *s, char **ret)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    unsigned bits = 0, n_bits = 0;
    for (; *s != '\0' && *s != '='; s++) {
        if (strchr(" \t\r\n", *s) != NULL) {
            continue;
        }
        const int value = base64_value(*s);
        if (value < 0) {
            return -EINVAL;
        }
        bits = bits << 6 | (unsigned)value;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            buf_putc(&out, (char)(bits >> n_bits & 0xff));
        }
    }
    if (s[strspn(s, "= \t\r\n")] != '\0' || n_bits >= 6 || out.len == 0 ||
        strlen(out.data) != out.len) {
        return -EINVAL;
    }
    *ret = buf_take(&out);
    return 0;
}

void config_copy_pem(const struct config_reader *r, const struct node *map, const char *key,
                     char **ret_pem, char **ret_file)
{
    _cleanup_(freep) char *data_key = xasprintf("%s-data", key);
    const struct node *node = config_get_text(r, map, data_key);
    if (node == NULL) {
        config_copy_path(r, map, key, ret_file);
    } else if (decode_base64(node->s, ret_pem) < 0 || !str_has_prefix(*ret_pem, "-----BEGIN ")) {
        config_fail_at(r, node->mark, "%s must be PEM text in base64", data_key);
    }
}
