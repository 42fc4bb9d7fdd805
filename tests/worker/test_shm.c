/* Shared memory between ranks: segments that nobody can take away or write to, how they are handed
 * over and to whom not, what goes round, and when a ring stays with TCP. Sums and faults:
 * test_ring.c with SharedMemory. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/test.h"
#include "ring_rig.h"
#include "worker/comm/shm/doorbell.h"
#include "worker/comm/shm/share_token.h"
#include "worker/comm/shm/shm_pass.h"
#include "worker/tensor/accumulate.h"
#include "worker/tensor/one_pass.h"

TEST(a_layout_holds_everything)
{
    static const struct {
        size_t n;
        uint32_t groups;
    } rows[] = {{1, 1}, {0, 1}, {524288, 3}, {15254602, 117}, {1000, 400000}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct shm_layout l = shm_layout_of(rows[i].n, rows[i].groups);
        assert_true(l.grads_at >= sizeof(struct shm_control) + rows[i].groups * sizeof(uint64_t));
        assert_true(l.params_at >= l.grads_at + rows[i].n * sizeof(float));
        assert_true(l.bytes >= l.params_at + rows[i].n * sizeof(float));
        assert_true(l.grads_at % SHM_ALIGN_BYTES == 0 && l.params_at % SHM_ALIGN_BYTES == 0);
    }
}

/* What one writes the other reads; but nobody else can write, and nobody at all
 * can change the size. */
TEST(a_segment_is_its_owners)
{
    const struct shm_layout layout = shm_layout_of(1000, 3);
    struct shm_segment own, peer;
    struct err err = {0};
    assert_int_equal(shm_segment_new(&own, &layout, &err), 0);
    const int fd = fcntl(own.fd, F_DUPFD_CLOEXEC, 0), write_fd = fcntl(own.fd, F_DUPFD_CLOEXEC, 0);
    assert_int_equal(shm_segment_open(&peer, &layout, fd, &err), 0);
    own.grads[999] = 7;
    own.params[0] = 8;
    atomic_store(&own.control->done[2], 9);
    assert_true(peer.grads[999] == 7 && peer.params[0] == 8);
    assert_true(atomic_load(&peer.control->done[2]) == 9);
    assert_memory_equal(own.control->nonce, peer.control->nonce, AUTH_NONCE_SIZE);
    assert_true(mmap(NULL, layout.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, write_fd, 0) ==
                MAP_FAILED);
    assert_true(mprotect(peer.at, layout.bytes, PROT_READ | PROT_WRITE) < 0);
    assert_true(write(write_fd, "x", 1) < 0);
    assert_true(ftruncate(write_fd, 0) < 0);
    assert_true(ftruncate(write_fd, (off_t)layout.bytes + 1) < 0);
    assert_true(fallocate(write_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                          (off_t)layout.bytes) < 0);
    (void)close(write_fd);
    shm_segment_done(&own);
    assert_true(peer.grads[999] == 7); /* it lives as long as somebody maps it */
    shm_segment_done(&peer);
    shm_segment_done(&peer);
}

/* A peer that could make it shorter, or gives something else, is refused: reading it
 * could end this process. */
TEST(what_could_be_taken_away_is_refused)
{
    const struct shm_layout layout = shm_layout_of(1000, 3);
    enum { UNSEALED, SHORT, LONG, CAN_SHRINK, A_FILE, A_PIPE, KINDS };
    const int all = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;
    for (int kind = 0; kind < KINDS; kind++) {
        int fds[2] = {-1, -1};
        struct shm_segment s;
        struct err err = {0};
        if (kind == A_PIPE) {
            assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        } else if (kind == A_FILE) {
            fds[0] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        } else {
            fds[0] = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
            const off_t bytes = (off_t)layout.bytes - (kind == SHORT) + (kind == LONG);
            assert_int_equal(ftruncate(fds[0], bytes), 0);
            const int seals = kind == UNSEALED     ? 0
                              : kind == CAN_SHRINK ? all & ~F_SEAL_SHRINK & ~F_SEAL_SEAL
                                                   : all;
            assert_int_equal(fcntl(fds[0], F_ADD_SEALS, seals), 0);
        }
        assert_int_equal(shm_segment_open(&s, &layout, fds[0], &err), -EPROTO);
        print_message("# %s\n", err.msg);
        assert_int_equal(fcntl(fds[0], F_GETFD), -1); /* it was taken over */
        (void)close(fds[1]);
    }
}

/* ---- handing over ---- */

struct giver {
    struct auth_key key;
    struct shm_segment own;
    struct net_listener listener;
    struct doorbell bell;
    int hand_fd; /* what it hands over: of its bell, or something else */
    uint32_t self;
    atomic_bool ends;
    pthread_t thread;
};

static void *give(void *arg)
{
    struct giver *g = arg;
    while (!atomic_load(&g->ends)) {
        struct pollfd p = {.fd = g->listener.fd, .events = POLLIN};
        if (poll(&p, 1, 10) > 0) {
            shm_pass_answer(&g->listener, 0, &g->key, g->self, 4, &g->own, g->hand_fd);
        }
    }
    return NULL;
}

/* Of this process alone: the names of local sockets follow from it, and other tests
 * run at the same time. */
static void make_secret(uint8_t last, uint8_t ret[static AUTH_SECRET_SIZE])
{
    const pid_t pid = getpid();
    memset(ret, 0, AUTH_SECRET_SIZE);
    memcpy(ret, &pid, sizeof(pid));
    ret[AUTH_SECRET_SIZE - 1] = last;
}

/* Asks until there is an answer, at most so many times. */
static int ask_often(int n_turns, const struct auth_key *key, uint32_t self, uint32_t to,
                     const struct shm_layout *layout, struct shm_segment *ret, int *ret_doorbell_fd,
                     struct err *err)
{
    _cleanup_(shm_ask_done) struct shm_ask ask = SHM_ASK_INIT;
    int r = 0;
    for (int i = 0; i < n_turns && r == 0; i++) {
        r = shm_ask_turn(&ask, key, self, to, layout, ret, ret_doorbell_fd, err);
        struct pollfd p = {.fd = ask.fd, .events = POLLIN};
        if (r == 0) {
            (void)poll(&p, 1, 10);
        }
    }
    assert_true(r == 0 || ask.fd < 0);
    return r;
}

static const struct frame_id someone = {.run = 77, .attempt = 3, .role = ROLE_WORKER};

static void giver_init(struct giver *g, const struct shm_layout *layout)
{
    uint8_t secret[AUTH_SECRET_SIZE];
    make_secret(3, secret);
    struct err err = {0};
    shm_pass_key(secret, &someone, &g->key);
    assert_int_equal(shm_segment_new(&g->own, layout, &err), 0);
    assert_int_equal(doorbell_new(&g->bell, &err), 0);
    g->hand_fd = g->hand_fd > 0 ? g->hand_fd : g->bell.hand_fd;
    g->listener.fd = shm_pass_listen(&g->key, g->self, &err);
    assert_true(g->listener.fd >= 0);
    assert_int_equal(pthread_create(&g->thread, NULL, give, g), 0);
}

static void giver_done(struct giver *g)
{
    atomic_store(&g->ends, true);
    (void)pthread_join(g->thread, NULL);
    (void)close(g->listener.fd);
    doorbell_done(&g->bell);
    shm_segment_done(&g->own);
}

static bool is_rung(const struct doorbell *b)
{
    struct pollfd p = {.fd = b->fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

TEST(who_knows_the_secret_gets_it)
{
    enum {
        RIGHT,
        OTHER_SECRET,
        OTHER_RUN,
        OTHER_ATTEMPT,
        OTHER_RANK,
        NO_RANK,
        ITSELF,
        OTHER_SIZE,
        KINDS
    };
    static const int wants[KINDS] = {1, -ENOENT, -ENOENT, -ENOENT, -ENOENT, 0, 0, -EPROTO};
    const struct shm_layout layout = shm_layout_of(1000, 3), other = shm_layout_of(1 << 20, 3);
    _cleanup_(giver_done) struct giver g = {.self = 2};
    giver_init(&g, &layout);
    for (int kind = 0; kind < KINDS; kind++) {
        uint8_t secret[AUTH_SECRET_SIZE];
        make_secret(kind == OTHER_SECRET ? 4 : 3, secret);
        struct frame_id id = someone;
        id.run += kind == OTHER_RUN;
        id.attempt += kind == OTHER_ATTEMPT;
        struct auth_key key;
        shm_pass_key(secret, &id, &key);
        struct shm_segment s = {.fd = -1};
        int doorbell_fd = -1;
        struct err err = {0};
        const int r = ask_often(wants[kind] == 0 ? 30 : 2000, &key,
                                kind == NO_RANK  ? 4
                                : kind == ITSELF ? 2
                                                 : 1,
                                kind == OTHER_RANK ? 3 : 2, kind == OTHER_SIZE ? &other : &layout,
                                &s, &doorbell_fd, &err);
        print_message("# %d: %d %s\n", kind, r, err.msg);
        assert_int_equal(r, wants[kind]);
        if (r == 1) {
            g.own.grads[5] = 11;
            assert_true(s.grads[5] == 11);
            assert_false(is_rung(&g.bell));
            doorbell_ring(doorbell_fd);
            doorbell_ring(doorbell_fd);
            assert_true(is_rung(&g.bell));
            doorbell_clear(&g.bell);
            assert_false(is_rung(&g.bell));
            (void)close(doorbell_fd);
            shm_segment_done(&s);
        }
    }
}

/* Then the socket is not polled for a while. */
static void answer_without_descriptors(struct giver *g)
{
    const int next = dup(g->listener.fd); /* the descriptor that accept would get */
    struct rlimit was;
    assert_int_equal(close(next) | getrlimit(RLIMIT_NOFILE, &was), 0);
    const struct rlimit few = {(rlim_t)next, was.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    shm_pass_answer(&g->listener, 5, &g->key, 2, 4, &g->own, g->bell.hand_fd);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_int_equal(net_listener_poll(&g->listener, 5), -1);
    assert_int_equal(net_listener_poll(&g->listener, 5 + NET_REST_NS), g->listener.fd);
}

/* A rank that is too busy to read the question hangs up: it is asked again. One without a
 * descriptor answers later. */
TEST(who_hangs_up_is_asked_again)
{
    const struct shm_layout layout = shm_layout_of(1000, 3);
    struct giver g = {.self = 2};
    giver_init(&g, &layout);
    atomic_store(&g.ends, true);
    (void)pthread_join(g.thread, NULL); /* it answers nothing by itself */
    struct shm_ask ask = SHM_ASK_INIT;
    struct shm_segment s;
    int doorbell_fd;
    struct err err = {0};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(shm_ask_turn(&ask, &g.key, 1, 2, &layout, &s, &doorbell_fd, &err), 0);
        assert_int_equal(shm_ask_turn(&ask, &g.key, 1, 2, &layout, &s, &doorbell_fd, &err), 0);
        assert_true(ask.fd >= 0);
        const int fd = accept(g.listener.fd, NULL, NULL);
        assert_true(fd >= 0);
        (void)close(fd);
        assert_int_equal(shm_ask_turn(&ask, &g.key, 1, 2, &layout, &s, &doorbell_fd, &err), 0);
        assert_true(ask.fd < 0);
    }
    assert_int_equal(shm_ask_turn(&ask, &g.key, 1, 2, &layout, &s, &doorbell_fd, &err), 0);
    answer_without_descriptors(&g);
    assert_int_equal(shm_ask_turn(&ask, &g.key, 1, 2, &layout, &s, &doorbell_fd, &err), 0);
    shm_pass_answer(&g.listener, 5 + NET_REST_NS, &g.key, 2, 4, &g.own, g.bell.hand_fd);
    assert_int_equal(shm_ask_turn(&ask, &g.key, 1, 2, &layout, &s, &doorbell_fd, &err), 1);
    assert_true(ask.fd < 0);
    (void)close(doorbell_fd);
    shm_segment_done(&s);
    (void)close(g.listener.fd);
    doorbell_done(&g.bell);
    shm_segment_done(&g.own);
}

/* The descriptor that the next call that makes one will get: a higher one than
 * before shows a leak. */
static int next_fd(int any_fd)
{
    const int fd = fcntl(any_fd, F_DUPFD_CLOEXEC, 0);
    assert_true(fd >= 0);
    (void)close(fd);
    return fd;
}

/* A message without a byte looks like a hang-up, but descriptors can come with it. */
TEST(descriptors_without_a_word_are_closed)
{
    const struct shm_layout layout = shm_layout_of(1000, 3);
    uint8_t secret[AUTH_SECRET_SIZE];
    make_secret(3, secret);
    struct auth_key key;
    struct err err = {0};
    shm_pass_key(secret, &someone, &key);
    const int listen_fd = shm_pass_listen(&key, 2, &err);
    assert_true(listen_fd >= 0);
    const int before = next_fd(listen_fd);
    struct shm_ask ask = SHM_ASK_INIT;
    struct shm_segment s;
    int doorbell_fd;
    assert_int_equal(shm_ask_turn(&ask, &key, 1, 2, &layout, &s, &doorbell_fd, &err), 0);
    const int fd = accept(listen_fd, NULL, NULL);
    uint8_t question[SHM_ASK_SIZE];
    assert_int_equal(recv(fd, question, sizeof(question), 0), SHM_ASK_SIZE);
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS,
                            .cmsg_len = CMSG_LEN(sizeof(int))}};
    memcpy(CMSG_DATA(&control.header), &listen_fd, sizeof(listen_fd));
    const struct msghdr msg = {.msg_control = control.room, .msg_controllen = sizeof(control.room)};
    assert_int_equal(sendmsg(fd, &msg, MSG_NOSIGNAL), 0);
    (void)close(fd);
    assert_int_equal(shm_ask_turn(&ask, &key, 1, 2, &layout, &s, &doorbell_fd, &err), -EPROTO);
    print_message("# %s\n", err.msg);
    assert_int_equal(next_fd(listen_fd), before);
    (void)close(listen_fd);
}

/* Writing to it could wait for ever, or end this process. */
TEST(what_is_no_doorbell_is_refused)
{
    enum { A_PIPE, AN_EVENT, A_STREAM, AN_INET, A_FILE, KINDS };
    const struct shm_layout layout = shm_layout_of(1000, 3);
    for (int kind = 0; kind < KINDS; kind++) {
        int fds[2] = {-1, -1};
        switch (kind) {
        case A_PIPE:
            assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
            break;
        case AN_EVENT:
            fds[1] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
            break;
        case A_STREAM:
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
            break;
        case AN_INET:
            fds[1] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
            break;
        default:
            fds[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
        }
        struct giver g = {.self = 2, .hand_fd = fds[1]};
        giver_init(&g, &layout);
        struct shm_segment s = {.fd = -1};
        int doorbell_fd = -1;
        struct err err = {0};
        const int r = ask_often(2000, &g.key, 1, 2, &layout, &s, &doorbell_fd, &err);
        print_message("# %d: %s\n", kind, err.msg);
        assert_int_equal(r, -EPROTO);
        assert_int_equal(doorbell_fd, -1);
        giver_done(&g);
        (void)close(fds[0]);
        (void)close(fds[1]);
    }
}

static volatile sig_atomic_t n_alarms;

static void on_alarm(int number)
{
    (void)number;
    n_alarms++;
}

/* Its owner can make the open file block and never read it, or be gone. */
TEST(a_ring_does_not_wait)
{
    struct doorbell b;
    struct err err = {0};
    assert_int_equal(doorbell_new(&b, &err), 0);
    assert_int_equal(fcntl(b.hand_fd, F_SETFL, 0), 0);
    const struct sigaction action = {.sa_handler = on_alarm}; /* a call that waits is cut short */
    struct sigaction before;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    const struct itimerval soon = {.it_value = {.tv_sec = 5}, .it_interval = {.tv_usec = 1000}};
    const struct itimerval never = {0};
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    for (int i = 0; i < 2000; i++) { /* the kernel keeps 10, or a few hundred */
        doorbell_ring(b.hand_fd);
    }
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(n_alarms, 0);
    (void)sigaction(SIGALRM, &before, NULL);
    (void)close(b.fd);
    doorbell_ring(b.hand_fd);
    (void)close(b.hand_fd);
    doorbell_ring(-1);
}

/* Every bit of what is asked counts. */
TEST(a_changed_question_is_none)
{
    const uint8_t secret[AUTH_SECRET_SIZE] = {9}, nonce[AUTH_NONCE_SIZE] = {5};
    struct auth_key key;
    shm_pass_key(secret, &someone, &key);
    uint8_t ask[SHM_ASK_SIZE], got[AUTH_NONCE_SIZE];
    uint32_t from;
    shm_ask_encode(&key, 1, 0, nonce, ask);
    assert_true(shm_ask_read(&key, 0, 2, ask, sizeof(ask), &from, got));
    assert_int_equal(from, 1);
    assert_memory_equal(got, nonce, sizeof(nonce));
    for (size_t n = 0; n < sizeof(ask); n++) {
        assert_false(shm_ask_read(&key, 0, 2, ask, n, &from, got));
    }
    for (size_t bit = 0; bit < 8 * sizeof(ask); bit++) {
        const size_t at = bit / 8;
        if (at >= 44 && at < 48) {
            continue; /* between nonce and tag: not used */
        }
        ask[at] ^= (uint8_t)(1 << bit % 8);
        assert_false(shm_ask_read(&key, 0, 2, ask, sizeof(ask), &from, got));
        ask[at] ^= (uint8_t)(1 << bit % 8);
    }
}

/* ---- what goes round ---- */

TEST(tokens_are_read_or_refused)
{
    struct share_token t = {.round = SHARE_ASK, .why = "worker/1: no memory"}, got;
    uint8_t payload[4 + SHARE_WHY_MAX];
    size_t n = share_token_encode(&t, payload);
    assert_int_equal(share_token_read(payload, n, &got, NULL), 0);
    assert_true(got.round == SHARE_ASK && !got.can);
    assert_string_equal(got.why, t.why);
    payload[5] = '\n';
    assert_int_equal(share_token_read(payload, n, &got, NULL), 0);
    assert_int_equal(got.why[1], '?');
    static const struct {
        uint8_t bytes[5];
        size_t n;
    } wrong[] = {{{0, 1}, 4},
                 {{4, 1}, 4},
                 {{1, 2}, 4},
                 {{1, 1, 1}, 4},
                 {{1, 1, 0, 1}, 4},
                 {{1, 0}, 4},
                 {{1, 1, 0, 0, 'x'}, 5},
                 {{1, 1}, 3}};
    for (size_t i = 0; i < N_ROWS(wrong); i++) {
        struct err err = {0};
        assert_int_equal(share_token_read(wrong[i].bytes, wrong[i].n, &got, &err), -EPROTO);
    }
    uint8_t longest[5 + SHARE_WHY_MAX] = {1};
    memset(longest + 4, 'a', SHARE_WHY_MAX + 1);
    assert_int_equal(share_token_read(longest, 4 + SHARE_WHY_MAX, &got, NULL), 0);
    assert_int_equal(strlen(got.why), SHARE_WHY_MAX);
    assert_int_equal(share_token_read(longest, sizeof(longest), &got, NULL), -EPROTO);
}

/* Any length and alignment, and not a float beside. */
TEST(sum_and_copy_of_any_place)
{
    enum { MAX = 70, GUARD = 8 };
    _Alignas(64) float a[MAX + GUARD], b[MAX + GUARD], to[MAX + 2 * GUARD];
    for (size_t i = 0; i < MAX + GUARD; i++) {
        a[i] = 1.1F * (float)i;
        b[i] = 0.7F - (float)i;
    }
    for (size_t n = 0; n <= MAX; n++) {
        for (size_t at = 0; at < GUARD; at++) {
            for (int is_copy = 0; is_copy < 2; is_copy++) {
                for (size_t i = 0; i < MAX + 2 * GUARD; i++) {
                    to[i] = -1;
                }
                if (is_copy) {
                    one_pass_copy(to + at, a + at, n);
                } else {
                    grad_sum(to + at, a + at, b, n);
                }
                for (size_t i = 0; i < MAX + 2 * GUARD; i++) {
                    const bool is_inside = i >= at && i < at + n;
                    const float sum = is_inside ? a[i] + b[i - at] : 0;
                    assert_true(to[i] == (!is_inside ? -1 : is_copy ? a[i] : sum));
                }
            }
        }
    }
}

/* ---- whole rings ---- */

static void open_ring(struct ring_rig *rig, struct exchange *x[static RING_MAX],
                      enum exchange_transport transport)
{
    rig->transport = transport;
    for (uint32_t i = 0; i < rig->n_ranks; i++) {
        struct exchange_ring_params p = ring_rig_params(rig, i);
        struct err err = {0};
        assert_int_equal(exchange_ring_new(&p, &x[i], &err), 0);
    }
}

static void one_step(struct ring_rig *rig, struct exchange *x[static RING_MAX], bool is_own,
                     float *ret_params)
{
    const size_t n = rig->n_params;
    float *grads[RING_MAX] = {0}, *params[RING_MAX] = {0};
    struct err err = {0};
    for (uint32_t i = 0; i < rig->n_ranks; i++) {
        struct exchange_memory m = {0};
        x[i]->ops->memory(x[i], &m);
        grads[i] = is_own ? m.grads : calloc(n + 1, sizeof(float));
        params[i] = is_own ? m.params : calloc(n + 1, sizeof(float));
        rig_gradient(grads[i], n, i, 0);
        rig_init_params(params[i], n);
        assert_int_equal(x[i]->ops->begin(x[i], grads[i], params[i], &err), 0);
        x[i]->ops->ready(x[i], 0);
    }
    for (uint32_t i = 0; i < rig->n_ranks; i++) {
        struct exchange_times times;
        assert_int_equal(x[i]->ops->end(x[i], &times, &err), 0);
        assert_memory_equal(params[i], params[0], n * sizeof(float));
    }
    memcpy(ret_params, params[0], n * sizeof(float));
    for (uint32_t i = 0; i < rig->n_ranks; i++) {
        if (!is_own) {
            free(grads[i]);
            free(params[i]);
        }
    }
}

/* Memory of the exchange or any other, shared or TCP: the same bits. */
TEST(the_same_bits)
{
    enum { N = 300007 };
    static const struct {
        enum exchange_transport asked, used;
        bool is_own;
    } rows[] = {
        {EXCHANGE_TRANSPORT_TCP, EXCHANGE_TRANSPORT_TCP, false},
        {EXCHANGE_TRANSPORT_AUTO, EXCHANGE_TRANSPORT_SHARED_MEMORY, false},
        {EXCHANGE_TRANSPORT_SHARED_MEMORY, EXCHANGE_TRANSPORT_SHARED_MEMORY, true},
    };
    _cleanup_(freep) float *first = calloc(N, sizeof(float)), *params = calloc(N, sizeof(float));
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(ring_rig_done) struct ring_rig rig;
        struct exchange *x[RING_MAX];
        ring_rig_init(&rig, N, 3, 0);
        open_ring(&rig, x, rows[i].asked);
        one_step(&rig, x, rows[i].is_own, i == 0 ? first : params);
        if (i > 0) {
            assert_memory_equal(params, first, N * sizeof(float));
        }
        for (uint32_t k = 0; k < rig.n_ranks; k++) {
            const char *why = NULL;
            assert_int_equal(x[k]->ops->transport(x[k], &why), rows[i].used);
            assert_string_equal(why, "");
            struct exchange_memory m;
            x[k]->ops->memory(x[k], &m);
            assert_int_equal(m.grads != NULL, rows[i].asked != EXCHANGE_TRANSPORT_TCP);
            x[k]->ops->free(x[k]);
        }
    }
}

/* Nobody can ask a rank of this ring any more. */
static void check_nobody_gives(const struct ring_rig *rig, uint32_t rank)
{
    const struct exchange_ring_params p = ring_rig_params(rig, rank);
    const struct shm_layout layout = shm_layout_of(1, 1);
    struct auth_key key;
    struct shm_segment s;
    int doorbell_fd;
    struct err err = {0};
    shm_pass_key(p.gang.secret, &p.gang.self, &key);
    assert_int_equal(ask_often(1, &key, rank + 1, rank, &layout, &s, &doorbell_fd, &err), -ENOENT);
}

/* One rank cannot be asked: all take TCP, and say why. Afterwards nobody can be asked any more. */
TEST(without_a_common_memory_it_is_tcp)
{
    enum { N = 5000 };
    _cleanup_(ring_rig_done) struct ring_rig rig;
    struct exchange *x[RING_MAX];
    ring_rig_init(&rig, N, 3, 0);
    rig.transport = EXCHANGE_TRANSPORT_AUTO;
    /* Somebody has the name that rank 1 wants. */
    struct exchange_ring_params p = ring_rig_params(&rig, 1);
    struct auth_key key;
    struct err err = {0};
    shm_pass_key(p.gang.secret, &p.gang.self, &key);
    const int fd = shm_pass_listen(&key, 1, &err);
    assert_true(fd >= 0);
    open_ring(&rig, x, EXCHANGE_TRANSPORT_AUTO);
    float *params = calloc(N, sizeof(float)), *want = ring_rig_want(&rig, 1, false);
    one_step(&rig, x, false, params);
    assert_memory_equal(params, want, N * sizeof(float));
    for (uint32_t k = 0; k < rig.n_ranks; k++) {
        const char *why = NULL;
        assert_int_equal(x[k]->ops->transport(x[k], &why), EXCHANGE_TRANSPORT_TCP);
        assert_string_equal(why, "worker/1: listen on a local socket: Address already in use");
    }
    check_nobody_gives(&rig, 0);
    check_nobody_gives(&rig, 2);
    for (uint32_t k = 0; k < rig.n_ranks; k++) {
        x[k]->ops->free(x[k]);
    }
    (void)close(fd);
    free(params);
    free(want);
}

/* Whoever insists on shared memory ends, with the reason. */
TEST(insisting)
{
    _cleanup_(ring_rig_done) struct ring_rig rig;
    ring_rig_init(&rig, 5000, 3, 0);
    rig.transport = EXCHANGE_TRANSPORT_SHARED_MEMORY;
    const struct exchange_ring_params p = ring_rig_params(&rig, 1);
    struct auth_key key;
    struct err err = {0};
    shm_pass_key(p.gang.secret, &p.gang.self, &key);
    const int fd = shm_pass_listen(&key, 1, &err);
    assert_true(fd >= 0);
    ring_rig_run(&rig);
    bool is_13 = false;
    for (uint32_t k = 0; k < rig.n_ranks; k++) {
        const struct ring_worker *w = &rig.workers[k];
        print_message("# %d %s\n", w->fault.exit_code, w->err.msg);
        assert_true(w->result < 0);
        assert_non_null(strstr(w->err.msg,
                               "transport SharedMemory: worker/1: listen on a local socket: "
                               "Address already in use"));
        is_13 |= w->fault.exit_code == 13; /* another may hear of it from that one first */
    }
    assert_true(is_13);
    (void)close(fd);
}
