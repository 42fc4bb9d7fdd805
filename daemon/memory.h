/* What the process holds of the machine's memory. For glibc's allocator; others go their own way.
 * Edge file: the environment. */
#pragma once

/* First of all in main(): starts the program again, once, under settings of the allocator that
 * glibc takes from the environment only. Where that cannot be, it goes on as it is. */
void memory_set_up(char **argv);
/* Gives back to the system what is free. Some ten microseconds for a small heap. */
void memory_rest(void);
