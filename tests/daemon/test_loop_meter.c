/* A turn of the loop counts with the time of its callbacks, of timers and of sockets, and without
 * that of waiting. Nothing sleeps: callbacks work until the clock has moved. */
#include <unistd.h>

#include "tests/test.h"
#include "base/clock.h"
#include "daemon/loop_meter.h"

#define WORK_NS (30 * INT64_C(1000000))
#define WAIT_MS 300

static void work(void)
{
    const int64_t until_ns = clock_monotonic_ns() + WORK_NS;
    while (clock_monotonic_ns() < until_ns) {
    }
}

/* A timer to wait for. */
struct wait {
    uv_timer_t timer;
    uv_prepare_t before_poll;
    /* so long the poll waits for it: less than WAIT_MS where this thread stood still before */
    uint64_t least_ms;
};

static void on_poll_next(uv_prepare_t *prepare)
{
    struct wait *w = prepare->data;
    w->least_ms = uv_timer_get_due_in(&w->timer);
}

static void on_waited(uv_timer_t *timer)
{
    struct wait *w = timer->data;
    work();
    uv_close((uv_handle_t *)timer, NULL);
    uv_close((uv_handle_t *)&w->before_poll, NULL);
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

static void measure(uv_loop_t *loop, struct loop_meter *m)
{
    loop_meter_start(m, loop);
    (void)uv_run(loop, UV_RUN_DEFAULT);
    loop_meter_stop(m);
    (void)uv_run(loop, UV_RUN_DEFAULT);
    assert_int_equal(0, uv_loop_close(loop));
}

/* It waits for a timer, whose callback works. A busy machine makes the turns longer, never by all
 * of the wait: the time of this thread's own waiting in the poll is known exactly. */
TEST(work_of_a_timer_counts_waiting_does_not)
{
    uv_loop_t loop;
    struct wait w = {0};
    struct loop_meter m;
    assert_int_equal(0, uv_loop_init(&loop));
    assert_int_equal(0, uv_timer_init(&loop, &w.timer));
    assert_int_equal(0, uv_prepare_init(&loop, &w.before_poll));
    w.timer.data = w.before_poll.data = &w;
    assert_int_equal(0, uv_prepare_start(&w.before_poll, on_poll_next));
    uv_unref((uv_handle_t *)&w.before_poll);
    assert_int_equal(0, uv_timer_start(&w.timer, on_waited, WAIT_MS, 0));
    const int64_t began_ns = clock_monotonic_ns();
    measure(&loop, &m);
    const int64_t took_ns = clock_monotonic_ns() - began_ns;
    assert_true(m.turns.longest_ns >= WORK_NS);
    assert_true(m.turns.sum_ns <= took_ns - ((int64_t)w.least_ms - 2) * INT64_C(1000000));
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
    measure(&loop, &m);
    assert_true(m.turns.longest_ns >= WORK_NS);
    assert_true(m.turns.sum_ns >= 2 * WORK_NS);
    (void)close(fds[0]);
    (void)close(fds[1]);
}
