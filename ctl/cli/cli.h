/* What every verb of benchctl shares: the global options, and how it prints. Data goes to stdout;
 * notes, progress and errors go to stderr. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/args.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/exit_code.h"
#include "base/mem.h"
#include "doc/diag.h"

/* A row of the verb table: what the parser, the help, the manual and completion know of a verb. */

struct cli;

struct verb {
    const char *name;
    const char *args;     /* "NAME [option...]" */
    const char *summary;  /* one line for the list of verbs */
    const char *group;    /* the heading above this verb in the list; NULL: as the verb before */
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

struct cli {
    const char *program;             /* "benchctl", or "kubectl bench" as its plugin */
    const struct verb *const *verbs; /* all of them */
    size_t n_verbs;
    const struct verb *verb; /* the one that runs */
    struct args args;        /* words: without the verb itself */
    const char *output;      /* -o, checked against the verb's formats; "" if not given */
    bool is_local;           /* --local */
    const char *store;       /* --store; NULL if not given */
    const char *namespace, *context, *kubeconfig; /* NULL if not given; not with the two above */
    bool is_quiet;
    bool no_headers;
    bool color_stdout, color_stderr;
    bool ascii; /* the locale has no UTF-8 */
};

/* What --color takes. */
#define CLI_COLORS "auto|always|never"

/* NULL: it does not exist. */
const struct verb *cli_find_verb(const struct verb *const *verbs, size_t n, const char *name);
/* The whole program: finds the verb, parses, runs it. */
enum exit_code cli_main(const struct verb *const *verbs, size_t n_verbs, int argc, char **argv);

/* Reads a line whose last argument (argc >= 1) is still being typed; what is wrong is left out. The
 * verb stays NULL where none was typed yet. False: there is no such verb. argv is without the
 * program, and gets another order. `opts` must live as long as the arguments. */
#define CLI_MAX_OPTS 40
bool cli_parse_typed(struct cli *cli, int argc, char **argv, struct arg_opt opts[CLI_MAX_OPTS],
                     struct args_end *ret_end);

/* The columns of the terminal at `fd`: its width, else $COLUMNS, else 80. */
unsigned terminal_columns(int fd);

/* "error: text" and, unless NULL, "fix: text" on stderr. Returns `code`. */
enum exit_code cli_error(enum exit_code code, const char *fix, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* What is wrong with the text of a file (NULL: it could not be made), on stderr. EXIT_USAGE. */
enum exit_code cli_print_diags(const struct diags *diags, const char *file, const char *text);
/* A note on stderr; silent with -q. */
void cli_note(const struct cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for prose: on a terminal it is broken at blanks, so that it fits. A note with a command,
 * which people copy, is one line. */
void cli_note_prose(const struct cli *cli, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes data to stdout; to a terminal as text_put_shown of base/str.h does. EXIT_OK, or
 * EXIT_LOCAL_RESOURCE after printing the error. */
enum exit_code cli_print(const struct buf *out);
/* Returns an empty buffer for cli_print of a long text. buf_spill writes what was made so far,
 * unless stdout is a terminal. */
struct buf cli_stream(void);

/* --OPTION as a whole number from `min` to `max`; *ret stays where it is not given. EXIT_OK, or
 * prints the error. */
enum exit_code cli_take_number(const struct cli *cli, const char *option, int64_t min, int64_t max,
                               int64_t *ret);
/* Is `word` the kind of runs: runs, run, bmr, ...? */
bool cli_is_run_kind(const char *word);
bool cli_is_benchmark_kind(const char *word);
bool cli_output_is(const struct cli *cli, const char *format);

/* ---- usage.c: help texts, made from the verb table ---- */

/* Help of the program or of one verb; `program` as in struct cli. */
void usage_program(const char *program, const struct verb *const *verbs, size_t n_verbs,
                   struct buf *out);
void usage_verb(const char *program, const struct verb *verb, struct buf *out);

/* The options that every verb takes. */
extern const struct arg_opt usage_global_opts[];
extern const size_t usage_n_global_opts;
