/* What a parameter server counts of its trainers. */
#include <inttypes.h>

#include "tests/test.h"
#include "base/clock.h"
#include "raw_trainer.h"

/* The gradients of one trainer come after those of the other have been read, in
 * every measured step. */
TEST(last_trainer_is_known)
{
    enum { STEPS = 3 };
    for (uint32_t last = 0; last < 2; last++) {
        _cleanup_(rig_done) struct rig rig;
        struct raw_trainer t[2];
        int64_t held_ns = 0;
        rig_init(&rig, RAW_PARAMS, 1, 2, RAW_SLICE_BYTES);
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
                assert_true(raw_wait(&t[i], FRAME_PARAMS, (unsigned)(step + 1) * RAW_SLICES));
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
    }
}
