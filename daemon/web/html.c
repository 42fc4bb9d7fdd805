/* Pages for people: the list of runs, and a run with what `benchctl report` shows. No scripts;
 * everything from outside is escaped; links are relative, so that the pages work behind the API
 * server's service proxy. */
#include <stdlib.h>

#include "base/clock.h"
#include "daemon/web/site.h"
#include "report/report.h"
#include "report/style.h"
#include "report/table.h"

#define MAX_LISTED 500 /* rows of a list; the API has all of them */
#define REFRESH_S 5

void html_style(struct site *site, const struct web_request *req, const char *run,
                struct web_response *res)
{
    (void)site, (void)req, (void)run;
    res->content_type = "text/css; charset=utf-8";
    buf_puts(&res->body, page_style);
}

/* `up`: the relative path to the root, "" or "../". */
static void put_head(struct buf *out, const char *title, const char *up, bool is_live)
{
    buf_puts(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width\">\n");
    if (is_live) {
        buf_printf(out, "<meta http-equiv=\"refresh\" content=\"%d\">\n", REFRESH_S);
    }
    buf_puts(out, "<title>");
    html_escape(title, out);
    buf_printf(out, "</title>\n<link rel=\"stylesheet\" href=\"%sstyle.css\">\n</head>\n<body>\n",
               up);
}

static void put_date(struct buf *out, int64_t unix_ms)
{
    char text[CLOCK_RFC3339_SIZE] = "-";
    if (unix_ms != 0) {
        clock_format_rfc3339(unix_ms, text);
    }
    buf_puts(out, text);
}

static void put_element(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, "<%s>", name);
    html_escape(text, out);
    buf_printf(out, "</%s>", name);
}

/* --- The list -------------------------------------------------------------------------------- */

static void put_item(struct buf *out, const struct site_item *item)
{
    const struct run_status *st = &item->row.status;
    buf_puts(out, "<tr><td><a href=\"runs/");
    html_escape(item->row.name, out);
    buf_puts(out, "\">");
    html_escape(item->row.name, out);
    buf_printf(out, "</a></td><td>%s%s</td><td class=\"r\">%u/%u</td><td class=\"r\">%u</td><td>",
               run_phase_to_string(st->phase), item->is_interrupted ? " (interrupted)" : "",
               st->trials_done, st->trials_total, st->trials_failed);
    put_date(out, item->row.created_unix_ms);
    buf_puts(out, "</td></tr>\n");
}

void html_runs(struct site *site, const struct web_request *req, const char *run,
               struct web_response *res)
{
    (void)req, (void)run;
    struct site_list list;
    struct err err = {0};
    int r = site_list_runs(site, &list, &err);
    if (r < 0) {
        site_fail(res, r, &err);
        return;
    }
    struct buf *out = &res->body;
    res->content_type = WEB_HTML;
    put_head(out, "Runs - benchd", "", true);
    buf_puts(out, "<h1>Runs</h1>\n");
    if (list.items.len == 0) {
        buf_puts(out, "<p>No runs yet. Start one with <code>benchctl run NAME</code>.</p>\n");
    } else {
        buf_puts(out, "<div class=\"scroll\" "
                      "tabindex=\"0\">\n<table>\n<thead><tr><th>NAME</th><th>PHASE</th><th "
                      "class=\"r\">TRIALS</th>"
                      "<th class=\"r\">FAILED</th><th>CREATED</th></tr></thead>\n<tbody>\n");
        for (size_t i = 0; i < list.items.len && i < MAX_LISTED; i++) {
            put_item(out, &list.items.items[i]);
        }
        buf_puts(out, "</tbody>\n</table>\n</div>\n");
    }
    if (list.items.len > MAX_LISTED) {
        buf_printf(
            out,
            "<p class=\"soft\">%zu older runs are listed at <a href=\"api/v1/runs\">api/v1/runs</a>"
            "</p>\n",
            list.items.len - MAX_LISTED);
    }
    buf_puts(out, "</body>\n</html>\n");
    site_list_done(&list);
}

/* --- A run ----------------------------------------------------------------------------------- */

static void put_log_link(struct buf *out, const char *run, const struct replica_row *rep)
{
    const char *role = role_to_string(rep->id.role);
    buf_puts(out, "<a href=\"../api/v1/runs/");
    html_escape(run, out);
    buf_printf(out, "/logs?point=%u&amp;trial=%u&amp;attempt=%u&amp;role=%s&amp;index=%u\">",
               rep->id.attempt.point, rep->id.attempt.trial, rep->id.attempt.number, role,
               rep->id.index);
    buf_printf(out, "%s/%u</a> ", role, rep->id.index);
}

/* Links the log of the first replica of each role: nobody clicks through a hundred trainers. */
static void put_attempt(struct buf *out, const char *run, const struct attempt_row *row)
{
    buf_printf(out,
               "<tr><td class=\"r\">%u</td><td class=\"r\">%u</td><td class=\"r\">%u</td>"
               "<td>%s</td><td>",
               row->id.point, row->id.trial, row->id.number,
               attempt_outcome_to_string(row->outcome));
    vec_each (const struct replica_row, rep, &row->replicas) {
        if (rep->id.index == 0) {
            put_log_link(out, run, rep);
        }
    }
    buf_puts(out, "</td><td>");
    html_escape(row->error == NULL ? "" : row->error, out);
    buf_puts(out, "</td></tr>\n");
}

static void put_attempts(struct buf *out, const struct site_run *run)
{
    if (run->n_rows == 0) {
        return;
    }
    buf_puts(out, "<h2>Attempts and their logs</h2>\n<div class=\"scroll\" "
                  "tabindex=\"0\">\n<table>\n<thead><tr><th class=\"r\">POINT</th>"
                  "<th class=\"r\">TRIAL</th><th class=\"r\">ATTEMPT</th><th>OUTCOME</th>"
                  "<th>LOGS</th><th>ERROR</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < run->n_rows && i < MAX_LISTED; i++) {
        put_attempt(out, run->item.row.name, &run->rows[i]);
    }
    buf_puts(out, "</tbody>\n</table>\n</div>\n");
    if (run->n_rows > MAX_LISTED) {
        buf_printf(out, "<p class=\"soft\">%zu more attempts are in the API.</p>\n",
                   run->n_rows - MAX_LISTED);
    }
}

static void put_event(struct buf *out, const struct event_row *row)
{
    buf_puts(out, "<tr><td>");
    put_date(out, row->unix_ms);
    buf_puts(out, "</td><td>");
    html_escape(row->reason, out);
    buf_puts(out, "</td><td>");
    html_escape(row->note, out);
    buf_puts(out, "</td></tr>\n");
}

/* The last ones. */
static void put_events(const struct site *site, struct buf *out, const struct site_run *run)
{
    struct store *s = site->store;
    struct event_row *rows = NULL;
    size_t n = 0;
    if (!run->item.is_stored || s->ops->list_events(s, run->item.row.uid, &rows, &n, NULL) < 0 ||
        n == 0) {
        return; /* the rest of the page is useful without them */
    }
    buf_puts(out, "<h2>Events</h2>\n<div class=\"scroll\" tabindex=\"0\">\n<table>\n<tbody>\n");
    for (size_t i = n > MAX_LISTED ? n - MAX_LISTED : 0; i < n; i++) {
        put_event(out, &rows[i]);
    }
    buf_puts(out, "</tbody>\n</table>\n</div>\n");
    for (size_t i = 0; i < n; i++) {
        event_row_done(&rows[i]);
    }
    free(rows);
}

static void put_status(struct buf *out, const struct site_run *run)
{
    const struct run_status *st = &run->item.row.status;
    buf_printf(out, "<p><span class=\"tag%s\">%s%s</span>%s%s &middot; %u of %u trials",
               st->phase == RUN_FAILED || st->phase == RUN_PARTIALLY_FAILED ? " bad" : "",
               run_phase_to_string(st->phase), run->item.is_interrupted ? " (interrupted)" : "",
               run->item.row.rehearsal ? " REHEARSAL" : "",
               run->item.row.simulated ? " SIMULATED" : "", st->trials_done, st->trials_total);
    if (st->trials_failed > 0) {
        buf_printf(out, ", %u failed", st->trials_failed);
    }
    if (st->has_current) {
        buf_printf(out, " &middot; running point %u, trial %u", st->current.point,
                   st->current.trial);
    }
    buf_puts(out, "</p>\n");
    if (st->message[0] != '\0') {
        put_element(out, "p", st->message);
        buf_putc(out, '\n');
    }
}

void html_run(struct site *site, const struct web_request *req, const char *name,
              struct web_response *res)
{
    (void)req;
    struct site_run run;
    struct err err = {0};
    int r = site_run_load(site, name, SITE_RESULT, &run, &err);
    if (r < 0) {
        site_fail(res, r, &err);
        return;
    }
    struct buf *out = &res->body;
    res->content_type = WEB_HTML;
    put_head(out, run.item.row.name, "../", !run_phase_is_final(run.item.row.status.phase));
    buf_puts(out, "<p><a href=\"../\">Runs</a></p>\n");
    put_element(out, "h1", run.item.row.name);
    buf_putc(out, '\n');
    put_status(out, &run);
    if (run.result != NULL) {
        report_html_sections(run.result, out);
        buf_puts(out, "<p><a href=\"../api/v1/runs/");
        html_escape(run.item.row.name, out);
        buf_puts(out, "/results\">Results as JSON</a></p>\n");
    }
    put_attempts(out, &run);
    put_events(site, out, &run);
    buf_puts(out, "</body>\n</html>\n");
    site_run_done(&run);
}
