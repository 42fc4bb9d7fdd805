/* The interface to the place where runs are stored: local.c is a store on this machine, cluster.c
 * the objects of a namespace and the API of its benchd. Every operation prints its error and
 * returns the program's exit code. */
#pragma once

#include "ctl/cli/cli.h"
#include "ctl/runs/listing.h"
#include "ctl/runs/run_word.h"
#include "load/loaded_run.h"
#include "result/result.h"
#include "store/run_file.h"

/* What is listed. All zero: every run in the store or in the namespace. */
struct list_wanted {
    bool is_benchmarks;       /* instead of runs */
    const char *const *names; /* the only ones that are listed; NULL lists all */
    size_t n_names;
};

struct backend;
struct backend_ops {
    enum exit_code (*list)(struct backend *b, const struct list_wanted *wanted,
                           struct listing *ret);
    /* RUN with everything that is stored about it. */
    enum exit_code (*load_run)(struct backend *b, const char *what, struct loaded_run *ret);
    /* RUN for the figures of its points alone. `like`: another run, or NULL. If its def is equal,
     * the result may borrow it; then ret->def is NULL. */
    enum exit_code (*load_figures)(struct backend *b, const char *what,
                                   const struct loaded_run *like, struct loaded_run *ret);
    /* Appends the stored log of one replica of an ended attempt. */
    enum exit_code (*get_log)(struct backend *b, const struct loaded_run *run,
                              const struct replica_id *id, struct buf *out);
    /* RUN as a file (run_file.h), into the empty file `path`. */
    enum exit_code (*get_file)(struct backend *b, const char *what,
                               const struct run_file_parts *parts, const char *path);
    /* *ret_name: the full name of the run, owned. */
    enum exit_code (*delete_run)(struct backend *b, const char *what, char **ret_name);
    enum exit_code (*cancel_run)(struct backend *b, const char *what, char **ret_name);
    /* `benchctl run` and `benchctl attach`: with the options of the command line. *ret_name, where
     * it is not NULL: the run, owned; not written if none was made. */
    enum exit_code (*run)(struct backend *b, char **ret_name);
    enum exit_code (*attach)(struct backend *b, const char *what);
    void (*free)(struct backend *b);
};

struct backend { /* implementations embed this as their first member */
    const struct backend_ops *ops;
    const struct cli *cli; /* borrowed */
    char *where; /* "--local", "-n bench": options for a command that the user can copy; owned */
    char *place; /* the same in words: "bench namespace"; owned */
};

static inline void backend_free(struct backend *b) /* NULL is fine */
{
    if (b != NULL) {
        free(b->where);
        free(b->place);
        b->ops->free(b);
    }
}
static inline void backend_freep(struct backend **b)
{
    backend_free(*b);
}
