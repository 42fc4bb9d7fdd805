"""The shipped dashboards pass the linter, and the linter can fail; the files that deliver them are whole."""
import copy
import json
import os
import pathlib
import re
import subprocess
import sys

import lint
import shared
import tap

METRICS = shared.documented_metrics()


def panels(dashboard, kind):
    return [panel for panel in dashboard["panels"] if panel["type"] == kind]


def set_expr(expr, kind="timeseries"):
    return lambda d: panels(d, kind)[0]["targets"][0].update(expr=expr)


def fold(dashboard):
    """A wrong panel in a row that is folded."""
    wrong = {**copy.deepcopy(panels(dashboard, "stat")[0]), "title": "", "id": 999}
    panels(dashboard, "row")[0]["panels"] = [wrong]


def drop(key):
    return lambda d: panels(d, "stat")[0].pop(key)


BROKEN = [  # (what is done to a good dashboard, the finding that must come)
    ("no title", drop("title"), "no title"),
    ("no description", drop("description"), "no description"),
    ("no title in a folded row", fold, "panel 999: no title"),
    ("no unit", lambda d: panels(d, "trend")[0]["fieldConfig"]["defaults"].update(unit=""), "no unit"),
    ("no word for an empty panel", lambda d: panels(d, "stat")[0]["fieldConfig"]["defaults"].pop("noValue"),
     "says nothing where there is nothing"),
    ("a fixed datasource", lambda d: panels(d, "stat")[0]["datasource"].update(uid="abc123"), "datasource is no variable"),
    ("a query's fixed datasource", lambda d: panels(d, "stat")[0]["targets"][0]["datasource"].update(uid="abc"),
     "datasource is no variable"),
    ("a variable that is not there", lambda d: panels(d, "stat")[0]["datasource"].update(uid="${sql}"), "no variable"),
    ("an unknown metric", set_expr("benchd_point_speed"), "there is no metric benchd_point_speed"),
    ("no metric", set_expr("vector(1)"), "names no metric"),
    ("a fixed window", set_expr("rate(benchd_api_connections_total[5m])"), r"rate\(\) over \[5m\]"),
    ("an inner fixed window", set_expr("sum(increase(benchd_api_connections_total{}[1h]))"), r"increase\(\) over \[1h\]"),
    ("results over time", set_expr("benchd_point_speedup_ratio"), "a result over time"),
    ("a range for one value", lambda d: panels(d, "stat")[0]["targets"][0].update(instant=False), "asks for a range"),
    ("overlap", lambda d: panels(d, "stat")[1]["gridPos"].update(x=3), "overlap at"),
    ("too wide", lambda d: panels(d, "stat")[3]["gridPos"].update(w=7), "outside the grid"),
    ("an id twice", lambda d: panels(d, "stat")[1].update(id=1), "its id is taken"),
    ("a query twice", lambda d: panels(d, "timeseries")[0]["targets"][1].update(refId="A"), "two queries of one name"),
    ("no metric that begins so", set_expr('{__name__=~"benchd_spot_.+",' + lint.SCOPE + "}", "table"), "there is no metric benchd_spot_"),
    ("no query", lambda d: panels(d, "stat")[0].update(targets=[]), "no query"),
    ("a unit that Grafana does not have", lambda d: panels(d, "stat")[0]["fieldConfig"]["defaults"].update(unit="percents"), "unit 'percents'"),
    ("an override's unit", lambda d: panels(d, "table")[0]["fieldConfig"]["overrides"][0]["properties"][0].update(value="x/s"), "unit 'x/s'"),
    ("thresholds that fall", lambda d: panels(d, "stat")[0]["fieldConfig"]["defaults"]["thresholds"]["steps"].extend(
        [{"color": "red", "value": 2}, {"color": "green", "value": 1}]), "do not begin with null and rise"),
    ("no legend", lambda d: panels(d, "timeseries")[0]["targets"][0].update(legendFormat=""), "query A: no legend"),
    ("a variable that no query has", lambda d: d["templating"]["list"][4].update(name="y"), "variable y is used nowhere"),
    ("a query's variable that is not there", lambda d: d["templating"]["list"][4].update(name="y"), "there is no variable x"),
    ("an annotation of nothing", lambda d: d["annotations"]["list"][0].update(expr="benchd_x"), "annotation Runs started: there is no metric benchd_x"),
    ("a variable over nothing", lambda d: d["templating"]["list"][3].update(definition="label_values(benchd_x, run)"),
     "variable run: there is no metric benchd_x"),
    ("a query of every benchd", set_expr("benchd_leader"), "query A: benchd_leader is not of the benchds that are chosen"),
    ("a query of every instance", set_expr('benchd_leader{namespace=~"$namespace"}'), "benchd_leader is not of the benchds"),
    ("one selector of two", set_expr(f"benchd_run_trials_done{{{lint.SCOPE}}} / benchd_run_trials"), "benchd_run_trials is not of the benchds"),
    ("an annotation of every benchd", lambda d: d["annotations"]["list"][0].update(expr="benchd_leader"), "Runs started: benchd_leader is not of"),
    ("runs of every benchd", lambda d: d["templating"]["list"][3].update(definition="label_values(benchd_run_info, run)"),
     "variable run: benchd_run_info is not of"),
]
OF_NODES = [
    ("an override for nothing", lambda d: panels(d, "table")[0]["fieldConfig"]["overrides"][0]["matcher"].update(options="Throughputs"),
     "'Throughputs', which is no column"),
]
OF_ALL = [  # the same, of a dashboard that may show all namespaces
    ("the largest of all", set_expr(f"max(benchd_leader{{{lint.SCOPE}}})"), "query A: max shows one benchd and hides the others"),
    ("the least by something else", set_expr(f"min by (run) (benchd_run_trials{{{lint.SCOPE}}})"), "query A: min shows one benchd"),
]


def check_provisioning(t):
    """Both files as Grafana's provisioning wants them, and of the kind that the dashboard asks for."""
    folder = shared.FOLDER / "provisioning"
    for name, kind, *parts in (
            ("dashboards/benchd.yaml", "providers", r"  type: file$", r"    path: /\S+$"),
            ("datasources/prometheus.yaml", "datasources", r"  type: prometheus$", r"  url: http://\S+$")):
        text = (folder / name).read_text(encoding="utf-8")
        for part in (r"^apiVersion: 1$", rf"^{kind}:\n- name: \S+$", *parts):
            t.match(rf"(?m){part}", text, f"{name}: {part}")
    variable = shared.load()["templating"]["list"][0]
    t.equal(("datasource", "prometheus"), (variable["type"], variable["query"]), "the dashboard takes any Prometheus")


def check_kustomize(t):
    text = (shared.FOLDER / "kustomization.yaml").read_text(encoding="utf-8")
    t.match(r'grafana_dashboard: "1"', text, "the ConfigMap has the sidecar's label")
    names = {path.name for path in shared.FOLDER.glob("*.json")}
    t.equal(names, set(re.findall(r"^  - (\S+\.json)$", text, re.M)), "the ConfigMap has every dashboard")
    found = sorted((pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "benchd").glob(
        "kubernetes*/**/bin/kubectl"))
    if not found:
        print("# kustomize not run: no kubectl was built yet (suite e2e does)")
        return
    done = subprocess.run([found[0], "kustomize", shared.FOLDER], capture_output=True, text=True, check=False)
    t.equal((0, ""), (done.returncode, done.stderr), "kustomize makes the ConfigMap")
    t.match(r"(?s)kind: ConfigMap\nmetadata:.*grafana_dashboard: \"1\"", done.stdout, "labelled")


def main():
    t = tap.Tap()
    for path in sorted(shared.FOLDER.glob("*.json")):
        dashboard = shared.load(path.name)
        t.equal([], lint.lint(dashboard, METRICS), f"{path.name}: no finding")
        t.equal(path.stem, dashboard["uid"], f"{path.name}: its uid is its name, so that links and bookmarks stay")
        t.equal(39, dashboard["schemaVersion"], f"{path.name}: schemaVersion")
        made = subprocess.run([sys.executable, shared.FOLDER / "make.py", path.stem], capture_output=True, text=True, check=True)
        t.ok(made.stdout == path.read_text(encoding="utf-8"), f"{path.name} is what make.py writes")
        for target in re.findall(r"/d/([\w-]+)\?", json.dumps(dashboard)):
            t.ok((shared.FOLDER / f"{target}.json").exists(), f"{path.name}: its link to {target} leads somewhere")
        t.ok(path.stat().st_size < 100_000, f"{path.name}: fits a ConfigMap with others", path.stat().st_size)
    for name, break_it, expected, of in [*((*row, "benchd-run.json") for row in BROKEN), *((*row, "benchd-nodes.json") for row in OF_NODES),
                                       *((*row, "benchd-health.json") for row in OF_ALL)]:
        dashboard = copy.deepcopy(shared.load(of))
        break_it(dashboard)
        t.match(expected, "\n".join(lint.lint(dashboard, METRICS)), f"the linter sees: {name}")
    check_provisioning(t)
    check_kustomize(t)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
