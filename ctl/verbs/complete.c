/* See complete.h. Edge file: it closes stderr. */
#include "ctl/verbs/complete.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/cli/cli.h"
#include "ctl/definition/definition.h"
#include "ctl/runs/progress.h"
#include "ctl/verbs/verbs.h"
#include "doc/openapi.h"
#include "logparse/shipped_rules.h"
#include "reference/reference.h"
#include "spec/profile.h"
#include "spec/schemas.h"

enum completion_hint {
    COMPLETION_NO_SPACE = 2, /* the candidate does not finish the word */
    COMPLETION_NO_FILES = 4, /* without it the shell offers files, too */
};

/* A line that is being typed, and the candidates for its last word. */
struct typing {
    struct cli cli;      /* what has been typed so far; its verb may be NULL */
    struct args_end end; /* the last word */
    struct arg_opt opts[CLI_MAX_OPTS];
    struct buf out; /* a candidate a line */
    unsigned hints; /* enum completion_hint */
};

/* A shell prints it on a terminal, and names may come from a folder. */
static void offer(struct typing *t, const char *text, const char *help)
{
    if (str_has_prefix(text, t->end.text)) {
        const size_t begin = t->out.len;
        buf_puts(&t->out, text);
        if (help[0] != '\0') {
            buf_printf(&t->out, "\t%.*s", (int)strcspn(help, "\n\t"), help);
        }
        t->out.len = begin + text_replace_control(t->out.data + begin, "\t", '?');
        buf_putc(&t->out, '\n');
    }
}

/* Offers each of "a|b|c". */
static void offer_choices(struct typing *t, const char *choices)
{
    while (choices != NULL && choices[0] != '\0') {
        const size_t len = strcspn(choices, "|");
        _cleanup_(freep) char *choice = xstrndup(choices, len);
        offer(t, choice, "");
        choices += len + (choices[len] == '|');
    }
}

static void offer_verbs(struct typing *t)
{
    for (size_t i = 0; i < t->cli.n_verbs; i++) {
        offer(t, t->cli.verbs[i]->name, t->cli.verbs[i]->summary);
    }
}

static void offer_options(struct typing *t, const struct arg_opt *opts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        _cleanup_(freep) char *name = xasprintf("--%s", opts[i].name);
        offer(t, name, opts[i].help);
    }
}

/* Offers the shipped definitions and files; for `get` what the line lists. */
static void offer_names(struct typing *t)
{
    const struct args *a = &t->cli.args;
    const bool is_get = str_eq(t->cli.verb->name, "get");
    if (t->end.place == ARGS_AT_VALUE ||
        (is_get && (a->n_words == 0 || !cli_is_benchmark_kind(a->words[0])))) {
        return; /* --axis NAME is a name inside a run */
    }
    _cleanup_(texts_done) struct texts shipped = {0};
    definition_names(&shipped);
    vec_each (char *, name, &shipped.list) {
        offer(t, *name, "shipped");
    }
    t->hints &= is_get ? ~0U : ~(unsigned)COMPLETION_NO_FILES;
}

static void offer_formats(struct typing *t)
{
    offer_choices(t, t->cli.verb == NULL ? NULL : t->cli.verb->formats);
}

static void offer_stores(struct typing *t)
{
    if (!str_has_prefix(t->end.text, "sqlite:")) {
        offer(t, "sqlite:", "");
        t->hints |= COMPLETION_NO_SPACE;
    }
}

/* The names that every definition may sweep. */
static void offer_swept(struct typing *t)
{
    const struct node *sweep = schema_of_field(schema_definition(), "sweep");
    const struct node *names = tree_get(sweep, "x-names");
    for (size_t i = 0; i < names->n_children; i++) {
        _cleanup_(freep) char *text = xasprintf("%s=", names->children[i]->key);
        offer(t, text, names->children[i]->s);
    }
    t->hints |= COMPLETION_NO_SPACE;
}

/* ---- values and words ---- */

/* What an option's value or a word may be, by its name; a name without a row has no candidates. */
static const struct source {
    const char *value_name;
    bool is_file;                    /* the shell offers files, too */
    void (*offer)(struct typing *t); /* NULL if the row names its candidates */
    const char *choices;
    const struct embedded *shipped; /* (n_shipped) */
    const size_t *n_shipped;
} sources[] = {
    {"ARCHIVE", .is_file = true},
    {"BENCHMARK", .offer = offer_names},
    {"COMMAND", .is_file = true},
    {"FILE", .is_file = true},
    {"FORMAT", .offer = offer_formats},
    {"HOW", .choices = PROGRESS_MODES},
    {"LOG", .is_file = true},
    {"NAME", .offer = offer_names},
    {"NAME=V1,V2", .offer = offer_swept},
    {"PROFILE", .shipped = shipped_profiles, .n_shipped = &shipped_profiles_count},
    {"RULE", .is_file = true, .shipped = log_shipped, .n_shipped = &log_shipped_count},
    {"SET", .is_file = true, .shipped = reference_shipped, .n_shipped = &reference_shipped_count},
    {"URL", .is_file = true, .offer = offer_stores},
    {"VERB", .offer = offer_verbs},
    {"WHEN", .choices = CLI_COLORS},
};

/* The name may also be the choices: "text|json". */
static void offer_value(struct typing *t, const char *value_name)
{
    const struct source *source =
        array_find(sources, COUNT_OF(sources), it, str_eq(it->value_name, value_name));
    if (source == NULL) {
        offer_choices(t, strchr(value_name, '|') == NULL ? NULL : value_name);
        return;
    }
    offer_choices(t, source->choices);
    for (size_t i = 0; source->shipped != NULL && i < *source->n_shipped; i++) {
        offer(t, source->shipped[i].name, "");
    }
    if (source->offer != NULL) {
        source->offer(t);
    }
    t->hints &= source->is_file ? ~(unsigned)COMPLETION_NO_FILES : ~0U;
}

char *complete_word_name(const char *args, size_t i)
{
    for (const char *p = args; p[0] != '\0'; i--) {
        const size_t len = strcspn(p, " ");
        const char *name = p + (p[0] == '[');
        const size_t name_len = strcspn(p, "]. ") - (size_t)(name - p);
        const bool repeats = len >= 3 && strstr(name + name_len, "...") == name + name_len;
        const bool is_option = strncmp(name, "--", 2) == 0 || strncmp(name, "option", 6) == 0;
        if (is_option) {
            return NULL;
        }
        if (i == 0 || repeats) {
            return xstrndup(name, name_len);
        }
        p += len + (p[len] == ' ');
    }
    return NULL;
}

static void offer_word(struct typing *t)
{
    if (t->cli.verb == NULL) {
        offer_verbs(t);
    } else if (t->cli.args.n_words < t->cli.verb->max_words) {
        _cleanup_(freep) char *name = complete_word_name(t->cli.verb->args, t->cli.args.n_words);
        if (name != NULL) {
            offer_value(t, name);
        }
    }
}

static void offer_all(struct typing *t)
{
    const struct verb *verb = t->cli.verb;
    if (t->end.place == ARGS_AT_OPTION) {
        offer_options(t, verb == NULL ? NULL : verb->opts, verb == NULL ? 0 : verb->n_opts);
        offer_options(t, usage_global_opts, usage_n_global_opts);
        offer(t, "--help", "Print this help");
    } else if (t->end.place == ARGS_AT_VALUE) {
        offer_value(t, t->end.opt->value_name);
    } else {
        offer_word(t);
    }
}

/* ---- the program ---- */

enum exit_code complete_main(int argc, char **argv)
{
    (void)!freopen("/dev/null", "w", stderr); /* stderr stays open if this fails */
    struct typing t = {.cli = {.program = "benchctl", .verbs = verbs, .n_verbs = n_verbs},
                       .hints = COMPLETION_NO_FILES};
    char *nothing[] = {""};
    if (argc == 0) {
        argc = 1;
        argv = nothing;
    }
    if (cli_parse_typed(&t.cli, argc, argv, t.opts, &t.end)) {
        offer_all(&t);
    }
    buf_printf(&t.out, ":%u\n", t.hints);
    (void)cli_print(&t.out); /* an error has no reader here */
    buf_done(&t.out);
    args_done(&t.cli.args);
    return EXIT_OK;
}
