/* See conn_set.h. */
#include "worker/comm/link/conn_set.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "base/mem.h"

void conn_set_init(struct conn_set *s, size_t n)
{
    const int fd = epoll_create1(EPOLL_CLOEXEC);
    *s = (struct conn_set){.fd = fd < 0 ? -errno : fd,
                           .n = n,
                           .known = xnew_array(struct pollfd, n),
                           .ready = xnew_array(struct epoll_event, n)};
    for (size_t i = 0; i < n; i++) {
        s->known[i].fd = -1;
    }
}

void conn_set_done(struct conn_set *s)
{
    fd_close(&s->fd);
    free(s->known);
    free(s->ready);
}

/* First what has gone, because its number may be another slot's by now. */
static int update(struct conn_set *s, const struct pollfd *fds)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->known[i].fd >= 0 && s->known[i].fd != fds[i].fd) {
            (void)epoll_ctl(s->fd, EPOLL_CTL_DEL, s->known[i].fd, NULL); /* fails if it is closed */
            s->known[i].fd = -1;
        }
    }
    for (size_t i = 0; i < s->n; i++) {
        const bool is_known = s->known[i].fd >= 0;
        struct epoll_event event = {.events = (uint32_t)fds[i].events, .data.u64 = i};
        if (fds[i].fd < 0 || (is_known && s->known[i].events == fds[i].events)) {
            continue;
        }
        if (epoll_ctl(s->fd, is_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fds[i].fd, &event) < 0) {
            return -errno;
        }
        s->known[i] = fds[i];
    }
    return 0;
}

int conn_set_wait(struct conn_set *s, struct pollfd *fds, size_t n_fds, int timeout_ms)
{
    const int r = s->fd < 0 ? s->fd : update(s, fds);
    if (r < 0) {
        return r;
    }
    fds[n_fds] = (struct pollfd){.fd = s->fd, .events = POLLIN};
    (void)poll(fds + s->n, n_fds + 1 - s->n, timeout_ms); /* an error: it finds nothing to do */
    const int n_ready = fds[n_fds].revents == 0 ? 0 : epoll_wait(s->fd, s->ready, (int)s->n, 0);
    for (int i = 0; i < n_ready; i++) {
        fds[s->ready[i].data.u64].revents = (short)s->ready[i].events;
    }
    return 0;
}
