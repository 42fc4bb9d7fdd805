/* Max-min rates: known cases, and random ones against filling all links from zero up. */
#include <math.h>

#include "tests/test.h"
#include "base/splitmix.h"
#include "predict/share.h"

#define LINKS 12
#define FLOWS 60

struct rates {
    double of[FLOWS];
};

static void note(void *ctx, uint32_t flow, double bytes_per_s)
{
    struct rates *r = ctx;
    r->of[flow] = bytes_per_s;
}

TEST(known_cases)
{
    _cleanup_(share_done) struct share s;
    struct rates r = {{0}};
    share_init(&s, 4, 4);
    share_limit(&s, 0, 10);
    share_limit(&s, 1, 100);
    share_limit(&s, 2, 4);
    share_begin(&s, 0, 0, 1);
    share_begin(&s, 1, 0, 2);
    share_begin(&s, 2, 1, 3); /* link 3 has no limit */
    share_settle(&s, note, &r);
    /* Flow 1 gets the 4 of link 2, flow 0 what is left of link 0, flow 2 what is left of link 1. */
    assert_true(fabs(r.of[1] - 4) < 1e-9);
    assert_true(fabs(r.of[0] - 6) < 1e-9);
    assert_true(fabs(r.of[2] - 94) < 1e-9);
    share_stop(&s, 1);
    share_settle(&s, note, &r);
    assert_true(fabs(r.of[0] - 10) < 1e-9);
    assert_true(fabs(r.of[2] - 90) < 1e-9);
    share_begin(&s, 3, 3, 3);
    share_settle(&s, note, &r);
    assert_true(isinf(r.of[3]));
}

/* All flows rise together; those on a full link stop. */
static void fill(const struct share *s, double rate[FLOWS])
{
    bool is_fixed[FLOWS] = {false};
    for (uint32_t f = 0; f < FLOWS; f++) {
        rate[f] = 0;
        is_fixed[f] = !s->flows[f].is_on;
    }
    for (;;) {
        double step = INFINITY;
        uint32_t full = 0;
        for (uint32_t l = 0; l < LINKS; l++) {
            double left = s->links[l].bytes_per_s;
            uint32_t n = 0;
            for (uint32_t f = 0; f < FLOWS; f++) {
                const bool is_here =
                    s->flows[f].is_on && (s->flows[f].link[0] == l || s->flows[f].link[1] == l);
                left -= is_here ? rate[f] : 0;
                n += is_here && !is_fixed[f];
            }
            if (n > 0 && left / n < step) {
                step = left / n;
                full = l;
            }
        }
        if (isinf(step)) {
            return;
        }
        for (uint32_t f = 0; f < FLOWS; f++) {
            rate[f] += is_fixed[f] ? 0 : step;
        }
        for (uint32_t f = 0; f < FLOWS; f++) {
            is_fixed[f] |= s->flows[f].link[0] == full || s->flows[f].link[1] == full;
        }
    }
}

TEST(as_filling_does)
{
    uint64_t rng = 7;
    for (int round = 0; round < 200; round++) {
        struct share s;
        struct rates r = {{0}};
        share_init(&s, LINKS, FLOWS);
        for (uint32_t l = 0; l < LINKS; l++) {
            /* Equal ones, too: ties are where rounding could go on for ever. */
            share_limit(&s, l, 1.0 + splitmix_below(&rng, round % 2 == 0 ? 1 : 1000) / 7.0);
        }
        for (int change = 0; change < 300; change++) {
            const uint32_t f = splitmix_below(&rng, FLOWS);
            if (s.flows[f].is_on) {
                share_stop(&s, f);
            } else {
                const uint32_t a = splitmix_below(&rng, LINKS / 2);
                share_begin(&s, f, a, LINKS / 2 + splitmix_below(&rng, LINKS / 2));
            }
            if (splitmix_below(&rng, 3) > 0) {
                continue; /* several changes, then the rates */
            }
            share_settle(&s, note, &r);
            double want[FLOWS];
            fill(&s, want);
            for (uint32_t i = 0; i < FLOWS; i++) {
                if (s.flows[i].is_on && fabs(r.of[i] - want[i]) > 1e-9 * want[i]) {
                    fail_msg("round %d, flow %u: %.12g, filling says %.12g", round, i, r.of[i],
                             want[i]);
                }
            }
        }
        share_done(&s);
    }
}
