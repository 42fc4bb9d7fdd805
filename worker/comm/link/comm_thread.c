/* See comm_thread.h. */
#include "worker/comm/link/comm_thread.h"

#include <signal.h>

int comm_thread_start(pthread_t *ret, void *(*main)(void *arg), void *arg)
{
    sigset_t all, old;
    (void)sigfillset(&all); /* cannot fail */
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    const int code = pthread_create(ret, NULL, main, arg);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return code;
}
