/* See terminal.h. */
#include "report/terminal.h"

#include "report/wrap.h"

#define PLAIN "\033[0m"

void terminal_colored(struct buf *out, const struct terminal *t, const char *color,
                      const char *text)
{
    if (t->color) {
        buf_puts(out, color);
    }
    buf_puts(out, text);
    if (t->color) {
        buf_puts(out, PLAIN);
    }
}

void terminal_wrapped(struct buf *out, const struct terminal *t, const char *text, size_t used,
                      unsigned indent)
{
    wrap_text(out, text, t->columns, used, indent);
}
