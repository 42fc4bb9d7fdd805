/* The files that travel with a run (docs/export.md): those that its commands named, as its replicas
 * found them, or those of spec.files. */
#pragma once

#include <jansson.h>

#include "spec/run_def.h"
#include "store/store.h"

struct carry {
    struct store *store;       /* borrowed */
    const struct run_def *def; /* borrowed */
    json_t *seen;              /* names, each as a key; owned */
};
/* Files of spec.files. One that cannot be read, or has no room or is stored already, is left out:
 * the run goes on, and reproduce names what is missing. */
void carry_begin(struct carry *c, struct store *s, const struct run_def *def);
/* Files that this attempt named, if the definition has no list. */
void carry_attempt(struct carry *c, const struct attempt_row *row);
void carry_done(struct carry *c);
