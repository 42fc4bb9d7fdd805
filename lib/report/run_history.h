/* One benchmark over time, to read. Pure. */
#pragma once

#include "report/report.h"
#include "result/run_history.h"

struct report_history {
    const struct run_history *history;
    const char *const *dates; /* when each entry's run was made, "2026-11-21T..." */
};
void report_history_text(const struct report_history *h, const struct report_opts *opts,
                         struct buf *out);
void report_history_markdown(const struct report_history *h, struct buf *out);
/* For a page: what it is, a chart, and a table in which each run's name is a link,
 * `run_href` before it. */
void report_history_html(const struct report_history *h, const char *run_href, struct buf *out);
/* A line a run. */
void report_history_csv(const struct report_history *h, struct buf *out);
/* The document of docs/contracts/history.md. */
void report_history_json(const struct report_history *h, struct buf *out);
