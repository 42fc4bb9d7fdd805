/* Reads the GPUs of this machine ten times a second while an attempt runs
 * (host/telemetry.h), in a thread of libuv's pool, because a reading takes some milliseconds, and
 * the loop dates lines of logs. Edge file: timer and threads of the loop, the clock. Used by
 * processes.c only. */
#pragma once

#include <uv.h>

#include "host/telemetry.h"

struct sampler;
struct sampler *sampler_new(uv_loop_t *loop);
void sampler_close(struct sampler *s); /* it is freed when the loop has closed its timer */
/* An attempt begins: no GPU is chosen, and what was read is forgotten. */
void sampler_begin(struct sampler *s);
/* A replica of it has this CUDA_VISIBLE_DEVICES; NULL: none, so it sees all. */
void sampler_choose(struct sampler *s, const char *visible);
/* The attempt has ended: sets what is known of its measured steps. */
void sampler_end(struct sampler *s, int64_t from_ns, int64_t to_ns, struct metrics *ret);
