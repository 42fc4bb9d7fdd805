/* benchworker: dispatches to the roles. First of all it corrects OpenBLAS's choice of kernels,
 * because that executes the program again (kernels/blas.h). */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/build_info.h"
#include "base/exit_code.h"
#include "base/mem.h"
#include "base/str.h"
#include "config.h"
#include "host/host.h"
#include "worker/kernels/blas.h"
#include "worker/kernels/cpu.h"
#include "worker/role_verb.h"

static const struct role_verb roles[] = {
    {"trainer", role_trainer, "Run one trainer of a distributed run"},
    {"pserver", role_pserver, "Run one parameter server of a distributed run"},
    {"worker", role_worker, "Run one worker of a ring, which needs no server"},
    {"bench", role_bench, "Measure the speed of training steps, layer by layer"},
};

static void print_help(FILE *to)
{
    (void)fprintf(to, "Usage: benchworker ROLE [OPTION...]\n\nRoles:\n");
    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        (void)fprintf(to, "  %-10s %s\n", roles[i].name, roles[i].help);
    }
    (void)fprintf(to, "\nRun 'benchworker ROLE --help' for the options of a role, 'benchworker "
                      "--version' for the version.\n");
}

/* Flushes stdout and reports a failed write, such as on a full disk. */
static int flushed(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return code;
    }
    if (code == EXIT_OK) { /* otherwise the role has reported an error */
        (void)fprintf(stderr, "benchworker: cannot write to stdout\n");
        code = EXIT_WORKER_RESOURCE;
    }
    return code;
}

static int unknown_role(const char *word)
{
    const char *names[COUNT_OF(roles)];
    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        names[i] = roles[i].name;
    }
    const char *hint = str_suggest(word, names, COUNT_OF(roles));
    (void)fprintf(stderr, "benchworker: unknown role '%s'; ", word);
    if (hint != NULL) {
        (void)fprintf(stderr, "did you mean %s?\n", hint);
    } else {
        (void)fputs("run 'benchworker --help' for the list\n", stderr);
    }
    return EXIT_USAGE;
}

/* With SA_RESETHAND the signal raised here has its default action again, which only process 1
 * survives. */
static void on_term(int signum)
{
    (void)raise(signum);
    _exit(128 + signum);
}

int main(int argc, char **argv)
{
    /* In a container this is process 1, for which the kernel drops signals without a handler: a
     * deleted pod would run until its grace period ends. For other processes nothing changes. */
    const struct sigaction action = {.sa_handler = on_term, .sa_flags = SA_RESETHAND | SA_NODEFER};
    (void)sigaction(SIGTERM, &action, NULL); /* fails for wrong numbers only */
    (void)signal(SIGPIPE, SIG_IGN);          /* a lost reader is an error of the write */
    blas_repair(argv);
    cpu_flush_denormals();
    host_raise_open_files();
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (str_eq(argv[1], "--help") || str_eq(argv[1], "-h")) {
        print_help(stdout);
        return flushed(EXIT_OK);
    }
    if (str_eq(argv[1], "--version")) {
        printf("benchworker %s\n%s", BENCHD_VERSION, build_text());
        return flushed(EXIT_OK);
    }
    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        if (str_eq(roles[i].name, argv[1])) {
            return flushed(roles[i].run(argc - 1, argv + 1));
        }
    }
    return unknown_role(argv[1]);
}
