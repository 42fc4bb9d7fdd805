/* The page with the list of runs, found by name, benchmark and phase. */
#include <string.h>

#include "daemon/web/page.h"
#include "base/str.h"
#include "daemon/web/site.h"
#include "report/table.h"

static const struct page page = {.title = "Runs", .up = "", .live = "live"};

struct wanted {
    const char *text; /* in the name of the run or of its benchmark; "": any */
    int phase;        /* -1: any */
};

static bool is_wanted(const struct site_item *item, const struct wanted *w)
{
    return (w->phase < 0 || w->phase == (int)item->row.status.phase) &&
           (str_find_nocase(item->row.name, w->text) != NULL ||
            str_find_nocase(item->row.benchmark, w->text) != NULL);
}

/* False: it was answered. */
static bool take_wanted(const struct web_request *req, struct wanted *ret, struct web_response *res)
{
    const char *text = web_request_arg(req, "q"), *phase = web_request_arg(req, "phase");
    *ret = (struct wanted){text == NULL ? "" : text, -1};
    if (phase != NULL && phase[0] != '\0') {
        ret->phase = run_phase_from_string(phase);
        if (ret->phase < 0) {
            web_fail(res, 400, "unknown phase '%.64s'; use one of the list, for example Running",
                     phase);
            return false;
        }
    }
    return true;
}

static void put_form(struct buf *out, const struct wanted *w)
{
    buf_puts(out, "<form class=\"find\" role=\"search\"><label>Name or benchmark <input "
                  "type=\"search\" name=\"q\" value=\"");
    html_escape(w->text, out);
    buf_puts(out, "\"></label> <label>Phase <select name=\"phase\"><option value=\"\">any");
    for (int i = 0; i < DAEMON_N_PHASES; i++) {
        const char *name = run_phase_to_string((enum run_phase)i);
        buf_printf(out, "<option value=\"%s\"%s>%s", name, i == w->phase ? " selected" : "", name);
    }
    buf_puts(out, "</select></label> <button>Find</button></form>\n");
}

static void put_item(struct buf *out, const struct site_item *item)
{
    const struct run_status *st = &item->row.status;
    _cleanup_(buf_done) struct buf name = BUF_INIT;
    html_escape(item->row.name, &name);
    buf_printf(out, "<tr data-run=\"%s\"><td><a href=\"runs/%s\">%s</a></td>", buf_cstr(&name),
               buf_cstr(&name), buf_cstr(&name));
    buf_puts(out, "<td><a href=\"benchmarks/");
    page_query(out, item->row.benchmark);
    buf_puts(out, "\">");
    html_escape(item->row.benchmark, out);
    buf_printf(out,
               "</a></td><td data-is=\"phase\">%s%s</td><td class=\"r\" data-is=\"trials\">%u/%u"
               "</td><td class=\"r\" data-is=\"failed\">%u</td><td>",
               run_phase_to_string(st->phase), item->is_interrupted ? " (interrupted)" : "",
               st->trials_done, st->trials_total, st->trials_failed);
    page_date(out, item->row.created_unix_ms);
    buf_puts(out, "</td></tr>\n");
}

static void put_list(struct buf *out, const struct site_list *list, const struct wanted *w)
{
    size_t n = 0;
    vec_each (const struct site_item, item, &list->items) {
        if (!is_wanted(item, w)) {
            continue;
        }
        if (n++ == 0) {
            page_open_table(out, "Runs",
                            "<th>NAME</th><th>BENCHMARK</th><th>PHASE</th>"
                            "<th class=\"r\">TRIALS</th><th class=\"r\">FAILED</th>"
                            "<th>CREATED</th>");
        }
        if (n <= PAGE_MAX_ROWS) {
            put_item(out, item);
        }
    }
    if (n > 0) {
        page_close_table(out);
    } else if (list->items.len == 0) {
        buf_puts(out, "<p>No runs yet. Start one with <code>benchctl run NAME</code>.</p>\n");
    } else {
        buf_printf(out, "<p>None of the %zu runs matches.</p>\n", list->items.len);
    }
    if (n > PAGE_MAX_ROWS) {
        buf_printf(out,
                   "<p class=\"soft\">%zu older runs are not shown: search for them, or read "
                   "<a href=\"api/v1/runs\">api/v1/runs</a></p>\n",
                   n - PAGE_MAX_ROWS);
    }
}

void html_runs(struct site *site, const struct web_request *req, struct web_response *res)
{
    _cleanup_(site_list_done) struct site_list list = {0};
    struct wanted wanted;
    struct err err = {0};
    if (!take_wanted(req, &wanted, res)) {
        return;
    }
    const int r = site_list_runs(site, &list, &err);
    if (r < 0) {
        site_fail(res, r, &err);
        return;
    }
    struct buf *out = &res->body;
    res->content_type = WEB_HTML;
    if (page_is_part(req)) {
        put_list(out, &list, &wanted);
    } else {
        page_open(out, &page);
        buf_puts(out, "<h1>Runs</h1>\n");
        put_form(out, &wanted);
        buf_puts(out, "<div id=\"part\">\n");
        put_list(out, &list, &wanted);
        buf_puts(out, "</div>\n");
        page_close(out, &page);
    }
}
