/* What benchd's pages share: head, foot and cells. A page works without scripts: chart.js
 * (lib/report) shows values; live.js only asks for the state (live_state.h) and for the
 * part that has changed, as `?part=1`, instead of the whole page anew. Everything from outside is
 * escaped; links are relative, so that pages work through the API server's service proxy. Pure but
 * for the form of dates. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "core/phase.h"
#include "daemon/web/message.h"

#define PAGE_MAX_ROWS 500 /* of a table; the API has all */

struct page {
    const char *title;
    const char *up;   /* relative path to the root: "" or "../" */
    const char *live; /* relative path of the state; NULL: the page does not change by itself */
    bool has_charts;
};
void page_open(struct buf *out, const struct page *page);
void page_close(struct buf *out, const struct page *page);
/* An error (web_fail) of a request that prefers a page to JSON becomes one;
 * others stay as they are. */
void page_fail(const struct web_request *req, struct web_response *res);
/* Only the part that changes is asked for, without head and foot. */
bool page_is_part(const struct web_request *req);

/* "<name>text</name>" with the text escaped. */
void page_element(struct buf *out, const char *name, const char *text);
void page_date(struct buf *out, int64_t unix_ms); /* 0: "-" */
/* An escaped text of a URL's query: what is no letter, digit or "-._" is written as %XX. */
void page_query(struct buf *out, const char *text);
/* The start of a table that scrolls in its box; `heads` as HTML. page_close_table ends it. */
void page_open_table(struct buf *out, const char *label, const char *heads);
void page_close_table(struct buf *out);

/* A table of `n` attempts of the run from that one on, with links to logs, and of a failure to its
 * line. `up`: the relative path to the root. */
struct site_run;
void page_attempts(struct buf *out, const char *up, const struct site_run *run, size_t from,
                   size_t n);
