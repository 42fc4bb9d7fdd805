/* Logs of pods: trainer 0's is followed for the live view, the others are read once, when their
 * attempt has ended and before they are deleted. Numbers do not depend on them.
 *
 *   NONE --pod_logs_tick: trainer 0 runs----------------> FOLLOWING --on_follow_end--> THERE
 *     '--pod_logs_collect--> WANTED --pod_logs_tick--> FETCHING --on_fetched-----------> THERE
 *   any --pod_logs_close--> CLOSED */
#pragma once

#include "run/pod_member.h"

/* Starts what is due. Not for a dying member. */
void pod_logs_tick(struct pod_member *m);
/* 0: as much as there will be, or there is none to wait for. -EAGAIN: being fetched. */
int pod_logs_collect(struct pod_member *m);
/* "" if there is none. Borrowed till the log is closed. */
const char *pod_logs_text(struct pod_member *m, size_t *ret_len);
void pod_logs_close(struct pod_member *m);
