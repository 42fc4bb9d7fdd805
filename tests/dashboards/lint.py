"""What every dashboard must have: lint(dashboard, metrics) gives a list of findings, empty if it is good.

metrics: the names that /metrics knows. Standard library only."""
import json
import re

GRID_WIDTH = 24
NAME = re.compile(r"\b(?:benchd|process|rest_client)_[a-z0-9_]+\b")
RATE = re.compile(r"\b(rate|irate|increase)\s*\((.*?)\[([^\]]*)\]")
# Of Grafana's units; "suffix:" makes one of its own.
UNITS = re.compile(r"none|percentunit|s|bytes|reqps|dateTimeAsIso|suffix:samples/s")
SCOPE = 'namespace=~"$namespace",instance=~"$instance"'
PICKS = re.compile(r"\b(max|min|avg|topk|bottomk|quantile)(?!\w)(?! by \(namespace\b)(?! without)")  # one value of several benchds
ANY = re.compile(r'{__name__=~"(\w+)\.\+",')  # of all metrics whose names begin so
NEVER_OVER_TIME = re.compile(r"\bbenchd_point_")  # a result has no time


def cells(panel):
    grid = panel["gridPos"]
    return {(x, y) for x in range(grid["x"], grid["x"] + grid["w"]) for y in range(grid["y"], grid["y"] + grid["h"])}


def expand(panels):
    for panel in panels:
        yield panel
        yield from expand(panel.get("panels", []))


def lint_datasource(where, datasource, variables):
    uid = (datasource or {}).get("uid", "")
    match = re.fullmatch(r"\$\{?(\w+)\}?", uid)
    if not match or match.group(1) not in variables:
        yield f"{where}: its datasource is no variable: {uid!r}"


def lint_scope(where, expr):
    """Each selector takes the benchds that the variables choose."""
    for name, selector in re.findall(rf"({NAME.pattern})((?:{{[^}}]*}})?)", expr):
        if SCOPE not in selector:
            yield f"{where}: {name} is not of the benchds that are chosen"


def lint_target(where, panel, target, variables, metrics, has_all):
    yield from lint_datasource(f"{where}, query {target.get('refId')}", target.get("datasource"), variables)
    expr = ANY.sub(lambda m: next((name for name in metrics if name.startswith(m[1])), m[1]) + "{", target.get("expr", ""))
    yield from lint_scope(f"{where}, query {target.get('refId')}", expr)
    if has_all and PICKS.search(expr):
        yield f"{where}, query {target.get('refId')}: {PICKS.search(expr).group(1)} shows one benchd and hides the others"
    names = set(NAME.findall(expr))
    if not names:
        yield f"{where}, query {target.get('refId')}: names no metric"
    for name in sorted(names - set(metrics)):
        yield f"{where}: there is no metric {name}"
    for function, _, window in RATE.findall(expr):
        if window != "$__rate_interval":
            yield f"{where}: {function}() over [{window}] instead of [$__rate_interval]"
    if panel["type"] == "timeseries" and NEVER_OVER_TIME.search(expr):
        yield f"{where}: a result over time: it has none"
    if panel["type"] != "timeseries" and not target.get("instant"):
        yield f"{where}, query {target.get('refId')}: asks for a range and shows one value"


def lint_steps(where, thresholds):
    values = [step["value"] for step in thresholds.get("steps", [])]
    if not values or values[0] is not None or any(b is None or (a is not None and a >= b) for a, b in zip(values, values[1:])):
        yield f"{where}: thresholds do not begin with null and rise: {values}"


def lint_look(where, panel):
    """Units, thresholds and legends, also those of overrides."""
    config = panel.get("fieldConfig", {})
    properties = [p for override in config.get("overrides", []) for p in override["properties"]]
    units = [config.get("defaults", {}).get("unit", "none"), *(p["value"] for p in properties if p["id"] == "unit")]
    yield from (f"{where}: unit {unit!r} is none that we use" for unit in units if unit and not UNITS.fullmatch(unit))
    for thresholds in (config.get("defaults", {}).get("thresholds", {}), *(p["value"] for p in properties if p["id"] == "thresholds")):
        yield from lint_steps(where, thresholds)
    for target in panel.get("targets", []):
        if panel["type"] == "timeseries" and not target.get("legendFormat"):
            yield f"{where}, query {target.get('refId')}: no legend"
    titles = {t for step in panel.get("transformations", []) for t in step["options"].get("renameByName", {}).values()}
    named = [o["matcher"]["options"] for o in config.get("overrides", []) if o["matcher"]["id"] == "byName"]
    yield from (f"{where}: an override for {name!r}, which is no column"
                for name in named if titles and name not in titles and name not in ("run", "node"))


def lint_panel(panel, variables, metrics, has_all):
    where = f"panel {panel.get('title') or panel.get('id')!r}"
    for key in ("title", "description") if panel["type"] != "row" else ("title",):
        if not panel.get(key):
            yield f"{where}: no {key}"
    grid = panel["gridPos"]
    if grid["x"] < 0 or grid["x"] + grid["w"] > GRID_WIDTH or grid["w"] < 1 or grid["h"] < 1:
        yield f"{where}: outside the grid: {grid}"
    if panel["type"] == "row":
        return
    if not panel.get("fieldConfig", {}).get("defaults", {}).get("unit"):
        yield f"{where}: no unit"
    if not panel.get("fieldConfig", {}).get("defaults", {}).get("noValue"):
        yield f"{where}: says nothing where there is nothing"
    yield from lint_look(where, panel)
    yield from lint_datasource(where, panel.get("datasource"), variables)
    if not panel.get("targets"):
        yield f"{where}: no query"
    refs = [target.get("refId") for target in panel.get("targets", [])]
    if len(set(refs)) != len(refs):
        yield f"{where}: two queries of one name"
    for target in panel.get("targets", []):
        yield from lint_target(where, panel, target, variables, metrics, has_all)


RESOLVED = re.compile(r"\$\{?([A-Za-z_]\w*)")


def lint_variables(dashboard, variables):
    """Each that a text names is there, and each that is there is named."""
    panels = [{**panel, "transformations": []} for panel in expand(dashboard["panels"])]
    variable_queries = [variables[name].get("definition") for name in variables]
    named = {name for name in RESOLVED.findall(json.dumps([panels, variable_queries])) if not name.startswith("__")}
    yield from (f"there is no variable {name}" for name in sorted(named - set(variables)))
    yield from (f"variable {name} is used nowhere" for name in sorted(set(variables) - named))


def lint(dashboard, metrics):
    findings = []
    variables = {v["name"]: v for v in dashboard["templating"]["list"]}
    findings += lint_variables(dashboard, variables)
    sources = {name for name, v in variables.items() if v["type"] == "datasource"}
    for name, variable in variables.items():
        if variable["type"] == "query":
            findings += lint_datasource(f"variable {name}", variable.get("datasource"), sources)
            findings += [f"variable {name}: there is no metric {m}"
                         for m in NAME.findall(variable["definition"]) if m not in metrics]
            if name not in ("namespace", "instance"):
                findings += lint_scope(f"variable {name}", variable["definition"])
    for note in dashboard["annotations"]["list"]:
        findings += lint_datasource(f"annotation {note['name']}", note["datasource"], sources)
        findings += [f"annotation {note['name']}: there is no metric {m}" for m in NAME.findall(note["expr"]) if m not in metrics]
        findings += lint_scope(f"annotation {note['name']}", note["expr"])
    has_all = variables.get("namespace", {}).get("includeAll", False)
    taken, ids = {}, set()
    for panel in expand(dashboard["panels"]):
        findings += lint_panel(panel, sources, metrics, has_all)
        if panel.get("id") in ids:
            findings.append(f"panel {panel.get('title')!r}: its id is taken")
        ids.add(panel.get("id"))
        for cell in sorted(cells(panel)):
            if cell in taken:
                findings.append(f"panels {taken[cell]!r} and {panel.get('title')!r} overlap at {cell}")
                break
        taken.update(dict.fromkeys(cells(panel), panel.get("title")))
    return findings
