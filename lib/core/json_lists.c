/* See json_lists.h. */
#include "core/json_lists.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

void json_lists_begin(struct json_lists *w, json_t *document_take, unsigned indent, struct buf *out)
{
    *w = (struct json_lists){.out = out, .indent = indent, .depth = 2 * indent};
    if (document_take == NULL) {
        w->rest = "";
        w->depth = indent;
        w->is_open = true;
        buf_putc(out, '[');
        return;
    }
    w->rest = w->text = json_dumps(document_take, JSON_INDENT(indent));
    assert(w->text != NULL);
    json_decref(document_take);
}

static void close_list(struct json_lists *w)
{
    if (w->is_open) {
        buf_printf(w->out, w->n > 0 ? "\n%*s]" : "]", (int)(w->depth - w->indent), "");
        w->is_open = false;
        w->n = 0;
    }
}

void json_lists_open(struct json_lists *w, const char *name)
{
    _cleanup_(freep) char *empty = xasprintf("\n%*s\"%s\": []", (int)w->indent, "", name);
    close_list(w);
    const char *at = strstr(w->rest, empty); /* what is deeper has more blanks, texts no newline */
    assert(at != NULL);
    const char *end = at + strlen(empty);
    buf_append(w->out, w->rest, (size_t)(end - w->rest) - 1);
    w->rest = end;
    w->is_open = true;
}

void json_lists_add(struct json_lists *w, json_t *item_take)
{
    static const char blanks[] = "    ";
    _cleanup_(freep) char *text = json_dumps(item_take, JSON_INDENT(w->indent));
    json_decref(item_take);
    assert(text != NULL && w->depth < sizeof(blanks));
    buf_puts(w->out, w->n++ == 0 ? "" : ",");
    for (const char *line = text, *end = line; end != NULL; line = end + 1) {
        end = strchr(line, '\n');
        buf_putc(w->out, '\n');
        buf_append(w->out, blanks, w->depth);
        buf_append(w->out, line, end == NULL ? strlen(line) : (size_t)(end - line));
    }
    buf_spill(w->out);
}

void json_lists_end(struct json_lists *w)
{
    close_list(w);
    buf_printf(w->out, "%s\n", w->rest);
    free(w->text);
}
