/* The Secret, the Service and the NetworkPolicy of a run, which must exist before the pods of each
 * attempt.
 *
 *   SHUT --pod_gates_send--> POSTING --on_posted: created------------------------> OPEN
 *     ^                         |  '---on_posted: it exists--> TAKEN (a Secret: OPEN)
 *     '----try again, refused---'                                |
 *     '----try again, refused, gone-- CHECKING <--pod_gates_send-'
 *                                        '-----on_found: it is ours--------------> OPEN
 * With a new attempt OPEN becomes SHUT. A gate that is not needed is open for ever. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "decide/policy_wait.h"
#include "run/pods/pod_answer.h"

struct kube_call;
struct kube_resource;
struct pods;

struct pod_gate {
    struct pods *owner;
    const struct kube_resource *resource;
    const char *kind; /* for people: "Service"; static */
    json_t *body;     /* owned */
    enum pod_gate_step { GATE_SHUT, GATE_POSTING, GATE_TAKEN, GATE_CHECKING, GATE_OPEN } step;
    struct kube_call *call;     /* POSTING, CHECKING */
    int64_t due_ns;             /* SHUT: not posted before */
    struct pod_trouble trouble; /* why it is still SHUT */
    char *refusal;              /* owned; why it was refused, until taken; NULL: it was not */
};
enum { GATE_SECRET, GATE_SERVICE, GATE_POLICY, GATE_COUNT };

struct pod_gates {
    struct pod_gate list[GATE_COUNT];
};

/* What is needed, by the parameters of its owner. */
void pod_gates_init(struct pod_gates *g, struct pods *owner);
void pod_gates_done(struct pod_gates *g);
bool pod_gates_are_open(const struct pod_gates *g);
/* A new attempt: what somebody has deleted since the last one is made again. */
void pod_gates_shut(struct pod_gates *g);
/* Sends what is due. */
void pod_gates_send(struct pod_gates *g, int64_t now_ns);
/* What keeps a gate shut. False: nothing, or only an answer that has not come so far. */
bool pod_gates_wait(const struct pod_gates *g, struct run_wait *ret);
/* The next refusal, once; NULL: none. Owned by the caller. */
char *pod_gates_take_refusal(struct pod_gates *g);
