/* A parameter server has room for so many gradients that come before their turn: who must wait, and
 * that nobody waits for ever. */
#include "tests/test.h"
#include "base/clock.h"
#include "raw_trainer.h"

enum { GANG = 8, EARLY = 10, MANY_SLICES = 20 };

/* Each of the trainers from `first` on offers its gradient and sends what it has credit for, until
 * the server gives no more. Returns the slices sent. */
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
    rig_init(rig, MANY_SLICES * 1000, 1, n + 1,
             RAW_SLICE_BYTES); /* the last one keeps the door open */
    rig->early_bytes = EARLY * RAW_SLICE_BYTES;
    rig_start_servers(rig);
    for (uint32_t i = 0; i < n; i++) {
        raw_join(&t[i], rig, i);
    }
}

/* Gradients that must wait for those of trainer 0 have a limit; when it comes all goes on. */
TEST(first_trainer_is_late)
{
    _cleanup_(rig_done) struct rig rig;
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
}

/* A trainer without credit still sends and gets life signs, and its end and
 * an ABORT are noticed. */
TEST(no_credit_and_lost)
{
    _cleanup_(rig_done) struct rig rig;
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
}
