/* A GPU and a stream on it, which exchange_nccl.c uses in one thread. */
#pragma once

#include "worker/comm/nccl/nccl_api.h"

struct nccl_device {
    struct nccl_api api;
    int device;
    cuda_context context;
    cuda_stream stream; /* NULL until nccl_device_begin */
};
#define NCCL_DEVICE_INIT ((struct nccl_device){.device = -1})

/* Loads the libraries and takes the GPU of this rank among the processes of this machine (`rank`
 * if no launcher sets it), mod the number of GPUs that this process sees. Returns -ELIBACC if a
 * library is missing, and -ENODEV without a GPU. Then call nccl_device_close, in any case. */
int nccl_device_open(struct nccl_device *d, uint32_t rank, struct err *err);
/* Makes the stream. From now on the calls of this thread are for the GPU. */
int nccl_device_begin(struct nccl_device *d, struct err *err);
/* Allocates memory on the GPU and fills it with zeros; at least one byte. */
int nccl_device_new_array(const struct nccl_device *d, size_t bytes, cuda_ptr *ret,
                          struct err *err);
void nccl_device_free_array(const struct nccl_device *d, cuda_ptr array); /* ignores 0 */
/* After a failure NCCL may still be at work on the GPU, and every call that frees memory or a
 * stream waits for it: then call none of them, and end the process. */
void nccl_device_close(struct nccl_device *d);

/* An address on the GPU as NCCL takes it. */
void *nccl_device_at(cuda_ptr ptr);
/* Convert the unique id to numbers and back, a byte each: a sum with zeros is exact. */
void nccl_id_to_numbers(const struct nccl_id *id, float ret[static NCCL_ID_BYTES]);
void nccl_id_from_numbers(const float numbers[static NCCL_ID_BYTES], struct nccl_id *ret);
