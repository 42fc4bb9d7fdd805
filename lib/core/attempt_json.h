/* Attempt rows as JSON and back, nothing lost: how they travel from benchd, which has the store, to
 * benchctl, which builds the same result from them (docs/contracts/result.md). Written by
 * store/run_document.c for the API of benchd, read by it for benchctl. Pure. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "core/result.h"

/* Owned by the caller. Text that is no UTF-8 gets '?' for each byte that is none. */
json_t *attempt_row_to_json(const struct attempt_row *row);
/* Unknown keys are passed over, so that an older program reads a newer one. -EPROTO names the field;
 * *ret is written only on success and is the caller's (attempt_row_done). */
int attempt_row_from_json(const json_t *document, struct attempt_row *ret, struct err *err);

/* A whole number in lo..hi; -EPROTO names the key. */
int json_field_int(const json_t *object, const char *key, int64_t lo, int64_t hi, int64_t *ret,
                   struct err *err);
/* A text, borrowed; -EPROTO names the key. */
int json_field_text(const json_t *object, const char *key, const char **ret, struct err *err);
/* A text or null (NULL), borrowed. A missing key is null. */
int json_field_text_or_null(const json_t *object, const char *key, const char **ret,
                            struct err *err);
/* The text as a JSON string, its bytes made UTF-8; null for NULL. Owned. */
json_t *json_text_or_null(const char *text);
