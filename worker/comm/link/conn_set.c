/* See conn_set.h. */
#include "worker/comm/link/conn_set.h"

#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/mem.h"
#include "worker/comm/link/conn.h"

static void note_error(struct conn_set *s, int r)
{
    if (r < 0 && s->error == 0) {
        s->error = errno;
    }
}

void conn_set_init(struct conn_set *s, size_t n)
{
    *s = (struct conn_set){
        .fd = epoll_create1(EPOLL_CLOEXEC), .n = n, .ready = xnew_array(struct epoll_event, n)};
    note_error(s, s->fd);
}

void conn_set_done(struct conn_set *s)
{
    fd_close(&s->fd);
    free(s->ready);
}

struct pollfd conn_set_watch(struct conn_set *s, size_t slot, struct conn *c)
{
    const struct pollfd wanted = conn_watch(c);
    struct epoll_event event = {.events = (uint32_t)wanted.events, .data.u64 = slot};
    if (wanted.fd >= 0 && wanted.events != c->watched) {
        const int op = c->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
        note_error(s, epoll_ctl(s->fd, op, wanted.fd, &event));
        c->set_fd = s->fd;
        c->watched = wanted.events;
    }
    return wanted;
}

int conn_set_wait(struct conn_set *s, struct pollfd *fds, size_t n_fds, int timeout_ms)
{
    if (s->error != 0) {
        return -s->error;
    }
    fds[n_fds] = (struct pollfd){.fd = s->fd, .events = POLLIN};
    (void)poll(fds + s->n, n_fds + 1 - s->n, timeout_ms); /* an error: it finds nothing to do */
    const int n_ready = fds[n_fds].revents == 0 ? 0 : epoll_wait(s->fd, s->ready, (int)s->n, 0);
    for (int i = 0; i < n_ready; i++) {
        fds[s->ready[i].data.u64].revents = (short)s->ready[i].events;
    }
    return 0;
}
