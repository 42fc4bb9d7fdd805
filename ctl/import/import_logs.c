/* See import.h. */
#include "ctl/import/import.h"

#include <errno.h>
#include <inttypes.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "ctl/definition/definition.h"
#include "ctl/import/import_args.h"
#include "ctl/import/import_def.h"
#include "ctl/import/import_file.h"
#include "ctl/import/import_log.h"
#include "ctl/import/import_rule.h"
#include "ctl/import/import_store.h"
#include "ctl/local/local_store.h"
#include "ctl/runs/find.h"
#include "ctl/runs/show.h"
#include "result/result_build.h"
#include "spec/log_rule.h"
#include "spec/name.h"
#include "spec/spec.h"

#define NAME_UNKNOWN "unknown"
#define STEPS_UNKNOWN 1
#define ALL_BYTES_MAX ((size_t)512 << 20)

struct import {
    const struct cli *cli;
    struct import_options options;
    struct import_rule rule;
    struct import_trials trials;
    struct run_def *def;           /* owned */
    struct import_slot *slots;     /* by trial, owned */
    VEC(struct import_log *) logs; /* owned: the rows borrow their text */
    struct import_rows rows;
};

/* ---- options ---- */

static enum exit_code take_names(struct import *im)
{
    struct import_options *o = &im->options;
    /* A rule's name may be no name of a benchmark. */
    const char *usual =
        object_name_is_valid(im->rule.rule->name) && !log_rule_is_unnamed(im->rule.rule)
            ? im->rule.rule->name
            : PROFILE_IMPORTED;
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
    enum exit_code code =
        definition_number(im->cli, "batch", BATCH_SIZE_MAX, &im->options.batch_size);
    size_t n_sets;
    _cleanup_(freep) const char **sets = definition_sets(im->cli, &n_sets);
    code = code == EXIT_OK ? import_trials_parse(im->cli->args.words, im->cli->args.n_words, sets,
                                                 n_sets, &im->trials)
                           : code;
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
    enum exit_code code = import_rule_take(im->cli, &im->trials, im->options.batch_size, &im->rule);
    o->rule = im->rule.json;
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
    params.rule = im->rule.rule; /* outlives this definition */
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
        return import_explain_file(r, path, fix, &err);
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
    const struct log_reading *reading = log_parser_reading(l->parser);
    if (reading->why != NULL && str_has_prefix(reading->why, "line ")) {
        cli_note(im->cli, "%s: %s", path, reading->why); /* a sign in few of its steps */
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

/* ---- one curve ---- */

/* Some log that says something else than this one; NULL: none. */
static const struct import_log *find_other(const struct import *im, const struct import_log *l,
                                           size_t fact)
{
    struct import_log *const *found =
        vec_find(&im->logs, it, import_shape_differs(&l->shape, &(*it)->shape, fact));
    return found == NULL ? NULL : *found;
}

/* Where logs say that they did different work, each figure keeps what its log says, and results
 * give no speedup. */
static void mark_shapes(struct import *im)
{
    bool is_mixed[IMPORT_FACTS] = {false};
    for (size_t i = 0; i < IMPORT_FACTS; i++) {
        const struct import_log *l = im->logs.items[0], *other = NULL;
        vec_each (struct import_log *const, it, &im->logs) {
            l = other == NULL ? *it : l;
            other = other == NULL ? find_other(im, l, i) : other;
        }
        is_mixed[i] = other != NULL;
        if (is_mixed[i]) {
            cli_note(im->cli,
                     "%s says %s %s in line %" PRIu64 ", %s says %s in line %" PRIu64
                     ": they are not one curve and have no speedup; import each alone",
                     l->path, import_fact_names[i], l->shape.facts[i].value, l->shape.facts[i].line,
                     other->path, other->shape.facts[i].value, other->shape.facts[i].line);
        }
    }
    vec_each (struct import_log *const, it, &im->logs) {
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        for (size_t i = 0; i < IMPORT_FACTS; i++) {
            if (is_mixed[i]) {
                buf_printf(&text, "%s%s %s", text.len > 0 ? ", " : "", import_fact_names[i],
                           (*it)->shape.facts[i].line > 0 ? (*it)->shape.facts[i].value : "unsaid");
            }
        }
        if (text.len > 0) {
            json_auto_t *environment = json_pack("{s:s}", "work", buf_cstr(&text));
            import_rows_set_environment(&im->rows, &(*it)->id, environment);
        }
    }
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
    const char *written = args_get(&im->cli->args, "write-rule", NULL);
    enum exit_code code = take_trials(im);
    if (code != EXIT_OK || written != NULL) {
        return code != EXIT_OK
                   ? code
                   : import_rule_write(im->cli, &im->trials, im->options.batch_size, written);
    }
    code = take_options(im);
    if (code == EXIT_OK && (code = make_def(im, 0)) == EXIT_OK &&
        (code = import_assign(im->def, &im->trials, &im->slots)) == EXIT_OK &&
        (code = read_logs(im)) == EXIT_OK &&
        (mark_shapes(im), code = make_def(im, import_rows_date(&im->rows))) == EXIT_OK &&
        (code = check_result(im)) == EXIT_OK) {
        code = import_store_put(im->cli, im->def, &im->rows, im->rule.rule->name, &name);
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
    import_rule_done(&im.rule);
    return code;
}
