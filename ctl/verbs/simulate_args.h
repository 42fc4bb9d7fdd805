/* The options of `benchctl simulate`, and where the times and costs come from that they do not say:
 * the definition's trace, a file, a stored run. */
#pragma once

#include "ctl/cli/cli.h"
#include "predict/predict.h"
#include "spec/run_def.h"

#define SIMULATE_OPTS                                                                              \
    {"nodes", 0, "N", "Set the number of trainers (or workers) at every point"},                   \
        {"link", 0, "RATE", "Rate of each replica's link, each way: 100mbit, 10gbit"},             \
        {"server-link", 0, "RATE", "Rate of the servers' links, if different"},                    \
        {"first-link", 0, "RATE", "Rate of trainer 0's (or worker 0's) link, if different"},       \
        {"latency", 0, "US", "Latency between two replicas in microseconds; default: 0"},          \
        {"cores", 0, "N", "All replicas share a machine with N cores (default with --local)"},     \
        {"trace", 0, "RUN", "Take costs and the time of a step from this run"},                    \
        {"layers", 0, "FILE|NAME",                                                                 \
         "Take times from what benchworker bench -o trace prints, or "                             \
         "from the trace of a definition"},                                                        \
        {"layers-batch", 0, "N", "Samples a step of these times; default: that of FILE"},          \
        {"jitter", 0, "RATIO", "Standard deviation of a step's time, 0 to 0.3"},                   \
        {"server-cost", 0, "NS", "Server time per byte received or sent, in ns"},                  \
        {"update-cost", 0, "NS", "Optimiser time per parameter byte, in ns"},                      \
        {"trainer-cost", 0, "NS", "Time of a trainer's communication thread per byte, in ns"},     \
    {                                                                                              \
        "worker-cost", 0, "NS", "The same for a worker's thread, which also adds gradients up"     \
    }

struct simulate_inputs {
    struct trace trace;           /* owned */
    struct passes passes;         /* owned: of the run, of each of its batches */
    struct predict_params params; /* its trace and passes are those above */
    struct buf from;              /* where they are from: lines, for a note */
};
/* Reads what the options name. EXIT_OK, or prints the error. Call
 * simulate_inputs_done also on failure. */
enum exit_code simulate_inputs_read(const struct cli *cli, const struct run_def *def,
                                    struct simulate_inputs *ret);
void simulate_inputs_done(struct simulate_inputs *in);

/* In simulate_show.c. */
struct reference;
/* `reference`: published figures to be shown next to it; NULL: none. */
enum exit_code simulate_show(const struct cli *cli, const struct prediction *p,
                             const struct simulate_inputs *in, const struct reference *reference);
