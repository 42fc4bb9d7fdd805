/* See man.h. */
#include "ctl/cli/man.h"

#include "base/mem.h"
#include "base/roff.h"
#include "config.h"
#include "ctl/cli/usage.h"

static const struct arg_opt help_opt = {"help", 'h', NULL, "Print the help of the verb"};

static const struct {
    const char *name, *text;
} variables[] = {
    {"BENCHCTL_PATH", "Folders of definitions, separated by colons; searched first"},
    {"BENCHWORKER", "The benchworker of local runs; default: next to benchctl, else in PATH"},
    {"KUBECONFIG", "The kubeconfig; default: ~/.kube/config"},
    {"NO_COLOR", "If set, colors are not used; CLICOLOR_FORCE and FORCE_COLOR force them"},
    {"XDG_DATA_HOME", "The local store is in its folder benchd; default: ~/.local/share"},
};

static void put_variables(struct buf *out)
{
    roff_section("ENVIRONMENT", out);
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        roff_item(variables[i].name, variables[i].text, out);
    }
}

void man_program(const struct verb *const *verbs, size_t n_verbs, struct buf *out)
{
    roff_begin(&(struct roff_page){"benchctl", 1, USAGE_SUMMARY, BENCHD_VERSION}, out);
    roff_section("SYNOPSIS", out);
    roff_text("`benchctl` VERB [option...]\n\n`kubectl bench` VERB [option...]", out);
    roff_section("DESCRIPTION", out);
    roff_text("benchctl runs a benchmark that a YAML file defines, in a cluster through benchd or "
              "with `--local` on this machine, and prints throughput, speedup and efficiency with "
              "their intervals. Each verb has a page of its own, such as `benchctl-run`(1).",
              out);
    roff_section("VERBS", out);
    for (size_t i = 0; i < n_verbs; i++) {
        roff_item(verbs[i]->name, verbs[i]->summary, out);
    }
    roff_section("OPTIONS OF ALL VERBS", out);
    roff_options(usage_global_opts, usage_n_global_opts, out);
    roff_options(&help_opt, 1, out);
    roff_exit_codes("benchctl", out);
    put_variables(out);
    roff_section("EXAMPLES", out);
    roff_lines(USAGE_EXAMPLES, out);
}

void man_verb(const struct verb *verb, struct buf *out)
{
    _cleanup_(freep) char *name = xasprintf("benchctl-%s", verb->name);
    roff_begin(&(struct roff_page){name, 1, verb->summary, BENCHD_VERSION}, out);
    roff_section("SYNOPSIS", out);
    _cleanup_(freep) char *synopsis = xasprintf("`benchctl %s` %s", verb->name, verb->args);
    roff_text(synopsis, out);
    if (verb->details != NULL) {
        roff_section("DESCRIPTION", out);
        roff_text(verb->details, out);
    }
    if (verb->formats != NULL) {
        roff_section("OUTPUT FORMATS", out);
        _cleanup_(freep) char *formats = usage_formats(verb);
        _cleanup_(freep) char *text = xasprintf("`-o` takes: %s", formats);
        roff_text(text, out);
    }
    roff_section("OPTIONS", out);
    roff_options(verb->opts, verb->n_opts, out);
    roff_options(usage_global_opts, usage_n_global_opts, out);
    roff_options(&help_opt, 1, out);
    roff_section("EXAMPLES", out);
    roff_lines(verb->examples, out);
    roff_exit_codes("benchctl", out);
    roff_see_also((const char *const[]){"benchctl", NULL}, 1, out);
}
