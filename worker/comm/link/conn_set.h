/* poll() for many connections that stay: the kernel keeps their set (epoll), so a turn costs what
 * has news and not what there is. With 100 trainers and 20 servers poll() took an eighth of all CPU
 * time. What comes and goes is polled with it, in one call. */
#pragma once

#include <poll.h>
#include <stddef.h>

struct epoll_event;

struct conn_set {
    int fd;                    /* owned; -errno: conn_set_init failed */
    size_t n;                  /* slots of connections */
    struct pollfd *known;      /* (n) owned: what the set has; .fd -1: nothing */
    struct epoll_event *ready; /* (n) owned */
};

/* A failure is reported by conn_set_wait. */
void conn_set_init(struct conn_set *s, size_t n);
void conn_set_done(struct conn_set *s);
/* As poll(). The first s->n of the n_fds are connections, each in a slot of its own (.fd -1: none
 * now); `fds` has room for one more at its end. Between two calls a slot may not close its
 * connection and get another one: the new one could have the same number. 0, or -errno where a
 * connection cannot be watched. */
int conn_set_wait(struct conn_set *s, struct pollfd *fds, size_t n_fds, int timeout_ms);
