/* See import_rule.h. */
#include "ctl/import/import_rule.h"

#include <errno.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/definition/definition.h"
#include "ctl/import/import_file.h"
#include "ctl/runs/find.h"
#include "doc/tree.h"
#include "logparse/guess.h"
#include "logparse/shipped_rules.h"
#include "logparse/suggest.h"

#define RULES_FIX "name one of docs/log-rules.md, or a file with one"
#define GUESS_BYTES ((size_t)1 << 20) /* of the first log */

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
    static const struct tree_limits limits = TREE_LIMITS_DEFAULT;
    _cleanup_(diags_done) struct diags diags = {0};
    struct node *root = NULL;
    if (log_rule_load(file.text, file.len, &ret->rule, &diags) < 0 ||
        tree_parse(file.text, file.len, &limits, &root, &diags) < 0) {
        return cli_print_diags(&diags, path, file.text);
    }
    ret->json = tree_to_json(root);
    tree_free(root);
    return EXIT_OK;
}

static void keep_first_bytes(void *ctx, const char *data, size_t len)
{
    struct buf *text = ctx;
    const size_t room = GUESS_BYTES - text->len;
    buf_append(text, data, len < room ? len : room);
}

/* No shipped rule finds a throughput: a rule may find step times and lack the batch. */
static enum exit_code explain_guess(const char *path, const struct buf *text,
                                    struct log_parser_params *who)
{
    struct log_guess guess;
    struct log_suggestion suggestion;
    _cleanup_(buf_done) struct buf rule = BUF_INIT;
    _cleanup_(freep) char *fix = NULL;
    if (who->batch_size == 0) {
        who->batch_size = 1;
        if (log_guess_rule(buf_cstr(text), text->len, who, &guess) == 0) {
            return cli_error(EXIT_USAGE, "write --batch N, or batch_size=N before each file",
                             "%s: the rule %s finds step times, but the samples of a step are "
                             "unknown",
                             path, guess.rule);
        }
    }
    if (log_suggest_rule(buf_cstr(text), text->len, who, &suggestion, &rule) == 0) {
        fix = xasprintf("write a rule into a file for --rules, for example %s", buf_cstr(&rule));
    }
    return cli_error(EXIT_USAGE, fix == NULL ? RULES_FIX : fix,
                     "%s: no log rule that ships finds a figure; write --rules NAME", path);
}

/* The rule that reads most lines of the first log. */
static enum exit_code guess_rule(const struct cli *cli, const struct import_trials *trials,
                                 int64_t batch_size, const char **ret_name)
{
    const struct import_trial *trial = trials->list.items;
    const char *path = trial->files.items[0];
    const struct value *batch = params_get(&trial->params, "batch_size");
    struct log_parser_params who = {
        .role = str_eq(trials->count, "workers") ? ROLE_WORKER : ROLE_TRAINER,
        .batch_size = batch == NULL ? batch_size : batch->i,
        .trainers = params_get(&trial->params, trials->count)->i,
    };
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    struct import_file file;
    struct log_guess guess;
    const char *fix = NULL;
    struct err err = {0};
    if (str_eq(path, IMPORT_STDIN)) {
        return cli_error(EXIT_USAGE, RULES_FIX, "write --rules NAME: standard input is read once");
    }
    const int r = import_file_read(path, keep_first_bytes, &text, &file, &fix, &err);
    if (r < 0) {
        return import_file_explain(r, path, fix, &err);
    }
    if (log_guess_rule(buf_cstr(&text), text.len, &who, &guess) < 0) {
        return explain_guess(path, &text, &who);
    }
    cli_note(cli, "%s: read by the log rule %s; --rules names another", path, guess.rule);
    *ret_name = guess.rule;
    return EXIT_OK;
}

enum exit_code import_rule_take(const struct cli *cli, const struct import_trials *trials,
                                int64_t batch_size, struct import_rule *ret)
{
    const char *name = args_get(&cli->args, "rules", NULL);
    const enum exit_code code = name == NULL ? guess_rule(cli, trials, batch_size, &name) : EXIT_OK;
    if (code != EXIT_OK) {
        return code;
    }
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

void import_rule_done(struct import_rule *rule)
{
    log_rule_free(rule->rule);
    json_decref(rule->json);
}
