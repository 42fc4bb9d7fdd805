/* What one replica runs: the role's template with the point's values set by tree path, and the
 * environment of docs/contracts/environment.md. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/texts.h"
#include "core/replica.h"
#include "spec/log_rule.h"
#include "spec/run_def.h"

/* Where the members of one attempt listen: "host:port" by role and index. A list may be NULL
 * (unknown), for instance the trainers' with addressing IP. */
struct gang_addresses {
    char **of_role[ROLE_COUNT]; /* [role][index], borrowed */
    bool is_pods;               /* addresses are those of pods: each listens on its own port 7164 */
};
#define POD_PORT 7164
#define REPLICA_VAR_MAX_BYTES                                                                      \
    ((size_t)131071) /* "NAME=value"; with its NUL, Linux' MAX_ARG_STRLEN */
/* Addresses of a role that are written one by one; of more, a pattern
 * (docs/contracts/environment.md): */
#define ADDRESS_LIST_NATIVE_MAX 16            /* for benchworker */
#define ADDRESS_LIST_MAX_BYTES ((size_t)4096) /* for other programs */

/* A variable that is added to the template's own, owned. */
struct replica_var {
    char *name, *value;
    bool expands; /* "$(NAME)" in it means a variable before it; else it stands for itself */
};

struct replica_spec { /* owned strings, NULL-terminated lists */
    struct replica_id id;
    char *
        *words; /* container 0's command and args, or the profile's default, as they are written */
    struct replica_var *env; /* in their order, after the template's */
    size_t n_env;
    char **argv; /* the words for a process: "$(NAME)" is expanded */
    char **envp; /* "NAME=value" for a process: the template's plain env first, then `env` */
    int64_t cpu_millicores; /* request, or limit, of container 0; 0: none given */
    int64_t mem_bytes;
    struct log_parser_params log; /* what its log is read with; rule NULL: it writes records */
};

/* The role's PodTemplateSpec for a point, parameters applied. Owned. NULL template: an object with
 * one empty container. -EINVAL when a path meets something it cannot set. */
int replica_template_render(const struct run_def *def, const struct point *point, enum role role,
                            json_t **ret, struct err *err);

#define UNBUFFERED "PYTHONUNBUFFERED"
/* Words of a command that starts several processes with one pipe. Python writes each part of a line
 * by itself if that is set, and such processes would tear each other's lines. NULL ends it. */
extern const char *const pipe_sharers[];

/* Everything for one process. The secret is not here: the launcher passes it by descriptor and adds
 * BENCHD_SECRET_FD itself. */
int replica_spec_build(const struct run_def *def, const struct replica_id *id,
                       const struct gang_addresses *addresses, struct replica_spec *ret,
                       struct err *err);
void replica_spec_done(struct replica_spec *spec);

/* "$(NAME)" in commands, arguments and environments, exactly as Kubernetes expands it: "$$" is a
 * dollar, so "$$(NAME)" stays; a name that is not set stays; so does an unfinished "$(". Pure. */

/* Sets a variable in a list of "NAME=value", which has each name once; a value that it had goes. */
void expand_env_set(struct texts *env, const char *name, const char *value);

/* The text with the variables of such a list. Owned. */
char *expand(const char *text, const struct texts *env);
/* The text that expand() turns into this one. Owned. */
char *expand_escape(const char *text);
