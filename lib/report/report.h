/* A result as a page, as charts, and in formats of other programs; sheets.h has its tables. Pure
 * writers into a buffer. */
#pragma once

#include "base/buf.h"
#include "result/result.h"

/* For other programs (docs/export.md), one form each in gobench.c and openmetrics.c: Go's benchmark
 * format, a line a trial; OpenMetrics text. */
void report_gobench(const struct result *r, struct buf *out);
void report_openmetrics(const struct result *r, struct buf *out);
/* A gate as JUnit's XML: a test case a check. What is slower or missed is a failure, what is not
 * known an error. gate.c. */
struct gate;
void report_junit(const struct gate *g, struct buf *out);

/* A page for a browser: one file of HTML with its charts as SVG. It asks for nothing and runs
 * nothing but page_script (style.h), and its Content-Security-Policy forbids all else. html.c. */
struct comparison;
struct reference_beside;
struct report_page {
    const struct result *result;
    const struct comparison *comparison;   /* of this result with another; NULL: none */
    const struct reference_beside *beside; /* published figures for it (sheets.h); NULL: none */
    const char *created;                   /* when the run was made, as text */
    const char *program;                   /* the program that makes the page: "benchctl 0.1.0" */
};
void report_html(const struct report_page *page, struct buf *out);
/* What it says of one run, for a page with a head and a title of its own; page_style and
 * page_script (style.h) are its style and the script of its charts. */
void report_html_sections(const struct result *r, struct buf *out);

/* A benchmark over time, for the same: what it is, a chart, what changed, and a table in which each
 * run's name is a link, `run_href` before it. run_history.c. */
struct run_history;
void report_html_history(const struct run_history *h, const char *run_href, struct buf *out);

/* One of its charts as an SVG document (svg.c). `names`: those that there are,
 * up to a NULL; static. */
enum report_chart_answer { REPORT_CHART_MADE, REPORT_CHART_EMPTY, REPORT_CHART_UNKNOWN };
enum report_chart_answer report_svg(const struct result *r, const char *chart, struct buf *out);
extern const char *const report_chart_names[];
