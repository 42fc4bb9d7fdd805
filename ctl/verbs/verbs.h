/* The verbs, one cmd_*.c each. */
#pragma once

#include "ctl/runs/backend.h"

extern const struct verb verb_validate, verb_plan, verb_run, verb_get, verb_describe, verb_results,
    verb_report, verb_compare, verb_logs, verb_attach, verb_cancel, verb_delete, verb_completion,
    verb_version, verb_help, verb_init, verb_try, verb_explain, verb_gate, verb_history,
    verb_export, verb_import, verb_reproduce, verb_doctor, verb_simulate, verb_predict;

/* In the order of `benchctl help`. */
extern const struct verb *const verbs[];
extern const size_t n_verbs;

/* `benchctl gate --ab`: runs both commands, and stores the run; ret_name gets its name
 * (owned). EXIT_OK, also if a command failed in the run; or prints the error. In gate_ab.c. */
enum exit_code gate_measure_ab(const struct cli *cli, char **ret_name);

/* Where the runs are that a command line means: --local and --store choose the store, otherwise it
 * is the cluster. EXIT_OK, or prints the error. */
enum exit_code backend_open(const struct cli *cli, struct backend **ret);
