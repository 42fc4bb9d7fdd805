/* What `benchctl get` lists, and how it prints it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/vec.h"
#include "ctl/cli/cli.h"
#include "report/table.h"
#include "store/store.h"

/* A run or a Benchmark. */
struct listed {
    struct run_row row;  /* owned; without its definition. Of a Benchmark: its name, and when it was
                          * created (0: it is built in) */
    json_t *object;      /* the Benchmark, owned; NULL if it is a run */
    bool is_interrupted; /* a run: it has not ended, but no process is running it */
};
struct listing {
    VEC(struct listed) items; /* runs: newest first; Benchmarks: by name; or as names were given */
};
void listing_done(struct listing *list);

/* Runs and Benchmarks are the two kinds. */
struct list_kind {
    const char *name; /* for -o name */
    void (*print_row)(struct table *t, const struct listed *l, bool is_wide, int64_t now_unix_ms);
    json_t *(*item_to_json)(const struct listed *l);
    const char *document_kind; /* the kind of a document that has such items */
};
extern const struct list_kind list_kind_runs, list_kind_benchmarks;

/* In the format of -o; nothing for an empty list as a table. */
void listing_format(const struct cli *cli, const struct list_kind *kind, const struct listing *list,
                    struct buf *out);
