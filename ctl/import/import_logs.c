/* `benchctl import LOG...`: from the arguments to a stored run. */
#include <inttypes.h>

#include "ctl/definition/definition.h"
#include "ctl/import/import.h"
#include "ctl/runs/find.h"
#include "result/result_build.h"
#include "spec/log_rule.h"
#include "spec/name.h"
#include "spec/spec.h"

#define ALL_BYTES_MAX ((size_t)512 << 20)
#define STEPS_MAX 1000000 /* a definition and --warmup may name no more */

/* ---- options ---- */

static enum exit_code take_numbers(struct import *im)
{
    const bool is_swept = params_get(&im->trials.items[0].params, "batch_size") != NULL;
    enum exit_code code = cli_take_number(im->cli, "batch", 1, BATCH_SIZE_MAX, &im->batch_size);
    code = code == EXIT_OK ? cli_take_number(im->cli, "warmup", 0, STEPS_MAX, &im->warmup_steps)
                           : code;
    return code == EXIT_OK && is_swept && im->batch_size > 0
               ? cli_error(EXIT_USAGE, "remove --batch",
                           "batch_size and --batch both say the samples of a step")
               : code;
}

static enum exit_code take_names(struct import *im)
{
    /* A rule's name may be no name of a benchmark. */
    const char *usual = object_name_is_valid(im->rule->name) && !log_rule_is_unnamed(im->rule)
                            ? im->rule->name
                            : PROFILE_IMPORTED;
    const struct {
        const char *option, *fallback, **ret;
        bool (*is_valid)(const char *);
    } rows[] = {
        {"name", usual, &im->name, object_name_is_valid},
        {"system", usual, &im->system, object_name_is_valid},
        {"model", NAME_UNKNOWN, &im->model, free_name_is_valid},
        {"exchange", NAME_UNKNOWN, &im->exchange, free_name_is_valid},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        *rows[i].ret = args_get(&im->cli->args, rows[i].option, rows[i].fallback);
        if (!rows[i].is_valid(*rows[i].ret)) {
            return cli_error(EXIT_USAGE, "use letters, digits and '-', and begin with a letter",
                             "--%s '%s' is not a valid name", rows[i].option, *rows[i].ret);
        }
    }
    return EXIT_OK;
}

/* ---- logs ---- */

/* A file that was given before would look like two trials that agree. */
static bool is_read(const struct import_trial *trial, const struct import_log *l)
{
    return vec_any(&trial->logs, it,
                   *it != l && (*it)->parser != NULL && (*it)->file.device == l->file.device &&
                       (*it)->file.inode == l->file.inode);
}

static enum exit_code read_log(struct import *im, const struct import_trial *trial,
                               struct import_log *l, size_t max_bytes)
{
    const struct log_parser_params params = import_params(im, trial);
    struct err err = {0};
    const int r = import_log_read(l, &params, max_bytes, trial->logs.len == 1, &err);
    if (r < 0) {
        return file_error(r, l->path, IMPORT_FILE_FIX, &err);
    }
    if (vec_any(&im->trials, it, is_read(it, l))) {
        return cli_error(EXIT_USAGE, "give each log once", "%s: this file was given twice",
                         l->path);
    }
    if (l->summary == NULL) {
        return import_log_explain(l);
    }
    const struct log_reading *reading = log_parser_reading(l->parser);
    if (reading->verdict == LOG_VERDICT_DOUBTFUL) {
        cli_note(im->cli, "%s: %s", l->path, reading->why);
    }
    const int64_t steps = l->steps < STEPS_MAX ? l->steps : STEPS_MAX; /* its summary has them */
    im->steps = steps > im->steps ? steps : im->steps;
    if (params.batch_size == 0 && l->batch > 0) {
        im->batch_size = (int64_t)l->batch; /* also of those that do not say it */
    }
    return EXIT_OK;
}

static enum exit_code read_logs(struct import *im)
{
    enum exit_code code = EXIT_OK;
    const size_t share = ALL_BYTES_MAX / vec_sum(&im->trials, it, it->logs.len);
    vec_each (struct import_trial, trial, &im->trials) {
        for (uint32_t i = 0; i < trial->logs.len && code == EXIT_OK; i++) {
            trial->logs.items[i]->id.index = i;
            code = read_log(im, trial, trial->logs.items[i],
                            share < IMPORT_LOG_BYTES ? share : IMPORT_LOG_BYTES);
        }
    }
    return code;
}

/* ---- the run ---- */

/* Every log has its figure, but their units may not add up, or a summary may be too odd. */
static enum exit_code check_result(const struct import *im)
{
    enum exit_code code = EXIT_OK;
    _cleanup_(freep) struct attempt_row *rows = xnew_array(struct attempt_row, im->trials.len);
    for (size_t i = 0; i < im->trials.len; i++) {
        rows[i] = im->trials.items[i].row; /* borrowed */
    }
    struct result *result = result_build(im->def, RUN_SUCCEEDED, rows, im->trials.len);
    vec_each (const struct import_trial, it, &im->trials) {
        const struct attempt_id *id = &it->row.id;
        const struct trial_result *t = &result->points[id->point].trials[id->trial];
        if (code == EXIT_OK && t->phase != TRIAL_SUCCEEDED) {
            code = cli_error(EXIT_USAGE, NULL, "%s: %s", it->logs.items[0]->path,
                             t->error == NULL ? "it gives no throughput" : t->error);
        }
    }
    result_free(result);
    return code;
}

static enum exit_code import_all(struct import *im)
{
    _cleanup_(freep) char *name = NULL;
    enum exit_code code = import_take_trials(im);
    code = code == EXIT_OK ? take_numbers(im) : code;
    code = code == EXIT_OK ? import_choose_rule(im) : code;
    if (code == EXIT_OK && im->rule == NULL) {
        return EXIT_OK; /* one was written */
    }
    code = code == EXIT_OK ? take_names(im) : code;
    code = code == EXIT_OK ? read_logs(im) : code;
    code = code == EXIT_OK ? import_define(im) : code;
    if (code == EXIT_OK) {
        import_mark_work(im);
        import_make_rows(im);
        code = check_result(im);
    }
    code = code == EXIT_OK ? import_store(im, &name) : code;
    return code == EXIT_OK ? import_show(im->cli, name) : code;
}

enum exit_code import_logs(const struct cli *cli)
{
    struct import im = {.cli = cli, .steps = 1, .warmup_steps = -1};
    const enum exit_code code = import_all(&im);
    import_done(&im);
    return code;
}
