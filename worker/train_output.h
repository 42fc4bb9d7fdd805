/* The output of `benchworker train`: one line per epoch on stdout, or the records of a trainer
 * (docs/contracts/record.md) with the lines on stderr. */
#pragma once

#include <stdbool.h>

#include "base/vec.h"
#include "core/record.h"
#include "worker/report.h"
#include "worker/train.h"

struct train_output {
    bool json;
    uint64_t epochs;
    struct role_env env; /* for the start record; json only, like all fields below */
    struct report report;
    struct summary summary;
    VEC(int64_t) step_ns;
};

/* Writes the title and, with json, the start record. */
int train_output_begin(struct train_output *o, const struct train_params *params, const char *model,
                       const char *source, bool json, struct err *err);
/* The reporter to pass to train(). */
struct train_reporter train_output_reporter(struct train_output *o);
/* With json, writes the summary record. */
int train_output_end(struct train_output *o, struct err *err);
/* Reports why training ended early, on stderr and, with json, as the error record. */
void train_output_error(struct train_output *o, int exit_code, const char *message);
void train_output_done(struct train_output *o);
