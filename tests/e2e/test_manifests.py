#!/usr/bin/env python3
"""manifests/ against a real API server: it is taken whole, benchd may do what it needs and no more, and it all goes.
"""
import copy
import json
import re
import subprocess
import sys

import mkimage
import tap
from benchd import BENCHCTL, definition
from cluster import CONTROLLERS, Cluster, wait_until
from rest import NS, Api

MANIFESTS = tap.ROOT / "manifests"
CRD = MANIFESTS / "benchmark-crd.yaml"
ACCOUNT = "system:serviceaccount:benchd:benchd"
CONTROLLER = "system:serviceaccount:kube-system:job-controller"
OPERATOR = "system:serviceaccount:kubeflow:mpi-operator"
REPLICA_SETS = "system:serviceaccount:kube-system:replicaset-controller"
GROUPS = ["system:serviceaccounts", "system:serviceaccounts:benchd", "system:authenticated"]
OBJECTS = {"Namespace/benchd", "ServiceAccount/benchd", "ServiceAccount/benchd-replica", "Role/benchd", "RoleBinding/benchd",
           "ServiceAccount/benchd-jobs", "Role/benchd-jobs", "RoleBinding/benchd-jobs",
           "Service/benchd", "PersistentVolumeClaim/benchd", "Deployment/benchd", "NetworkPolicy/default-deny",
           "NetworkPolicy/benchd", "ValidatingAdmissionPolicy/benchd-replicas",
           "ValidatingAdmissionPolicyBinding/benchd-replicas"}

# All that benchd may do: (resource, name or "", verbs).
ALLOWED = [
    ("benchmarks.benchd.io", "", "get list watch"),
    ("benchmarkruns.benchd.io", "", "get list watch delete"),
    ("benchmarkruns.benchd.io/status", "", "patch"),
    ("benchmarkruns.benchd.io/finalizers", "", "update"),
    ("pods", "", "get list watch create delete"),
    ("pods/log", "", "get"),
    ("services", "", "get create"),
    ("secrets", "", "create"),
    ("networkpolicies.networking.k8s.io", "", "get create"),
    ("endpointslices.discovery.k8s.io", "", "create patch"),
    ("events.events.k8s.io", "", "create list"),
    ("leases.coordination.k8s.io", "", "create"),
    ("leases.coordination.k8s.io", "benchd", "get update"),
    ("serviceaccounts", "benchd-jobs", "impersonate"),
]
# What manifests/kueue.yaml adds.
KUEUE = [
    ("workloads.kueue.x-k8s.io", "", "list watch create delete"),
    ("resourceflavors.kueue.x-k8s.io", "", "get"),
    ("workloadpriorityclasses.kueue.x-k8s.io", "", "get"),
]
# What would be worth having for somebody who got hold of its token: (namespace, resource, name, verbs).
FORBIDDEN = [
    ("benchd", "secrets", "", "get list watch update patch delete deletecollection"),
    ("benchd", "services", "", "list watch update patch delete"),
    ("benchd", "secrets", "vgg16-12345678-key", "get"),
    ("benchd", "pods", "", "update patch deletecollection"),
    ("benchd", "pods/exec", "", "create get"),
    ("benchd", "pods/ephemeralcontainers", "", "update patch"),
    ("benchd", "serviceaccounts/token", "", "create"),
    ("benchd", "serviceaccounts", "default", "impersonate"),
    ("benchd", "serviceaccounts", "benchd-replica", "impersonate"),
    ("default", "serviceaccounts", "benchd-jobs", "impersonate"),
    ("benchd", "jobs.batch", "", "get list create delete"),
    ("benchd", "roles.rbac.authorization.k8s.io", "", "create update patch bind escalate"),
    ("benchd", "rolebindings.rbac.authorization.k8s.io", "", "create"),
    ("benchd", "deployments.apps", "", "get create patch"),
    ("benchd", "configmaps", "", "get create"),
    ("benchd", "endpointslices.discovery.k8s.io", "", "get list watch update delete"),
    ("benchd", "networkpolicies.networking.k8s.io", "", "list watch update patch delete"),
    ("benchd", "benchmarkruns.benchd.io", "", "create update patch deletecollection"),
    ("benchd", "benchmarks.benchd.io", "", "create update patch delete"),
    ("benchd", "leases.coordination.k8s.io", "", "get list watch"),
    ("benchd", "leases.coordination.k8s.io", "other", "update"),
    ("benchd", "leases.coordination.k8s.io", "benchd", "delete"),
    ("default", "pods", "", "get list watch create delete"),
    ("default", "benchmarkruns.benchd.io", "", "get list watch"),
    ("kube-system", "secrets", "", "get create delete"),
    ("", "nodes", "", "get list watch"),
    ("", "namespaces", "", "get list create delete"),
    ("", "persistentvolumes", "", "get list"),
    ("", "customresourcedefinitions.apiextensions.k8s.io", "", "get create"),
    ("", "clusterroles.rbac.authorization.k8s.io", "", "create"),
]


def check_apply(t, k):
    t.equal(0, k("apply", "-f", CRD, check=False).returncode, "kubectl apply -f manifests/benchmark-crd.yaml")
    # A dry run of what lies in a namespace needs the namespace.
    k("apply", "-f", MANIFESTS / "namespace.yaml")
    for option in ("--dry-run=server", "--validate=strict"):
        done = k("apply", "-k", MANIFESTS, option, check=False)
        t.equal((0, ""), (done.returncode, done.stderr), f"kubectl apply -k manifests/ {option}: no warning")
        t.equal(len(OBJECTS), len(done.stdout.splitlines()), f"kubectl apply -k manifests/ {option}: all objects")
    again = k("apply", "-k", MANIFESTS).stdout.splitlines()
    t.equal([], [line for line in again if not line.endswith(" unchanged")], "a second apply changes nothing")


def check_objects(t, k):
    items = json.loads(k("get", "-k", MANIFESTS, "-o", "json").stdout)["items"]
    objects = {f"{item['kind']}/{item['metadata']['name']}": item for item in items}
    t.equal(OBJECTS, set(objects), "the objects of manifests/")
    elsewhere = {name for name, item in objects.items() if item["metadata"].get("namespace", "benchd") != "benchd"}
    t.equal(set(), elsewhere, "all in the namespace benchd")
    recommended = {"name": "benchd", "instance": "benchd", "part-of": "benchd", "version": mkimage.VERSION, "managed-by": "kustomize"}
    for item in [*items, objects["Deployment/benchd"]["spec"]["template"]]:
        labels = item["metadata"]["labels"]
        t.equal(recommended, {key: labels.get(f"app.kubernetes.io/{key}") for key in recommended}, f"{item.get('kind', 'the pod')} has the recommended labels")

    deployment = objects["Deployment/benchd"]["spec"]
    template = deployment["template"]
    labels = template["metadata"]["labels"]
    t.equal((1, "Recreate"), (deployment["replicas"], deployment["strategy"]["type"]), "never two on one SQLite file")
    t.equal([mkimage.image_name("benchd")], [c["image"] for c in template["spec"]["containers"]], "the image is that of this version")
    for name, selector in (("Service", objects["Service/benchd"]["spec"]["selector"]),
                           ("NetworkPolicy", objects["NetworkPolicy/benchd"]["spec"]["podSelector"]["matchLabels"])):
        t.ok(selector.items() <= labels.items(), f"the {name} selects the pod of benchd", (selector, labels))
    ports = {port["name"] for port in template["spec"]["containers"][0]["ports"]}
    t.equal(ports, {port["targetPort"] for port in objects["Service/benchd"]["spec"]["ports"]}, "the Service's port")
    return template


# As the Deployment's ReplicaSet has it.
OF_DEPLOYMENT = {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "benchd-x", "uid": "u", "controller": True}]}


def check_pod_security(t, k, template):
    def create(spec):
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": {}, **OF_DEPLOYMENT}, "spec": spec}
        return k("create", "--validate=strict", "--dry-run=server", f"--as={REPLICA_SETS}", "--as-group=system:masters", "-f", "-",
                 stdin=json.dumps(body), check=False)

    done = create(template["spec"])
    t.equal((0, ""), (done.returncode, done.stderr), "Pod Security takes the pod of the Deployment")
    for name, change in (("a capability", {"capabilities": {"drop": []}}), ("root", {"runAsUser": 0}),
                         ("privilege escalation", {"allowPrivilegeEscalation": True})):
        spec = copy.deepcopy(template["spec"])
        spec["containers"][0]["securityContext"].update(change)
        t.match("violates PodSecurity", create(spec).stderr, f"Pod Security refuses it with {name}")


# As benchd makes a replica.
REPLICA = {"serviceAccountName": "benchd-replica", "automountServiceAccountToken": False,
           "volumes": [{"name": "benchd-key", "secret": {"secretName": "run-0f4c1de2-key"}}]}
OF_RUN = {"labels": {"benchd.io/run": "run", "benchd.io/replica-index": "0", "app.kubernetes.io/managed-by": "benchd"},
          "ownerReferences": [{"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "name": "run", "uid": "0f4c1de2-a", "controller": True}]}
# As the controller of a job object makes one of the template that benchd has labelled.
OF_JOB = {"labels": {"benchd.io/run": "run", "benchd.io/run-uid": "0f4c1de2-a", "app.kubernetes.io/managed-by": "benchd"},
          "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "run-p0t0a0", "uid": "u", "controller": True}]}
OWN_NAMES = ["benchd", "benchd-archive", "lab-benchd", "other-12345678-key"]


def references(name):
    """Each way in which a pod names something: (how, how the pod changes)."""
    volumes = {"Secret": {"secret": {"secretName": name}}, "ConfigMap": {"configMap": {"name": name}},
               "claim": {"persistentVolumeClaim": {"claimName": name}},
               "Secret, projected": {"projected": {"sources": [{"secret": {"name": name}}]}},
               "ConfigMap, projected": {"projected": {"sources": [{"configMap": {"name": name}}]}},
               "Secret of a driver": {"csi": {"driver": "d", "nodePublishSecretRef": {"name": name}}}}
    env = {"Secret": {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": name, "key": "k"}}}]},
           "ConfigMap": {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": name, "key": "k"}}}]},
           "all of a Secret": {"envFrom": [{"secretRef": {"name": name}}]}, "all of a ConfigMap": {"envFrom": [{"configMapRef": {"name": name}}]}}
    return [(f"volume of a {what}", {"volumes": [{"name": "d", **volume}]}) for what, volume in volumes.items()] + \
           [(f"variable of a {what}", {"initContainers": [{"name": "i", "image": "i", **change}]}) for what, change in env.items()] + \
           [("Secret of a registry", {"imagePullSecrets": [{"name": name}]})]


# What benchd is not to be made to create: (what, how the pod changes, the policy's words).
OTHER_NAMES, OWN_THINGS = ([(f"{how} '{name}'", change, "may not use a claim, ConfigMap or Secret of benchd") for name in names
                            for how, change in references(name)] for names in (OWN_NAMES[1:], OWN_NAMES[:1]))
OWN_THINGS += [
    ("benchd's account", {"serviceAccountName": "benchd"}, "may not use benchd's own ServiceAccount"),
    ("the account of job objects", {"serviceAccountName": "benchd-jobs"}, "may not use benchd's own ServiceAccount"),
    ("an account's token", {"automountServiceAccountToken": True}, "gets no token"),
    ("a projected token", {"volumes": [{"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
     "gets no token"),
    ("a projected certificate",
     {"volumes": [{"name": "t", "projected": {"sources": [{"podCertificate": {"signerName": "a.b/c", "keyType": "ED25519",
                                                                              "credentialBundlePath": "p"}}]}}]},
     "gets no token or certificate"),
    ("a copy of a claim", {"volumes": [{"name": "d", "ephemeral": {"volumeClaimTemplate": {"spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        "dataSource": {"kind": "PersistentVolumeClaim", "name": "benchd"}}}}}]}, "may not copy a volume"),
    ("a node's name", {"nodeName": "n1"}, "placed by the scheduler"),
]
# Of each kind of volume in the API: whether a replica may have it. Each must be in one of the lists.
VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret"}
NO_VOLUMES = {
    "awsElasticBlockStore": {"volumeID": "v"}, "azureDisk": {"diskName": "d", "diskURI": "https://a.blob.core.windows.net/c/d.vhd"},
    "azureFile": {"secretName": "s", "shareName": "s"}, "cephfs": {"monitors": ["m"]}, "cinder": {"volumeID": "v"}, "fc": {"wwids": ["w"]},
    "flexVolume": {"driver": "d/d"}, "flocker": {"datasetUUID": "d"}, "gcePersistentDisk": {"pdName": "d"}, "gitRepo": {"repository": "r"},
    "glusterfs": {"endpoints": "e", "path": "p"}, "hostPath": {"path": "/var/lib/benchd-results"},
    "iscsi": {"targetPortal": "127.0.0.1", "iqn": "iqn.2026-11.a:b", "lun": 0}, "nfs": {"server": "s", "path": "/p"},
    "photonPersistentDisk": {"pdID": "d"}, "portworxVolume": {"volumeID": "v"}, "quobyte": {"registry": "r:1", "volume": "v"},
    "rbd": {"monitors": ["m"], "image": "i"}, "scaleIO": {"gateway": "g", "system": "s", "secretRef": {"name": "s"}, "volumeName": "v"},
    "storageos": {"volumeName": "v"}, "vsphereVolume": {"volumePath": "p"}}
SOURCES, NO_SOURCES = {"clusterTrustBundle", "configMap", "downwardAPI", "secret"}, {"serviceAccountToken", "podCertificate"}


def check_volumes(t, cluster, create):
    """No kind of volume is left undecided, and benchctl decides as the policy does."""
    schemas = json.loads(cluster.kubectl("get", "--raw", "/openapi/v3/api/v1").stdout)["components"]["schemas"]

    def kinds(name):
        return set(schemas[f"io.k8s.api.core.v1.{name}"]["properties"]) - {"name"}
    t.equal(kinds("Volume"), VOLUMES | NO_VOLUMES.keys(), "each kind of volume is allowed or refused")
    t.equal(kinds("VolumeProjection"), SOURCES | NO_SOURCES, "and each source of a projected one")
    # Pod Security refuses most of them before, in its own words.
    cluster.kubectl("label", "--overwrite", "namespace", "benchd", "pod-security.kubernetes.io/enforce=privileged")
    folder = {"volumes": [{"name": "d", "hostPath": NO_VOLUMES["hostPath"]}]}
    wait_until(lambda: "forbidden: violates PodSecurity" not in create(folder), 60, "Pod Security allows them")
    refused = {kind: create({"volumes": [{"name": "d", kind: source}]}) for kind, source in NO_VOLUMES.items()}
    t.equal({}, {kind: words for kind, words in refused.items() if "may not have a volume of this kind" not in words},
            "the policy refuses all that are not allowed")
    cluster.kubectl("label", "--overwrite", "namespace", "benchd", "pod-security.kubernetes.io/enforce=restricted")
    path = cluster.dir / "volume.json"

    def is_valid(volume):
        template = {"spec": {"containers": [{"name": "main", "image": "i"}], "volumes": [{"name": "d", **volume}]}}
        roles = {role: {"replicas": {"from": role + "s"}, "template": template} for role in ("pserver", "trainer")}
        path.write_text(json.dumps({"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "x"},
                                    "spec": definition(roles=roles)}))
        done = subprocess.run([BENCHCTL, "validate", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode == 0 or done.stdout
    for allowed, refused, volume_of in ((VOLUMES, NO_VOLUMES, lambda kind: {kind: {}}),
                                        (SOURCES, NO_SOURCES, lambda kind: {"projected": {"sources": [{kind: {}}]}})):
        t.equal({}, {kind: said for kind in allowed if (said := is_valid(volume_of(kind))) is not True}, "benchctl allows the same")
        t.equal(set(), {kind for kind in refused if is_valid(volume_of(kind)) is True}, "and refuses the same")


def as_master(user):
    return {"Impersonate-User": user, "Impersonate-Group": "system:masters"}


def check_admission(t, cluster, template):
    """The policy binds whoever makes a pod here, but for the Deployment, and holds where benchd itself would not refuse."""
    api = Api(cluster)

    def create(change, headers=None, **metadata):
        spec = {**copy.deepcopy(template["spec"]), "volumes": [], **REPLICA, **copy.deepcopy(change)}
        security = spec["containers"][0]["securityContext"]
        for container in spec["containers"] + spec.get("initContainers", []):
            container["securityContext"] = security
            container.pop("volumeMounts", None)
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", **metadata}, "spec": spec}
        status, answer = api("POST", f"{NS}/pods?dryRun=All&fieldValidation=Strict", body, **(headers or {}))
        return "" if status == 201 else answer["message"]

    def takes(words, text):
        t.equal("", words, f"the policy takes {text}")

    def by_benchd(change, **metadata):
        return create(change, {"Impersonate-User": ACCOUNT}, **{**OF_RUN, **metadata})

    wait_until(lambda: create({"serviceAccountName": "benchd"}, {"Impersonate-User": ACCOUNT}), 120, "the policy is in force")
    takes(by_benchd({}), "a replica as benchd makes it")
    for what, change, words in OWN_THINGS + OTHER_NAMES:
        t.match(words, by_benchd(change), f"the policy refuses benchd a pod with {what}")
    t.match("only its own run's", by_benchd({}, labels={"benchd.io/run": "other"}), "and one with the key of another run")
    check_volumes(t, cluster, by_benchd)
    # The controllers of job objects: their pods have neither benchd's name nor its volume of the key.
    plain = {"volumes": [], "automountServiceAccountToken": None}
    for user in (CONTROLLER, OPERATOR):
        as_user = as_master(user)
        takes(create(plain, as_user, **OF_JOB), f"a pod of a job object by {user}, with an account that has no token")
        for what, change, words in OWN_THINGS:
            t.match(words, create({"volumes": [], **change}, as_user, **OF_JOB), f"the policy refuses {user} a pod with {what}")
        t.match("only its own run's", create({}, as_user, **OF_JOB), "and one with a run's key under benchd's name of the volume")
        for what, forged in (("owner", {"ownerReferences": OF_RUN["ownerReferences"]}), ("number of a replica", {"labels": OF_RUN["labels"]})):
            t.match("only benchd makes pods", create(plain, as_user, **{**OF_JOB, **forged}), f"and one with the {what} of benchd's own pods")
    # Others who may make pods: an administrator, and an account of the namespace.
    for who, headers in (("an administrator", {}), ("an account of the namespace", as_master("system:serviceaccount:benchd:x"))):
        takes(create(plain, headers, labels={"app": "x"}), f"a pod of {who}")
        for what, forged in (("labels of a replica", OF_RUN), ("labels of a job object's pod", OF_JOB),
                             ("mark of benchd", {"labels": {"app.kubernetes.io/managed-by": "benchd"}})):
            t.match("only benchd makes pods", create(plain, headers, **forged), f"but not with {what}")
        t.match("is of benchd's own pod", create(plain, headers, labels=template["metadata"]["labels"]), "nor one that benchd's Service selects")
        t.match("own ServiceAccount", create({"serviceAccountName": "benchd"}, headers, **OF_DEPLOYMENT),
                "nor one that claims to be of the Deployment")
    t.equal("", create({"serviceAccountName": "benchd"}, as_master(REPLICA_SETS), **OF_DEPLOYMENT), "it does not bind the Deployment")


def may(api, verb, namespace, resource, name):
    """What `kubectl auth can-i` asks."""
    whole, _, subresource = resource.partition("/")
    plural, _, group = whole.partition(".")
    target = {"verb": verb, "namespace": namespace, "group": group, "resource": plural, "subresource": subresource, "name": name}
    spec = {"user": ACCOUNT, "groups": GROUPS, "resourceAttributes": target}
    kind = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
    status, answer = api("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {**kind, "spec": spec})
    return answer["status"]["allowed"] if status == 201 else answer


def check_rights(t, api):
    for resource, name, verbs in ALLOWED:
        answers = {verb: may(api, verb, "benchd", resource, name) for verb in verbs.split()}
        t.equal({verb: True for verb in answers}, answers, f"may {verbs} {resource}{name and ' ' + name}")
    for namespace, resource, name, verbs in FORBIDDEN:
        answers = {verb: may(api, verb, namespace, resource, name) for verb in verbs.split()}
        t.equal({verb: False for verb in answers}, answers, f"may not {verbs} {resource}{name and ' ' + name} in {namespace or 'the cluster'}")


def check_no_other_right(t, k, allowed=ALLOWED):
    """The server's own list of rights holds the table above and what every account has, and nothing else."""
    row = re.compile(r"^(\S*)\s+\[(.*?)\]\s+\[(.*?)\]\s+\[(.*?)\]$")
    rows = [row.match(line).groups() for line in k("auth", "can-i", "--list", f"--as={ACCOUNT}", "--namespace=benchd").stdout.splitlines()[1:]]
    own = {(resource, name, frozenset(verbs.split())) for resource, urls, name, verbs in rows
           if not urls and not resource.startswith(("selfsubject", "clustertrustbundles."))}
    t.equal({(resource, name, frozenset(verbs.split())) for resource, name, verbs in allowed}, own, "and has no other right")
    t.equal({"get"}, {verbs for _, urls, _, verbs in rows if urls}, "paths that are no resource: to read")


def check_kueue(t, k):
    done = k("apply", "--validate=strict", "-n", "benchd", "-f", MANIFESTS / "kueue.yaml", check=False)
    t.equal((0, ""), (done.returncode, done.stderr), "kubectl apply -f manifests/kueue.yaml")
    check_no_other_right(t, k, ALLOWED + KUEUE)
    k("delete", "-n", "benchd", "-f", MANIFESTS / "kueue.yaml")


def block(page, heading):
    """The first block below a heading of a page in docs/."""
    text = (tap.ROOT / "docs" / page).read_text(encoding="utf-8").partition(f"# {heading}\n")[2]
    return re.search(r"(?ms)^```\w*\n(.*?)^```", text)[1]


def check_bucket(t, k, template):
    """The policy of docs/store.md is valid, and is about benchd's pod."""
    done = k("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=block("store.md", "A bucket on another port"), check=False)
    t.equal((0, ""), (done.returncode, done.stderr), "docs/store.md: the NetworkPolicy for a bucket on another port")
    selector = json.loads(done.stdout)["spec"]["podSelector"]["matchLabels"]
    t.ok(selector.items() <= template["metadata"]["labels"].items(), "it selects the pod of benchd", selector)


def check_uninstall(t, k):
    """With all that is optional, and by the commands of docs/install.md."""
    def left():
        kinds = k("api-resources", "--verbs=list", "-o", "name").stdout.split()
        named = k("get", ",".join(kinds), "--all-namespaces", "-l", "app.kubernetes.io/name=benchd", "-o", "name").stdout.split()
        return {name for name in [*named, *k("get", "namespaces,customresourcedefinitions", "-o", "name").stdout.split()] if "benchd" in name}

    for file in (MANIFESTS / "kueue.yaml", MANIFESTS / "node-reader.yaml", *sorted((MANIFESTS / "jobs").glob("*.yaml"))):
        k("apply", "-n", "benchd", "-f", file)
    t.ok({f"{kind}.rbac.authorization.k8s.io/benchd-{name}" for kind in ("clusterrole", "clusterrolebinding")
          for name in ("kueue", "node-reader")} < left(), "before: what is optional, in the whole cluster", left())
    commands = [line for line in block("install.md", "Uninstall").splitlines() if line.startswith("kubectl delete")]
    for command in commands:
        words = [str(tap.ROOT / word) if word.startswith("manifests") else word for word in command.split()[1:]]
        done = k(*words, "--timeout=200s", check=False)
        t.equal((0, ""), (done.returncode, done.stderr), command)
    t.equal(set(), left(), "nothing is left")


def main():
    t = tap.Tap()
    with Cluster(parts=CONTROLLERS, namespace=None) as cluster:
        k = cluster.kubectl
        check_apply(t, k)
        template = check_objects(t, k)
        check_pod_security(t, k, template)
        check_admission(t, cluster, template)
        check_rights(t, Api(cluster))
        check_no_other_right(t, k)
        check_kueue(t, k)
        check_bucket(t, k, template)
        check_uninstall(t, k)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
