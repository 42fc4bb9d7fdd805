/* Waking those who sleep, see doorbell.h. */
#include "worker/comm/shm/doorbell.h"

#include <sys/socket.h>

#include "base/fd.h"

/* Rings that are read at once: the others wake the owner once more. A hostile
 * process rings without end. */
#define RINGS_MOST 64

int doorbell_new(struct doorbell *b, struct err *err)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0) {
        return err_set_errno(err, errno, "make a doorbell");
    }
    *b = (struct doorbell){fds[0], fds[1]};
    return 0;
}

void doorbell_done(struct doorbell *b)
{
    fd_close(&b->fd);
    fd_close(&b->hand_fd);
}

void doorbell_clear(const struct doorbell *b)
{
    char ring;
    for (int i = 0; i < RINGS_MOST && recv(b->fd, &ring, sizeof(ring), MSG_DONTWAIT) >= 0; i++) {
    }
}

static int option_of(int fd, int name)
{
    int value = -1;
    socklen_t len = sizeof(value);
    return getsockopt(fd, SOL_SOCKET, name, &value, &len) < 0 ? -1 : value;
}

int doorbell_check(int hand_fd, struct err *err)
{
    return option_of(hand_fd, SO_DOMAIN) == AF_UNIX && option_of(hand_fd, SO_TYPE) == SOCK_DGRAM
               ? 0
               : err_set(err, EPROTO, "the doorbell that it gave is not a local datagram socket");
}

void doorbell_ring(int hand_fd)
{
    const ssize_t n = send(hand_fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)
        n; /* it is full: the owner will wake; or the owner has gone, and its connection says so */
}
