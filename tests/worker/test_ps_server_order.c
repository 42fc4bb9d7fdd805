/* A parameter server and trainers that do not keep to the order of the exchange: who is named.
 * test_liars.py has the lies about a frame. */
#include <semaphore.h>
#include <sys/socket.h>

#include "tests/test.h"
#include "raw_trainer.h"
#include "exchange/flow.h"

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
    raw_count(&t[0], FRAME_OFFER, 0, RAW_SLICES + 1);
}

static void offer_of_another_step(struct raw_trainer *t)
{
    raw_count(&t[0], FRAME_OFFER, 1, RAW_SLICES);
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

TEST(out_of_order)
{
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
        _cleanup_(rig_done) struct rig rig;
        struct raw_trainer t[2];
        rig_init(&rig, RAW_PARAMS, 1, 3, RAW_SLICE_BYTES);
        rig_start_servers(&rig);
        raw_join(&t[0], &rig, 0);
        raw_join(&t[1], &rig, 1);
        rows[i].act(t);
        raw_end(&t[0]);
        raw_end(&t[1]);
        assert_true(raw_come_late(&rig, 2));
        char culprit[32];
        frame_id_name(&rig.servers[0].fault.peer, culprit);
        print_message("# row '%s': %s: %s\n", rows[i].name, culprit, rig.servers[0].err.msg);
        assert_non_null(strstr(rig.servers[0].err.msg, rows[i].says));
        assert_int_equal(rig.servers[0].fault.exit_code, 12);
        assert_string_equal(culprit, rows[i].culprit);
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
TEST(lost_and_a_lie_in_one_turn)
{
    for (uint32_t liar = 0; liar < 2; liar++) {
        struct rig rig;
        struct raw_trainer t[3];
        struct gate gate;
        assert_int_equal(sem_init(&gate.entered, 0, 0), 0);
        assert_int_equal(sem_init(&gate.open, 0, 0), 0);
        rig_init(&rig, RAW_PARAMS, 1, 3, RAW_SLICE_BYTES);
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

/* Applying a gradient would change parameters that are still being sent. A trainer that does not
 * say what has arrived gets no more than may be on the way to it. */
TEST(parameters_that_are_not_taken)
{
    _cleanup_(rig_done) struct rig rig;
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
}
