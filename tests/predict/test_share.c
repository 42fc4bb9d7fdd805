/* Max-min rates: known cases, and random ones against filling all links from zero up. */
#include <math.h>

#include "tests/test.h"
#include "base/splitmix.h"
#include "predict/share.h"

#define LINKS 12
#define FLOWS 60

/* When the flows end that are next. */
struct ends {
    double at_s[FLOWS];
};

static void note(void *ctx, uint32_t flow, double at_s)
{
    struct ends *e = ctx;
    e->at_s[flow] = at_s;
}

static double share_rate(const struct share *s, uint32_t flow)
{
    return fmin(s->levels[s->flows[flow].link[0]], s->levels[s->flows[flow].link[1]]);
}

static void assert_rate(const struct share *s, uint32_t flow, double want)
{
    assert_true(fabs(share_rate(s, flow) - want) <= 1e-9 * want);
}

TEST(known_cases)
{
    _cleanup_(share_done) struct share s;
    struct ends e = {{0}};
    share_init(&s, 4, 4);
    share_limit(&s, 0, 10);
    share_limit(&s, 1, 100);
    share_limit(&s, 2, 4);
    share_begin(&s, 0, 0, 1, 60);
    share_begin(&s, 1, 0, 2, 20);
    share_begin(&s, 2, 1, 3, 940); /* link 3 has no limit */
    share_settle(&s, 0, note, &e);
    /* Flow 1 gets the 4 of link 2, flow 0 what is left of link 0, flow 2 what is left of link 1. */
    assert_rate(&s, 1, 4);
    assert_rate(&s, 0, 6);
    assert_rate(&s, 2, 94);
    assert_true(fabs(e.at_s[0] - 10) + fabs(e.at_s[1] - 5) + fabs(e.at_s[2] - 10) < 1e-9);
    assert_int_equal(share_stop(&s, 1), SHARE_NONE);
    share_settle(&s, 5, note, &e);
    assert_rate(&s, 0, 10);
    assert_rate(&s, 2, 90);
    assert_true(isinf(e.at_s[1])); /* flow 0 has 30 left, flow 2 has 470 */
    assert_true(fabs(e.at_s[0] - 8) + fabs(e.at_s[2] - (5 + 470 / 90.0)) < 1e-9);
    share_begin(&s, 3, 3, 3, 1);
    share_settle(&s, 6, note, &e);
    assert_true(isinf(share_rate(&s, 3)) && e.at_s[3] == 6);
}

/* Of two that share a link the one with less ends first, then the other one is alone; equal ones
 * end at once. */
TEST(ends_follow_each_other)
{
    _cleanup_(share_done) struct share s;
    struct ends e = {{0}};
    share_init(&s, 4, 3);
    share_limit(&s, 0, 10);
    share_begin(&s, 0, 0, 1, 50);
    share_begin(&s, 1, 0, 2, 20);
    share_settle(&s, 0, note, &e);
    assert_true(e.at_s[0] == 0 && e.at_s[1] == 4); /* flow 1 is next, 0 was not reported */
    assert_int_equal(share_stop(&s, 1), SHARE_NONE);
    share_begin(&s, 1, 0, 2, 30); /* both have 30 left */
    share_settle(&s, 4, note, &e);
    assert_true(e.at_s[0] == 10);
    assert_int_equal(share_stop(&s, 0), 1);
    assert_int_equal(share_stop(&s, 1), SHARE_NONE);
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
        struct ends e;
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
                share_begin(&s, f, a, LINKS / 2 + splitmix_below(&rng, LINKS / 2), 1e9);
            }
            if (splitmix_below(&rng, 3) > 0) {
                continue; /* several changes, then the rates */
            }
            share_settle(&s, round + change / 1000.0, note, &e);
            double want[FLOWS];
            fill(&s, want);
            for (uint32_t i = 0; i < FLOWS; i++) {
                if (s.flows[i].is_on && fabs(share_rate(&s, i) - want[i]) > 1e-9 * want[i]) {
                    fail_msg("round %d, flow %u: %.12g, filling says %.12g", round, i,
                             share_rate(&s, i), want[i]);
                }
            }
        }
        share_done(&s);
    }
}
