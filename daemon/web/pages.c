/* benchd's pages: the list of runs, found by name, benchmark and phase; and a run, with sections of
 * `benchctl report` from what is stored so far, its attempts with links to their logs, and its
 * events. A page is one file that loads nothing and is whole without its script. Texts from outside
 * are escaped; links are relative, so that pages work through the API server's service proxy. */
#include "base/clock.h"
#include "base/str.h"
#include "daemon/web/site.h"
#include "report/sheets.h"
#include "report/style.h"
#include "report/table.h"

/* ---- the frame ---- */

#define REFRESH "<meta http-equiv=\"refresh\" content=\"10\">\n"

/* `up`: the relative path to the list of runs; NULL in the list itself. html_end_page ends it. */
static void page_open(struct buf *out, const char *title, const char *up, bool must_refresh)
{
    html_begin_page(title, "benchd", must_refresh ? REFRESH : "", out);
    if (up != NULL) {
        buf_printf(out, "<nav class=\"screen\"><a href=\"%s\">Runs</a></nav>\n", up);
    }
    buf_puts(out, "</header>\n<main>\n");
}

/* "-" for time 0. Returns `ret`. */
static const char *page_date(int64_t unix_ms, char ret[static CLOCK_RFC3339_SIZE])
{
    if (unix_ms == 0) {
        return "-";
    }
    clock_format_rfc3339(unix_ms, ret);
    return ret;
}

/* ---- the list of runs ---- */

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
    page_open(&res->body, "Runs", NULL, false);
    put_form(&res->body, &wanted);
    sheet_init(&sheet, SHEET_HTML, NULL);
    put_list(&sheet, &list, &wanted);
    sheet_write(&sheet, &res->body);
    html_end_page(&res->body);
}

/* ---- the state of the run ---- */

static void put_links(struct buf *out, const struct run_row *row)
{
    html_put(out, "<p class=\"screen\"><a href=\"../api/v1/runs/", row->name,
             "/results\">Results as JSON</a></p>\n");
}

static void put_status(struct buf *out, const struct site_run *run)
{
    const struct run_status *st = &run->item.row.status;
    const bool is_bad = st->phase == RUN_FAILED || st->phase == RUN_PARTIALLY_FAILED;
    buf_printf(out, "<p><span class=\"tag%s\">%s%s</span>", is_bad ? " bad" : "",
               run_phase_to_string(st->phase), run->item.is_interrupted ? " (interrupted)" : "");
    html_put(out, "", st->message, "</p>\n");
}

/* ---- attempts and events ---- */

/* Links the log of one replica of the role: the one that explains a failure, else the first. */
static void put_log(struct table *t, const char *run, const struct attempt_row *row, enum role role)
{
    _cleanup_(freep) char *title = text_capitals(role_to_string(role));
    const struct replica_row *rep = row->error == NULL ? NULL : attempt_row_find_culprit(row);
    if (rep == NULL || rep->id.role != role) {
        rep = attempt_row_find_replica(row, (int)role, -1);
    }
    if (rep == NULL) {
        table_text(t, title, "-");
        return;
    }
    _cleanup_(freep) char *place =
        xasprintf("%s/logs?point=%u&trial=%u&attempt=%u&role=%s&index=%u", run, row->id.point,
                  row->id.trial, row->id.number, role_to_string(role), rep->id.index);
    table_text(t, title, "log of %s/%u", role_to_string(role), rep->id.index);
    table_link(t, "../api/v1/runs/", place);
}

static void put_attempt(struct table *t, const struct site_run *run, const struct attempt_row *row)
{
    const struct result *r = run->result;
    table_number(t, "POINT", "%u", row->id.point);
    table_number(t, "TRIAL", "%u", row->id.trial);
    table_number(t, "ATTEMPT", "%u", row->id.number);
    table_text(t, "OUTCOME", "%s", attempt_outcome_to_string(row->outcome));
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        if (array_any(r->points, r->def->matrix.n_points, p, p->point->replicas[role] > 0)) {
            put_log(t, run->item.row.name, row, role);
        }
    }
    table_text(t, "ERROR", "%s", row->error == NULL ? "" : row->error);
    table_end_row(t);
}

static int put_attempts(const struct site *site, struct sheet *s, const struct site_run *run,
                        struct err *err)
{
    struct table *t = table_new();
    struct run_walk walk = site_run_walk(site, run);
    const struct attempt_row *row;
    int r = 0;
    for (size_t n = 0; n < PAGE_MAX_ROWS && (r = run_walk_next(&walk, &row, err)) > 0; n++) {
        put_attempt(t, run, row);
    }
    run_walk_done(&walk);
    if (r < 0 || run->n_rows == 0) {
        table_free(t);
        return r;
    }
    sheet_open(s, SHEET_PLAIN, "Attempts and their logs");
    sheet_table(s, NULL, t, 1);
    if (run->n_rows > PAGE_MAX_ROWS) {
        sheet_line(s, &sheet_soft, "The API has %zu more attempts.", run->n_rows - PAGE_MAX_ROWS);
    }
    sheet_close(s);
    return 0;
}

/* Shows the last ones. */
static int put_events(const struct site *site, struct sheet *s, const struct site_run *run,
                      struct err *err)
{
    struct store *store = site->store;
    _cleanup_(freep) struct event_row *rows = NULL;
    size_t n = 0;
    const int r =
        run->item.is_stored ? store->ops->list_events(store, run->item.row.uid, &rows, &n, err) : 0;
    if (r < 0 || n == 0) {
        return r;
    }
    struct table *t = table_new();
    for (size_t i = n > PAGE_MAX_ROWS ? n - PAGE_MAX_ROWS : 0; i < n; i++) {
        char date[CLOCK_RFC3339_SIZE];
        table_text(t, "TIME", "%s", page_date(rows[i].unix_ms, date));
        table_text(t, "REASON", "%s", rows[i].reason);
        table_text(t, "NOTE", "%s", rows[i].note);
        table_end_row(t);
    }
    sheet_open(s, SHEET_PLAIN, "Events");
    sheet_table(s, NULL, t, 1);
    sheet_close(s);
    free_each(rows, n, event_row_done);
    return 0;
}

void html_run(struct site *site, const struct web_request *req, struct web_response *res)
{
    _cleanup_(site_run_done) struct site_run run = {0};
    struct err err = {0};
    struct sheet sheet;
    if (!site_run_open(site, req->run, SITE_TABLES, &run, res)) {
        return;
    }
    const struct run_row *row = &run.item.row;
    const bool is_going_on = run.live != NULL && !run_phase_is_final(row->status.phase);
    res->content_type = WEB_HTML;
    page_open(&res->body, row->name, "../", is_going_on);
    put_links(&res->body, row);
    put_status(&res->body, &run);
    sheet_init(&sheet, SHEET_HTML, NULL);
    if (run.result != NULL) {
        sheet_run(&sheet, run.result);
    }
    int r = put_attempts(site, &sheet, &run, &err);
    r = r < 0 ? r : put_events(site, &sheet, &run, &err);
    sheet_write(&sheet, &res->body);
    html_end_page(&res->body);
    if (r < 0) {
        site_fail(res, r, &err);
    }
}
