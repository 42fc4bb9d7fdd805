/* A stand-in for libnccl.so.2: the few calls that benchworker makes, between processes of one
 * machine, through a file in /dev/shm that the unique id names. Its "device" memory is that of
 * stand_in_cuda.c: plain memory of the process. It adds in the order of the ranks. Its calls return
 * when their work is done. Not for measuring.
 *
 * In the environment:
 *   STAND_IN_NCCL_FAILS    the call of that name fails
 *   STAND_IN_NCCL_HANGS    a folder: ncclCommInitRank makes a file with the rank's number there,
 *                          and does not return
 *   STAND_IN_NCCL_STUCK    the call of that name waits until it is aborted
 *   STAND_IN_NCCL_ASYNC    a file: as soon as it is there, ncclCommGetAsyncError reports the error
 *                          whose digit it holds, and calls wait until they are aborted
 *   STAND_IN_NCCL_REFUSES  if it is set, calls return that error instead, as NCCL does where it has
 *                          found it between two of them
 *   STAND_IN_NCCL_DEAF     if it is set, ncclCommAbort does not return */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stand_in.h"

enum { ID_BYTES = 128, FAILURE = 2, REMOTE = 6, SLOT_FLOATS = 1 << 22 };

struct id {
    char bytes[ID_BYTES];
};

struct table { /* between the processes */
    atomic_int n_here, turn;
    float slots[];
};

struct comm {
    struct table *table;
    size_t bytes;
    int n_ranks, rank;
    atomic_bool is_aborted;
};

int ncclGetVersion(int *ret);
const char *ncclGetErrorString(int result);
int ncclGetUniqueId(struct id *ret);
int ncclCommInitRank(struct comm **ret, int n_ranks, struct id id, int rank);
int ncclCommDestroy(struct comm *c);
int ncclCommGetAsyncError(struct comm *c, int *ret);
int ncclCommAbort(struct comm *c);
int ncclReduceScatter(const float *from, float *to, size_t n, int type, int op, struct comm *c,
                      void *stream);
int ncclAllGather(const float *from, float *to, size_t n, int type, struct comm *c, void *stream);

static int fails(const char *call)
{
    const char *wanted = getenv("STAND_IN_NCCL_FAILS");
    return wanted != NULL && strcmp(wanted, call) == 0;
}

int ncclGetVersion(int *ret)
{
    *ret = 22105;
    return 0;
}

const char *ncclGetErrorString(int result)
{
    return result == FAILURE  ? "stand-in failure"
           : result == REMOTE ? "stand-in remote"
                              : "unknown";
}

int ncclGetUniqueId(struct id *ret)
{
    memset(ret, 0, sizeof(*ret));
    /* High and low bytes, to see that all of them travel. */
    memset(ret->bytes + 100, 0xff, 20);
    (void)snprintf(ret->bytes, 100, "/benchworker-stand-in-%ld", (long)getpid());
    return fails("ncclGetUniqueId") ? FAILURE : 0;
}

static atomic_bool has_comm; /* that is neither destroyed nor aborted */

/* The error that STAND_IN_NCCL_ASYNC asks for by now; 0: none. */
static int reported(void)
{
    const char *path = getenv("STAND_IN_NCCL_ASYNC");
    char digit = '0';
    const int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!read(fd, &digit, 1);
        (void)close(fd);
    }
    return digit - '0';
}

/* Waits until all ranks have come. False: the communicator has been aborted. */
static bool meet(struct comm *c)
{
    const int turn = atomic_load(&c->table->turn);
    if (atomic_fetch_add(&c->table->n_here, 1) + 1 == c->n_ranks) {
        atomic_store(&c->table->n_here, 0);
        atomic_fetch_add(&c->table->turn, 1);
    }
    while (atomic_load(&c->table->turn) == turn && !atomic_load(&c->is_aborted)) {
        stand_in_nap();
    }
    return !atomic_load(&c->is_aborted);
}

static bool is_stuck(const char *call)
{
    const char *wanted = getenv("STAND_IN_NCCL_STUCK");
    return (wanted != NULL && strcmp(wanted, call) == 0) || reported() != 0;
}

/* The error with which a call is refused; 0: none. */
static int refused(void)
{
    return getenv("STAND_IN_NCCL_REFUSES") != NULL ? reported() : 0;
}

/* Returns when it is aborted, or is refused. */
static int wait_for_abort(struct comm *c)
{
    if (refused() != 0) {
        return refused();
    }
    while (!atomic_load(&c->is_aborted)) {
        stand_in_nap();
    }
    return FAILURE;
}

int ncclCommGetAsyncError(struct comm *c, int *ret)
{
    (void)c;
    *ret = reported();
    return 0;
}

/* What it frees is still read by the call that it ends, so it stays. */
int ncclCommAbort(struct comm *c)
{
    while (getenv("STAND_IN_NCCL_DEAF") != NULL) {
        (void)pause();
    }
    atomic_store(&c->is_aborted, true);
    has_comm = false;
    return 0;
}

/* An array on the "GPU". */
static float *floats(const float *at)
{
    return stand_in_memory((uintptr_t)at);
}

int ncclCommInitRank(struct comm **ret, int n_ranks, struct id id, int rank)
{
    if (fails("ncclCommInitRank") || (unsigned char)id.bytes[119] != 0xff) {
        return FAILURE;
    }
    const char *hangs = getenv("STAND_IN_NCCL_HANGS");
    if (hangs != NULL) {
        char path[512];
        (void)snprintf(path, sizeof(path), "%s/%d", hangs, rank);
        (void)close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        for (;;) {
            (void)pause();
        }
    }
    struct comm *c = calloc(1, sizeof(*c));
    const int fd = shm_open(id.bytes, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    c->bytes = sizeof(struct table) + (size_t)n_ranks * SLOT_FLOATS * sizeof(float);
    c->n_ranks = n_ranks;
    c->rank = rank;
    if (fd < 0 || ftruncate(fd, (off_t)c->bytes) < 0) {
        return FAILURE;
    }
    c->table = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    (void)meet(c);              /* nobody can abort it yet */
    (void)shm_unlink(id.bytes); /* the second one finds nothing */
    *ret = c;
    has_comm = true;
    return 0;
}

int ncclCommDestroy(struct comm *c)
{
    (void)munmap(c->table, c->bytes);
    free(c);
    has_comm = false;
    return 0;
}

/* After a failure it stays: see close_device (exchange_nccl.c). */
__attribute__((destructor)) static void look_for_comm(void)
{
    if (has_comm && getenv("STAND_IN_NCCL_FAILS") == NULL &&
        getenv("STAND_IN_NCCL_ASYNC") == NULL) {
        (void)fputs("stand-in NCCL: a communicator is left\n", stderr);
    }
}

static float *slot_of(const struct comm *c, int rank)
{
    return c->table->slots + (size_t)rank * SLOT_FLOATS;
}

static float sum_at(const struct comm *c, size_t i)
{
    float sum = slot_of(c, 0)[i];
    for (int r = 1; r < c->n_ranks; r++) {
        sum += slot_of(c, r)[i];
    }
    return sum;
}

int ncclReduceScatter(const float *from, float *to, size_t n, int type, int op, struct comm *c,
                      void *stream)
{
    (void)stream;
    if (fails("ncclReduceScatter") || type != 7 || op != 0) {
        return FAILURE;
    }
    if (is_stuck("ncclReduceScatter")) {
        return wait_for_abort(c);
    }
    for (int owner = 0; owner < c->n_ranks; owner++) {
        for (size_t at = 0; at < n; at += SLOT_FLOATS) {
            const size_t len = n - at < SLOT_FLOATS ? n - at : SLOT_FLOATS;
            memcpy(slot_of(c, c->rank), floats(from) + (size_t)owner * n + at, len * sizeof(float));
            if (!meet(c)) {
                return FAILURE;
            }
            for (size_t i = 0; owner == c->rank && i < len; i++) {
                floats(to)[at + i] = sum_at(c, i);
            }
            if (!meet(c)) {
                return FAILURE;
            }
        }
    }
    return 0;
}

int ncclAllGather(const float *from, float *to, size_t n, int type, struct comm *c, void *stream)
{
    (void)stream;
    if (fails("ncclAllGather") || type != 7) {
        return FAILURE;
    }
    if (is_stuck("ncclAllGather")) {
        return wait_for_abort(c);
    }
    for (size_t at = 0; at < n; at += SLOT_FLOATS) {
        const size_t len = n - at < SLOT_FLOATS ? n - at : SLOT_FLOATS;
        memcpy(slot_of(c, c->rank), floats(from) + at, len * sizeof(float));
        if (!meet(c)) {
            return FAILURE;
        }
        for (int r = 0; r < c->n_ranks; r++) {
            memcpy(floats(to) + (size_t)r * n + at, slot_of(c, r), len * sizeof(float));
        }
        if (!meet(c)) {
            return FAILURE;
        }
    }
    return 0;
}
