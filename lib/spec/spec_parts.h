/* Parts that several fields of a definition and of a profile share. */
#pragma once

#include <stdbool.h>

#include "core/role.h"
#include "doc/reader.h"
#include "spec/spec.h"

/* "/spec/...", a path into a pod template; notes another. */
bool spec_path_is_valid(struct diags *diags, const struct place *place, const char *path);
/* The words of a list, which may be empty; not a list or not words: noted. */
bool spec_read_words(struct diags *diags, const struct place *list, struct command *ret);
/* A name for an environment variable that is not benchd's own; another is noted. NULL: not there,
 * or noted. Borrowed. */
const char *spec_read_env_name(struct diags *diags, const struct place *place);
/* The words of a list as flags: flags[i] is set where it has names[i]. */
void spec_read_flags(struct diags *diags, const struct place *map, const char *key,
                     const char *const *names, size_t n, bool *flags);
/* The roles of the field `roles`; without it all of them. */
void spec_read_roles_or_all(struct diags *diags, const struct place *map, bool *flags);
/* Of a map with something for each role that it names. */
extern const char *const spec_role_fields[ROLE_COUNT + 1];
/* Equal whole numbers, or equal texts. */
bool spec_same_scalar(const struct node *a, const struct node *b);
