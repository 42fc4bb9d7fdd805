/* What the process holds of the machine's memory. For glibc's allocator; others go their own way. */
#pragma once

/* First of all in main(), before a thread and before much is allocated. */
void memory_set_up(void);
/* Gives back to the system what is free. Some ten microseconds for a small heap. */
void memory_rest(void);
