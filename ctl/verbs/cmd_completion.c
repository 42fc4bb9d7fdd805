/* benchctl completion SHELL: prints the script with which a shell completes benchctl. The scripts
 * ask `benchctl __complete` (complete.h) and know nothing of verbs or options themselves. */
#include "base/mem.h"
#include "base/str.h"
#include "ctl/verbs/verbs.h"

/* Bash breaks words at = and : too. The line is split at blanks here, as benchctl sees it, and the
 * part before the last break of the word is cut off the candidates. */
static const char bash[] =
    "# bash completion for benchctl; load it with: source <(benchctl completion bash)\n"
    "_benchctl() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} typed words lines hints broken i\n"
    "    read -a words <<< \"$line\" 2> /dev/null\n"
    "    typed=${words[${#words[@]} - 1]}\n"
    "    if [[ $line == *[[:space:]] ]]; then\n"
    "        words+=('')\n"
    "        typed=\n"
    "    fi\n"
    "    mapfile -t lines < <(\"${words[0]/#\\~/$HOME}\" __complete \"${words[@]:1}\" 2> "
    "/dev/null)\n"
    "    COMPREPLY=()\n"
    "    ((${#lines[@]})) || return\n"
    "    hints=${lines[${#lines[@]} - 1]#:}\n"
    "    broken=${typed%\"${typed##*[=:]}\"}\n"
    "    [[ $typed == --*=* ]] && broken=${broken#*=}\n"
    "    for ((i = 0; i < ${#lines[@]} - 1; i++)); do\n"
    "        typed=${lines[i]%%$'\\t'*}\n"
    "        COMPREPLY+=(\"${typed#\"$broken\"}\")\n"
    "    done\n"
    "    if ((hints & 2)); then compopt -o nospace; fi\n"
    "    if ((hints & 32)); then compopt -o nosort; fi\n"
    "    if ! ((hints & 4)); then compopt -o default; fi\n"
    "} 2> /dev/null\n"
    "complete -F _benchctl benchctl\n";

static const char zsh[] =
    "#compdef benchctl\n"
    "# zsh completion for benchctl; load it with: source <(benchctl completion zsh)\n"
    "_benchctl() {\n"
    "    local line hints=0 text\n"
    "    local -a answer values shown flags\n"
    "    answer=(\"${(@f)$(${~words[1]} __complete \"${(@)words[2,CURRENT]}\" 2> "
    "/dev/null)}\")\n"
    "    [[ ${PREFIX} == --*=* ]] && compset -P '*='\n"
    "    for line in \"${answer[@]}\"; do\n"
    "        if [[ $line == :<-> ]]; then\n"
    "            hints=${line#:}\n"
    "        elif [[ -n $line ]]; then\n"
    "            text=${line%%$'\\t'*}\n"
    "            values+=(\"$text\")\n"
    "            if [[ $line == *$'\\t'* ]]; then text+=\"  -- ${line#*$'\\t'}\"; fi\n"
    "            shown+=(\"$text\")\n"
    "        fi\n"
    "    done\n"
    "    ((hints & 2)) && flags+=(-S '')\n"
    "    ((hints & 32)) && flags+=(-V benchctl)\n"
    "    compadd \"${flags[@]}\" -l -d shown -a values\n"
    "    if ! ((hints & 4)); then\n"
    "        [[ $PREFIX == sqlite:* ]] && compset -P sqlite:\n"
    "        _files\n"
    "    fi\n"
    "    return 0\n"
    "}\n"
    "if [[ ${funcstack[1]} == _benchctl ]]; then _benchctl \"$@\"; else compdef _benchctl "
    "benchctl; fi\n";

static const char fish[] =
    "# fish completion for benchctl; load it with: benchctl completion fish | source\n"
    "function __benchctl_complete\n"
    "    set -l typed (commandline -ct)\n"
    "    set -l words (commandline -opc) $typed\n"
    "    set -l option (string match -r -- '^--[^=]*=' $typed)\n"
    "    set -q option[1]; or set option ''\n"
    "    set -l lines ($words[1] __complete $words[2..-1] 2> /dev/null)\n"
    "    test (count $lines) -gt 0; or return\n"
    "    set -l hints (string sub -s 2 -- $lines[-1])\n"
    "    set -e lines[-1]\n"
    "    for line in $lines\n"
    "        echo -- $option$line\n"
    "    end\n"
    "    if test (math \"bitand($hints, 4)\") -eq 0\n"
    "        set -l before (string match -r -- '^.*[=:]' $typed)\n"
    "        set -q before[1]; or set before ''\n"
    "        for path in (__fish_complete_path (string sub -s (math (string length -- $before) + "
    "1) -- $typed))\n"
    "            echo -- $before$path\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c benchctl -f -k -a '(__benchctl_complete)'\n";

static enum exit_code run(struct cli *cli)
{
    const char *shell = cli->args.words[0];
    const char *script = str_eq(shell, "bash")   ? bash
                         : str_eq(shell, "zsh")  ? zsh
                         : str_eq(shell, "fish") ? fish
                                                 : NULL;
    if (script == NULL) {
        return cli_error(EXIT_USAGE, "benchctl completion bash, zsh or fish",
                         "there is no completion for '%s'", shell);
    }
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    buf_puts(&out, script);
    return cli_print(&out);
}

const struct verb verb_completion = {
    .name = "completion",
    .args = "bash|zsh|fish",
    .summary = "Print the script with which a shell completes benchctl",
    .examples = "  source <(benchctl completion bash)\n"
                "  benchctl completion zsh > ~/.zfunc/_benchctl\n"
                "  benchctl completion fish > ~/.config/fish/completions/benchctl.fish\n",
    .details = "Packages install the scripts. They complete verbs, options, runs, benchmarks,\n"
               "points, systems and swept names; runs and benchmarks come from the store or the\n"
               "cluster that the line names.",
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
