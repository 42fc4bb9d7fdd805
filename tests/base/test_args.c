#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/args.h"

static const struct arg_opt opts[] = {
    {"set", 0, "NAME=V1,V2", "Set sweep values (repeatable)"},
    {"local", 0, NULL, "Run on this machine"},
    {"output", 'o', "FORMAT", "json, csv or markdown"},
};
#define N_OPTS (sizeof(opts) / sizeof(opts[0]))

static int parse(struct args *a, struct err *err, int n, char *const *argv)
{
    return args_parse(opts, N_OPTS, n, argv, a, err);
}

static void options_and_words_mix(void **state)
{
    (void)state;
    char *argv[] = {"sweep", "--set", "a=1", "--local", "--set=b=2", "-ojson", "--", "--x"};
    struct args a;
    assert_int_equal(parse(&a, NULL, 8, argv), 0);
    assert_int_equal(a.n_words, 2);
    assert_string_equal(a.words[0], "sweep");
    assert_string_equal(a.words[1], "--x");
    assert_string_equal(args_get_nth(&a, "set", 0), "a=1");
    assert_string_equal(args_get_nth(&a, "set", 1), "b=2");
    assert_null(args_get_nth(&a, "set", 2));
    assert_true(args_has(&a, "local"));
    assert_string_equal(args_get(&a, "output", "text"), "json");
    assert_false(args_has(&a, "help"));
    args_done(&a);
}

static void the_last_of_equal_options_counts(void **state)
{
    (void)state;
    char *argv[] = {"--output=json", "-", "-ocsv", "--", "--output=markdown"};
    struct args a;
    assert_int_equal(parse(&a, NULL, 5, argv), 0);
    assert_string_equal(args_get(&a, "output", "text"), "csv");
    assert_string_equal(args_get(&a, "set", "none"), "none");
    assert_int_equal(a.n_words, 2);
    assert_string_equal(a.words[0], "-"); /* a word: standard input by custom */
    assert_string_equal(a.words[1], "--output=markdown");
    args_done(&a);
}

static void errors_say_what_to_do(void **state)
{
    (void)state;
    static const struct {
        char *argv[2];
        int n;
        const char *text;
    } rows[] = {
        {{"--locl"}, 1, "unknown option '--locl'; did you mean --local?"},
        {{"--zzz"}, 1, "unknown option '--zzz'; --help lists them"},
        {{"--set"}, 1, "option --set needs a value (NAME=V1,V2)"},
        {{"--local=yes"}, 1, "option --local takes no value, got 'yes'"},
        {{"-q"}, 1, "unknown option '-q'; --help lists them"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct args a;
        struct err err;
        assert_int_equal(parse(&a, &err, rows[i].n, rows[i].argv), -EINVAL);
        assert_string_equal(err.msg, rows[i].text);
    }
}

static void help_lists_the_table(void **state)
{
    (void)state;
    struct buf b = BUF_INIT;
    args_help(opts, N_OPTS, &b);
    assert_non_null(strstr(buf_cstr(&b), "-o, --output FORMAT"));
    assert_non_null(strstr(buf_cstr(&b), "-h, --help"));
    buf_done(&b);
}

static void help_is_folded_at_80_columns(void **state)
{
    (void)state;
    static const struct arg_opt rows[] = {
        {"short", 's', NULL, "Fits"},
        {"edge", 0, "FILE", "This text ends with the last column, the next one does"},
        {"over", 0, "FILE", "This text ends with one column more, so its end is down"},
        {"a-name-longer-than-its-column", 0, "VALUE", "Behind its name, then below the others"},
    };
    struct buf b = BUF_INIT;
    args_help(rows, sizeof(rows) / sizeof(rows[0]), &b);
    assert_string_equal(
        buf_cstr(&b),
        "  -s, --short             Fits\n"
        "      --edge FILE         This text ends with the last column, the next one does\n"
        "      --over FILE         This text ends with one column more, so its end is\n"
        "                          down\n"
        "      --a-name-longer-than-its-column VALUE Behind its name, then below the\n"
        "                          others\n"
        "  -h, --help              Print this help\n");
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_words_mix),
        cmocka_unit_test(the_last_of_equal_options_counts),
        cmocka_unit_test(errors_say_what_to_do),
        cmocka_unit_test(help_lists_the_table),
        cmocka_unit_test(help_is_folded_at_80_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
