/* The objects that a run makes in a cluster, as JSON for the API server: the pod of a replica, the
 * headless Service of DNS addressing, the NetworkPolicy, the Secret with the run's key.
 * Pure. Used by run/pods/pods.c.
 *
 * benchd alone sets restartPolicy, names, owner, environment, the secret's volume and its mount; a
 * template that sets one of them otherwise is refused, never silently overruled. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "pod/facts.h"
#include "pod/replica_spec.h"

struct ssh_key; /* pod/ssh_key.h */

#define POD_LABEL_RUN "benchd.io/run"
#define POD_LABEL_LANE "benchd.io/lane" /* with exclusive nodes */
#define POD_MANAGED_BY "app.kubernetes.io/managed-by"
#define POD_SELECTOR POD_MANAGED_BY "=benchd"
#define POD_SECRET_DIR "/var/run/benchd"
#define POD_SECRET_KEY "key"
#define POD_SSH_KEY "id_ed25519" /* of runs with a launcher; with ".pub", its public half */
#define POD_RENDEZVOUS_S 900     /* pods wait for images and nodes; local processes do not */

/* "p0t1a0-trainer-7.<service>:7164", as the pods' own search list resolves it at the first try. */
char *pod_dns_address(const struct run_def *def, const struct replica_id *id);
/* "10.0.0.7:7164", "[fd00::7]:7164". Owned. */
char *pod_ip_address(const char *ip);
/* "<run>-p0t1a0": of the one object of a kind that an attempt makes. Owned. */
char *pod_attempt_name(const struct run_def *def, const struct attempt_id *id);
/* metadata.ownerReferences, and the labels of run and attempt, of whatever an attempt makes. */
void pod_set_owner(const struct run_def *def, json_t *metadata);
void pod_set_attempt_labels(const struct run_def *def, const struct attempt_id *attempt,
                            json_t *labels);
/* apiVersion, kind and metadata of an object of the run other than its pods. Owned. */
json_t *pod_new_object(const struct run_def *def, const char *api_version, const char *kind,
                       const char *name);
/* Is an object the run's own, by its owner's uid? */
bool pod_is_owned(const struct run_def *def, const json_t *object);
/* Which replica of the run a pod is, by its labels and its owner's uid; false: none of it. *ret
 * is one that the run has: its point and its index are within the matrix. */
bool pod_identify(const struct run_def *def, const struct pod_facts *pod, struct replica_id *ret);

/* -ENOENT: a role has no template. -EINVAL: a system cannot be started as a container: its role's
 * template has no command, it is not the native one (with the program in its image), and it has no
 * image of its own, which would start the program. The commands of a profile exist only on the
 * machine of --local. */
int pod_check_systems(const struct spec *spec, struct err *err);
/* The same of one system. */
int pod_check_system(const struct spec *spec, const struct system *system, struct err *err);

enum pod_naming { POD_BY_IP, POD_BY_DNS };
/* -EINVAL: the template contradicts, or a parameter cannot be set. */
int pod_body(const struct run_def *def, const struct replica_id *id,
             const struct gang_addresses *addresses, enum pod_naming naming, json_t **ret,
             struct err *err);
/* The ServiceAccount of a pod whose template names none; NULL: the namespace's default one. It gets
 * no token either way. */
void pod_body_set_account(json_t *pod, const char *account);
/* Sets the registry of each `image` below `json` that begins with POD_NO_REGISTRY, as those of
 * shipped definitions do. NULL: they stay. */
#define POD_NO_REGISTRY "benchd.local/"
void pod_set_registry(json_t *json, const char *registry);
/* May pod_body_renumber() be used for this point's system? Not if its variables differ by more than
 * the index. */
bool pod_body_is_alike(const struct run_def *def, uint32_t point);
/* Turns the body of another replica of the same role and attempt into this one's, which is cheaper
 * than pod_body() where there are a thousand. */
void pod_body_renumber(const struct run_def *def, const struct replica_id *id,
                       enum pod_naming naming, json_t *pod);
/* Headless and without a selector: pod_slice_body() makes its addresses. */
json_t *pod_service_body(const struct run_def *def);
/* EndpointSlice `number` of the Service, still without addresses. Host names resolve as soon as a
 * slice has them: whether a pod is ready does not matter. */
json_t *pod_slice_body(const struct run_def *def, unsigned number, bool is_ipv6);
void pod_slice_add(json_t *slice, const struct replica_id *id, const char *ip);
/* A NetworkPolicy: the run's pods exchange packets with each other and with DNS, nothing else.
 * Policies add up, so another one may allow more. */
json_t *pod_policy_body(const struct run_def *def);
/* `ssh`: the key pair of the run's replicas; NULL: it has none. */
json_t *pod_secret_body(const struct run_def *def, const unsigned char *secret, size_t len,
                        const struct ssh_key *ssh);
