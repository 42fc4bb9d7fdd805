/* The page of one replica's log, with numbered lines and the line where its attempt failed. */
#include <string.h>

#include "base/mem.h"
#include "daemon/web/log_window.h"
#include "daemon/web/page.h"
#include "daemon/web/site.h"
#include "report/table.h"

#define MAX_LINE 2000 /* bytes of a line that are shown */

static void put_line(struct buf *out, const char *text, size_t len, size_t number, bool is_fault)
{
    const size_t shown = len > MAX_LINE ? MAX_LINE : len;
    _cleanup_(freep) char *line = xmalloc(shown + 1);
    memcpy(line, text, shown);
    line[shown] = '\0';
    for (size_t i = 0; i < shown; i++) {
        line[i] = line[i] == '\0' || line[i] == '\r' || line[i] == '\x1b' ? ' ' : line[i];
    }
    buf_printf(out, "<li value=\"%zu\"%s>", number,
               is_fault ? " id=\"fault\" class=\"fault\"" : "");
    html_escape(line, out);
    buf_puts(out, len > MAX_LINE ? " ... (cut)</li>\n" : "</li>\n");
}

static void put_lines(struct buf *out, const struct site_log *log, const struct log_window *w)
{
    size_t pos = w->from_byte;
    buf_puts(out, "<ol class=\"log\">\n");
    for (size_t i = 0; i < w->n; i++) {
        const char *end = memchr(log->text + pos, '\n', log->len - pos);
        const size_t len = end == NULL ? log->len - pos : (size_t)(end - log->text) - pos;
        put_line(out, log->text + pos, len, w->first + i, w->first + i == w->fault);
        pos += len + 1;
    }
    buf_puts(out, "</ol>\n");
}

static void put_raw_link(struct buf *out, const struct site_log *log)
{
    const struct replica_id *id = &log->replica->id;
    buf_puts(out, "<a href=\"../../api/v1/runs/");
    page_query(out, log->run.item.row.name);
    buf_printf(out, "/logs?point=%u&amp;trial=%u&amp;attempt=%u&amp;role=%s&amp;index=%u\">",
               id->attempt.point, id->attempt.trial, id->attempt.number, role_to_string(id->role),
               id->index);
    buf_puts(out, "the whole log</a>");
}

static void put_page(struct buf *out, const struct site_log *log)
{
    const struct replica_id *id = &log->replica->id;
    const char *name = log->run.item.row.name;
    /* Only a failed attempt has a line of failure. */
    struct log_window w;
    log_window_find(log->text, log->len, log->row->error, &w);
    _cleanup_(freep) char *title = xasprintf("Log of %s/%u", role_to_string(id->role), id->index);
    const struct page page = {title, "../../", NULL};
    page_open(out, &page);
    buf_puts(out, "<nav><a href=\"../../\">Runs</a>\n<a href=\"../");
    page_query(out, name);
    buf_printf(out, "\">The run</a>\n<a href=\"point?point=%u\">The point</a></nav>\n",
               id->attempt.point);
    page_element(out, "h1", title);
    buf_printf(out, "<p>Point %u, trial %u, attempt %u: %s. ", id->attempt.point, id->attempt.trial,
               id->attempt.number, attempt_outcome_to_string(log->row->outcome));
    html_escape(log->row->error == NULL ? "" : log->row->error, out);
    buf_puts(out, "</p>\n<p class=\"soft\">");
    if (w.n_lines == 0) {
        buf_puts(out, "It printed nothing.");
    } else {
        buf_printf(out, "Lines %zu to %zu of %zu", w.first, w.first + w.n - 1, w.n_lines);
        if (w.fault > 0) {
            buf_printf(out, "; <a href=\"#fault\">line %zu</a> is where it failed", w.fault);
        }
        buf_puts(out, "; ");
        put_raw_link(out, log);
        buf_putc(out, '.');
    }
    buf_puts(out, "</p>\n");
    put_lines(out, log, &w);
    page_close(out, &page);
}

void html_log(struct site *site, const struct web_request *req, struct web_response *res)
{
    struct site_log log;
    if (site_log_load(site, req, &log, res)) {
        res->content_type = WEB_HTML;
        put_page(&res->body, &log);
        site_log_done(&log);
    }
}
