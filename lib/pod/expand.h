/* "$(NAME)" in commands, arguments and environments, exactly as Kubernetes expands it: "$$" is a
 * dollar, so "$$(NAME)" stays; a name that is not set stays; so does an unfinished "$(". Pure. */
#pragma once

#include "base/texts.h"

/* Sets a variable in a list of "NAME=value", which has each name once; a value that it had goes. */
void expand_env_set(struct texts *env, const char *name, const char *value);

/* The text with the variables of such a list. Owned. */
char *expand(const char *text, const struct texts *env);
/* The text that expand() turns into this one. Owned. */
char *expand_escape(const char *text);
