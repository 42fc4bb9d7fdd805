/* Closing descriptors. */
#include "tests/test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

TEST(a_descriptor_is_closed_and_forgotten)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    const int number = fds[0];
    fd_close(&fds[0]);
    assert_int_equal(fds[0], -1);
    assert_false(is_open(number));
    {
        _cleanup_(fd_close) int end = fds[1];
        assert_true(is_open(end));
    }
    assert_false(is_open(fds[1]));
}

TEST(what_is_not_open_is_not_closed)
{
    int fd = -1;
    errno = 0;
    fd_close(&fd);
    assert_int_equal(errno, 0);
}
