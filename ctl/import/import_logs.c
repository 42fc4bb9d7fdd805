/* See import.h. */
#include "ctl/import/import.h"

#include <errno.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "ctl/definition/definition.h"
#include "ctl/import/import_args.h"
#include "ctl/import/import_def.h"
#include "ctl/import/import_file.h"
#include "ctl/import/import_log.h"
#include "ctl/import/import_store.h"
#include "ctl/local/local_store.h"
#include "ctl/runs/find.h"
#include "ctl/runs/show.h"
#include "doc/tree.h"
#include "logparse/guess.h"
#include "logparse/shipped_rules.h"
#include "result/result_build.h"
#include "spec/log_rule.h"
#include "spec/name.h"
#include "spec/spec.h"

#define NAME_UNKNOWN "unknown"
#define RULES_FIX "name one of docs/log-rules.md, or a file with one"
#define GUESS_BYTES ((size_t)1 << 20) /* of the first log */
#define STEPS_UNKNOWN 1
#define ALL_BYTES_MAX ((size_t)512 << 20)

struct import {
    const struct cli *cli;
    struct import_options options;
    json_t *rule;              /* as the definition has it; owned */
    struct log_rule *log_rule; /* the same, owned */
    struct import_trials trials;
    struct run_def *def;           /* owned */
    struct import_slot *slots;     /* by trial, owned */
    VEC(struct import_log *) logs; /* owned: the rows borrow their text */
    struct import_rows rows;
};

/* ---- the rule ---- */

static enum exit_code explain_file(int r, const char *path, const char *fix, const struct err *err)
{
    _cleanup_(freep) char *near = file_fix(r, path, "name a file that exists, or - for stdin");
    return cli_error(r == -ENOENT    ? EXIT_NOT_FOUND
                     : r == -EBADMSG ? EXIT_USAGE
                                     : EXIT_LOCAL_RESOURCE,
                     near != NULL ? near : fix, "%s", err->msg);
}

/* A file's rule goes into the definition as it is; the definition's reader says
 * what is wrong with it. */
static enum exit_code read_rule_file(struct import *im, const char *path)
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
    if (log_rule_load(file.text, file.len, &im->log_rule, &diags) < 0 ||
        tree_parse(file.text, file.len, &TREE_LIMITS_DEFAULT, &root, &diags) < 0) {
        return cli_print_diags(&diags, path, file.text);
    }
    im->rule = tree_to_json(root);
    tree_free(root);
    return EXIT_OK;
}

static void keep_first_bytes(void *ctx, const char *data, size_t len)
{
    struct buf *text = ctx;
    const size_t room = GUESS_BYTES - text->len;
    buf_append(text, data, len < room ? len : room);
}

/* The rule that reads most lines of the first log. */
static enum exit_code guess_rule(const struct import *im, const char **ret_name)
{
    const struct import_trial *trial = im->trials.list.items;
    const char *path = trial->files.items[0];
    const struct value *batch = params_get(&trial->params, "batch_size");
    struct log_parser_params who = {
        .role = str_eq(im->trials.count, "workers") ? ROLE_WORKER : ROLE_TRAINER,
        .batch_size = batch == NULL ? im->options.batch_size : batch->i,
        .trainers = params_get(&trial->params, im->trials.count)->i,
    };
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    struct import_file file;
    struct log_guess guess;
    const char *fix = NULL;
    struct err err = {0};
    if (str_eq(path, IMPORT_STDIN)) {
        return cli_error(EXIT_USAGE, RULES_FIX, "write --rules NAME: standard input is read once");
    }
    int r = import_file_read(path, keep_first_bytes, &text, &file, &fix, &err);
    if (r < 0) {
        return explain_file(r, path, fix, &err);
    }
    r = log_guess_rule(buf_cstr(&text), text.len, &who, &guess);
    if (r == -EBADMSG) {
        return cli_error(EXIT_USAGE, NULL,
                         "%s: no figure by the log rule %s, which reads %llu lines: %s", path,
                         guess.rule, (unsigned long long)guess.n_lines, guess.why);
    }
    if (r < 0) {
        _cleanup_(freep) char *rule = import_log_suggest(buf_cstr(&text), text.len, &who);
        return cli_error(EXIT_USAGE, rule == NULL ? RULES_FIX : rule,
                         "%s: no log rule that ships finds a figure; write --rules NAME", path);
    }
    cli_note(im->cli, "%s: read by the log rule %s; --rules names another", path, guess.rule);
    *ret_name = guess.rule;
    return EXIT_OK;
}

static enum exit_code take_rule(struct import *im)
{
    const char *name = args_get(&im->cli->args, "rules", NULL);
    const enum exit_code code = name == NULL ? guess_rule(im, &name) : EXIT_OK;
    if (code != EXIT_OK) {
        return code;
    }
    im->log_rule = log_shipped_load(name);
    if (im->log_rule != NULL) {
        im->rule = json_string(name);
        return EXIT_OK;
    }
    if (definition_is_file(name)) {
        return read_rule_file(im, name);
    }
    const char *meant = log_shipped_suggest(name);
    _cleanup_(freep) char *fix =
        meant == NULL ? xstrdup(RULES_FIX) : xasprintf("did you mean '%s'?", meant);
    return cli_error(EXIT_USAGE, fix, "no log rule '%s' ships", name);
}

/* ---- options ---- */

static enum exit_code take_names(struct import *im)
{
    struct import_options *o = &im->options;
    /* A rule's name may be no name of a benchmark. */
    const char *usual =
        object_name_is_valid(im->log_rule->name) ? im->log_rule->name : PROFILE_IMPORTED;
    const struct {
        const char *option, *fallback, **ret;
        bool (*is_valid)(const char *);
    } rows[] = {
        {"name", usual, &o->name, object_name_is_valid},
        {"system", usual, &o->system, object_name_is_valid},
        {"model", NAME_UNKNOWN, &o->model, free_name_is_valid},
        {"dataset", NAME_UNKNOWN, &o->dataset, free_name_is_valid},
        {"exchange", NAME_UNKNOWN, &o->exchange, free_name_is_valid},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *value = args_get(&im->cli->args, rows[i].option, rows[i].fallback);
        *rows[i].ret = value;
        if (!rows[i].is_valid(value)) {
            return cli_error(EXIT_USAGE, "use letters, digits and '-', and begin with a letter",
                             "--%s '%s' is not a valid name", rows[i].option, value);
        }
    }
    return EXIT_OK;
}

static enum exit_code take_trials(struct import *im)
{
    size_t n_sets;
    _cleanup_(freep) const char **sets = definition_sets(im->cli, &n_sets);
    const enum exit_code code =
        import_trials_parse(im->cli->args.words, im->cli->args.n_words, sets, n_sets, &im->trials);
    if (code != EXIT_OK) {
        return code;
    }
    const bool is_swept = params_get(&im->trials.list.items[0].params, "batch_size") != NULL;
    if (is_swept && im->options.batch_size > 0) {
        return cli_error(EXIT_USAGE, "remove --batch",
                         "batch_size and --batch both say the samples of a step");
    }
    return EXIT_OK;
}

static enum exit_code take_options(struct import *im)
{
    struct import_options *o = &im->options;
    enum exit_code code = definition_number(im->cli, "batch", BATCH_SIZE_MAX, &o->batch_size);
    code = code == EXIT_OK ? take_trials(im) : code;
    code = code == EXIT_OK ? take_rule(im) : code;
    o->rule = im->rule;
    o->steps = STEPS_UNKNOWN;
    o->warmup_steps = -1;
    const char *warmup = args_get(&im->cli->args, "warmup", NULL);
    if (code == EXIT_OK && warmup != NULL &&
        parse_i64_in(warmup, 0, 1000000, &o->warmup_steps) < 0) {
        code = cli_error(EXIT_USAGE, NULL, "--warmup '%s': expected a whole number", warmup);
    }
    return code == EXIT_OK ? take_names(im) : code;
}

/* ---- the definition ---- */

static enum exit_code make_def(struct import *im, int64_t created_unix_ms)
{
    json_auto_t *document = import_definition(&im->options, &im->trials);
    const struct run_def_params params = {.name = "import", .created_unix_ms = created_unix_ms};
    run_def_free(im->def);
    im->def = definition_of_document(document, "(the definition of these logs)", NULL, params);
    return im->def == NULL ? EXIT_USAGE : EXIT_OK;
}

/* ---- logs ---- */

static enum exit_code read_log(struct import *im, const struct import_trial *trial, uint32_t index,
                               struct import_row *row)
{
    const char *path = trial->files.items[index];
    const struct point *point = &im->def->matrix.points[row->row.id.point];
    const struct replica_id id = {row->row.id, point_training_role(point), index};
    struct log_parser_params params = log_rule_params(im->def, &id);
    params.rule = im->log_rule; /* outlives this definition */
    if (point->batch_size == 0) {
        params.batch_size = im->options.batch_size; /* a log before this one named it */
    }
    const size_t share = ALL_BYTES_MAX / vec_sum(&im->trials.list, it, it->files.len);
    struct import_log *l =
        import_log_new(&params, &id, share < IMPORT_LOG_BYTES ? share : IMPORT_LOG_BYTES);
    *vec_push(&im->logs) = l;
    const char *fix = NULL;
    struct err err = {0};
    const int r = import_log_read(l, path, &fix, &err);
    if (r < 0) {
        return explain_file(r, path, fix, &err);
    }
    /* It would look like two trials that agree. */
    if (vec_any(&im->logs, it,
                *it != l && (*it)->file.device == l->file.device &&
                    (*it)->file.inode == l->file.inode)) {
        return cli_error(EXIT_USAGE, "give each log once", "%s: this file was given twice", path);
    }
    import_log_end(l, trial->files.len == 1);
    if (l->summary_line == NULL) {
        const size_t len = l->why.len > 0 ? l->why.len - 1 : 0; /* without the last newline */
        return cli_error(EXIT_USAGE, l->fix, "%s: %.*s", path, (int)len, buf_cstr(&l->why));
    }
    im->options.steps = l->steps > im->options.steps ? l->steps : im->options.steps;
    if (point->batch_size == 0 && l->batch > 0) {
        im->options.batch_size = (int64_t)l->batch;
    }
    import_rows_add(&im->rows, row, l);
    return EXIT_OK;
}

static enum exit_code read_logs(struct import *im)
{
    enum exit_code code = EXIT_OK;
    for (size_t i = 0; i < im->trials.list.len && code == EXIT_OK; i++) {
        const struct import_trial *trial = &im->trials.list.items[i];
        struct import_row *row = vec_push(&im->rows.list);
        *row = (struct import_row){.row = {.id = {im->slots[i].point, im->slots[i].trial, 0},
                                           .outcome = ATTEMPT_SUCCEEDED}};
        for (uint32_t k = 0; k < trial->files.len && code == EXIT_OK; k++) {
            code = read_log(im, trial, k, row);
        }
    }
    return code;
}

/* ---- the run ---- */

static struct result *build_result(const struct import *im)
{
    _cleanup_(freep) struct attempt_row *rows = xnew_array(struct attempt_row, im->rows.list.len);
    for (size_t i = 0; i < im->rows.list.len; i++) {
        rows[i] = im->rows.list.items[i].row; /* borrowed */
    }
    return result_build(im->def, RUN_SUCCEEDED, rows, im->rows.list.len);
}

/* Every trial has its figure: their units may not add up, or a summary may be too odd. */
static enum exit_code check_result(const struct import *im)
{
    enum exit_code code = EXIT_OK;
    struct result *result = build_result(im);
    for (size_t i = 0; i < im->trials.list.len && code == EXIT_OK; i++) {
        const struct import_slot *slot = &im->slots[i];
        const struct trial_result *t = &result->points[slot->point].trials[slot->trial];
        if (t->phase != TRIAL_SUCCEEDED) {
            code = cli_error(EXIT_USAGE, NULL, "%s: %s", im->trials.list.items[i].files.items[0],
                             t->error == NULL ? "it gives no throughput" : t->error);
        }
    }
    result_free(result);
    return code;
}

static enum exit_code show(const struct import *im, const char *name)
{
    _cleanup_(store_closep) struct store *s = NULL;
    struct loaded_run run;
    enum exit_code code = local_store_open(im->cli, false, &s);
    if (code == EXIT_OK && (code = local_store_load_run(im->cli, s, name, &run)) == EXIT_OK) {
        code = show_sheet(im->cli, sheet_points, run.result);
        loaded_run_done(&run);
    }
    return code;
}

static enum exit_code import_all(struct import *im)
{
    _cleanup_(freep) char *name = NULL;
    enum exit_code code = take_options(im);
    if (code == EXIT_OK && (code = make_def(im, 0)) == EXIT_OK &&
        (code = import_assign(im->def, &im->trials, &im->slots)) == EXIT_OK &&
        (code = read_logs(im)) == EXIT_OK &&
        (code = make_def(im, import_rows_date(&im->rows))) == EXIT_OK &&
        (code = check_result(im)) == EXIT_OK) {
        code = import_store_put(im->cli, im->def, &im->rows, im->log_rule->name, &name);
    }
    if (code == EXIT_OK) {
        _cleanup_(freep) char *url = local_store_url(im->cli);
        cli_note(im->cli, "run/%s imported into %s", name, url);
        code = show(im, name);
    }
    return code;
}

enum exit_code import_logs(const struct cli *cli)
{
    struct import im = {.cli = cli};
    const enum exit_code code = import_all(&im);
    vec_each (struct import_log *, log, &im.logs) {
        import_log_free(*log);
    }
    vec_done(&im.logs);
    import_rows_done(&im.rows);
    import_trials_done(&im.trials);
    run_def_free(im.def);
    free(im.slots);
    log_rule_free(im.log_rule);
    json_decref(im.rule);
    return code;
}
