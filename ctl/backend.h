/* Where runs live, behind one vtable, so that verbs do not ask: local.c (a store on this machine)
 * and cluster.c (objects of a namespace and the API of its benchd). Every operation says on stderr
 * why it failed and returns the program's exit code. */
#pragma once

#include <jansson.h>

#include "base/vec.h"
#include "ctl/cli.h"
#include "ctl/loaded_run.h"
#include "result/result.h"
#include "store/store.h"

/* A run in a list. */
struct listed_run {
    struct run_row row;  /* owned; without its definition */
    bool is_interrupted; /* it should be driven, but nobody does */
};
struct run_list {
    VEC(struct listed_run) items; /* the newest first, or as they were named */
};
void run_list_done(struct run_list *list);

struct listed_benchmark {
    json_t *object;          /* kind Benchmark, owned */
    int64_t created_unix_ms; /* 0: a shipped one */
};
struct benchmark_list {
    VEC(struct listed_benchmark) items; /* by name, or as they were named */
};
void benchmark_list_done(struct benchmark_list *list);

/* Which log is meant; NOT_GIVEN for what the command line does not say. */
#define NOT_GIVEN (-1)
struct log_wanted {
    struct attempt_wanted attempt;
    int64_t index;
    int role;
};

struct backend;
struct backend_ops {
    /* n_names 0: all. */
    enum exit_code (*list_runs)(struct backend *b, const char *const *names, size_t n_names,
                                struct run_list *ret);
    enum exit_code (*list_benchmarks)(struct backend *b, const char *const *names, size_t n_names,
                                      struct benchmark_list *ret);
    /* RUN with all that is stored of it. */
    enum exit_code (*load_run)(struct backend *b, const char *what, struct loaded_run *ret);
    /* The kept output of one replica of an ended attempt, appended; nothing if it printed nothing. */
    enum exit_code (*get_log)(struct backend *b, const struct loaded_run *run,
                              const struct replica_id *id, struct buf *out);
    /* Prints output as it comes, until the run ends or Ctrl-C. */
    enum exit_code (*follow_logs)(struct backend *b, const char *what,
                                  const struct log_wanted *wanted);
    /* *ret_name: the name of the run that is gone, owned. */
    enum exit_code (*delete_run)(struct backend *b, const char *what, char **ret_name);
    enum exit_code (*cancel_run)(struct backend *b, const char *what, char **ret_name);
    /* `benchctl run` and `benchctl attach`: with the options of the command line. */
    enum exit_code (*run)(struct backend *b);
    enum exit_code (*attach)(struct backend *b, const char *what);
    void (*free)(struct backend *b);
};

struct backend { /* implementations embed this as their first member */
    const struct backend_ops *ops;
    const struct cli *cli; /* borrowed */
    char *where; /* "--local", "-n bench": options for a command that a person may copy; owned */
};

/* By the command line: --local or --store choose the store, otherwise the cluster. EXIT_OK, or says
 * why not. Opening the store waits for its first use: `run` makes one. */
enum exit_code backend_open(const struct cli *cli, struct backend **ret);
void backend_free(struct backend *b); /* NULL is fine */

enum exit_code local_backend_open(const struct cli *cli, struct backend **ret);
enum exit_code cluster_backend_open(const struct cli *cli, struct backend **ret);
