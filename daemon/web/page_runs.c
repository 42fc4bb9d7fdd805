/* The page with the list of runs, found by name, benchmark and phase. */
#include "base/str.h"
#include "daemon/web/page.h"
#include "daemon/web/site.h"
#include "report/sheet.h"

struct wanted {
    const char *text; /* is a part of the name of the run or of its benchmark */
    int phase;        /* enum run_phase, or -1 for any */
};

static bool is_wanted(const struct site_item *item, const struct wanted *w)
{
    return (w->phase < 0 || w->phase == (int)item->row.status.phase) &&
           (str_find_nocase(item->row.name, w->text) != NULL ||
            str_find_nocase(item->row.benchmark, w->text) != NULL);
}

/* Returns false after answering with an error. */
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
    buf_puts(out, "<form class=\"screen\" role=\"search\"><label>Name or benchmark <input "
                  "type=\"search\" name=\"q\" value=\"");
    html_escape(w->text, out);
    buf_puts(out, "\"></label> <label>Phase <select name=\"phase\"><option value=\"\">any");
    for (int i = 0; i < DAEMON_N_PHASES; i++) {
        const char *name = run_phase_to_string((enum run_phase)i);
        buf_printf(out, "<option value=\"%s\"%s>%s", name, i == w->phase ? " selected" : "", name);
    }
    buf_puts(out, "</select></label> <button>Find</button></form>\n");
}

static void put_item(struct table *t, const struct site_item *item)
{
    const struct run_row *row = &item->row;
    const struct run_status *st = &row->status;
    char date[CLOCK_RFC3339_SIZE];
    table_text(t, "NAME", "%s", row->name);
    table_link(t, "runs/", row->name);
    table_text(t, "BENCHMARK", "%s", row->benchmark);
    table_text(t, "PHASE", "%s%s", run_phase_to_string(st->phase),
               item->is_interrupted ? " (interrupted)" : "");
    table_number(t, "TRIALS", "%u/%u", st->trials_done, st->trials_total);
    table_number(t, "FAILED", "%u", st->trials_failed);
    table_text(t, "CREATED", "%s", page_date(row->created_unix_ms, date));
    table_end_row(t);
}

static void put_list(struct sheet *s, const struct site_list *list, const struct wanted *w)
{
    size_t n = 0;
    struct table *t = table_new();
    vec_each (const struct site_item, item, &list->items) {
        if (is_wanted(item, w) && n++ < PAGE_MAX_ROWS) {
            put_item(t, item);
        }
    }
    sheet_table(s, NULL, t, 1);
    if (n > 0) {
        sheet_name_table(s, "Runs");
    } else if (list->items.len == 0) {
        sheet_line(s, &sheet_paragraph, "No runs yet. Start one with ");
        sheet_span(s, SHEET_CODE, "benchctl run NAME");
    } else {
        sheet_line(s, &sheet_paragraph, "None of the %zu runs matches.", list->items.len);
    }
    if (n > PAGE_MAX_ROWS) {
        sheet_line(s, &sheet_soft, "%zu older runs are not shown; search for them.",
                   n - PAGE_MAX_ROWS);
    }
}

void html_runs(struct site *site, const struct web_request *req, struct web_response *res)
{
    _cleanup_(site_list_done) struct site_list list = {0};
    struct wanted wanted;
    struct err err = {0};
    struct sheet sheet;
    if (!take_wanted(req, &wanted, res)) {
        return;
    }
    const int r = site_list_runs(site, &list, &err);
    if (r < 0) {
        site_fail(res, r, &err);
        return;
    }
    res->content_type = WEB_HTML;
    page_open(&res->body, &(struct page){.title = "Runs"});
    put_form(&res->body, &wanted);
    sheet_init(&sheet, SHEET_HTML, NULL);
    put_list(&sheet, &list, &wanted);
    sheet_write(&sheet, &res->body);
    html_end_page(&res->body);
}
