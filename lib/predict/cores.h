/* Threads that share the cores of one machine: with more threads than cores each gets an equal part
 * of them all the time, and never more than one core. Pure.
 *
 * All that run get the same, so one number says how much each of them has got since the beginning:
 * a thread with so much to do ends when that number has grown by it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "predict/agenda.h"

struct cores {
    double n_cores;
    double given_s;     /* to each thread that ran all the time */
    double at_s;        /* up to then */
    double used_s;      /* of all cores */
    struct agenda ends; /* by thread, when given_s is what */
};

void cores_init(struct cores *c, double n_cores, uint32_t n_threads);
void cores_done(struct cores *c);
/* Counts given_s and used_s up to now. */
void cores_advance(struct cores *c, double now_s);
/* The thread begins to work for so many seconds of a core. */
void cores_begin(struct cores *c, double now_s, uint32_t thread, double work_s);
/* The thread that ends next, and when, if no other begins; false if no thread works. */
bool cores_next(const struct cores *c, uint32_t *ret_thread, double *ret_time_s);
/* It ends: call it at the time that cores_next said. */
void cores_end(struct cores *c, double now_s, uint32_t thread);
