/* What a command line means before its verb runs: a verb of the test's own keeps what it got. */
#include "tests/test.h"
#include "ctl/cli/cli.h"

/* "list x y -o json -q local", in a fixed order. */
static char seen[256];

static enum exit_code keep(struct cli *cli)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    buf_puts(&text, cli->verb->name);
    for (size_t i = 0; i < cli->args.n_words; i++) {
        buf_printf(&text, " %s", cli->args.words[i]);
    }
    buf_printf(&text, "%s%s%s%s", cli->output[0] == '\0' ? "" : " -o ", cli->output,
               cli->is_quiet ? " -q" : "", cli->is_local ? " local" : "");
    buf_printf(&text, "%s%s%s%s", cli->store == NULL ? "" : " store ",
               cli->store == NULL ? "" : cli->store, cli->namespace == NULL ? "" : " in ",
               cli->namespace == NULL ? "" : cli->namespace);
    buf_printf(&text, "%s", cli->color_stdout ? " color" : "");
    (void)snprintf(seen, sizeof(seen), "%s", buf_cstr(&text));
    return EXIT_OK;
}

static const struct verb list = {
    .name = "list",
    .args = "NAME [NAME]",
    .summary = "",
    .examples = "",
    .formats = "wide|json|markdown",
    .min_words = 1,
    .max_words = 2,
    .run = keep,
};
static const struct verb plain = {
    .name = "plain", .args = "", .summary = "", .examples = "", .run = keep};
static const struct verb *const verbs[] = {&list, &plain};

/* Runs "benchctl WORDS"; the words are separated by one blank. */
static enum exit_code run(const char *words)
{
    _cleanup_(freep) char *copy = xstrdup(words);
    char *argv[16] = {(char *)"/usr/bin/benchctl"};
    int argc = 1;
    char *save = NULL;
    for (char *w = strtok_r(copy, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) {
        argv[argc++] = w;
    }
    seen[0] = '\0';
    return cli_main(verbs, N_ROWS(verbs), argc, argv);
}

static void check(const char *words, const char *expected)
{
    const enum exit_code code = run(words);
    const enum exit_code expected_code = expected == NULL ? EXIT_USAGE : EXIT_OK;
    if (code != expected_code || strcmp(seen, expected == NULL ? "" : expected) != 0) {
        fail_msg("benchctl %s: expected exit %d '%s', got %d '%s'", words, (int)expected_code,
                 expected == NULL ? "" : expected, (int)code, seen);
    }
}

TEST(test_command_lines)
{
    static const struct {
        const char *words, *expected; /* NULL: a usage error, and nothing ran */
    } rows[] = {
        {"list a", "list a"},
        {"list a b", "list a b"},
        {"list", NULL},
        {"list a b c", NULL},
        {"plain", "plain"},
        {"plain a", NULL},
        {"lst a", NULL},
        {"list a -o json", "list a -o json"},
        {"list a -o markdown", "list a -o markdown"},
        {"list a -o mark", NULL},
        {"list a -o wide|json", NULL},
        {"plain -o json", NULL},
        {"-q list a", "list a -q"},
        {"-o json list a", "list a -o json"}, /* the value is no verb */
        {"--store sqlite:x -q list a", "list a -q store sqlite:x"},
        {"--store=sqlite:x list a", "list a store sqlite:x"},
        {"list a --local", "list a local"},
        {"list a -n bench", "list a in bench"},
        {"list a -n bench --local", NULL},
        {"list a --store sqlite:x --context c", NULL},
        {"list a --store sqlite:x --kubeconfig c", NULL},
        {"list a --local --store sqlite:x", "list a local store sqlite:x"},
        {"list a --unknown", NULL},
        {"list a --color blue", NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        check(rows[i].words, rows[i].expected);
    }
}

static void set_variable(const char *name, const char *value)
{
    assert_int_equal(value == NULL ? unsetenv(name) : setenv(name, value, 1), 0);
}

/* stdout is no terminal here. */
TEST(test_what_decides_about_color)
{
    static const struct {
        const char *no_color, *force_color, *words, *expected;
    } rows[] = {
        {NULL, NULL, "plain", "plain"},
        {NULL, "1", "plain", "plain color"},
        {NULL, "", "plain", "plain"},
        {"1", "1", "plain", "plain"},
        {"", "1", "plain", "plain color"},
        {"1", NULL, "plain --color always", "plain color"},
        {NULL, "1", "plain --color never", "plain"},
    };
    set_variable("CLICOLOR_FORCE", NULL);
    set_variable("TERM", "dumb");
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        set_variable("NO_COLOR", rows[i].no_color);
        set_variable("FORCE_COLOR", rows[i].force_color);
        check(rows[i].words, rows[i].expected);
    }
}
