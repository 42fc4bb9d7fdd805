/* See nccl_device.h. */
#include "worker/comm/nccl/nccl_device.h"

#include <stdlib.h>

#include "base/parse.h"

/* Returns the number of this process among those of its machine, which torchrun, Open MPI, MPICH
 * and srun set. Without it all ranks are on one machine, or each has GPUs of its own. */
static uint64_t local_rank(uint32_t rank)
{
    static const char *const names[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "MPI_LOCALRANKID", "SLURM_LOCALID"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = getenv(names[i]);
        uint64_t found;
        if (text != NULL && parse_u64(text, &found) == 0) {
            return found;
        }
    }
    return rank;
}

int nccl_device_open(struct nccl_device *d, uint32_t rank, struct err *err)
{
    *d = NCCL_DEVICE_INIT;
    const struct nccl_api *api = &d->api;
    int n = 0, device = -1;
    int r = nccl_api_load(&d->api, err);
    r = r < 0 ? r : cuda_check(api, api->cu_init(0), "cuInit", err);
    r = r < 0 ? r : cuda_check(api, api->cu_device_get_count(&n), "cuDeviceGetCount", err);
    if (r >= 0 && n == 0) {
        return err_set(err, ENODEV, "there is no GPU");
    }
    r = r < 0 ? r
              : cuda_check(api, api->cu_device_get(&device, (int)(local_rank(rank) % (unsigned)n)),
                           "cuDeviceGet", err);
    r = r < 0 ? r
              : cuda_check(api, api->cu_context_retain(&d->context, device),
                           "cuDevicePrimaryCtxRetain", err);
    d->device = device;
    return r;
}

int nccl_device_begin(struct nccl_device *d, struct err *err)
{
    const int r =
        cuda_check(&d->api, d->api.cu_context_set_current(d->context), "cuCtxSetCurrent", err);
    return r < 0
               ? r
               : cuda_check(&d->api, d->api.cu_stream_create(&d->stream, 0), "cuStreamCreate", err);
}

int nccl_device_new_array(const struct nccl_device *d, size_t bytes, cuda_ptr *ret, struct err *err)
{
    const size_t n = bytes > 0 ? bytes : 1;
    cuda_ptr array = 0;
    int r = cuda_check(&d->api, d->api.cu_alloc(&array, n), "cuMemAlloc", err);
    r = r < 0 ? r : cuda_check(&d->api, d->api.cu_set_bytes(array, 0, n), "cuMemsetD8", err);
    if (r < 0) {
        nccl_device_free_array(d, array);
        return r;
    }
    *ret = array;
    return 0;
}

/* The process ends, or has reported its failure: errors of the next two are not reported. */
void nccl_device_free_array(const struct nccl_device *d, cuda_ptr array)
{
    if (array != 0) {
        (void)d->api.cu_free(array);
    }
}

void nccl_device_close(struct nccl_device *d)
{
    const struct nccl_api *api = &d->api;
    if (d->stream != NULL) {
        (void)api->cu_stream_destroy(d->stream);
    }
    if (d->context != NULL) {
        (void)api->cu_context_release(d->device);
    }
    nccl_api_unload(&d->api);
    *d = NCCL_DEVICE_INIT;
}

void *nccl_device_at(cuda_ptr ptr)
{
    return (void *)(uintptr_t)ptr;
}

void nccl_id_to_numbers(const struct nccl_id *id, float ret[static NCCL_ID_BYTES])
{
    for (size_t i = 0; i < NCCL_ID_BYTES; i++) {
        ret[i] = (float)(unsigned char)id->bytes[i];
    }
}

void nccl_id_from_numbers(const float numbers[static NCCL_ID_BYTES], struct nccl_id *ret)
{
    for (size_t i = 0; i < NCCL_ID_BYTES; i++) {
        ret->bytes[i] = (char)(unsigned char)numbers[i];
    }
}
