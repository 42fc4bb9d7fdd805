#!/usr/bin/env python3
"""docs/own-cluster.md on the real node: the commands of its blocks, with this node's registry, chart and image of kubectl in place of the
page's names. The registry is Debian's, demands a password, and has the images of the build tree; nothing else on the node has them. No
network plugin here enforces policies, so a program evaluates that of a run.

BENCHD_BUILD_DIR names the build tree whose programs go into the images, BENCHCTL the program."""
import ipaddress
import json
import re
import shutil
import sys

import kubeconfigs
import mkimage
import tap
from cluster import ClusterError, becomes, programs
from machine import why_not
from node import Node
from user import GONE_S, SWEEP, User, definition, shell

PAGE = (tap.ROOT / "docs" / "own-cluster.md").read_text(encoding="utf-8")
REGISTRY = "localhost:5000"   # containerd speaks http to this name
TEAM = f"{REGISTRY}/team"
NO_IDS = re.search(r"`--set (podSecurityContext[^`]+)`", PAGE)[1]
CHART = f"{tap.ROOT}/packaging/helm/benchd --set {NO_IDS},image.repository={TEAM}/benchd,imagePrefix={TEAM},imagePullSecrets[0].name=regcred"
NAMES = {"registry.example": REGISTRY, "CHART": CHART}
KUBECTL = "registry.example/kubectl:1.33"   # of manifests/nightly.yaml
PASSWORD = "U:$2y$05$abcdefghijklmnopqrstuuZQfx2P0o5hORWyTOgKHOAAtsb6PA8Jm\n"   # P, as htpasswd writes it
SMALL = [*SWEEP[:3], "--set", "trainers=1", "--set", "batch_size=2", "--set", "cpu=300m", "--set", "memory=512Mi", "--steps", "2", "--repeats", "1"]

# What SCC restricted-v2 of OpenShift does with users: a pod has that of its namespace, and one that names a user is refused (a list of one has no [1]).
IDS = """
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: ids}, spec: {failurePolicy: Fail, reinvocationPolicy: Never,
  matchConstraints: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team-b}},
                     resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]},
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{spec: Object.spec{securityContext: Object.spec.securityContext{
    fsGroup: 1000690000, runAsUser: [1000690000][has(object.spec.securityContext.runAsUser) || has(object.spec.securityContext.fsGroup) ? 1 : 0]}}}"}}]}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: ids}, spec: {policyName: ids}}
"""


def blocks(heading, language=""):
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [text for kind, text in re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", section) if kind == language]


class Typist:
    """Types into a shell in a folder that has the manifests, of which benchd's own image is in the registry."""

    def __init__(self, t, node, sh):
        self.t, self.node, self.sh = t, node, sh

    def __call__(self, text, code=0):
        for theirs, ours in NAMES.items():
            text = text.replace(theirs, ours)
        self.sh.type(text)
        lines = list(self.sh.lines())
        print("".join(f"# {line}\n" for line in (*text.splitlines(), *lines)), end="", flush=True)
        self.t.equal(code, self.sh.code, text.splitlines()[0])
        return "\n".join(lines)


def start_registry(node):
    (node.dir / "htpasswd").write_text(PASSWORD, encoding="ascii")
    config = node.dir / "registry.json"
    auth = {"htpasswd": {"realm": "team", "path": str(node.dir / "htpasswd")}}
    config.write_text(json.dumps({"version": "0.1", "storage": {"filesystem": {"rootdirectory": str(node.dir / "registry")}},
                                  "http": {"addr": ":5000"}, "auth": auth}), encoding="ascii")
    node.cluster.start("registry", "docker-registry", "serve", config)


def push(node, name):
    """The image of the build tree, which then is in the registry alone."""
    node.load(name)
    local = mkimage.image_name(name)
    remote = local.replace("benchd.local", TEAM)
    for words in (("tag", local, remote), ("push", "--plain-http", "--user", "U:P", remote), ("rm", "--sync", local, remote)):
        done = node.cluster.run("ctr", "-a", node.dir / "cd.sock", "-n", "k8s.io", "images", *words)
        if done.returncode != 0:
            raise ClusterError(f"ctr images {' '.join(words)}: {done.stderr}{node.cluster.log_tail('registry')}")


def waits(user, namespace, run):
    found = json.loads(user.k("get", "bmr", run, "-n", namespace, "-o", "json").stdout).get("status", {}).get("conditions", [])
    return next(((item["reason"], item["message"]) for item in found if item["type"] == "Waiting" and item["status"] == "True"), None)


def check_registry(t, user, types):
    types("kubectl apply -f manifests/benchmark-crd.yaml && kubectl apply -k manifests")
    stuck = ["get", "pods", "-n", "benchd", "-o", "jsonpath={..waiting.message}"]
    t.ok(becomes(lambda: "401 Unauthorized" in user.k(*stuck).stdout or "no basic auth" in user.k(*stuck).stdout, GONE_S),
         "the registry refuses benchd's image without a password", user.k(*stuck).stdout)
    secret, = blocks("Your own registry")
    types(secret)
    types("kubectl rollout status deployment/benchd -n benchd --timeout=200s")
    run = " ".join(["benchctl run", *SMALL, "--image-prefix registry.example/team -o json"])
    types("""kubectl patch serviceaccount benchd-replica -n benchd -p '{"imagePullSecrets": null}'""")
    types(f"{run} 2> refused & until grep -q ^run/ refused; do sleep 0.1; done; kill %%")
    name = re.search(r"(?m)^run/(\S+) created", (user.node.dir / "own" / "refused").read_text())[1]
    t.ok(becomes(lambda: (waits(user, "benchd", name) or [""])[0] == "ImagePullFails", GONE_S), "a run whose account has no secret waits", name)
    print("#", waits(user, "benchd", name), flush=True)
    types(f"benchctl delete {name}")
    types(secret.partition("\n")[2])
    types("kubectl rollout status deployment/benchd -n benchd --timeout=200s")
    t.equal("Succeeded", json.loads(types(f"{run} --quiet"))["phase"], "with the secret the run succeeds")


def allows(policy, address, port, protocol, labels=None):
    """Whether a policy lets its pods connect there; labels: those of the pod of the same namespace that has the address; None: of no pod."""
    def is_peer(peer):
        if "ipBlock" in peer:
            return ipaddress.ip_address(address) in ipaddress.ip_network(peer["ipBlock"]["cidr"])
        wanted = peer.get("podSelector", {}).get("matchLabels", {})
        return labels is not None and wanted.items() <= labels.items()
    return any(any(is_peer(peer) for peer in rule["to"]) and ("ports" not in rule or {"port": port, "protocol": protocol} in rule["ports"])
               for rule in policy["egress"])


def check_policy(t, policy):
    own = policy["podSelector"]["matchLabels"]
    for what, expected, *to in (
            ("kube-dns", True, "10.98.0.9", 53, "UDP", {"k8s-app": "kube-dns"}), ("kube-dns over TCP", True, "10.98.0.9", 53, "TCP", {}),
            ("NodeLocal DNSCache", True, "169.254.20.10", 53, "UDP"), ("the DNS of OpenShift", True, "10.98.0.9", 5353, "UDP", {}),
            ("its own replicas", True, "10.98.0.8", 29500, "TCP", own),
            ("replicas of another run", False, "10.98.0.8", 29500, "TCP", {**own, "benchd.io/run": "x"}),
            ("another DNS", False, "192.0.2.1", 53, "UDP"), ("the metadata of a cloud", False, "169.254.169.254", 80, "TCP"),
            ("the API server", False, "10.96.0.1", 443, "TCP")):
        t.equal(expected, allows(policy, *to), f"a run's policy and {what}")


def check_teams(t, user, types, folder):
    """Each has a run, team-b as in OpenShift, and the account of no team may do anything in the other's namespace."""
    user.k("apply", "-f", "-", stdin=IDS)
    (folder / "team-a").mkdir()
    (folder / "team-a" / "kustomization.yaml").write_text(blocks("Several teams", "yaml")[0], encoding="utf-8")
    secret, = blocks("Your own registry")
    types("kubectl apply -f manifests/node-reader.yaml")
    types("kubectl create namespace team-b && " + secret.partition("\n")[0].replace("-n benchd", "-n team-b"))
    for block in blocks("Several teams"):
        types(block)
    types(secret.replace("-n benchd", "-n team-a"))
    body = definition("x")
    spec = body["spec"]["roles"]["trainer"]["template"]["spec"]   # and the pserver's
    spec["securityContext"] = {"runAsNonRoot": True, "fsGroup": None, "seccompProfile": {"type": "RuntimeDefault"}}
    pod = user.write({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "own"}, "spec": spec})
    may = [f"{verb} {kind}" for kind in ("pods", "bmr") for verb in ("get", "delete --all")]
    may_not = ["get secrets", "get leases", "get serviceaccounts", "delete --all secrets", "get nodes", f"delete node {user.node.name}"]
    for team, other, what in (("team-a", "team-b", [*SMALL, "--image-prefix", TEAM]), ("team-b", "team-a", ["-f", str(user.write(body))])):
        types(f"kubectl rollout status deployment/benchd -n {team} --timeout=200s")
        types(" ".join(["benchctl run -n", team, *what]))
        config = user.cluster.make_kubeconfig(team, kubeconfigs.set_token(user.k("create", "token", "benchd", "-n", team).stdout.strip()))

        def ask(words, where=team, config=config):
            return user.k(f"--kubeconfig={config}", *words.split(), f"--namespace={where}", check=False).stderr
        t.equal([], [words for words in may if "Forbidden" in ask(words)], f"{team}: what its benchd may do")
        t.equal("", ask(f"get node {user.node.name}"), f"{team}: and get a node")
        t.equal([], [words for words in may_not if "Forbidden" not in ask(words)], f"{team}: what it may not")
        t.equal([], [words for words in (*may, *may_not, f"create -f {pod}") if "Forbidden" not in ask(words, other)], f"{team}: nothing in {other}")
        t.match("ValidatingAdmissionPolicy 'benchd-replicas", ask(f"create -f {pod}"), f"{team}: and no pod that has a token")
    t.equal("1000690000", user.k("get", "pods", "-n", "team-b", "-o", "jsonpath={.items[*].spec.securityContext.runAsUser}").stdout, "benchd's user in team-b")


def check_nightly(t, user, types):
    program = user.node.cluster.programs["kubectl"].resolve().read_bytes()
    user.node.load_archive(mkimage.make_busybox(KUBECTL, user.node.dir / "kubectl.tar", ["/bin/kubectl"], {"/bin/kubectl": program}))
    path = user.write(definition("train", image=f"{TEAM}/benchworker:{mkimage.VERSION}"))
    types(f"kubectl apply -n benchd -f {path}")   # the Benchmark that the file names
    for block in blocks("GitOps and nightly runs"):
        types(block)
    runs = ["get", "bmr", "-n", "benchd", "-o", "jsonpath={range .items[*]}{.metadata.name}={.status.phase} {end}"]
    t.ok(becomes(lambda: re.search(r"\bnightly-\w+=Succeeded", user.k(*runs).stdout), GONE_S), "the Job makes a run, which succeeds",
         (user.k(*runs).stdout, user.k("get", "events", "-n", "benchd").stdout))


def main():
    tap.skip_if(why_not() or (None if shutil.which("docker-registry") else "this test needs docker-registry (script/packages.txt)"))
    t = tap.Tap()
    with Node(namespace=None) as node:
        start_registry(node)
        for name in ("benchd", "benchworker"):
            push(node, name)
        for name in ("own", "team-a", "team-b"):
            node.local_volume(name)
        user = User(t, node)
        with shell(node, "own", BENCHCTL_PATH=str(tap.ROOT / "benchmarks")) as sh:
            folder = node.dir / "own"
            shutil.copytree(tap.ROOT / "manifests", folder / "manifests")
            top = folder / "manifests" / "kustomization.yaml"
            top.write_text(top.read_text().replace("{name: benchd.local/benchd,", f"{{name: benchd.local/benchd, newName: {TEAM}/benchd,"))
            (node.dir / "own-programs" / "helm").symlink_to(programs("helm")["helm"])
            types = Typist(t, node, sh)
            check_registry(t, user, types)
            check_nightly(t, user, types)
            policies = user.k("get", "networkpolicies", "-n", "benchd", "-l", "benchd.io/run", "-o", "json").stdout
            check_policy(t, json.loads(policies)["items"][0]["spec"])
            check_teams(t, user, types, folder)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
