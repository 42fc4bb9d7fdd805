/* The options of run and attach, as a command line has them. */
#include "tests/test.h"
#include "ctl/runs/run_opts.h"

static struct run_opts seen;
static enum exit_code keep(struct cli *cli)
{
    return run_opts_take(cli, &seen);
}

static const struct arg_opt opts[] = {
    {"file", 'f', "FILE", ""},
    {"systems", 0, "NAMES", ""},
    {"set", 0, "NAME=VALUES", ""},
    {"steps", 0, "N", ""},
    {"repeats", 0, "N", "", "definition.repeats.min"},
    {"resume", 0, "RUN", ""},
    {"timeout", 0, "TIME", ""},
    {"progress", 0, "MODE", ""},
};
static const struct verb run_verb = {
    .name = "run",
    .args = "NAME",
    .summary = "",
    .examples = "",
    .opts = opts,
    .n_opts = sizeof(opts) / sizeof(opts[0]),
    .max_words = 1,
    .run = keep,
};
static const struct verb *const verbs[] = {&run_verb};

static enum exit_code run(const char *words)
{
    _cleanup_(freep) char *copy = xasprintf("run %s", words);
    char *argv[16] = {(char *)"benchctl"};
    int argc = 1;
    char *save = NULL;
    for (char *w = strtok_r(copy, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) {
        argv[argc++] = w;
    }
    return cli_main(verbs, 1, argc, argv);
}

TEST(test_options)
{
    static const struct {
        const char *words;
        enum exit_code code;
        enum progress_mode mode;
        int64_t timeout_ms;
        bool is_resumed;
    } rows[] = {
        {"tiny", EXIT_OK, PROGRESS_PLAIN, 0,
         false}, /* stderr is no terminal that can be drawn on */
        {"tiny -q", EXIT_OK, PROGRESS_NONE, 0, false},
        {"tiny -q --progress plain", EXIT_OK, PROGRESS_PLAIN, 0, false},
        {"tiny --progress json", EXIT_USAGE, 0, 0, false},
        {"tiny --progress none --timeout 1h30m", EXIT_OK, PROGRESS_NONE, 5400000, false},
        {"--resume 7k3fq --timeout 90s", EXIT_OK, PROGRESS_PLAIN, 90000, true},
        {"tiny --progress loud", EXIT_USAGE, 0, 0, false},
        {"tiny --timeout 90", EXIT_USAGE, 0, 0, false},
        {"tiny --timeout 0s", EXIT_USAGE, 0, 0, false},
        {"tiny --resume 7k3fq", EXIT_USAGE, 0, 0, false},
        {"--resume 7k3fq --set trainers=2", EXIT_USAGE, 0, 0, false},
        {"--resume 7k3fq -f x.yaml", EXIT_USAGE, 0, 0, false},
        {"--resume 7k3fq --repeats 2", EXIT_USAGE, 0, 0, false},
        {"--set trainers=2 --repeats 2 tiny", EXIT_OK, PROGRESS_PLAIN, 0, false},
    };
    assert_int_equal(setenv("TERM", "dumb", 1), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const enum exit_code code = run(rows[i].words);
        if (code != rows[i].code) {
            fail_msg("run %s: expected exit %d, got %d", rows[i].words, (int)rows[i].code,
                     (int)code);
        }
        if (code == EXIT_OK &&
            (seen.mode != rows[i].mode || seen.timeout_ms != rows[i].timeout_ms ||
             (seen.resume != NULL) != rows[i].is_resumed)) {
            fail_msg("run %s: expected mode %d, %lld ms, resumed %d; got %d, %lld, %d",
                     rows[i].words, (int)rows[i].mode, (long long)rows[i].timeout_ms,
                     rows[i].is_resumed, (int)seen.mode, (long long)seen.timeout_ms,
                     seen.resume != NULL);
        }
    }
}
