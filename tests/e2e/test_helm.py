#!/usr/bin/env python3
"""The Helm chart: with Helm itself, and against a real API server. It installs what manifests/ installs, upgrades from another
version, and keeps results and kinds when it is removed.
"""
import json
import pathlib
import re
import shutil
import sys
import tempfile

import mkimage
import tap
from cluster import CONTROLLERS, Cluster, built, programs

sys.path.insert(0, str(tap.ROOT / "packaging"))
import archive

CHART = tap.ROOT / "packaging" / "helm" / "benchd"
MANIFESTS = tap.ROOT / "manifests"
KEEP = {"helm.sh/resource-policy": "keep"}
KEPT = {"CustomResourceDefinition/benchmarks.benchd.io", "CustomResourceDefinition/benchmarkruns.benchd.io",
        "Namespace/benchd", "PersistentVolumeClaim/benchd"}
RUN = {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "kept", "namespace": "benchd"},
       "spec": {"benchmarkRef": {"name": "x"}}}

# Every value of the schema, none with its default but those that OTHERS has.
EVERY = {
    "image": {"repository": "registry.example/b", "tag": "v7", "digest": "sha256:" + "0" * 64, "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "s"}], "extraArgs": ["--keep", "90d"], "extraEnv": [{"name": "AWS_CA_BUNDLE", "value": "/etc/own/ca.crt"}],
    "extraVolumes": [{"name": "own", "configMap": {"name": "authorities"}}],
    "extraVolumeMounts": [{"name": "own", "mountPath": "/etc/own", "readOnly": True}], "serviceAccount": {"annotations": {"cloud.example/role": "r"}},
    "storage": {"size": "5Gi", "className": "fast", "existingClaim": "mine"}, "imagePrefix": "registry.example/team", "archive": {"url": "s3://b/p", "secretName": "aws"}, "tls": {"secretName": "cert"},
    "resources": {"requests": {"cpu": 1}, "limits": {"memory": "1Gi"}}, "nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "bench"}],
    "affinity": {"nodeAffinity": {}}, "podSecurityContext": {"runAsUser": 7, "runAsGroup": 0, "fsGroup": 8}, "podAnnotations": {"a": "b"}, "podLabels": {"team": "a", "app.kubernetes.io/name": "other"},
    "crds": {"create": True}, "namespace": {"create": True}, "admissionPolicy": {"create": True}, "kueue": {"create": True},
    "networkPolicy": {"create": True, "readers": [{"ipBlock": {"cidr": "192.0.2.1/32"}}], "egress": [{"ports": [{"port": 9000, "protocol": "TCP"}]}]},
    "jobs": ["job", "jobset", "trainjob", "mpijob", "rayjob", "objects"], "nodeReader": {"create": True},
    "serviceMonitor": {"create": True, "labels": {"release": "kps"}, "interval": "5s"},
    "prometheusRule": {"create": True, "labels": {"release": "kps"}, "job": "lab", "runbook": "https://wiki.example"},
    "dashboards": {"create": True, "labels": {"own_dashboard": "1"}, "annotations": {"grafana_folder": "B"}},
}
# Those that have no effect next to the ones above.
OTHERS = {"image": {"tag": "v7"}, "storage": {"size": "5Gi", "className": "fast"},
          **{name: {"create": False} for name in ("crds", "admissionPolicy", "networkPolicy")}}
# Values that the schema refuses: (option, a word of the refusal).
WRONG = [
    ("--set=imag.repository=x", "imag"),
    ("--set=image.tga=1", "tga"),
    ("--set=image.pullPolicy=Sometimes", "pullPolicy"),
    ("--set=storage.size=much", "size"),
    ("--set=extraArgs=--debug", "extraArgs"),
    ("--set=crds.create=yes", "create"),
    ("--set-json=networkPolicy.readers=[{}]", "readers"),
    ("--set=serviceMonitor.interval=often", "interval"),
    ("--set=prometheusRule.runbook=", "runbook"),
    ("--set=archive.url=http://x", "url"),
    ("--set=image.digest=latest", "digest"),
]


class Helm:
    def __init__(self, cluster):
        self.cluster = cluster
        self.program = programs("helm")["helm"]
        self.home = cluster.dir / "helm"

    def __call__(self, *words, stdin=None):
        """The ended process."""
        env = {f"HELM_{kind}_HOME": str(self.home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}
        return self.cluster.run(self.program, *map(str, words), stdin=stdin, env=env)

    def objects(self, *options, chart=CHART):
        """What it renders, as {kind/name: object}."""
        done = self("template", "benchd", chart, "--namespace=benchd", *options)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return self.cluster_objects(done.stdout)

    def cluster_objects(self, text):
        """YAML as objects, by kubectl."""
        out = self.cluster.kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-", stdin=text).stdout
        items = {}
        while out.strip():   # one object after another
            item, end = json.JSONDecoder().raw_decode(out.lstrip())
            out = out.lstrip()[end:]
            items.update({f"{one['kind']}/{one['metadata']['name']}": one for one in item.get("items", [item])})
        return items


def check_lint(t, helm):
    done = helm("lint", "--strict", CHART)
    t.equal((0, True), (done.returncode, "0 chart(s) failed" in done.stdout), "helm lint --strict")
    t.ok("WARNING" not in done.stdout + done.stderr, "without a warning", done.stdout + done.stderr)
    about = (CHART / "Chart.yaml").read_text()
    t.equal({mkimage.VERSION}, set(re.findall(r"(?m)^(?:version|appVersion): (\S+)$", about)), "the chart is of this version")
    for option, word in WRONG:
        done = helm("template", "benchd", CHART, option)
        t.ok(done.returncode != 0 and word in done.stderr, f"the schema refuses {option}", done.stderr)


def check_same_as_kustomize(t, helm):
    """Equal but for the word that keeps four objects, and the labels that say who manages them."""
    def managed_by_helm(labels):
        t.equal(f"benchd-{mkimage.VERSION}", labels.pop("helm.sh/chart", None), "the label of the chart")
        return {**labels, "app.kubernetes.io/managed-by": {"Helm": "kustomize"}.get(labels["app.kubernetes.io/managed-by"])}

    k = helm.cluster.kubectl
    expected = helm.cluster_objects(k("kustomize", MANIFESTS).stdout)
    expected.update(helm.cluster_objects((MANIFESTS / "benchmark-crd.yaml").read_text()))
    actual = helm.objects("--set=namespace.create=true")
    kept = {name for name, item in actual.items() if KEEP.items() <= item["metadata"].get("annotations", {}).items()}
    t.equal(KEPT, kept, "what helm uninstall keeps")
    for name in kept:
        del actual[name]["metadata"]["annotations"]["helm.sh/resource-policy"]
        if not actual[name]["metadata"]["annotations"]:
            del actual[name]["metadata"]["annotations"]
    for item in [*(item for item in actual.values() if item["kind"] != "CustomResourceDefinition"), actual["Deployment/benchd"]["spec"]["template"]]:
        item["metadata"]["labels"] = managed_by_helm(item["metadata"]["labels"])
    t.equal(set(expected), set(actual), "the same objects as kubectl kustomize manifests, and the kinds")
    for name in sorted(expected):
        t.equal(json.dumps(expected[name], sort_keys=True), json.dumps(actual.get(name), sort_keys=True), f"{name} is equal")


def check_archive(t, helm, folder):
    """What script/release makes of it."""
    path = archive.make_chart(CHART, folder / "chart.tgz", 0)
    t.equal(helm.objects(), helm.objects(chart=path), "the chart's archive gives the same objects as its folder")


def find(tree, key):
    """What has this key, anywhere."""
    if isinstance(tree, dict):
        return [value for name, value in tree.items() if name == key] + [found for value in tree.values() for found in find(value, key)]
    return [found for value in tree for found in find(value, key)] if isinstance(tree, list) else []


def without_release(objects):
    """Without the labels that say which release made them, as kubectl apply -f makes them of a file."""
    for item in objects.values():
        labels = item["metadata"]["labels"]
        item["metadata"]["labels"] = {key: value for key, value in labels.items() if key.endswith(("/name", "/part-of", "/component"))}
    return objects


def check_values(t, helm):
    def pod(*options):
        return helm.objects(*options)["Deployment/benchd"]["spec"]["template"]["spec"]

    changed = pod("--set=nodeSelector.disk=ssd,tolerations[0].key=bench,affinity.nodeAffinity=null,resources.limits.memory=1Gi")
    t.equal(({"disk": "ssd"}, [{"key": "bench"}], "1Gi"),
            (changed["nodeSelector"], changed["tolerations"], changed["containers"][0]["resources"]["limits"]["memory"]),
            "nodeSelector, tolerations and resources")

    plain = pod()
    t.equal(set(), {str(probe) for probe in find(plain, "httpGet") if "scheme" in probe}, "probes speak HTTP")
    tls = pod("--set=tls.secretName=cert")
    t.equal((3, {"HTTPS"}), (len(find(tls, "httpGet")), {probe["scheme"] for probe in find(tls, "httpGet")}), "tls: and HTTPS")
    volume = next(row for row in tls["volumes"] if row.get("secret"))
    mount = next(row for row in tls["containers"][0]["volumeMounts"] if row["name"] == volume["name"])
    t.equal(("cert", ["--tls-cert", f"{mount['mountPath']}/tls.crt", "--tls-key", f"{mount['mountPath']}/tls.key"]),
            (volume["secret"]["secretName"], tls["containers"][0]["args"][-4:]), "tls: the files of the Secret")
    kept = pod("--set=archive.url=s3://b/p,archive.secretName=aws")["containers"][0]
    t.equal((["--archive", "s3://b/p"], [{"secretRef": {"name": "aws"}}]), (kept["args"][-2:], kept["envFrom"]), "archive")

    kueue = helm.cluster_objects((MANIFESTS / "kueue.yaml").read_text())
    shown = helm.objects("--set=kueue.create=true")
    t.equal(kueue, without_release({name: shown[name] for name in kueue}), "kueue.create gives the objects of manifests/kueue.yaml")
    t.equal(set(kueue), set(shown) - set(helm.objects()), "and no other")
    jobs = {path.stem: helm.cluster_objects(path.read_text()) for path in (MANIFESTS / "jobs").iterdir()}
    shown = helm.objects(f"--set=jobs={{{','.join(jobs)}}}")
    t.equal({name: item for of_kind in jobs.values() for name, item in of_kind.items()},
            without_release({name: shown[name] for name in set(shown) - set(helm.objects())}), "jobs gives the Roles of manifests/jobs, and no other object")
    reader = {name: item for name, item in helm.objects("--set=nodeReader.create=true").items() if "node-reader" in name}
    t.equal(helm.cluster_objects((MANIFESTS / "node-reader.yaml").read_text()), without_release(reader), "the right to get nodes, as the manifest gives it")

    readers = '[{"ipBlock":{"cidr":"192.0.2.1/32"}},{"namespaceSelector":{"matchLabels":{"benchd.io/reader":"true"}}}]'
    limited = helm.objects(f"--set-json=networkPolicy.readers={readers}")["NetworkPolicy/benchd"]["spec"]["ingress"]
    t.equal([{"ports": [{"port": 8080, "protocol": "TCP"}], "from": json.loads(readers)}], limited, "who may read")


def check_monitoring(t, helm, folder):
    """Each switch; the operator's own kinds, Prometheus and the API server take the objects, and the rules are those of dashboards/."""
    k = helm.cluster.kubectl
    k("apply", "--server-side", "-f", built("prometheus-operator")[0] / "crd.yaml")
    k("wait", "--for=condition=Established", "--timeout=60s", "crd", "servicemonitors.monitoring.coreos.com", "prometheusrules.monitoring.coreos.com")
    before = set(helm.objects())
    for switch, name in (("serviceMonitor", "ServiceMonitor/benchd"), ("prometheusRule", "PrometheusRule/benchd"), ("dashboards", "ConfigMap/benchd-dashboards")):
        items = helm.objects(f"--set={switch}.create=true", f"--set={switch}.labels.release=kps")
        t.equal({name}, set(items) - before, f"{switch} adds one object")
        t.equal("kps", items[name]["metadata"]["labels"]["release"], "with the labels by which it is found")
        done = k("create", "--dry-run=server", "--validate=strict", "-n", "benchd", "-f", "-", stdin=json.dumps(items[name]), check=False)
        t.ok(done.returncode == 0, f"the API server takes the {name}", done.stderr)
        if switch == "dashboards":
            t.equal({path.name: path.read_text() for path in (tap.ROOT / "dashboards").glob("*.json")}, items[name]["data"], "every dashboard")
    secure = helm.objects("--set=serviceMonitor.create=true,tls.secretName=cert")["ServiceMonitor/benchd"]["spec"]["endpoints"][0]
    t.equal(("https", {"secret": {"name": "cert", "key": "ca.crt"}}), (secure["scheme"], secure["tlsConfig"]["ca"]), "over https with its authority")
    rules = ("--set=prometheusRule.create=true", "--set=prometheusRule.job=lab/benchd,prometheusRule.runbook=https://wiki/alerts.md")
    spec = helm.objects(*rules)["PrometheusRule/benchd"]["spec"]
    (folder / "rules.yaml").write_text(json.dumps(spec))
    t.equal(0, helm.cluster.run("promtool", "check", "rules", str(folder / "rules.yaml")).returncode, "promtool check rules")
    alerts = [rule for group in spec["groups"] for rule in group["rules"] if "alert" in rule]
    t.equal((tap.ROOT / "dashboards" / "alerts.yaml").read_text().count("- alert:"), len(alerts), "every alert")
    t.equal([f"https://wiki/alerts.md#{rule['alert'].lower()}" for rule in alerts],
            [rule["annotations"]["runbook_url"] for rule in alerts], "with a link that leads somewhere")
    t.equal(0, len(re.findall('job[=:]."?benchd"', json.dumps(spec).replace("\\", ""))), "of the job that scrapes this one")


def uid(k, *what):
    return k("get", *what, "-o", "jsonpath={.metadata.uid}", check=False).stdout


def older_chart(folder):
    """The chart as another version: another number, another image and an object that this one has not."""
    copy = pathlib.Path(shutil.copytree(CHART, folder / "older", symlinks=False))
    about = copy / "Chart.yaml"
    about.write_text(about.read_text().replace(f"ersion: {mkimage.VERSION}", "ersion: 0.0.9"))
    (copy / "templates" / "gone.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gone}\n")
    return copy


def image(k):
    return k("get", "deployment", "benchd", "-n", "benchd", "-o", "jsonpath={.spec.template.spec.containers[0].image}").stdout


def check_life(t, helm, older):
    """Install, upgrade, remove, install again: the claim, the kinds and a run are the same objects all the time."""
    k = helm.cluster.kubectl
    done = helm("install", "benchd", older, "--namespace=benchd")
    t.equal(0, done.returncode, "helm install of another version")
    helm.cluster.wait_for_kinds()
    k("create", "-f", "-", stdin=json.dumps(RUN))
    things = [("pvc", "benchd", "-n", "benchd"), ("crd", "benchmarks.benchd.io"), ("bmr", "kept", "-n", "benchd")]
    before = [uid(k, *thing) for thing in things]
    t.ok(all(before), "the claim, the kinds and a run are there", before)
    t.equal("benchd.local/benchd:0.0.9", image(k), "with its image")

    done = helm("upgrade", "benchd", CHART, "--namespace=benchd")
    t.ok(done.returncode == 0, "helm upgrade", done.stdout + done.stderr)
    t.equal(mkimage.image_name("benchd"), image(k), "brings this image")
    t.equal("", uid(k, "configmap", "gone", "-n", "benchd"), "and removes what this version has not")
    t.equal(before, [uid(k, *thing) for thing in things], "the claim, the kinds and the run are the same")
    t.equal(0, helm("upgrade", "benchd", CHART, "--namespace=benchd").returncode, "a second upgrade")

    done = helm("uninstall", "benchd", "--namespace=benchd")
    t.ok(done.returncode == 0, "helm uninstall", done.stdout + done.stderr)
    left = k("get", "deployment,service,role,rolebinding,networkpolicy", "-n", "benchd", "-o", "name").stdout
    t.equal("", left, "removes the rest")
    t.equal(before, [uid(k, *thing) for thing in things], "and keeps the claim, the kinds and the run")
    done = helm("install", "benchd", CHART, "--namespace=benchd")
    t.ok(done.returncode == 0, "helm install takes them over again", done.stdout + done.stderr)
    t.equal(before, [uid(k, *thing) for thing in things], "as they are")


def check_every_value(t, helm, folder):
    """The API server takes what all values together give, and it holds what they say."""
    schema = json.loads((CHART / "values.schema.json").read_text())["properties"]
    del schema["global"]   # Helm's own
    keys = {name: row.get("properties") or (["create"] if row.get("$ref", "").endswith("/create") else []) for name, row in schema.items()}
    names = {f"{name}.{key}".rstrip(".") for name in keys for key in keys[name] or [""]}
    told = {f"{name}.{key}".rstrip(".") for name, value in EVERY.items() for key in (value if keys[name] else [""])}
    t.equal(names, told, "every value of the schema is tried")
    t.equal(set(), names - set(re.findall(r"[\w.]+", (CHART / "README.md").read_text())), "and explained in the chart's README")
    (folder / "every.yaml").write_text(json.dumps(EVERY))
    helm.cluster.kubectl("create", "namespace", "every")
    done = helm("install", "--take-ownership", "benchd", CHART, "--namespace=every", "--values", folder / "every.yaml")
    t.ok(done.returncode == 0, "helm install with every value", done.stdout + done.stderr)

    def get(*what):
        return json.loads(helm.cluster.kubectl("get", "-n", "every", "-o", "json", *what).stdout)
    template = get("deployment", "benchd")["spec"]["template"]
    container, volumes = template["spec"]["containers"][0], template["spec"]["volumes"]
    t.equal("registry.example/b@" + EVERY["image"]["digest"], container["image"], "the digest in place of the tag")
    extra = {"extraArgs": container["args"][-2:], "extraEnv": container["env"][1:], "extraVolumeMounts": container["volumeMounts"][3:]}
    t.equal({name: EVERY[name] for name in extra}, extra, "what is extra of the container")
    t.ok(EVERY["podSecurityContext"].items() <= template["spec"]["securityContext"].items(), "podSecurityContext")
    t.equal(("authorities", [{"claimName": "mine"}]), (volumes[3]["configMap"]["name"], find(volumes, "persistentVolumeClaim")), "extraVolumes, storage.existingClaim")
    t.equal(("a", "benchd"), (template["metadata"]["labels"]["team"], template["metadata"]["labels"]["app.kubernetes.io/name"]),
            "podLabels, which replace none of the chart's")
    t.equal("r", get("serviceaccount", "benchd")["metadata"]["annotations"]["cloud.example/role"], "serviceAccount.annotations")
    t.equal(EVERY["networkPolicy"]["egress"], get("networkpolicy", "benchd")["spec"]["egress"][1:], "networkPolicy.egress")
    (folder / "others.yaml").write_text(json.dumps(OTHERS))
    done = helm("upgrade", "benchd", CHART, "--namespace=every", "--reset-values", "--values", folder / "others.yaml")
    t.ok(done.returncode == 0, "helm upgrade with those that had no effect", done.stdout + done.stderr)
    claim, container = get("pvc", "benchd")["spec"], get("deployment", "benchd")["spec"]["template"]["spec"]["containers"][0]
    t.equal(("fast", {"storage": "5Gi"}), (claim.get("storageClassName"), claim["resources"]["requests"]), "storage.className and storage.size")
    t.equal(("benchd.local/benchd:v7", False), (container["image"], "--network-policy" in container["args"]), "image.tag, and benchd creates no policies")
    t.ok('release-namespace": "every"' not in json.dumps(get("networkpolicy,validatingadmissionpolicy")), "nor does the chart")


def main():
    t = tap.Tap()
    with Cluster(parts=CONTROLLERS, namespace="benchd") as cluster, tempfile.TemporaryDirectory() as folder:
        helm = Helm(cluster)
        check_lint(t, helm)
        check_same_as_kustomize(t, helm)
        check_archive(t, helm, pathlib.Path(folder))
        check_values(t, helm)
        check_monitoring(t, helm, pathlib.Path(folder))
        check_life(t, helm, older_chart(pathlib.Path(folder)))
        check_every_value(t, helm, pathlib.Path(folder))
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
