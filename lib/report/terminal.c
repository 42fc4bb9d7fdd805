/* See terminal.h. */
#include "report/terminal.h"

#include <string.h>

#include "base/vec.h"

#define PLAIN "\033[0m"

void terminal_colored(struct buf *out, const struct terminal *t, const char *color,
                      const char *text)
{
    buf_printf(out, "%s%s%s", t->color ? color : "", text, t->color ? PLAIN : "");
}

static size_t width_of(const char *text, size_t bytes)
{
    return array_sum(text, bytes, c, (size_t)(((unsigned char)*c & 0xc0) != 0x80));
}

size_t text_width(const char *text)
{
    return text == NULL ? 0 : width_of(text, strlen(text));
}

void wrap_text(struct buf *out, const char *text, size_t columns, size_t used, size_t indent)
{
    size_t at = used;
    bool first_word = true;
    while (*text != '\0') {
        const size_t bytes = strcspn(text, " ");
        const size_t width = width_of(text, bytes);
        if (!first_word && at + 1 + width > columns) {
            buf_printf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first_word) {
            buf_putc(out, ' ');
            at++;
        }
        buf_append(out, text, bytes);
        at += width;
        text += bytes;
        text += strspn(text, " ");
        first_word = false;
    }
    buf_putc(out, '\n');
}

void put_details(const char *details, struct buf *out)
{
    for (size_t len; details != NULL && *details != '\0'; details += len + (details[len] == '\n')) {
        len = strcspn(details, "\n");
        size_t shown = len; /* without the blanks at its end */
        while (shown > 0 && details[shown - 1] == ' ') {
            shown--;
        }
        buf_printf(out, shown == 0 ? "\n" : "      %.*s\n", (int)shown, details);
    }
}
