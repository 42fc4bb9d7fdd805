/* Segments are handed over, see shm_pass.h. */
#include "worker/comm/shm/shm_pass.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "worker/comm/link/little_endian.h"
#include "worker/comm/shm/doorbell.h"

#define BACKLOG 128
#define ASK_WAIT_MS 20
#define N_FDS 2 /* segment, doorbell */

static const uint8_t magic_ask[4] = {'b', 'n', 'c', '?'};
static const uint8_t magic_give[4] = {'b', 'n', 'c', '!'};
enum { AT_FROM = 4, AT_TO = 8, AT_NONCE = 12, AT_ASK_TAG = 48, AT_GIVE_TAG = 8 };

void shm_pass_key(const uint8_t secret[static AUTH_SECRET_SIZE], const struct frame_id *self,
                  struct auth_key *ret)
{
    uint8_t text[32] = "benchd-shm-1";
    put64(text + 16, self->run);
    put32(text + 24, self->attempt);
    auth_hmac(secret, AUTH_SECRET_SIZE, text, sizeof(text), ret->bytes);
}

/* HMAC(key, purpose || from || to || nonces) */
static void tag_of(const struct auth_key *key, uint8_t purpose, uint32_t from, uint32_t to,
                   const uint8_t *asked, const uint8_t *memory, uint8_t ret[AUTH_TAG_SIZE])
{
    uint8_t text[1 + 4 + 4 + 2 * AUTH_NONCE_SIZE] = {purpose};
    put32(text + 1, from);
    put32(text + 5, to);
    if (asked != NULL) {
        memcpy(text + 9, asked, AUTH_NONCE_SIZE);
    }
    if (memory != NULL) {
        memcpy(text + 9 + AUTH_NONCE_SIZE, memory, AUTH_NONCE_SIZE);
    }
    auth_hmac(key->bytes, sizeof(key->bytes), text, sizeof(text), ret);
}

void shm_ask_encode(const struct auth_key *key, uint32_t from, uint32_t to,
                    const uint8_t nonce[static AUTH_NONCE_SIZE], uint8_t ret[static SHM_ASK_SIZE])
{
    memset(ret, 0, SHM_ASK_SIZE);
    memcpy(ret, magic_ask, sizeof(magic_ask));
    put32(ret + AT_FROM, from);
    put32(ret + AT_TO, to);
    memcpy(ret + AT_NONCE, nonce, AUTH_NONCE_SIZE);
    tag_of(key, '?', from, to, nonce, NULL, ret + AT_ASK_TAG);
}

bool shm_ask_read(const struct auth_key *key, uint32_t self, uint32_t n_ranks, const uint8_t *data,
                  size_t n, uint32_t *ret_from, uint8_t ret_nonce[static AUTH_NONCE_SIZE])
{
    if (n != SHM_ASK_SIZE || memcmp(data, magic_ask, sizeof(magic_ask)) != 0) {
        return false;
    }
    const uint32_t from = get32(data + AT_FROM), to = get32(data + AT_TO);
    uint8_t tag[AUTH_TAG_SIZE];
    tag_of(key, '?', from, to, data + AT_NONCE, NULL, tag);
    if (!auth_equal(tag, data + AT_ASK_TAG, sizeof(tag)) || to != self || from == self ||
        from >= n_ranks) {
        return false;
    }
    *ret_from = from;
    memcpy(ret_nonce, data + AT_NONCE, AUTH_NONCE_SIZE);
    return true;
}

/* `asked` is the nonce of ASK, `memory` that of the segment. */
static void give_encode(const struct auth_key *key, uint32_t from, uint32_t to,
                        const uint8_t asked[static AUTH_NONCE_SIZE],
                        const uint8_t memory[static AUTH_NONCE_SIZE],
                        uint8_t ret[static SHM_GIVE_SIZE])
{
    memset(ret, 0, SHM_GIVE_SIZE);
    memcpy(ret, magic_give, sizeof(magic_give));
    tag_of(key, '!', from, to, asked, memory, ret + AT_GIVE_TAG);
}

/* ---- sockets ---- */

/* Returns the length of the address: a zero, and the name without one at its end. */
static socklen_t name_of(const struct auth_key *key, uint32_t rank, struct sockaddr_un *ret)
{
    uint8_t tag[AUTH_TAG_SIZE];
    tag_of(key, '@', rank, rank, NULL, NULL, tag);
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    char *at = ret->sun_path + 1;
    const size_t size = sizeof(ret->sun_path) - 1;
    int n = snprintf(at, size, "benchworker-");
    for (size_t i = 0; i < AUTH_TAG_SIZE / 2; i++) {
        n += snprintf(at + n, size - (size_t)n, "%02x", tag[i]); /* fits */
    }
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int new_socket(struct err *err)
{
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd < 0 ? err_set_errno(err, errno, "make a local socket") : fd;
}

int shm_pass_listen(const struct auth_key *key, uint32_t self, struct err *err)
{
    struct sockaddr_un name;
    const socklen_t len = name_of(key, self, &name);
    const int fd = new_socket(err);
    if (fd < 0) {
        return fd;
    }
    if (bind(fd, (const struct sockaddr *)&name, len) < 0 || listen(fd, BACKLOG) < 0) {
        const int code = errno;
        (void)close(fd); /* the first error counts */
        return err_set_errno(err, code, "listen on a local socket");
    }
    return fd;
}

static bool is_same_user(int fd)
{
    struct ucred who;
    socklen_t len = sizeof(who);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.uid == geteuid();
}

union fd_control {
    struct cmsghdr header;
    char room[CMSG_SPACE(N_FDS * sizeof(int))];
};

static void give(int fd, const uint8_t *message, int segment_fd, int doorbell_fd)
{
    const int fds[N_FDS] = {segment_fd, doorbell_fd};
    union fd_control control = {0};
    struct iovec iov = {(void *)(uintptr_t)message, SHM_GIVE_SIZE};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.room,
                         .msg_controllen = sizeof(control.room)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(header), fds, sizeof(fds));
    const ssize_t n = sendmsg(fd, &msg, MSG_NOSIGNAL);
    (void)n; /* the asking side has gone, or asks again */
}

bool shm_pass_answer(struct net_listener *l, int64_t now_ns, const struct auth_key *key,
                     uint32_t self, uint32_t n_ranks, const struct shm_segment *own,
                     int doorbell_fd)
{
    struct err err;
    const int fd = net_accept(l, now_ns, &err);
    if (fd < 0) {
        return false; /* or it has gone again, or asks again: there is no room for it now */
    }
    uint8_t ask[SHM_ASK_SIZE + 1], answer[SHM_GIVE_SIZE], nonce[AUTH_NONCE_SIZE];
    uint32_t from;
    if (is_same_user(fd)) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        (void)poll(&p, 1, ASK_WAIT_MS); /* whatever it returns, the next call says what is wrong */
        const ssize_t n = recv(fd, ask, sizeof(ask), MSG_DONTWAIT);
        if (n > 0 && shm_ask_read(key, self, n_ranks, ask, (size_t)n, &from, nonce)) {
            give_encode(key, self, from, nonce, own->control->nonce, answer);
            give(fd, answer, own->fd, doorbell_fd);
        }
    }
    (void)close(fd); /* what was sent stays readable */
    return true;
}

/* The descriptors of a message, all of which are the caller's. Returns how many there are. */
static size_t take_fds(struct msghdr *msg, int ret[static N_FDS])
{
    size_t n = 0;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h != NULL; h = CMSG_NXTHDR(msg, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const size_t here = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < here && n < N_FDS; i++) {
            memcpy(&ret[n++], CMSG_DATA(h) + i * sizeof(int), sizeof(int));
        }
    }
    return n;
}

/* Reads GIVE with its descriptors, which are the caller's then. 1: they are; 0: it has not come;
 * -EPIPE: it does not. */
static int receive(int fd, uint8_t ret[static SHM_GIVE_SIZE], int ret_fds[static N_FDS],
                   struct err *err)
{
    union fd_control control = {0};
    uint8_t message[SHM_GIVE_SIZE + 1];
    struct iovec iov = {message, sizeof(message)};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.room,
                         .msg_controllen = sizeof(control.room)};
    const ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EAGAIN) {
        return 0;
    }
    if (n < 0) {
        return -EPIPE;
    }
    int fds[N_FDS];
    const size_t n_fds = take_fds(&msg, fds); /* a message without a byte can bring some */
    if (n == 0 && n_fds == 0) {
        return -EPIPE;
    }
    if (n != SHM_GIVE_SIZE || n_fds != N_FDS || (msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0 ||
        memcmp(message, magic_give, sizeof(magic_give)) != 0) {
        for (size_t i = 0; i < n_fds; i++) {
            (void)close(fds[i]); /* unwanted */
        }
        return err_set(err, EPROTO, "a wrong answer came on its local socket");
    }
    memcpy(ret, message, SHM_GIVE_SIZE);
    memcpy(ret_fds, fds, sizeof(fds));
    return 1;
}

/* Takes the descriptors over, maps the memory, and reads back the proof of its owner. 1: *ret and
 * the doorbell are the caller's. */
static int take_given(const struct shm_ask *a, const struct auth_key *key, uint32_t self,
                      uint32_t to, const struct shm_layout *layout, const uint8_t *message,
                      const int fds[static N_FDS], struct shm_segment *ret, int *ret_doorbell_fd,
                      struct err *err)
{
    struct shm_segment s;
    int r = shm_segment_open(&s, layout, fds[0], err);
    if (r >= 0) {
        uint8_t nonce[AUTH_NONCE_SIZE], want[SHM_GIVE_SIZE];
        memcpy(nonce, s.control->nonce, sizeof(nonce)); /* once: its owner can change it */
        give_encode(key, to, self, a->nonce, nonce, want);
        r = auth_equal(want, message, sizeof(want))
                ? doorbell_check(fds[1], err)
                : err_set(err, EPROTO, "the memory that it gave is not its own");
        if (r < 0) {
            shm_segment_done(&s);
        }
    }
    if (r < 0) {
        (void)close(fds[1]); /* unwanted */
        return r;
    }
    *ret = s;
    *ret_doorbell_fd = fds[1];
    return 1;
}

/* Connects, and asks. 0: asked, or later: the other rank has no room for another who
 * asks, or has hung up. */
static int ask(struct shm_ask *a, const struct auth_key *key, uint32_t self, uint32_t to,
               struct err *err)
{
    struct sockaddr_un name;
    const socklen_t len = name_of(key, to, &name);
    uint8_t message[SHM_ASK_SIZE];
    int r = auth_nonce(a->nonce, err);
    if (r < 0) {
        return r;
    }
    a->fd = r = new_socket(err);
    if (r < 0) {
        return r;
    }
    if (connect(a->fd, (const struct sockaddr *)&name, len) < 0) {
        if (errno == EAGAIN) {
            shm_ask_done(a);
            return 0;
        }
        return err_set(err, ENOENT, "%s: it is on another host, or in another network namespace",
                       strerrordesc_np(errno));
    }
    if (!is_same_user(a->fd)) {
        return err_set(err, EPROTO, "its local socket belongs to another user");
    }
    shm_ask_encode(key, self, to, a->nonce, message);
    if (send(a->fd, message, sizeof(message), MSG_NOSIGNAL) != (ssize_t)sizeof(message)) {
        shm_ask_done(a);
    }
    return 0;
}

int shm_ask_turn(struct shm_ask *a, const struct auth_key *key, uint32_t self, uint32_t to,
                 const struct shm_layout *layout, struct shm_segment *ret, int *ret_doorbell_fd,
                 struct err *err)
{
    uint8_t message[SHM_GIVE_SIZE];
    int fds[N_FDS];
    int r = a->fd < 0 ? ask(a, key, self, to, err) : 0;
    if (r >= 0 && a->fd >= 0) {
        r = receive(a->fd, message, fds, err);
        if (r == -EPIPE) {
            shm_ask_done(a);
            return 0;
        }
    }
    if (r == 0) {
        return 0;
    }
    r = r < 0 ? r : take_given(a, key, self, to, layout, message, fds, ret, ret_doorbell_fd, err);
    shm_ask_done(a);
    return r;
}

void shm_ask_done(struct shm_ask *a)
{
    fd_close(&a->fd); /* all was read */
}
