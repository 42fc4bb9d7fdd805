/* Shell completion: what could come next on a command line.
 *
 * The shells' scripts (cmd_completion.c) call `benchctl __complete WORD...`; the last word is the
 * one that is being typed. It prints a candidate a line, with its description after a tab, and last
 * ":N", where N is a sum of enum completion_hint (complete_offers.h). That is the protocol of
 * programs made with cobra, so that kubectl completes `kubectl bench` through the plugin
 * kubectl_complete-bench.
 *
 * The candidates come from the tables that the parser uses. What an option's value or a word may be
 * follows from its name there: RUN is a run, FILE a file. */
#pragma once

#include "ctl/cli/verb.h"

/* argv: the words after the program's name. Ends within a second, whatever a cluster does. Always
 * EXIT_OK, and nothing is written to stderr: a person is typing there. */
enum exit_code complete_main(const struct verb *const *verbs, size_t n_verbs, int argc,
                             char **argv);
/* The name of the i-th word in a verb's `args`, "RUN_B" for 1 in "RUN_A RUN_B [option...]", "FILE"
 * for any in "FILE...". Owned; NULL: there is no such word. */
char *complete_word_name(const char *args, size_t i);
