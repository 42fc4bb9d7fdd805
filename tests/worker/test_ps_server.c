/* A parameter server and trainers that do not keep to the order of the exchange: who is named, and
 * who is turned away without harm. test_liars.py has the lies about a frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>

#include <arpa/inet.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "raw_trainer.h"
#include "exchange/flow.h"

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))
#define N_SLICES 4
#define N_PARAMS (N_SLICES * 1000)
#define SLICE_BYTES 4096
#define MORE_THAN_A_LINK_HOLDS ((size_t)16 << 20)

/* What the trainers of a scene do; all but the third have joined. */
typedef void act(struct raw_trainer *t);

static void goodbye_in_round(struct raw_trainer *t)
{
    raw_gradient(&t[0], 0, 0);
    raw_send(&t[0], FRAME_GOODBYE);
}

static void ready_in_round(struct raw_trainer *t)
{
    raw_gradient(&t[0], 0, 0);
    raw_send(&t[0], FRAME_READY);
}

static void ready_before_the_others(struct raw_trainer *t)
{
    raw_gradients(&t[0], 0);
    raw_send(&t[0], FRAME_READY);
}

static void two_steps_at_once(struct raw_trainer *t)
{
    raw_gradients(&t[0], 0);
    raw_gradient(&t[0], 1, 0);
}

static void gradient_after_a_goodbye(struct raw_trainer *t)
{
    raw_send(&t[1], FRAME_GOODBYE);
    raw_settle(t[0].rig);
    raw_gradient(&t[0], 0, 0);
}

static void ready_after_a_goodbye(struct raw_trainer *t)
{
    raw_send(&t[1], FRAME_GOODBYE);
    raw_settle(t[0].rig);
    raw_send(&t[0], FRAME_READY);
}

static void goodbye_after_a_gradient(struct raw_trainer *t)
{
    raw_gradient(&t[0], 0, 0);
    raw_settle(t[0].rig);
    raw_send(&t[1], FRAME_GOODBYE);
}

static void goodbye_after_a_ready(struct raw_trainer *t)
{
    raw_send(&t[0], FRAME_READY);
    raw_settle(t[0].rig);
    raw_send(&t[1], FRAME_GOODBYE);
}

static void gradient_after_a_ready(struct raw_trainer *t)
{
    raw_send(&t[1], FRAME_READY);
    raw_settle(t[0].rig);
    raw_gradient(&t[0], 0, 0);
}

static void ready_after_a_gradient(struct raw_trainer *t)
{
    raw_gradient(&t[0], 0, 0);
    raw_settle(t[0].rig);
    raw_send(&t[1], FRAME_READY);
}

static void ready_twice(struct raw_trainer *t)
{
    raw_send(&t[0], FRAME_READY);
    raw_send(&t[0], FRAME_READY);
}

static void slice_too_far(struct raw_trainer *t)
{
    raw_gradient(&t[0], 0, 0);
    raw_gradient(&t[0], 0, 2);
}

/* The gradient that goes first, with changes. */
static void first_slice(struct raw_trainer *t, uint32_t slice, uint64_t more_offset, size_t less)
{
    const uint32_t last = t[0].rig->slices.n - 1;
    const struct slice first = slices_get(&t[0].rig->slices, last);
    const struct frame f = {
        .type = FRAME_GRADIENT, .slice = last - slice, .offset = first.offset + more_offset};
    raw_slice(&t[0], &f, first.len - less);
}

static void slice_of_another_number(struct raw_trainer *t)
{
    first_slice(t, 1, 0, 0);
}

static void slice_of_another_offset(struct raw_trainer *t)
{
    first_slice(t, 0, 16, 0);
}

static void slice_of_another_length(struct raw_trainer *t)
{
    first_slice(t, 0, 0, 1);
}

static void slice_without_a_credit(struct raw_trainer *t)
{
    first_slice(t, 0, 0, 0);
}

static void offer_of_too_many(struct raw_trainer *t)
{
    raw_count(&t[0], FRAME_OFFER, 0, N_SLICES + 1);
}

static void offer_of_another_step(struct raw_trainer *t)
{
    raw_count(&t[0], FRAME_OFFER, 1, N_SLICES);
}

static void offer_of_no_more(struct raw_trainer *t)
{
    raw_count(&t[0], FRAME_OFFER, 0, 2);
    raw_count(&t[0], FRAME_OFFER, 0, 2);
}

static void offer_after_a_goodbye(struct raw_trainer *t)
{
    raw_send(&t[1], FRAME_GOODBYE);
    raw_settle(t[0].rig);
    raw_count(&t[0], FRAME_OFFER, 0, 1);
}

static void taken_of_nothing(struct raw_trainer *t)
{
    raw_count(&t[0], FRAME_TAKEN, 0, 1);
}

static void taken_of_too_many(struct raw_trainer *t)
{
    raw_count(&t[0], FRAME_TAKEN, 0, UINT32_MAX);
}

/* A trainer that comes when all is over learns why; the server waits for it no longer than it must. */
static void come_late(struct rig *rig, uint32_t index)
{
    struct raw_trainer late;
    raw_join(&late, rig, index);
    const bool is_told = raw_wait(&late, FRAME_ABORT, 1);
    raw_end(&late);
    rig_join_servers(rig);
    assert_true(is_told);
}

static void out_of_order(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        act *act;
        const char *culprit, *says;
    } rows[] = {
        {"GOODBYE in a round", goodbye_in_round, "trainer/0",
         "trainer/0: GOODBYE was sent twice or within a round"},
        {"READY in a round", ready_in_round, "trainer/0",
         "trainer/0: READY was sent twice or within a round"},
        {"READY before the round is complete", ready_before_the_others, "trainer/0",
         "trainer/0: READY was sent twice or within a round"},
        {"an offer of the next step", two_steps_at_once, "trainer/0",
         "trainer/0: OFFER of step 1 came before the parameters of the previous step had arrived"},
        {"a gradient without a credit", slice_without_a_credit, "trainer/0",
         "trainer/0: gradient of step 0, slice 3 came without a credit"},
        {"an offer of too many", offer_of_too_many, "trainer/0",
         "trainer/0: OFFER of 5 slices of step 0; expected more than 0, at most 4, of step 0"},
        {"an offer of another step", offer_of_another_step, "trainer/0",
         "trainer/0: OFFER of 4 slices of step 1; expected more than 0, at most 4, of step 0"},
        {"an offer of no more", offer_of_no_more, "trainer/0",
         "trainer/0: OFFER of 2 slices of step 0; expected more than 2, at most 4, of step 0"},
        {"an offer, another has left", offer_after_a_goodbye, "trainer/1",
         "trainer/1 finished after 0 steps, but others continue"},
        {"TAKEN of nothing", taken_of_nothing, "trainer/0",
         "trainer/0: TAKEN of 1 slices of step 0; expected more than 0, at most the 0 that were"},
        {"TAKEN of too many", taken_of_too_many, "trainer/0",
         "trainer/0: TAKEN of 4294967295 slices of step 0; expected more than 0, at most the 0"},
        {"a gradient, another has left", gradient_after_a_goodbye, "trainer/1",
         "trainer/1 finished after 0 steps, but others continue"},
        {"READY, another has left", ready_after_a_goodbye, "trainer/1",
         "trainer/1 finished after 0 steps, but others continue"},
        {"GOODBYE, another is in a round", goodbye_after_a_gradient, "trainer/1",
         "trainer/1 finished after 0 steps, but others continue"},
        {"GOODBYE, another is ready", goodbye_after_a_ready, "trainer/1",
         "trainer/1 finished after 0 steps, but others continue"},
        {"a gradient, another is ready", gradient_after_a_ready, "trainer/1",
         "trainer/1 waits at the barrier after 0 steps, but others continue"},
        {"READY, another is in a round", ready_after_a_gradient, "trainer/1",
         "trainer/1 waits at the barrier after 0 steps, but others continue"},
        {"READY twice", ready_twice, "trainer/0",
         "trainer/0: READY was sent twice or within a round"},
        {"a slice too far", slice_too_far, "trainer/0",
         "slice 1, offset 992, 4032 bytes; expected step 0, slice 2, offset 2000, "},
        {"a slice's number", slice_of_another_number, "trainer/0",
         "slice 2, offset 2992, 4032 bytes; expected step 0, slice 3, offset 2992, 4032 bytes"},
        {"a slice's offset", slice_of_another_offset, "trainer/0",
         "slice 3, offset 3008, 4032 bytes; expected step 0, slice 3, offset 2992, 4032 bytes"},
        {"a slice's length", slice_of_another_length, "trainer/0",
         "slice 3, offset 2992, 4028 bytes; expected step 0, slice 3, offset 2992, 4032 bytes"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct rig rig;
        struct raw_trainer t[2];
        rig_init(&rig, N_PARAMS, 1, 3, SLICE_BYTES);
        rig_start_servers(&rig);
        raw_join(&t[0], &rig, 0);
        raw_join(&t[1], &rig, 1);
        rows[i].act(t);
        raw_end(&t[0]);
        raw_end(&t[1]);
        come_late(&rig, 2);
        char culprit[32];
        frame_id_name(&rig.servers[0].fault.peer, culprit);
        print_message("# row '%s': %s: %s\n", rows[i].name, culprit, rig.servers[0].err.msg);
        assert_non_null(strstr(rig.servers[0].err.msg, rows[i].says));
        assert_int_equal(rig.servers[0].fault.exit_code, 12);
        assert_string_equal(culprit, rows[i].culprit);
        rig_done(&rig);
    }
}

/* An optimiser that waits for the test: the server reads nothing meanwhile. */
struct gate {
    sem_t entered, open;
};

static void apply_at_gate(void *ctx, uint64_t step, size_t offset, size_t n, float *params,
                          const float *grad_sum, float grad_scale)
{
    struct gate *gate = ctx;
    (void)sem_post(&gate->entered);
    (void)sem_wait(&gate->open);
    rig_apply(NULL, step, offset, n, params, grad_sum, grad_scale);
}

/* One trainer ends its connection and another breaks the protocol, and the server meets both in one
 * turn: the frame counts, whichever trainer it is from. */
static void lost_and_a_lie_in_one_turn(void **state)
{
    (void)state;
    for (uint32_t liar = 0; liar < 2; liar++) {
        struct rig rig;
        struct raw_trainer t[3];
        struct gate gate;
        assert_int_equal(sem_init(&gate.entered, 0, 0), 0);
        assert_int_equal(sem_init(&gate.open, 0, 0), 0);
        rig_init(&rig, N_PARAMS, 1, 3, SLICE_BYTES);
        rig.apply = apply_at_gate;
        rig.apply_ctx = &gate;
        rig_start_servers(&rig);
        for (uint32_t i = 0; i < 2; i++) {
            raw_join(&t[i], &rig, i);
            raw_gradient(&t[i], 0, 0);
        }
        raw_settle(&rig);
        raw_join(&t[2], &rig, 2);
        raw_gradient(&t[2], 0, 0);
        assert_int_equal(sem_wait(&gate.entered), 0);
        (void)shutdown(t[1 - liar].conn.fd, SHUT_WR);
        raw_send(&t[liar], FRAME_READY);
        assert_int_equal(sem_post(&gate.open), 0);
        for (uint32_t i = 0; i < 3; i++) {
            raw_end(&t[i]);
        }
        rig_join_servers(&rig);
        char culprit[32], want[32];
        frame_id_name(&rig.servers[0].fault.peer, culprit);
        (void)snprintf(want, sizeof(want), "trainer/%u", liar);
        print_message("# %s: %s\n", culprit, rig.servers[0].err.msg);
        assert_string_equal(culprit, want);
        assert_int_equal(rig.servers[0].fault.exit_code, 12);
        rig_done(&rig);
        (void)sem_destroy(&gate.entered);
        (void)sem_destroy(&gate.open);
    }
}

/* Applying a gradient would change parameters that are still being sent. A trainer that does not say
 * what has arrived gets no more than may be on the way to it. */
static void parameters_that_are_not_taken(void **state)
{
    (void)state;
    struct rig rig;
    struct raw_trainer t;
    rig_init(&rig, MORE_THAN_A_LINK_HOLDS / sizeof(float), 1, 1, 0);
    rig_start_servers(&rig);
    raw_connect(&t, &rig, rig_id(ROLE_TRAINER, 0), 0);
    raw_shake_hands(&t);
    assert_true(raw_wait(&t, FRAME_WELCOME, 1));
    t.says_nothing = true;
    raw_gradients(&t, 0);
    const unsigned limit = FLOW_EACH_BYTES / SLICES_MAX_BYTES;
    assert_true(raw_wait(&t, FRAME_PARAMS, limit));
    assert_true(raw_wait(&t, FRAME_HEARTBEAT, 2)); /* so much later there are no more */
    print_message("# %u of %u slices\n", t.seen[FRAME_PARAMS], rig.slices.n);
    assert_int_equal(t.seen[FRAME_PARAMS], limit);
    raw_count(&t, FRAME_TAKEN, 0, 1);
    assert_true(raw_wait(&t, FRAME_PARAMS, limit + 1));
    raw_count(&t, FRAME_OFFER, 1, 1);
    raw_end(&t);
    rig_join_servers(&rig);
    print_message("# %s\n", rig.servers[0].err.msg);
    assert_non_null(strstr(rig.servers[0].err.msg,
                           "trainer/0: OFFER of step 1 came before the parameters of the previous "
                           "step had arrived"));
    assert_int_equal(rig.servers[0].fault.exit_code, 12);
    rig_done(&rig);
}

/* One step, the barrier, the end: the server serves the two trainers as if nothing had been. */
static void finish(struct rig *rig, struct raw_trainer *t, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        raw_gradients(&t[i], 0);
    }
    for (uint32_t i = 0; i < n; i++) {
        assert_true(raw_wait(&t[i], FRAME_PARAMS, N_SLICES));
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

enum { GANG = 8, EARLY = 10, MANY_SLICES = 20 };

/* Each of the trainers from `first` on offers its gradient and sends what it has credit for, until the
 * server gives no more. Returns the slices sent. */
static uint32_t send_all_credited(struct raw_trainer *t, uint32_t first, uint32_t n,
                                  uint32_t sent[GANG])
{
    uint32_t all = 0;
    for (uint32_t i = first; i < n; i++) {
        raw_count(&t[i], FRAME_OFFER, 0, t[i].rig->slices.n);
    }
    for (bool is_moving = true; is_moving;) {
        is_moving = false;
        raw_settle(t[0].rig); /* the server has read what was sent, and given what it can */
        for (uint32_t i = first; i < n; i++) {
            raw_read(&t[i]);
            for (; sent[i] < t[i].credit; sent[i]++, all++) {
                t[i].offered = 1;
                raw_gradient(&t[i], 0, sent[i]);
                is_moving = true;
            }
        }
    }
    return all;
}

static void open_gang(struct rig *rig, struct raw_trainer *t, uint32_t n)
{
    rig_init(rig, MANY_SLICES * 1000, 1, n + 1, SLICE_BYTES); /* the last one keeps the door open */
    rig->early_bytes = EARLY * SLICE_BYTES;
    rig_start_servers(rig);
    for (uint32_t i = 0; i < n; i++) {
        raw_join(&t[i], rig, i);
    }
}

/* Gradients that must wait for those of trainer 0 have a limit; when it comes all goes on. */
/* The gradients of one trainer come after those of the other have been read, in every measured step. */
static void last_trainer_is_known(void **state)
{
    (void)state;
    enum { STEPS = 3 };
    for (uint32_t last = 0; last < 2; last++) {
        struct rig rig;
        struct raw_trainer t[2];
        int64_t held_ns = 0;
        rig_init(&rig, N_PARAMS, 1, 2, SLICE_BYTES);
        rig_start_servers(&rig);
        for (uint32_t i = 0; i < 2; i++) {
            raw_join(&t[i], &rig, i);
        }
        for (uint64_t step = 0; step < 1 + STEPS; step++) {
            raw_gradients(&t[1 - last], step);
            raw_settle(&rig);
            const int64_t begin_ns = clock_monotonic_ns();
            raw_settle(&rig); /* takes a while */
            held_ns += step == 0 ? 0 : clock_monotonic_ns() - begin_ns;
            raw_gradients(&t[last], step);
            for (uint32_t i = 0; i < 2; i++) {
                assert_true(raw_wait(&t[i], FRAME_PARAMS, (unsigned)(step + 1) * N_SLICES));
            }
            for (uint32_t i = 0; step == 0 && i < 2; i++) {
                raw_send(&t[i], FRAME_READY);
            }
            for (uint32_t i = 0; step == 0 && i < 2; i++) {
                assert_true(raw_wait(&t[i], FRAME_RELEASE, 1));
            }
        }
        for (uint32_t i = 0; i < 2; i++) {
            raw_send(&t[i], FRAME_GOODBYE);
        }
        for (uint32_t i = 0; i < 2; i++) {
            raw_end(&t[i]);
        }
        rig_join_servers(&rig);
        const struct ps_server_stats *s = &rig.servers[0].stats;
        print_message("# trainer/%u was last in %u rounds, for %" PRId64 " ns of %" PRId64 "\n",
                      s->last_trainer, s->n_last, s->last_wait_ns, s->duration_ns);
        assert_int_equal(rig.servers[0].result, 0);
        assert_int_equal(s->last_trainer, last);
        assert_int_equal(s->n_last, STEPS);
        assert_true(s->last_wait_ns >= held_ns && s->last_wait_ns <= s->duration_ns);
        rig_done(&rig);
    }
}

static void first_trainer_is_late(void **state)
{
    (void)state;
    struct rig rig;
    struct raw_trainer t[GANG + 1];
    uint32_t sent[GANG] = {0};
    open_gang(&rig, t, GANG);
    const size_t slice_bytes = slices_get(&rig.slices, 1).len * sizeof(float);
    const uint32_t early = send_all_credited(t, 1, GANG, sent);
    print_message("# %u of %u slices may wait, of at most %d\n", early, (GANG - 1) * rig.slices.n,
                  EARLY);
    assert_true(early >= EARLY - 2 && early <= EARLY);
    raw_join(&t[GANG], &rig, GANG);
    for (uint32_t i = 0; i <= GANG;
         i++) { /* the rest, in the worst order for a server without room */
        if (i == 0 || i == GANG) {
            raw_count(&t[i], FRAME_OFFER, 0, rig.slices.n);
        }
    }
    bool is_over = false;
    uint32_t all[GANG + 1] = {0};
    memcpy(all, sent, sizeof(sent));
    const int64_t end_ns = clock_monotonic_ns() + INT64_C(100000000000);
    while (!is_over) {
        is_over = true;
        assert_true(clock_monotonic_ns() < end_ns); /* nobody waits for ever */
        for (uint32_t i = 0; i <= GANG; i++) {
            t[i].offered = 1;
            raw_read(&t[i]);
            for (; all[i] < t[i].credit; all[i]++) {
                raw_gradient(&t[i], 0, all[i]);
            }
            is_over &= t[i].seen[FRAME_PARAMS] == rig.slices.n;
            assert_false(t[i].is_over);
        }
    }
    for (uint32_t i = 0; i <= GANG; i++) {
        raw_send(&t[i], FRAME_GOODBYE);
    }
    for (uint32_t i = 0; i <= GANG; i++) {
        raw_end(&t[i]);
    }
    rig_join_servers(&rig);
    const size_t peak_bytes = rig.servers[0].stats.early_peak_bytes;
    print_message("# peak: %zu bytes, limit %zu\n", peak_bytes, rig.early_bytes);
    assert_int_equal(rig.servers[0].result, 0);
    assert_true(peak_bytes >= early * slice_bytes && peak_bytes <= rig.early_bytes);
    rig_done(&rig);
}

/* A trainer without credit still sends and gets life signs, and its end and an ABORT are noticed. */
static void no_credit_and_lost(void **state)
{
    (void)state;
    struct rig rig;
    struct raw_trainer t[GANG];
    uint32_t sent[GANG] = {0};
    open_gang(&rig, t, GANG);
    (void)send_all_credited(t, 1, GANG, sent);
    assert_true(sent[GANG - 1] < rig.slices.n); /* it has more to send, and may not */
    for (uint32_t i = 1; i < GANG; i++) {
        assert_true(raw_wait(&t[i], FRAME_HEARTBEAT, t[i].seen[FRAME_HEARTBEAT] + 1));
    }
    raw_end(&t[GANG - 1]);
    for (uint32_t i = 0; i + 1 < GANG; i++) {
        assert_true(raw_wait(&t[i], FRAME_ABORT, 1));
        raw_end(&t[i]);
    }
    rig_join_servers(&rig);
    print_message("# %s\n", rig.servers[0].err.msg);
    assert_non_null(strstr(rig.servers[0].err.msg, "trainer/7: it closed the connection early"));
    assert_int_equal(rig.servers[0].fault.exit_code, 11);
    rig_done(&rig);
}

/* A second trainer/0 is told why it may not join, whenever it comes; the run goes on. */
static void second_of_the_same_name(void **state)
{
    (void)state;
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
        struct rig rig;
        struct raw_trainer t[2], second;
        rig_init(&rig, N_PARAMS, 1, 2, SLICE_BYTES);
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
        rig_done(&rig);
    }
}

/* It stops instead of connecting again, and blames itself. */
static void second_of_the_same_name_stops(void **state)
{
    (void)state;
    struct rig rig;
    struct raw_trainer t[2];
    rig_init(&rig, N_PARAMS, 1, 2, SLICE_BYTES);
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
    rig_done(&rig);
}

/* It knows the secret, so its name is a mistake of the run. */
static void name_that_is_not_in_the_run(void **state)
{
    (void)state;
    static const struct {
        enum role role;
        uint32_t index;
    } rows[] = {{ROLE_TRAINER, 1}, {ROLE_TRAINER, 7}, {ROLE_PSERVER, 0}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct rig rig;
        struct raw_trainer t;
        rig_init(&rig, N_PARAMS, 1, 1, SLICE_BYTES);
        rig_start_servers(&rig);
        raw_connect(&t, &rig, rig_id(rows[i].role, rows[i].index), 0);
        raw_shake_hands(&t);
        come_late(&rig, 0);
        const bool is_welcome = raw_wait(&t, FRAME_WELCOME, 1);
        raw_end(&t);
        print_message("# role %d, index %u: %s\n", rows[i].role, rows[i].index,
                      rig.servers[0].err.msg);
        assert_false(is_welcome);
        assert_non_null(strstr(rig.servers[0].err.msg, "this run has 1 trainers"));
        assert_int_equal(rig.servers[0].fault.exit_code, 12);
        rig_done(&rig);
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

static void stranger_that_says_nothing(void **state)
{
    (void)state;
    struct rig rig;
    struct raw_trainer t;
    rig_init(&rig, N_PARAMS, 1, 2, SLICE_BYTES);
    rig.handshake_ns = INT64_C(300000000);
    int64_t begin_ns = clock_monotonic_ns();
    rig_start_servers(&rig);
    int silent = dial(&rig);
    raw_join(&t, &rig, 0); /* one that has joined stays */
    assert_true(is_closed(silent, 20000));
    int64_t took_ns = clock_monotonic_ns() - begin_ns;
    print_message("# closed after %.2f s\n", (double)took_ns / 1e9);
    assert_true(took_ns >= rig.handshake_ns);
    (void)close(silent);
    raw_end(&t);
    come_late(&rig, 1);
    print_message("# %s\n", rig.servers[0].err.msg);
    assert_non_null(strstr(rig.servers[0].err.msg, "trainer/0: it closed the connection early"));
    rig_done(&rig);
}

enum { PLACES = 64, FLOOD = PLACES + 6 };

/* 64 may stay while they say nothing, beside those that have joined; when they are gone a trainer gets
 * in. */
static void flood_of_strangers(void **state)
{
    (void)state;
    struct rig rig;
    struct raw_trainer t;
    int strangers[FLOOD];
    rig_init(&rig, N_PARAMS, 1, 2, SLICE_BYTES);
    rig_start_servers(&rig);
    raw_join(&t, &rig, 0);
    for (int i = 0; i < FLOOD; i++) {
        strangers[i] = dial(&rig);
    }
    for (int i = PLACES; i < FLOOD; i++) {
        print_message("# stranger %d\n", i);
        assert_true(is_closed(strangers[i], 5000)); /* half the time of a handshake */
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
    rig_done(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(out_of_order),
        cmocka_unit_test(lost_and_a_lie_in_one_turn),
        cmocka_unit_test(parameters_that_are_not_taken),
        cmocka_unit_test(last_trainer_is_known),
        cmocka_unit_test(first_trainer_is_late),
        cmocka_unit_test(no_credit_and_lost),
        cmocka_unit_test(second_of_the_same_name),
        cmocka_unit_test(second_of_the_same_name_stops),
        cmocka_unit_test(name_that_is_not_in_the_run),
        cmocka_unit_test(stranger_that_says_nothing),
        cmocka_unit_test(flood_of_strangers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
