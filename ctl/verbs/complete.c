/* See complete.h. Edge file: a signal ends it in time. */
#include "ctl/verbs/complete.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/mem.h"
#include "ctl/verbs/complete_offers.h"

#define TIME_LIMIT_S 1

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
            complete_value(t, name);
        }
    }
}

static void offer_all(struct typing *t)
{
    if (t->end.place == ARGS_AT_OPTION) {
        complete_options(t);
    } else if (t->end.place == ARGS_AT_VALUE) {
        complete_value(t, t->end.opt->value_name);
    } else {
        offer_word(t);
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
