/* benchctl history NAME: one benchmark over time, and where it changed. */
#include "base/mem.h"
#include "ctl/runs/history.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"
#include "compare/run_history.h"

#define LAST_DEFAULT 100
#define LAST_MAX 1000

/* One after another, the oldest first: a thousand results at a time would take
 * hundreds of megabytes. */
static enum exit_code add_runs(struct backend *b, const struct texts *names,
                               const struct loaded_run *newest, struct run_history *h)
{
    enum exit_code code = EXIT_OK;
    for (size_t i = names->list.len; i > 0 && code == EXIT_OK; i--) {
        _cleanup_(loaded_run_done) struct loaded_run run = {0};
        const struct loaded_run *it = newest;
        if (i > 1) {
            code = b->ops->load_figures(b, names->list.items[i - 1], newest, &run);
            it = &run;
        }
        if (code == EXIT_OK && it->result != NULL) {
            run_history_add(h, &(struct run_history_run){it->row.name, it->row.uid,
                                                         it->row.created_unix_ms, it->result});
        }
    }
    return code;
}

static enum exit_code explain(struct backend *b, struct run_history *h)
{
    enum exit_code code = EXIT_OK;
    vec_each (struct run_history_change, change, &h->changes) {
        struct loaded_run runs[2] = {0};
        for (size_t i = 0; i < 2 && code == EXIT_OK; i++) {
            code =
                b->ops->load_figures(b, h->entries.items[change->at - 1 + i].name, NULL, &runs[i]);
        }
        if (code == EXIT_OK && runs[0].result != NULL && runs[1].result != NULL) {
            run_history_explain(change, runs[0].result, runs[1].result);
        }
        loaded_run_done(&runs[0]);
        loaded_run_done(&runs[1]);
    }
    return code;
}

static enum exit_code judge(struct backend *b, const struct texts *names,
                            const struct loaded_run *newest, int64_t point)
{
    const uint32_t n_points = newest->def->matrix.n_points;
    if (point >= n_points) {
        _cleanup_(freep) char *fix =
            xasprintf("list the points with: benchctl describe %s %s", newest->row.name, b->where);
        return cli_error(EXIT_USAGE, fix, "--point %lld: the newest run has the points 0 to %u",
                         (long long)point, n_points - 1);
    }
    const uint32_t wanted = (uint32_t)point;
    _cleanup_(run_history_done) struct run_history h = {0};
    run_history_begin(&h, newest->result, point < 0 ? NULL : &wanted);
    enum exit_code code = add_runs(b, names, newest, &h);
    if (code == EXIT_OK) {
        run_history_end(&h);
        code = explain(b, &h);
    }
    return code == EXIT_OK ? show_sheet(b->cli, sheet_history, &h) : code;
}

static enum exit_code judge_newest(struct backend *b, const struct texts *names, int64_t point)
{
    _cleanup_(loaded_run_done) struct loaded_run newest = {0};
    enum exit_code code = b->ops->load_figures(b, names->list.items[0], NULL, &newest);
    code = code == EXIT_OK ? loaded_run_check(b->cli, &newest) : code;
    return code == EXIT_OK ? judge(b, names, &newest, point) : code;
}

static enum exit_code run(struct cli *cli)
{
    _cleanup_(backend_freep) struct backend *b = NULL;
    _cleanup_(texts_done) struct texts names = {0};
    int64_t point = -1, last = LAST_DEFAULT;
    enum exit_code code = cli_take_number(cli, "point", 0, UINT32_MAX, &point);
    code = code == EXIT_OK ? cli_take_number(cli, "last", 1, LAST_MAX, &last) : code;
    code = code == EXIT_OK ? backend_open(cli, &b) : code;
    if (code == EXIT_OK) {
        code = history_list_before(b, cli->args.words[0], INT64_MAX, (size_t)last, &names);
    }
    if (code == EXIT_OK && names.list.len == 0) {
        _cleanup_(freep) char *fix =
            xasprintf("list the runs with: benchctl get runs %s", b->where);
        code = cli_error(EXIT_NOT_FOUND, fix, "no run of benchmark '%s' succeeded",
                         cli->args.words[0]);
    } else if (code == EXIT_OK) {
        code = judge_newest(b, &names, point);
    }
    return code;
}

static const struct arg_opt opts[] = {
    {"point", 0, "P", "Show this point of the newest run; default: the geometric mean of all"},
    {"last", 0, "N", "Read at most N of the newest runs; default: 100"},
};

const struct verb verb_history = {
    .name = "history",
    .args = "BENCHMARK [option...]",
    .summary = "Show a benchmark over time, and where it changed",
    .examples = "  benchctl history vgg16-pserver-sweep --local\n"
                "  benchctl history ci --store sqlite:results.db --point 2 -o csv\n",
    .details = "Each run of the benchmark that succeeded is a row, the oldest first. Simulated\n"
               "runs are left out, and so are rehearsals if other runs exist; rows of rehearsals\n"
               "are marked. A change is where the figures before and after differ beyond chance\n"
               "(E-divisive means, a permutation test at 1%, three runs or more on each side).\n"
               "Lines below the table list what else changed there: commit, kernel, image,\n"
               "definition.",
    VERB_OPTS(opts),
    .formats = SHOW_FORMATS,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
