/* Which handler answers which path. */
#pragma once

#include "daemon/web/site.h"

/* Finds the handler of a path and calls it; 404 if there is none. */
void routes_answer(struct site *site, const struct web_request *req, struct web_response *res);
