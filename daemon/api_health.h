/* What benchd does about an API server that fails: what it reports, and when it gives up at
 * startup. Pure: daemon.c collects the facts once a look and does what the advice says.
 *
 * A failure is reported when it begins and when it is over. A failure that lasts is fatal only
 * until the start is over, which takes the lists of all objects and the Lease: a server may be
 * starting, or kinds may not be installed yet, so benchd waits API_START_TIMEOUT_NS; a refusal
 * (certificate, token, rights) does not go away by waiting, so it waits API_REFUSED_TIMEOUT_NS. To
 * wait for a Lease that another benchd holds is no failure, and neither is a list of many pages. A
 * run may be driven before the start is over. It is fatal all the same: runs are not watched until
 * then, so a cancellation would not be seen, and the next process lists anew. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define API_START_TIMEOUT_NS (60 * INT64_C(1000000000))
#define API_REFUSED_TIMEOUT_NS (10 * INT64_C(1000000000))

enum api_source { API_NOTHING, API_WATCH, API_LEASE };

struct api_health {
    bool has_begun;           /* the lists and the Lease were there at once */
    int64_t fine_ns;          /* when startup last had no reason to end; at first its beginning */
    uint64_t n_pages;         /* of lists, at the last look */
    enum api_source reported; /* the failure that was reported last; API_NOTHING: it is over */
    int reported_code;
    bool is_waiting_reported;
};
void api_health_init(struct api_health *h, int64_t now_ns);

struct api_facts {
    int64_t now_ns;                              /* monotonic */
    const struct err *watch_error, *lease_error; /* NULL: none that lasts */
    bool is_synced;                              /* all watches have their first list */
    uint64_t n_pages;                            /* of lists that were asked for so far */
    bool is_leader;
    bool is_held_by_another; /* the Lease */
};

struct api_advice {
    enum { API_SILENT, API_REPORT_FAILURE, API_REPORT_RECOVERY } report;
    const struct err *failure; /* that lasts, borrowed from the facts; NULL: none */
    bool must_report_waiting;  /* for the Lease that another holds */
    bool must_give_up;         /* because of `failure`; NULL: the server did not answer in time */
};
struct api_advice api_health_look(struct api_health *h, const struct api_facts *facts);
