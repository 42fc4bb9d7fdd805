/* From the text of a Benchmark to a spec: read, merged with its overrides, checked.
 *
 * The steps: tree_parse (place-keeping tree) -> files of templates are put in -> overrides are
 * merged into the tree -> spec_read checks everything and fills struct spec, or reports all errors
 * at once -> matrix_expand as the last check, so a spec that was loaded can be run. A `local` block
 * is checked whether it is merged or not. The merged tree, as JSON, is the frozen definition of a
 * run (without `local` where that was merged): reading it again gives the same spec.
 * docs/definitions.md. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "doc/diag.h"
#include "spec/spec.h"

struct node;     /* doc/tree.h */
struct profiles; /* spec/profile.h */

/* What the command line and the mode put on top of the file, in this order. */
struct spec_overrides {
    bool local;              /* merge spec.local first */
    const char *const *sets; /* "name=v1,v2" */
    size_t n_sets;
    const char *systems;       /* "a,b": only these; NULL: all */
    const struct node *fields; /* of `spec`, each with its option as origin; NULL: none */
    int64_t default_repeats;   /* where the merged definition does not say; 0: the schema's */
    /* The sweep is as its author wrote it, so a threshold or an exclusion that applies to no point
     * is an error. After an override, or in a frozen definition, it is skipped. */
    bool is_as_written;
    /* The profiles that systems may name besides the native worker, borrowed. NULL: unknown, as for
     * a stored definition: each is accepted, and foreign ones have no command. */
    const struct profiles *profiles;
    /* What only a stored definition may have is refused, also where profiles are unknown. */
    bool is_new;
    /* Reads a file that a role names by templateFrom: 0 with its path (owned by the caller) and its
     * text, or why it cannot be read. NULL: no file can be read, as of a stored definition, and
     * templateFrom is an error. */
    int (*read_template)(const void *ctx, const char *name, char **ret_path, struct buf *ret_text,
                         struct err *err);
    const void *read_template_ctx;
};

/* Reads a definition. Returns 0 and an owned spec; or -EINVAL with diagnostics for every problem
 * found, `*ret` untouched. `overrides` may be NULL. */
int spec_load(const char *text, size_t len, const struct spec_overrides *overrides,
              struct spec **ret, struct diags *diags);
/* The same of a document that is parsed already. */
int spec_load_tree(struct node *root_take, const struct spec_overrides *overrides,
                   struct spec **ret, struct diags *diags);

/* Reads what `benchworker bench -o trace` prints: `trace` as in the workload of a definition, and
 * the `batchSize` of its times (0: the text does not say). 0 and an owned trace, or -EINVAL with
 * diagnostics. In spec_trace.c. */
int spec_load_trace(const char *text, size_t len, struct trace *ret, int64_t *ret_batch_size,
                    struct diags *diags);
