/* Sums in trainer order whatever arrives first, life signs, and who is blamed. */
#include "tests/test.h"
#include "base/clock.h"
#include "worker/comm/link/fault.h"
#include "exchange/flow.h"
#include "worker/comm/link/heartbeat.h"
#include "worker/comm/ps/reduce.h"
#include "worker/tensor/accumulate.h"

#define S INT64_C(1000000000)

enum { TRAINERS = 4, LEN = 3 };

/* Values whose sum depends on the order: 1e8 + 1 + -1e8 + 0.5 ... in float. */
static const float gradients[TRAINERS][LEN] = {
    {1e8f, 1.0f, 3.0f}, {1.0f, 1e8f, 1e-8f}, {-1e8f, -1e8f, -3.0f}, {0.5f, 0.25f, 1.0f}};

TEST(every_order_of_arrival)
{
    float want[LEN];
    for (int i = 0; i < LEN; i++) {
        want[i] = ((gradients[0][i] + gradients[1][i]) + gradients[2][i]) + gradients[3][i];
    }
    const size_t lens[1] = {LEN};
    _cleanup_(reduce_done) struct reduce r;
    reduce_init(&r, TRAINERS, EXCHANGE_WIRE_FP32, lens, 1, SIZE_MAX);
    for (uint32_t code = 0; code < 256; code++) { /* orders as base-4 digits */
        uint32_t order[TRAINERS], seen = 0;
        for (int i = 0; i < TRAINERS; i++) {
            order[i] = code >> (2 * i) & 3;
            seen |= 1u << order[i];
        }
        if (seen != 15) {
            continue;
        }
        float *buffers[TRAINERS];
        for (int i = 0; i < TRAINERS; i++) { /* all begin to arrive before any is complete */
            reduce_reserve(&r, 0, order[i]);
            buffers[order[i]] = reduce_take(&r, 0, order[i]);
            memcpy(buffers[order[i]], gradients[order[i]], sizeof(gradients[0]));
        }
        for (int i = 0; i < TRAINERS; i++) {
            for (int later = i; later < TRAINERS; later++) { /* a part of each, more every time */
                reduce_add_part(&r, 0, order[later], buffers[order[later]], (size_t)i);
            }
            assert_int_equal(reduce_add(&r, 0, order[i], buffers[order[i]]), i == TRAINERS - 1);
        }
        print_message("# order %u%u%u%u\n", order[0], order[1], order[2], order[3]);
        assert_memory_equal(r.slices[0].sum, want, sizeof(want));
    }
    assert_true(r.spare.len <= TRAINERS - 1); /* buffers go round, they do not pile up */
    reduce_reserve(&r, 0, 2);
    float *unfinished = reduce_take(&r, 0, 2);
    reduce_drop(&r, 0, 2, unfinished);
}

/* Of bf16 the same, in every order, whole and in parts; trainer 0's is widened
 * where it has landed. */
TEST(every_order_of_arrival_in_bf16)
{
    enum { N = 41, PART = 10 };
    float want[N];
    uint16_t narrowed[TRAINERS][N];
    for (uint32_t t = 0; t < TRAINERS; t++) {
        float grad[N];
        for (int i = 0; i < N; i++) {
            grad[i] = gradients[t][i % LEN] * (1 + (float)i / N);
        }
        bf16_narrow(narrowed[t], grad, N);
        (t == 0 ? bf16_widen : bf16_add)(want, narrowed[t], N);
    }
    const size_t lens[1] = {N};
    _cleanup_(reduce_done) struct reduce r;
    reduce_init(&r, TRAINERS, EXCHANGE_WIRE_BF16, lens, 1, TRAINERS * sizeof(narrowed[0]));
    assert_int_equal(r.max_early, TRAINERS); /* a gradient takes half the memory */
    for (uint32_t first = 0; first < TRAINERS; first++) {
        void *buffers[TRAINERS];
        for (uint32_t t = 0; t < TRAINERS; t++) {
            reduce_reserve(&r, 0, t);
            buffers[t] = reduce_take(&r, 0, t);
        }
        for (uint32_t i = 0; i < TRAINERS; i++) {
            const uint32_t t = (first + i) % TRAINERS;
            for (size_t n = 0; n < N; n += PART) { /* the next part comes behind what was added */
                const size_t more = n + PART < N ? PART : N - n;
                reduce_add_part(&r, 0, t, buffers[t], n);
                memcpy((uint16_t *)buffers[t] + n, narrowed[t] + n, more * sizeof(uint16_t));
            }
            assert_int_equal(reduce_add(&r, 0, t, buffers[t]), i == TRAINERS - 1);
        }
        assert_memory_equal(r.slices[0].sum, want, sizeof(want));
    }
    assert_int_equal(r.n_reserved, 0);
}

static uint64_t next_random(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

/* Whatever trainer asks, sends or is late: never more buffers than the limit, everything is added
 * in the end, and the bits are those of one order. */
TEST(memory_is_limited)
{
    enum { SLICES = 7, ROUNDS = 3 };
    const size_t lens[SLICES] = {LEN, LEN, LEN, LEN, LEN, LEN, LEN};
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t random = seed;
        const size_t max = 1 + next_random(&random, 6);
        uint64_t reserved[TRAINERS] = {0}, added[TRAINERS] = {0}, n_complete = 0;
        _cleanup_(reduce_done) struct reduce r;
        reduce_init(&r, TRAINERS, EXCHANGE_WIRE_FP32, lens, SLICES, max * sizeof(gradients[0]));
        assert_int_equal(r.max_early, max);
        const uint32_t late = (uint32_t)next_random(&random, TRAINERS);
        for (uint64_t turn = 0; n_complete < SLICES * ROUNDS; turn++) {
            assert_true(turn < 20000); /* nobody waits for ever */
            const uint32_t t = (uint32_t)next_random(&random, TRAINERS);
            if (t == late && turn < 300) {
                continue;
            }
            const uint64_t may_have = (n_complete / SLICES + 1) * SLICES;
            if (next_random(&random, 2) == 0 && reserved[t] < may_have &&
                reduce_has_room(&r, reserved[t] % SLICES, t)) {
                reduce_reserve(&r, reserved[t]++ % SLICES, t);
            } else if (added[t] < reserved[t]) {
                const size_t i = added[t]++ % SLICES;
                float *buffer = reduce_take(&r, i, t);
                memcpy(buffer, gradients[t], sizeof(gradients[0]));
                n_complete += reduce_add(&r, i, t, buffer);
            }
        }
        assert_true(r.n_peak <= max);
        assert_int_equal(r.n_reserved, 0);
    }
}

static bool even_only(void *ctx, uint32_t link, uint64_t number)
{
    (void)link;
    ++*(int *)ctx;
    return number % 2 == 0;
}

/* The links of the slices that go, as digits. */
static uint64_t all_that_go(struct flow *f, flow_may_fn may, void *ctx)
{
    uint64_t digits = 0;
    uint32_t link;
    while (flow_next(f, may, ctx, &link)) {
        digits = digits * 10 + link + 1;
    }
    return digits;
}

/* Two that take nothing hold up a third for a second, and get nothing more until they do. */
TEST(who_takes_nothing_holds_up_nobody)
{
    struct flow f;
    flow_init(&f, 3, FLOW_BYTES / 8);
    flow_offer(&f, 0, 8);
    flow_offer(&f, 1, 8);
    assert_false(flow_look(&f, 5));
    assert_int_equal(all_that_go(&f, NULL, NULL), 12121212);
    assert_false(flow_look(&f, 10));
    flow_offer(&f, 2, 8);
    assert_int_equal(all_that_go(&f, NULL, NULL), 0);
    assert_false(flow_look(&f, 4 + FLOW_STUCK_NS));
    assert_int_equal(all_that_go(&f, NULL, NULL), 0);
    assert_true(flow_look(&f, 5 + FLOW_STUCK_NS));
    assert_false(flow_look(&f, 6 + FLOW_STUCK_NS));
    assert_int_equal(all_that_go(&f, NULL, NULL), 3333);
    flow_take(&f, 2, 1);
    assert_int_equal(all_that_go(&f, NULL, NULL), 3);
    flow_take(&f, 0, 1); /* it moves again: what it has counts */
    assert_int_equal(f.n_moving - f.n_stuck, 3 + 4);
    assert_int_equal(all_that_go(&f, NULL, NULL), 1);
    assert_int_equal(f.n_stuck_links, 1);
    assert_false(flow_look(&f, 7 + FLOW_STUCK_NS));
    flow_done(&f);
    flow_init(&f, 1, FLOW_BYTES / 8);
    flow_offer(&f, 0, 2);
    assert_int_equal(all_that_go(&f, NULL, NULL), 11);
    assert_true(flow_look(&f, FLOW_STUCK_NS));
    flow_offer(&f, 0, 8);
    assert_int_equal(all_that_go(&f, NULL, NULL), 0);
    flow_take(&f, 0, 1);
    assert_int_equal(all_that_go(&f, NULL, NULL), 111);
    flow_done(&f);
}

TEST(only_so_many_count_as_stuck)
{
    _cleanup_(flow_done) struct flow f;
    flow_init(&f, FLOW_STUCK_LINKS + 2, FLOW_EACH_BYTES / 8);
    f.max = 8 * (FLOW_STUCK_LINKS + 2);
    for (uint32_t i = 0; i < f.n_links; i++) {
        flow_offer(&f, i, 16);
    }
    (void)all_that_go(&f, NULL, NULL);
    assert_int_equal(f.n_moving, f.max);
    assert_true(flow_look(&f, FLOW_STUCK_NS));
    assert_int_equal(f.n_stuck_links, FLOW_STUCK_LINKS);
    (void)all_that_go(&f, NULL, NULL);
    assert_int_equal(f.n_moving, f.max); /* the two others have all that one may have */
}

/* First slices first, in the order of the links; no more than the limits of one and of all. */
TEST(flows)
{
    struct flow f;
    int n_asked = 0;
    flow_init(&f, 3, FLOW_BYTES / 8);
    assert_int_equal(f.max, 8);
    assert_int_equal(f.max_each, 4);
    assert_int_equal(all_that_go(&f, NULL, NULL), 0);
    flow_offer(&f, 1, 9);
    assert_int_equal(all_that_go(&f, NULL, NULL), 2222);
    flow_offer(&f, 0, 2);
    flow_offer(&f, 2, 2);
    assert_int_equal(all_that_go(&f, NULL, NULL), 1313);
    assert_int_equal(f.n_moving, 8);
    flow_offer(&f, 0, 3);
    assert_int_equal(all_that_go(&f, NULL, NULL), 0); /* 8 are on their way */
    flow_take(&f, 1, 2);
    assert_int_equal(f.n_moving, 6);
    assert_int_equal(all_that_go(&f, even_only, &n_asked), 12); /* 2, then 4; not 5 */
    assert_int_equal(f.links[0].sent, 3);
    assert_int_equal(f.links[1].sent, 5);
    assert_int_equal(f.n_moving, 8);
    assert_int_equal(n_asked, 2);
    flow_take(&f, 2, 2);
    flow_offer(&f, 2, 5);
    flow_take(&f, 0, 3);
    flow_take(&f, 1, 5);
    assert_int_equal(all_that_go(&f, even_only, &n_asked),
                     3); /* slice 2 of the third; 3 and 5 not */
    assert_int_equal(n_asked, 2 + 3);
    flow_done(&f);
    flow_init(&f, 1, 2 * FLOW_BYTES); /* one slice goes, however large */
    flow_offer(&f, 0, 2);
    assert_int_equal(all_that_go(&f, NULL, NULL), 1);
    flow_done(&f);
    flow_init(&f, 1, 0);
    assert_true(f.max > 0 && f.max_each > 0);
    flow_done(&f);
}

/* Two links of which one is faster: it waits for the other one, unless that
 * one has little to send. */
TEST(joint_links_stay_together)
{
    struct flow f;
    flow_init(&f, 2, FLOW_BYTES / 8);
    flow_join(&f);
    flow_offer(&f, 0, 20);
    flow_offer(&f, 1, 20);
    assert_int_equal(all_that_go(&f, NULL, NULL), 12121212);
    flow_take(&f, 0, 3);
    assert_int_equal(all_that_go(&f, NULL, NULL), 0); /* alone, three would go */
    flow_take(&f, 1, 2);
    assert_int_equal(all_that_go(&f, NULL, NULL), 1212);
    flow_take(&f, 0, 6);
    flow_offer(&f, 1, 6); /* no more yet: its trainer computes */
    flow_take(&f, 1, 3);
    assert_int_equal(all_that_go(&f, NULL, NULL), 1111);
    flow_done(&f);
    flow_init(&f, 3, FLOW_BYTES / 8);
    flow_join(&f);
    assert_false(f.is_joint); /* the limit of all is less than three times that of one */
    flow_done(&f);
}

/* A server asks after each frame: it must not get slow by many trainers that all have to wait. */
static bool never(void *ctx, uint32_t link, uint64_t number)
{
    (void)link;
    (void)number;
    ++*(int *)ctx;
    return false;
}

TEST(many_links_that_wait)
{
    enum { LINKS = 20000 };
    _cleanup_(flow_done) struct flow f;
    int n_asked = 0;
    flow_init(&f, LINKS, FLOW_BYTES / 8);
    for (uint32_t i = 0; i < LINKS; i++) {
        flow_offer(&f, i, 1);
    }
    const int64_t begin_ns = clock_thread_cpu_ns();
    assert_int_equal(all_that_go(&f, never, &n_asked), 0);
    const int64_t ns = clock_thread_cpu_ns() - begin_ns;
    print_message("# %d links in %.3f ms\n", LINKS, (double)ns / 1e6);
    assert_int_equal(n_asked, LINKS);
    assert_true(ns < 100000000); /* link by link 1 ms; each with each, more than 1 s */
}

TEST(life_signs)
{
    struct heartbeat h;
    heartbeat_init(&h, 10 * S);
    assert_false(heartbeat_is_due(&h, 11 * S - 1));
    assert_true(heartbeat_is_due(&h, 11 * S));
    assert_false(heartbeat_is_due(&h, 11 * S + 1));
    static const int64_t limits_s[][2] = {{0, 6}, {20, 20}}; /* as given, and in force */
    for (size_t i = 0; i < N_ROWS(limits_s); i++) {
        struct heartbeat_self self;
        const int64_t limit_ns = limits_s[i][1] * S;
        int64_t away_ns;
        heartbeat_begin(&self, limits_s[i][0] * S, 10 * S);
        h.last_heard_ns = 16 * S;
        assert_false(heartbeat_is_lost(&h, &self, 16 * S + limit_ns - 1));
        assert_true(heartbeat_is_lost(&h, &self, 16 * S + limit_ns));
        assert_false(heartbeat_may_be_given_up(&self, 10 * S + limit_ns - 2 * S - 1, &away_ns));
        assert_true(heartbeat_may_be_given_up(&self, 10 * S + limit_ns - 2 * S, &away_ns));
        assert_true(heartbeat_was_away(&self, 10 * S + limit_ns, &away_ns));
    }
}

/* A process whose last turns began at `turns_ns` loses a peer at `lost_ns`. */
TEST(absences)
{
    static const struct {
        const char *name;
        int64_t turns_ns[3]; /* 0: none */
        int64_t lost_ns;
        int64_t certain_ns, likely_ns; /* how long it was away; 0: it was not */
    } rows[] = {
        {"before the first turn", {0}, 100 * S, 0, 0},
        {"in the first turn", {100 * S}, 100 * S, 0, 0},
        {"never away", {100 * S, 101 * S, 102 * S}, 102 * S, 0, 0},
        {"away for a moment", {100 * S, 104 * S - 1}, 104 * S - 1, 0, 0},
        {"a moment between turns and in one", {100 * S, 103 * S}, 106 * S, 0, 0},
        {"away between turns: the peers may wait", {100 * S, 104 * S}, 104 * S, 0, 4 * S},
        {"as long as they wait, less a moment", {100 * S, 106 * S - 1}, 106 * S - 1, 0, 6 * S - 1},
        {"as long as they wait", {100 * S, 106 * S}, 106 * S, 6 * S, 6 * S},
        {"longer", {100 * S, 107 * S}, 107 * S, 7 * S, 7 * S},
        {"a turn later", {100 * S, 105 * S, 106 * S}, 106 * S, 0, 5 * S},
        {"while they may still be leaving", {100 * S, 105 * S, 106 * S}, 107 * S, 0, 5 * S},
        {"when they would have left", {100 * S, 105 * S, 106 * S}, 107 * S + 1, 0, 0},
        {"away in the middle of a turn", {100 * S, 101 * S}, 105 * S, 0, 4 * S},
        {"a moment in the middle of a turn", {100 * S, 101 * S}, 105 * S - 1, 0, 0},
        {"away in the middle of the first turn", {100 * S}, 107 * S, 0, 7 * S},
        {"away between turns, then in one", {100 * S, 104 * S}, 109 * S, 0, 5 * S},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct heartbeat_self self = {0};
        int64_t certain_ns = 0, likely_ns = 0;
        for (int t = 0; t < 3 && rows[i].turns_ns[t] != 0; t++) {
            assert_int_equal(certain_ns, 0);
            bool is = heartbeat_was_away(&self, rows[i].turns_ns[t], &certain_ns);
            assert_int_equal(is, certain_ns != 0);
        }
        bool is = heartbeat_may_be_given_up(&self, rows[i].lost_ns, &likely_ns);
        assert_int_equal(is, likely_ns != 0);
        assert_int_equal(certain_ns, rows[i].certain_ns);
        assert_int_equal(likely_ns, rows[i].likely_ns);
    }
}

/* The main thread is looked at four times a second; its CPU time grows as the rows say. */
TEST(main_thread_stands_still)
{
    static const int64_t look_ns = S / 4;
    static const struct {
        const char *name;
        int64_t cpu_ns;      /* that it uses between two looks */
        int64_t runs_ns;     /* until then it uses all */
        int64_t gap_ns;      /* how long nobody looks, once, 2 s after that */
        int64_t stuck_at_ns; /* 0: it is not */
    } rows[] = {
        {"computes", S / 4, 0, 0, 0},
        {"reads slowly", 100000, 0, 0, 0},
        {"stuck from the start", 0, 0, 0, 8 * S},
        {"noise", 10000, 0, 0, 8 * S},
        {"stuck after a while", 0, 20 * S, 0, 28 * S},
        {"stopped as a whole meanwhile", 0, 20 * S, 7 * S, 34 * S + S / 4},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct watchdog w = {0};
        int64_t cpu_ns = 5 * S, stuck_at_ns = 0;
        for (int64_t at_ns = 0; at_ns <= 60 * S && stuck_at_ns == 0; at_ns += look_ns) {
            bool is_gap = rows[i].gap_ns != 0 && at_ns == rows[i].runs_ns + 2 * S;
            at_ns += is_gap ? rows[i].gap_ns : 0;
            cpu_ns += at_ns <= rows[i].runs_ns ? look_ns : rows[i].cpu_ns;
            stuck_at_ns = watchdog_is_stuck(&w, cpu_ns, 100 * S + at_ns) ? at_ns : 0;
        }
        print_message("# row '%s': %.2f s\n", rows[i].name, (double)stuck_at_ns / 1e9);
        assert_int_equal(stuck_at_ns, rows[i].stuck_at_ns);
    }
}

/* What a trainer makes of the ABORT that `self` sends of a fault. */
static struct fault told_by(const struct fault *f, const struct frame_id *self)
{
    uint8_t payload[FRAME_SMALL_PAYLOAD];
    struct frame frame = {.from = *self};
    frame.payload_len = (uint32_t)fault_to_abort(f, self, payload);
    const struct frame_id reader = {1, 0, ROLE_TRAINER, 0};
    struct fault told = {0};
    struct err err;
    assert_int_equal(fault_from_abort(&told, &frame, payload, &reader, &err), 0);
    return told;
}

/* A process that was away for 5 s until 105 s, and what fails then. */
TEST(blame_of_oneself)
{
    static const struct {
        const char *name;
        int r;
        int64_t now_ns;
        bool is_own;
    } rows[] = {
        {"closed", -ECONNRESET, 105 * S, true},
        {"silent", -ETIMEDOUT, 106 * S, true},
        {"lied", -EPROTO, 105 * S, false},
        {"no memory", -ENOMEM, 105 * S, false},
        {"told by an ABORT", -ECANCELED, 105 * S, false},
        {"closed later", -ECONNRESET, 108 * S, false},
    };
    const struct frame_id self = {1, 0, ROLE_PSERVER, 2};
    struct heartbeat_self life = {0};
    int64_t away_ns;
    assert_false(heartbeat_was_away(&life, 100 * S, &away_ns));
    assert_false(heartbeat_was_away(&life, 105 * S, &away_ns));
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct fault f = {0};
        struct err err;
        (void)err_set(&err, -rows[i].r, "as it was");
        bool is = fault_is_absence(&f, rows[i].r, &life, rows[i].now_ns, &self, &err);
        assert_int_equal(is, rows[i].is_own);
        assert_int_equal(f.exit_code, rows[i].is_own ? 11 : 0);
        const char *want =
            "pserver/2 itself was stopped for 5.0 s; its peers have declared it lost";
        assert_string_equal(err.msg, is ? want : "as it was");
        if (!is) {
            continue;
        }
        assert_string_equal(f.message, want);
        struct fault told = told_by(&f, &self);
        assert_int_equal(told.peer.role, ROLE_PSERVER);
        assert_int_equal(told.peer.index, 2);
    }
}

TEST(blame)
{
    static const struct {
        const char *name;
        int r, exit_code;
        bool has_peer;
    } rows[] = {
        {"closed", -ECONNRESET, 11, true},
        {"silent", -ETIMEDOUT, 11, true},
        {"lied", -EPROTO, 12, true},
        {"no memory", -ENOMEM, 13, false},
        {"no descriptors", -EMFILE, 13, false},
    };
    const struct frame_id peer = {1, 0, ROLE_TRAINER, 3}, self = {1, 0, ROLE_PSERVER, 0};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct fault f = {0};
        struct err err;
        (void)err_set(&err, -rows[i].r, "trainer/3: because");
        fault_from_err(&f, rows[i].r, &peer, &err);
        print_message("# row '%s': exit %d\n", rows[i].name, f.exit_code);
        assert_int_equal(f.exit_code, rows[i].exit_code);
        assert_int_equal(f.has_peer, rows[i].has_peer);
        (void)err_set(&err, ECONNRESET, "a consequence");
        fault_from_err(&f, -ECONNRESET, &self, &err); /* the first one stays */
        assert_string_equal(f.message, "trainer/3: because");

        struct fault told = told_by(&f, &self);
        assert_int_equal(told.exit_code, 11);
        assert_int_equal(told.peer.role, rows[i].has_peer ? ROLE_TRAINER : ROLE_PSERVER);
        assert_int_equal(told.peer.index, rows[i].has_peer ? 3 : 0);
        assert_string_equal(told.message, "pserver/0 reports: trainer/3: because");
    }
}

TEST(abort_text_is_bounded_and_clean)
{
    uint8_t payload[FRAME_SMALL_PAYLOAD];
    memset(payload, '\n', sizeof(payload));
    memset(payload, 0, 12);
    struct frame frame = {.from = {.role = ROLE_TRAINER}, .payload_len = sizeof(payload)};
    const struct frame_id self = {0};
    struct fault f = {0};
    struct err err;
    assert_int_equal(fault_from_abort(&f, &frame, payload, &self, &err), 0);
    assert_int_equal(strlen(f.message), FAULT_TEXT_MAX - 1);
    assert_null(strchr(f.message, '\n'));
    payload[4] = 9; /* a role that does not exist */
    f = (struct fault){0};
    assert_int_equal(fault_from_abort(&f, &frame, payload, &self, &err), -EPROTO);
}
