/* poll() for many connections that stay: the kernel keeps their set (epoll), so a turn costs what
 * has news and not what there is. With 100 trainers and 20 servers poll() took an eighth of all CPU
 * time. What comes and goes is polled with it, in one call. */
#pragma once

#include <poll.h>
#include <stddef.h>

struct conn;
struct epoll_event;

struct conn_set {
    int fd;                    /* owned; -1 if conn_set_init failed */
    int error;                 /* the first failure; 0: none */
    size_t n;                  /* slots of connections */
    struct epoll_event *ready; /* (n) owned */
};

/* A failure is reported by conn_set_wait, here and in conn_set_watch. */
void conn_set_init(struct conn_set *s, size_t n);
/* Its connections have been closed. */
void conn_set_done(struct conn_set *s);
/* From now on conn_set_wait reports the connection's events in this slot. conn_close() takes it out
 * of the set before its number can be another connection's. Call it before each wait, because a
 * connection that has something to send has more to wait for. Returns what conn_watch returns. */
struct pollfd conn_set_watch(struct conn_set *s, size_t slot, struct conn *c);
/* As poll(). The first s->n of the n_fds are what conn_set_watch returned (.fd -1: no connection);
 * `fds` has room for one more at its end. 0, or -errno where a connection cannot be watched. */
int conn_set_wait(struct conn_set *s, struct pollfd *fds, size_t n_fds, int timeout_ms);
