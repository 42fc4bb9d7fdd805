/* See cli.h. */
#include "ctl/cli/cli.h"

#include <string.h>

const struct arg_opt usage_global_opts[] = {
    {"output", 'o', "FORMAT", "Output format"},
    {"namespace", 'n', "NS", "Namespace; default: that of the context, else benchd"},
    {"context", 0, "CONTEXT", "Context of the kubeconfig; default: the current one"},
    {"kubeconfig", 0, "FILE", "Kubeconfig; default: $KUBECONFIG, else ~/.kube/config"},
    {"local", 0, NULL, "Use this machine and its local store, not a cluster"},
    {"store", 0, "URL", "Local store, sqlite:FILE; default: $XDG_DATA_HOME/benchd/results.db"},
    {"quiet", 'q', NULL, "Print errors only, no notes and no progress"},
    {"color", 0, "WHEN", "Use colors: auto, always or never"},
    {"no-headers", 0, NULL, "Print lists without headers"},
};
const size_t usage_n_global_opts = COUNT_OF(usage_global_opts);

/* A|B|C after a heading, in lines of at most 80 characters. */
static void put_formats(const char *formats, struct buf *out)
{
    size_t column = strlen("Output formats (-o): ");
    for (const char *at = formats; *at != '\0';) {
        const size_t len = strcspn(at, "|") + (at[strcspn(at, "|")] == '|');
        if (column + len > 80) {
            buf_puts(out, "\n  ");
            column = 2;
        }
        buf_append(out, at, len);
        column += len;
        at += len;
    }
    buf_putc(out, '\n');
}

void usage_program(const char *program, const struct verb *const *verbs, size_t n_verbs,
                   struct buf *out)
{
    buf_puts(out, "benchctl measures how distributed training scales, and how far its\n"
                  "figures can be trusted.\n\n"
                  "  benchctl run vgg16-pserver-sweep\n"
                  "  benchctl run vgg16-pserver-sweep --local\n");
    for (size_t i = 0; i < n_verbs; i++) {
        if (verbs[i]->group != NULL) {
            buf_printf(out, "\n%s:\n", verbs[i]->group);
        }
        buf_printf(out, "  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
    }
    buf_printf(out, "\nUse \"%s VERB --help\" for the examples and options of a verb.\n", program);
}

void usage_verb(const char *program, const struct verb *verb, struct buf *out)
{
    buf_printf(out, "%s\n\nExamples:\n%s\nUsage: %s %s%s%s\n", verb->summary, verb->examples,
               program, verb->name, verb->args[0] == '\0' ? "" : " ", verb->args);
    if (verb->details != NULL) {
        buf_printf(out, "\n%s\n", verb->details);
    }
    if (verb->formats != NULL) {
        buf_puts(out, "\nOutput formats (-o): ");
        put_formats(verb->formats, out);
    }
    buf_puts(out, "\nOptions:\n");
    args_help(verb->opts, verb->n_opts, out);
    buf_puts(out, "\nGlobal options:\n");
    _cleanup_(buf_done) struct buf globals = BUF_INIT;
    args_help(usage_global_opts, usage_n_global_opts, &globals);
    /* args_help ends with --help, which the verb's own list has shown. */
    const char *end = strstr(buf_cstr(&globals), "  -h, --help");
    buf_append(out, globals.data, end == NULL ? globals.len : (size_t)(end - globals.data));
}
