/* The definition that `benchctl init` prints: its text, and the guess of a profile. Pure. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

#define INIT_NAME_MAX_LEN 24 /* a run's name adds six characters */

/* The profile that a command shows, with the reason for a comment; NULL: nothing shows
 * one. `script`: the text of the Python file that the command names; NULL: it could not be
 * read. Both are static. */
const char *init_guess_profile(const char *const *words, size_t n_words, const char *script,
                               const char **ret_why);

/* The word of the command that is a Python file; NULL: none is. */
const char *init_script(const char *const *words, size_t n_words);

/* A text that YAML could take for something else is quoted as in JSON, which is YAML too. */
void init_put_scalar(struct buf *out, const char *text);

struct init_params {
    const char *name; /* of the benchmark; NULL: made of the command */
    const char *profile;
    const char *why;          /* it was guessed; NULL: the user has named it */
    const char *image;        /* NULL: not known */
    const char *const *words; /* of the command */
    size_t n_words;
};
void init_format(const struct init_params *params, struct buf *out);
