/* Connections in a set that the kernel keeps: each slot hears of its own, whatever closes and comes
 * in between. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/test.h"
#include "worker/comm/link/conn_set.h"

#define N 3
#define N_FDS (N + 1)

struct ends { /* of a connection */
    int near, far;
};

static struct ends connect_ends(void)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    return (struct ends){fds[0], fds[1]};
}

static void close_ends(struct ends e)
{
    close(e.near);
    close(e.far);
}

static void wait_for(struct conn_set *s, const struct ends *slots, short events, int other,
                     struct pollfd *ret)
{
    for (size_t i = 0; i < N; i++) {
        ret[i] = (struct pollfd){.fd = slots[i].near, .events = events};
    }
    ret[N] = (struct pollfd){.fd = other, .events = POLLIN};
    assert_int_equal(conn_set_wait(s, ret, N_FDS, 0), 0);
}

TEST(each_slot_hears_of_its_own)
{
    struct conn_set set;
    struct pollfd fds[N_FDS + 1];
    struct ends slots[N] = {connect_ends(), {-1, -1}, connect_ends()};
    const struct ends other = connect_ends();
    conn_set_init(&set, N);
    wait_for(&set, slots, POLLIN, other.near, fds);
    assert_true(fds[0].revents == 0 && fds[2].revents == 0 && fds[N].revents == 0);
    assert_int_equal(write(slots[2].far, "x", 1), 1);
    for (int i = 0; i < 2; i++) { /* as long as it is not read */
        wait_for(&set, slots, POLLIN, other.near, fds);
        assert_true(fds[0].revents == 0 && fds[2].revents == POLLIN && fds[N].revents == 0);
    }
    assert_int_equal(write(other.far, "x", 1), 1);
    wait_for(&set, slots, POLLIN | POLLOUT, other.near, fds);
    assert_true(fds[0].revents == POLLOUT && fds[2].revents == (POLLIN | POLLOUT));
    assert_true(fds[1].revents == 0 && fds[N].revents == POLLIN);
    wait_for(&set, slots, POLLIN, other.near, fds);
    assert_true(fds[0].revents == 0 && fds[2].revents == POLLIN);
    close(slots[0].far);
    wait_for(&set, slots, POLLIN, other.near, fds);
    assert_int_equal(fds[0].revents, POLLIN | POLLHUP);
    slots[0].far = -1;
    conn_set_done(&set);
    close_ends(slots[0]);
    close_ends(slots[2]);
    close_ends(other);
}

/* A number that one slot closes may be another one's in the same turn, and come back later. */
TEST(numbers_that_are_used_again)
{
    struct conn_set set;
    struct pollfd fds[N_FDS + 1];
    struct ends slots[N] = {connect_ends(), {-1, -1}, connect_ends()};
    conn_set_init(&set, N);
    wait_for(&set, slots, POLLIN, -1, fds);
    const int number = slots[0].near;
    for (size_t i = 0; i < 4; i++) { /* 0 to 1 and back */
        const size_t from = i % 2, to = 1 - from;
        close_ends(slots[from]);
        slots[from] = (struct ends){-1, -1};
        slots[to] = connect_ends();
        assert_int_equal(slots[to].near, number);
        wait_for(&set, slots, POLLIN, -1, fds);
        assert_int_equal(fds[to].revents, 0);
        assert_int_equal(write(slots[to].far, "x", 1), 1);
        wait_for(&set, slots, POLLIN, -1, fds);
        assert_true(fds[to].revents == POLLIN && fds[from].revents == 0 && fds[2].revents == 0);
    }
    /* One that leaves its slot and stays open is not heard any more. */
    const struct ends gone = slots[0];
    slots[0] = (struct ends){-1, -1};
    wait_for(&set, slots, POLLIN, -1, fds);
    assert_true(fds[0].revents == 0 && fds[1].revents == 0 && fds[2].revents == 0);
    close_ends(gone);
    close_ends(slots[2]);
    conn_set_done(&set);
}

TEST(what_cannot_be_watched)
{
    struct conn_set set;
    struct pollfd fds[2] = {{.fd = 1 << 20, .events = POLLIN}};
    conn_set_init(&set, 1);
    assert_int_equal(conn_set_wait(&set, fds, 1, 0), -EBADF);
    conn_set_done(&set);
}
