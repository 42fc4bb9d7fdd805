/* See open_runs.h. */
#include "daemon/run/open_runs.h"

/* Whom the list of open runs left out is over by its object's word. That decides nothing: the store
 * may have it as one that goes on, and it may even be the one to be driven first. */
static int ask(enum open_runs *ret, struct store *s, const char *ns, const struct run_queue *q,
               struct err *err)
{
    _cleanup_(texts_done) struct texts uids = {0};
    int r = s->ops->list_open(s, ns, INT64_MAX, &uids, err);
    if (r >= 0) {
        *ret = run_queue_has_all(q, uids.list.items, uids.list.len) ? OPEN_RUNS_KNOWN
                                                                    : OPEN_RUNS_MISSING;
    }
    return r;
}

int open_runs_load(enum open_runs *state, struct store *s, const char *ns,
                   const struct run_queue *q, struct err *err)
{
    int r = *state == OPEN_RUNS_NOT_ASKED ? ask(state, s, ns, q, err) : 0;
    return r < 0 ? r : *state == OPEN_RUNS_KNOWN;
}
