/* The log of a replica that does not write records: its rule turns lines into step records
 * for the live view, and into a summary at the end. Used by both launchers. Pure but for the CPU
 * time that a rule may take: dates come with the bytes. */
#pragma once

#include "core/record.h"
#include "core/replica.h"
#include "logparse/parser.h"

struct log_reader;
typedef void (*log_reader_step_fn)(void *ctx, const struct record *record);

/* params->rule is not NULL; its on_figure and ctx are not read. */
struct log_reader *log_reader_new(const struct log_parser_params *params,
                                  const struct replica_id *id, log_reader_step_fn on_step,
                                  void *ctx);
void log_reader_free(struct log_reader *l); /* NULL is fine */
void log_reader_feed(struct log_reader *l, enum log_stream stream, const char *data, size_t len,
                     int64_t t_ns);

/* Has it so many measured steps that benchd ends the program? */
enum log_reader_steps { LOG_STEPS_TOO_FEW, LOG_STEPS_ENOUGH, LOG_STEPS_ENOUGH_FOR_ALL };
enum log_reader_steps log_reader_steps(const struct log_reader *l);

/* What the log of a replica that has ended is worth. */
struct log_reader_end {
    struct summary *summary; /* owned; NULL: no throughput follows from the log */
    char *why;               /* owned, several lines; NULL: there is a summary */
    json_t *versions;        /* that it says; owned; NULL: none */
    json_t *reading; /* what its lines were taken for; owned; NULL: it was not read to its end */
};
void log_reader_end_done(struct log_reader_end *e);
void log_reader_end(struct log_reader *l, int64_t t_ns, struct log_reader_end *ret);

/* The output of a replica that ended well without a summary: what the definition needs so that it
 * has one. `who->rule` NULL: it should have written records. Owned; continues `why_take` (of
 * log_reader_end; NULL: none). */
char *log_reader_advise(char *why_take, const char *output, size_t len,
                        const struct log_parser_params *who);
