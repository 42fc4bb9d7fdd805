/* benchctl describe RUN: what it is, where it ran, what happened. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ctl/describe.h"
#include "ctl/local_store.h"
#include "ctl/verbs.h"

static enum exit_code describe(const struct cli *cli, struct store *s, const struct loaded_run *run)
{
    struct event_row *events = NULL;
    size_t n_events = 0;
    struct err err = {0};
    int r = s->ops->list_events(s, run->row.uid, &events, &n_events, &err);
    if (r < 0) {
        return cli_error(local_store_exit_code(r), NULL, "%s", err.msg);
    }
    struct buf out = BUF_INIT;
    _cleanup_(freep) char *where = local_store_options(cli);
    struct describe_params params = {
        .row = &run->row,
        .result = run->result,
        .rows = run->rows,
        .n_rows = run->n_rows,
        .events = events,
        .n_events = n_events,
        .is_interrupted = local_store_is_interrupted(s, &run->row),
        .where = where,
        .now_unix_ms = clock_unix_ms(),
    };
    describe_format(&params, &out);
    enum exit_code code = cli_print(&out);
    buf_done(&out);
    for (size_t i = 0; i < n_events; i++) {
        event_row_done(&events[i]);
    }
    free(events);
    return code;
}

static enum exit_code run(struct cli *cli)
{
    const char *const *words = cli->args.words;
    if (cli->args.n_words == 2 && !cli_is_run_kind(words[0])) {
        return cli_error(EXIT_USAGE, "benchctl describe RUN", "'%s' cannot be described", words[0]);
    }
    const char *what = words[cli->args.n_words - 1]; /* kubectl's "describe run X" works too */
    struct store *s = NULL;
    struct loaded_run run;
    enum exit_code code = loaded_run_open(cli, what, &s, &run);
    if (code != EXIT_OK) {
        return code;
    }
    code = describe(cli, s, &run);
    loaded_run_done(&run);
    store_close(s);
    return code;
}

const struct verb verb_describe = {
    .name = "describe",
    .args = "RUN",
    .summary = "Tell what a run is, where it ran, and what failed and why",
    .examples = "  benchctl describe 7k3fq --local\n"
                "  benchctl describe vgg16-pserver-sweep-7k3fq --store sqlite:results.db\n",
    .min_words = 1,
    .max_words = 2,
    .run = run,
};
