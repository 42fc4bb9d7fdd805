/* worker/comm/nccl/nccl_api.h with the real headers: it compiles only if its declarations are
 * theirs. It is part of the build where nccl.h and cuda.h are found; it is never run. */
#include <cuda.h>
#include <nccl.h>

#include "worker/comm/nccl/nccl_api.h"

#define SAME(a, b) _Static_assert((a) == (b), #a " is " #b)

SAME(sizeof(struct nccl_id), sizeof(ncclUniqueId));
SAME(_Alignof(struct nccl_id), _Alignof(ncclUniqueId));
SAME((int)NCCL_FLOAT32, (int)ncclFloat32);
SAME((int)NCCL_SUM, (int)ncclSum);
SAME((int)NCCL_SYSTEM_ERROR, (int)ncclSystemError);
SAME((int)NCCL_REMOTE_ERROR, (int)ncclRemoteError);
SAME((int)NCCL_IN_PROGRESS, (int)ncclInProgress);
SAME(sizeof(int), sizeof(ncclResult_t));
SAME(sizeof(int), sizeof(CUresult));
SAME(sizeof(int), sizeof(CUdevice));
SAME(sizeof(cuda_ptr), sizeof(CUdeviceptr));

/* Both take the same arguments in the same order; a pointer is a pointer. */
#define BOTH(real, ours, ...)                                                                      \
    do {                                                                                           \
        (void)real(__VA_ARGS__);                                                                   \
        (void)api->ours(__VA_ARGS__);                                                              \
    } while (0)

void nccl_header_calls(const struct nccl_api *api, void *p, size_t n, int i, uint64_t device);

void nccl_header_calls(const struct nccl_api *api, void *p, size_t n, int i, uint64_t device)
{
    const ncclUniqueId theirs = {0};
    const struct nccl_id id = {0};
    (void)ncclCommInitRank(p, i, theirs, i);
    (void)api->comm_init_rank(p, i, id, i);
    (void)ncclGetErrorString((ncclResult_t)i);
    (void)api->get_error_string(i);
    (void)cuGetErrorString((CUresult)i, p);
    (void)api->cu_get_error_string(i, p);
    BOTH(ncclGetVersion, get_version, p);
    BOTH(ncclGetUniqueId, get_unique_id, p);
    BOTH(ncclCommDestroy, comm_destroy, p);
    BOTH(ncclCommGetAsyncError, comm_get_async_error, p, p);
    BOTH(ncclCommAbort, comm_abort, p);
    BOTH(ncclReduceScatter, reduce_scatter, p, p, n, ncclFloat32, ncclSum, p, p);
    BOTH(ncclAllGather, all_gather, p, p, n, ncclFloat32, p, p);
    BOTH(cuInit, cu_init, 0);
    BOTH(cuDeviceGetCount, cu_device_get_count, p);
    BOTH(cuDeviceGet, cu_device_get, p, i);
    BOTH(cuDevicePrimaryCtxRetain, cu_context_retain, p, i);
    BOTH(cuDevicePrimaryCtxRelease_v2, cu_context_release, i);
    BOTH(cuCtxSetCurrent, cu_context_set_current, p);
    BOTH(cuStreamCreate, cu_stream_create, p, 0);
    BOTH(cuStreamSynchronize, cu_stream_synchronize, p);
    BOTH(cuStreamDestroy_v2, cu_stream_destroy, p);
    BOTH(cuMemAlloc_v2, cu_alloc, p, n);
    BOTH(cuMemFree_v2, cu_free, device);
    BOTH(cuMemsetD8_v2, cu_set_bytes, device, 0, n);
    BOTH(cuMemcpyHtoDAsync_v2, cu_copy_to_device, device, p, n, p);
    BOTH(cuMemcpyDtoHAsync_v2, cu_copy_to_host, p, device, n, p);
}
