/* benchctl get [runs|benchmarks] [NAME...], or as `-o name` prints them: get KIND/NAME...; and get
 * profiles|rules|references, what this program ships. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/runs/listing.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"
#include "logparse/shipped_rules.h"
#include "reference/reference.h"
#include "spec/profile.h"

#define GROUP ".benchd.io" /* kubectl may write it after a kind */

struct get {
    const struct list_kind *kind;
    VEC(const char *) names; /* without their kinds; borrowed */
};

/* "run", "benchmarkruns.benchd.io": the first `len` bytes of a word. NULL: no
 * kind that is listed. */
static const struct list_kind *read_kind(const char *word, size_t len)
{
    _cleanup_(freep) char *kind = xstrndup(word, len);
    if (str_has_suffix(kind, GROUP)) {
        kind[strlen(kind) - strlen(GROUP)] = '\0';
    }
    return cli_is_run_kind(kind)         ? &list_kind_runs
           : cli_is_benchmark_kind(kind) ? &list_kind_benchmarks
                                         : NULL;
}

/* "KIND NAME..." or "KIND/NAME...". */
static enum exit_code take(const struct cli *cli, struct get *g)
{
    const char *const *words = cli->args.words;
    g->kind = &list_kind_runs;
    const bool has_slash = cli->args.n_words > 0 && strchr(words[0], '/') != NULL;
    for (size_t i = 0; i < cli->args.n_words; i++) {
        const char *slash = has_slash ? strchr(words[i], '/') : NULL; /* others are of files */
        const struct list_kind *kind =
            i > 0 && slash == NULL ? g->kind : read_kind(words[i], strcspn(words[i], "/"));
        if (kind == NULL) {
            return cli_error(EXIT_USAGE, "list runs or benchmarks, for example: benchctl get runs",
                             "cannot list '%s'", words[i]);
        }
        if (i > 0 && kind != g->kind) {
            return cli_error(EXIT_USAGE, "list one kind at a time",
                             "'%s' and '%s' are of different kinds", words[0], words[i]);
        }
        g->kind = kind;
        if (i > 0 || slash != NULL) {
            *vec_push(&g->names) = slash == NULL ? words[i] : slash + 1;
        }
    }
    return EXIT_OK;
}

static const struct shipped {
    const char *kind;
    const struct embedded *items;
    const size_t *n;
    const char *key; /* of the line in an item's text that says what it is */
} shipped_kinds[] = {
    {"profiles", profile_descriptions, &profile_descriptions_count, ""},
    {"references", reference_shipped, &reference_shipped_count, "\ntitle: "},
    {"rules", log_shipped, &log_shipped_count, "\ndescription: "},
};

static enum exit_code print_shipped(const struct cli *cli, const struct shipped *s)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    _cleanup_(table_freep) struct table *t = table_new();
    for (size_t i = 0; i < *s->n; i++) {
        const char *line = strstr(s->items[i].text, s->key);
        line = line == NULL ? "" : line + strlen(s->key);
        table_text(t, "NAME", "%s", s->items[i].name);
        table_text(t, "DESCRIPTION", "%.*s", (int)strcspn(line, "\n"), line);
        table_end_row(t);
    }
    table_format_list(t, 1, !cli->no_headers, show_list_columns(), &out);
    return cli_print(&out);
}

static enum exit_code get_once(struct backend *b, const struct get *g)
{
    _cleanup_(listing_done) struct listing found = {0};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    const struct list_wanted wanted = {.is_benchmarks = g->kind == &list_kind_benchmarks,
                                       .names = g->names.items,
                                       .n_names = g->names.len};
    enum exit_code code = b->ops->list(b, &wanted, &found);
    if (code != EXIT_OK) {
        return code;
    }
    listing_format(b->cli, g->kind, &found, &out);
    code = cli_print(&out);
    if (found.items.len == 0) {
        cli_note(b->cli, "No resources found in %s.", b->place);
    }
    return code;
}

static enum exit_code run(struct cli *cli)
{
    struct get get = {0};
    _cleanup_(backend_freep) struct backend *b = NULL;
    const char *word = cli->args.n_words > 0 ? cli->args.words[0] : "";
    const struct shipped *shipped =
        array_find(shipped_kinds, COUNT_OF(shipped_kinds), it, str_eq(it->kind, word));
    if (shipped != NULL) {
        return cli->args.n_words == 1 && cli->output[0] == '\0'
                   ? print_shipped(cli, shipped)
                   : cli_error(EXIT_USAGE, "remove -o and names; a run of that name: get runs NAME",
                               "get %s prints one table of all", word);
    }
    enum exit_code code = take(cli, &get);
    code = code == EXIT_OK ? backend_open(cli, &b) : code;
    code = code == EXIT_OK ? get_once(b, &get) : code;
    vec_done(&get.names);
    return code;
}

const struct verb verb_get = {
    .name = "get",
    .group = "Read",
    .args = "[runs|benchmarks] [NAME...]",
    .summary = "List runs (newest first), benchmarks, or what ships",
    .examples = "  benchctl get\n"
                "  benchctl get runs -n bench -o wide\n"
                "  benchctl get runs 7k3fq --store sqlite:results.db -o json\n"
                "  benchctl get $(benchctl get runs -o name) -o wide\n"
                "  benchctl get benchmarks --local\n"
                "  benchctl get profiles\n"
                "  benchctl get rules\n"
                "  benchctl get references\n",
    .details = "Benchmarks are those in the cluster, or with --local the shipped ones. A local\n"
               "run whose process died is listed with its last phase and (interrupted); resume\n"
               "it with: benchctl run --resume RUN --local\n"
               "\n"
               "To follow a run: benchctl attach RUN, or in a cluster also kubectl get bmr -w;\n"
               "kubectl get bmr -A -l team=vision lists other namespaces, or by labels.",
    .formats = "wide|json|name",
    .max_words = (size_t)-1,
    .run = run,
};
