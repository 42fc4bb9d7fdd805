/* Which attempt, as JSON. Pure. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "core/phase.h"

/* With the keys point, trial and attempt; of NULL: null. */
json_t *attempt_id_to_json(const struct attempt_id *id);
/* From these keys; -EPROTO names the one that is wrong. */
int attempt_id_from_json(const json_t *object, struct attempt_id *ret, struct err *err);
