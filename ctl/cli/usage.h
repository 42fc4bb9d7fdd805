/* Help texts, made from the verb table. Pure. */
#pragma once

#include "base/buf.h"
#include "ctl/cli/verb.h"

/* Help of the program or of one verb; `program` as in struct cli. */
void usage_program(const char *program, const struct verb *const *verbs, size_t n_verbs,
                   struct buf *out);
void usage_verb(const char *program, const struct verb *verb, struct buf *out);

/* The options that every verb takes. */
extern const struct arg_opt usage_global_opts[];
extern const size_t usage_n_global_opts;
