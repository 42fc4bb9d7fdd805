/* A run as it was frozen at its start: everything that a restart needs. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "spec/matrix.h"
#include "spec/order.h"
#include "spec/scheduling.h"
#include "spec/spec.h"

struct run_def {
    char *name; /* <benchmark>-<5 characters> */
    char *uid;  /* UUID */
    int64_t created_unix_ms;
    int64_t cpus;   /* CPUs given to the run; 0: unknown (cluster) */
    bool rehearsal; /* some point needs more busy threads than `cpus`, or trainers are emulated */
    struct spec *spec;            /* owned */
    struct scheduling scheduling; /* owned; of a run in a cluster */
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
