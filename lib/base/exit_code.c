/* What each exit code means. tests/meta compares these rows with docs/contracts/exit-codes.md. */
#include "base/exit_code.h"

#include "base/mem.h"

const struct exit_code_row exit_code_rows[] = {
    {EXIT_OK, "all", "done as asked"},
    {EXIT_RUN_FAILED, "benchctl", "a run or a trial failed (phase Failed or PartiallyFailed)"},
    {EXIT_USAGE, "all", "usage, definition or kubeconfig error"},
    {EXIT_NOT_FOUND, "benchctl", "not found: a run, a benchmark, a missing CRD"},
    {EXIT_NOT_AUTHORISED, "benchctl", "not authorised"},
    {EXIT_UNREACHABLE, "benchctl, benchd", "cluster or benchd unreachable"},
    {EXIT_REGRESSION, "benchctl",
     "`compare` or `gate` found a significant regression, or with `--margin` one beyond the "
     "margin"},
    {EXIT_THRESHOLD, "benchctl", "a threshold failed or could not be judged"},
    {EXIT_TIMEOUT, "benchctl", "timeout"},
    {EXIT_LOCAL_RESOURCE, "benchctl, benchd", "local resource: file, disk, port"},
    {EXIT_WORKER_DATA, "benchworker", "data missing, damaged or of the wrong size"},
    {EXIT_WORKER_PEER_LOST, "benchworker", "a peer was lost"},
    {EXIT_WORKER_PROTOCOL, "benchworker", "a peer broke the protocol"},
    {EXIT_WORKER_RESOURCE, "benchworker", "resource: port, memory, disk"},
    {EXIT_LEASE_LOST, "benchd", "the lease was lost"},
    {EXIT_INCONCLUSIVE, "benchctl",
     "`compare` or `gate` is inconclusive: a point has no answer, and none is slower; or "
     "`--margin` was "
     "neither shown nor refuted"},
    {EXIT_ARCHIVE, "benchctl",
     "`import` or `reproduce`: the archive is damaged, or not what it says"},
    {EXIT_WORKER_DIVERGED, "benchworker",
     "the training has diverged: its loss is infinite or not a number"},
    {EXIT_INTERRUPTED, "benchctl", "interrupted: a cluster run goes on, a local one was cancelled"},
};
const size_t exit_code_n_rows = COUNT_OF(exit_code_rows);
