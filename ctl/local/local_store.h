/* The local store as verbs use it: opened from --store or the default, its runs found by what users
 * type. */
#pragma once

#include "ctl/cli/cli.h"
#include "ctl/runs/run_word.h"
#include "load/loaded_run.h"
#include "result/result.h"
#include "store/store.h"

/* "sqlite:FILE" of --store, or of $XDG_DATA_HOME, or of ~/.local/share. Owned; NULL if none of
 * them is set. */
char *local_store_url(const struct cli *cli);

/* The same as options of a command that the user can copy: "--local" or "--store URL". Owned. */
char *local_store_options(const struct cli *cli);

/* What an error of a store call means for the program. */
enum exit_code local_store_exit_code(int r);

/* Opens it. EXIT_OK, or prints the error (EXIT_NOT_FOUND for a missing file). */
enum exit_code local_store_open(const struct cli *cli, bool create, struct store **ret);

/* True: it is the default's place, and no run has created it yet. */
bool local_store_is_to_come(const struct cli *cli);

/* RUN: a name, a uid, the five characters at a name's end, with or without
 * "benchmarkrun/"; or "latest". */
enum exit_code local_store_find_run(const struct cli *cli, struct store *s, const char *what,
                                    struct run_row *ret);

/* The run with everything that is stored about it. */
enum exit_code local_store_load_run(const struct cli *cli, struct store *s, const char *what,
                                    struct loaded_run *ret);
/* As load_figures of backend.h. */
enum exit_code local_store_load_figures(const struct cli *cli, struct store *s, const char *what,
                                        const struct loaded_run *like, struct loaded_run *ret);

/* Prints a note for each other run of the store that is running: its processes compete with this
 * one's. */
void local_store_note_others(const struct cli *cli, struct store *s, const char *uid);

/* Has it not ended, although no process is running it? */
bool local_store_is_interrupted(struct store *s, const struct run_row *row);
