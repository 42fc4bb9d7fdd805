/* What a lane of the pod launcher waits for, and when the status says so: a wait that is usual, for
 * instance for the last attempt's pods to terminate, is not worth a status, also where it
 * interrupts one that is. Pure: the time is passed in. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "decide/policy_wait.h"

#define POD_WAIT_TOLD_NS (5 * INT64_C(1000000000))

struct pod_wait_told {
    struct run_wait now;  /* an empty reason: it waits for nothing; so below */
    int64_t since_ns;     /* since when the reason is this one */
    struct run_wait told; /* what the status may say of it */
};

/* Takes in what it waits for at this moment. */
void pod_wait_look(struct pod_wait_told *w, const struct run_wait *now, int64_t now_ns);
/* Nothing that the status says differs. */
bool pod_wait_is_same(const struct run_wait *a, const struct run_wait *b);
/* A reason, which is CamelCase, and the words of a wait. */
void pod_wait_say(struct run_wait *ret, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Why a deleted object is still there, for the end of a text: `held_by` as object_held_by() has it;
 * "" without one. Owned. */
char *pod_wait_holder(const char *held_by);
