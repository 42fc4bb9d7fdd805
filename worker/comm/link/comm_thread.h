/* Threads of the exchange. */
#pragma once

#include <pthread.h>

/* pthread_create with all signals blocked in the new thread: the main thread handles
 * them. 0 or an errno code. */
int comm_thread_start(pthread_t *ret, void *(*main)(void *arg), void *arg);
