/* A stored run as one JSON document and back: what benchd's API gives at
 * /api/v1/runs/NAME/attempts, and from which benchctl makes the same tables as from a store of its
 * own. Keys: docs/contracts/attempts.md. Pure but for memory; called by daemon/web and by
 * ctl/cluster/cluster_*.c. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "store/store.h"

#define RUN_DOCUMENT_KIND "BenchmarkRunAttempts"

/* Everything that is known of a run; all owned. */
struct run_document {
    struct run_row row; /* definition_json NULL: the run was not accepted (yet) */
    VEC(struct attempt_row) attempts;
    struct event_row *events;
    size_t n_events;
};
void run_document_done(struct run_document *d);

/* `row->definition_json` may be NULL. The lists are the caller's choice: all, or some. Owned;
 * NULL: the definition is no JSON. */
json_t *run_document_to_json(const struct run_row *row, const struct attempt_row *attempts,
                             size_t n_attempts, const struct event_row *events, size_t n_events);
/* Fills *d, which is all zero, or stays so: -EPROTO says which field is wrong. */
int run_document_from_json(const json_t *document, struct run_document *d, struct err *err);
/* The same from a text, of which one attempt at a time is a tree where it is as archives have it.
 * -E2BIG: a tree would be of more than max_bytes. */
int run_document_read(const struct buf *text, size_t max_bytes, struct run_document *d,
                      struct err *err);

/* Phase, reason, message and counts of a status as the API writes it in all its documents; times
 * and the current trial stay zero, each document has its own form of them. -EPROTO as above. */
int run_status_counts_from_json(const json_t *status, struct run_status *ret, struct err *err);

/* The items of a list of runs: `benchctl get runs -o json` and /api/v1/runs print the same keys. */
#define RUN_LIST_KIND "BenchmarkRunList"

/* One item. `is_interrupted`: the run is not final, and no process drives it. Owned. */
json_t *run_item_to_json(const struct run_row *row, bool is_interrupted);
/* A date in RFC 3339; null for 0, which means "not yet". Owned. */
json_t *run_time_to_json(int64_t unix_ms);
