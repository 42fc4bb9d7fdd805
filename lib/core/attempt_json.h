/* Attempt rows as JSON and back without loss: benchd, which has the store, sends them to benchctl,
 * which builds the same result from them (docs/contracts/result.md). Used by store/run_document.c
 * on both sides. Pure. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "core/phase.h"

/* Owned by the caller. Each byte that is not valid UTF-8 becomes '?'. */
json_t *attempt_row_to_json(const struct attempt_row *row);
/* With the keys point, trial and attempt; of NULL: null. */
json_t *attempt_id_to_json(const struct attempt_id *id);
/* From these keys; -EPROTO names the one that is wrong. */
int attempt_id_from_json(const json_t *object, struct attempt_id *ret, struct err *err);
/* Unknown keys are ignored, so that an older program reads a newer one. -EPROTO names the field;
 * *ret is written only on success and is the caller's (attempt_row_done). */
int attempt_row_from_json(const json_t *document, struct attempt_row *ret, struct err *err);
