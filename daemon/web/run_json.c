/* See run_json.h. */
#include "daemon/web/run_json.h"

#include <math.h>

#include "store/run_list.h"

json_t *run_json_current(const struct run_status *st)
{
    return st->has_current
               ? json_pack("{s:I, s:I, s:I}", "point", (json_int_t)st->current.point, "trial",
                           (json_int_t)st->current.trial, "attempt", (json_int_t)st->current.number)
               : json_null();
}

json_t *run_json_progress(const struct daemon_run *run)
{
    if (!run->progress.is_known) {
        return json_null();
    }
    const struct daemon_progress *p = &run->progress;
    return json_pack("{s:s, s:I, s:I, s:b, s:I, s:I, s:o, s:o}", "role", role_to_string(p->id.role),
                     "index", (json_int_t)p->id.index, "step", (json_int_t)p->step, "warmup",
                     p->is_warmup, "stepNs", (json_int_t)p->step_ns, "samples",
                     (json_int_t)p->samples, "loss",
                     isfinite(p->loss) ? json_real(p->loss) : json_null(), "seen",
                     run_time_to_json(p->seen_unix_ms));
}
