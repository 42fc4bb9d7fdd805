/* Attempt rows as JSON and back, nothing lost: how they travel from benchd, which has the store, to
 * benchctl, which builds the same result from them (docs/contracts/result.md). Written by
 * store/run_document.c for the API of benchd, read by it for benchctl. Pure. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "core/phase.h"

/* Owned by the caller. Text that is no UTF-8 gets '?' for each byte that is none. */
json_t *attempt_row_to_json(const struct attempt_row *row);
/* Unknown keys are passed over, so that an older program reads a newer one. -EPROTO names the field;
 * *ret is written only on success and is the caller's (attempt_row_done). */
int attempt_row_from_json(const json_t *document, struct attempt_row *ret, struct err *err);
