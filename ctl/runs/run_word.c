/* See run_word.h. */
#include "ctl/runs/run_word.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum exit_code loaded_run_check(const struct cli *cli, const struct loaded_run *run)
{
    const struct run_status *st = &run->row.status;
    if (run->result == NULL) {
        _cleanup_(freep) char *fix = xasprintf("see benchctl describe %s", run->row.name);
        return cli_error(st->phase == RUN_FAILED ? EXIT_RUN_FAILED : EXIT_NOT_FOUND, fix,
                         "run/%s has no results: %s%s%s", run->row.name,
                         run_phase_to_string(st->phase), st->message[0] == '\0' ? "" : ": ",
                         st->message);
    }
    if (!run_phase_is_final(st->phase)) {
        cli_note(cli, "run/%s has not finished: %u of %u trials are done", run->row.name,
                 st->trials_done, result_count_trials(run->result));
    }
    return EXIT_OK;
}

const char *run_word_name(const char *what)
{
    static const char *const kinds[] = {"benchmarkrun.benchd.io/", "benchmarkrun/", "bmr/", "run/"};
    const char *const *kind = array_find(kinds, COUNT_OF(kinds), it, str_has_prefix(what, *it));
    return kind == NULL ? what : what + strlen(*kind);
}

static int find_latest(const struct cli *cli, const struct run_names *among,
                       enum exit_code *ret_code)
{
    if (among->newest < 0) {
        _cleanup_(freep) char *fix =
            xasprintf("start one with: benchctl run NAME %s", among->where);
        *ret_code = cli_error(EXIT_NOT_FOUND, fix, "there are no runs yet");
    } else {
        cli_note(cli, "the latest run is %s", among->names[among->newest]);
    }
    return among->newest;
}

int run_word_find(const struct cli *cli, const char *what, const struct run_names *among,
                  enum exit_code *ret_code)
{
    _cleanup_(freep) char *ending = xasprintf("-%s", what);
    size_t n_found = 0, found = 0;
    *ret_code = EXIT_OK;
    if (str_eq(what, RUN_WORD_LATEST)) {
        return find_latest(cli, among, ret_code);
    }
    for (size_t i = 0; i < among->n; i++) {
        if (str_eq(among->names[i], what)) {
            return (int)i;
        }
        if (str_has_suffix(among->names[i], ending)) {
            found = i;
            n_found++;
        }
    }
    if (n_found == 1) {
        return (int)found;
    }
    if (n_found > 1) {
        *ret_code =
            cli_error(EXIT_USAGE, "use the full name",
                      "'%s' is ambiguous: the names of %zu runs end with it", what, n_found);
        return -1;
    }
    const char *hint = str_suggest(what, among->names, among->n);
    _cleanup_(freep) char *fix =
        hint == NULL ? xasprintf("list the runs with: benchctl get runs %s", among->where)
                     : xasprintf("did you mean '%s'?", hint);
    *ret_code = cli_error(EXIT_NOT_FOUND, fix, "%s", among->not_found);
    return -1;
}
