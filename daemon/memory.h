/* Keeps the memory of the process small, as far as glibc's allocator can. */
#pragma once

/* Call it first in main(), before threads and large allocations. */
void memory_set_up(void);
/* Returns free memory to the system; takes about ten microseconds for a small heap. */
void memory_rest(void);
