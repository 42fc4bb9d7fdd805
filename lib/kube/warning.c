/* Warning headers, see warning.h. */
#include "kube/warning.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/vec_walk.h"

#define TEXT_MAX ((size_t)1000)
#define CODE "299 "

void kube_warnings_done(struct kube_warnings *w)
{
    free_each(w->seen, w->n, freep);
    *w = (struct kube_warnings){0};
}

bool kube_warnings_add(struct kube_warnings *w, const char *text)
{
    if (array_any(w->seen, w->n, it, str_eq(*it, text))) {
        return false;
    }
    if (w->seen == NULL) {
        w->seen = xnew_array(char *, KUBE_WARNINGS_MAX);
    }
    free(w->seen[w->next]);
    w->seen[w->next] = xstrdup(text);
    w->next = (w->next + 1) % KUBE_WARNINGS_MAX;
    w->n += w->n < KUBE_WARNINGS_MAX;
    return true;
}

/* The quoted text of one header, 299 - "a \"text\""; empty if it is not a whole one. */
static void read_one(const char *line, size_t len, struct buf *text)
{
    const char *quote = str_has_prefix(line, CODE) ? memchr(line, '"', len) : NULL;
    const char *p = quote == NULL ? line : quote + 1, *end = line + len;
    for (; quote != NULL && p < end && *p != '"'; p++) {
        p += *p == '\\' && p + 1 < end;
        buf_putc(text, *p);
    }
    if (p >= end) {
        buf_clear(text);
    }
}

char *kube_warning_next(const char **at)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT, clean = BUF_INIT;
    while (text.len == 0 && **at != '\0') {
        const size_t len = strcspn(*at, "\n");
        read_one(*at, len, &text);
        *at += len + ((*at)[len] == '\n');
    }
    if (text.len == 0) {
        return NULL;
    }
    text.len = text_replace_control(text.data, "", ' ');
    buf_put_utf8(&clean, text.data, TEXT_MAX);
    return buf_take(&clean);
}
