/* The few calls of NCCL and of the CUDA driver that exchange_nccl.c makes, from libnccl.so.2 and
 * libcuda.so.1, which are loaded when they are asked for: benchworker is built and runs without
 * them. The declarations are our own, of the parts of both interfaces that
 * have not changed since NCCL 2.4 and CUDA 3.2 (the names with _v2). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define NCCL_ID_BYTES 128
struct nccl_id { /* ncclUniqueId, passed by value */
    char bytes[NCCL_ID_BYTES];
};
#define NCCL_FLOAT32 7      /* ncclFloat32 of ncclDataType_t */
#define NCCL_SUM 0          /* ncclSum of ncclRedOp_t */
#define NCCL_SYSTEM_ERROR 2 /* of ncclResult_t: ncclSystemError, such as a socket's */
#define NCCL_REMOTE_ERROR 6 /* ncclRemoteError, since 2.13 */
#define NCCL_IN_PROGRESS 7  /* ncclInProgress, since 2.14 */

typedef struct nccl_comm *nccl_comm;     /* ncclComm_t */
typedef struct cuda_stream *cuda_stream; /* CUstream, and NCCL's cudaStream_t */
typedef struct cuda_context *cuda_context;
typedef uint64_t cuda_ptr; /* CUdeviceptr */

/* The functions return 0 or an error of their library. */
struct nccl_api {
    void *nccl, *cuda; /* what dlopen returned */

    int (*get_version)(int *ret);
    const char *(*get_error_string)(int result);
    int (*get_unique_id)(struct nccl_id *ret);
    int (*comm_init_rank)(nccl_comm *ret, int n_ranks, struct nccl_id id, int rank);
    int (*comm_destroy)(nccl_comm comm);
    /* Sets *ret to the error that ended the work of `comm` after the call that began it had
     * returned, or to 0 or NCCL_IN_PROGRESS. Any thread may call it. */
    int (*comm_get_async_error)(nccl_comm comm, int *ret);
    /* Ends what is under way on the GPU and in another thread's call, and frees `comm`. */
    int (*comm_abort)(nccl_comm comm);
    /* to (n) of rank r = the sum over all ranks of from (n_ranks * n) at r * n */
    int (*reduce_scatter)(const void *from, void *to, size_t n, int type, int op, nccl_comm comm,
                          cuda_stream stream);
    /* to (n_ranks * n) = from (n) of rank 0, 1, ... */
    int (*all_gather)(const void *from, void *to, size_t n, int type, nccl_comm comm,
                      cuda_stream stream);

    int (*cu_init)(unsigned flags);
    int (*cu_get_error_string)(int result, const char **ret);
    int (*cu_device_get_count)(int *ret);
    int (*cu_device_get)(int *ret, int ordinal);
    int (*cu_context_retain)(cuda_context *ret, int device);
    int (*cu_context_release)(int device);
    int (*cu_context_set_current)(cuda_context context);
    int (*cu_stream_create)(cuda_stream *ret, unsigned flags);
    int (*cu_stream_synchronize)(cuda_stream stream);
    int (*cu_stream_destroy)(cuda_stream stream);
    int (*cu_alloc)(cuda_ptr *ret, size_t bytes);
    int (*cu_free)(cuda_ptr ptr);
    int (*cu_set_bytes)(cuda_ptr ptr, unsigned char value, size_t bytes);
    int (*cu_copy_to_device)(cuda_ptr to, const void *from, size_t bytes, cuda_stream stream);
    int (*cu_copy_to_host)(void *to, cuda_ptr from, size_t bytes, cuda_stream stream);
};

/* Returns -ELIBACC with the loader's own text if a library or one of its functions is missing. */
int nccl_api_load(struct nccl_api *api, struct err *err);
void nccl_api_unload(struct nccl_api *api);
/* Returns the version of the library on this machine, as "2.21.5", or NULL without one; the caller
 * frees it. ", ranks may share a GPU" follows if NCCL_MULTI_RANK_GPU_ENABLE is 1: then figures say
 * nothing about links. */
char *nccl_version_here(void);
/* Return 0, or -EIO with a text for a result that is not 0. */
int nccl_check(const struct nccl_api *api, int result, const char *what, struct err *err);
int cuda_check(const struct nccl_api *api, int result, const char *what, struct err *err);
