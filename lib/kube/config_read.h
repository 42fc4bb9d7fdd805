/* Reading the parts of a kubeconfig's tree, for config.c only. Pure. Every function that takes a
 * reader returns 0, or -EINVAL with file:line:column in *r->err. */
#pragma once

#include "base/err.h"
#include "doc/tree.h"
#include "kube/config_types.h"

struct config_reader {
    const char *path; /* of the file that the nodes are in */
    struct kube_config *config;
    struct err *err;
};

/* --- config_user.c: the user: certificate, token, impersonation --- */

/* Fills r->config. */
int config_read_user(const struct config_reader *r, const struct node *user);

/* --- config_exec.c: the exec section of a user --- */

/* *ret: owned, NULL if the user has none. */
int config_read_exec(const struct config_reader *r, const struct node *user,
                     struct kube_exec **ret);
void config_exec_free(struct kube_exec *exec); /* NULL is fine */
struct kube_exec *config_exec_copy(const struct kube_exec *exec);

/* --- config_read.c: fields --- */

/* mark.line 0: the file as a whole. */
int config_fail_at(const struct config_reader *r, struct mark mark, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A string of `map`; NULL if absent, null or empty. */
int config_get_text(const struct config_reader *r, const struct node *map, const char *key,
                    const struct node **ret);
/* The same as an owned text; *ret is unchanged if none exists. */
int config_copy_text(const struct config_reader *r, const struct node *map, const char *key,
                     char **ret);
/* The path of a file, relative to the kubeconfig's folder. */
int config_copy_path(const struct config_reader *r, const struct node *map, const char *key,
                     char **ret);
/* KEY-data, inline, or else KEY, a file. */
int config_copy_pem(const struct config_reader *r, const struct node *map, const char *key,
                    char **ret_pem, char **ret_file);
/* *ret is false if absent. */
int config_get_bool(const struct config_reader *r, const struct node *map, const char *key,
                    bool *ret);
/* `path` in the folder of the file. Owned. */
char *config_in_folder(const struct config_reader *r, const char *path);
/* An error if `map` has the field, and it is not empty. */
int config_refuse(const struct config_reader *r, const struct node *map, const char *key,
                  const char *advice);
