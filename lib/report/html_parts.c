/* See html_parts.h. */
#include "report/html_parts.h"

#include "report/table.h"

void html_put_element(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, "<%s>", name);
    html_escape(text, out);
    buf_printf(out, "</%s>\n", name);
}

void html_put_table(struct buf *out, const char *label, struct table *t_take)
{
    table_format_html_scrolled(t_take, label, out);
    table_free(t_take);
}
