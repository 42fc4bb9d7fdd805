/* The definition of a run whose figures come from old logs. Pure. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "ctl/import/import_args.h"
#include "spec/run_def.h"

struct import_options { /* all borrowed */
    const char *name, *system, *model, *dataset, *exchange;
    const json_t *rule;   /* what `log` of a system may be: a name, or a map */
    int64_t batch_size;   /* 0: unknown, or the points have their own */
    int64_t warmup_steps; /* -1: as a definition has it that does not say */
    int64_t steps;        /* the most that a log has */
    struct goal goal;
    struct flops flops;
    bool has_devices; /* each who trains is one */
};

/* A Benchmark whose only system has the profile `imported`, so that no run of it
 * can be started. Owned. */
json_t *import_definition(const struct import_options *options, const struct import_trials *trials);

/* Where each trial belongs: by trial, owned. Prints the error: a point has no log, or fewer than
 * another. */
struct import_slot {
    uint32_t point, trial;
};
enum exit_code import_assign(const struct run_def *def, const struct import_trials *trials,
                             struct import_slot **ret);
