/* `benchctl import`: archives (archive_import.c, docs/contracts/run-file.md), old logs
 * (import_logs.c) and rounds of MLPerf Training (import_mlperf.c).
 *
 * Old logs take one way. The arguments become trials, each with its values and its logs
 * (import_args.c). A rule is chosen (import_rule.c) and reads each log (import_file.c,
 * import_log.c). The trials become points of a definition (import_def.c), and all of it a run
 * (import_store.c). */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "core/phase.h"
#include "ctl/runs/backend.h"
#include "logparse/parser.h"
#include "logparse/suggest.h"
#include "run/capture.h"
#include "spec/run_def.h"
#include "store/run_file.h"

#define IMPORT_STDIN "-"
#define IMPORT_FILE_FIX "name a file that exists, or - for stdin"
#define IMPORT_LOG_BYTES ((size_t)64 << 20) /* that are stored of a log, as of a live replica */
#define IMPORT_HEAD_BYTES ((size_t)1 << 20) /* so much of a log shows which rule it needs */
#define NAME_UNKNOWN "unknown"

struct import_file {
    uint64_t device, inode;
    int64_t modified_unix_ms; /* 0 if it is not a regular file */
    uint64_t bytes;
};

/* A log, read by the same parser as the output of a live replica. */
struct import_log {
    char *path; /* owned */
    struct import_file file;
    struct replica_id id; /* import_define sets its attempt */
    struct log_parser_params params;
    struct buf head;           /* its first bytes, until they are parsed */
    struct log_parser *parser; /* owned; NULL until the log is read */
    struct capture capture;    /* its text */
    int64_t first_ns, last_ns; /* dates of its lines; 0 if they have none */
    double batch;              /* the samples of a step, if it names them; else 0 */
    struct summary *summary;   /* its figure; owned; NULL if it has none that counts */
    int64_t steps;             /* that the figure is of */
    json_t *environment;       /* owned; NULL if nothing is known */
};

/* A trial: a point's values, and the logs of those who train, by their index. */
struct import_trial {
    struct params params;
    VEC(struct import_log *) logs; /* owned */
    struct attempt_row row;        /* its error says why the trial does not count; owned */
    const char *refusal; /* why an MLPerf figure does not count; borrowed; NULL: it does */
};

void import_trial_done(struct import_trial *trial);

struct import {
    const struct cli *cli;
    const char *name, *system, *model, *exchange; /* of the benchmark; borrowed */
    VEC(struct import_trial) trials;              /* in the order of the command line */
    const char *count;     /* the value that counts who trains: "trainers" or "workers" */
    json_t *rule_json;     /* the rule as `log` of a system has it; owned */
    struct log_rule *rule; /* the same; owned */
    int64_t batch_size;    /* 0 if it is unknown, or if the points have their own */
    int64_t warmup_steps;  /* -1 if the command does not say */
    int64_t steps;         /* the most that a log has */
    struct goal goal;      /* GOAL_NONE without a goal */
    struct flops flops;
    bool has_devices;    /* each who trains is one */
    struct run_def *def; /* owned */
};
void import_done(struct import *im);

/* Old logs become a run in the store, all of them or none. */
enum exit_code import_logs(const struct cli *cli);
/* A round of MLPerf Training becomes a run for each of its series (docs/import.md). */
enum exit_code import_mlperf(const struct cli *cli);
/* A run that was exported, as a store of its own. */
struct archive {
    struct run_file_head head;
    struct store *store; /* opened on a temporary file; owned */
    char *path;          /* that file, which archive_done unlinks; owned */
    struct run_row row;
};
/* Reads a file or what a URL leads to, and checks all of it. EXIT_OK, or prints the error:
 * EXIT_ARCHIVE if it is damaged, or not what it says. */
enum exit_code archive_open(const char *path, struct archive *ret);
void archive_done(struct archive *a);
/* What archive_open says of an error of its file. */
enum exit_code archive_error(int r, const char *path, const struct err *err);
/* An empty file in the folder for temporary files. Prints the error. */
enum exit_code archive_room(char **ret_path);
/* Is the argument an archive or a place of archives, or is there --dry-run? */
bool archive_import_is_meant(const struct cli *cli);
/* Stores the run of an archive on this machine, and prints its tables. Nothing is stored unless all
 * of the file is right. --dry-run stores nothing, and prints what the file is. */
enum exit_code archive_import(const struct cli *cli);

/* ---- import_args.c ---- */

/* The trials of the command line; their logs are not read yet. Prints the error. */
enum exit_code import_take_trials(struct import *im);
int64_t import_count(const struct import *im, const struct import_trial *trial); /* who train */
/* Is it the one that trains alone, without the servers of the others? It is their baseline. */
bool import_is_single(const struct import_trial *trial);

/* ---- import_file.c ---- */

typedef void (*import_bytes_fn)(void *ctx, const char *data, size_t len);
/* The bytes of a file or of standard input. Errors are those of the file system; -EBADMSG if it is
 * compressed. */
int import_file_read(const char *path, import_bytes_fn on_bytes, void *ctx, struct import_file *ret,
                     struct err *err);

/* ---- import_rule.c ---- */

/* The parameters of the parser of a log of this trial. */
struct log_parser_params import_params(const struct import *im, const struct import_trial *trial);
/* The rule that --rules names, or the shipped one that reads the first log. With --write-rule, it
 * writes one made of a line of the first log into a new file, and im->rule stays NULL. Prints the
 * error. */
enum exit_code import_choose_rule(struct import *im);
/* A rule by its name, or by the name of a file. Prints the error. */
enum exit_code import_load_rule(struct import *im, const char *name);
/* What to do, with a rule made of a line, or why none can be made of the likeliest line. Owned;
 * NULL if no line seems to have a figure. */
char *import_suggest_fix(const char *text, size_t len, const struct log_parser_params *who);
/* What to do where a figure is withheld: its witnesses disagree, or the run is no result. */
const char *import_remedy(bool disagrees);

/* ---- import_log.c ---- */

struct import_log *import_log_new(const char *path);
void import_log_free(struct import_log *l); /* NULL is fine */
/* Reads the file by the rule of `params` to its end. `is_only`: it is the only log of its trial. If
 * it has a figure that counts, it has a summary afterwards. Errors as of import_file_read. */
int import_log_read(struct import_log *l, const struct log_parser_params *params, size_t max_bytes,
                    bool is_only, struct err *err);
/* Prints why it has no figure that counts. */
enum exit_code import_log_explain(struct import_log *l);

/* ---- import_work.c ---- */

/* Compares what the logs state about the work that they did, and notes what differs. */
void import_mark_work(struct import *im);

/* ---- import_def.c ---- */

/* Makes im->def and assigns each trial to its point. Its only system has the profile `imported`, so
 * that no run of it can be started. Prints the error: a point has no log, or fewer than another. */
enum exit_code import_define(struct import *im);

/* ---- import_store.c ---- */

/* Completes the row of each trial, which is of a point by then, and dates the run by the first. */
void import_make_rows(struct import *im);
/* Stores the run, whole or not at all. EXIT_OK and its name (owned), or prints the error. */
enum exit_code import_store(const struct import *im, char **ret_name);
/* Notes that a run was stored, and prints its tables. */
enum exit_code import_show(const struct cli *cli, const char *name);
