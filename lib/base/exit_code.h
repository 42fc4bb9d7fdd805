/* Exit codes of the three programs (docs/contracts/exit-codes.md). A meaning may get wider. */
#pragma once

enum exit_code {
    EXIT_OK = 0,
    EXIT_RUN_FAILED = 1,        /* benchctl: a run or a trial failed (PartiallyFailed too) */
    EXIT_USAGE = 2,             /* all: usage, spec or kubeconfig error */
    EXIT_NOT_FOUND = 3,         /* benchctl */
    EXIT_NOT_AUTHORISED = 4,    /* benchctl */
    EXIT_UNREACHABLE = 5,       /* benchctl, benchd: cluster or benchd */
    EXIT_REGRESSION = 6,        /* benchctl compare, gate */
    EXIT_THRESHOLD = 7,         /* benchctl: a threshold failed or could not be judged */
    EXIT_TIMEOUT = 8,           /* benchctl */
    EXIT_LOCAL_RESOURCE = 9,    /* benchctl, benchd: file, disk, port */
    EXIT_WORKER_DATA = 10,      /* benchworker: data missing, damaged, wrong size */
    EXIT_WORKER_PEER_LOST = 11, /* benchworker: a peer died or stopped answering */
    EXIT_WORKER_PROTOCOL = 12,  /* benchworker: a peer violated the protocol */
    EXIT_WORKER_RESOURCE = 13,  /* benchworker: port, memory, disk */
    EXIT_LEASE_LOST = 14,       /* benchd */
    EXIT_INCONCLUSIVE = 15, /* benchctl compare, gate: a point has no answer, and none is slower */
    EXIT_ARCHIVE = 16,      /* benchctl: an archive is damaged, or not what it says */
    EXIT_WORKER_DIVERGED = 17, /* benchworker: the loss is not a number any more */
    EXIT_INTERRUPTED = 130,    /* benchctl */
};
