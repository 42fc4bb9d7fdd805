/* All-reduce over TCP and, with the argument SharedMemory, through shared memory, with ranks as
 * threads on loopback: sums in every way, the same bits for all and over both, and who is named
 * when a rank leaves, lies or does not belong. */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/test.h"
#include "worker/comm/collective/mesh.h"
#include "worker/comm/shm/shm_pass.h"

#define MAX_RANKS 8u
#define S INT64_C(1000000000)

static enum exchange_transport transport_asked = EXCHANGE_TRANSPORT_TCP;

struct gang;
struct rank {
    struct gang *gang;
    pthread_t thread;
    uint32_t index;
    int result;
    struct err err;
    struct exchange_fault fault;
    enum exchange_transport transport; /* that it has used */
    char why_tcp[SHARE_WHY_MAX + 1];
    float *own, *to; /* (n) owned */
    /* what it does differently */
    bool leaves, finishes, is_ahead, sends_numbers, has_other_secret, has_other_digest,
        is_of_another_attempt;
    size_t n; /* 0: that of the gang */
    /* of the calls */
    struct mesh *mesh; /* while it lives */
    int n_calls, n_ends_with_a_beat;
    uint64_t n_rounds_before;
    bool has_beaten_at_end;
};

static _Thread_local struct rank *current; /* of this thread */

struct gang {
    uint32_t n_ranks;
    size_t n;
    bool is_in_place, rounds;
    bool uses_memory; /* the arrays of the collective, where it has them */
    bool beats_always, last_leaves_first;
    bool is_stopped_at_first; /* before the first beat, until the rendezvous is long over */
    enum exchange_transport transport;
    enum collective_algorithm algorithm;
    int64_t rendezvous_ns;
    int listen_fds[MAX_RANKS];
    struct net_addr addrs[MAX_RANKS];
    struct rank ranks[MAX_RANKS];
};

static void gang_init(struct gang *g, uint32_t n_ranks, size_t n,
                      enum collective_algorithm algorithm)
{
    *g = (struct gang){.n_ranks = n_ranks,
                       .n = n,
                       .algorithm = algorithm,
                       .transport = transport_asked,
                       .rendezvous_ns = 20 * S};
    for (uint32_t i = 0; i < n_ranks; i++) {
        struct net_addr any;
        struct err err;
        uint16_t port;
        char text[32];
        g->ranks[i] = (struct rank){.gang = g, .index = i};
        assert_int_equal(net_addr_parse("127.0.0.1:0", &any, &err), 0);
        g->listen_fds[i] = net_listen(&any, &err);
        assert_true(g->listen_fds[i] >= 0);
        assert_int_equal(net_port(g->listen_fds[i], &port, &err), 0);
        (void)snprintf(text, sizeof(text), "127.0.0.1:%u", port);
        assert_int_equal(net_addr_parse(text, &g->addrs[i], &err), 0);
    }
}

/* Three calls, of which the last one counts. */
static int call(struct rank *r, struct collective *c)
{
    const struct gang *g = r->gang;
    const size_t n = r->n != 0 ? r->n : g->n;
    struct collective_memory memory = {0};
    c->ops->memory(c, &memory);
    const bool has_memory = g->uses_memory && memory.from != NULL;
    float *from = has_memory ? memory.from : r->own;
    float *to = g->is_in_place ? from : has_memory ? memory.to : r->to;
    for (int i = 0; i < 3; i++) {
        if (i == 1 && r->leaves) {
            c->ops->abandon(c, 10, "its data is damaged");
            return -ECANCELED;
        }
        if (i == 1 && r->finishes) {
            return c->ops->goodbye(c, &r->err);
        }
        while (i == 1 && g->ranks[1].finishes && ((struct mesh *)c)->peers[1].state != MEET_GONE) {
            if (c->ops->beat(c, &r->err) < 0) {
                return -EPROTO; /* of two others the second one may hear of it by the first */
            }
        }
        ((struct mesh *)c)->step += i == 1 && r->is_ahead;
        ((struct mesh *)c)->share.n_rounds += i == 1 && r->is_ahead;
        if (i == 1 && r->sends_numbers) {
            struct conn *conn = &((struct mesh *)c)->peers[0].conn;
            const struct frame f = {.type = FRAME_GRADIENT};
            conn_send_slice(conn, &f, r->own, 1);
            assert_int_equal(conn_pump_tx(conn, SIZE_MAX, &r->err), 0);
        }
        for (size_t k = 0; k < n; k++) {
            const float whole = (float)((k * 7 + r->index * 31 + (size_t)i) % 101);
            from[k] = g->rounds ? 1.0f / (whole + 3) : whole;
        }
        if (to != from) {
            memset(to, 0xff, n * sizeof(float));
        }
        r->n_rounds_before = r->mesh->share.n_rounds;
        int e = c->ops->beat(c, &r->err);
        e = e < 0 ? e : c->ops->all_reduce(c, from, to, n, &r->err);
        if (e < 0) {
            return e;
        }
        r->n_calls++;
        r->n_ends_with_a_beat += r->has_beaten_at_end;
    }
    if (to != r->to) {
        memcpy(r->to, to, n * sizeof(float));
    }
    return c->ops->goodbye(c, &r->err);
}

static size_t n_most(const struct gang *g)
{
    size_t most = g->n;
    for (uint32_t i = 0; i < g->n_ranks; i++) {
        most = g->ranks[i].n > most ? g->ranks[i].n : most;
    }
    return most;
}

/* Of this process alone: the names of local sockets follow from it, and other tests
 * run at the same time. */
static void make_secret(uint8_t ret[static AUTH_SECRET_SIZE])
{
    const pid_t pid = getpid();
    memset(ret, 0, AUTH_SECRET_SIZE);
    memcpy(ret + 1, &pid, sizeof(pid));
}

static void *run_rank(void *arg)
{
    struct rank *r = arg;
    const struct gang *g = r->gang;
    struct collective_params p = {
        .gang.self = {.run = 7, .role = ROLE_WORKER, .index = r->index},
        .n_ranks = g->n_ranks,
        .addrs = g->addrs,
        .gang.listen_fd = g->listen_fds[r->index],
        .algorithm = g->algorithm,
        .transport = g->transport,
        .n_max = n_most(g),
        .gang.rendezvous_ns = g->rendezvous_ns,
    };
    make_secret(p.gang.secret);
    p.gang.secret[0] = r->has_other_secret;
    p.gang.digest[0] = r->has_other_digest;
    p.gang.self.attempt = r->is_of_another_attempt;
    struct collective *c;
    r->result = collective_mesh_new(&p, &c, &r->fault, &r->err);
    if (r->result >= 0) {
        current = r;
        r->mesh = (struct mesh *)c;
        r->transport = c->ops->transport(c);
        memcpy(r->why_tcp, ((struct mesh *)c)->share.shm.why, sizeof(r->why_tcp));
        r->result = call(r, c);
        c->ops->fault(c, &r->fault);
        c->ops->free(c);
    }
    return NULL;
}

/* ---- what the linker puts between (--wrap) ---- */

int __real_mesh_beat(struct mesh *m, struct err *err);
int __wrap_mesh_beat(struct mesh *m, struct err *err);
struct collective_step __real_collective_step_at(enum collective_way way, uint32_t n_ranks,
                                                 uint32_t rank, size_t n, uint32_t k);
struct collective_step __wrap_collective_step_at(enum collective_way way, uint32_t n_ranks,
                                                 uint32_t rank, size_t n, uint32_t k);

/* True if all ranks have finished the round of this call. */
static bool is_at_end(const struct rank *r, const struct mesh *m)
{
    const uint64_t n_rounds = m->share.n_rounds;
    bool has_ended = n_rounds == r->n_rounds_before + 1;
    for (uint32_t i = 0; i < m->params.n_ranks && has_ended; i++) {
        const struct shm_segment *s = shm_peers_segment(&m->share.shm, i);
        has_ended = atomic_load(&s->control->done[MESH_FINISHED]) == n_rounds;
    }
    return has_ended;
}

int __wrap_mesh_beat(struct mesh *m, struct err *err)
{
    struct rank *r = current;
    if (r != NULL && r->gang->is_stopped_at_first) {
        m->meet.rendezvous_by_ns -= 60 * S; /* all that it has noted before is so much older */
        m->meet.life.last_turn_ns -= m->meet.life.last_turn_ns != 0 ? 60 * S : 0;
    }
    const int e = __real_mesh_beat(m, err);
    if (r != NULL && r->gang->beats_always) {
        m->beat_ns = 0; /* the next one is due at once */
        r->has_beaten_at_end = is_at_end(r, m);
    }
    return e;
}

/* With four ranks and one number, the last rank has nothing more to do from step 4
 * on, and says goodbye. */
struct collective_step __wrap_collective_step_at(enum collective_way way, uint32_t n_ranks,
                                                 uint32_t rank, size_t n, uint32_t k)
{
    struct rank *r = current;
    if (r != NULL && r->gang->last_leaves_first && r->n_calls == 2 && k == 4 && rank % 2 == 0) {
        struct err err;
        int e = 0;
        while (e >= 0 && r->mesh->peers[n_ranks - 1].state != MEET_GONE) {
            e = __real_mesh_beat(r->mesh, &err);
        }
    }
    return __real_collective_step_at(way, n_ranks, rank, n, k);
}

static void gang_run(struct gang *g)
{
    for (uint32_t i = 0; i < g->n_ranks; i++) {
        struct rank *r = &g->ranks[i];
        const size_t n = (r->n > g->n ? r->n : g->n) + 1;
        r->own = xnew_array(float, n);
        r->to = xnew_array(float, n);
        assert_int_equal(pthread_create(&r->thread, NULL, run_rank, r), 0);
    }
    for (uint32_t i = 0; i < g->n_ranks; i++) {
        assert_int_equal(pthread_join(g->ranks[i].thread, NULL), 0);
    }
}

static void gang_done(struct gang *g)
{
    for (uint32_t i = 0; i < g->n_ranks; i++) {
        free(g->ranks[i].own);
        free(g->ranks[i].to);
    }
}

static void check_sums(struct gang *g)
{
    gang_run(g);
    for (uint32_t i = 0; i < g->n_ranks; i++) {
        if (g->ranks[i].result < 0) {
            fail_msg("worker/%u: %s", i, g->ranks[i].err.msg);
        }
        assert_int_equal(g->ranks[i].transport, g->transport);
        assert_memory_equal(g->ranks[i].to, g->ranks[0].to, g->n * sizeof(float));
    }
    for (size_t k = 0; k < g->n && !g->rounds; k++) {
        float want = 0;
        for (uint32_t i = 0; i < g->n_ranks; i++) {
            want += (float)((k * 7 + i * 31 + 2) % 101);
        }
        assert_true(g->ranks[0].to[k] == want);
    }
    gang_done(g);
}

TEST(every_way_sums)
{
    static const struct {
        uint32_t n_ranks;
        size_t n;
        enum collective_algorithm algorithm;
    } rows[] = {
        {2, 1, COLLECTIVE_AUTO},
        {2, 65536, COLLECTIVE_AUTO},
        {2, 65537, COLLECTIVE_AUTO},
        {4, 16384, COLLECTIVE_AUTO},
        {4, 16385, COLLECTIVE_AUTO},
        {2, 300001, COLLECTIVE_AUTO},
        {2, 300001, COLLECTIVE_HALVING_DOUBLING},
        {3, 1, COLLECTIVE_AUTO},
        {3, 300001, COLLECTIVE_AUTO},
        {4, 100, COLLECTIVE_AUTO},
        {4, 300001, COLLECTIVE_HALVING_DOUBLING},
        {4, 300001, COLLECTIVE_RING},
        {5, 17, COLLECTIVE_HALVING_DOUBLING},
        {8, 5000, COLLECTIVE_AUTO},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int how = 0; how < 8; how++) {
            struct gang g;
            gang_init(&g, rows[i].n_ranks, rows[i].n, rows[i].algorithm);
            g.is_in_place = how % 2 == 1;
            g.rounds = how / 2 % 2 == 1;
            g.uses_memory = how >= 4;
            check_sums(&g);
        }
    }
}

/* The same ranks and size: the same bits in every run, and in place or not. */
TEST(bits_repeat)
{
    _cleanup_(freep) float *first = NULL;
    for (int again = 0; again < 3; again++) {
        _cleanup_(gang_done) struct gang g;
        gang_init(&g, 3, 100003, COLLECTIVE_AUTO);
        g.rounds = true;
        g.is_in_place = again == 2;
        gang_run(&g);
        if (first != NULL) {
            assert_memory_equal(g.ranks[1].to, first, g.n * sizeof(float));
        } else {
            first = take_ptr(g.ranks[1].to);
        }
    }
}

/* What the last of three calls leaves on the last rank. */
static float *bits_of(uint32_t n_ranks, size_t n, enum collective_algorithm algorithm,
                      enum exchange_transport transport, int how)
{
    _cleanup_(gang_done) struct gang g;
    gang_init(&g, n_ranks, n, algorithm);
    g.transport = transport;
    g.rounds = true;
    g.is_in_place = how % 2 == 1;
    g.uses_memory = how >= 2;
    gang_run(&g);
    for (uint32_t i = 0; i < n_ranks; i++) {
        assert_int_equal(g.ranks[i].result, 0);
        assert_int_equal(g.ranks[i].transport, transport);
    }
    return take_ptr(g.ranks[n_ranks - 1].to);
}

/* Over TCP, by slots and in place: the order of the additions is that of the plan. */
TEST(the_same_bits_over_both)
{
    static const struct {
        uint32_t n_ranks;
        size_t n;
        enum collective_algorithm algorithm;
    } rows[] = {
        {2, 1200007, COLLECTIVE_RING},
        {3, 5, COLLECTIVE_RING},
        {3, 1500013, COLLECTIVE_AUTO},
        {4, 1000, COLLECTIVE_AUTO},
        {4, 60001, COLLECTIVE_AUTO},
        {4, 700001, COLLECTIVE_HALVING_DOUBLING},
        {4, 700001, COLLECTIVE_RING},
        {5, 20011, COLLECTIVE_AUTO},
        {8, 30011, COLLECTIVE_HALVING_DOUBLING},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint32_t n_ranks = rows[i].n_ranks;
        const size_t n = rows[i].n;
        float *want = bits_of(n_ranks, n, rows[i].algorithm, EXCHANGE_TRANSPORT_TCP, 0);
        for (int how = 0; how < 4; how++) {
            _cleanup_(freep) float *got =
                bits_of(n_ranks, n, rows[i].algorithm, EXCHANGE_TRANSPORT_SHARED_MEMORY, how);
            assert_memory_equal(got, want, n * sizeof(float));
        }
        free(want);
    }
}

/* One rank cannot listen for those who ask for its memory: all take TCP, or none goes on. */
TEST(all_or_none_share)
{
    static const enum exchange_transport asked[] = {EXCHANGE_TRANSPORT_AUTO,
                                                    EXCHANGE_TRANSPORT_SHARED_MEMORY};
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        uint8_t secret[AUTH_SECRET_SIZE];
        make_secret(secret);
        const struct frame_id id = {.run = 7, .role = ROLE_WORKER, .index = 1};
        struct auth_key key;
        struct err err;
        shm_pass_key(secret, &id, &key);
        const int taken_fd = shm_pass_listen(&key, 1, &err);
        assert_true(taken_fd >= 0);
        _cleanup_(gang_done) struct gang g;
        gang_init(&g, 3, 1000, COLLECTIVE_AUTO);
        g.transport = asked[i];
        gang_run(&g);
        (void)close(taken_fd);
        for (uint32_t k = 0; k < g.n_ranks; k++) {
            const struct rank *r = &g.ranks[k];
            const bool insists = asked[i] == EXCHANGE_TRANSPORT_SHARED_MEMORY;
            const char *why = insists ? r->err.msg : r->why_tcp;
            assert_int_equal(r->result, insists ? -ENOTSUP : 0);
            assert_int_equal(r->fault.exit_code, 0);
            assert_true(insists || r->transport == EXCHANGE_TRANSPORT_TCP);
            assert_non_null(strstr(why, "worker/1: listen on a local socket: Address already"));
        }
    }
}

/* All but one are out with `code` and blame `peer`. */
static void check_blame(const struct gang *g, uint32_t but, int code, const char *peer)
{
    for (uint32_t i = 0; i < g->n_ranks; i++) {
        if (i != but) {
            assert_true(g->ranks[i].result < 0);
            assert_int_equal(g->ranks[i].fault.exit_code, code);
            assert_string_equal(g->ranks[i].fault.peer, peer);
        }
    }
}

TEST(one_that_leaves_is_named)
{
    _cleanup_(gang_done) struct gang g;
    gang_init(&g, 5, 1000, COLLECTIVE_AUTO);
    g.ranks[2].leaves = true;
    gang_run(&g);
    check_blame(&g, 2, 11, "worker/2");
    for (uint32_t i = 0; i < g.n_ranks; i++) {
        const char *who =
            i == 2 ? NULL : strstr(g.ranks[i].err.msg, " reports: its data is damaged");
        assert_true((who != NULL) == (i != 2));
        assert_null(who == NULL ? NULL : strstr(who + 1, " reports: "));
    }
}

/* Its goodbye was read between two calls. */
TEST(one_that_finishes_early_is_named)
{
    for (uint32_t n_ranks = 2; n_ranks <= 3; n_ranks++) {
        _cleanup_(gang_done) struct gang g;
        gang_init(&g, n_ranks, 1000, COLLECTIVE_AUTO);
        g.ranks[1].finishes = true;
        gang_run(&g);
        assert_int_equal(g.ranks[1].result, 0);
        bool has_said = false;
        for (uint32_t i = 0; i < n_ranks; i++) {
            has_said |=
                strstr(g.ranks[i].err.msg,
                       "worker/1: it finished before segment 1, but others continue") != NULL;
            assert_true(i == 1 || g.ranks[i].fault.exit_code == 12 || n_ranks == 3);
            assert_true(i == 1 || strcmp(g.ranks[i].fault.peer, "worker/1") == 0);
        }
        assert_true(has_said);
    }
}

TEST(numbers_of_another_call_are_refused)
{
    _cleanup_(gang_done) struct gang g;
    gang_init(&g, 2, 1000, COLLECTIVE_AUTO);
    g.ranks[1].is_ahead = true;
    gang_run(&g);
    assert_true(g.ranks[0].result < 0 && g.ranks[1].result < 0);
    const bool is_by_0 = g.ranks[0].fault.exit_code == 12; /* whoever is first */
    assert_int_equal(g.ranks[is_by_0 ? 0 : 1].fault.exit_code, 12);
    assert_non_null(strstr(g.ranks[is_by_0 ? 0 : 1].err.msg, "; expected "));
}

/* In the first call already, also where the parts that are sent at a time are as long, and where
 * the lengths go different ways. */
TEST(other_lengths_are_refused)
{
    static const struct {
        uint32_t n_ranks;
        size_t n, other;
        enum collective_algorithm algorithm;
    } rows[] = {
        {2, 1000, 999, COLLECTIVE_AUTO},
        {2, 524288, 262144, COLLECTIVE_RING}, /* segments and slots */
        {2, 262144, 524288, COLLECTIVE_RING},
        {4, 300000, 40, COLLECTIVE_AUTO},
        {4, 40, 300000, COLLECTIVE_AUTO},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(gang_done) struct gang g;
        gang_init(&g, rows[i].n_ranks, rows[i].n, rows[i].algorithm);
        g.ranks[1].n = rows[i].other;
        gang_run(&g);
        bool has_said = false;
        for (uint32_t k = 0; k < g.n_ranks; k++) {
            const struct rank *r = &g.ranks[k];
            print_message("# %s\n", r->err.msg);
            assert_true(r->result < 0);
            assert_int_equal(r->n_calls, 0);
            has_said = has_said || (r->fault.exit_code == 12 && r->fault.peer[0] != '\0' &&
                                    strstr(r->err.msg, "; expected ") != NULL);
        }
        assert_true(has_said);
    }
}

/* It has nothing more to do with the others, whose last steps with it are empty. */
TEST(one_that_has_finished_is_not_blamed)
{
    struct gang g;
    gang_init(&g, 4, 1, COLLECTIVE_RING);
    g.transport = EXCHANGE_TRANSPORT_TCP;
    g.last_leaves_first = true;
    check_sums(&g);
}

/* Who waits for nobody must look at the connections all the same. */
TEST(a_call_in_place_ends_with_a_beat)
{
    _cleanup_(gang_done) struct gang g;
    gang_init(&g, 2, 300001, COLLECTIVE_AUTO);
    g.transport = EXCHANGE_TRANSPORT_SHARED_MEMORY;
    g.uses_memory = true;
    g.beats_always = true;
    gang_run(&g);
    for (uint32_t i = 0; i < g.n_ranks; i++) {
        assert_int_equal(g.ranks[i].result, 0);
        assert_int_equal(g.ranks[i].n_ends_with_a_beat, 3);
    }
}

/* More than tables hold. */
TEST(too_many_ranks_are_refused)
{
    static const struct {
        uint32_t index, n_ranks;
    } rows[] = {{0, 0}, {0, COLLECTIVE_RANKS_MAX + 1}, {3, 3}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = {0};
        struct exchange_fault fault = {.exit_code = 1};
        struct net_addr any;
        assert_int_equal(net_addr_parse("127.0.0.1:0", &any, &err), 0);
        const struct collective_params p = {
            .gang.self = {.role = ROLE_WORKER, .index = rows[i].index},
            .n_ranks = rows[i].n_ranks,
            .gang.listen_fd = net_listen(&any, &err),
        };
        struct collective *c = NULL;
        assert_int_equal(collective_mesh_new(&p, &c, &fault, &err), -EINVAL);
        assert_null(c);
        assert_int_equal(fault.exit_code, 0);
        assert_non_null(strstr(err.msg, "expected 1 to 1024 ranks"));
        assert_int_equal(close(p.gang.listen_fd), -1); /* it was taken over */
    }
}

/* They would stand before everything that tells whether that rank lives. */
TEST(numbers_beside_shared_memory_are_refused)
{
    _cleanup_(gang_done) struct gang g;
    gang_init(&g, 2, 1000, COLLECTIVE_AUTO);
    g.transport = EXCHANGE_TRANSPORT_SHARED_MEMORY;
    g.ranks[1].sends_numbers = true;
    gang_run(&g);
    assert_int_equal(g.ranks[0].fault.exit_code, 12);
    assert_string_equal(g.ranks[0].fault.peer, "worker/1");
    assert_non_null(strstr(g.ranks[0].err.msg, "; expected "));
}

TEST(other_settings_end_it)
{
    _cleanup_(gang_done) struct gang g;
    gang_init(&g, 2, 10, COLLECTIVE_AUTO);
    g.ranks[1].has_other_digest = true;
    gang_run(&g);
    assert_int_equal(g.ranks[0].fault.exit_code, 12);
    assert_string_equal(g.ranks[0].fault.peer, "worker/1");
    assert_int_equal(g.ranks[1].fault.exit_code, 12);
}

/* It knows no secret, or belongs to another attempt: the others wait for the right one. */
TEST(strangers_are_not_named)
{
    for (int how = 0; how < 2; how++) {
        struct gang g;
        const char *seen = NULL;
        /* A busy machine may give worker/1 no time to come. */
        for (int64_t limit_s = 1; seen == NULL && limit_s <= 16; limit_s *= 4) {
            gang_init(&g, 2, 10, COLLECTIVE_AUTO);
            g.rendezvous_ns = limit_s * S;
            g.ranks[1].has_other_secret = how == 0;
            g.ranks[1].is_of_another_attempt = how == 1;
            gang_run(&g);
            gang_done(&g);
            assert_int_equal(g.ranks[0].fault.exit_code, 11);
            assert_non_null(strstr(g.ranks[0].err.msg, "worker/1 did not connect within"));
            seen = strstr(g.ranks[0].err.msg, " s (rejected");
        }
        assert_non_null(seen);
        assert_int_equal(g.ranks[1].fault.exit_code, 12);
        assert_string_equal(g.ranks[1].fault.peer, "worker/0");
    }
}

/* Its peers have given it up meanwhile. */
TEST(one_that_was_stopped_at_first_names_itself)
{
    struct gang g;
    gang_init(&g, 2, 1, COLLECTIVE_AUTO);
    g.is_stopped_at_first = true;
    current = &g.ranks[1];
    (void)run_rank(current);
    current = NULL;
    (void)close(g.listen_fds[0]); /* nobody has begun to serve there */
    assert_int_equal(g.ranks[1].result, -ECONNRESET);
    assert_string_equal(g.ranks[1].fault.peer, "worker/1");
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "SharedMemory") == 0) {
        transport_asked = EXCHANGE_TRANSPORT_SHARED_MEMORY;
    }
    return test_run_all(NULL);
}
