/* The modes of an exchange, core/exchange_mode.h: texts, what cannot be together, and
 * which steps end in one. */
#include "tests/test.h"
#include "core/exchange_mode.h"

TEST(texts_and_back)
{
    static const struct {
        const char *text;
        struct exchange_mode mode;
    } rows[] = {
        {"Sync", {0}},
        {"Sync accumulate=2", {.accumulate = 2}},
        {"Sync accumulate=1000", {.accumulate = 1000}},
        {"Sync localSteps=16", {.local_steps = 16}},
        {"Async", {.kind = EXCHANGE_ASYNC}},
        {"Async accumulate=3", {.kind = EXCHANGE_ASYNC, .accumulate = 3}},
        {"Sync backups=1", {.backups = 1}},
        {"Sync backups=2 accumulate=3", {.backups = 2, .accumulate = 3}},
        {"BoundedStaleness staleness=0", {.kind = EXCHANGE_BOUNDED}},
        {"BoundedStaleness staleness=7", {.kind = EXCHANGE_BOUNDED, .staleness = 7}},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char text[EXCHANGE_MODE_TEXT_MAX];
        struct exchange_mode mode = {.accumulate = 9};
        exchange_mode_text(&rows[i].mode, text);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(exchange_mode_parse(text, &mode, NULL), 0);
        assert_true(exchange_mode_eq(&mode, &rows[i].mode));
        for (size_t k = 0; k < N_ROWS(rows); k++) {
            assert_int_equal(exchange_mode_eq(&mode, &rows[k].mode), i == k);
        }
    }
}

TEST(wrong_texts)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "'': expected Sync, Async or BoundedStaleness"},
        {"sync", "'sync': expected Sync"},
        {"Syncs", "'Syncs': expected Sync"},
        {"Sync ", "'': expected staleness=N, backups=N, accumulate=N or localSteps=N"},
        {"Sync accumulate", "'accumulate': expected staleness=N"},
        {"Sync accumulates=2", "'accumulates=2': expected"},
        {"Sync accumulate=1", "accumulate '1': expected a whole number from 2 to 1000"},
        {"Sync accumulate=1001", "accumulate '1001': expected"},
        {"Sync accumulate=2x", "accumulate '2x': expected"},
        {"Sync localSteps=", "localSteps '': expected"},
        {"Sync  localSteps=2", "'': expected"},
        {"Sync staleness=1", "staleness: only mode BoundedStaleness has a bound"},
        {"Async localSteps=2", "localSteps: parameters are averaged over all trainers"},
        {"Async backups=1", "backups: only mode Sync, without local steps, waits for trainers"},
        {"Sync backups=1 localSteps=2", "backups: only mode Sync, without local steps"},
        {"Sync backups=0", "backups '0': expected a whole number from 1"},
        {"BoundedStaleness staleness=1001", "staleness '1001': expected a whole number from 0"},
        {"Sync accumulate=2 localSteps=2", "accumulate: a trainer that updates its own parameters"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct exchange_mode mode;
        struct err err = {0};
        assert_int_equal(exchange_mode_parse(rows[i].text, &mode, &err), -EINVAL);
        print_message("# %s\n", err.msg);
        assert_non_null(strstr(err.msg, rows[i].says));
    }
}

TEST(which_steps_exchange)
{
    const struct exchange_mode modes[] = {{0}, {.accumulate = 3}, {.local_steps = 4}};
    static const uint32_t periods[] = {1, 3, 4};
    for (size_t i = 0; i < N_ROWS(modes); i++) {
        assert_int_equal(exchange_mode_period(&modes[i]), periods[i]);
        for (uint64_t step = 0; step < 24; step++) {
            assert_int_equal(exchange_mode_follows(&modes[i], step),
                             step % periods[i] == periods[i] - 1);
        }
    }
}

/* When the parameters of a trainer's fourth exchange (3) may come, by what the
 * slowest one has sent. */
TEST(who_waits_for_whom)
{
    static const struct {
        struct exchange_mode mode;
        uint64_t least; /* of the slowest */
    } rows[] = {
        {{.kind = EXCHANGE_SYNC}, 4},
        {{.kind = EXCHANGE_ASYNC}, 0},
        {{.kind = EXCHANGE_BOUNDED, .staleness = 0}, 4},
        {{.kind = EXCHANGE_BOUNDED, .staleness = 1}, 3},
        {{.kind = EXCHANGE_BOUNDED, .staleness = 3}, 1},
        {{.kind = EXCHANGE_BOUNDED, .staleness = 9}, 0},
        {{.kind = EXCHANGE_SYNC, .backups = 1}, 0}, /* the sums say who has parameters */
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        for (uint64_t slowest = 0; slowest < 6; slowest++) {
            assert_int_equal(exchange_mode_may_have(&rows[i].mode, 3, slowest),
                             slowest >= rows[i].least);
        }
        assert_int_equal(exchange_mode_is_single(&rows[i].mode), i > 0);
    }
}
