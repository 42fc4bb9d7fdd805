/* Lists of owned texts with NULL at the end, as a program's arguments and environment are. */
#pragma once

void str_list_free(char **list);        /* NULL is fine */
char **str_list_dup(char *const *list); /* of NULL: NULL */
