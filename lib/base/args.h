/* Table-driven command lines: one table feeds parsing, --help, the hint for a mistyped option,
 * shell completion and man pages.
 *
 * Accepted: --name value, --name=value, -n value, -nvalue, flags, "--" ends options, options and
 * positional words in any order. Values are borrowed from argv. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct arg_opt {
    const char *name;       /* without dashes */
    char short_name;        /* 0: none */
    const char *value_name; /* NULL: a flag */
    const char *help;
    const char *field; /* what the value is a field of, for the program; NULL: of nothing */
};

struct arg_value {
    const struct arg_opt *opt;
    const char *value; /* NULL for a flag */
};

struct args {
    struct arg_value *values;
    size_t n_values;
    const char **words; /* positional */
    size_t n_words;
};

/* Parses argv[0..argc) (without program and verb). -EINVAL with a hint if the line is wrong.
 * "--help" and "-h" are always known: see args_has(a, "help"). */
int args_parse(const struct arg_opt *opts, size_t n_opts, int argc, char *const *argv,
               struct args *ret, struct err *err);
void args_done(struct args *a);

/* What is being typed at the end of a command line. */
struct args_end {
    enum { ARGS_AT_WORD, ARGS_AT_OPTION, ARGS_AT_VALUE } place;
    const struct arg_opt *opt; /* the option that it is a value of; else NULL */
    const char *text;          /* typed so far: of the value alone after "--name="; borrowed */
};
/* Parses a line whose last argument (argc >= 1) is still being typed. Wrong
 * options are left out. */
void args_parse_typed(const struct arg_opt *opts, size_t n_opts, int argc, char *const *argv,
                      struct args *ret, struct args_end *ret_end);

bool args_has(const struct args *a, const char *name);
/* The last value given, or `fallback`. Borrowed. */
const char *args_get(const struct args *a, const char *name, const char *fallback);
/* The i-th value of a repeatable option, NULL after the last. */
const char *args_get_nth(const struct args *a, const char *name, size_t i);

/* Appends the option table as aligned help lines of 80 columns at most. */
void args_help(const struct arg_opt *opts, size_t n_opts, struct buf *out);
