/* The verbs of benchworker: main.c has the table, one role_*.c each. */
#pragma once

struct role_verb {
    const char *name;
    /* argv[0] is the verb; returns an exit code (base/exit_code.h). */
    int (*run)(int argc, char *const *argv);
    const char *help; /* one line */
};

int role_bench(int argc, char *const *argv);
int role_export(int argc, char *const *argv);
int role_train(int argc, char *const *argv);
int role_trainer(int argc, char *const *argv);
int role_pserver(int argc, char *const *argv);
