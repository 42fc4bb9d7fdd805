/* See nccl_api.h. */
#include "worker/comm/nccl/nccl_api.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

#define NCCL_LIBRARY "libnccl.so.2"
#define NCCL_HINT "it is part of NCCL; LD_LIBRARY_PATH may name its folder"
#define CUDA_LIBRARY "libcuda.so.1"
#define CUDA_HINT "it is part of NVIDIA's driver"

#define FROM(library, member, name)                                                                \
    {                                                                                              \
        offsetof(struct nccl_api, library), offsetof(struct nccl_api, member), name                \
    }

static const struct symbol {
    size_t library, at;
    const char *name;
} symbols[] = {
    FROM(nccl, get_version, "ncclGetVersion"),
    FROM(nccl, get_error_string, "ncclGetErrorString"),
    FROM(nccl, get_unique_id, "ncclGetUniqueId"),
    FROM(nccl, comm_init_rank, "ncclCommInitRank"),
    FROM(nccl, comm_destroy, "ncclCommDestroy"),
    FROM(nccl, comm_get_async_error, "ncclCommGetAsyncError"),
    FROM(nccl, comm_abort, "ncclCommAbort"),
    FROM(nccl, reduce_scatter, "ncclReduceScatter"),
    FROM(nccl, all_gather, "ncclAllGather"),
    FROM(cuda, cu_init, "cuInit"),
    FROM(cuda, cu_get_error_string, "cuGetErrorString"),
    FROM(cuda, cu_device_get_count, "cuDeviceGetCount"),
    FROM(cuda, cu_device_get, "cuDeviceGet"),
    FROM(cuda, cu_context_retain, "cuDevicePrimaryCtxRetain"),
    FROM(cuda, cu_context_release, "cuDevicePrimaryCtxRelease_v2"),
    FROM(cuda, cu_context_set_current, "cuCtxSetCurrent"),
    FROM(cuda, cu_stream_create, "cuStreamCreate"),
    FROM(cuda, cu_stream_synchronize, "cuStreamSynchronize"),
    FROM(cuda, cu_stream_destroy, "cuStreamDestroy_v2"),
    FROM(cuda, cu_alloc, "cuMemAlloc_v2"),
    FROM(cuda, cu_free, "cuMemFree_v2"),
    FROM(cuda, cu_set_bytes, "cuMemsetD8_v2"),
    FROM(cuda, cu_copy_to_device, "cuMemcpyHtoDAsync_v2"),
    FROM(cuda, cu_copy_to_host, "cuMemcpyDtoHAsync_v2"),
};

static int missing(struct nccl_api *api, const char *what, const char *hint, struct err *err)
{
    const char *why = dlerror();
    const int r = err_set(err, ELIBACC, "%s (%s)", why != NULL ? why : what, hint);
    nccl_api_unload(api);
    return r;
}

int nccl_api_load(struct nccl_api *api, struct err *err)
{
    *api = (struct nccl_api){0};
    api->cuda = dlopen(CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (api->cuda == NULL) {
        return missing(api, CUDA_LIBRARY, CUDA_HINT, err);
    }
    api->nccl = dlopen(NCCL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (api->nccl == NULL) {
        return missing(api, NCCL_LIBRARY, NCCL_HINT, err);
    }
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *library = *(void **)(void *)((char *)api + symbols[i].library);
        void *found = dlsym(library, symbols[i].name);
        if (found == NULL) {
            return missing(api, symbols[i].name, "another version is needed", err);
        }
        *(void **)(void *)((char *)api + symbols[i].at) = found;
    }
    return 0;
}

void nccl_api_unload(struct nccl_api *api)
{
    if (api->nccl != NULL) {
        (void)dlclose(api->nccl); /* nothing uses it any more */
    }
    if (api->cuda != NULL) {
        (void)dlclose(api->cuda);
    }
    *api = (struct nccl_api){0};
}

char *nccl_version_here(void)
{
    struct nccl_api api;
    int version = 0; /* 22105 is 2.21.5; before 2.9 it was 2804 */
    const bool is_known = nccl_api_load(&api, NULL) >= 0 && api.get_version(&version) == 0;
    nccl_api_unload(&api);
    const int major = version < 10000 ? 1000 : 10000;
    const char *shares = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    return !is_known
               ? NULL
               : xasprintf("%d.%d.%d%s", version / major, version % major / 100, version % 100,
                           str_eq_or_null(shares, "1") ? ", ranks may share a GPU" : "");
}

int nccl_check(const struct nccl_api *api, int result, const char *what, struct err *err)
{
    return result == 0
               ? 0
               : err_set(err, EIO, "%s: %s (NCCL %d)", what, api->get_error_string(result), result);
}

int cuda_check(const struct nccl_api *api, int result, const char *what, struct err *err)
{
    const char *text = NULL;
    if (result == 0) {
        return 0;
    }
    if (api->cu_get_error_string(result, &text) != 0 || text == NULL) {
        text = "unknown error";
    }
    return err_set(err, EIO, "%s: %s (CUDA %d)", what, text, result);
}
