/* See complete.h. Edge file: a signal ends it in time. */
#include "ctl/verbs/complete.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/runs/progress.h"
#include "ctl/verbs/complete_internal.h"

#define TIME_LIMIT_S 1

struct source {
    const char *value_name;
    void (*offer)(struct typing *t); /* NULL: only the person knows, or there are choices */
    const char *choices;
};

static const struct source sources[] = {
    {"ARCHIVE", complete_files},
    {"AXIS,...", complete_axes},
    {"BENCHMARK", complete_definitions},
    {"CHART", complete_charts},
    {"COLUMN", complete_columns},
    {"COMMAND", complete_files},
    {"FIGURE", complete_figures},
    {"FILE", complete_files},
    {"FILE|DIGEST", complete_files},
    {"FORMAT", complete_formats},
    {"HOW", .choices = PROGRESS_MODES},
    {"LOG", complete_files},
    {"NAME", complete_names},
    {"NAME,..", complete_systems},
    {"NAME=V1,V2", complete_swept},
    {"P", complete_points},
    {"PATH", complete_paths},
    {"PROFILE", complete_profiles},
    {"ROLE", complete_roles},
    {"RULE", complete_rules},
    {"RUN", complete_runs},
    {"RUN_A", complete_runs},
    {"RUN_B", complete_runs},
    {"SET", complete_references},
    {"URL", complete_stores},
    {"VERB", complete_verbs},
    {"WHEN", .choices = CLI_COLORS},
    {"A", NULL},
    {"AGE", NULL},
    {"AMOUNT/UNIT", NULL},
    {"AXIS=A/B", NULL},
    {"CONTEXT", NULL},
    {"DIGEST", NULL},
    {"DURATION", NULL},
    {"I", NULL},
    {"IMAGE", NULL},
    {"LABELS", NULL},
    {"N", NULL},
    {"NAME=VALUE", NULL},
    {"NS", NULL},
    {"RATE", NULL},
    {"RATIO", NULL},
    {"T", NULL},
    {"TEXT", NULL},
    {"US", NULL},
};

static const struct source *find_source(const char *value_name)
{
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        if (str_eq(sources[i].value_name, value_name)) {
            return &sources[i];
        }
    }
    return NULL;
}

bool complete_knows(const char *value_name)
{
    return strchr(value_name, '|') != NULL || find_source(value_name) != NULL;
}

static void offer_of(struct typing *t, const char *value_name)
{
    const struct source *source = find_source(value_name);
    const char *choices = source == NULL ? value_name : source->choices;
    if (choices != NULL && strchr(choices, '|') != NULL) {
        complete_choices(t, choices);
    } else if (source != NULL && source->offer != NULL) {
        source->offer(t);
    }
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
        complete_verbs(t);
    } else if (t->cli.args.n_words < t->cli.verb->max_words) {
        _cleanup_(freep) char *name = complete_word_name(t->cli.verb->args, t->cli.args.n_words);
        if (name != NULL) {
            offer_of(t, name);
        }
    }
}

static void offer_all(struct typing *t)
{
    switch (t->end.place) {
    case ARGS_AT_OPTION:
        complete_options(t);
        break;
    case ARGS_AT_VALUE:
        offer_of(t, t->end.opt->value_name);
        break;
    case ARGS_AT_WORD:
        offer_word(t);
        break;
    }
}

/* ---- the program ---- */

static void on_alarm(int signum)
{
    (void)signum;
    _exit(EXIT_OK);
}

/* A cluster that does not answer must not hold up the person who types. */
static void limit_time(void)
{
    const struct sigaction action = {.sa_handler = on_alarm};
    const struct itimerval limit = {.it_value = {.tv_sec = TIME_LIMIT_S}};
    (void)sigaction(SIGALRM, &action, NULL);    /* fails for wrong numbers only */
    (void)setitimer(ITIMER_REAL, &limit, NULL); /* the same */
    (void)!freopen("/dev/null", "w", stderr);   /* else it stays as it is */
}

enum exit_code complete_main(const struct verb *const *verbs, size_t n_verbs, int argc, char **argv)
{
    limit_time();
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
