/* Keeps the memory of the process small: that of glibc's allocator, and the mapped code. */
#pragma once

/* Call it first in main(), before threads and large allocations. */
void memory_set_up(void);
/* Returns free memory to the system, and unmaps the code of benchd and of its libraries, most of
 * which runs once, at the start. What runs again is mapped again, 64 KiB at a time. */
void memory_rest(void);
