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

/* After the closing quote of the string that begins at `quote`; NULL if none
 * exists in this line. */
static const char *unquote(const char *quote, struct buf *text)
{
    for (const char *p = quote + 1; *p != '\0' && *p != '\n'; p++) {
        if (*p == '"') {
            return p + 1;
        }
        if (*p == '\\' && p[1] != '\0' && p[1] != '\n') {
            p++;
        }
        buf_putc(text, *p);
    }
    return NULL;
}

/* After one warning of any code, with its text if the code is 299. A value of a header may hold
 * several: 299 - "a", 299 - "b" "Sat, 21 Nov 2026 08:00:00 GMT". */
static const char *read_one(const char *p, struct buf *text)
{
    const bool is_wanted = str_has_prefix(p, CODE);
    const char *end_of_line = p + strcspn(p, "\n");
    const char *quote = strchr(p, '"');
    const char *after = quote == NULL || quote > end_of_line ? NULL : unquote(quote, text);
    if (!is_wanted || after == NULL) {
        buf_clear(text);
    }
    if (after == NULL) {
        return end_of_line;
    }
    while (*after == ' ') {
        after++;
    }
    if (*after == '"') { /* the date */
        _cleanup_(buf_done) struct buf date = BUF_INIT;
        const char *behind = unquote(after, &date);
        return behind == NULL ? end_of_line : behind;
    }
    return after;
}

char *kube_warning_next(const char **at)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT, clean = BUF_INIT;
    const char *p = *at;
    while (text.len == 0 && *p != '\0') {
        p += strspn(p, " ,\n");
        if (*p != '\0') {
            const char *after = read_one(p, &text);
            p = after > p ? after : p + 1;
        }
    }
    *at = p;
    if (text.len > 0) {
        text.len = text_replace_control(text.data, "", ' ');
        buf_put_utf8(&clean, text.data, TEXT_MAX);
    }
    return clean.len == 0 ? NULL : buf_take(&clean);
}
