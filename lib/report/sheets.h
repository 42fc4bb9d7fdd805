/* The builders of sheets, one a feature. Pure. */
#pragma once

#include "report/sheet.h"
#include "result/result.h"

/* By node: which were slow or throttled. nodes.c. */
void sheet_nodes(struct sheet *s, const struct result *r);
