/* A sheet in one form: sheet_as(sheet_nodes, result, &out, SHEET_TEXT, .columns = 80). */
#pragma once

#include "base/str.h"
#include "report/sheets.h"

#define sheet_as(build, of, out, form, ...)                                                        \
    do {                                                                                           \
        struct sheet sheet_;                                                                       \
        sheet_init(&sheet_, form, &(struct terminal){__VA_ARGS__});                                \
        build(&sheet_, of);                                                                        \
        sheet_write(&sheet_, out);                                                                 \
    } while (0)

/* Takes the table of more figures out of a text, Markdown or page, so that a figure of its own
 * changes no golden: test_catalogue.c looks at that table. */
static inline void drop_more_figures(struct buf *out)
{
    static const char page[] = ">More figures</h", last[] = "</table>\n</div>\n";
    char *from = strstr(buf_cstr(out), page);
    char *end = from == NULL ? NULL : strstr(from, last);
    if (end != NULL) {
        end += strlen(last);
    } else if ((from = strstr(buf_cstr(out), "More figures")) != NULL) {
        char *head = from + strlen("More figures\n"); /* a wide table has parts with the same */
        const size_t n = strcspn(head, " ");
        end = head;
        do {
            end = strstr(end + 2, "\n\n") + 2;
        } while (n > 0 && strncmp(end, head, n) == 0);
    }
    if (end != NULL) {
        memmove(from, end, strlen(end) + 1);
        out->len = strlen(out->data);
    }
}
