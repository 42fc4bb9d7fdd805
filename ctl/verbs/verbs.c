/* The verb table. */
#include "ctl/verbs/verbs.h"

const struct verb *const verbs[] = {
    &verb_init,    &verb_try,        &verb_import,  &verb_explain, &verb_validate,
    &verb_plan,    &verb_simulate,   &verb_run,     &verb_get,     &verb_describe,
    &verb_results, &verb_report,     &verb_compare, &verb_gate,    &verb_history,
    &verb_export,  &verb_reproduce,  &verb_logs,    &verb_attach,  &verb_cancel,
    &verb_delete,  &verb_completion, &verb_doctor,  &verb_version, &verb_help,
};
const size_t n_verbs = sizeof(verbs) / sizeof(verbs[0]);
