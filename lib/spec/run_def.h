/* A run as it was frozen at its start: everything that a restart needs. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spec/matrix.h"
#include "spec/order.h"
#include "spec/spec.h"

struct run_def {
    char *name; /* <benchmark>-<5 characters> */
    char *uid;  /* UUID */
    int64_t created_unix_ms;
    int64_t cpus;   /* CPUs given to the run; 0: unknown (cluster) */
    bool rehearsal; /* some point needs more busy threads than `cpus`, or trainers are emulated */
    struct spec *spec; /* owned */
    struct matrix matrix;
    struct slot *slots; /* order of trials, owned */
    uint32_t n_slots;
};

struct run_def_params {
    const char *name, *uid; /* copied */
    int64_t created_unix_ms;
    int64_t cpus;
};

/* Takes the spec (also on failure). -EINVAL with diagnostics from the expansion. */
int run_def_new(struct spec *spec_take, const struct run_def_params *params, struct run_def **ret,
                struct diags *diags);
void run_def_free(struct run_def *def);
