/* A run as a file of its own (docs/contracts/run-file.md): an SQLite database with the tables of a
 * store (schema.sql), which has this run alone, and the table `file`. `benchctl export` and `benchd
 * --archive` write it, benchd's API gives it, and whoever has it reads it as a store. It travels
 * compressed. Calls block. */
#pragma once

#include <stdio.h>

#include "base/buf.h"
#include "store/store.h"

#define RUN_FILE_ENDING ".benchd.db" /* of a file's name */
#define RUN_FILE_ZSTD ".zst"         /* after that: compressed */
#define RUN_FILE_MAX_BYTES ((size_t)4 << 30)
#define RUN_FILE_DIGEST_SIZE 65

/* The table `file`. */
struct run_file_head {
    char *program;                     /* that wrote it: "benchctl 0.1.0"; owned */
    char digest[RUN_FILE_DIGEST_SIZE]; /* SHA-256 of all rows, in hex */
};
void run_file_head_done(struct run_file_head *head);

/* Makes an empty file for one, with `near` at the start of its name, which the caller unlinks;
 * *ret_path is owned. run_file_sweep unlinks those that killed processes left. */
int run_file_room(const char *near, char **ret_path, struct err *err);
void run_file_sweep(const char *near);

struct run_file_parts {
    struct attempt_wanted attempts;
    bool without_logs;
};
#define RUN_FILE_ALL ((struct run_file_parts){.attempts = {-1, -1, -1}})
/* Writes the run of the store into the empty file `path`. What is written is not read: whoever
 * gives it to others does that, as damage is copied. `digest` has room for one. -ENOENT. */
int run_file_make(struct store *from, const char *uid, const struct run_file_parts *parts,
                  const char *program, const char *path, char *digest, struct err *err);

/* Is an error of these functions one that ends, as a full disk does? */
bool run_file_may_work_later(int r);

/* A file from elsewhere, to be read alone: it has the tables and nothing else, no row contradicts
 * another, and the digest is that of its rows. -EPROTO says what it is not; -EPROTONOSUPPORT: a
 * newer version. Errors do not name the file. */
int run_file_open(const char *path, struct store **ret, struct run_file_head *head,
                  struct err *err);
/* Reads every row and log of such a file, as of a run that has ended, makes the run anew in the
 * empty file `path`, which is opened, and compares: what follows from other rows is what the file
 * says. -EPROTO: what is wrong. */
int run_file_take(struct store *file, const char *path, struct store **ret, struct err *err);
/* The run of a file that run_file_take opened, whole or not at all, by this name. -EEXIST: there is
 * a run of that name or uid. */
int run_file_put(struct store *file, const char *name, struct store *to, struct err *err);
/* The only run of a file. */
int run_file_run(struct store *file, struct run_row *ret, struct err *err);
/* Reads every row and log of it, as run_file_take does, and counts replicas that printed something
 * but have no log. */
int run_file_check(struct store *file, const struct run_row *row, const struct run_def *def,
                   size_t *ret_n_lost, struct err *err);

/* --- run_file_zstd.c --- */

/* Appends the file, compressed or as it is, with buf_spill. */
int run_file_send(const char *path, bool is_packed, struct buf *out, struct err *err);
/* The other way: writes what `in` has, compressed or not, into the file `path`. -EPROTO: it is
 * neither; -E2BIG: more than max_bytes. */
int run_file_unpack(FILE *in, const char *path, size_t max_bytes, struct err *err);
