/* The life of a run: every event in every state, the impossible ones too. */
#include <errno.h>

#include "tests/test.h"
#include "daemon/run/run_life.h"

/* One column a state, one row an event; '.': the event cannot happen there. */
static const char states[] = "WrFCADdERP"; /* Waiting, reading, Freezing, Checking, Accepted,
                                            * Driven, done, Ended, Refused, Past */
static const struct {
    enum run_life_event event;
    const char *next;
} rows[] = {
    /* clang-format off */
    /*                         WrFCADdERP */
    {LIFE_ON_READ_SENT,       "r........."},
    {LIFE_ON_FREEZE_SENT,     ".F........"},
    {LIFE_ON_CHECK_SENT,      ".CC......."},
    {LIFE_ON_SET_BACK,        ".WWW......"},
    {LIFE_ON_CLAIMED,         "A..A......"},
    {LIFE_ON_FOUND_ENDED,     "E..E......"},
    {LIFE_ON_HELD,            "W..W......"},
    {LIFE_ON_REFUSED,         "RRRR......"},
    {LIFE_ON_FOUND_PAST,      "P..P......"},
    {LIFE_ON_STARTED,         "....D....."},
    {LIFE_ON_DRIVER_DONE,     ".....d...."},
    {LIFE_ON_STOPPED_FINAL,   "......E..."},
    {LIFE_ON_STOPPED_EARLY,   "......A..."},
    {LIFE_ON_DETACHED,        ".....AA..."},
    {LIFE_ON_ENDED_QUEUED,    "....E....."},
    /* clang-format on */
};

TEST(every_event_in_every_state)
{
    assert_int_equal(sizeof(rows) / sizeof(rows[0]), LIFE_EVENT_COUNT);
    assert_int_equal(sizeof(states) - 1, LIFE_COUNT);
    for (int e = 0; e < LIFE_EVENT_COUNT; e++) {
        assert_int_equal(rows[e].event, e); /* none is missing */
        for (enum run_life life = 0; life < LIFE_COUNT; life++) {
            enum run_life next = LIFE_COUNT;
            const int r = run_life_next(life, rows[e].event, &next);
            const char got = r == 0 ? states[next] : '.';
            if (got != rows[e].next[life] || (r < 0 && (r != -EINVAL || next != LIFE_COUNT))) {
                fail_msg("%s in state %s: expected '%c', got '%c'",
                         run_life_event_to_string(rows[e].event), run_life_to_string(life),
                         rows[e].next[life], got);
            }
        }
    }
}

TEST(what_is_no_state_or_event_is_refused)
{
    enum run_life next = LIFE_PAST;
    assert_int_equal(run_life_next(LIFE_COUNT, LIFE_ON_CLAIMED, &next), -EINVAL);
    assert_int_equal(run_life_next((enum run_life) - 1, LIFE_ON_CLAIMED, &next), -EINVAL);
    assert_int_equal(run_life_next(LIFE_WAITING, LIFE_EVENT_COUNT, &next), -EINVAL);
    assert_int_equal(next, LIFE_PAST);
}

/* Each state can be reached, and each that is not an end can be left. */
TEST(no_state_is_lost)
{
    bool is_reached[LIFE_COUNT] = {[LIFE_WAITING] = true};
    for (int pass = 0; pass < LIFE_COUNT; pass++) {
        for (enum run_life life = 0; life < LIFE_COUNT; life++) {
            bool is_left = false;
            for (enum run_life_event e = 0; e < LIFE_EVENT_COUNT; e++) {
                enum run_life next;
                if (run_life_next(life, e, &next) == 0) {
                    is_reached[next] |= is_reached[life];
                    is_left = true;
                }
            }
            const bool is_end = life == LIFE_ENDED || life == LIFE_REFUSED || life == LIFE_PAST;
            assert_int_equal(is_left, !is_end);
        }
    }
    for (enum run_life life = 0; life < LIFE_COUNT; life++) {
        assert_true(is_reached[life]);
    }
}

TEST(groups_of_states)
{
    static const char stored[] = "AEDd", driven[] = "Dd", read[] = "rFC";
    for (enum run_life life = 0; life < LIFE_COUNT; life++) {
        assert_int_equal(run_life_is_stored(life), strchr(stored, states[life]) != NULL);
        assert_int_equal(run_life_is_driven(life), strchr(driven, states[life]) != NULL);
        assert_int_equal(run_life_is_read(life), strchr(read, states[life]) != NULL);
    }
}
