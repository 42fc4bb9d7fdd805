/* See run_labels.h. */
#include "report/run_labels.h"

const char *mark_of(const struct result *r, int i)
{
    static const char *const words[MARK_COUNT] = {"rehearsal", "simulated", "imported", "parallel"};
    const bool has[MARK_COUNT] = {r->def->rehearsal, r->simulated, spec_is_imported(r->def->spec),
                                  scheduling_lanes(&r->def->scheduling) > 1};
    return has[i] ? words[i] : NULL;
}

void run_labels_put(const struct result *r, struct buf *out)
{
    const char *separator = "";
    for (int i = 0; i < MARK_COUNT; i++) {
        if (mark_of(r, i) != NULL) {
            buf_printf(out, "%s%s", separator, mark_of(r, i));
            separator = ", ";
        }
    }
}

void run_labels_put_mode(const struct result *r, struct buf *out)
{
    const size_t before = out->len;
    run_labels_put(r, out);
    if (r->def->spec->workload.compute == COMPUTE_EMULATED) {
        buf_printf(out, "%semulated", out->len == before ? "" : ", ");
    }
    if (out->len == before) {
        buf_puts(out, "measured");
    }
}
