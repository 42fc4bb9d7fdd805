/* benchctl doctor: would a run work here, and if not, what is to be done? */
#include <unistd.h>

#include "ctl/doctor/doctor.h"
#include "ctl/cli/terminal_size.h"
#include "ctl/verbs/verbs.h"
#include "report/json_text.h"

static enum exit_code run(struct cli *cli)
{
    const bool is_local = cli->is_local || cli->store != NULL;
    const char *queue = args_get(&cli->args, "queue", NULL);
    _cleanup_(checks_done) struct checks checks = {0};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    if (queue != NULL && (is_local || *queue == '\0')) {
        return cli_error(EXIT_USAGE, "write --queue NAME, without --local",
                         "--queue asks a cluster about a queue by its name");
    }
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

static const struct arg_opt opts[] = {
    {"queue", 0, "QUEUE", "Also print the quota of this LocalQueue of Kueue"},
};

const struct verb verb_doctor = {
    .name = "doctor",
    .group = "Cluster and this program",
    .args = "",
    .summary = "Check this machine and the cluster, with a fix for each problem",
    .examples = "  benchctl doctor\n"
                "  benchctl doctor --local\n"
                "  benchctl doctor -n bench --queue team-a -o json\n",
    VERB_OPTS(opts),
    .details = "This machine: benchworker, CPUs, their frequency, the time that a hypervisor and\n"
               "other work take, store and disk. The cluster, unless --local or --store is\n"
               "given: kubeconfig, API server, kinds, your rights, benchd, images that pods wait\n"
               "for, DNS, quota, queues of Kueue. Without any kubeconfig the cluster is skipped.\n"
               "Nothing is created or changed.\n"
               "\n"
               "Exit codes: 0 nothing failed (warnings and skipped checks are no failures); else\n"
               "that of the first check that failed: 1 the queue that was named has no quota,\n"
               "2 kubeconfig, 3 kinds or images are missing, 4 a right is missing or a quota is\n"
               "used up, 5 the cluster, its DNS or benchd does not answer, 9 worker or store.",
    .formats = "text|json",
    .run = run,
};
