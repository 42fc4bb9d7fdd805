/* Lists of owned texts with NULL at the end, as a program's arguments and environment are. */
#pragma once

#include <stdbool.h>

void str_list_free(char **list);        /* NULL is fine */
char **str_list_dup(char *const *list); /* of NULL: NULL */
/* Has a list of NAME=VALUE the name of this entry? */
bool str_list_sets(char *const *list, const char *entry);
