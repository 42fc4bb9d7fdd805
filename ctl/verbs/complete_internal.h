/* A line that is being typed, and the candidates for its last word (complete_offers.c). */
#pragma once

#include "ctl/cli/cli.h"

struct typing {
    struct cli cli;      /* what has been typed so far; its verb may be NULL */
    struct args_end end; /* the last word */
    struct arg_opt opts[CLI_MAX_OPTS];
    struct buf out; /* a candidate a line */
    unsigned hints; /* enum completion_hint */
};

/* Each of "a|b|c"; NULL: none. */
void complete_choices(struct typing *t, const char *choices);
void complete_verbs(struct typing *t);
void complete_options(struct typing *t);
void complete_runs(struct typing *t);
/* Definitions to run: shipped ones, those of the cluster, files. */
void complete_definitions(struct typing *t);
/* The NAMEs of `get`, of the kind that the line names; of `compare --axis`: what the run swept; of
 * other verbs: definitions. */
void complete_names(struct typing *t);
/* The points of the run that the line names. */
void complete_points(struct typing *t);
/* Systems and swept names of the definition that the line names. */
void complete_systems(struct typing *t);
void complete_swept(struct typing *t);
/* What the run swept, and the figures of a table over such axes. */
void complete_axes(struct typing *t);
void complete_figures(struct typing *t);
void complete_charts(struct typing *t);
void complete_roles(struct typing *t);
void complete_formats(struct typing *t);
void complete_profiles(struct typing *t);
/* The log rules that ship, and files; the same for published figures. */
void complete_rules(struct typing *t);
void complete_references(struct typing *t);
/* The fields of a definition, and of a run after 'benchmarkrun'. */
void complete_paths(struct typing *t);
void complete_columns(struct typing *t);
void complete_files(struct typing *t);
void complete_stores(struct typing *t);

/* The name of the i-th word in a verb's `args`: "RUN_B" for 1 in "RUN_A RUN_B [option...]", "FILE"
 * for any in "FILE...". Owned; NULL: there is no such word. */
char *complete_word_name(const char *args, size_t i);
