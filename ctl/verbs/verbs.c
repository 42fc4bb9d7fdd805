/* The verb table. */
#include "ctl/verbs/verbs.h"

#include "ctl/cluster/cluster.h"
#include "ctl/local/local.h"

const struct verb *const verbs[] = {
    &verb_init,     &verb_try,     &verb_run,       &verb_validate,   &verb_plan,    &verb_explain,
    &verb_simulate, /* */
    &verb_get,      &verb_results, &verb_report,    &verb_describe,   &verb_logs,    &verb_delete,
    &verb_compare,  &verb_gate,    &verb_history,   &verb_predict, /* */
    &verb_export,   &verb_import,  &verb_reproduce,                /* */
    &verb_doctor,   &verb_attach,  &verb_cancel,    &verb_completion, &verb_version, &verb_help,
};
const size_t n_verbs = COUNT_OF(verbs);

enum exit_code backend_open(const struct cli *cli, struct backend **ret)
{
    return cli->is_local || cli->store != NULL ? local_backend_open(cli, ret)
                                               : cluster_backend_open(cli, ret);
}
