/* A run as it was frozen at its start: everything that a restart needs. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "spec/matrix.h"
#include "spec/run_options.h"
#include "spec/spec.h"

struct spec_overrides; /* spec/spec_load.h */

struct slot { /* one trial to run */
    uint32_t point, trial;
};

struct run_def {
    char *name; /* <benchmark>-<5 characters> */
    char *uid;  /* UUID */
    int64_t created_unix_ms;
    int64_t cpus;   /* CPUs given to the run; 0: unknown (cluster) */
    bool rehearsal; /* some point needs more busy threads than `cpus`, or trainers are emulated */
    struct spec *spec;          /* owned */
    struct run_options options; /* owned; of a run in a cluster */
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
/* The definition and, under the key `run`, the options of the run: all that run_def_load needs to
 * make the same run again. Owned. */
char *run_def_text(const struct run_def *def);
/* Reads and checks such a text; `overrides` as for spec_load. -EINVAL with diagnostics. */
int run_def_load(const char *text, const struct spec_overrides *overrides,
                 const struct run_def_params *params, struct run_def **ret, struct diags *diags);
static inline void run_def_freep(struct run_def **def)
{
    run_def_free(*def);
}

/* What the figures of an attempt depend on in addition to its records. It is a value, so that a
 * thread that has it borrows nothing of the run. */
struct trial_terms {
    enum role leading;  /* the role with the point's figures */
    uint32_t n_leading; /* its replicas; 0: the definition does not have this point */
    uint32_t n_pods;    /* of all roles but a launcher */
    struct goal goal;
    double accuracy_after_s; /* 0: not asked */
    struct flops flops;
    enum precision precision; /* not known of slices: a peak is that of a whole device */
    uint32_t devices;         /* 0: unknown */
};
struct trial_terms run_def_terms(const struct run_def *def, uint32_t point);

/* The order of trials, a pure function of the seed, laid down in docs/contracts/order.md
 * so that another implementation comes to the same one. */

/* n_points x repeats slots, owned: repeat by repeat, each repeat shuffled by the seed (Interleaved)
 * or point by point in order (Sequential). */
struct slot *order_slots(uint32_t n_points, uint32_t repeats, enum order_kind order, uint64_t seed);
