/* What `benchctl try` observes of a trial, what it reads in that, and the log rule that it
 * concludes. Pure. */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "core/record.h"
#include "logparse/lines.h"
#include "logparse/parser.h"
#include "run/launcher.h"
#include "spec/run_def.h"

struct try_output { /* of a trainer or worker */
    /* What was observed, with the times at which it arrived. */
    int64_t steps; /* that a rule has read so far, with those of the warm-up */
    int64_t measured, first_t_ns, last_t_ns; /* the others, and when they were printed */
    struct buf text;                         /* stdout and stderr, up to a limit */
    VEC(struct log_arrival) parts;           /* of the text */
    bool is_stderr;                          /* the last part is of stderr */
    size_t checked;                          /* bytes of the text that have been read by a rule */
    bool
        is_settling; /* what the rule has read there is contradicted, as the start of an epoch is */
    /* What the definition's rule reads in it. */
    struct log_parser *parser; /* owned; NULL: the replica writes records */
    bool has_figure;
    struct log_result result;         /* with a figure; owned */
    uint64_t n_lines, n_numbered;     /* lines with a figure, and those of them with a step */
    const struct log_line_rule *line; /* of the rule, which has read the last of them; borrowed */
    struct log_quote last;            /* that line of the output; its number is 0 without one */
};

struct try_trial {
    struct run_def *def; /* of one point; owned */
    int64_t steps;       /* with those of the warm-up; so many of them end the trial */
    struct try_output *list;
    uint32_t n;
    bool is_unmet; /* no process has listened on the MASTER_PORT that the workers were given */
    bool is_whole; /* the program has ended by itself */
    /* What the outputs say together. */
    const struct try_output *first; /* with lines of a figure, even if that is withheld; NULL */
    uint32_t n_printing;            /* outputs with such lines */
    uint32_t n_figures, n_job;      /* outputs with a figure, and those that speak for all */
    const struct try_output *shown; /* the least certain of them; NULL without a reading */
    bool has_figure;
    double rate;      /* of all together */
    const char *unit; /* "samples/s"; static */
    int64_t n_steps;  /* that were measured; 0: lines of this kind count none */
};
/* `steps`: measured steps that are enough. */
void try_trial_init(struct try_trial *t, struct run_def *def_take, int64_t steps);
void try_trial_done(struct try_trial *t);

/* --- outputs.c -------------------------------------------------------------------------------- */

/* The output of a replica; NULL for a server. */
struct try_output *try_output_of(const struct try_trial *t, const struct replica_id *id);
/* Takes a record of any replica. Returns true if enough is known: if each trainer has its steps, or
 * if one prints for all. A program that writes records ends by itself. */
bool try_take_record(struct try_trial *t, const struct replica_id *id, const struct record *record);
/* Takes a part of an output. Returns true if the definition's rule reads none of it for a while,
 * and another rule reads enough. */
bool try_take_text(struct try_trial *t, const struct replica_id *id,
                   const struct replica_text *text);
/* Appends the name of a shipped rule that reads an output, or a rule made of one of its lines.
 * Returns the number of lines that it reads; 0: no line is surely a figure. `age_ns`: how long the
 * program has printed, for a rule that ships is certain earlier; INT64_MAX: it has ended. */
uint64_t try_find_rule(const struct try_trial *t, const struct try_output *o, int64_t age_ns,
                       struct buf *out);

/* Reads all outputs by the rule of the definition. The definition by which they were read before
 * must still exist. */
void try_read(struct try_trial *t);
/* Does its line state a rate or samples, so that the samples of a step follow from it? */
bool try_states_rate(const struct try_output *o);
/* Appends "3 steps found, 123.4 samples/s by the rule torch-ddp (...)" and a newline, what the
 * lines were taken for, and the verdict; or, without a figure, why it is missing. */
void try_put_figure(const struct try_trial *t, struct buf *out);
const char *try_role(const struct try_trial *t); /* "worker" */

/* --- learn.c ---------------------------------------------------------------------------------- */

struct try_rule {      /* as `log` of a system has it */
    struct buf text;   /* the name of a shipped rule, or a rule of one line; empty without a rule */
    const char *scope; /* "Each" or "Job", for a rule of one line; NULL: the default */
    bool is_summary;   /* it reads one line of the whole run, which has no warm-up */
    bool counts_steps; /* its figures are steps/s */
    int64_t skip;      /* lines of the warm-up */
};
void try_rule_put(const struct try_rule *rule, struct buf *out);
/* Sets the scope if the rule that read both trials is wrong in giving each figure to its replica,
 * and appends the reason. False: the outputs do not show the scope; then it appends a line of each
 * and the two rules to choose from. */
bool try_learn_scope(const struct try_trial *one, const struct try_trial *several,
                     struct try_rule *rule, struct buf *said);
/* How many lines are of the warm-up; appends a sentence. */
void try_learn_warmup(const struct try_trial *one, struct try_rule *rule, struct buf *said);

json_t *try_json_of(const char *text, size_t len); /* of YAML; owned; NULL: it is not valid */
/* The text with this rule in a system, and nothing else changed. False: the place is not plain, as
 * in a system or an old rule of several lines or in brackets. */
bool try_put_log(const char *text, size_t len, const char *system, const char *rule,
                 struct buf *out, unsigned *ret_line);
