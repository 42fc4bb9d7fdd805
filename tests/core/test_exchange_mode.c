/* The modes of an exchange, core/exchange_kind.h: texts, what cannot be together, and
 * which steps end in one. */
#include "tests/test.h"
#include "core/exchange_kind.h"

TEST(texts_and_back)
{
    static const struct {
        const char *text;
        struct exchange_mode mode;
    } rows[] = {
        {"Sync", {0}},
        {"Sync localSteps=2", {.local_steps = 2}},
        {"Sync localSteps=1000", {.local_steps = 1000}},
        {"Async", {.kind = EXCHANGE_ASYNC}},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char text[EXCHANGE_MODE_TEXT_MAX];
        struct exchange_mode mode = {.local_steps = 9};
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
        {"", "'': expected Sync or Async"},
        {"sync", "'sync': expected Sync"},
        {"Syncs", "'Syncs': expected Sync"},
        {"Sync ", "'': expected localSteps=N"},
        {"Sync localSteps", "'localSteps': expected localSteps=N"},
        {"Sync localStepss=2", "'localStepss=2': expected"},
        {"Sync localSteps=1", "'localSteps=1': expected a whole number from 2 to 1000"},
        {"Sync localSteps=1001", "'localSteps=1001': expected"},
        {"Sync localSteps=2x", "'localSteps=2x': expected"},
        {"Sync localSteps=", "'localSteps=': expected"},
        {"Sync  localSteps=2", "' localSteps=2': expected"},
        {"Async localSteps=2", "localSteps: parameters are averaged over all trainers"},
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
    const struct exchange_mode modes[] = {{0}, {.kind = EXCHANGE_ASYNC}, {.local_steps = 4}};
    static const uint32_t periods[] = {1, 1, 4};
    for (size_t i = 0; i < N_ROWS(modes); i++) {
        assert_int_equal(exchange_mode_period(&modes[i]), periods[i]);
        for (uint64_t step = 0; step < 24; step++) {
            assert_int_equal(exchange_mode_follows(&modes[i], step),
                             step % periods[i] == periods[i] - 1);
        }
    }
}
