/* See page.h. */
#include "daemon/web/page.h"

#include "report/table.h"

#define REFRESH "<meta http-equiv=\"refresh\" content=\"10\">\n"

void page_open(struct buf *out, const struct page *page)
{
    html_begin_page(page->title, "benchd", page->must_refresh ? REFRESH : "", out);
    if (page->up != NULL) {
        buf_printf(out, "<nav class=\"screen\"><a href=\"%s\">Runs</a></nav>\n", page->up);
    }
    buf_puts(out, "</header>\n<main>\n");
}

const char *page_date(int64_t unix_ms, char ret[static CLOCK_RFC3339_SIZE])
{
    if (unix_ms == 0) {
        return "-";
    }
    clock_format_rfc3339(unix_ms, ret);
    return ret;
}
