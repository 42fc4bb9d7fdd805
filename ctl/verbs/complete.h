/* Shell completion: what could come next on a command line.
 *
 * The shells' scripts (cmd_completion.c) call `benchctl __complete WORD...`; the last word is the
 * one that is being typed. It prints a candidate a line, with its description after a tab, and last
 * ":N", where N is a sum of enum completion_hint (complete.c). That is the protocol of programs
 * made with cobra, so that kubectl completes `kubectl bench` through the plugin
 * kubectl_complete-bench.
 *
 * The candidates come from the tables that the parser uses. The name of an option's value or of a
 * word there says what it may be: PROFILE is a profile, FILE a file. No store and no cluster is
 * asked, so names of runs are typed: five characters or `latest`. */
#pragma once

#include "base/exit_code.h"

#include <stddef.h>

/* `argv` has the words after the program's name. It always returns EXIT_OK and writes nothing to
 * stderr: a person is typing there. */
enum exit_code complete_main(int argc, char **argv);
/* The name of the i-th word in a verb's `args`: "RUN_B" for 1 in "RUN_A RUN_B [option...]", "FILE"
 * for any in "FILE...". Owned; NULL if there is no such word. */
char *complete_word_name(const char *args, size_t i);
