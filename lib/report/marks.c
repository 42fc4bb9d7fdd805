/* See marks.h. */
#include "report/marks.h"

#include <ctype.h>

#define MARK_COUNT 3

/* The i-th mark; NULL: the run has it not. */
static const char *mark_of(const struct result *r, int i)
{
    static const char *const words[MARK_COUNT] = {"rehearsal", "simulated", "imported"};
    const bool has[MARK_COUNT] = {r->def->rehearsal, r->simulated, spec_is_imported(r->def->spec)};
    return has[i] ? words[i] : NULL;
}

void marks_put(const struct result *r, struct buf *out)
{
    const char *separator = "";
    for (int i = 0; i < MARK_COUNT; i++) {
        if (mark_of(r, i) != NULL) {
            buf_printf(out, "%s%s", separator, mark_of(r, i));
            separator = ", ";
        }
    }
}

void marks_put_text(const struct result *r, const struct terminal *term, struct buf *out)
{
    for (int i = 0; i < MARK_COUNT; i++) {
        const char *mark = mark_of(r, i);
        char word[16] = "";
        for (size_t k = 0; mark != NULL && mark[k] != '\0'; k++) {
            word[k] = (char)toupper((unsigned char)mark[k]);
        }
        if (mark != NULL) {
            buf_puts(out, "   ");
            terminal_colored(out, term, TERMINAL_YELLOW, word);
        }
    }
}

void marks_put_markdown(const struct result *r, struct buf *out)
{
    for (int i = 0; i < MARK_COUNT; i++) {
        if (mark_of(r, i) != NULL) {
            buf_printf(out, ", **%s**", mark_of(r, i));
        }
    }
}
