/* From what the command line says to a frozen definition. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "ctl/cli/cli.h"
#include "ctl/runs/find.h"
#include "doc/diag.h"
#include "spec/profile.h"
#include "spec/run_def.h"
#include "spec/spec_load.h"

/* Options of the verbs that read a definition with overrides. */
#define DEFINITION_OPTS                                                                            \
    {"file", 'f', "FILE", "Read the definition from this file (- for stdin)"},                     \
        {"systems", 0, "NAME,..", "Run only these systems of the definition"},                     \
        {"set", 0, "NAME=V1,V2", "Sweep these values; may be repeated"},                           \
        {"image", 0, "[SYSTEM=]IMAGE", "The image of a system, or of all; may be repeated"},       \
        {"image-prefix", 0, "REGISTRY", "Pull images named benchd.local/NAME from here"},          \
        {"warmup", 0, "N", "Steps per trial before the measured ones",                             \
         "definition.measure.warmupSteps"},                                                        \
        {"steps", 0, "N", "Measured steps per trial", "definition.measure.steps"},                 \
    {                                                                                              \
        "repeats", 0, "N", "Trials per point", "definition.repeats.min"                            \
    }

/* Checks that the command line names exactly one definition. EXIT_OK, or prints the error. */
enum exit_code definition_named(const struct cli *cli);

/* Reads the definition that the words or -f name. EXIT_OK, or prints the error. */
enum exit_code definition_open(const struct cli *cli, struct definition_file *ret);

/* What the options of the verb say that are fields of a run (struct arg_opt): the document {spec},
 * with `spec` as in a BenchmarkRun. Its types and bounds are those of the schema; the definition in
 * it is checked when it is merged. *ret is owned. EXIT_OK, or prints the error. */
enum exit_code definition_fields(const struct cli *cli, struct node **ret);

/* Applies --set and the fields, checks everything and prints every problem. `is_local`: with the
 * local block merged, on this machine. */
enum exit_code definition_load(const struct cli *cli, const struct definition_file *file,
                               const struct profiles *profiles, bool is_local,
                               struct run_def **ret);

/* The same, of the definition that the words or -f name. */
enum exit_code definition_load_named(const struct cli *cli, const struct profiles *profiles,
                                     bool is_local, struct run_def **ret);
/* A document that benchctl has made itself as a run with a placeholder for its uid; its name and
 * dates are those of `params`. NULL: it is wrong, as was printed with `what` for the file. */
struct run_def *definition_of_document(const json_t *document, const char *what,
                                       const struct spec_overrides *overrides,
                                       struct run_def_params params);

/* Prints a note of the points without a baseline, and for each threshold that applies to no point:
 * options may have replaced the values of the file. */
void definition_note_missing(const struct cli *cli, const struct run_def *def);
