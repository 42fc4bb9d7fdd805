/* What benchd's pages share: the frame, which reports have too (report/style.h). A page is one file
 * that loads nothing and is whole without its script. Texts from outside are escaped; links are
 * relative, so that pages work through the API server's service proxy. */
#pragma once

#include <stdbool.h>

#include "base/clock.h"
#include "daemon/web/message.h"
#include "report/style.h"

#define PAGE_MAX_ROWS 500 /* The API lists all runs and attempts. */

struct page {
    const char *title;
    const char *up;    /* the relative path to the list of runs; NULL in the list itself */
    bool must_refresh; /* the browser loads the page again every few seconds */
};
/* html_end_page ends it. */
void page_open(struct buf *out, const struct page *page);
/* "-" for time 0. Returns `ret`. */
const char *page_date(int64_t unix_ms, char ret[static CLOCK_RFC3339_SIZE]);
