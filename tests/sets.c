/* Linked into a program of the tests, this ends it when it closes a descriptor that a set of the
 * kernel (epoll) still has: until its owner takes it out, the number may become somebody else's.
 * It stands in for two functions of libc, for shared libraries too. */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_FD 4096

static _Atomic int set_of[MAX_FD]; /* the last set that has had it, or 0 */

int epoll_ctl(int set, int op, int fd, struct epoll_event *event)
{
    const int r = (int)syscall(SYS_epoll_ctl, set, op, fd, event);
    if (r == 0 && fd < MAX_FD) {
        set_of[fd] = op == EPOLL_CTL_DEL ? 0 : set;
    }
    return r;
}

int close(int fd)
{
    static const char why[] = "# a descriptor is closed that is still in a set\n";
    const int set = fd >= 0 && fd < MAX_FD ? set_of[fd] : 0;
    /* libuv closes its own descriptors without this function, so what is known may be old. */
    if (set != 0 && syscall(SYS_epoll_ctl, set, EPOLL_CTL_DEL, fd, NULL) == 0) {
        (void)!write(STDERR_FILENO, why, sizeof(why) - 1); /* the test fails in any case */
        abort();
    }
    return (int)syscall(SYS_close, fd);
}
