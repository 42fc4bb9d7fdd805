/* Where a result comes from, as sections of its page (run_page.c): the machines, and how to run it
 * again. In run_page_origin.c. */
#pragma once

#include "report/layout.h"
#include "report/sheets.h"

/* The table of several nodes; of a single one the environment says what there is to say. */
void run_page_put_nodes(struct sheet *s, const struct result *r);
void run_page_put_environment(struct sheet *s, const struct layout *l);
/* The frozen definition, the command, and what made the page. A definition that is too long for a
 * page is left out. */
void run_page_put_definition(struct sheet *s, const struct run_page *page);
