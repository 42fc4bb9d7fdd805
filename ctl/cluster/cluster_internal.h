/* What the files of the cluster's backend share: one API server from the user's kubeconfig, one
 * namespace, one loop. Included by cluster*.c only. Edge files: libuv. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <uv.h>

#include "ctl/runs/backend.h"
#include "ctl/runs/find.h"
#include "ctl/runs/object.h"
#include "ctl/runs/run_opts.h"
#include "ctl/runs/watch_state.h"
#include "kube/client.h"
#include "spec/profile.h"

struct cluster {
    struct backend backend;
    uv_loop_t loop;
    struct kube_config config;
    struct kube_client *client;
    struct kube_client *direct; /* to benchd itself, if its address is a URL; else NULL */
    char *ns;
    char *address;  /* benchd's, from its Lease; NULL until that was read */
    char *read_key; /* from the Lease; NULL if benchd needs none */
};

/* --- cluster.c --- */

struct cluster_problem {
    struct err err;
    const char *fix;      /* static; may be NULL */
    bool is_unconfigured; /* nothing says where a cluster would be */
};
/* As cluster_backend_open, without printing. backend_free frees it. */
enum exit_code cluster_open(const struct cli *cli, struct cluster **ret, struct cluster_problem *p);

/* --- cluster_call.c: a request and its answer ------------------------------------------------- */

struct cluster_answer {
    int r; /* as kube_done_fn gives it */
    int http_code;
    bool is_status;       /* the failure is a Status of the API server, not of a proxy before it */
    int64_t date_unix_ms; /* the server's clock; -1 if it sent none */
    struct buf body;
    struct err err;
};
void cluster_answer_done(struct cluster_answer *a);
/* Waits for the answer. Takes *req. Returns ret->r. */
int cluster_call(struct cluster *c, struct kube_client *client, struct kube_request *req,
                 struct cluster_answer *ret);
/* The same for a JSON document from the API server: owned, in *ret. */
int cluster_get(struct cluster *c, struct kube_request *req, json_t **ret, struct err *err);
/* The same for an object of the namespace, by its name. */
int cluster_get_object(struct cluster *c, const struct kube_resource *res, const char *name,
                       json_t **ret, struct err *err);
/* The same for a list; a NULL namespace means all. */
int cluster_get_list(struct cluster *c, const struct kube_resource *res, const char *ns,
                     json_t **ret, struct err *err);
/* Every request has these: short time-outs and few retries. */
extern const struct kube_call_options cluster_options;
/* The exit code for an error; cluster_error prints it, too. */
enum exit_code cluster_exit_code(int r);
enum exit_code cluster_error(int r, const struct err *err);

/* --- cluster_benchd.c: benchd in the namespace ------------------------------------------------ */

/* The address names its Service, with or without TLS; other addresses are URLs. */
bool cluster_is_service(const char *address);
/* Reads benchd's address from its Lease, once. 0, or -Exxx; *ret_is_dead: the API server says that
 * no benchd is alive. */
int cluster_reach_benchd(struct cluster *c, bool *ret_is_dead, struct err *err);
/* The same; prints the error and what to do. */
enum exit_code cluster_find_benchd(struct cluster *c);
/* True only if the API server says so. For a note after a command that does not need benchd. */
bool cluster_benchd_is_dead(struct cluster *c, struct err *why);
/* "/api/v1/runs" + rest, as a request for *ret_client. After cluster_find_benchd. */
void cluster_api_request(struct cluster *c, const char *rest, struct kube_client **ret_client,
                         struct kube_request *ret);
/* The message of an error that benchd's API answered with, else the error of the request. */
void cluster_api_error(const struct cluster_answer *a, struct err *ret);
/* Waits for the answer. -Exxx with the message, also of an error that benchd answered with. */
int cluster_api_call(struct cluster *c, const char *rest, struct cluster_answer *ret,
                     struct err *err);
/* The same for a document. */
int cluster_api_get(struct cluster *c, const char *rest, json_t **ret, struct err *err);
/* "/NAME" with its characters escaped, for `rest`. Owned. */
char *cluster_api_path(const char *name, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* --- cluster_room.c: what there is for pods --------------------------------------------------- */

/* Adds what each node has for pods, or each part of a queue's quota, by resource. */
int cluster_read_nodes(struct cluster *c, json_t *parts, struct err *err);
int cluster_read_quota(struct cluster *c, const char *queue, json_t *parts, struct err *err);
/* What the point has too little of, if that rules it out: for the pods that request as much as one
 * of a role or more, or for all pods together. */
void cluster_put_lack(const struct run_def *def, const struct point *p, const json_t *parts,
                      struct buf *out);
/* Prints a note if the nodes together have less than the largest point requests. A cluster may
 * grow, so it is no error; without the right to list nodes nothing is known. */
void cluster_note_room(struct cluster *c, const struct run_def *def);

/* --- cluster_runs.c --------------------------------------------------------------------------- */

/* The BenchmarkRun that RUN names, owned. Prints the error. */
enum exit_code cluster_find_object(struct cluster *c, const char *what, json_t **ret);
enum exit_code cluster_list(struct backend *b, const struct list_wanted *wanted,
                            struct listing *ret);
enum exit_code cluster_load_run(struct backend *b, const char *what, struct loaded_run *ret);
enum exit_code cluster_load_figures(struct backend *b, const char *what,
                                    const struct loaded_run *like, struct loaded_run *ret);
enum exit_code cluster_get_log(struct backend *b, const struct loaded_run *run,
                               const struct replica_id *id, struct buf *out);
enum exit_code cluster_delete_run(struct backend *b, const char *what, char **ret_name);
enum exit_code cluster_cancel_run(struct backend *b, const char *what, char **ret_name);
enum exit_code cluster_get_file(struct backend *b, const char *what,
                                const struct run_file_parts *parts, const char *path);

/* --- cluster_file.c: runs as benchd sends them ------------------------------------------------ */

#define CLUSTER_NOT_ACCEPTED (-ESTALE) /* benchd has no file of the run, and no results (409) */
/* Loads the run. `status` is what the object says; NULL takes the file's. */
int cluster_load_file(struct cluster *c, const char *name, const struct run_status *status,
                      struct loaded_run *ret, struct err *err);
/* The same of an answer that came: the run, or a part of it. */
int cluster_read_file(const void *data, size_t len, const struct run_status *status,
                      struct loaded_run *ret, struct err *err);
/* The file that benchd answers with these arguments ("?logs=true"), unpacked, into `path`. */
int cluster_fetch_file(struct cluster *c, const char *name, const char *args, const char *path,
                       struct err *err);

/* --- cluster_run.c, cluster_watch.c ----------------------------------------------------------- */

enum exit_code cluster_run(struct backend *b, char **ret_name);
enum exit_code cluster_attach(struct backend *b, const char *what);

/* Shows the run until its end; the state it returns is one of watch_is_over. *ret_status: as last
 * read from the object. *err: why WATCH_UNREPORTED or WATCH_FORBIDDEN. */
enum watch_state cluster_watch(struct cluster *c, const char *name, const char *uid,
                               const struct run_opts *opts, struct run_status *ret_status,
                               struct err *err);
