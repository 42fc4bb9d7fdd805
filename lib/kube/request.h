/* Requests to the Kubernetes API as data: method, path, body. Pure functions; client.h sends the
 * requests. Called by reflector.c, lease.c, and by code that creates or deletes objects.
 *
 * A builder fills *ret, which the caller hands to kube_call() or kube_stream_open() (they take it)
 * or frees with kube_request_done(). Every part of a path and each selector is escaped; bodies are
 * copied as text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

enum kube_method { KUBE_GET, KUBE_POST, KUBE_PUT, KUBE_PATCH, KUBE_DELETE };
extern const char *const kube_method_names[]; /* "GET" */

/* In ascending order; each has a limit of its own, so that none waits for another:
 *   NORMAL  pods and all else
 *   PROMPT  statuses and events: their number does not grow with the pods
 *   URGENT  renewals of a Lease, without a limit, also while nothing else may be written */
enum kube_priority { KUBE_NORMAL, KUBE_PROMPT, KUBE_URGENT };
#define KUBE_N_PRIORITIES 3

/* Each may be sent again after its answer was lost. */
struct kube_request {
    enum kube_method method;
    char *path;               /* "/api/v1/namespaces/x/pods?limit=500", owned */
    const char *content_type; /* static text; NULL: no body */
    char *body;               /* owned, NULL: none */
    size_t body_len;
    char *header; /* one more line, "Name: value"; owned, NULL: none */
    char *user;   /* whose rights count; owned, NULL: as the credentials say */
    char *what;   /* "create pod 'x'", for messages; owned */
    enum kube_priority priority;
};
void kube_request_done(struct kube_request *req);
/* Lets a ServiceAccount send it. The credentials need the right to impersonate the account. */
void kube_request_send_as(struct kube_request *req, const char *ns, const char *account);

/* A kind of object: namespaced, or requested without a namespace. */
struct kube_resource {
    const char *group; /* "": core */
    const char *version, *plural;
    const char *noun; /* for messages: "pod" */
};
extern const struct kube_resource kube_pods, kube_services, kube_secrets, kube_events, kube_leases,
    kube_network_policies, kube_endpoint_slices, kube_benchmarks, kube_benchmark_runs,
    kube_workloads, kube_resource_flavors, kube_workload_priorities;

/* An annotation of a BenchmarkRun: benchctl writes it before it deletes the object, and benchd then
 * erases the run's results at once. */
#define KUBE_ERASE_ANNOTATION "benchd.io/erase"
#define KUBE_ERASE_NOW "Now"

struct kube_list_options {
    const char *label_selector, *field_selector; /* NULL: none */
    uint32_t limit;                              /* 0: all at once */
    const char *continue_token;                  /* NULL: from the start */
};
/* ns NULL: of all namespaces. */
void kube_request_list(const struct kube_resource *res, const char *ns,
                       const struct kube_list_options *options, struct kube_request *ret);
/* From `resource_version`, with bookmarks; the server ends it after timeout_s. */
void kube_request_watch(const struct kube_resource *res, const char *ns,
                        const struct kube_list_options *options, const char *resource_version,
                        uint32_t timeout_s, struct kube_request *ret);
void kube_request_get(const struct kube_resource *res, const char *ns, const char *name,
                      struct kube_request *ret);

enum kube_dry_run { KUBE_WRITE, KUBE_DRY_RUN };
/* POST with fieldValidation=Strict. The object's metadata.name appears in messages, and makes it
 * safe to send the request twice: the second answer is AlreadyExists (-EEXIST). */
void kube_request_create(const struct kube_resource *res, const char *ns, const json_t *object,
                         enum kube_dry_run dry_run, struct kube_request *ret);
/* PUT; the object carries name and resourceVersion. -ESTALE if it has changed since. */
void kube_request_update(const struct kube_resource *res, const char *ns, const json_t *object,
                         struct kube_request *ret);
/* Only the object with this uid (NULL: any; for commands of users); -ESTALE for another.
 * grace_s < 0: the object's own. */
void kube_request_delete(const struct kube_resource *res, const char *ns, const char *name,
                         const char *uid, int64_t grace_s, struct kube_request *ret);
/* The same; it stays until all that it owns has gone. */
void kube_request_delete_tree(const struct kube_resource *res, const char *ns, const char *name,
                              const char *uid, struct kube_request *ret);
/* The resource of an object by its apiVersion and kind, of which the plural ends with "s" alone, as
 * those of all job objects do. The texts are owned by the caller: kube_resource_done(). */
void kube_resource_of(const json_t *object, struct kube_resource *ret);
void kube_resource_done(struct kube_resource *res);
/* Server-side apply by `manager`, forced. subresource: "status", or NULL for the object itself.
 * `object` needs apiVersion, kind and metadata.name. With metadata.uid an object that is gone or
 * was replaced is not created again: -ESTALE. */
void kube_request_apply(const struct kube_resource *res, const char *ns, const char *subresource,
                        const char *manager, const json_t *object, struct kube_request *ret);
/* JSON merge patch: changes a field of the object with this uid (NULL: any), which must exist
 * (-ENOENT). Another one stays as it is: the API server answers that it conflicts (-ESTALE), or
 * that a uid is immutable (-EINVAL). */
void kube_request_merge_patch(const struct kube_resource *res, const char *ns, const char *name,
                              const char *uid, const json_t *patch, struct kube_request *ret);

struct kube_log_options {
    const char *container; /* NULL: the only one */
    bool follow, timestamps;
    const char *since_time; /* RFC 3339 of whole seconds, NULL: from the start */
    uint64_t limit_bytes;   /* 0: all */
};
void kube_request_log(const char *ns, const char *pod, const struct kube_log_options *options,
                      struct kube_request *ret);
/* A GET through the API server to `service` (port by name or number): path begins with '/', and
 * may hold a query. */
void kube_request_service_proxy(const char *ns, const char *service, const char *port,
                                const char *path, struct kube_request *ret);
/* Any other GET: "/version", "/apis/benchd.io/v1alpha1". what: "get the version". */
void kube_request_raw(const char *path, const char *what, struct kube_request *ret);
