/* The frame around every verb, see cli.h. Edge file: reads the environment and the terminal. */
#include "ctl/cli/cli.h"

#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "report/terminal.h"

#define NOTE_INDENT 2 /* A note's lines after the first one are indented by this. */

const struct verb *cli_find_verb(const struct verb *const *verbs, size_t n, const char *name)
{
    return array_find_item(verbs, n, verb, str_eq(verb->name, name));
}

/* What other programs call it. */
static const char *const meanings[][2] = {{"ls", "get runs"},
                                          {"list", "get runs"},
                                          {"status", "get runs"},
                                          {"ps", "get runs"},
                                          {"show", "results RUN"},
                                          {"stop", "cancel RUN"},
                                          {"rm", "delete RUN"},
                                          {"remove", "delete RUN"},
                                          {"check", "validate"},
                                          {"lint", "validate"},
                                          {"start", "run"},
                                          {"bench", "run"},
                                          {"new", "init"},
                                          {"create", "init"},
                                          {"open", "report RUN --open"},
                                          {"plot", "report RUN"},
                                          {"chart", "report RUN"},
                                          {"resume", "run --resume RUN"},
                                          {"diff", "compare RUN RUN_B"},
                                          {"kill", "cancel RUN"}};

static enum exit_code unknown_verb(const struct verb *const *verbs, size_t n, const char *name)
{
    _cleanup_(freep) const char **names = xnew_array(const char *, n);
    for (size_t i = 0; i < n; i++) {
        names[i] = verbs[i]->name;
    }
    const char *const(*meant)[2] =
        array_find(meanings, COUNT_OF(meanings), it, str_eq((*it)[0], name));
    const char *hint = str_suggest(name, names, n);
    _cleanup_(freep) char *fix = meant != NULL  ? xasprintf("benchctl %s", (*meant)[1])
                                 : hint == NULL ? xstrdup("list the verbs with: benchctl help")
                                                : xasprintf("did you mean '%s'?", hint);
    return cli_error(EXIT_USAGE, fix, "unknown verb '%s'", name);
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] != '\0';
}

/* --color wins over NO_COLOR, that over CLICOLOR_FORCE and FORCE_COLOR, and those over whether it
 * is a terminal. */
static bool wants_color(const char *when, int fd)
{
    if (!str_eq(when, "auto")) {
        return str_eq(when, "always");
    }
    if (is_set("NO_COLOR")) {
        return false;
    }
    if (is_set("CLICOLOR_FORCE") || is_set("FORCE_COLOR")) {
        return true;
    }
    const char *term = getenv("TERM");
    return isatty(fd) && term != NULL && !str_eq(term, "dumb");
}

/* Is `word` one of "a|b|c"? */
static bool is_one_of(const char *word, const char *list)
{
    const size_t len = strlen(word);
    while (*list != '\0') {
        const size_t item_len = strcspn(list, "|");
        if (item_len == len && memcmp(list, word, len) == 0) {
            return true;
        }
        list += item_len + (list[item_len] == '|');
    }
    return false;
}

static enum exit_code check_globals(const struct cli *cli)
{
    const char *color = args_get(&cli->args, "color", "auto");
    if (!is_one_of(color, CLI_COLORS)) {
        return cli_error(EXIT_USAGE, "use --color auto, always or never", "--color '%s' is unknown",
                         color);
    }
    if (cli->output[0] != '\0' && cli->verb->formats == NULL) {
        return cli_error(EXIT_USAGE, NULL, "'%s' does not take -o: it has a single output format",
                         cli->verb->name);
    }
    if (cli->output[0] != '\0' && !is_one_of(cli->output, cli->verb->formats)) {
        _cleanup_(freep) char *fix = xasprintf("use -o %s", cli->verb->formats);
        return cli_error(EXIT_USAGE, fix, "unknown output format '%s'", cli->output);
    }
    if ((cli->is_local || cli->store != NULL) &&
        (cli->namespace != NULL || cli->context != NULL || cli->kubeconfig != NULL)) {
        return cli_error(
            EXIT_USAGE, "remove --local and --store, or remove these options",
            "--namespace, --context and --kubeconfig cannot be used with --local or --store");
    }
    return EXIT_OK;
}

static void take_globals(struct cli *cli)
{
    const struct args *a = &cli->args;
    const char *color = args_get(a, "color", "auto");
    cli->output = args_get(a, "output", "");
    cli->is_local = args_has(a, "local");
    cli->store = args_get(a, "store", NULL);
    cli->namespace = args_get(a, "namespace", NULL);
    cli->context = args_get(a, "context", NULL);
    cli->kubeconfig = args_get(a, "kubeconfig", NULL);
    cli->is_quiet = args_has(a, "quiet");
    cli->no_headers = args_has(a, "no-headers");
    cli->color_stdout = wants_color(color, STDOUT_FILENO);
    cli->color_stderr = wants_color(color, STDERR_FILENO);
    cli->ascii = !str_eq(nl_langinfo(CODESET), "UTF-8");
}

static enum exit_code check_words(const struct cli *cli)
{
    size_t n = cli->args.n_words;
    _cleanup_(freep) char *fix = xasprintf("benchctl %s%s%s", cli->verb->name,
                                           cli->verb->args[0] == '\0' ? "" : " ", cli->verb->args);
    if (n < cli->verb->min_words) {
        return cli_error(EXIT_USAGE, fix, "'%s' needs %s", cli->verb->name,
                         n == 0 ? "an argument" : "more arguments");
    }
    if (n > cli->verb->max_words) {
        return cli_error(EXIT_USAGE, cli->verb->instead != NULL ? cli->verb->instead : fix,
                         "'%s' does not take '%s'", cli->verb->name,
                         cli->args.words[cli->verb->max_words]);
    }
    return EXIT_OK;
}

/* The program's name as the user typed it. */
static const char *program_name(const char *path)
{
    return path != NULL && str_eq(file_last_part(path), "kubectl-bench") ? "kubectl bench"
                                                                         : "benchctl";
}

/* Lists the options of the verb (which may be NULL) and the global ones. Returns their number. */
static size_t list_options(const struct verb *verb, struct arg_opt ret[CLI_MAX_OPTS])
{
    size_t n = 0;
    for (size_t i = 0; verb != NULL && i < verb->n_opts; i++) {
        ret[n++] = verb->opts[i];
    }
    for (size_t i = 0; i < usage_n_global_opts; i++) {
        ret[n++] = usage_global_opts[i];
    }
    return n;
}

/* "--workers 4" as "--set workers=4", of a verb that takes that. Owned; NULL: something else. */
static char *fix_by_set(const struct verb *verb, int argc, char **argv, const char *option)
{
    for (int i = 0; i < argc && array_any(verb->opts, verb->n_opts, it, str_eq(it->name, "set"));
         i++) {
        const size_t len = strcspn(argv[i], "=");
        if (strcspn(option, "'=") == len && memcmp(argv[i], option, len) == 0 &&
            strspn(option, "-_abcdefghijklmnopqrstuvwxyz") == len) {
            const char *value = argv[i][len] == '=' ? argv[i] + len + 1
                                : i + 1 < argc      ? argv[i + 1]
                                                    : "";
            _cleanup_(freep) char *name = xstrndup(argv[i] + 2, len - 2);
            for (char *dash; (dash = strchr(name, '-')) != NULL;) {
                *dash = '_';
            }
            return !ascii_is_digit(value[0])
                       ? NULL
                       : xasprintf("a value of the sweep is --set %s=%s; --help lists the options",
                                   name, value);
        }
    }
    return NULL;
}

/* args.h says what to do after the argument: "unknown option '--locl'; did you mean --local?". */
static enum exit_code wrong_options(const struct verb *verb, int argc, char **argv,
                                    const struct err *err)
{
    const char *quote = strrchr(err->msg, '\'');
    static const char unknown[] = "unknown option '";
    if (str_has_prefix(err->msg, unknown) && str_has_suffix(err->msg, "lists them")) {
        const char *option = err->msg + strlen(unknown);
        _cleanup_(freep) char *fix = fix_by_set(verb, argc, argv, option);
        if (fix != NULL) {
            return cli_error(EXIT_USAGE, fix, "%s: %.*s", verb->name, (int)(quote + 1 - err->msg),
                             err->msg);
        }
    }
    if (quote != NULL && str_has_prefix(quote, "'; ")) {
        const char *fix = quote + strlen("'; ");
        _cleanup_(freep) char *list = xasprintf("benchctl %s --help lists the options", verb->name);
        return cli_error(EXIT_USAGE, str_eq(fix, "--help lists them") ? list : fix, "%s: %.*s",
                         verb->name, (int)(quote + 1 - err->msg), err->msg);
    }
    return cli_error(EXIT_USAGE, NULL, "%s: %s", verb->name, err->msg);
}

/* `cli` holds the program and its verbs; the rest comes from the command line. */
static enum exit_code run_verb(struct cli *cli, int argc, char **argv)
{
    const struct verb *verb = cli->verb;
    struct arg_opt opts[CLI_MAX_OPTS];
    const size_t n = list_options(verb, opts);
    struct err err = {0};
    if (args_parse(opts, n, argc, argv, &cli->args, &err) < 0) {
        return wrong_options(verb, argc, argv, &err);
    }
    enum exit_code code;
    if (args_has(&cli->args, "help")) {
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        usage_verb(cli->program, verb, &out);
        code = cli_print(&out);
    } else {
        take_globals(cli);
        if ((code = check_globals(cli)) == EXIT_OK && (code = check_words(cli)) == EXIT_OK) {
            code = verb->run(cli);
        }
    }
    args_done(&cli->args);
    return code;
}

/* Options may come before the verb: the number of arguments that they take. */
static int leading_options(int argc, char **argv)
{
    int i = 0;
    while (i < argc && argv[i][0] == '-' && argv[i][1] != '\0') {
        bool takes_value = false;
        for (size_t k = 0; k < usage_n_global_opts; k++) {
            const struct arg_opt *o = &usage_global_opts[k];
            const char short_form[] = {'-', o->short_name, '\0'};
            if (o->value_name != NULL &&
                (str_eq(argv[i], short_form) ||
                 (str_has_prefix(argv[i], "--") && str_eq(argv[i] + 2, o->name)))) {
                takes_value = true;
            }
        }
        i += takes_value ? 2 : 1;
    }
    return i < argc ? i : argc;
}

bool cli_parse_typed(struct cli *cli, int argc, char **argv, struct arg_opt opts[CLI_MAX_OPTS],
                     struct args_end *ret_end)
{
    const int before = leading_options(argc - 1, argv);
    if (before < argc - 1) {
        cli->verb = cli_find_verb(cli->verbs, cli->n_verbs, argv[before]);
        if (cli->verb == NULL) {
            return false;
        }
        memmove(&argv[1], &argv[0], (size_t)before * sizeof(argv[0])); /* over the verb's place */
        argc--;
        argv++;
    }
    args_parse_typed(opts, list_options(cli->verb, opts), argc, argv, &cli->args, ret_end);
    return true;
}

static bool has_word(int argc, char **argv, const char *word)
{
    return str_index(word, (const char *const *)argv, (size_t)argc) >= 0;
}

/* Options alone, or nothing at all. */
static enum exit_code without_verb(struct cli *cli, int argc, char **argv)
{
    if (has_word(argc, argv, "--version")) {
        cli->verb = cli_find_verb(cli->verbs, cli->n_verbs, "version");
        return run_verb(cli, 0, NULL);
    }
    const bool asked = has_word(argc, argv, "--help") || has_word(argc, argv, "-h");
    if (argc > 0 && !asked) {
        struct arg_opt opts[CLI_MAX_OPTS];
        struct err err = {0};
        const int r = args_parse(opts, list_options(NULL, opts), argc, argv, &cli->args, &err);
        args_done(&cli->args);
        return cli_error(EXIT_USAGE, "list the verbs with: benchctl help", "%s",
                         r < 0 ? err.msg : "a verb is missing");
    }
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    usage_program(cli->program, cli->verbs, cli->n_verbs, &out);
    const enum exit_code code = asked ? cli_print(&out) : EXIT_USAGE;
    if (!asked) {
        (void)fputs(buf_cstr(&out), stderr); /* the exit code says so too */
    }
    return code;
}

enum exit_code cli_main(const struct verb *const *verbs, size_t n_verbs, int argc, char **argv)
{
    (void)setlocale(LC_CTYPE, ""); /* without a locale the output is ASCII; numbers never change */
    struct cli cli = {
        .program = program_name(argc > 0 ? argv[0] : NULL), .verbs = verbs, .n_verbs = n_verbs};
    const int n_words = argc > 0 ? argc - 1 : 0;
    const int before = leading_options(n_words, argv + 1);
    if (before == n_words) {
        return without_verb(&cli, n_words, argv + 1);
    }
    const char *name = argv[1 + before];
    cli.verb = cli_find_verb(verbs, n_verbs, name);
    if (cli.verb == NULL) {
        return unknown_verb(verbs, n_verbs, name);
    }
    memmove(&argv[2], &argv[1], (size_t)before * sizeof(argv[0])); /* over the verb's place */
    return run_verb(&cli, argc - 2, argv + 2);
}

/* Quoted text may come from a server or a process: no control character of it may reach the
 * terminal. Line breaks are our own. */
static void drop_control(char *text)
{
    (void)text_replace_control(text, "\n", '?'); /* its length is not needed */
}

enum exit_code cli_error(enum exit_code code, const char *fix, const char *fmt, ...)
{
    _cleanup_(freep) char *text = xasprintf_rest(fmt);
    drop_control(text);
    (void)fprintf(stderr, "error: %s\n", text); /* nowhere left to complain */
    if (fix != NULL) {
        (void)fprintf(stderr, "fix: %s\n", fix);
    }
    return code;
}

enum exit_code cli_print_diags(const struct diags *diags, const char *file, const char *text)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    diags_format(diags, file, text == NULL ? "" : text, &out);
    (void)fputs(buf_cstr(&out), stderr); /* the exit code says so too */
    return EXIT_USAGE;
}

void cli_note(const struct cli *cli, const char *fmt, ...)
{
    if (cli->is_quiet) {
        return;
    }
    _cleanup_(freep) char *text = xasprintf_rest(fmt);
    drop_control(text);
    (void)fprintf(stderr, "%s\n", text); /* a note that cannot be shown is no failure */
}

unsigned terminal_columns(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    const char *columns = getenv("COLUMNS");
    int64_t n;
    return columns != NULL && parse_i64_in(columns, 20, 1000, &n) == 0 ? (unsigned)n : 80;
}

void cli_note_prose(const struct cli *cli, const char *fmt, ...)
{
    _cleanup_(freep) char *text = xasprintf_rest(fmt);
    if (isatty(STDERR_FILENO) != 1) {
        cli_note(cli, "%s", text);
        return;
    }
    for (char *c = text; *c != '\0'; c++) { /* lines that were broken for a usual terminal */
        *c = *c == '\n' ? ' ' : *c;
    }
    _cleanup_(buf_done) struct buf lines = BUF_INIT;
    wrap_text(&lines, text, terminal_columns(STDERR_FILENO), 0, NOTE_INDENT);
    cli_note(cli, "%.*s", (int)lines.len - 1, buf_cstr(&lines));
}

static bool write_stdout(void *ctx, const void *data, size_t len)
{
    (void)ctx;
    const bool is_written = fwrite(data, 1, len, stdout) == len && fflush(stdout) == 0;
    if (!is_written && errno == EPIPE) { /* the reader left (| head): end as silently as any tool */
        (void)signal(SIGPIPE, SIG_DFL);
        (void)raise(SIGPIPE);
    }
    return is_written;
}

static enum exit_code print(const struct buf *out)
{
    return write_stdout(NULL, buf_cstr(out), out->len)
               ? EXIT_OK
               : cli_error(EXIT_LOCAL_RESOURCE, NULL, "cannot write to stdout: %s",
                           strerror(errno));
}

struct buf cli_stream(void)
{
    return (struct buf){.take = isatty(STDOUT_FILENO) == 1 ? NULL : write_stdout};
}

/* Logs and texts of servers are among it. Programs get them as they are. */
enum exit_code cli_print(const struct buf *out)
{
    if (out->len == 0 || isatty(STDOUT_FILENO) != 1) {
        return print(out);
    }
    _cleanup_(buf_done) struct buf shown = BUF_INIT;
    text_put_shown(&shown, out->data, out->len);
    return print(&shown);
}

enum exit_code cli_take_number(const struct cli *cli, const char *option, int64_t min, int64_t max,
                               int64_t *ret)
{
    const char *text = args_get(&cli->args, option, NULL);
    _cleanup_(freep) char *fix = xasprintf("for example --%s %lld", option, (long long)min);
    return text == NULL || parse_i64_in(text, min, max, ret) >= 0
               ? EXIT_OK
               : cli_error(EXIT_USAGE, fix, "--%s '%s': expected a whole number from %lld to %lld",
                           option, text, (long long)min, (long long)max);
}

bool cli_is_run_kind(const char *word)
{
    return is_one_of(word, "runs|run|bmr|benchmarkruns|benchmarkrun");
}

bool cli_is_benchmark_kind(const char *word)
{
    return is_one_of(word, "benchmarks|benchmark|bm|bms");
}

bool cli_output_is(const struct cli *cli, const char *format)
{
    return str_eq(cli->output, format);
}
