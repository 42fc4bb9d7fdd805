/* What is wrong between benchd and the API server, told once and not borne for ever at the start. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct daemon;

/* The first failure that lasts, of the watches or of the Lease; false: all is well. `source` numbers
 * where it comes from. */
bool trouble_get(const struct daemon *d, int *ret_source, struct err *ret);
/* Once a look: logs a failure when it begins and when all is well again; ends the daemon if it could
 * not begin its work in time. */
void trouble_look(struct daemon *d);
