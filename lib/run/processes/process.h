/* One replica as a local process: its child, its output and how it ended. Edge file: uses the event
 * loop. Used by processes.c only.
 *
 *   PENDING -- process_start --> RUNNING -- process_reap --> SUCCEEDED | FAILED
 *      '------ process_start, process_fail_start: no start --------> FAILED
 * process_end may be called at any time: it sends TERM, and KILL 2 s later. process_close frees the
 * struct when its last handle has closed. */
#pragma once

#include <stdbool.h>

#include <uv.h>

#include "decide/observed.h"
#include "pod/replica_spec.h"
#include "run/capture.h"
#include "run/processes/child.h"
#include "run/launcher.h"
#include "run/log_reader.h"

#define PROCESS_TERM_GRACE_MS 2000

struct process;

struct process_stream {
    uv_poll_t poll;
    int fd; /* -1: closed */
    enum capture_stream which;
    struct process *owner;
};

struct process {
    struct launcher *launcher; /* of on_record; borrowed */
    uv_loop_t *loop;
    struct replica_id id;
    char **argv, **envp; /* owned */
    const char *node;    /* this machine; borrowed from the launcher */
    json_t *identity;    /* facts about its program (host/identity.h); owned; NULL: benchworker */
    char *cpus;          /* that it is pinned to, "0,3"; owned; NULL: not pinned */
    struct child child;
    bool is_alive;   /* started and not reaped */
    bool is_removed; /* not observed any more */
    bool is_closing;
    struct process_stream streams[2];
    uv_timer_t kill_timer;
    unsigned n_handles; /* not yet closed */
    struct capture capture;
    struct log_parser_params log_params;
    struct log_reader *log; /* owned; NULL: it writes records */
    bool has_record;        /* it wrote one */

    enum replica_state state;
    enum failure_class failure;
    int exit_code, signal; /* exit_code -1: killed, never started, or still running */
    int64_t ended_unix_ms;
    int64_t started_unix_ms, output_unix_ms; /* as in struct observed_replica */
    char *message;                           /* of the end; owned, NULL: none */
    struct log_reader_end end;               /* of records, too: `why` is the first damaged one */
    /* When the measured steps began, by their records or lines, and when the last of these, or else
     * the summary came: monotonic; 0: no such record or line came. */
    int64_t measured_from_ns, measured_to_ns;
    struct environment environment; /* with its node; owned */
    char *error_message;            /* of the last error record; owned, NULL: none */
    bool has_blamed;
    enum role blamed_role;
    uint32_t blamed_index;
};

/* Takes argv and envp (NULL-terminated lists). `log`: what its log is read with; its rule may be
 * NULL. */
struct process *process_new(uv_loop_t *loop, struct launcher *launcher, const struct replica_id *id,
                            char **argv_take, char **envp_take, const char *node,
                            size_t log_max_bytes, const struct log_parser_params *log);
/* A failure becomes the process's state, as if it had run and ended. */
void process_start(struct process *p, const struct child_params *how);
/* The same for a failure before the start. */
void process_fail_start(struct process *p, int code, const char *message);
/* It has ended, and process_reap() was not called since. */
bool process_is_reapable(const struct process *p);
/* True if it has ended since the last call; its output is complete then. Never waits. */
bool process_reap(struct process *p);
void process_end(struct process *p);
/* Its output up to now is that of a process that has ended well; it runs until it is removed. */
void process_complete(struct process *p);
/* After a KILL: waits for the end, until `deadline_ns` (monotonic) at most. */
void process_wait(struct process *p, int64_t deadline_ns);
/* Frees p when its handles have closed, at once if it has none. */
void process_close(struct process *p);

/* When its measured steps were; false: it has no usable summary. */
bool process_measured(const struct process *p, int64_t *ret_from_ns, int64_t *ret_to_ns,
                      double *ret_throughput);

void process_observe(const struct process *p, struct observed_replica *ret);
void process_output(struct process *p, struct replica_output *ret);
