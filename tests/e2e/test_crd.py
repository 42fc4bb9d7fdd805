#!/usr/bin/env python3
"""manifests/benchmark-crd.yaml against a real API server: does it take what is right, and refuse what is wrong?

The order matters a little: the definition first, then the shipped files, which the runs are made from.
"""
import copy
import gzip
import json
import pathlib
import re
import sys
import tempfile

import tap
from cluster import CRD, Cluster, wait_until
from rest import BENCHMARKS, Api

sys.path.append(str(tap.ROOT / "tests" / "wrong"))
import expand  # noqa: E402

KINDS = ("benchmarks", "benchmarkruns")
OPEN = ",".join(f"status.phase!={phase}" for phase in ("Succeeded", "PartiallyFailed", "Failed", "Cancelled"))  # bmr_open_selector
NAMES = {"allreduce-sweep", "allreduce-systems", "fleetx-collective", "fleetx-pserver", "imagenet-2017", "imagenet-gpu", "llm-fsdp", "mlbench-logistic", "mlbench-resnet", "nccl-allreduce", "node-pairs", "vgg16-allreduce-sweep",
         "vgg16-pserver-sweep", "vgg16-rehearsal-2018", "vgg16-single-node", "vgg16-systems", "vgg16-systems-plan", "vgg16-wire-sweep"}


def check_crd(t, cluster):
    k = cluster.kubectl
    strict = k("create", "--dry-run=server", "--validate=strict", "-f", CRD, check=False)
    t.equal((0, ""), (strict.returncode, strict.stderr), "a strict decoder takes the CRD")
    first = k("apply", "-f", CRD, check=False)
    t.equal(0, first.returncode, "plain kubectl apply takes the CRD")
    t.equal("", first.stderr, "without a warning")
    cluster.wait_for_kinds()
    again = k("apply", "-f", CRD, check=False).stdout
    t.equal(2, again.count("unchanged"), "a second apply changes nothing")
    for kind in KINDS:
        crd = json.loads(k("get", "crd", f"{kind}.benchd.io", "-o", "json").stdout)
        conditions = {c["type"]: c["status"] for c in crd["status"]["conditions"]}
        t.equal({"NamesAccepted": "True", "Established": "True"}, conditions, f"{kind}: conditions, schema structural")
        copied = len(crd["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"])
        t.ok(copied < 110_000, f"{kind}: much room in the annotation of kubectl apply, which holds 262,144", copied)


def check_shipped(t, k):
    t.equal(NAMES, {path.stem for path in tap.SHIPPED}, "the shipped definitions")
    for path in tap.SHIPPED:
        done = k("apply", "--validate=strict", "-f", "-", stdin=tap.whole(path), check=False)
        t.equal((0, ""), (done.returncode, done.stderr), f"{path.name} is taken, no unknown field")
    done = k("apply", "-f", tap.SHIPPED[0], check=False)
    t.match("templateFrom is a file, which only benchctl reads", done.stderr, "as it lies there it is refused, with the way to print it whole")
    items = json.loads(k("get", "bm", "-o", "json").stdout)["items"]
    t.equal(NAMES, {item["metadata"]["name"] for item in items}, "each file holds the name it is called by")
    largest = max(len(json.dumps(item["spec"])) for item in items)
    t.ok(largest < 32 * 1024, "each definition fits into status.definition (32 KiB)", largest)


def check_columns(t, k):
    t.equal("NAME MODEL EXCHANGE BASELINE STEPS REPEATS AGE".split(), k("get", "bm").stdout.split("\n")[0].split(), "columns of kubectl get bm")
    row = k("get", "bm", "vgg16-systems-plan", "--no-headers").stdout.split()
    t.equal("vgg16-systems-plan vgg16-fluid-fc512 PServer Point 100 5".split(), row[:6], "a row of kubectl get bm")
    t.match("benchmark.benchd.io/vgg16-single-node", k("get", "benchd", "-o", "name").stdout, "the category benchd")
    explained = k("explain", "bm.spec.sweep").stdout
    for field in ("grid", "points", "exclude"):
        t.match(rf"(?m)^  {field}\t", explained, f"kubectl explain bm.spec.sweep: {field}")
    t.match("Exactly one of grid and points", explained, "kubectl explain bm.spec.sweep: the rule")
    t.match(r"(?m)^  systems\t.* -required-", k("explain", "bmr.spec.definition").stdout, "kubectl explain of a run")


def undescribed(node, path):
    """The places below, as the API server publishes them, for which kubectl explain has no words."""
    if "description" not in node and "allOf" not in node:   # metadata refers to the words of ObjectMeta
        yield path
    for key, child in node.get("properties", {}).items():
        yield from undescribed(child, f"{path}.{key}")
    for key in {"items", "additionalProperties"} & node.keys():
        yield from undescribed(node[key], f"{path}[]")


def check_explained(t, k):
    published = json.loads(k("get", "--raw", "/openapi/v3/apis/benchd.io/v1alpha1").stdout)["components"]["schemas"]
    for kind in ("Benchmark", "BenchmarkRun"):
        t.equal([], list(undescribed(published[f"io.benchd.v1alpha1.{kind}"], kind)), f"kubectl explain has words for every field of {kind}")
    for path in ("bm", "bm.spec", "bm.spec.thresholds", "bm.spec.systems.job.set", "bmr.spec.scheduling", "bmr.status", "bmr.status.conditions"):
        text = k("explain", path).stdout
        t.ok("DESCRIPTION:" in text and "<no description>" not in text, f"kubectl explain {path}", text)


def check_sweep_rules(t, api, definition):
    """The rules on swept names and values hold for each kind of sweep, in the sweep itself and in local."""
    def message(place, kind, name, value):
        spec = copy.deepcopy(definition)
        sweep = {kind: [{name: value}] if kind == "points" else {name: [value]}}
        if place == "local":
            spec["local"]["sweep"] = sweep
        else:
            spec["sweep"] = sweep
        body = {"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "x"}, "spec": spec}
        status, answer = api("POST", f"{BENCHMARKS}?dryRun=All&fieldValidation=Strict", body)
        return "" if status == 201 else answer["message"]

    for place, path in (("spec", r"spec\.sweep"), ("local", r"spec\.local\.sweep")):
        for kind in ("grid", "points"):
            where = rf"{path}\.{kind}"
            t.equal("", message(place, kind, "cpu", "400m"), f"{place}, {kind}: a declared name")
            t.match(rf"{where}: .*spec\.parameters", message(place, kind, "colour", 1), f"{place}, {kind}: another one")
            for name in ("batch_size", "threads", "pservers", "trainers"):
                t.equal("", message(place, kind, name, 1), f"{place}, {kind}: {name} 1")
                for value in (0, "1"):
                    t.match(rf"{where}.*whole numbers", message(place, kind, name, value), f"{place}, {kind}: {name} {value!r}")


def run(name, **spec):
    return {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": name}, "spec": spec}


def create(k, body):
    return k("create", "--validate=strict", "-f", "-", stdin=json.dumps(body), check=False)


def check_run_shape(t, k, definition):
    ref = {"name": "vgg16-pserver-sweep"}
    overrides = {"sweep": {"grid": {"pservers": [1, 2]}}, "measure": {"steps": 8}, "repeats": {"min": 2}}
    for name, spec in (("by-reference", {"benchmarkRef": ref, "overrides": overrides}),
                       ("plain", {"benchmarkRef": ref}),
                       ("scheduled", {"benchmarkRef": ref, "scheduling": {
                           "queueName": "team-a", "gang": "Kueue", "priorityClass": "low", "exclusiveNodes": True, "waitSeconds": 60,
                           "topology": {"key": "topology.kubernetes.io/zone", "mode": "Required"}}}), ("inline", {"definition": definition})):
        done = create(k, run(name, **spec))
        t.equal((0, ""), (done.returncode, done.stderr), f"run {name} is taken")
    wrong = {
        "both": ({"benchmarkRef": ref, "definition": definition}, "spec.*exactly one of benchmarkRef and definition"),
        "neither": ({}, "spec.*exactly one of benchmarkRef and definition"),
        "overrides-inline": ({"definition": definition, "overrides": overrides},
                             r"spec\.overrides.*with benchmarkRef only"),
        "overrides-empty": ({"benchmarkRef": ref, "overrides": {}}, r"spec\.overrides.*at least 1 properties"),
        "overrides-roles": ({"benchmarkRef": ref, "overrides": {"roles": {}}}, 'unknown field "spec.overrides.roles"'),
        "overrides-two-kinds": ({"benchmarkRef": ref, "overrides": {"sweep": {"grid": {"trainers": [1]},
                                                                              "points": [{"trainers": 1}]}}},
                                r"spec\.overrides\.sweep.*at most one of grid and points"),
        **{f"scheduling-{i}": ({"benchmarkRef": ref, "scheduling": scheduling}, message) for i, (scheduling, message) in enumerate((
            ({"queueName": "A_B"}, r"spec\.scheduling\.queueName.*should match"), ({"gang": "PodGroup"}, r"gang.*supported values"),
            ({"topology": {}}, r"topology\.key.*Required"), ({"waitSeconds": 0}, "waitSeconds.*greater than or equal to 1")))},
        "r" * 33: ({"benchmarkRef": ref}, r"metadata\.name must be 1 to 32"),
        "1st": ({"benchmarkRef": ref}, r"metadata\.name must be 1 to 32"),
    }
    for name, (spec, message) in wrong.items():
        done = create(k, run(name, **spec))
        t.ok(done.returncode != 0, f"run {name} is refused", done.stdout)
        t.match(message, done.stderr, f"run {name}: message")
    t.equal(0, create(k, run("r" * 32, benchmarkRef=ref)).returncode, "a name of 32 characters is taken")


def replace(k, name, change, *args):
    """Reads an object, lets `change` edit it, and puts it back."""
    body = json.loads(k("get", "bmr", name, "-o", "json").stdout)
    change(body)
    return k("replace", *args, "-f", "-", stdin=json.dumps(body), check=False)


def check_immutable(t, k):
    def template_spec(body):
        return body["spec"]["definition"]["roles"]["trainer"]["template"]["spec"]

    def swap_key(body):
        spec = template_spec(body)
        del spec["enableServiceLinks"]
        spec["hostNetwork"] = False   # as many keys as before, another one

    cases = [
        ("by-reference", "benchmarkRef", "another name", lambda b: b["spec"]["benchmarkRef"].update(name="plain")),
        ("by-reference", "overrides", "removed", lambda b: b["spec"].pop("overrides")),
        ("by-reference", "overrides", "another value", lambda b: b["spec"]["overrides"]["measure"].update(steps=9)),
        ("by-reference", "overrides", "values in another order",
         lambda b: b["spec"]["overrides"]["sweep"]["grid"].update(pservers=[2, 1])),
        ("plain", "overrides", "added later", lambda b: b["spec"].update(overrides={"measure": {"steps": 1}})),
        ("inline", "definition", "another value", lambda b: b["spec"]["definition"]["measure"].update(steps=9)),
        ("inline", "definition", "systems in another order", lambda b: b["spec"]["definition"]["systems"].reverse()),
        ("inline", "definition", "an integer made a text",
         lambda b: b["spec"]["definition"]["sweep"]["grid"].update(cpu=["10"])),
        ("inline", "definition", "another image",
         lambda b: template_spec(b)["containers"][0].update(image="benchd.local/other:1")),
        ("inline", "definition", "one unknown key for another", swap_key),
    ]
    for name, field, what, change in cases:
        t.match(rf"spec\.{field}: .*{field} is immutable", replace(k, name, change).stderr, f"{field}: {what}")
    swapped = replace(k, "inline", lambda b: b.update(spec={"benchmarkRef": {"name": "plain"}}))
    t.match("(?s)benchmarkRef is immutable.*definition is immutable|definition is immutable.*benchmarkRef is immutable",
            swapped.stderr, "a definition does not turn into a reference")
    for field, value in (("suspend", True), ("suspend", False), ("suspend", None), ("cancel", False), ("cancel", True)):
        changed = k("patch", "bmr", "inline", "--type=merge", "-p", json.dumps({"spec": {field: value}}), check=False)
        t.equal((0, ""), (changed.returncode, changed.stderr), f"{field} may become {value}")
    for what, value in (("false", False), ("absent", None)):
        back = k("patch", "bmr", "inline", "--type=merge", "-p", json.dumps({"spec": {"cancel": value}}), check=False)
        t.match(r"spec\.cancel: .*cannot be taken back", back.stderr, f"cancel does not become {what} again")
    labelled = k("label", "bmr", "inline", "note=mutable", check=False)
    t.equal(0, labelled.returncode, "metadata stays mutable")


def check_status(t, k, definition):
    def patch(body, *args):
        return k("patch", "bmr", "by-reference", "--subresource=status", "--type=merge", *args, "-p", json.dumps({"status": body}), check=False)

    def is_open():
        """Is it among the runs that benchd lists first? One without a status is."""
        names = k("get", "bmr", "--field-selector", OPEN, "-o", "jsonpath={.items[*].metadata.name}").stdout.split()
        return "by-reference" in names, "plain" in names

    now = "2026-01-01T00:00:00Z"
    complete = {"type": "Complete", "status": "True", "reason": "TrialsDone", "message": "", "observedGeneration": 1, "lastTransitionTime": now}
    done = patch({"phase": "Running", "completions": "7/12", "succeeded": 7, "failed": 1, "total": 12, "current": "p2 t1", "eta": "4m10s",
                  "startTime": now, "observedGeneration": 1, "conditions": [complete]})
    t.equal((0, ""), (done.returncode, done.stderr), "a status is taken")
    head, row = k("get", "bmr", "by-reference").stdout.strip().split("\n")
    t.equal("NAME PHASE COMPLETIONS FAILED CURRENT ETA AGE".split(), head.split(), "columns of kubectl get bmr")
    t.match(r"^by-reference +Running +7/12 +1 +p2 t1 +4m10s +\d+s$", row, "a row of kubectl get bmr")
    t.equal((True, True), is_open(), "a run that goes on is selected by its phase, and so is one that has none")
    t.match(r'status\.phase: Unsupported value: "Exploded"', patch({"phase": "Exploded"}).stderr, "an unknown phase")
    t.match(r"status\.conditions\[0\]\.reason", patch({"conditions": [{**complete, "reason": "two words"}]}).stderr,
            "a reason is one CamelCase word")
    t.match(r"status\.conditions\[1\]: Duplicate value", patch({"conditions": [complete, complete]}).stderr, "conditions are a map by type")
    unchanged = replace(k, "by-reference", lambda b: b["status"].update(phase="Failed"))
    phase = k("get", "bmr", "by-reference", "-o", "jsonpath={.status.phase}").stdout
    t.equal((0, "Running"), (unchanged.returncode, phase), "the status is written through its subresource only")

    once = r"status\.definition: .*status\.definition is written once"
    t.equal(0, patch({"definition": definition}).returncode, "status.definition is written")
    t.equal(0, patch({"definition": definition, "phase": "Failed"}).returncode, "the same again is no change")
    t.equal((False, True), is_open(), "a run that has ended is not selected")
    other = copy.deepcopy(definition)
    other["roles"]["pserver"]["template"]["spec"]["containers"][0]["image"] = "benchd.local/other:1"
    t.match(once, patch({"definition": other}).stderr, "another status.definition is refused")
    t.match(once, patch({"definition": None}).stderr, "status.definition cannot be removed")
    removed = replace(k, "by-reference", lambda b: b.pop("status"), "--subresource=status")
    t.match(once, removed.stderr, "nor can the status with it")


def check_status_owners(t, k, definition):
    """benchd applies the status in two parts; the second must not take away the first."""
    def apply(manager, status):
        body = {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "plain"}, "status": status}
        return k("apply", "--server-side", "--subresource=status", f"--field-manager={manager}", "-f", "-", stdin=json.dumps(body), check=False)

    for manager, status in (("benchd-definition", {"definition": definition}), ("benchd", {"phase": "Pending"}),
                            ("benchd", {"phase": "Running", "failed": 0})):
        done = apply(manager, status)
        t.equal((0, ""), (done.returncode, done.stderr), f"{manager} applies {', '.join(status)}")
    status = json.loads(k("get", "bmr", "plain", "-o", "json").stdout)["status"]
    t.equal({"definition": definition, "phase": "Running", "failed": 0}, status, "each manager keeps its own fields")


def check_wrong(t, k, folder):
    """kubectl is started once: to start it for each file takes more of a CPU than the server needs to answer."""
    expand.main(tap.ROOT / "tests" / "wrong" / "cases.txt", folder)
    said = k("create", "--validate=strict", "--dry-run=server", "-f", folder, check=False).stderr
    _, *parts = re.split(rf"{re.escape(str(folder))}/([\w-]+)\.yaml", said)   # a name, and what is said of it
    errors = dict(zip(parts[::2], parts[1::2]))
    for path in sorted(folder.glob("*.yaml")):
        tags, error = tap.wrong_tags(path), errors.get(path.stem, "")
        if tags["layer"] == "benchd":
            t.equal("", error, f"{path.name}: the API server takes it")
            continue
        t.match(tags["expect"], error, f"{path.name}: message")
        t.equal(tags["layer"], layer_of(error), f"{path.name}: layer")


def check_upgrade(t, cluster):
    """kubectl apply takes the CRD over that of commit 10b49b2e, from before values had the forms of Kubernetes' conventions
    (git show COMMIT:manifests/benchmark-crd.yaml | gzip -9n), and what is stored stays."""
    k = cluster.kubectl

    def body(name, **exchange):
        workload = {"model": "vgg16-fluid-fc512", "batchSize": 8, "exchange": {"kind": "PServer", **exchange}}
        roles = {role: {"replicas": {"from": f"{role}s"}} for role in ("pserver", "trainer")}
        return json.dumps({"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": name}, "spec": {
            "systems": [{"name": "a", "profile": "benchworker"}], "workload": workload, "roles": roles,
            "sweep": {"grid": {"pservers": [1], "trainers": [1, 2]}}}})

    k("delete", "-f", CRD)
    before = gzip.decompress((tap.ROOT / "tests" / "golden" / "crd_before.yaml.gz").read_bytes()).decode()
    k("apply", "-f", "-", stdin=before)
    cluster.wait_for_kinds()
    wait_until(lambda: k("apply", "-f", "-", stdin=body("same"), check=False).returncode == 0, 60, "the CRD of before is served")
    k("apply", "-f", "-", stdin=body("other", wire="Bf16"))
    t.match("Unsupported value", k("apply", "-f", "-", stdin=body("new", wire="BF16"), check=False).stderr, "the CRD of before has its own words")
    done = k("apply", "-f", CRD, check=False)
    t.equal((0, ""), (done.returncode, done.stderr), "kubectl apply takes the CRD over that of before")
    wait_until(lambda: k("apply", "-f", "-", stdin=body("new", wire="BF16"), check=False).returncode == 0, 60, "the new CRD is served")
    changed = k("patch", "bm", "same", "--type=merge", "-p", '{"spec": {"description": "as before"}}', check=False)
    t.equal((0, ""), (changed.returncode, changed.stderr), "a stored object whose fields are the same can be changed")
    t.equal("Bf16", k("get", "bm", "other", "-o", "jsonpath={.spec.workload.exchange.wire}").stdout, "one with a value of before stays")
    refused = k("apply", "-f", "-", stdin=body("late", wire="Bf16"), check=False).stderr
    t.match(r"exchange\.wire: Unsupported value: \"Bf16\": supported values: \"FP32\", \"BF16\"", refused, "a new one with it is refused, with what to write")
    k("delete", "bm", "--all")


def layer_of(message):
    """Which layer wrote this message. CEL rules alone report the rule's own words without naming the body."""
    if "error converting YAML" in message:
        return "yaml"
    schema = r"unknown field|no matches for kind|Required value|Unsupported value|in body (must|should)"
    return "schema" if re.search(schema, message) else "cel"


def main():
    t = tap.Tap()
    with Cluster() as cluster:
        k = cluster.kubectl
        check_crd(t, cluster)
        check_shipped(t, k)
        check_columns(t, k)
        check_explained(t, k)
        definition = json.loads(k("get", "bm", "vgg16-pserver-sweep", "-o", "json").stdout)["spec"]
        definition["systems"].append({"name": "second", "profile": "benchworker"})
        definition["sweep"]["grid"]["cpu"] = [10]
        check_sweep_rules(t, Api(cluster), definition)
        check_run_shape(t, k, definition)
        check_immutable(t, k)
        check_status(t, k, definition)
        check_status_owners(t, k, definition)
        with tempfile.TemporaryDirectory() as folder:
            check_wrong(t, k, pathlib.Path(folder))
        check_upgrade(t, cluster)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
