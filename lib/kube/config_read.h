/* Reading the parts of a kubeconfig's tree, for config.c only. Pure.
 *
 * A wrong field does not stop the reading: the first error is kept, and what is read after it is
 * dropped with the rest. */
#pragma once

#include "base/err.h"
#include "doc/tree.h"
#include "kube/config.h"

struct config_reader {
    const char *path; /* of the file that the nodes are in */
    struct kube_config *config;
    struct err *err; /* the first error, with file:line:column; code 0 without one */
};

/* --- config_user.c: the user: certificate, token, plugin, impersonation --- */

/* Fills r->config. */
void config_read_user(const struct config_reader *r, const struct node *user);
void config_exec_free(struct kube_exec *exec); /* NULL is fine */
/* A token, whoever gives it, becomes part of a header. 0: it may; else the first byte that may not,
 * counted from 1. */
size_t kube_token_fault(const char *token);

/* --- config_read.c: fields --- */

/* Keeps the error if it is the first one. mark.line is 0 for the file as a whole. */
void config_fail_at(const struct config_reader *r, struct mark mark, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A string of `map`; NULL if it is absent, null, empty or wrong. */
const struct node *config_get_text(const struct config_reader *r, const struct node *map,
                                   const char *key);
/* The same as an owned text; *ret is unchanged if none exists. */
void config_copy_text(const struct config_reader *r, const struct node *map, const char *key,
                      char **ret);
/* The path of a file, relative to the kubeconfig's folder. */
void config_copy_path(const struct config_reader *r, const struct node *map, const char *key,
                      char **ret);
/* KEY-data, inline, or else KEY, a file. */
void config_copy_pem(const struct config_reader *r, const struct node *map, const char *key,
                     char **ret_pem, char **ret_file);
/* False if it is absent or wrong. */
bool config_get_bool(const struct config_reader *r, const struct node *map, const char *key);
/* `path` in the folder of the file. Owned. */
char *config_in_folder(const struct config_reader *r, const char *path);
