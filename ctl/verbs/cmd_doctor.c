/* benchctl doctor: would a run work here, and if not, what is to be done? */
#include <unistd.h>

#include "ctl/doctor/doctor.h"
#include "ctl/cli/terminal_size.h"
#include "ctl/verbs/verbs.h"
#include "report/json_text.h"

static enum exit_code run(struct cli *cli)
{
    _cleanup_(checks_done) struct checks checks = {0};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    doctor_local(cli, &checks);
    if (!cli->is_local && cli->store == NULL) {
        doctor_cluster(cli, &checks);
    }
    if (cli_output_is(cli, "json")) {
        json_text_put(checks_to_json(&checks), &out);
    } else {
        checks_format(&checks, terminal_columns(STDOUT_FILENO), &out);
    }
    const enum exit_code code = cli_show(cli, &out);
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
    .details = "This machine: benchworker, CPUs, their frequency, the time that a hypervisor and\n"
               "other work take, store and disk. The cluster, unless --local or --store is\n"
               "given: kubeconfig, API server, kinds, your rights, benchd, images that pods wait\n"
               "for, DNS, quota, queues of Kueue. Without any kubeconfig the cluster is skipped.\n"
               "Nothing is created or changed.\n"
               "\n"
               "Exit codes: 0 nothing failed (warnings and skipped checks are no failures); else\n"
               "that of the first check that failed: 2 kubeconfig, 3 kinds or images are\n"
               "missing, 4 a right is missing or a quota is used up, 5 the cluster, its DNS or\n"
               "benchd does not answer, 9 worker or store.",
    .formats = "text|json",
    .run = run,
};
