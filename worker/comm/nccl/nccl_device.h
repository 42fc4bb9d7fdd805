/* A GPU and a stream on it, which exchange_nccl.c uses in one thread. */
#pragma once

#include "worker/comm/nccl/nccl_api.h"

struct nccl_device {
    struct nccl_api api;
    int device;
    cuda_context context;
    cuda_stream stream; /* NULL: none yet */
};
#define NCCL_DEVICE_INIT ((struct nccl_device){.device = -1})

/* Loads the libraries and takes a GPU: the rank among the processes of this machine (`rank`, if
 * no launcher says which) mod the number of GPUs that this process sees.
 * -ELIBACC: a library is missing; -ENODEV: there is no GPU. Undo it with
 * nccl_device_close, also if it fails. */
int nccl_device_open(struct nccl_device *d, uint32_t rank, struct err *err);
/* Calls of this thread are for the GPU from here on. */
int nccl_device_use(const struct nccl_device *d, struct err *err);
/* Makes the stream, and uses the GPU. */
int nccl_device_begin(struct nccl_device *d, struct err *err);
/* Memory on the GPU, all zeros. 0 bytes: one. */
int nccl_device_new_array(const struct nccl_device *d, size_t bytes, cuda_ptr *ret,
                          struct err *err);
void nccl_device_free_array(const struct nccl_device *d, cuda_ptr array); /* 0: nothing */
/* After a failure NCCL may still be at work on the GPU, and whatever gives memory or a stream back
 * waits for it: then call nothing, and end the process. */
void nccl_device_close(struct nccl_device *d);

/* An address on the GPU as NCCL takes it. */
void *nccl_device_at(cuda_ptr ptr);
/* The unique id as numbers, one byte each, which travel like any others; a sum
 * with zeros is exact. */
void nccl_id_to_numbers(const struct nccl_id *id, float ret[static NCCL_ID_BYTES]);
void nccl_id_from_numbers(const float numbers[static NCCL_ID_BYTES], struct nccl_id *ret);
