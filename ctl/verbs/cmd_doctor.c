/* benchctl doctor: would a run work here, and if not, what is to be done? */
#include <unistd.h>

#include "ctl/doctor/doctor.h"
#include "ctl/verbs/verbs.h"
#include "core/json_field.h"

static enum exit_code run(struct cli *cli)
{
    const bool is_local = cli->is_local || cli->store != NULL;
    _cleanup_(checks_done) struct checks checks = {0};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    doctor_local(cli, &checks);
    if (!is_local) {
        doctor_cluster(cli, &checks);
    }
    if (cli_output_is(cli, "json")) {
        json_text_put(checks_to_json(&checks), &out);
    } else {
        checks_format(&checks, terminal_columns(STDOUT_FILENO), &out);
    }
    const enum exit_code code = cli_print(&out);
    const enum exit_code found = checks_exit_code(&checks);
    return code != EXIT_OK ? code : found;
}

const struct verb verb_doctor = {
    .name = "doctor",
    .group = "Cluster and this program",
    .args = "",
    .summary = "Check this machine and the cluster, with a fix for each problem",
    .examples = "  benchctl doctor\n"
                "  benchctl doctor --local\n"
                "  benchctl doctor -n bench -o json\n",
    .details = "This machine: benchworker, CPUs, their frequency, and the store. The cluster,\n"
               "unless --local or --store is given: kubeconfig, API server, kinds, your rights,\n"
               "benchd. Without any kubeconfig the cluster is skipped. Nothing is created or\n"
               "changed. What a run waits for (quota, a queue, an image) is in describe RUN.\n"
               "\n"
               "Exit codes: 0 nothing failed (warnings and skipped checks are no failures); else\n"
               "that of the first check that failed: 2 kubeconfig, 3 kinds are missing, 4 a\n"
               "right is missing, 5 the cluster or benchd does not answer, 9 worker or store.",
    .formats = "text|json",
    .run = run,
};
