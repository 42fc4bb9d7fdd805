/* benchctl import: what was measured elsewhere becomes a run in the local store. */
#include "ctl/import/import.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"

static enum exit_code run(struct cli *cli)
{
    if (args_has(&cli->args, "mlperf")) {
        return import_mlperf(cli);
    }
    return archive_import_is_meant(cli) ? archive_import(cli) : import_logs(cli);
}

static const struct arg_opt opts[] = {
    {"dry-run", 0, NULL, "Check ARCHIVE, and store nothing"},
    {"rules", 0, "RULE", "Log rule, shipped or a file; default: the one that reads the first log"},
    {"write-rule", 0, "FILE", "Write a rule made of a line of the first log, and import nothing"},
    {"mlperf", 0, NULL, "DIR is a round of MLPerf Training: each of its series becomes a run"},
    {"batch", 0, "N", "Samples that a trainer took in a step; default: as the logs say"},
    {"warmup", 0, "N", "First steps that do not count; default: 10, if numbered"},
    {"name", 0, "TEXT", "Name of the benchmark; default: that of the rule"},
    {"system", 0, "TEXT", "Name of the system; default: that of the rule"},
    {"model", 0, "TEXT", "What was trained; default: unknown"},
    {"exchange", 0, "TEXT", "How gradients were exchanged; default: unknown"},
};

const struct verb verb_import = {
    .name = "import",
    .args = "ARCHIVE [DIGEST] | LOG... | --mlperf DIR [option...]",
    .summary = "Store an exported run, or the figures of old logs as one",
    .examples = "  benchctl import vgg16.benchd.db\n"
                "  benchctl import vgg16.benchd.db sha256:3f9a0c1b --dry-run\n"
                "  benchctl import --mlperf training_results_v5.1 NVIDIA\n"
                "  benchctl import --rules torch-ddp --batch 32 one.log rank0.log,rank1.log\n"
                "  benchctl import --write-rule mine.yaml one.log\n"
                "  benchctl import --rules paddle-fluid --batch 128 \\\n"
                "      pservers=10,trainers=20:a.log pservers=10,trainers=40:b.log\n"
                "  benchctl import --rules tf-cnn-benchmarks --batch 64 workers=8:old.log\n",
    .details = "ARCHIVE is what benchctl export wrote. Its rows must have the SHA-256 that it\n"
               "gives; its figures are made again from the records and must be the same. Then\n"
               "the run is stored on this machine with its name, its records and its logs.\n"
               "--dry-run stores nothing. DIGEST is what export printed, or at least 8 digits of\n"
               "it: it also detects a file that was changed with its digest.\n"
               "\n"
               "LOG is one trial: [NAME=VALUE,..:]FILE[,FILE..]. The values are those of its\n"
               "point, the files are the logs of its trainers; one file may have the output of\n"
               "all. Arguments with the same values are repeats. The run is stored on this\n"
               "machine and marked as imported; results, compare, report and the other verbs\n"
               "show it with --local. - is standard input.\n"
               "\n"
               "--mlperf reads a checked-out round of mlcommons/training_results_vX. A run has\n"
               "the entries of one submitter, benchmark, accelerator, framework and CPU: a\n"
               "point for each number of accelerators, a trial for each log. NAME keeps the\n"
               "entries of a submitter, system or benchmark. A log that does not count is a\n"
               "failed trial with the reason; entries without a log that counts are left out.\n"
               "\n"
               "Exit codes: 0 stored or checked; 2 wrong arguments, a log without a figure, or\n"
               "an archive of a stored run: then nothing is stored; 3 no such file; 9 disk or\n"
               "store; 16 the archive is damaged, or not what it says: the error names what\n"
               "differs.",
    VERB_OPTS(opts),
    .formats = SHOW_FORMATS,
    .min_words = 1,
    .max_words = (size_t)-1,
    .run = run,
};
