#include "tests/test.h"
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

TEST(options_and_words_mix)
{
    char *argv[] = {"sweep", "--set", "a=1", "--local", "--set=b=2", "-ojson", "--", "--x"};
    _cleanup_(args_done) struct args a;
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
}

TEST(the_last_of_equal_options_counts)
{
    char *argv[] = {"--output=json", "-", "-ocsv", "--", "--output=markdown"};
    _cleanup_(args_done) struct args a;
    assert_int_equal(parse(&a, NULL, 5, argv), 0);
    assert_string_equal(args_get(&a, "output", "text"), "csv");
    assert_string_equal(args_get(&a, "set", "none"), "none");
    assert_int_equal(a.n_words, 2);
    assert_string_equal(a.words[0], "-"); /* a word: standard input by custom */
    assert_string_equal(a.words[1], "--output=markdown");
}

TEST(errors_say_what_to_do)
{
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

TEST(help_lists_the_table)
{
    _cleanup_(buf_done) struct buf b = BUF_INIT;
    args_help(opts, N_OPTS, &b);
    assert_non_null(strstr(buf_cstr(&b), "-o, --output FORMAT"));
    assert_non_null(strstr(buf_cstr(&b), "-h, --help"));
}

TEST(help_is_folded_at_80_columns)
{
    static const struct arg_opt rows[] = {
        {"short", 's', NULL, "Fits"},
        {"edge", 0, "FILE", "This text ends with the last column, the next one does"},
        {"over", 0, "FILE", "This text ends with one column more, so its end is down"},
        {"a-name-longer-than-its-column", 0, "VALUE", "Behind its name, then below the others"},
    };
    _cleanup_(buf_done) struct buf b = BUF_INIT;
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
}

/* Parses `n` words, the last of which is being typed. */
static struct args_end typed(struct args *a, int n, char *const *argv)
{
    struct args_end end;
    args_parse_typed(opts, N_OPTS, n, argv, a, &end);
    return end;
}

TEST(the_last_word_is_what_is_being_typed)
{
    static const struct {
        char *argv[4];
        int n;
        int place;
        const char *option, *text;
    } rows[] = {
        {{""}, 1, ARGS_AT_WORD, NULL, ""},
        {{"x", "swe"}, 2, ARGS_AT_WORD, NULL, "swe"},
        {{"--local", ""}, 2, ARGS_AT_WORD, NULL, ""}, /* a flag takes no value */
        {{"-"}, 1, ARGS_AT_OPTION, NULL, "-"},
        {{"--lo"}, 1, ARGS_AT_OPTION, NULL, "--lo"},
        {{"--output"}, 1, ARGS_AT_OPTION, NULL, "--output"},
        {{"--output", "js"}, 2, ARGS_AT_VALUE, "output", "js"},
        {{"-o", ""}, 2, ARGS_AT_VALUE, "output", ""},
        {{"--output", "-"}, 2, ARGS_AT_VALUE, "output", "-"},
        {{"--output=js"}, 1, ARGS_AT_VALUE, "output", "js"},
        {{"-ojs"}, 1, ARGS_AT_VALUE, "output", "js"},
        {{"--", "--lo"}, 2, ARGS_AT_WORD, NULL, "--lo"},
        {{"--nonsense", "--output", "json", "x"}, 4, ARGS_AT_WORD, NULL, "x"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(args_done) struct args a;
        const struct args_end end = typed(&a, rows[i].n, rows[i].argv);
        assert_int_equal(end.place, rows[i].place);
        assert_string_equal(end.text, rows[i].text);
        assert_true((end.opt == NULL) == (rows[i].option == NULL));
        if (end.opt != NULL) {
            assert_string_equal(end.opt->name, rows[i].option);
        }
    }
}

TEST(what_was_typed_before_is_parsed)
{
    char *argv[] = {"run", "--set", "a=1", "--nonsense", "--set=b=2", "--local", "x"};
    _cleanup_(args_done) struct args a;
    (void)typed(&a, 7, argv);
    assert_int_equal(a.n_words, 1);
    assert_string_equal(a.words[0], "run");
    assert_string_equal(args_get_nth(&a, "set", 0), "a=1");
    assert_string_equal(args_get_nth(&a, "set", 1), "b=2");
    assert_true(args_has(&a, "local"));
}
