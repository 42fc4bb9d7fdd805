/* Shell completion: what could come next on a command line.
 *
 * The shells' scripts (cmd_completion.c) call `benchctl __complete WORD...`; the last word is the
 * one that is being typed. It prints a candidate a line, with its description after a tab, and last
 * ":N", where N is a sum of enum completion_hint. That is the protocol of programs made with cobra,
 * so that kubectl completes `kubectl bench` through the plugin kubectl_complete-bench.
 *
 * The candidates come from the tables that the parser uses. What an option's value or a word may be
 * follows from its name there: RUN is a run, FILE a file. */
#pragma once

#include "ctl/cli/cli.h"

enum completion_hint {
    COMPLETION_NO_SPACE = 2, /* the word is not finished with the candidate */
    COMPLETION_NO_FILES = 4, /* else the shell offers files too */
    COMPLETION_SORTED = 32,  /* keep the order of the candidates */
};

/* argv: the words after the program's name. Ends within a second, whatever a cluster does. Always
 * EXIT_OK, and nothing is written to stderr: a person is typing there. */
enum exit_code complete_main(const struct verb *const *verbs, size_t n_verbs, int argc,
                             char **argv);
