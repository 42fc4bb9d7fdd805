/* A row of the verb table: what the parser, the help, the manual and completion know of a verb. */
#pragma once

#include <stddef.h>

#include "base/args.h"
#include "base/exit_code.h"
#include "base/mem.h"

struct cli; /* ctl/cli/cli.h */

struct verb {
    const char *name;
    const char *args;    /* "NAME [option...]" */
    const char *summary; /* one line for the list of verbs */
    const char *group; /* of the list, which begins with this verb; NULL: that of the verb before */
    const char *examples; /* lines of --help; never NULL */
    const char *details;  /* NULL, or a paragraph of --help */
    const struct arg_opt *opts;
    size_t n_opts;
    const char *formats; /* what -o takes: "wide|json|name"; NULL: the verb does not take -o */
    size_t min_words, max_words;
    const char *instead; /* what may be meant with more words; NULL: `args` */
    enum exit_code (*run)(struct cli *cli);
};
/* The two members of an array of options. */
#define VERB_OPTS(list) .opts = (list), .n_opts = COUNT_OF(list)
