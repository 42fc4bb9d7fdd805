/* Where a result comes from, as sections of its page: the machines, and how to run it again. */
#pragma once

#include "report/layout.h"
#include "report/report.h"

/* The table of several nodes; of a single one the environment says what there is to say. */
void html_put_nodes(struct buf *out, const struct result *r);
void html_put_environment(struct buf *out, const struct layout *l);
/* The frozen definition, the command, and what made the page. A definition that is too long for a
 * page is left out. */
void html_put_definition(struct buf *out, const struct report_page *page);
