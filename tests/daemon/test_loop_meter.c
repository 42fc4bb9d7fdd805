/* A turn of the loop counts with the time of its callbacks, of timers and of sockets, and without
 * that of waiting. Nothing sleeps: callbacks work until the clock has moved. */
#include <unistd.h>

#include "tests/test.h"
#include "base/clock.h"
#include "daemon/loop_meter.h"

#define WORK_NS (30 * INT64_C(1000000))
#define WAIT_MS 100

static void work(void)
{
    const int64_t until_ns = clock_monotonic_ns() + WORK_NS;
    while (clock_monotonic_ns() < until_ns) {
    }
}

/* A thread that stands still until the timer is due has not waited in the poll: then once more. */
static void on_waited(uv_timer_t *timer)
{
    int *n_more = timer->data;
    if (uv_metrics_idle_time(timer->loop) == 0 && --*n_more > 0) {
        (void)uv_timer_start(timer, on_waited, WAIT_MS, 0); /* not closing: cannot fail */
        return;
    }
    work();
    uv_close((uv_handle_t *)timer, NULL);
}

static void on_timer(uv_timer_t *timer)
{
    work();
    uv_close((uv_handle_t *)timer, NULL);
}

/* Then a timer, so that there is a poll after it. */
static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status, (void)events;
    work();
    assert_int_equal(0, uv_timer_start(poll->data, on_timer, 1, 0));
    uv_close((uv_handle_t *)poll, NULL);
}

/* The time in which the poll found nothing. */
static uint64_t measure(uv_loop_t *loop, struct loop_meter *m)
{
    loop_meter_start(m, loop);
    (void)uv_run(loop, UV_RUN_DEFAULT);
    const uint64_t idle_ns = uv_metrics_idle_time(loop);
    loop_meter_stop(m);
    (void)uv_run(loop, UV_RUN_DEFAULT);
    assert_int_equal(0, uv_loop_close(loop));
    return idle_ns;
}

/* It waits for a timer, whose callback works. A busy machine makes the turns longer, never by what
 * the poll waited. */
TEST(work_of_a_timer_counts_waiting_does_not)
{
    uv_loop_t loop;
    uv_timer_t timer;
    struct loop_meter m;
    int n_more = 100;
    assert_int_equal(0, uv_loop_init(&loop));
    assert_int_equal(0, uv_timer_init(&loop, &timer));
    timer.data = &n_more;
    assert_int_equal(0, uv_timer_start(&timer, on_waited, WAIT_MS, 0));
    const int64_t began_ns = clock_monotonic_ns();
    const int64_t idle_ns = (int64_t)measure(&loop, &m);
    const int64_t took_ns = clock_monotonic_ns() - began_ns;
    assert_true(idle_ns > 0);
    assert_true(m.turns.longest_ns >= WORK_NS);
    assert_true(m.turns.sum_ns <= took_ns - idle_ns);
}

TEST(work_of_a_socket_counts)
{
    uv_loop_t loop;
    uv_poll_t poll;
    struct loop_meter m;
    int fds[2];
    assert_int_equal(0, pipe(fds));
    assert_int_equal(1, write(fds[1], "x", 1));
    assert_int_equal(0, uv_loop_init(&loop));
    assert_int_equal(0, uv_poll_init(&loop, &poll, fds[0]));
    uv_timer_t timer;
    assert_int_equal(0, uv_timer_init(&loop, &timer));
    poll.data = &timer;
    assert_int_equal(0, uv_poll_start(&poll, UV_READABLE, on_readable));
    (void)measure(&loop, &m);
    assert_true(m.turns.longest_ns >= WORK_NS);
    assert_true(m.turns.sum_ns >= 2 * WORK_NS);
    (void)close(fds[0]);
    (void)close(fds[1]);
}
