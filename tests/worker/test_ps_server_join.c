/* Who may join a parameter server, and who is turned away without harm. */
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/test.h"
#include "base/clock.h"
#include "raw_trainer.h"

/* One step, the barrier, the end: the server serves the two trainers as if nothing had been. */
static void finish(struct rig *rig, struct raw_trainer *t, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        raw_gradients(&t[i], 0);
    }
    for (uint32_t i = 0; i < n; i++) {
        assert_true(raw_wait(&t[i], FRAME_PARAMS, RAW_SLICES));
        raw_send(&t[i], FRAME_READY);
    }
    for (uint32_t i = 0; i < n; i++) {
        assert_true(raw_wait(&t[i], FRAME_RELEASE, 1));
    }
    for (uint32_t i = 0; i < n; i++) {
        raw_send(&t[i], FRAME_GOODBYE);
    }
    for (uint32_t i = 0; i < n; i++) {
        raw_end(&t[i]);
    }
    rig_join_servers(rig);
    print_message("# %s\n", rig->servers[0].result < 0 ? rig->servers[0].err.msg : "served");
    assert_int_equal(rig->servers[0].result, 0);
}

/* A second trainer/0 is told why it may not join, whenever it comes; the run goes on. */
TEST(second_of_the_same_name)
{
    static const struct {
        const char *name;
        bool is_late; /* all have joined */
        enum role role;
        uint32_t index;
        uint32_t attempt;
        bool wrong_digest;
        bool is_told;
    } rows[] = {
        {"the same name", false, ROLE_TRAINER, 0, 0, false, true},
        {"the same name and another seed", false, ROLE_TRAINER, 0, 0, true, true},
        {"the same name when all have joined", true, ROLE_TRAINER, 1, 0, false, true},
        {"no name of this run when all have joined", true, ROLE_TRAINER, 7, 0, false, false},
        {"a server when all have joined", true, ROLE_PSERVER, 0, 0, false, false},
        {"another attempt when all have joined", true, ROLE_TRAINER, 0, 1, false, false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(rig_done) struct rig rig;
        struct raw_trainer t[2], second;
        rig_init(&rig, RAW_PARAMS, 1, 2, RAW_SLICE_BYTES);
        rig_start_servers(&rig);
        raw_join(&t[0], &rig, 0);
        if (rows[i].is_late) {
            raw_join(&t[1], &rig, 1);
        }
        struct frame_id id = rig_id(rows[i].role, rows[i].index);
        id.attempt = rows[i].attempt;
        raw_connect(&second, &rig, id, 0);
        second.handshake.trainer.digest[0] ^= rows[i].wrong_digest;
        raw_shake_hands(&second);
        assert_int_equal(second.seen[FRAME_CHALLENGE], rows[i].attempt == 0);
        assert_int_equal(raw_wait(&second, FRAME_ABORT, 1), rows[i].is_told);
        assert_int_equal(second.seen[FRAME_WELCOME], 0);
        raw_end(&second);
        if (!rows[i].is_late) {
            raw_join(&t[1], &rig, 1);
        }
        finish(&rig, t, 2);
    }
}

/* It stops instead of connecting again, and blames itself. */
TEST(second_of_the_same_name_stops)
{
    _cleanup_(rig_done) struct rig rig;
    struct raw_trainer t[2];
    rig_init(&rig, RAW_PARAMS, 1, 2, RAW_SLICE_BYTES);
    rig_start_servers(&rig);
    raw_join(&t[0], &rig, 0);
    struct net_addr addrs[RIG_MAX];
    struct exchange_ps_params p = rig_trainer(&rig, 0, addrs);
    struct exchange *second;
    struct exchange_fault fault;
    struct err err = {0};
    assert_int_equal(exchange_ps_new(&p, &second, &err), 0);
    assert_true(second->ops->barrier(second, &err) < 0);
    second->ops->fault(second, &fault);
    second->ops->free(second);
    print_message("# %s: %s\n", fault.peer, err.msg);
    assert_int_equal(fault.exit_code, 12);
    assert_string_equal(fault.peer, "trainer/0");
    assert_non_null(strstr(err.msg, "pserver/0 reports: another process is trainer/0"));
    raw_join(&t[1], &rig, 1);
    finish(&rig, t, 2);
}

/* It knows the secret, so its name is a mistake of the run. */
TEST(name_that_is_not_in_the_run)
{
    static const struct {
        enum role role;
        uint32_t index;
    } rows[] = {{ROLE_TRAINER, 1}, {ROLE_TRAINER, 7}, {ROLE_PSERVER, 0}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(rig_done) struct rig rig;
        struct raw_trainer t;
        rig_init(&rig, RAW_PARAMS, 1, 1, RAW_SLICE_BYTES);
        rig_start_servers(&rig);
        raw_connect(&t, &rig, rig_id(rows[i].role, rows[i].index), 0);
        raw_shake_hands(&t);
        assert_true(raw_come_late(&rig, 0));
        const bool is_welcome = raw_wait(&t, FRAME_WELCOME, 1);
        raw_end(&t);
        print_message("# role %d, index %u: %s\n", rows[i].role, rows[i].index,
                      rig.servers[0].err.msg);
        assert_false(is_welcome);
        assert_non_null(strstr(rig.servers[0].err.msg, "this run has 1 trainers"));
        assert_int_equal(rig.servers[0].fault.exit_code, 12);
    }
}

static int dial(const struct rig *rig)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(rig->servers[0].port)};
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    return fd;
}

/* True if the server closes the connection within the time. */
static bool is_closed(int fd, int within_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte;
    return poll(&p, 1, within_ms) > 0 && recv(fd, &byte, 1, 0) <= 0;
}

TEST(stranger_that_says_nothing)
{
    _cleanup_(rig_done) struct rig rig;
    struct raw_trainer t;
    rig_init(&rig, RAW_PARAMS, 1, 2, RAW_SLICE_BYTES);
    rig.handshake_ns = INT64_C(5000000000); /* those that join have no longer */
    int64_t begin_ns = clock_monotonic_ns();
    rig_start_servers(&rig);
    int silent = dial(&rig);
    raw_join(&t, &rig, 0); /* one that has joined stays */
    assert_true(is_closed(silent, 120000));
    int64_t took_ns = clock_monotonic_ns() - begin_ns;
    print_message("# closed after %.2f s\n", (double)took_ns / 1e9);
    assert_true(took_ns >= rig.handshake_ns);
    (void)close(silent);
    raw_end(&t);
    assert_true(raw_come_late(&rig, 1));
    print_message("# %s\n", rig.servers[0].err.msg);
    assert_non_null(strstr(rig.servers[0].err.msg, "trainer/0: it closed the connection early"));
}

enum { PLACES = 64, FLOOD = PLACES + 6 };

/* 64 may stay while they say nothing, beside those that have joined; when they are
 * gone a trainer gets in. */
TEST(flood_of_strangers)
{
    _cleanup_(rig_done) struct rig rig;
    struct raw_trainer t;
    int strangers[FLOOD];
    rig_init(&rig, RAW_PARAMS, 1, 2, RAW_SLICE_BYTES);
    rig.handshake_ns = INT64_C(600000000000); /* it ends none of them */
    rig_start_servers(&rig);
    raw_join(&t, &rig, 0);
    for (int i = 0; i < FLOOD; i++) {
        strangers[i] = dial(&rig);
    }
    for (int i = PLACES; i < FLOOD; i++) {
        print_message("# stranger %d\n", i);
        assert_true(is_closed(strangers[i], 120000)); /* long before the end of a handshake */
    }
    for (int i = 0; i < PLACES; i++) {
        assert_false(is_closed(strangers[i], 0));
    }
    for (int i = 0; i < FLOOD; i++) {
        (void)close(strangers[i]);
    }
    struct net_addr addrs[RIG_MAX];
    struct exchange_ps_params p = rig_trainer(&rig, 1, addrs); /* connects again if it must */
    struct exchange *x;
    struct err err = {0};
    raw_send(&t, FRAME_READY);
    assert_int_equal(exchange_ps_new(&p, &x, &err), 0);
    assert_int_equal(x->ops->barrier(x, &err), 0);
    assert_int_equal(x->ops->goodbye(x, &err), 0);
    x->ops->free(x);
    assert_true(raw_wait(&t, FRAME_RELEASE, 1));
    raw_send(&t, FRAME_GOODBYE);
    raw_end(&t);
    rig_join_servers(&rig);
    assert_int_equal(rig.servers[0].result, 0);
}
