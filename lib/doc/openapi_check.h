/* Whether a document has the form that a schema says (openapi.h). Pure. */
#pragma once

#include "doc/reader.h"

/* Notes each value of `root`, and of all below it, that is not of the form that at->schema says,
 * and marks it (is_wrong), so that getters (reader.h) read the default in its place. `at` is where
 * root is. */
void schema_check(struct diags *d, const struct place *at, struct node *root);
/* The same for a text that is left to a function (x-rule), at its time. */
bool schema_check_text(struct diags *d, const struct place *place);
