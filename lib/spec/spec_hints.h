/* The line to write, where a definition has what other tools or older habits taught. */
#pragma once

#include <stdbool.h>

#include "doc/diag.h"
#include "doc/tree.h"

/* True: the document is something else, such as a PyTorchJob; that is one problem, and the rest of
 * it is not looked at. */
bool spec_hints_refuse_kind(const struct node *root, struct diags *diags);

/* Replaces the fix of each problem in `found` that is a known habit: `repeats: 5` gets
 * "write 'repeats: {min: 5}'". Values that do not come from the file are left alone. */
void spec_hints_apply(const struct node *root, struct diags *found);
