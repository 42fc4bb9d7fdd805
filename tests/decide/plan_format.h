/* A plan as text, which the golden scenarios compare and the properties print. */
#pragma once

#include "base/buf.h"
#include "decide/plan.h"

/* One line an action. */
void plan_format(const struct plan *plan, struct buf *out);
