/* benchctl completion SHELL: prints the script with which a shell completes benchctl. The scripts
 * (completion.bash, .zsh, .fish) ask `benchctl __complete` (complete.h) and know nothing of verbs
 * or options themselves.
 *
 * Bash breaks words at = and : too. Its script splits the line at blanks, as benchctl sees it, and
 * cuts the part before the last break of the word off the candidates. */
#include "base/mem.h"
#include "base/str.h"
#include "ctl/verbs/completion_text.h"
#include "ctl/verbs/verbs.h"

static const struct {
    const char *shell, *script;
} scripts[] = {
    {"bash", completion_text_bash}, {"zsh", completion_text_zsh}, {"fish", completion_text_fish}};

static enum exit_code run(struct cli *cli)
{
    const char *shell = cli->args.words[0];
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        buf_puts(&out, str_eq(shell, scripts[i].shell) ? scripts[i].script : "");
    }
    return out.len > 0 ? cli_print(&out)
                       : cli_error(EXIT_USAGE, "benchctl completion bash, zsh or fish",
                                   "there is no completion for '%s'", shell);
}

const struct verb verb_completion = {
    .name = "completion",
    .args = "bash|zsh|fish",
    .summary = "Print the script with which a shell completes benchctl",
    .examples = "  source <(benchctl completion bash)\n"
                "  benchctl completion zsh > ~/.zfunc/_benchctl\n"
                "  benchctl completion fish > ~/.config/fish/completions/benchctl.fish\n",
    .details = "Packages install the scripts. They complete verbs, options, files and shipped\n"
               "benchmarks.",
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
