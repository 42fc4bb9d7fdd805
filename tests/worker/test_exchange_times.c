/* The times of the exchange that results show: a server's and a trainer's phases, with an optimiser
 * that takes its time and a trainer that comes late. Nothing here depends on how fast the machine
 * is: phases are compared with each other and with what the test itself has timed. */
#include <inttypes.h>
#include <pthread.h>
#include <sys/socket.h>

#include "tests/test.h"
#include "base/clock.h"
#include "exchange_rig.h"

#define N_TRAINERS 2
#define WARMUP 2
#define STEPS 4
#define MS INT64_C(1000000)

/* Takes its time, and notes how much and for what. */
struct optimiser {
    int64_t slow_ns;
    int64_t step_ns[WARMUP + STEPS]; /* inside, of all slices */
    int64_t cpu_ns[WARMUP + STEPS];  /* the same in CPU time */
    uint64_t last_step;
    size_t n_left; /* parameters of that step that come before the last ones applied */
    bool is_wrong;
};

/* Does nothing for a while. A mutex that no one unlocks would do it without a loop; the loop takes
 * the clock that the phases are read from. */
static void pass(int64_t ns)
{
    const int64_t end_ns = clock_monotonic_ns() + ns;
    while (clock_monotonic_ns() < end_ns) {
    }
}

static void slow_apply(void *ctx, uint64_t t, size_t offset, size_t n, float *params,
                       const float *grad_sum, float grad_scale)
{
    struct optimiser *o = ctx;
    const int64_t begin_ns = clock_monotonic_ns(), cpu_begin_ns = clock_thread_cpu_ns();
    /* Each step from the last slice to the first. */
    bool is_next = t == o->last_step + 1 && o->n_left == 0, is_same = t == o->last_step;
    o->is_wrong |= !(is_next || (is_same && offset + n == o->n_left));
    o->n_left = offset;
    o->last_step = t;
    rig_apply(NULL, t, offset, n, params, grad_sum, grad_scale);
    pass(o->slow_ns);
    if (t >= 1 && t <= WARMUP + STEPS) {
        o->step_ns[t - 1] += clock_monotonic_ns() - begin_ns;
        o->cpu_ns[t - 1] += clock_thread_cpu_ns() - cpu_begin_ns;
    }
}

struct trainer {
    const struct rig *rig;
    uint32_t index;
    int64_t late_ns; /* before each round and the barrier */
    pthread_t thread;
    int64_t round_ns[WARMUP + STEPS]; /* as the caller sees it */
    int64_t begin_ns, end_ns;
    struct exchange_times times[WARMUP + STEPS];
    struct err err;
    int result;
};

static int do_steps(struct trainer *t, struct exchange *x, const float *grad, float *params)
{
    for (int i = 0; i < WARMUP + STEPS; i++) {
        pass(t->late_ns);
        if (i == WARMUP) {
            t->begin_ns = clock_monotonic_ns();
            int r = x->ops->barrier(x, &t->err);
            if (r < 0) {
                return r;
            }
        }
        int64_t begin_ns = clock_monotonic_ns();
        int r = exchange_round(x, grad, params, &t->times[i], &t->err);
        t->end_ns = clock_monotonic_ns();
        t->round_ns[i] = t->end_ns - begin_ns;
        if (r < 0) {
            return r;
        }
    }
    pass(t->late_ns);
    return x->ops->goodbye(x, &t->err);
}

static void *run_trainer(void *arg)
{
    struct trainer *t = arg;
    struct net_addr addrs[RIG_MAX];
    struct exchange_ps_params p = rig_trainer(t->rig, t->index, addrs);
    _cleanup_(freep) float *grad = calloc(t->rig->n_params, sizeof(float));
    _cleanup_(freep) float *params = calloc(t->rig->n_params, sizeof(float));
    struct exchange *x;
    t->result = exchange_ps_new(&p, &x, &t->err);
    if (t->result == 0) {
        t->result = do_steps(t, x, grad, params);
        x->ops->free(x);
    }
    return NULL;
}

static void train(struct rig *rig, struct trainer *trainers)
{
    rig_start_servers(rig);
    for (uint32_t i = 0; i < rig->n_trainers; i++) {
        trainers[i].rig = rig;
        trainers[i].index = i;
        assert_int_equal(pthread_create(&trainers[i].thread, NULL, run_trainer, &trainers[i]), 0);
    }
    for (uint32_t i = 0; i < rig->n_trainers; i++) {
        assert_int_equal(pthread_join(trainers[i].thread, NULL), 0);
    }
    rig_join_servers(rig);
    for (uint32_t i = 0; i < rig->n_trainers; i++) {
        print_message("# trainer/%u: %s\n", i, trainers[i].result < 0 ? trainers[i].err.msg : "ok");
        assert_int_equal(trainers[i].result, 0);
    }
    assert_int_equal(rig->servers[0].result, 0);
}

static void assert_between(const char *what, int64_t min, int64_t got, int64_t max)
{
    if (got < min || got > max) {
        fail_msg("%s: %" PRId64 " ns, expected %" PRId64 " to %" PRId64, what, got, min, max);
    }
}

static void check_server(const struct rig *rig, const struct optimiser *o,
                         const struct trainer *trainers)
{
    const struct ps_server_stats *s = &rig->servers[0].stats;
    int64_t rounds_ns = 0, applied_ns = 0, applied_cpu_ns = 0, late_ns = 0;
    assert_int_equal(s->n_rounds, STEPS);
    for (int i = 0; i < STEPS; i++) {
        assert_between("a round holds its update", o->step_ns[WARMUP + i], s->round_ns[i],
                       INT64_MAX);
        rounds_ns += s->round_ns[i];
        applied_ns += o->step_ns[WARMUP + i];
        applied_cpu_ns += o->cpu_ns[WARMUP + i];
        late_ns += trainers[1].late_ns;
    }
    late_ns -= trainers[1].late_ns; /* it came late to the barrier, which is before the first */
    assert_between("the rounds sum to the duration", s->duration_ns, rounds_ns, s->duration_ns);
    assert_between("duration: what the trainers see", applied_ns + late_ns, s->duration_ns,
                   trainers[1].end_ns - trainers[1].begin_ns);
    assert_between("receive", 0, s->receive_ns, s->duration_ns - applied_ns);
    assert_between("send", 0, s->send_ns, s->duration_ns - applied_ns);
    assert_between("wait", 0, s->wait_ns, s->duration_ns - applied_ns);
    assert_between("update", applied_ns, s->update_ns, s->duration_ns);
    assert_between("the phases sum to the duration", s->duration_ns,
                   s->receive_ns + s->send_ns + s->wait_ns + s->update_ns, s->duration_ns);
    assert_between("CPU", applied_cpu_ns, s->cpu_ns, rig->servers[0].cpu_ns);
}

static void check_bytes(const struct rig *rig)
{
    const struct ps_server_stats *s = &rig->servers[0].stats;
    uint64_t each =
        (rig->n_params * sizeof(float) + rig->slices.n * FRAME_HEADER_SIZE) * N_TRAINERS;
    print_message("# %" PRIu64 " bytes sent, %" PRIu64 " received, %" PRIu64 " in a round\n",
                  s->bytes_tx, s->bytes_rx, each);
    /* and some heartbeats */
    assert_true(s->bytes_tx >= STEPS * each && s->bytes_tx < (STEPS + 1) * each);
    assert_true(s->bytes_rx >= STEPS * each && s->bytes_rx < (STEPS + 1) * each);
}

static void check_trainer(const struct trainer *t, const struct optimiser *o)
{
    for (int i = 0; i < WARMUP + STEPS; i++) {
        const struct exchange_times *times = &t->times[i];
        const int64_t round_ns = t->round_ns[i];
        print_message("# trainer/%u, round %d: send %" PRId64 " wait %" PRId64 " receive %" PRId64
                      " of %" PRId64 "; optimiser %" PRId64 "\n",
                      t->index, i, times->send_ns, times->wait_ns, times->receive_ns, round_ns,
                      o->step_ns[i]);
        assert_between("send", 0, times->send_ns, round_ns);
        assert_between("wait", 0, times->wait_ns, round_ns);
        assert_between("receive", 0, times->receive_ns, round_ns - o->step_ns[i]);
        assert_between("send + wait: the optimiser works meanwhile", o->step_ns[i],
                       times->send_ns + times->wait_ns, round_ns);
        assert_between("send + wait + receive", 0,
                       times->send_ns + times->wait_ns + times->receive_ns, round_ns);
        assert_int_equal(times->update_ns, 0); /* it is the server's */
        const uint64_t n_bytes = t->rig->n_params * sizeof(float) + FRAME_HEADER_SIZE;
        assert_true(times->bytes_tx >= n_bytes && times->bytes_tx < 2 * n_bytes);
        assert_true(times->bytes_rx >= n_bytes && times->bytes_rx < 2 * n_bytes);
    }
}

/* One slice: the trainer has sent all before the optimiser begins, so its phases do not overlap. */
TEST(slow_optimiser_and_late_trainer)
{
    _cleanup_(rig_done) struct rig rig;
    struct trainer trainers[N_TRAINERS] = {{.late_ns = 0}, {.late_ns = 15 * MS}};
    struct optimiser o = {.slow_ns = 10 * MS};
    rig_init(&rig, 10000, 1, N_TRAINERS, 0);
    rig.apply = slow_apply;
    rig.apply_ctx = &o;
    train(&rig, trainers);
    assert_false(o.is_wrong);
    assert_int_equal(o.last_step, WARMUP + STEPS);
    check_server(&rig, &o, trainers);
    check_bytes(&rig);
    check_trainer(&trainers[0], &o);
    check_trainer(&trainers[1], &o);
}

/* Parameters come while gradients are still being sent, because those are
 * more than sockets hold. */
TEST(sending_and_receiving_overlap)
{
    _cleanup_(rig_done) struct rig rig;
    struct trainer trainer = {.late_ns = 0};
    struct optimiser o = {0};
    const int few_bytes = 65536;
    rig_init(&rig, (size_t)4 << 20, 1, 1, 0);
    assert_int_equal(
        setsockopt(rig.servers[0].listen_fd, SOL_SOCKET, SO_RCVBUF, &few_bytes, sizeof(few_bytes)),
        0);
    rig.apply = slow_apply;
    rig.apply_ctx = &o;
    train(&rig, &trainer);
    assert_false(o.is_wrong);
    for (int i = 0; i < WARMUP + STEPS; i++) {
        const struct exchange_times *times = &trainer.times[i];
        assert_between("send", 0, times->send_ns, trainer.round_ns[i]);
        assert_between("wait: there is none", 0, times->wait_ns, 0);
        assert_between("receive", 0, times->receive_ns, trainer.round_ns[i]);
    }
}

TEST(alone)
{
    struct optimiser o = {.slow_ns = 2 * MS};
    struct exchange *x;
    struct err err;
    float grad[8] = {0}, params[8] = {0};
    x = exchange_none_new(slow_apply, &o, 8);
    for (int i = 0; i < STEPS; i++) {
        struct exchange_times times;
        int64_t begin_ns = clock_monotonic_ns();
        assert_int_equal(exchange_round(x, grad, params, &times, &err), 0);
        assert_between("update", o.step_ns[i], times.update_ns, clock_monotonic_ns() - begin_ns);
        assert_int_equal(times.send_ns + times.wait_ns + times.receive_ns, 0);
    }
    assert_false(o.is_wrong);
    assert_int_equal(o.last_step, STEPS);
    x->ops->free(x);
}
