/* Definitions by name: a file, or a shipped definition. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/texts.h"

struct definition_file { /* owned strings */
    char *path;
    char *text;
    size_t len;
    bool is_read; /* from a file or stdin; false: made from an object of the cluster */
};
void definition_file_done(struct definition_file *f);

/* The folders of definitions: $BENCHCTL_PATH, ./benchmarks, the installed ones, and the one next to
 * the build folder. */
void places_list(struct texts *ret);

/* Reads the file at `path` ("-": stdin). -ENOENT, -E2BIG, or why it cannot be read. */
int definition_read(const char *path, struct definition_file *ret, struct err *err);

/* The names of the shipped definitions, sorted, without duplicates. */
void definition_names(struct texts *ret);
/* Is NAME a file: by a slash, by its ending, or because such a file exists here? */
bool definition_is_file(const char *name);

/* NAME: a file (it has a slash or an ending .yaml, .yml, .json, or it is a file here); else
 * NAME.yaml in one of the places. -ENOENT, or why it cannot be read. */
int definition_find(const char *name, struct definition_file *ret, struct err *err);
/* Fields of struct spec_overrides, for the files that the definition names by templateFrom: from
 * its folder (of stdin, from this one), else from the first of the places that has it. */
#define TEMPLATES_OF(file) .read_template = definition_read_template, .read_template_ctx = (file)
int definition_read_template(const void *ctx, const char *name, char **ret_path,
                             struct buf *ret_text, struct err *err);
/* What to do about a NAME that was not found, or about a file (is_path): the nearest file, else the
 * nearest shipped definition, else where the names are. Owned by the caller. */
char *definition_fix(const char *name, bool is_path);
/* Reads a NAME, or the file at a path. Prints the error, with that. */
enum exit_code definition_take(const char *name, bool is_path, struct definition_file *ret);
/* Prints why a file of another kind could not be read; of one that does not exist with the nearest
 * file, else `otherwise`. */
enum exit_code file_error(int r, const char *path, const char *otherwise, const struct err *err);
