/* The manual pages benchctl(1) and benchctl-VERB(1), from the tables of the parser. Pure. */
#pragma once

#include "base/buf.h"
#include "ctl/cli/verb.h"

void man_program(const struct verb *const *verbs, size_t n_verbs, struct buf *out);
void man_verb(const struct verb *verb, struct buf *out);
