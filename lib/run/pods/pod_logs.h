/* Logs of pods. That of trainer 0 is followed for the live view; the others are fetched once, after
 * their attempt has ended and before the pods are deleted. Results do not depend on logs. A
 * log that outgrows its member's share keeps its head and its tail (capture.h); what is
 * missing is marked by a line.
 *
 *   NONE --pod_logs_tick: trainer 0 runs----------------> FOLLOWING --on_follow_end--> THERE
 *     '--pod_logs_collect--> WANTED --pod_logs_tick--> FETCHING --on_fetched-----------> THERE
 *   any --pod_logs_close--> CLOSED */
#pragma once

#include "run/pods/pod_member.h"

/* Whether it leads its gang (core/replica.h). Another owner's pod may have any point number. */
bool pod_logs_leads(const struct pod_member *m);
/* Whether the replica's figures are in its log. Such a log is followed, and the replica has not
 * ended for anybody before the log was read. */
bool pod_logs_has_figures(const struct pod_member *m);
bool pod_logs_is_awaited(const struct pod_member *m);
/* Starts what is due. Not for a dying member. */
void pod_logs_tick(struct pod_member *m);
/* Ends the attempts of which the programs have made so many steps that benchd ends them. */
void pod_logs_end_after_steps(struct pods *l);
/* 0: the log is complete, or it need not be waited for. -EAGAIN: being fetched. */
int pod_logs_collect(struct pod_member *m);
/* "" if none exists. Borrowed until the log is closed. */
const char *pod_logs_text(struct pod_member *m, size_t *ret_len);
/* With the log there: completes log.end.why of a trainer that ended well without a summary. */
void pod_logs_explain(struct pod_member *m);
/* When its last line came, or the log began to be followed; 0: it is not followed. */
int64_t pod_logs_last_output(const struct pod_member *m);
void pod_logs_close(struct pod_member *m);
