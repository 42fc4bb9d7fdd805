/* Writes the Events of runs (events.k8s.io/v1) for people. Best effort: nothing depends on an
 * Event, nothing waits for one, and too many are dropped. Edge file: clocks. */
#pragma once

#include <stdint.h>

#include "core/phase.h"
#include "kube/client.h"

struct event_recorder {
    struct kube_client *client;
    const char *ns, *instance; /* borrowed; instance: of this process */
    double tokens;             /* of a token bucket: EVENT_BURST at once, then one every 2 s */
    int64_t filled_ns;
    uint64_t serial;
};
#define EVENT_BURST 25.0

void event_recorder_init(struct event_recorder *r, struct kube_client *client, const char *ns,
                         const char *instance);
/* The API server requires an action: it repeats the reason. */
void event_recorder_emit(struct event_recorder *r, const char *run, const char *run_uid,
                         enum event_type type, const char *reason, const char *note);
