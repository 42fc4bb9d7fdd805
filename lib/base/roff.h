/* Manual pages, in the macros of man(7), from the tables of the command line. Pure. */
#pragma once

#include "base/args.h"
#include "base/buf.h"

struct roff_page {
    const char *name;    /* "benchctl-run": without blanks */
    int section;         /* 1: a program for everybody, 8: a daemon */
    const char *summary; /* one line, without a full stop */
    const char *version;
};
/* The heading and the section NAME. */
void roff_begin(const struct roff_page *page, struct buf *out);
void roff_section(const char *title, struct buf *out);
/* Paragraphs; an empty line separates two. */
void roff_text(const char *text, struct buf *out);
/* Lines as they are, indented. */
void roff_lines(const char *lines, struct buf *out);
/* A term in bold with its explanation; words of it in `backquotes` become bold too. */
void roff_item(const char *term, const char *text, struct buf *out);
/* An item for each option. */
void roff_options(const struct arg_opt *opts, size_t n_opts, struct buf *out);
/* The exit codes of a program: those whose row in exit_code.h names it, or all programs. */
void roff_exit_codes(const char *program, struct buf *out);
/* "benchctl(1), benchctl-get(1)"; NULL ends the list. */
void roff_see_also(const char *const *names, int section, struct buf *out);
