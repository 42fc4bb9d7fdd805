/* A run, its queue and its driver, for tests of the daemon. The driver is a fake that notes what it
 * is asked for; the pods are the real launcher over a client without a network. */
#pragma once

#include "run_world.h"
#include "daemon/run/run_queue.h"
#include "fake_driver.h"

extern uv_loop_t drive_loop;

struct world *open_world(void);
/* The run's last words; then the loop has nothing left. Takes both, which may be NULL. */
void close_world(struct run *run, json_t *bmr);

/* The object changes, and the run hears of it. */
void ask(struct run *run, json_t *bmr, const char *key_of_spec, bool value);
void ask_to_delete(struct run *run, json_t *bmr);
/* As the store has it when another benchd ends at this phase: read by the next one. */
struct run *take_over(struct world *w, json_t *bmr, enum run_phase phase);
/* A run that is accepted, in the queue, which owns it, and driven. */
struct run *drive(struct world *w, struct run_queue *q, json_t *bmr);
