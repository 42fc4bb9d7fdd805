/* Which run a word on the command line means. */
#include "tests/test.h"
#include "ctl/runs/run_word.h"

TEST(test_a_word_means_one_run)
{
    static const char *const names[] = {"tiny-7k3fq", "tiny-9bq89", "big-7k3fq", "q89", "b-q89"};
    static const struct {
        const char *word;
        int found;           /* -1: none */
        enum exit_code code; /* then */
    } rows[] = {
        {"tiny-7k3fq", 0, 0},
        {"9bq89", 1, 0},
        {"big-7k3fq", 2, 0},
        {"q89", 3, 0}, /* the whole name comes before another's end */
        {"7k3fq", -1, EXIT_USAGE},
        {"bq89", -1, EXIT_NOT_FOUND}, /* an end that follows no dash */
        {"tiny", -1, EXIT_NOT_FOUND},
        {"", -1, EXIT_NOT_FOUND},
        {"latest", 4, 0},
    };
    const struct cli cli = {.is_quiet = true};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        enum exit_code code = EXIT_OK;
        const struct run_names among = {names, N_ROWS(names), 4, "no such run", "--local"};
        const int found = run_word_find(&cli, rows[i].word, &among, &code);
        if (found != rows[i].found || code != rows[i].code) {
            fail_msg("'%s': expected run %d, exit %d; got %d, exit %d", rows[i].word, rows[i].found,
                     (int)rows[i].code, found, (int)code);
        }
    }
}

TEST(test_a_kind_before_the_name)
{
    static const struct {
        const char *word, *name;
    } rows[] = {
        {"tiny-7k3fq", "tiny-7k3fq"},    {"run/7k3fq", "7k3fq"},
        {"bmr/7k3fq", "7k3fq"},          {"benchmarkrun.benchd.io/7k3fq", "7k3fq"},
        {"benchmarkrun/7k3fq", "7k3fq"}, {"pod/7k3fq", "pod/7k3fq"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_string_equal(run_word_name(rows[i].word), rows[i].name);
    }
}

TEST(test_a_run_without_results)
{
    static const struct {
        enum run_phase phase;
        enum exit_code code;
    } rows[] = {{RUN_FAILED, EXIT_RUN_FAILED}, {RUN_PENDING, EXIT_NOT_FOUND}};
    const struct cli cli = {.is_quiet = true};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct loaded_run run = {.row = {.name = (char *)"tiny-7k3fq"}};
        run.row.status.phase = rows[i].phase;
        assert_int_equal(loaded_run_check(&cli, &run), rows[i].code);
    }
}
