#!/usr/bin/env python3
"""What an account can do through benchd that may only create BenchmarkRuns: each way of docs/threat-model.md by name, then definitions
that a fuzzer makes of job objects, extra objects, templates and paths. All kinds of the namespace are watched.

    test_creator.py --runs 2000 --seed 7      more definitions than the suite tries; prints its figures
"""
import argparse
import copy
import json
import pathlib
import random
import re
import ssl
import sys
import threading

import tap
from benchd import Benchd, Kubelet, definition
from cluster import CONTROLLERS, Cluster, becomes, wait_until
from rest import MERGE, NS, RUNS, Api

SETTLE_S, LIMIT_MIB = 20, 128
FINAL = ("Succeeded", "Failed", "PartiallyFailed", "Cancelled")
OF_ATTEMPT, OF_RUN = r"-p\d+t\d+a\d+", r"-[0-9a-f]{8}"
OWN_NAMES = ("benchd", "benchd-archive", "lab-benchd", "benchd-jobs")
SECRET_WORDS = "wJalrXUtnFEMI"   # in Secret benchd-archive
RESTRICTED = {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
CONTAINER = {"name": "main", "image": "x", "command": ["true"],
             "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}
POD = {"spec": {"restartPolicy": "Never", "securityContext": RESTRICTED, "containers": [CONTAINER]}}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"backoffLimit": 0, "template": POD}}
SUCCEEDED, FAILED = "Complete", "Failed"


def of_job(template=JOB, sets=(), path="/spec/template", objects=(), **pods):
    """A definition of which the system is this job object."""
    job = {"template": template, "pods": {"worker": {"template": path, **pods}}, "succeeded": SUCCEEDED, "failed": FAILED,
           "set": [{"path": "/spec/parallelism", "from": "workers"}, *sets], **({"objects": list(objects)} if objects else {})}
    return {"systems": [{"name": "a", "profile": "none", "log": "torch-ddp", "job": job}],
            "workload": {"model": "m", "batchSize": 8, "exchange": {"kind": "AllReduce"}}, "sweep": {"grid": {"workers": [1]}},
            "roles": {"worker": {"replicas": {"from": "workers"}}}, "repeats": {"min": 1}, "runPolicy": {"backoffLimit": 0}}


def of_pods(template):
    return definition(roles={role: {"replicas": {"from": role + "s"}, "template": template} for role in ("pserver", "trainer")},
                      repeats={"min": 1}, runPolicy={"backoffLimit": 0})


def with_spec(base=None, **changes):
    made = copy.deepcopy(base or JOB)
    (made["spec"]["template"] if "kind" in made else made)["spec"].update(changes)
    return made


def extra(kind, api, **fields):
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "x"}, **fields}


POLICY = extra("NetworkPolicy", "networking.k8s.io/v1", spec={"podSelector": {}, "ingress": [{}], "egress": [{}]})
OF_BENCHD = {"app.kubernetes.io/name": "benchd", "app.kubernetes.io/component": "controller"}
OBJECTS = [POLICY,
           extra("Service", "v1", spec={"type": "NodePort", "selector": OF_BENCHD, "ports": [{"port": 8080}]}),
           extra("Service", "v1", spec={"externalIPs": ["203.0.113.7"], "ports": [{"port": 80}]}),
           extra("EndpointSlice", "discovery.k8s.io/v1", addressType="IPv4", endpoints=[{"addresses": ["10.0.0.1"]}]),
           extra("Secret", "v1", stringData={"a": "b"}), extra("Pod", "v1", spec=POD["spec"])]
ENV_FROM = {"envFrom": [{"secretRef": {"name": "benchd-archive"}}]}
READS = {"containers": [{**CONTAINER, **ENV_FROM}]}
MEMBER = {"benchd.io/role": "worker", "benchd.io/replica-index": "0"}
HEADLESS = extra("Service", "v1", spec={"clusterIP": "None", "selector": OF_BENCHD, "ports": [{"port": 8080}]})
# (what, definition, the words of the refusal). Each one has been possible in some version, or is its neighbour.
REFUSED = [
    *((f"a {item['kind']} {n} as an extra object", of_job(objects=[item]), "is not one of|Unsupported value|spec.type|externalIPs")
      for n, item in enumerate(OBJECTS)),
    ("a Pod as the job object", of_job({"apiVersion": "v1", "kind": "Pod", "spec": POD["spec"]}, path="/metadata/managedFields/0/fieldsV1"),
     "Unsupported value"),
    ("a path in apiVersion", of_job({**JOB, "apiVersion": "batch/v1/namespaces/benchd/cronjobs?x="}), "is not one of Job"),
    ("a path that leaves the group", of_job({**JOB, "apiVersion": "batch/../../api/v1"}), "is not one of Job"),
    ("a kind by job.set", of_job(sets=[{"path": "/kind", "value": "CronJob"}]), "changes the kind"),
    ("an owner by job.set", of_job(sets=[{"path": "/metadata/ownerReferences", "value": []}]), "metadata.ownerReferences"),
    ("metadata that is no map", of_job(sets=[{"path": "/metadata", "value": ["a"]}]), "metadata: must be a map"),
    ("a member by labels of the template", of_job(with_spec(JOB), sets=[{"path": "/spec/template/metadata", "value": {"labels": MEMBER}}]),
     "label is reserved"),
    ("a pod that benchd's Service selects", of_job(sets=[{"path": "/spec/template/metadata", "value": {"labels": OF_BENCHD}}]), "label is reserved"),
    ("a Secret of benchd in a template", of_pods(with_spec(POD, **READS)), "'benchd-archive' is benchd's own"),
    ("a Secret of benchd in a job object", of_job(with_spec(**READS)), "'benchd-archive' is benchd's own"),
    ("a Secret of benchd by job.set", of_job(sets=[{"path": "/spec/template/spec/containers/0/envFrom", "value": ENV_FROM["envFrom"]}]),
     "'benchd-archive' is benchd's own"),
    ("a Secret of benchd by pods.add", of_job(add={"spec": READS}), "'benchd-archive' is benchd's own"),
    ("a Secret of benchd by a swept value", {**of_job(sets=[{"path": "/spec/template/spec/containers/0/envFrom/0/secretRef/name", "from": "s"}],
                                                     template=with_spec(containers=[{**CONTAINER, "envFrom": [{"secretRef": {"name": "a"}}]}])),
                                             "parameters": [{"name": "s"}], "sweep": {"grid": {"workers": [1], "s": ["benchd-archive"]}}},
     "'benchd-archive' is benchd's own"),
    ("benchd's account", of_job(with_spec(serviceAccountName="benchd")), "'benchd' is benchd's own"),
    ("benchd's results", of_job(with_spec(volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "benchd"}}])), "'benchd' is benchd's own"),
    ("a folder of the node", of_job(with_spec(volumes=[{"name": "d", "hostPath": {"path": "/"}}])), "volume of this kind"),
    ("a token", of_job(with_spec(volumes=[{"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}])), "no token"),
]


class Seen:
    """Every object of the namespace that exists at any time. judge(kind, object) says what is wrong with a new one."""

    def __init__(self, cluster):
        self.by_uid, self.lock, self.n_kinds = {}, threading.Lock(), 0
        self.api, self.cluster, self.judge, self.is_over = Api(cluster), cluster, None, False
        self.wrong = []

    def start(self):
        groups = [("/api/v1", self.api.get("/api/v1"))]
        for group in self.api.get("/apis")["groups"]:
            path = "/apis/" + group["preferredVersion"]["groupVersion"]
            groups.append((path, self.api.get(path)))
        for path, found in groups:
            for resource in found["resources"]:
                if resource["namespaced"] and "watch" in resource["verbs"]:
                    self.n_kinds += 1
                    args = (f"{path}/namespaces/benchd/{resource['name']}", resource["kind"])
                    threading.Thread(target=self._watch, args=args, daemon=True).start()

    def _watch(self, path, kind):
        try:
            for event in Api(self.cluster).watch(path):
                item = event["object"]
                with self.lock:
                    is_new = item["metadata"]["uid"] not in self.by_uid
                    self.by_uid[item["metadata"]["uid"]] = kind, item
                    problem = is_new and self.judge(kind, item)
                    if problem:
                        self.wrong.append(f"{kind} {item['metadata']['name']}: {problem}")
        except (OSError, ValueError, RuntimeError):
            if not self.is_over:
                raise

    def of(self, run):
        with self.lock:
            return [(kind, item) for kind, item in self.by_uid.values()
                    if re.search(rf"^{run}([-.]|$)|-{run}{OF_ATTEMPT}$", item["metadata"]["name"])]


def judge(kind, item):
    """Why benchd should not have caused this object to be; empty if it may exist. By other means than benchd's own check."""
    metadata, spec, name = item["metadata"], item.get("spec", {}), item["metadata"]["name"]
    labels, owners = metadata.get("labels", {}), metadata.get("ownerReferences", [])
    owner_kinds = {owner["kind"] for owner in owners}
    if kind in ("Event", "BenchmarkRun", "Lease"):
        return ""
    if kind == "Job":
        return "" if owner_kinds == {"BenchmarkRun"} and re.search(OF_ATTEMPT + "$", name) else "not of an attempt"
    if kind == "Secret":
        return "" if owner_kinds == {"BenchmarkRun"} and re.search(OF_RUN + "-key$", name) else "not the key of a run"
    if kind == "NetworkPolicy":
        is_own = spec["podSelector"]["matchLabels"].get("benchd.io/run") == owners[0]["name"] if owner_kinds == {"BenchmarkRun"} else False
        return "" if is_own and len(spec["ingress"]) == 1 else "not the policy of a run"
    if kind == "Service":
        reach = {key for key in ("externalIPs", "externalName", "loadBalancerIP") if spec.get(key)}
        is_own = owner_kinds == {"BenchmarkRun"} or "benchd.io/run-uid" in spec.get("selector", {})
        return "" if spec["clusterIP"] == "None" and spec["type"] == "ClusterIP" and not reach and is_own else f"a way in: {spec}"
    if kind in ("EndpointSlice", "Endpoints"):
        return "" if labels.get("kubernetes.io/service-name", name) != "benchd" else "addresses of benchd"
    if kind in ("ConfigMap", "ResourceClaimTemplate"):
        return "" if owner_kinds == {"Job"} and re.search(OF_ATTEMPT + "$", name) else "not of an attempt"
    if kind == "Pod":
        return judge_pod(labels, owners, spec)
    return "of no kind that benchd makes"


def judge_pod(labels, owners, spec):
    own = [v for v in spec.get("volumes", []) if v["name"] == "benchd-key" and owners[0]["kind"] == "BenchmarkRun"]
    text = json.dumps({**spec, "volumes": [v for v in spec.get("volumes", []) if v not in own]})
    named = re.findall(r'"(?:name|secretName|claimName|serviceAccountName)": "(benchd|benchd-[^"]*|[^"]*-benchd|[^"]*-[0-9a-f]{8}-key)"', text)
    named = [name for name in named if name not in ("benchd-key", "benchd-replica")]
    keys = [v["secret"]["secretName"] for v in own if v["secret"]["secretName"] != f"{owners[0]['name']}-{owners[0]['uid'][:8]}-key"]
    if named or keys or "serviceAccountToken" in text or "hostPath" in text:
        return f"names {named + keys or text}"
    if owners[0]["kind"] == "Job":
        return "" if "benchd.io/replica-index" not in labels and labels["benchd.io/run"] == owners[0]["name"].rpartition("-p")[0] else f"labels {labels}"
    return "" if owners[0]["kind"] == "BenchmarkRun" and labels["benchd.io/run"] == owners[0]["name"] else f"owners {owners}"


class Creator:
    """The account, and the administrator who cleans up."""

    def __init__(self, cluster, seen):
        self.api, self.seen, self.daemon, self.n = Api(cluster), seen, None, 0
        self.cluster, k = cluster, cluster.kubectl
        k("create", "serviceaccount", "mallory", "-n", "default")
        k("create", "role", "create-runs", "-n", "benchd", "--verb=create", "--resource=benchmarkruns.benchd.io")
        k("create", "rolebinding", "create-runs", "-n", "benchd", "--role=create-runs", "--serviceaccount=default:mallory")
        self.token = k("create", "token", "mallory", "-n", "default", "--duration=12h").stdout.strip()
        self.own = Api(cluster)
        self.own._tls = ssl.create_default_context(cafile=cluster.dir / "pki/ca.crt")   # without the administrator's certificate
        self.headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}

    def ask(self, method, path, body=None):
        connection = self.own._connect(60)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, self.headers)
            res = connection.getresponse()
            return res.status, json.loads(res.read() or b"null")
        finally:
            connection.close()

    def status(self, name):
        return (self.api.get(f"{RUNS}/{name}") or {}).get("status", {})

    def settled(self, name):
        """benchd has refused the run, or has made all that it will: the job object and the others, or pods."""
        if self.daemon.process.poll() is not None or self.status(name).get("phase") in FINAL:
            return True
        kinds = [kind for kind, _ in self.seen.of(name)]
        return "Pod" in kinds or ("Job" in kinds and len(kinds) >= self.wanted)

    def try_one(self, spec, timeout_s=SETTLE_S):
        """What the server or benchd says of it: (accepted by the server, words)."""
        self.n += 1
        name = f"r{self.n}"
        jobs = [system["job"] for system in spec["systems"] if "job" in system]
        self.wanted = 3 + sum(len(job.get("objects", [])) for job in jobs)   # the run, its policy, the job
        status, answer = self.ask("POST", RUNS, {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": name},
                                                 "spec": {"definition": spec}})
        if status != 201:
            return False, answer.get("message", "")
        becomes(lambda: self.settled(name), timeout_s)
        words = json.dumps(self.status(name))
        self.api("PATCH", f"{RUNS}/{name}", {"spec": {"cancel": True}}, MERGE)
        self.api("DELETE", f"{RUNS}/{name}")
        return True, words


class Fuzzer:
    def __init__(self, seed, victim):
        self.draw, self.names = random.Random(seed), (*OWN_NAMES, victim, "default", "a")

    def value(self):
        name, pick = self.draw.choice(self.names), self.draw.choice
        return pick([None, [], {}, "x", 10**18, -1, True, name, [name], {"name": name}, {"a": {"b": [{"containers": [CONTAINER]}]}},
                     copy.deepcopy(POD), {"labels": dict(MEMBER)}, "\u202e", "../../api/v1", {"benchd.io/run": name}])

    def hostile(self):
        """A field that a pod, a template or an object might have."""
        name, pick = self.draw.choice(self.names), self.draw.choice
        volume = pick([{"secret": {"secretName": name}}, {"configMap": {"name": name}}, {"persistentVolumeClaim": {"claimName": name}},
                       {"projected": {"sources": [{"secret": {"name": name}}]}}, {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
                       {"hostPath": {"path": "/var/lib"}}, {"csi": {"driver": "d", "nodePublishSecretRef": {"name": name}}}, {"nfs": {"server": "s", "path": "/"}},
                       {"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}},
                                                                       "dataSource": {"kind": "PersistentVolumeClaim", "name": name}}}}}])
        return pick([
            ("serviceAccountName", name), ("serviceAccount", name), ("volumes", [{"name": "v", **volume}]), ("envFrom", [{"secretRef": {"name": name}}]),
            ("env", [{"name": "A", "valueFrom": {"secretKeyRef": {"name": name, "key": "k"}}}]), ("imagePullSecrets", [{"name": name}]),
            ("automountServiceAccountToken", True), ("nodeName", "n"), ("hostNetwork", True), ("hostUsers", False), ("shareProcessNamespace", True),
            ("labels", {**MEMBER, "benchd.io/run-uid": name}), ("labels", dict(OF_BENCHD)), ("ownerReferences", [{"kind": "ReplicaSet", "name": "benchd-x"}]),
            ("initContainers", [{**CONTAINER, "name": "i", "envFrom": [{"secretRef": {"name": name}}]}]), ("finalizers", ["a.b/c"]),
            ("externalIPs", ["203.0.113.7"]), ("type", "NodePort"), ("selector", dict(OF_BENCHD)), ("clusterIP", "10.0.0.9"), ("managedBy", "a.b/c"),
            ("terminationGracePeriodSeconds", 86400), ("priorityClassName", "system-node-critical"), ("schedulerName", "x"), ("kind", "Secret"),
            ("apiVersion", "v1"), ("namespace", "kube-system"), ("name", "benchd"), ("annotations", {"a": "b"}), ("podFailurePolicy", self.value())])

    def maps(self, tree):
        found = [tree] if isinstance(tree, dict) else []
        return found + [one for child in (tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()) for one in self.maps(child)]

    def change(self, tree):
        """The tree with some fields that it should not have, anywhere in it."""
        tree = copy.deepcopy(tree)
        for _ in range(self.draw.choice([0, 0, 1, 1, 2, 4])):
            key, value = self.hostile()
            at = self.draw.choice(self.maps(tree))
            key = key if self.draw.random() < 0.85 or not at else self.draw.choice(sorted(at))
            at[key] = copy.deepcopy(value if self.draw.random() < 0.85 else self.value())   # a later change must not reach CONTAINER
        return tree

    def pointers(self, tree, path=""):
        items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
        return [path] + [one for key, child in items for one in self.pointers(child, f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}")]

    def path(self, tree):
        more = ["/kind", "/apiVersion", "/metadata", "/metadata/name", "/metadata/labels", "/metadata/labels/benchd.io~1role", "/metadata/ownerReferences",
                "/spec", "/spec/template/metadata/labels/benchd.io~1run-uid", "/spec/template/spec/volumes/-", "/-", "/",
                "/spec/template/spec/containers/0/envFrom/-", "/spec/template/spec/serviceAccountName", "/metadata/managedFields/0/fieldsV1"]
        base = self.draw.choice(self.pointers(tree)[1:] + more)
        return base if self.draw.random() < 0.7 else f"{base}/{self.hostile()[0]}"

    def job(self):
        kinds = [(api, kind) for kind, api in (("Pod", "v1"), ("Secret", "v1"), ("CronJob", "batch/v1"), ("Deployment", "apps/v1"), ("ConfigMap", "v1"),
                 ("Service", "v1"), ("RoleBinding", "rbac.authorization.k8s.io/v1"), ("Job", "batch/v1/../v1"), ("Job", "batch/v9"), ("JobSet", "jobset.x-k8s.io/v1"))]
        api, kind = ("batch/v1", "Job") if self.draw.random() < 0.8 else self.draw.choice(kinds)
        return self.change({**JOB, "apiVersion": api, "kind": kind})

    def set(self, template):
        item = {"path": self.path(template)}
        which = self.draw.random()
        item.update({"from": "s"} if which < 0.3 else {"object": "x"} if which < 0.4 else {"value": self.draw.choice([self.value(), self.hostile()[1]])})
        return item

    def extra(self):
        kinds = [*OBJECTS, extra("ServiceAccount", "v1"), extra("RoleBinding", "rbac.authorization.k8s.io/v1"), extra("Lease", "coordination.k8s.io/v1", spec={})]
        good = [extra("ConfigMap", "v1", data={"a": "b"}), extra("Service", "v1", spec={"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 1}]}),
                extra("ResourceClaimTemplate", "resource.k8s.io/v1", spec={"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "d"}}]}}})]
        return self.change(self.draw.choice(good if self.draw.random() < 0.75 else kinds))

    def definition(self):
        if self.draw.random() < 0.2:
            return of_pods(self.change(POD))
        template = self.job()
        sets = [self.set(template) for _ in range(self.draw.choice([0, 0, 1, 1, 2]))]
        path = "/spec/template" if self.draw.random() < 0.85 else self.path(template)
        pods = {"add": self.change(POD)} if self.draw.random() < 0.2 else {}
        made = of_job(template, sets, path, [self.extra() for _ in range(self.draw.choice([0, 0, 1, 2]))], **pods)
        if any(item.get("from") for item in sets):
            made["parameters"], made["sweep"] = [{"name": "s"}], {"grid": {"workers": [1], "s": [self.draw.choice(self.names)]}}
        return made


def memory_mib(daemon):
    """The most that it has ever had."""
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text())[1]) / 1024


def install(cluster, manifests):
    k = cluster.kubectl
    k("apply", "-f", manifests / "benchmark-crd.yaml")
    k("apply", "-f", manifests / "namespace.yaml")
    k("apply", *(word for name in ("rbac", "admission-policy", "network-policy", "service") for word in ("-f", manifests / f"{name}.yaml")), "-n", "benchd")
    jobs = [manifests / "jobs" / f"{name}.yaml" for name in ("job", "objects")]
    k("apply", "-n", "benchd", *(word for path in jobs if path.exists() for word in ("-f", path)))
    cluster.wait_for_kinds()
    k("create", "secret", "generic", "benchd-archive", "-n", "benchd", f"--from-literal=AWS_SECRET_ACCESS_KEY={SECRET_WORDS}")
    refused = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {**POD["spec"], "serviceAccountName": "benchd"}}
    wait_until(lambda: "own ServiceAccount" in k("create", "-n", "benchd", "--dry-run=server", "-f", "-", stdin=json.dumps(refused), check=False).stderr,
               120, "the policy is in force")

    def of_benchd(_cluster, user, _config):
        user.clear()
        user["token"] = k("create", "token", "benchd", "-n", "benchd", "--duration=12h").stdout.strip()
    return cluster.make_kubeconfig("of-benchd", of_benchd)


def measure_victim(t, cluster, daemon):
    """A finished run of somebody else: its results, and the name of its key."""
    api, kubelet = Api(cluster), Kubelet(cluster)
    body = {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "victim"}, "spec": {"definition": of_pods(POD)}}
    status, made = api("POST", RUNS, body)
    t.equal(201, status, f"the run of another is created {made.get('message', '')}")

    def ends():
        kubelet.end_all()
        return (api.get(f"{RUNS}/victim") or {}).get("status", {}).get("phase") in FINAL
    wait_until(ends, 240, "the run of another ends")
    return f"victim-{made['metadata']['uid'][:8]}-key", daemon.results("victim")


def check_rows(t, creator):
    for what, spec, words in REFUSED:
        _, said = creator.try_one(spec)
        t.match(words, said, f"refused: {what}")
    for method, path in (("GET", RUNS), ("DELETE", f"{RUNS}/victim"), ("PATCH", f"{RUNS}/victim"), ("GET", f"{NS}/secrets"), ("GET", f"{NS}/pods"),
                         ("POST", f"{NS}/pods"), ("GET", f"{NS}/services/benchd/proxy/api/v1/runs")):
        t.equal(403, creator.ask(method, path, {} if method != "GET" else None)[0], f"the account may not {method} {path}")
    _, said = creator.try_one(of_job(objects=[extra("ConfigMap", "v1", data={"a": "b"}), HEADLESS]))

    def made():
        return {kind for kind, _ in creator.seen.of(f"r{creator.n}")}
    all_seen = becomes(lambda: {"Job", "ConfigMap", "Service", "Pod"} <= made(), SETTLE_S)   # each kind has its own watch: the pod's may be the first
    t.ok(all_seen, "taken: a Job with a ConfigMap and a Service", f"{made()}: {said}")


def check_fuzz(t, creator, seed, runs, victim):
    fuzzer, n_accepted, refused = Fuzzer(seed, victim), 0, 0
    for n in range(runs):
        accepted, words = creator.try_one(fuzzer.definition())
        n_accepted += accepted
        refused += "is benchd's own" in words or "is reserved" in words or "not one of" in words
        if creator.daemon.process.poll() is not None:
            t.ok(False, f"benchd runs after definition {n}", creator.daemon.log.read_text()[-3000:])
            break
    print(f"# seed {seed}: {runs} definitions, {n_accepted} taken by the API server, {refused} refused by a rule of benchd", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=69)
    parser.add_argument("--manifests", type=pathlib.Path, default=tap.ROOT / "manifests")
    args = parser.parse_args()
    t = tap.Tap()
    with Cluster(parts=CONTROLLERS, namespace=None) as cluster:
        config = install(cluster, args.manifests)
        seen = Seen(cluster)
        creator = Creator(cluster, seen)
        options = ("--kubeconfig", config, "--replica-account", "benchd-replica", "--network-policy")
        with Benchd(cluster, *options) as daemon:
            creator.daemon = daemon
            wait_until(lambda: "holding the lease" in daemon.log.read_text(), 180, "benchd is ready")
            victim, before = measure_victim(t, cluster, daemon)
            existing = {item["metadata"]["uid"] for kind in ("pods", "secrets", "services", "configmaps", "serviceaccounts")
                        for item in creator.api.get(f"{NS}/{kind}")["items"]}
            seen.judge = lambda kind, item: "" if item["metadata"]["uid"] in existing or is_installed(kind, item) else judge(kind, item)
            seen.start()
            check_rows(t, creator)
            check_fuzz(t, creator, args.seed, args.runs, victim)
            t.equal([], seen.wrong, f"of {seen.n_kinds} kinds, {len(seen.by_uid)} objects: none that benchd may not make")
            t.equal(before, daemon.results("victim"), "the results of another are as before")
            t.ok(SECRET_WORDS not in daemon.log.read_text(), "no Secret is in benchd's log")
            if t.ok(daemon.process.poll() is None, "benchd has not ended", daemon.log.read_text()[-3000:]):
                used = memory_mib(daemon)
                t.ok(used < LIMIT_MIB, f"benchd had {used:.0f} MiB at most", f"limit {LIMIT_MIB} MiB")
            seen.is_over = True
    return t.done()


def is_installed(kind, item):
    """Of the manifests, of this test or of Kubernetes, and not of a run."""
    name = item["metadata"]["name"]
    return (kind in ("Role", "RoleBinding", "NetworkPolicy", "EndpointSlice", "Endpoints") and
            (name in ("default-deny", "create-runs") or re.fullmatch(r"benchd(-[a-z0-9]+)?", name) is not None)) or name.startswith("victim")


if __name__ == "__main__":
    sys.exit(main())
