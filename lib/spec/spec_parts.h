/* Parts that several fields of a definition and of a profile share. */
#pragma once

#include <stdbool.h>

#include "core/replica.h"
#include "doc/reader.h"
#include "spec/spec.h"

/* Is the variable's name there, and none of benchd's own? One of these is noted. */
bool spec_env_name_is_free(struct diags *diags, const struct place *name);
/* The roles of the field `roles`; without it all of them. */
void spec_read_roles_or_all(const struct place *map, bool *flags);
/* Appends the texts of a list. */
void spec_read_words(const struct place *map, const char *key, struct command *ret);
