/* The log rule of an import: the one that the user names, the shipped one that reads the first log,
 * or one made of a line of it. Edge file: reads and writes files. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "ctl/import/import.h"
#include "ctl/runs/find.h"
#include "doc/tree.h"
#include "logparse/lines.h"
#include "logparse/shipped_rules.h"
#include "logparse/signs.h"
#include "logparse/suggest.h"

#define RULES_FIX "name one of docs/log-rules.md with --rules, or a file with one"
#define WARMUP_STEPS 10 /* as the reader of definitions has it */

struct log_parser_params import_params(const struct import *im, const struct import_trial *trial)
{
    const struct value *batch = params_get(&trial->params, "batch_size");
    return (struct log_parser_params){
        .role = str_eq(im->count, "workers") ? ROLE_WORKER : ROLE_TRAINER,
        .batch_size = batch == NULL ? im->batch_size : batch->i,
        .trainers = params_get(&trial->params, im->count)->i,
        .warmup_steps = im->warmup_steps < 0 ? WARMUP_STEPS : im->warmup_steps,
        .rule = im->rule,
    };
}

const char *import_remedy(bool disagrees)
{
    return disagrees ? "say the batch with --batch N, or write a rule with another scope: "
                       "docs/log-rules.md#two-witnesses"
                     : "give the log of a run that ended well, or a copy of its good lines";
}

#define OWN_RULE "write a rule, as in docs/log-rules.md#an-example"

char *import_suggest_fix(const char *text, size_t len, const struct log_parser_params *who)
{
    _cleanup_(buf_done) struct buf rule = BUF_INIT;
    struct log_suggestion s;
    const int r = log_suggest_rule(text, len, who, &s, &rule);
    return r < 0 && s.doubt[0] == '\0' ? NULL
           : r < 0
               ? xasprintf("line %" PRIu64 " seems to have a figure, but %s; " OWN_RULE, s.number,
                           s.doubt)
               : xasprintf("line %" PRIu64 " looks like one: --write-rule FILE writes a rule for "
                           "such lines, for example %s, and --rules FILE takes it",
                           s.number, buf_cstr(&rule));
}

/* ---- a rule by its name ---- */

/* A file's rule becomes part of the definition as it is. */
static enum exit_code read_rule_file(struct import *im, const char *path)
{
    _cleanup_(definition_file_done) struct definition_file file = {0};
    struct err err = {0};
    const int r = definition_read(path, &file, &err);
    if (r < 0) {
        return file_error(r, path, RULES_FIX, &err);
    }
    _cleanup_(diags_done) struct diags diags = {0};
    struct node *root = NULL;
    if (log_rule_load(file.text, file.len, &im->rule, &diags) < 0 ||
        tree_parse(file.text, file.len, &TREE_LIMITS_DEFAULT, &root, &diags) < 0) {
        return cli_print_diags(&diags, path, file.text);
    }
    im->rule_json = tree_to_json(root);
    tree_free(root);
    return EXIT_OK;
}

enum exit_code import_load_rule(struct import *im, const char *name)
{
    im->rule = log_shipped_load(name);
    if (im->rule != NULL) {
        im->rule_json = json_string(name);
        return EXIT_OK;
    }
    if (definition_is_file(name)) {
        return read_rule_file(im, name);
    }
    const char *meant = embedded_suggest(log_shipped, log_shipped_count, name);
    _cleanup_(freep) char *fix =
        meant == NULL ? xstrdup(RULES_FIX) : xasprintf("did you mean '%s'?", meant);
    return cli_error(EXIT_USAGE, fix, "no log rule '%s' ships", name);
}

/* ---- the first log ---- */

struct first {
    const char *path; /* borrowed */
    struct buf text;  /* its first bytes; owned */
    struct log_parser_params who;
    bool is_read; /* by a rule that ships: */
    struct log_guess guess;
};

static void take_first_bytes(void *ctx, const char *data, size_t len)
{
    struct buf *text = ctx;
    const size_t room = IMPORT_HEAD_BYTES - text->len;
    buf_append(text, data, len < room ? len : room);
}

/* The shipped rule for it is the one whose figure the pace of its lines confirms, or that reads
 * most lines. */
static enum exit_code read_first(const struct import *im, struct first *ret)
{
    const struct import_trial *trial = im->trials.items;
    *ret = (struct first){.path = trial->logs.items[0]->path, .who = import_params(im, trial)};
    if (str_eq(ret->path, IMPORT_STDIN)) {
        return cli_error(EXIT_USAGE, RULES_FIX, "write --rules NAME: standard input is read once");
    }
    struct import_file file;
    struct err err = {0};
    int r = import_file_read(ret->path, take_first_bytes, &ret->text, &file, &err);
    if (r < 0) {
        return file_error(r, ret->path, IMPORT_FILE_FIX, &err);
    }
    struct log_guess *const guess = &ret->guess;
    ret->who.is_labelled = log_is_labelled(buf_cstr(&ret->text), ret->text.len, ret->who.trainers);
    r = log_guess_rule(buf_cstr(&ret->text), ret->text.len, &ret->who, guess);
    ret->is_read = r == 0;
    return r != -EBADMSG
               ? EXIT_OK
               : cli_error(EXIT_USAGE, import_remedy(guess->witness == LOG_WITNESS_DISAGREES),
                           "%s: no figure by the log rule %s, which reads %" PRIu64 " lines: %s",
                           ret->path, guess->rule, guess->n_lines, guess->why);
}

/* No rule reads the log: a sign of why, or the line that most of its lines are like. */
static enum exit_code explain_unread(const struct first *first)
{
    const char *text = buf_cstr(&first->text);
    const size_t len = first->text.len;
    _cleanup_(freep) char *sign = log_signs_in(text, len);
    _cleanup_(freep) char *fix =
        sign != NULL ? xstrdup(import_remedy(false)) : import_suggest_fix(text, len, &first->who);
    _cleanup_(buf_done) struct buf why = BUF_INIT;
    const struct log_quote line = log_commonest_line(text, len);
    if (sign != NULL) {
        buf_puts(&why, sign);
    } else if (line.number == 0) {
        buf_puts(&why, "no line of it has a number");
    } else {
        buf_printf(&why, "%smost of its lines are like line %" PRIu64 ": ",
                   fix == NULL ? "no rate and no time of a step was found in it; " : "",
                   line.number);
        buf_put_utf8(&why, line.text, sizeof(line.text));
    }
    return cli_error(EXIT_USAGE, fix == NULL ? RULES_FIX : fix,
                     "%s: no log rule that ships finds a figure; %s", first->path, buf_cstr(&why));
}

/* ---- a rule for its lines ---- */

#define SCOPES                                                                                     \
    "\n  # scope: Job,  # if one process prints for all, and its figure is that of all"            \
    "\n  # scope: Each,  # if one process prints for all, and its figure is that of each\n  "

/* The rule in a file of its own. Lines without a number have no warm-up unless the rule says so. */
static void put_rule(const struct import *im, const struct log_suggestion *s, const char *rule,
                     struct buf *out)
{
    const char *rest = rule + strlen(LOG_SUGGESTED);
    buf_printf(out,
               "# Made by benchctl of line %" PRIu64 " of a log. docs/log-rules.md says what the "
               "words mean.\nname: suggested\n",
               s->number);
    buf_append(out, rule + 1, (size_t)(rest - rule) - 2); /* a file has the map without braces */
    buf_puts(out, SCOPES);
    if (im->warmup_steps > 0 && strstr(rule, "(?<step>") == NULL) {
        buf_printf(out, "skip: {lines: %" PRId64 "}, ", im->warmup_steps);
    }
    buf_append(out, rest, strlen(rest) - 1);
    buf_putc(out, '\n');
}

static enum exit_code write_rule(const struct import *im, const struct first *first,
                                 const char *path)
{
    _cleanup_(buf_done) struct buf rule = BUF_INIT, text = BUF_INIT;
    struct log_suggestion s;
    if (first->is_read && first->who.trainers <= 1) {
        return cli_error(EXIT_USAGE, "leave out --write-rule",
                         "%s: the log rule %s ships and reads it", first->path, first->guess.rule);
    }
    if (log_suggest_rule(buf_cstr(&first->text), first->text.len, &first->who, &s, &rule) < 0) {
        _cleanup_(freep) char *fix =
            import_suggest_fix(buf_cstr(&first->text), first->text.len, &first->who);
        return !first->is_read
                   ? explain_unread(first)
                   : cli_error(EXIT_USAGE, fix == NULL ? OWN_RULE : fix,
                               "%s: the log rule %s reads it, but no line of it gives a new rule",
                               first->path, first->guess.rule);
    }
    if (access(path, F_OK) == 0) {
        return cli_error(EXIT_USAGE, "name a new file", "--write-rule: %s exists", path);
    }
    put_rule(im, &s, buf_cstr(&rule), &text);
    const int r = file_replace(path, &text);
    if (r < 0) {
        return cli_error(EXIT_LOCAL_RESOURCE, NULL, "cannot write %s: %s", path, strerror(-r));
    }
    cli_note(im->cli,
             "%s: by line %" PRIu64 " the rule in %s reads %" PRIu64
             " lines and %.6g %s/s; next: --rules %s",
             first->path, s.number, path, s.guess.n_lines, s.guess.rate,
             summary_unit_names[s.guess.unit], path);
    return EXIT_OK;
}

/* ---- the choice ---- */

static enum exit_code take_guess(struct import *im, const struct first *first)
{
    if (!first->is_read) {
        return explain_unread(first);
    }
    cli_note(im->cli, "%s: read by the log rule %s; --rules names another", first->path,
             first->guess.rule);
    return import_load_rule(im, first->guess.rule);
}

enum exit_code import_choose_rule(struct import *im)
{
    const char *name = args_get(&im->cli->args, "rules", NULL);
    const char *written = args_get(&im->cli->args, "write-rule", NULL);
    if (name != NULL && written == NULL) {
        return import_load_rule(im, name);
    }
    struct first first;
    enum exit_code code = read_first(im, &first);
    if (code == EXIT_OK) {
        code = written != NULL ? write_rule(im, &first, written) : take_guess(im, &first);
    }
    buf_done(&first.text);
    return code;
}
