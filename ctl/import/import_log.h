/* One old log: read from its file, it becomes what the store keeps of a trainer that ended well. By
 * the same parser as the output of a live one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/replica.h"
#include "ctl/import/import_file.h"
#include "ctl/import/import_shape.h"
#include "logparse/parser.h"
#include "logparse/suggest.h"
#include "run/capture.h"

#define IMPORT_LOG_BYTES ((size_t)64 << 20) /* kept of one, as of the output of a process */

struct import_log {
    struct replica_id id;
    struct log_parser_params params;
    struct log_parser *parser; /* owned */
    struct capture capture;    /* its text */
    int64_t first_ns, last_ns; /* dates of its lines; 0: they have none */
    double batch;              /* that it names as its own; 0: none */
    struct import_shape shape; /* at its end */
    const char *path;          /* borrowed */
    struct import_file file;
    char *summary_line; /* at its end; owned; NULL: it has no figure that counts */
    int64_t steps;
    struct buf why; /* why the log has no figure, in lines; owned */
    char *fix;      /* what to do then; owned; NULL: nothing is known */
};

/* `params->rule` is not NULL; its on_figure and ctx are not read. */
struct import_log *import_log_new(const struct log_parser_params *params,
                                  const struct replica_id *id, size_t max_bytes);
void import_log_free(struct import_log *l); /* NULL is fine */
/* Errors as of import_file_read. */
int import_log_read(struct import_log *l, const char *path, const char **ret_fix, struct err *err);
/* The log is complete. `speaks_for_all`: it is the only one of `params.trainers`. */
void import_log_end(struct import_log *l, bool speaks_for_all);
/* What to do where a figure is withheld: its witnesses disagree, or the run is no result. */
const char *import_log_remedy(bool disagrees);
/* A rule made of a line, as log_suggest_rule writes it, but none of an evaluation. */
int import_log_suggest(const char *text, size_t len, const struct log_parser_params *who,
                       struct log_suggestion *ret, struct buf *out);
/* Why no rule reads a log, with the line that shows it, and what to do then (NULL: nothing is
 * known). Both are owned. */
char *import_log_unread(const char *text, size_t len, const struct log_parser_params *who,
                        char **ret_fix);
