/* benchctl describe RUN: what it is, where it ran, what happened. */
#include "base/clock.h"
#include "core/attempt_json.h"
#include "core/json_field.h"
#include "ctl/runs/describe.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"
#include "store/run_document.h"

/* The document that benchd's API has for a run, too, and whether no process drives it any more. */
static enum exit_code describe_json(const struct loaded_run *run)
{
    json_t *document = run_document_to_json(&run->row, NULL, 0, run->events, run->n_events);
    if (document == NULL) {
        return cli_error(EXIT_LOCAL_RESOURCE, NULL, "run '%s': its definition is damaged",
                         run->row.name);
    }
    (void)json_object_set_new(json_object_get(document, "run"), "interrupted",
                              json_boolean(run->is_interrupted)); /* grows in memory only */
    _cleanup_(buf_done) struct buf out = cli_stream();
    struct json_lists w;
    json_lists_begin(&w, document, 2, &out);
    json_lists_open(&w, "attempts");
    for (size_t i = 0; i < run->n_rows; i++) {
        json_lists_add(&w, attempt_row_to_json(loaded_run_row(run, i)));
    }
    json_lists_end(&w);
    return cli_print(&out);
}

static enum exit_code describe(const struct backend *b, const struct loaded_run *run)
{
    if (cli_output_is(b->cli, "json")) {
        return describe_json(run);
    }
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    struct describe_params params = {
        .run = run,
        .where = b->where,
        .now_unix_ms = clock_unix_ms(),
        .columns = show_list_columns(),
    };
    describe_format(&params, &out);
    return cli_print(&out);
}

static enum exit_code run(struct cli *cli)
{
    const char *const *words = cli->args.words;
    if (cli->args.n_words == 2 && !cli_is_run_kind(words[0])) {
        return cli_error(EXIT_USAGE, "benchctl describe RUN",
                         "'%s' cannot be described, only runs can", words[0]);
    }
    const char *what = words[cli->args.n_words - 1]; /* kubectl's "describe run X" works too */
    _cleanup_(backend_freep) struct backend *b = NULL;
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    enum exit_code code = backend_open(cli, &b);
    code = code == EXIT_OK ? b->ops->load_run(b, what, &run) : code;
    /* If benchd cannot be asked, the error comes first, then what the object says. */
    if (run.row.name != NULL) {
        enum exit_code printed = describe(b, &run);
        code = code == EXIT_OK ? printed : code;
        code = code == EXIT_OK ? loaded_run_end(&run) : code;
    }
    return code;
}

const struct verb verb_describe = {
    .name = "describe",
    .args = "RUN",
    .summary = "Show what a run is, where it ran, and what failed and why",
    .examples = "  benchctl describe 7k3fq\n"
                "  benchctl describe vgg16-pserver-sweep-7k3fq --store sqlite:results.db\n"
                "  benchctl describe latest --local -o json\n",
    .details = "-o json is the document of benchd's API (docs/contracts/attempts.md), with\n"
               "\"interrupted\" in \"run\": no process drives the run, although it has not ended.",
    .formats = "text|json",
    .min_words = 1,
    .max_words = 2,
    .run = run,
};
