/* A result as text, field by field: for tests that compare two of them. A field that is added to a
 * struct and not to the lists in result_dump.c does not compile. */
#pragma once

#include "base/buf.h"
#include "result/result.h"

/* Everything but what stored figures do not keep (the texts of summaries and environments, the
 * digest of an environment), and but curves, which borrow from points: the JSON has these. */
void result_dump(const struct result *r, struct buf *out);
