/* See run_opts.h. */
#include "ctl/runs/run_opts.h"

#include "ctl/cli/human.h"

enum exit_code run_opts_take(const struct cli *cli, struct run_opts *ret)
{
    *ret = (struct run_opts){0};
    const char *progress = args_get(&cli->args, "progress", "auto");
    if (progress_mode_choose(cli, progress, &ret->mode) < 0) {
        return cli_error(EXIT_USAGE, "use --progress auto, live, plain or none",
                         "--progress '%s' is unknown", progress);
    }
    const char *timeout = args_get(&cli->args, "timeout", NULL);
    if (timeout != NULL && human_parse_duration(timeout, &ret->timeout_ms) < 0) {
        return cli_error(EXIT_USAGE, "for example --timeout 90s, --timeout 10m or --timeout 1h30m",
                         "--timeout '%s': expected a duration", timeout);
    }
    ret->resume = args_get(&cli->args, "resume", NULL);
    static const char *const of_new_runs[] = {"file", "systems", "set"};
    const bool is_new =
        cli->args.n_words > 0 ||
        array_any(of_new_runs, COUNT_OF(of_new_runs), it, args_has(&cli->args, *it)) ||
        array_any(cli->verb->opts, cli->verb->n_opts, it,
                  it->field != NULL && args_has(&cli->args, it->name));
    if (ret->resume != NULL && is_new) {
        return cli_error(EXIT_USAGE, "benchctl run --resume RUN --local",
                         "--resume continues a run with its stored definition: it takes no NAME, "
                         "and no option that changes the definition");
    }
    return EXIT_OK;
}
