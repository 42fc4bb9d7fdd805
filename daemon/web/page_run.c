/* The page of a run: the sections of `benchctl report` from what is stored so far, then attempts
 * with links to their logs, and events. */
#include "base/text.h"
#include "base/vec_walk.h"
#include "daemon/web/page.h"
#include "daemon/web/site.h"
#include "report/sheets.h"

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

static void put_attempts(struct sheet *s, const struct site_run *run)
{
    struct table *t = table_new();
    for (size_t i = 0; i < run->n_rows && i < PAGE_MAX_ROWS; i++) {
        result_open_row(run->result, &run->rows[i]);
        put_attempt(t, run, &run->rows[i]);
    }
    if (run->n_rows == 0) {
        table_free(t);
        return;
    }
    sheet_open(s, SHEET_PLAIN, "Attempts and their logs");
    sheet_table(s, NULL, t, 1);
    if (run->n_rows > PAGE_MAX_ROWS) {
        sheet_line(s, &sheet_soft, "The API has %zu more attempts.", run->n_rows - PAGE_MAX_ROWS);
    }
    sheet_close(s);
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
    page_open(&res->body, &(struct page){row->name, "../", is_going_on});
    put_links(&res->body, row);
    put_status(&res->body, &run);
    sheet_init(&sheet, SHEET_HTML, NULL);
    if (run.result != NULL) {
        sheet_run(&sheet, run.result);
    }
    put_attempts(&sheet, &run);
    const int r = put_events(site, &sheet, &run, &err);
    sheet_write(&sheet, &res->body);
    html_end_page(&res->body);
    if (r < 0) {
        site_fail(res, r, &err);
    } else {
        site_run_check(&run, res);
    }
}
