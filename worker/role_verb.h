/* The roles of benchworker. main.c has their table. */
#pragma once

struct role_verb {
    const char *name;
    /* argv[0] is the role's name; returns an exit code (base/exit_code.h). */
    int (*run)(int argc, char *const *argv);
    const char *help; /* one line */
};

int role_bench(int argc, char *const *argv);   /* role_bench.c */
int role_trainer(int argc, char *const *argv); /* role_trainer.c */
int role_worker(int argc, char *const *argv);  /* role_trainer.c */
int role_pserver(int argc, char *const *argv); /* role_pserver.c */
