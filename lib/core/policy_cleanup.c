/* See policy_cleanup.h. */
#include "core/policy_cleanup.h"

enum cleanup_reason cleanup_decide(const struct cleanup_facts *facts)
{
    if (!facts->in_definition) {
        return CLEANUP_UNKNOWN;
    }
    if (facts->has_row) {
        return CLEANUP_ROW_KEPT;
    }
    if (facts->is_run_final) {
        return CLEANUP_RUN_FINAL;
    }
    return facts->is_interrupted ? CLEANUP_INTERRUPTED : CLEANUP_KEEP;
}
