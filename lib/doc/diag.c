/* Collecting and printing diagnostics, see diag.h. */
#include "doc/diag.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* Of a source line, at most this many characters are shown, around the caret. */
#define LINE_SHOWN_MAX 120
#define LINE_BEFORE_CARET 80

void diags_done(struct diags *d)
{
    vec_each (struct diag, it, &d->list) {
        free(it->origin);
        free(it->path);
        free(it->message);
        free(it->fix);
    }
    vec_done(&d->list);
    d->n_dropped = 0;
}

size_t diags_count(const struct diags *d)
{
    return d->list.len + d->n_dropped;
}

/* What is quoted may be hostile: no escape sequence may reach a terminal, no line break a log.
 * Owned; NULL stays NULL. */
static char *clean_copy(const char *text)
{
    return text == NULL ? NULL : text_without_control(text, "", '?');
}

void diags_add_text(struct diags *d, const char *origin, struct mark mark, const char *path,
                    const char *fix, char *message_take)
{
    _cleanup_(freep) char *message = message_take;
    if (d->list.len == DIAGS_MAX) {
        d->n_dropped++;
        return;
    }
    *vec_push(&d->list) = (struct diag){mark, clean_copy(origin), clean_copy(path),
                                        clean_copy(message), clean_copy(fix)};
}

void diags_add_from(struct diags *d, const char *origin, struct mark mark, const char *path,
                    const char *fix, const char *fmt, ...)
{
    diags_add_text(d, origin, mark, path, fix, xasprintf_rest(fmt));
}

/* "": the file that is read, or a value without a place. */
static const char *other_file(const struct diag *it)
{
    return it->origin != NULL && it->mark.line != 0 ? it->origin : "";
}

static bool is_same(const struct diag *a, const struct diag *b)
{
    return a->mark.line == b->mark.line && a->mark.column == b->mark.column &&
           str_eq(other_file(a), other_file(b)) && str_eq(a->message, b->message) &&
           (a->mark.line != 0 || str_eq(a->path, b->path));
}

void diags_move(struct diags *d, struct diags *from)
{
    struct diags rest = {0};
    vec_each (struct diag, it, &from->list) {
        bool is_full = d->list.len == DIAGS_MAX;
        if (is_full || vec_any(&d->list, old, is_same(old, it))) {
            d->n_dropped += is_full;
            *vec_push(&rest.list) = *it;
        } else {
            *vec_push(&d->list) = *it;
        }
    }
    d->n_dropped += from->n_dropped;
    vec_done(&from->list);
    *from = (struct diags){0};
    diags_done(&rest);
}

static int compare_places(const void *a, const void *b)
{
    const struct diag *x = *(const struct diag *const *)a;
    const struct diag *y = *(const struct diag *const *)b;
    const int files = strcmp(other_file(x), other_file(y));
    const int lines = (x->mark.line > y->mark.line) - (x->mark.line < y->mark.line);
    const int columns = (x->mark.column > y->mark.column) - (x->mark.column < y->mark.column);
    /* Same place: in the order they were found, which is that of the array. */
    return files != 0 ? files : lines != 0 ? lines : columns != 0 ? columns : (x > y) - (x < y);
}

/* The bytes of line `number` (from 1); false if the text has no such line. */
static bool find_line(const char *text, unsigned number, const char **ret, size_t *ret_len)
{
    for (unsigned i = 1; i < number; i++) {
        text = strchr(text, '\n');
        if (text == NULL) {
            return false;
        }
        text++;
    }
    size_t len = strcspn(text, "\n");
    *ret_len = len > 0 && text[len - 1] == '\r' ? len - 1 : len;
    *ret = text;
    return true;
}

/* Prints the line and, below, a caret under its character `column`. Tabs become one space, what
 * acts on a terminal '?'. */
static void format_source(const char *line, size_t len, struct mark mark, struct buf *out)
{
    unsigned first = mark.column > LINE_BEFORE_CARET ? mark.column - LINE_BEFORE_CARET : 1;
    buf_printf(out, "%5u | %s", mark.line, first > 1 ? "..." : "");
    unsigned column = 0;
    const size_t begin = out->len;
    for (size_t i = 0; i < len; i++) {
        column += ((unsigned char)line[i] & 0xc0) != 0x80; /* it starts a character */
        if (column < first) {
            continue;
        }
        if (column >= first + LINE_SHOWN_MAX) {
            buf_puts(out, "...");
            break;
        }
        buf_putc(out, line[i] == '\t' ? ' ' : line[i]);
    }
    out->len = begin + text_replace_control(out->data + begin, "", '?');
    buf_printf(out, "\n      | %s", first > 1 ? "   " : "");
    for (unsigned i = first; i < mark.column; i++) {
        buf_putc(out, ' ');
    }
    buf_puts(out, "^\n");
}

static void format_one(const struct diag *it, const char *file, const char *text, struct buf *out)
{
    buf_puts(out, it->origin != NULL ? it->origin : file);
    if (it->mark.line != 0) {
        buf_printf(out, ":%u:%u", it->mark.line, it->mark.column);
    }
    buf_puts(out, ": error: ");
    if (it->path[0] != '\0') {
        buf_printf(out, "%s: ", it->path);
    }
    buf_printf(out, "%s\n", it->message);
    const char *line;
    size_t len;
    if (it->origin == NULL && it->mark.line != 0 && text != NULL &&
        find_line(text, it->mark.line, &line, &len)) {
        format_source(line, len, it->mark, out);
    }
    if (it->fix != NULL) {
        buf_printf(out, "  fix: %s\n", it->fix);
    }
}

/* Where to look: the file, its templates, the command line, or more than one of them. */
static void format_where(const struct diags *d, const char *file, struct buf *out)
{
    const bool in_other = vec_any(&d->list, it, other_file(it)[0] != '\0');
    const bool in_options = vec_any(&d->list, it, it->origin != NULL && it->mark.line == 0);
    const bool in_file = vec_any(&d->list, it, it->origin == NULL) || d->list.len == 0;
    if (in_file || in_other) {
        buf_printf(out, " in %s%s%s", in_file ? "" : "templates of ", file,
                   in_file && in_other ? " and its templates" : "");
    }
    if (in_options) {
        buf_printf(out, "%s on the command line", in_file || in_other ? " and" : "");
    }
}

void diags_format(const struct diags *d, const char *file, const char *text, struct buf *out)
{
    size_t n = d->list.len;
    const struct diag **sorted = xcalloc(n + 1, sizeof(*sorted));
    for (size_t i = 0; i < n; i++) {
        sorted[i] = &d->list.items[i];
    }
    qsort(sorted, n, sizeof(*sorted), compare_places);
    for (size_t i = 0; i < n; i++) {
        format_one(sorted[i], file, text, out);
    }
    free(sorted);
    const size_t all = diags_count(d);
    buf_printf(out, "%zu error%s", all, all == 1 ? "" : "s");
    format_where(d, file, out);
    if (d->n_dropped > 0) {
        buf_printf(out, "; only the first %zu are shown", n);
    }
    buf_putc(out, '\n');
}
