/* Connections in a set that the kernel keeps: each slot has the events of its own connection,
 * whatever closes and opens in between. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/test.h"
#include "worker/comm/link/conn.h"
#include "worker/comm/link/conn_set.h"

#define N 3
#define N_FDS (N + 1)

struct link {
    struct conn near; /* .fd -1: closed */
    int far;
};

static struct link open_link(void)
{
    static const struct frame_id self = {.role = ROLE_TRAINER};
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    struct link l = {.far = fds[1]};
    conn_init(&l.near, fds[0], &self);
    return l;
}

static void close_link(struct link *l)
{
    conn_close(&l->near);
    close(l->far);
}

static void wait_for(struct conn_set *s, struct link *links, int other, struct pollfd *ret)
{
    for (size_t i = 0; i < N; i++) {
        ret[i] = conn_set_watch(s, i, &links[i].near);
        assert_int_equal(ret[i].fd, links[i].near.fd);
    }
    ret[N] = (struct pollfd){.fd = other, .events = POLLIN};
    assert_int_equal(conn_set_wait(s, ret, N_FDS, 0), 0);
}

TEST(each_slot_has_its_own_events)
{
    _cleanup_(conn_set_done) struct conn_set set;
    struct pollfd fds[N_FDS + 1];
    struct link links[N] = {open_link(), {.near.fd = -1}, open_link()}, other = open_link();
    conn_set_init(&set, N);
    wait_for(&set, links, other.near.fd, fds);
    assert_true(fds[0].revents == 0 && fds[2].revents == 0 && fds[N].revents == 0);
    assert_int_equal(write(links[2].far, "x", 1), 1);
    for (int i = 0; i < 2; i++) { /* as long as it is not read */
        wait_for(&set, links, other.near.fd, fds);
        assert_true(fds[0].revents == 0 && fds[2].revents == POLLIN && fds[N].revents == 0);
    }
    assert_int_equal(write(other.far, "x", 1), 1);
    conn_send(&links[0].near, FRAME_HEARTBEAT, NULL, 0);
    wait_for(&set, links, other.near.fd, fds);
    assert_true(fds[0].revents == POLLOUT && fds[2].revents == POLLIN);
    assert_true(fds[1].revents == 0 && fds[N].revents == POLLIN);
    struct err err;
    assert_int_equal(conn_pump_tx(&links[0].near, SIZE_MAX, &err), 0);
    wait_for(&set, links, other.near.fd, fds);
    assert_true(fds[0].revents == 0 && fds[2].revents == POLLIN);
    uint8_t frame[FRAME_HEADER_SIZE];
    assert_int_equal(read(links[0].far, frame, sizeof(frame)), sizeof(frame));
    close(links[0].far);
    links[0].far = -1;
    wait_for(&set, links, other.near.fd, fds);
    assert_int_equal(fds[0].revents, POLLIN | POLLHUP);
    close_link(&links[0]);
    close_link(&links[2]);
    close_link(&other);
}

static void assert_is_heard(struct conn_set *set, struct link *links, size_t slot)
{
    struct pollfd fds[N_FDS + 1];
    wait_for(set, links, -1, fds);
    assert_int_equal(fds[slot].revents, 0);
    assert_int_equal(write(links[slot].far, "x", 1), 1);
    wait_for(set, links, -1, fds);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(fds[i].revents, i == slot ? POLLIN : 0);
    }
}

TEST(a_number_that_another_slot_gets)
{
    _cleanup_(conn_set_done) struct conn_set set;
    struct pollfd fds[N_FDS + 1];
    struct link links[N] = {open_link(), {.near.fd = -1}, open_link()};
    conn_set_init(&set, N);
    wait_for(&set, links, -1, fds);
    const int number = links[0].near.fd;
    for (size_t i = 0; i < 4; i++) { /* 0 to 1 and back */
        const size_t from = i % 2, to = 1 - from;
        close_link(&links[from]);
        links[to] = open_link();
        assert_int_equal(links[to].near.fd, number);
        assert_is_heard(&set, links, to);
    }
    close_link(&links[0]);
    close_link(&links[2]);
}

TEST(a_number_that_the_same_slot_gets_again)
{
    _cleanup_(conn_set_done) struct conn_set set;
    struct link links[N] = {open_link(), {.near.fd = -1}, {.near.fd = -1}};
    conn_set_init(&set, N);
    const int number = links[0].near.fd;
    for (int i = 0; i < 3; i++) {
        assert_is_heard(&set, links, 0);
        close_link(&links[0]);
        links[0] = open_link();
        assert_int_equal(links[0].near.fd, number);
    }
    close_link(&links[0]);
}

/* The number belongs to a connection of another set by now, as that of another thread would. */
TEST(a_number_that_another_set_has)
{
    struct conn_set sets[2];
    struct pollfd fds[N_FDS + 1];
    struct link mine[N] = {open_link(), {.near.fd = -1}, {.near.fd = -1}};
    struct link others[N] = {{.near.fd = -1}, {.near.fd = -1}, {.near.fd = -1}};
    conn_set_init(&sets[0], N);
    conn_set_init(&sets[1], N);
    wait_for(&sets[0], mine, -1, fds);
    const int number = mine[0].near.fd;
    close_link(&mine[0]);
    others[0] = open_link();
    assert_int_equal(others[0].near.fd, number);
    assert_is_heard(&sets[1], others, 0);
    wait_for(&sets[0], mine, -1, fds);
    assert_int_equal(fds[0].revents, 0);
    close_link(&others[0]);
    conn_set_done(&sets[0]);
    conn_set_done(&sets[1]);
}

TEST(what_cannot_be_watched)
{
    static const struct frame_id self = {.role = ROLE_TRAINER};
    _cleanup_(conn_set_done) struct conn_set set;
    struct pollfd fds[2];
    struct conn c;
    conn_init(&c, 1 << 20, &self);
    conn_set_init(&set, 1);
    fds[0] = conn_set_watch(&set, 0, &c);
    assert_int_equal(conn_set_wait(&set, fds, 1, 0), -EBADF);
}
