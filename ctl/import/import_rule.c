/* See import_rule.h. */
#include "ctl/import/import_rule.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "ctl/definition/definition.h"
#include "ctl/import/import_file.h"
#include "ctl/import/import_log.h"
#include "ctl/runs/find.h"
#include "doc/tree.h"
#include "logparse/guess.h"
#include "logparse/shipped_rules.h"

#define RULES_FIX "name one of docs/log-rules.md with --rules, or a file with one"
#define GUESS_BYTES ((size_t)1 << 20) /* a rule is guessed from so much of the first log */

void import_rule_done(struct import_rule *r)
{
    log_rule_free(r->rule);
    json_decref(r->json);
}

enum exit_code import_explain_file(int r, const char *path, const char *fix, const struct err *err)
{
    _cleanup_(freep) char *near = file_fix(r, path, "name a file that exists, or - for stdin");
    return cli_error(r == -ENOENT    ? EXIT_NOT_FOUND
                     : r == -EBADMSG ? EXIT_USAGE
                                     : EXIT_LOCAL_RESOURCE,
                     near != NULL ? near : fix, "%s", err->msg);
}

/* ---- the first log ---- */

struct first {
    const char *path; /* borrowed */
    struct buf text;  /* its first bytes; owned */
    struct log_parser_params who;
};

static void keep_first_bytes(void *ctx, const char *data, size_t len)
{
    struct buf *text = ctx;
    const size_t room = GUESS_BYTES - text->len;
    buf_append(text, data, len < room ? len : room);
}

static enum exit_code read_first(const struct import_trials *trials, int64_t batch_size,
                                 struct first *ret)
{
    const struct import_trial *trial = trials->list.items;
    const struct value *batch = params_get(&trial->params, "batch_size");
    *ret = (struct first){.path = trial->files.items[0], .text = BUF_INIT};
    ret->who = (struct log_parser_params){
        .role = str_eq(trials->count, "workers") ? ROLE_WORKER : ROLE_TRAINER,
        .batch_size = batch == NULL ? batch_size : batch->i,
        .trainers = params_get(&trial->params, trials->count)->i,
    };
    if (str_eq(ret->path, IMPORT_STDIN)) {
        return cli_error(EXIT_USAGE, RULES_FIX, "write --rules NAME: standard input is read once");
    }
    struct import_file file;
    const char *fix = NULL;
    struct err err = {0};
    const int r = import_file_read(ret->path, keep_first_bytes, &ret->text, &file, &fix, &err);
    return r < 0 ? import_explain_file(r, ret->path, fix, &err) : EXIT_OK;
}

static enum exit_code explain_unread(const struct first *first)
{
    _cleanup_(freep) char *fix = NULL;
    _cleanup_(freep) char *why =
        import_log_unread(buf_cstr(&first->text), first->text.len, &first->who, &fix);
    return cli_error(EXIT_USAGE, fix == NULL ? RULES_FIX : fix,
                     "%s: no log rule that ships finds a figure; %s", first->path, why);
}

/* The rule that reads most lines of the first log. */
static enum exit_code guess_rule(const struct cli *cli, const struct first *first,
                                 const char **ret_name)
{
    struct log_guess guess;
    const int r = log_guess_rule(buf_cstr(&first->text), first->text.len, &first->who, &guess);
    if (r == -EBADMSG) {
        return cli_error(EXIT_USAGE, import_log_remedy(guess.verdict == LOG_VERDICT_WITHHELD),
                         "%s: no figure by the log rule %s, which reads %llu lines: %s",
                         first->path, guess.rule, (unsigned long long)guess.n_lines, guess.why);
    }
    if (r < 0) {
        return explain_unread(first);
    }
    cli_note(cli, "%s: read by the log rule %s; --rules names another", first->path, guess.rule);
    *ret_name = guess.rule;
    return EXIT_OK;
}

/* ---- the rule ---- */

/* A file's rule goes into the definition as it is; the definition's reader says
 * what is wrong with it. */
static enum exit_code read_rule_file(const char *path, struct import_rule *ret)
{
    _cleanup_(definition_file_done) struct definition_file file = {0};
    struct err err = {0};
    const int r = definition_read(path, &file, &err);
    if (r < 0) {
        _cleanup_(freep) char *fix = file_fix(r, path, RULES_FIX);
        return cli_error(r == -ENOENT ? EXIT_NOT_FOUND : EXIT_LOCAL_RESOURCE, fix, "%s", err.msg);
    }
    _cleanup_(diags_done) struct diags diags = {0};
    struct node *root = NULL;
    if (log_rule_load(file.text, file.len, &ret->rule, &diags) < 0 ||
        tree_parse(file.text, file.len, &TREE_LIMITS_DEFAULT, &root, &diags) < 0) {
        return cli_print_diags(&diags, path, file.text);
    }
    ret->json = tree_to_json(root);
    tree_free(root);
    return EXIT_OK;
}

static enum exit_code load_rule(const char *name, struct import_rule *ret)
{
    ret->rule = log_shipped_load(name);
    if (ret->rule != NULL) {
        ret->json = json_string(name);
        return EXIT_OK;
    }
    if (definition_is_file(name)) {
        return read_rule_file(name, ret);
    }
    const char *meant = log_shipped_suggest(name);
    _cleanup_(freep) char *fix =
        meant == NULL ? xstrdup(RULES_FIX) : xasprintf("did you mean '%s'?", meant);
    return cli_error(EXIT_USAGE, fix, "no log rule '%s' ships", name);
}

enum exit_code import_rule_take(const struct cli *cli, const struct import_trials *trials,
                                int64_t batch_size, struct import_rule *ret)
{
    const char *name = args_get(&cli->args, "rules", NULL);
    if (name != NULL) {
        return load_rule(name, ret);
    }
    struct first first;
    enum exit_code code = read_first(trials, batch_size, &first);
    code = code == EXIT_OK ? guess_rule(cli, &first, &name) : code;
    buf_done(&first.text);
    return code == EXIT_OK ? load_rule(name, ret) : code;
}

/* ---- a rule for its lines ---- */

/* The map without its braces. Lines without a number have no warm-up unless the rule says so. */
static void put_lines(const char *rule, int64_t warmup, struct buf *out)
{
    const char *rest = rule + strlen(LOG_SUGGESTED);
    buf_append(out, rule + 1, (size_t)(rest - rule) - 1);
    if (warmup > 0 && strstr(rule, "(?<step>") == NULL) {
        buf_printf(out, "skip: {lines: %" PRId64 "}, ", warmup);
    }
    buf_append(out, rest, strlen(rest) - 1);
    buf_putc(out, '\n');
}

static enum exit_code write_rule(const struct cli *cli, const struct first *first, const char *path)
{
    _cleanup_(buf_done) struct buf rule = BUF_INIT, text = BUF_INIT;
    struct log_suggestion s;
    struct log_guess guess;
    int64_t warmup = 0;
    (void)parse_i64(args_get(&cli->args, "warmup", "0"), &warmup); /* or it stays 0 */
    const int r_known =
        log_guess_rule(buf_cstr(&first->text), first->text.len, &first->who, &guess);
    if (r_known == -EBADMSG || (r_known == 0 && first->who.trainers <= 1)) {
        return cli_error(EXIT_USAGE,
                         r_known == 0 ? "leave out --write-rule"
                                      : "leave it out to see what is wrong with the log",
                         "%s: the log rule %s ships and reads it", first->path, guess.rule);
    }
    if (import_log_suggest(buf_cstr(&first->text), first->text.len, &first->who, &s, &rule) < 0) {
        return explain_unread(first);
    }
    if (access(path, F_OK) == 0) {
        return cli_error(EXIT_USAGE, "name a new file", "--write-rule: %s exists", path);
    }
    buf_printf(&text,
               "# Made by benchctl of line %llu of a log. docs/log-rules.md says what the words "
               "mean. Where one process prints\n# for all, add 'scope: Job' (its figure is that "
               "of all) or 'scope: Each' (it is that of each).\nname: suggested\n",
               (unsigned long long)s.number);
    put_lines(buf_cstr(&rule), warmup, &text);
    const int r = file_replace(path, &text);
    if (r < 0) {
        return cli_error(EXIT_LOCAL_RESOURCE, NULL, "cannot write %s: %s", path, strerror(-r));
    }
    cli_note(cli,
             "%s: by line %llu the rule in %s reads %llu lines and %.6g %s/s; next: --rules %s",
             first->path, (unsigned long long)s.number, path, (unsigned long long)s.guess.n_lines,
             s.guess.rate, summary_unit_names[s.guess.unit], path);
    return EXIT_OK;
}

enum exit_code import_rule_write(const struct cli *cli, const struct import_trials *trials,
                                 int64_t batch_size, const char *path)
{
    struct first first;
    enum exit_code code = read_first(trials, batch_size, &first);
    code = code == EXIT_OK ? write_rule(cli, &first, path) : code;
    buf_done(&first.text);
    return code;
}
