"""Kueue next to a cluster, and JobSet and Kubeflow Trainer, whose kinds people run: the real programs, with their kinds and webhooks.

    with Cluster(parts=CONTROLLERS, kwok=kwok.without_ends) as cluster:
        kueue.start(cluster, "kueue", "jobset", "trainer")
        kueue.make_queue(cluster, "team", cpus=40)

They listen on loopback with the API server's own certificate, and end with the cluster.
"""
import base64
import json
import os
import re
import subprocess
import sys

from cluster import START_S, ClusterError, free_port, programs, wait_until

VERSION = "kueue.x-k8s.io/v1beta2"
FRAMEWORKS = {"kueue": ("batch/job", "pod"), "jobset": ("jobset.x-k8s.io/jobset",), "trainer": ("trainer.kubeflow.org/trainjob",)}
CONVERTED = "localqueues|clusterqueues|cohorts|workloads|multikueueclusters"   # between versions, by Kueue
CERTS = "k8s-webhook-server/serving-certs"   # where Trainer looks below TMPDIR
# Without certificates of its own making Kueue insists on a pair in /etc/kueue/metrics/certs: it gets an /etc for itself.
UNSHARE = ("unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]))
OWN_ETC = (*UNSHARE, "sh", "-ec", 'mount --bind etc /etc; exec "$@"', "sh")


def missing():
    """Why Kueue cannot run here."""
    return subprocess.run([*UNSHARE, "true"], capture_output=True, text=True, check=False).stderr.strip()


def start(cluster, *names):
    """Returns when each of these is ready and its webhooks are asked."""
    found = programs(*names)
    folders = {name: found[name].parent.parent for name in names}
    ports = {name: (free_port(), free_port()) for name in names}
    for folder in (CERTS, "etc/kueue/metrics/certs"):
        (cluster.dir / folder).mkdir(parents=True)
        for name, file in (("tls.crt", "apiserver.crt"), ("tls.key", "apiserver.key")):
            (cluster.dir / folder / name).write_bytes((cluster.dir / "pki" / file).read_bytes())
    for name in names:
        _apply_kinds(cluster, folders[name] / "crd.yaml", ports[name][0])
    cluster.restart("kube-controller-manager")   # its garbage collector looks for new kinds every 30 s only
    for name in names:
        config = cluster.dir / f"{name}.yaml"
        config.write_text(json.dumps(_configuration(cluster, name, names, *ports[name])))
        cluster.start(name, *(OWN_ETC if name == "kueue" else ()), "env", f"TMPDIR={cluster.dir}", f"KUBECONFIG={cluster.kubeconfig}",
                      "POD_NAMESPACE=benchd", found[name], f"--config={config}")
    for name in names:
        ready = f"import urllib.request as r; r.urlopen('http://127.0.0.1:{ports[name][1]}/readyz')"
        if not cluster.wait_for(name, lambda ready=ready: cluster.run(sys.executable, "-c", ready).returncode == 0):
            raise ClusterError(f"{name} ended:\n{cluster.log_tail(name)}")
        webhooks = re.sub("(?m)^  name: (?=mutating-|validating-)", f"  name: {name}-", (folders[name] / "webhooks.yaml").read_text())
        cluster.kubectl("create", "-f", "-", stdin=re.sub(
            r"clientConfig:\n +service:\n +name: .*\n +namespace: .*\n +path: (.*)",
            lambda found, port=ports[name][0]: f"clientConfig: {_client(cluster, port, found[1])}", webhooks))
    if "trainer" in names:
        cluster.kubectl("create", "-f", folders["trainer"] / "runtimes.yaml")


def make_queue(cluster, name, cpus, labels=None, **more):
    """A ClusterQueue of one flavor, whose nodes have these labels, and a LocalQueue, all of this name. more: of the ClusterQueue's spec."""
    quota = [{"name": "cpu", "nominalQuota": cpus}, {"name": "memory", "nominalQuota": "100Ti"}]
    spec = {"namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"}, **more, "resourceGroups": [
        {"coveredResources": ["cpu", "memory"], "flavors": [{"name": name, "resources": quota}]}]}
    kinds = {"ResourceFlavor": {"nodeLabels": labels or {}}, "ClusterQueue": spec, "LocalQueue": {"clusterQueue": name}}
    items = [{"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": of_it} for kind, of_it in kinds.items()]
    cluster.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    cluster.kubectl("wait", "--for=condition=Active", f"localqueue/{name}", f"clusterqueue/{name}", "--timeout=60s")


def _client(cluster, port, path):
    ca = base64.b64encode((cluster.dir / "pki/ca.crt").read_bytes()).decode()
    return json.dumps({"url": f"https://127.0.0.1:{port}{path}", "caBundle": ca})


def _apply_kinds(cluster, file, port):
    """--server-side: a copy of a kind is too large for an annotation of it."""
    conversion = f"  conversion: {{strategy: Webhook, webhook: {{conversionReviewVersions: [v1], clientConfig: {_client(cluster, port, '/convert')}}}}}\n"
    text = re.sub(rf"(?m)^  name: ({CONVERTED})\.kueue\.x-k8s\.io\nspec:\n", lambda found: found[0] + conversion, file.read_text())
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=text)
    wait_until(lambda: cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", file, check=False).returncode == 0,
               START_S, f"the kinds of {file} are established")


def _configuration(cluster, name, names, port, health):
    config = {"kind": "Configuration", "leaderElection": {"leaderElect": False}, "metrics": {"bindAddress": "0"},
              "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"}, "webhook": {"host": "127.0.0.1", "port": port}}
    if name == "trainer":
        return {**config, "apiVersion": "config.trainer.kubeflow.org/v1alpha1", "certManagement": {"enable": False}}
    config["webhook"]["certDir"] = str(cluster.dir / CERTS)
    config["internalCertManagement"] = {"enable": False}
    if name == "jobset":
        return {**config, "apiVersion": "config.jobset.x-k8s.io/v1alpha1"}
    return {**config, "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "featureGates": {"VisibilityOnDemand": False},   # it insists on certificates at a fixed place too
            "integrations": {"frameworks": [framework for one in names for framework in FRAMEWORKS[one]]}}
