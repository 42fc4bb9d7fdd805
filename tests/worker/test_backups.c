/* Sync with backup trainers: what is in an update, what is dropped, and that
 * nobody waits for ever. */
#include "tests/test.h"
#include "base/splitmix.h"
#include "exchange/backups.h"

#define N_GANGS 3000
#define MAX_TRAINERS 6
#define MAX_SERVERS 3
#define MAX_SLICES 4
#define WARMUP 3
#define STEPS 9

/* Trainers and servers of one trial, one event after another. A server has n_slices slices. */
struct trainer {
    uint32_t step, version, least; /* of its parameters, and of those that came in this step */
    uint32_t n_sent[MAX_SERVERS], n_got[MAX_SERVERS];
    uint32_t has[MAX_SERVERS][MAX_SLICES]; /* the versions that it has */
    bool is_slow, is_stopped, at_barrier;
};

struct server {
    struct backups backups;
    uint32_t versions[MAX_SLICES];         /* as this test counts them */
    uint32_t sum[MAX_SLICES];              /* the trainers in it, a bit each */
    uint64_t n_taken[MAX_TRAINERS];        /* answers that were sent */
    uint64_t n_arrived, n_used, n_dropped; /* slices since the barrier */
    uint32_t n_ready;
};

struct gang {
    uint64_t random;
    uint32_t n_trainers, n_backups, n_servers, n_slices;
    struct trainer trainers[MAX_TRAINERS];
    struct server servers[MAX_SERVERS];
};

static void fail_at(const struct gang *g, uint64_t seed, const char *what)
{
    fail_msg("BENCHD_PROP_SEED=%llu: %u trainers, %u backups, %u servers, %u slices each: %s",
             (unsigned long long)seed, g->n_trainers, g->n_backups, g->n_servers, g->n_slices,
             what);
}

static bool has_left(const struct trainer *t)
{
    return t->step == WARMUP + STEPS;
}

/* Server s gets the trainer's next gradient. */
static void send_gradient(struct gang *g, uint64_t seed, uint32_t t, uint32_t s)
{
    struct trainer *trainer = &g->trainers[t];
    struct server *server = &g->servers[s];
    const uint32_t i = trainer->n_sent[s]++;
    const bool is_in = backups_arrived(&server->backups, t, i, trainer->version);
    server->n_arrived++;
    server->n_dropped += !is_in;
    if (is_in && trainer->has[s][i] != server->versions[i]) {
        fail_at(g, seed, "a gradient of other parameters is in the sum");
    }
    server->sum[i] |= is_in ? 1u << t : 0;
    if (!backups_is_complete(&server->backups, i)) {
        return;
    }
    const uint32_t n_in = (uint32_t)__builtin_popcount(server->sum[i]);
    if (n_in != g->n_trainers - g->n_backups) {
        fail_at(g, seed, "an update of too few gradients");
    }
    if (backups_updated(&server->backups, i) != ++server->versions[i]) {
        fail_at(g, seed, "another version");
    }
    server->n_used += n_in;
    server->sum[i] = 0;
}

static void get_params(struct gang *g, uint32_t t, uint32_t s)
{
    struct trainer *trainer = &g->trainers[t];
    struct server *server = &g->servers[s];
    const size_t i = backups_send(&server->backups, t);
    server->n_taken[t]++;
    trainer->n_got[s]++;
    trainer->has[s][i] = server->versions[i];
    trainer->least = server->versions[i] < trainer->least ? server->versions[i] : trainer->least;
}

/* A trainer stays: its sums are others' from now on. */
static void one_stays(struct gang *g, uint32_t s)
{
    struct server *server = &g->servers[s];
    backups_one_stays(&server->backups);
    for (uint32_t i = 0; i < g->n_slices; i++) {
        if (server->backups.n_in_sum[i] == 0) {
            server->n_dropped += (uint32_t)__builtin_popcount(server->sum[i]);
            server->sum[i] = 0;
        }
    }
}

static void release(struct gang *g)
{
    for (uint32_t s = 0; s < g->n_servers; s++) {
        struct server *server = &g->servers[s];
        backups_all_go_on(&server->backups);
        server->n_arrived = server->n_used = server->n_dropped = 0;
    }
    for (uint32_t t = 0; t < g->n_trainers; t++) {
        g->trainers[t].at_barrier = false;
    }
}

/* All parameters are there. */
static void end_step(struct gang *g, uint32_t t)
{
    struct trainer *trainer = &g->trainers[t];
    trainer->step++;
    trainer->version = trainer->least;
    trainer->least = UINT32_MAX;
    memset(trainer->n_sent, 0, sizeof(trainer->n_sent));
    memset(trainer->n_got, 0, sizeof(trainer->n_got));
    trainer->at_barrier = trainer->step == WARMUP;
    bool all = true;
    for (uint32_t i = 0; i < g->n_trainers; i++) {
        all = all && g->trainers[i].at_barrier;
    }
    for (uint32_t s = 0; (trainer->at_barrier || has_left(trainer)) && s < g->n_servers; s++) {
        one_stays(g, s);
    }
    if (all) {
        release(g);
    }
}

/* One event of the trainer with a server, or the end of its step. False: there is none. */
static bool advance(struct gang *g, uint64_t seed, uint32_t t, uint32_t s)
{
    struct trainer *trainer = &g->trainers[t];
    const struct server *server = &g->servers[s];
    if (has_left(trainer) || trainer->at_barrier || trainer->is_stopped) {
        return false;
    }
    const bool may_get = server->backups.n_answers[t] > server->n_taken[t];
    const bool may_send = trainer->n_sent[s] < g->n_slices;
    if (may_get && (!may_send || splitmix_below(&g->random, 2) == 0)) {
        get_params(g, t, s);
        return true;
    }
    if (may_send) {
        send_gradient(g, seed, t, s);
        return true;
    }
    for (uint32_t i = 0; i < g->n_servers; i++) {
        if (trainer->n_got[i] < g->n_slices) {
            return false;
        }
    }
    end_step(g, t);
    return true;
}

/* Some event, slow trainers' rarely. False: nobody can go on. */
static bool any_event(struct gang *g, uint64_t seed)
{
    const uint32_t n = g->n_trainers * g->n_servers, first = splitmix_below(&g->random, n);
    for (int allows_slow = splitmix_below(&g->random, 8) == 0; allows_slow < 2; allows_slow++) {
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t at = (first + i) % n, t = at / g->n_servers;
            if ((!g->trainers[t].is_slow || allows_slow) &&
                advance(g, seed, t, at % g->n_servers)) {
                return true;
            }
        }
    }
    return false;
}

/* After the barrier, up to n_backups trainers stand still for ever, at any place. */
static void stop_some(struct gang *g)
{
    uint32_t n_stopped = 0;
    for (uint32_t t = 0; t < g->n_trainers; t++) {
        struct trainer *trainer = &g->trainers[t];
        if (trainer->step > WARMUP && n_stopped < g->n_backups &&
            splitmix_below(&g->random, 40) == 0) {
            trainer->is_stopped = true;
        }
        n_stopped += trainer->is_stopped;
    }
}

static void check_counts(const struct gang *g, uint64_t seed, bool all_ended)
{
    for (uint32_t s = 0; s < g->n_servers; s++) {
        const struct server *server = &g->servers[s];
        uint64_t dropped = 0;
        for (uint32_t t = 0; t < g->n_trainers; t++) {
            dropped += server->backups.n_dropped[t];
        }
        if (server->backups.n_arrived != server->n_arrived || dropped != server->n_dropped) {
            fail_at(g, seed, "the counts are wrong");
        }
        if (all_ended && server->n_used + dropped != server->n_arrived) {
            fail_at(g, seed, "a gradient is neither in an update nor dropped");
        }
    }
}

/* Until nobody can go on: those that stand still, or have left while others stand still, may be
 * waited for if they are more than the backups. */
static void run_gang(struct gang *g, uint64_t seed, bool stops)
{
    g->n_trainers = 1 + splitmix_below(&g->random, MAX_TRAINERS);
    g->n_backups = splitmix_below(&g->random, g->n_trainers);
    g->n_servers = 1 + splitmix_below(&g->random, MAX_SERVERS);
    g->n_slices = 1 + splitmix_below(&g->random, MAX_SLICES);
    for (uint32_t t = 0; t < g->n_trainers; t++) {
        g->trainers[t].least = UINT32_MAX;
        g->trainers[t].is_slow = splitmix_below(&g->random, 3) == 0;
    }
    for (uint32_t s = 0; s < g->n_servers; s++) {
        backups_init(&g->servers[s].backups, g->n_trainers, g->n_backups, g->n_slices);
    }
    while (any_event(g, seed)) {
        if (stops) {
            stop_some(g);
        }
    }
    uint32_t n_left = 0, n_waiting = 0;
    for (uint32_t t = 0; t < g->n_trainers; t++) {
        n_left += has_left(&g->trainers[t]);
        n_waiting += !has_left(&g->trainers[t]) && !g->trainers[t].is_stopped;
    }
    if (n_waiting > 0 && g->n_trainers - n_waiting <= g->n_backups) {
        fail_at(g, seed, "a trainer waits, and enough others would go on");
    }
    check_counts(g, seed, n_left == g->n_trainers);
    for (uint32_t s = 0; s < g->n_servers; s++) {
        backups_done(&g->servers[s].backups);
    }
}

static void random_gangs(bool stops)
{
    const char *wanted = getenv("BENCHD_PROP_SEED");
    const uint64_t first = wanted == NULL ? 1 : strtoull(wanted, NULL, 10);
    for (uint64_t seed = first; seed < first + (wanted == NULL ? N_GANGS : 1); seed++) {
        struct gang g = {.random = seed};
        run_gang(&g, seed, stops);
    }
}

TEST(every_update_has_its_gradients)
{
    random_gangs(false);
}

TEST(as_many_as_backups_may_stand_still)
{
    random_gangs(true);
}

/* Three of four: by hand, with the counts. */
TEST(the_fourth_is_late)
{
    _cleanup_(backups_done) struct backups b;
    backups_init(&b, 4, 1, 2);
    assert_true(backups_arrived(&b, 2, 0, 0));
    assert_true(backups_arrived(&b, 0, 0, 0));
    assert_false(backups_is_complete(&b, 0));
    assert_true(backups_arrived(&b, 3, 0, 0));
    assert_true(backups_is_complete(&b, 0));
    assert_int_equal(backups_updated(&b, 0), 1);
    assert_false(backups_is_complete(&b, 0));
    assert_int_equal(b.n_answers[0] + b.n_answers[2] + b.n_answers[3], 3);
    assert_int_equal(b.n_answers[1], 0);
    assert_false(backups_arrived(&b, 1, 0, 0)); /* late */
    assert_int_equal(b.n_answers[1], 1);
    assert_int_equal(b.n_dropped[1], 1);
    assert_true(backups_arrived(&b, 0, 1, 0)); /* another slice, which is no further */
    assert_int_equal(backups_send(&b, 0), 0);
    backups_one_stays(&b);
    assert_int_equal(b.n_in_sum[1], 1); /* three go on */
    backups_one_stays(&b);
    assert_int_equal(b.n_in_sum[1], 0); /* two cannot complete a sum */
    assert_int_equal(b.n_dropped[0], 1);
    assert_int_equal(backups_send(&b, 0), 1);
    assert_false(backups_arrived(&b, 0, 1, 0));
    assert_int_equal(b.n_arrived, 6);
    backups_all_go_on(&b);
    assert_int_equal(b.n_arrived + b.n_dropped[0] + b.n_dropped[1], 0);
    assert_int_equal(backups_send(&b, 0), 1);
    assert_true(backups_arrived(&b, 0, 1, 0));
}
