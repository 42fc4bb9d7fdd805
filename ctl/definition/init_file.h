/* The definition that `benchctl init` prints: its text, and the guess of a profile. Pure. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

#define INIT_NAME_MAX_LEN 24 /* a run's name adds six characters */

/* Returns the profile that a command shows, static, with the reason for a comment; or NULL.
 * `script` is the text of the Python file that the command names; NULL if it was not read. */
#define INIT_WHY_SIZE 96
const char *init_guess_profile(const char *const *words, size_t n_words, const char *script,
                               char ret_why[static INIT_WHY_SIZE]);

/* Returns the word of the command that is a Python file, or NULL. */
const char *init_script(const char *const *words, size_t n_words);

/* A text that YAML could take for something else is quoted as in JSON, which is YAML too. */
void init_put_scalar(struct buf *out, const char *text);

/* The comment that the schema has for a field, such as "systems.profile". Static. */
const char *init_comment(const char *field);

/* A comment in place of a batch size that is not known. */
void init_put_no_batch(struct buf *out, const char *role);

struct init_params {
    const char *name; /* the benchmark's; NULL makes one from the command */
    const char *profile;
    char why[INIT_WHY_SIZE];  /* the reason of a guess; "" if the user named the profile */
    const char *image;        /* NULL if it is not known */
    const char *const *words; /* the command */
    size_t n_words;
};
void init_format(const struct init_params *params, struct buf *out);
