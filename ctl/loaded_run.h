/* A run with everything that is known of it, wherever that came from, and how people name runs. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/exit_code.h"
#include "ctl/cli.h"
#include "result/result.h"
#include "store/store.h"

struct loaded_run { /* all owned */
    struct run_row row;
    struct run_def *def;
    struct attempt_row *rows;
    size_t n_rows;
    struct event_row *events;
    size_t n_events;
    struct result *result; /* NULL, like def: the run was not accepted (yet) */
    bool is_interrupted;   /* it should be driven, but nobody does */
    json_t *object;        /* the BenchmarkRun in a cluster; NULL: there is none */
};
void loaded_run_done(struct loaded_run *run);
/* EXIT_OK if there are results to show (a note says where they are not all), or says why not. */
enum exit_code loaded_run_check(const struct cli *cli, const struct loaded_run *run);

/* Without "benchmarkrun/", "bmr/", ... Borrowed. */
const char *run_word_name(const char *what);
/* Which of the names does `what` mean: the whole name, or the characters behind its last "-"? An
 * index, or says why not: -1 with *ret_code. `fallback` is the text for one that is not there,
 * `where` the options that say where runs live. */
int run_word_match(const char *what, const char *const *names, size_t n, const char *fallback,
                   const char *where, enum exit_code *ret_code);
