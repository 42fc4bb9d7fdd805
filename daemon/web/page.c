/* See page.h. */
#include "daemon/web/page.h"

#include <string.h>

#include <jansson.h>

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

/* The relative path from a page to the root. */
static void put_up(struct buf *out, const char *path)
{
    buf_puts(out, "./");
    for (const char *c = strchr(path + 1, '/'); c != NULL; c = strchr(c + 1, '/')) {
        buf_puts(out, "../");
    }
}

void page_fail(const struct web_request *req, struct web_response *res)
{
    if (req->accept == NULL || strstr(req->accept, "text/html") == NULL) {
        return;
    }
    _cleanup_(buf_done) struct buf up = BUF_INIT;
    json_auto_t *error = json_loadb(res->body.data, res->body.len, 0, NULL);
    const char *message = json_string_value(json_object_get(error, "message"));
    _cleanup_(freep) char *title = xasprintf("Error %d", res->code);
    put_up(&up, req->path);
    buf_clear(&res->body);
    res->content_type = WEB_HTML;
    page_open(&res->body, &(struct page){.title = title, .up = buf_cstr(&up)});
    html_put(&res->body, "<p>", message == NULL ? "" : message, "</p>\n");
    html_end_page(&res->body);
}

const char *page_date(int64_t unix_ms, char ret[static CLOCK_RFC3339_SIZE])
{
    if (unix_ms == 0) {
        return "-";
    }
    clock_format_rfc3339(unix_ms, ret);
    return ret;
}
