/* "$(NAME)" in commands, arguments and environments, exactly as Kubernetes expands it: "$$" is a
 * dollar, so "$$(NAME)" stays; a name that is not set stays; so does an unfinished "$(". Pure. */
#pragma once

#include "base/vec.h"

struct expand_env { /* "NAME=value", owned; each name once */
    VEC(char *) list;
};
void expand_env_done(struct expand_env *env);
/* Sets a variable; a value that it had goes. */
void expand_env_set(struct expand_env *env, const char *name, const char *value);

/* The text with its variables. Owned. */
char *expand(const char *text, const struct expand_env *env);
/* The text that expand() turns into this one. Owned. */
char *expand_escape(const char *text);
