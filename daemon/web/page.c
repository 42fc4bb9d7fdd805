/* See page.h. */
#include "daemon/web/page.h"

#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "daemon/web/site.h"
#include "report/table.h"

#define REFRESH_S 5 /* of a page without scripts */

void page_open(struct buf *out, const struct page *page)
{
    buf_puts(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"color-scheme\" content=\"light dark\">\n");
    if (page->live != NULL) {
        buf_printf(out,
                   "<noscript><meta http-equiv=\"refresh\" content=\"%d\"></noscript>\n"
                   "<script src=\"%slive.js\" defer></script>\n",
                   REFRESH_S, page->up);
    }
    if (page->has_charts) {
        buf_printf(out, "<script src=\"%schart.js\" defer></script>\n", page->up);
    }
    buf_puts(out, "<title>");
    html_escape(page->title, out);
    buf_printf(out, " - benchd</title>\n<link rel=\"stylesheet\" href=\"%sstyle.css\">\n</head>\n",
               page->up);
    buf_puts(out, "<body");
    if (page->live != NULL) {
        buf_puts(out, " data-live=\"");
        html_escape(page->live, out);
        buf_putc(out, '"');
    }
    buf_puts(out, ">\n");
}

void page_close(struct buf *out, const struct page *page)
{
    if (page->live != NULL) {
        buf_puts(out, "<p class=\"soft\" id=\"link\" role=\"status\"></p>\n");
    }
    buf_puts(out, "</body>\n</html>\n");
}

/* From the path of a page to the root. */
static void put_up(struct buf *out, const char *path)
{
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
    put_up(&up, req->path);
    const struct page page = {.title = "Error", .up = buf_cstr(&up)};
    buf_clear(&res->body);
    res->content_type = WEB_HTML;
    page_open(&res->body, &page);
    buf_printf(&res->body, "<nav><a href=\"%s\">Runs</a></nav>\n<h1>Error %d</h1>\n",
               up.len == 0 ? "./" : buf_cstr(&up), res->code);
    page_element(&res->body, "p", message == NULL ? "" : message);
    buf_putc(&res->body, '\n');
    page_close(&res->body, &page);
}

bool page_is_part(const struct web_request *req)
{
    return web_request_arg(req, "part") != NULL;
}

void page_element(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, "<%s>", name);
    html_escape(text, out);
    buf_printf(out, "</%s>", name);
}

void page_date(struct buf *out, int64_t unix_ms)
{
    char text[CLOCK_RFC3339_SIZE] = "-";
    if (unix_ms != 0) {
        clock_format_rfc3339(unix_ms, text);
    }
    buf_puts(out, text);
}

void page_query(struct buf *out, const char *text)
{
    buf_put_percent(out, text, BUF_ALNUM "-._");
}

void page_open_table(struct buf *out, const char *label, const char *heads)
{
    buf_puts(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    html_escape(label, out);
    buf_printf(out, "\">\n<table>\n<thead><tr>%s</tr></thead>\n<tbody>\n", heads);
}

void page_close_table(struct buf *out)
{
    buf_puts(out, "</tbody>\n</table>\n</div>\n");
}

/* ---- attempts ---- */

static void put_log_link(struct buf *out, const char *up, const char *run,
                         const struct replica_row *rep, const char *place, const char *text)
{
    buf_printf(out, "<a href=\"%sruns/", up);
    html_escape(run, out);
    buf_printf(out, "/log?point=%u&amp;trial=%u&amp;attempt=%u&amp;role=%s&amp;index=%u%s\">%s",
               rep->id.attempt.point, rep->id.attempt.trial, rep->id.attempt.number,
               role_to_string(rep->id.role), rep->id.index, place, text);
    if (text[0] == '\0') {
        buf_printf(out, "%s/%u", role_to_string(rep->id.role), rep->id.index);
    }
    buf_puts(out, "</a> ");
}

/* Links the log of the first replica of each role: a hundred links of trainers would not help. */
static void put_attempt(struct buf *out, const char *up, const char *run,
                        const struct attempt_row *row)
{
    buf_printf(out, "<tr><td class=\"r\"><a href=\"%sruns/", up);
    html_escape(run, out);
    buf_printf(out,
               "/point?point=%u\">%u</a></td><td class=\"r\">%u</td><td class=\"r\">%u</td>"
               "<td>%s</td><td>",
               row->id.point, row->id.point, row->id.trial, row->id.number,
               attempt_outcome_to_string(row->outcome));
    vec_each (const struct replica_row, rep, &row->replicas) {
        if (rep->id.index == 0) {
            put_log_link(out, up, run, rep, "", "");
        }
    }
    buf_puts(out, "</td><td>");
    const struct replica_row *culprit = row->error == NULL ? NULL : attempt_row_find_culprit(row);
    if (culprit != NULL) {
        put_log_link(out, up, run, culprit, "#fault", "log line");
    }
    html_escape(row->error == NULL ? "" : row->error, out);
    buf_puts(out, "</td></tr>\n");
}

void page_attempts(struct buf *out, const char *up, const struct site_run *run, size_t from,
                   size_t n)
{
    if (n == 0) {
        return;
    }
    buf_puts(out, "<h2>Attempts and their logs</h2>\n");
    page_open_table(out, "Attempts",
                    "<th class=\"r\">POINT</th><th class=\"r\">TRIAL</th><th class=\"r\">ATTEMPT"
                    "</th><th>OUTCOME</th><th>LOGS</th><th>ERROR</th>");
    for (size_t i = from; i < from + n && i < from + PAGE_MAX_ROWS; i++) {
        result_open_row(run->result, &run->rows[i]);
        put_attempt(out, up, run->item.row.name, &run->rows[i]);
    }
    page_close_table(out);
    if (n > PAGE_MAX_ROWS) {
        buf_printf(out, "<p class=\"soft\">%zu more attempts are in the API.</p>\n",
                   n - PAGE_MAX_ROWS);
    }
}
