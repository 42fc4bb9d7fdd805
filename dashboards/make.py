#!/usr/bin/env python3
"""Writes the dashboards: python3 dashboards/make.py NAME > dashboards/NAME.json. A test compares the bytes.

Classic JSON, schemaVersion 39, written for Grafana 10 to 13. A sweep value is not a time: the curves are trend panels
over tables that Prometheus answers at one instant, pivoted by Grafana into one frame (x ascending, a column a line).
Lines never merge two points: a line is named by everything that is not on the x axis.

Every query selects the benchds of the variables namespace and instance. A dashboard of runs has one namespace, because two may
have runs of the same name; the others may have all, and keep benchds apart or add up what can be added. Outside a cluster no series has
a namespace: the variable is empty or .*, and both match."""
import json
import sys

PROM = {"type": "prometheus", "uid": "${prom}"}
X_AXES = ["pservers", "trainers", "batch_size", "threads"]
RATE = "suffix:samples/s"  # a custom unit: Grafana has none of its own for it
NOTHING = "Nothing is known of this run in the time shown. Of one that has ended, choose a time that contains its end."
NOT_LIVE = "No trial is under way in the time shown."
ROW_FIELD = "x\\series"  # what groupingToMatrix calls its first column
SCOPE = 'namespace=~"$namespace",instance=~"$instance"'
BENCHD = "{{namespace}} {{instance}}"  # the legend of what each benchd has
TARGET = ("namespace", "instance", "job", "pod", "container", "service", "endpoint")  # labels of what is scraped


def of(metric, *matchers):
    """The series of the benchds that the variables choose."""
    return f'{metric}{{{",".join([*matchers, SCOPE])}}}'


def of_run(metric, variable="run"):
    return of(metric, f'run="${variable}"')


def last(metric, variable="run"):
    """The last value in the time shown: a run that has ended is no longer scraped."""
    return f"last_over_time({of_run(metric, variable)}[$__range])"


def line(expression, kind):
    """One value a point, labelled x and series: "benchworker pservers 10 ... low"."""
    out = f'label_replace({expression}, "x", "$1", "$x", "(.*)")'
    out = f'label_replace({out}, "$x", "", "", "")'
    for name in X_AXES:
        out = f'label_replace({out}, "{name}", "{name} $1", "{name}", "(.+)")'
    out = f'label_replace({out}, "kind", "{kind}", "", "")'
    labels = ", ".join(f'"{name}"' for name in ["system", *X_AXES, "other", "kind"])
    return f'max by (x, series) (label_join({out}, "series", " ", {labels}))'


def lines(**expressions):
    return " or ".join(line(expression, kind) for kind, expression in expressions.items())


def target(expr, ref="A", **keys):
    return {"refId": ref, "datasource": PROM, "editorMode": "code", "expr": expr, **keys}


def instant(expr, ref="A", **keys):
    return target(expr, ref, instant=True, range=False, **keys)


def over_time(expr, ref="A", legend=""):
    return target(expr, ref, instant=False, range=True, legendFormat=legend)


def panel(kind, title, description, unit, grid, targets, custom=None, overrides=(), no_value=NOTHING, **keys):
    x, y, w, h = grid
    defaults = {"unit": unit, "noValue": no_value, "custom": custom or {}, "mappings": [],
                "thresholds": {"mode": "absolute", "steps": [{"color": "text", "value": None}]}}
    return {"type": kind, "title": title, "description": description, "datasource": PROM,
            "gridPos": {"x": x, "y": y, "w": w, "h": h}, "targets": targets,
            "fieldConfig": {"defaults": defaults, "overrides": list(overrides)}, **keys}


def override(pattern, **properties):
    return {"matcher": {"id": "byRegexp", "options": pattern},
            "properties": [{"id": key.replace("__", "."), "value": value} for key, value in properties.items()]}


def stat(title, description, unit, grid, expr, legend=None):
    """The value, with the name of its benchd if there are several; or with a legend that alone."""
    return panel("stat", title, description, unit, grid, [instant(expr, legendFormat=legend or BENCHD)],
                 options={"colorMode": "none", "graphMode": "none", "textMode": "name" if legend else "auto",
                          "reduceOptions": {"calcs": ["lastNotNull"]}})


def trend(title, description, unit, grid, expr):
    thin = {"custom__lineWidth": 1, "custom__showPoints": "never"}
    return panel(
        "trend", title, description, unit, grid, [instant(expr, format="table")],
        custom={"lineWidth": 2, "showPoints": "always", "pointSize": 6, "spanNulls": True, "axisSoftMin": 0},
        overrides=[override("/ (low|high)$/", custom__lineStyle={"fill": "dot", "dash": [2, 4]}, **thin),
                   override("/(ideal|baseline)$/", custom__lineStyle={"fill": "dash", "dash": [10, 10]}, **thin)],
        transformations=[
            {"id": "groupingToMatrix", "options": {"rowField": "x", "columnField": "series", "valueField": "Value",
                                                   "emptyValue": "null"}},
            {"id": "convertFieldType", "options": {"conversions": [{"targetField": ROW_FIELD, "destinationType": "number"}]}},
            {"id": "sortBy", "options": {"sort": [{"field": ROW_FIELD}]}}],
        options={"xField": ROW_FIELD, "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                 "tooltip": {"mode": "multi"}})


def points_table(grid):
    """A column for each figure that /metrics has of points: a new one is there without a change here."""
    order = ["point", "system", *X_AXES, "other", *(f"{figure}{limit}" for figure in ("throughput", "speedup", "efficiency")
                                                    for limit in ("", "_low", "_high"))]
    every = f'{{__name__=~"benchd_point_.+",run="$run",{SCOPE}}}'
    return panel(
        "table", "Points", "All swept points with their figures, 95% intervals and the baseline that each divides by; throughputs are of "
        "the whole job, the median over trials. The same numbers as benchctl results.", "none", grid,
        [instant(f"last_over_time({every}[$__range])", format="time_series")],
        overrides=[override("^(efficiency|.*_share)(_low|_high)?$", unit="percentunit"),
                   override("^(baseline_)?throughput(_low|_high)?$", unit=RATE), override("_bytes$", unit="bytes")],
        transformations=[
            {"id": "labelsToFields", "options": {"mode": "columns", "valueLabel": "__name__"}},
            {"id": "merge", "options": {}},
            {"id": "renameByRegex", "options": {"regex": "^benchd_point_(.+?)(_samples_per_second|_ratio)?$", "renamePattern": "$1"}},
            {"id": "organize", "options": {
                "excludeByName": dict.fromkeys(("Time", "run", "benchmark", *TARGET), True),
                "indexByName": {name: i for i, name in enumerate(order)}, "renameByName": {}}}],
        options={"showHeader": True, "cellHeight": "sm"})


def time_series(title, description, unit, grid, targets, no_value=NOTHING):
    return panel("timeseries", title, description, unit, grid, targets, no_value=no_value,
                 custom={"lineWidth": 1, "fillOpacity": 0, "spanNulls": False, "axisSoftMin": 0},
                 options={"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                          "tooltip": {"mode": "multi"}})


def row(title, y):
    return {"type": "row", "title": title, "collapsed": False, "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}, "panels": []}


THROUGHPUT, SPEEDUP, EFFICIENCY = (last(f"benchd_point_{name}") for name in (
    "throughput_samples_per_second", "speedup_ratio", "efficiency_ratio"))

def link(title, uid, variable="run"):
    """Opens another dashboard of the same time and data source for the run of the row."""
    row_of = f"var-{variable}=${{__data.fields.run}}&var-namespace=${{__data.fields.namespace}}"
    return {"title": title, "targetBlank": False, "url": f"/d/{uid}?{row_of}&var-prom=${{prom}}&${{__url_time_range}}"}


def matrix(title, description, unit, grid, expr):
    """A table of one figure: rows by x, a column for everything that is not on it. No cell merges two points."""
    return panel(
        "table", title, description, unit, grid, [instant(expr, format="table")],
        transformations=[
            {"id": "groupingToMatrix", "options": {"rowField": "x", "columnField": "series", "valueField": "Value",
                                                   "emptyValue": "null"}},
            {"id": "convertFieldType", "options": {"conversions": [{"targetField": ROW_FIELD, "destinationType": "number"}]}},
            {"id": "sortBy", "options": {"sort": [{"field": ROW_FIELD}]}}],
        overrides=[{"matcher": {"id": "byName", "options": ROW_FIELD}, "properties": [{"id": "unit", "value": "none"}]}],
        options={"showHeader": True, "cellHeight": "sm"})


def table(title, description, grid, columns, hidden, order=(), overrides=()):
    """columns: [(refId, query, title, unit)], merged by their labels."""
    renames = {f"Value #{ref}": name for ref, _, name, _ in columns}
    return panel(
        "table", title, description, "none", grid, [instant(expr, ref, format="table") for ref, expr, _, _ in columns],
        overrides=[*({"matcher": {"id": "byName", "options": name}, "properties": [{"id": "unit", "value": unit}]}
                     for _, _, name, unit in columns if unit != "none"), *overrides],
        transformations=[
            {"id": "merge", "options": {}},
            {"id": "organize", "options": {
                "excludeByName": dict.fromkeys(("Time", *hidden), True),
                "indexByName": {name: i for i, name in enumerate([*order, *renames])}, "renameByName": renames}}],
        options={"showHeader": True, "cellHeight": "sm"})


PANELS = [
    stat("Phase", "Where the run stands; the last phase seen in the time shown.", "none", (0, 0, 6, 4),
         last("benchd_run_phase") + " == 1", "{{phase}}"),
    stat("Kind of run", "A rehearsal needs more threads than there are CPUs, a simulated run was answered by fake pods: their numbers "
         "compare inside the run only.", "none", (6, 0, 6, 4), last("benchd_run_info"),
         "{{benchmark}}, rehearsal {{rehearsal}}, simulated {{simulated}}"),
    stat("Trials done", "Share of the trials that are decided, those of the baseline and failed ones too.", "percentunit", (12, 0, 6, 4),
         f'{last("benchd_run_trials_done")} / {last("benchd_run_trials")}'),
    stat("Trials failed", "Trials that ended without a number for good.", "none", (18, 0, 6, 4), last("benchd_run_trials_failed")),
    row("Results by sweep value", 4),
    trend("Throughput by $x", "Samples a second of the whole job, the median over trials; dotted: its 95% interval; dashed: the "
          "baseline it is compared with. A line for every combination of the other values.", RATE, (0, 5, 8, 10),
          lines(value=THROUGHPUT, low=last("benchd_point_throughput_low_samples_per_second"),
                high=last("benchd_point_throughput_high_samples_per_second"),
                baseline=last("benchd_point_baseline_throughput_samples_per_second"))),
    trend("Speedup by $x", "Throughput over that of the baseline; dotted: its 95% interval; dashed: the ideal, as many times as there "
          "are trainers for each one of the baseline.", "none", (8, 5, 8, 10),
          lines(value=SPEEDUP, low=last("benchd_point_speedup_low_ratio"), high=last("benchd_point_speedup_high_ratio"),
                ideal=f"{SPEEDUP} / {EFFICIENCY}")),
    trend("Efficiency by $x", "Speedup over the number of trainers, one of the baseline being 1; dotted: its 95% interval; dashed: the "
          "ideal.", "percentunit", (16, 5, 8, 10),
          lines(value=EFFICIENCY, low=last("benchd_point_efficiency_low_ratio"), high=last("benchd_point_efficiency_high_ratio"),
                ideal=f"{EFFICIENCY} * 0 + 1")),
    points_table((0, 15, 24, 8)),
    row("Live", 23),
    time_series("Trials", "Trials decided so far, of all.", "none", (0, 24, 8, 8),
                [over_time(of_run("benchd_run_trials_done"), "A", "done"), over_time(of_run("benchd_run_trials"), "B", "all"),
                 over_time(of_run("benchd_run_trials_failed"), "C", "failed")]),
    time_series("Step of the trial under way", "Measured steps that trainer 0 has made, of all; warm-up counts as none.", "none",
                (8, 24, 8, 8),
                [over_time(of_run("benchd_trial_steps_done"), "A", "done"), over_time(of_run("benchd_trial_steps"), "B", "all")], NOT_LIVE),
    time_series("Trainer 0, samples/s of its last step", "One trainer alone, one step: a sign of life, not a result.", RATE,
                (16, 24, 8, 8), [over_time(of_run("benchd_trainer_step_samples_per_second"), "A", "trainer 0")], NOT_LIVE),
    row("benchd", 32),
    time_series("Attempts by outcome", "Attempts saved by benchd since it started.", "none", (0, 33, 24, 7),
                [over_time(of("benchd_attempts_total"), "A", "{{outcome}}")], "benchd was not scraped in the time shown."),
]


NOT_SCRAPED = "benchd was not scraped in the time shown."
QUEUED, RUNNING = 'phase="Queued"', 'phase="Running"'
JOB = 'job="benchd"'  # client-go's names, and those of processes, are those of other programs too


def quantile(metric, by="", ref="A", legend="99%"):
    """What one in a hundred took at least."""
    rate = f'rate({of(f"{metric}_bucket", JOB)}[$__rate_interval])'
    return over_time(f"histogram_quantile(0.99, sum by (namespace, instance, le{by}) ({rate}))", ref, f"{BENCHD} {legend}")


HEALTH = [
    stat("Leader", "1 if this benchd holds the Lease: only then is anything driven.", "none", (0, 0, 6, 4), of("benchd_leader")),
    stat("Ready", "1 if /readyz answers 200.", "none", (6, 0, 6, 4), of("benchd_ready")),
    stat("Runs that wait for their turn", "One run is driven at a time.", "none", (12, 0, 6, 4), f'sum({of("benchd_runs", QUEUED)})'),
    stat("Free disk of the store", "Share of the file system that has the store. When it is full, runs wait.", "percentunit", (18, 0, 6, 4),
         f'{of("benchd_store_disk_free_bytes")} / {of("benchd_store_disk_bytes")}'),
    row("Runs", 4),
    time_series("Runs by phase", "Runs that have not ended.", "none", (0, 5, 8, 8),
                [over_time(f'sum by (phase) ({of("benchd_runs")})', "A", "{{phase}}")], NOT_SCRAPED),
    time_series("Runs that wait", "For how long, and why; a run that waits for its turn is not here.", "s", (8, 5, 8, 8),
                [over_time(f'time() - {of("benchd_run_wait_start_timestamp_seconds")}', "A", "{{namespace}} {{run}}: {{reason}}")], "No run waits."),
    time_series("Since a run got further", "Time since a trial ended or a step of trainer 0 was seen.", "s", (16, 5, 8, 8),
                [over_time(f'time() - {of("benchd_run_advanced_timestamp_seconds")}', "A", "{{namespace}} {{run}}")], "No run is driven."),
    row("API server", 13),
    time_series("Answers by code", "A second; <error>: none came.", "reqps", (0, 14, 8, 8),
                [over_time(f'sum by (code) (rate({of("rest_client_requests_total", JOB)}[$__rate_interval])) > 0', "A", "{{code}}")],
                NOT_SCRAPED),
    time_series("Time of a request", "One in a hundred took at least so long, by verb and resource.", "s", (8, 14, 8, 8),
                [quantile("rest_client_request_duration_seconds", ", verb, resource", legend="{{verb}} {{resource}}")], NOT_SCRAPED),
    time_series("Restarts of watches", "Watches opened again, an hour. A watch lives 5 to 10 minutes.", "none", (16, 14, 8, 8),
                [over_time(f'rate({of("benchd_watch_restarts_total")}[$__rate_interval]) * 3600', "A", f"{BENCHD} {{{{resource}}}}")],
                NOT_SCRAPED),
    row("Loop and store", 22),
    time_series("Time of a turn of the loop", "One turn in a hundred kept everything else waiting at least so long; the Lease is lost at 10 s.",
                "s", (0, 23, 8, 8), [quantile("benchd_loop_turn_duration_seconds"),
                                     over_time(of("benchd_loop_longest_turn_seconds"), "B", f"{BENCHD} longest since the start")], NOT_SCRAPED),
    time_series("Time of a statement of the store", "One in a hundred took at least so long, waits for the disk and for other writers included.", "s",
                (8, 23, 8, 8), [quantile("benchd_store_statement_duration_seconds")], NOT_SCRAPED),
    time_series("Size of the store", "Its files.", "bytes", (16, 23, 8, 8), [over_time(of("benchd_store_bytes"), "A", BENCHD)], NOT_SCRAPED),
    row("Process", 31),
    time_series("Memory", "Resident.", "bytes", (0, 32, 8, 8), [over_time(of("process_resident_memory_bytes", JOB), "A", BENCHD)], NOT_SCRAPED),
    time_series("CPUs used", "CPU time a second, user and system.", "none", (8, 32, 8, 8),
                [over_time(f'rate({of("process_cpu_seconds_total", JOB)}[$__rate_interval])', "A", BENCHD)], NOT_SCRAPED),
    time_series("File descriptors", "Share of the limit.", "percentunit", (16, 32, 8, 8),
                [over_time(f'{of("process_open_fds", JOB)} / {of("process_max_fds", JOB)}', "A", BENCHD)], NOT_SCRAPED),
]


def of_any(metric):
    """The last value of every run in the time shown."""
    return f"last_over_time({of(metric)}[$__range])"


OVERVIEW = [
    stat("Runs that run", "One run is driven at a time.", "none", (0, 0, 6, 4), f'sum({of("benchd_runs", RUNNING)})'),
    stat("Runs that wait for their turn", "Runs in the queue.", "none", (6, 0, 6, 4), f'sum({of("benchd_runs", QUEUED)})'),
    stat("Runs that wait for something else", "A quota, nodes, an image: the dashboard of benchd's health says for what.", "none",
         (12, 0, 6, 4), f'count({of("benchd_run_wait_start_timestamp_seconds")}) or vector(0)'),
    stat("Runs shown of all", "A scrape of a benchd shows 16 runs at most: those that are driven, then the newest.", "percentunit", (18, 0, 6, 4),
         f'count({of("benchd_run_info")}) / (count({of("benchd_run_info")}) + sum({of("benchd_runs_hidden")}))'),
    table("Runs", "The runs seen in the time shown, with their fastest point; samples/s of the whole job, the median over its trials.",
          (0, 4, 24, 10),
          [("A", f'max by (namespace, run, benchmark, rehearsal, simulated) ({of_any("benchd_run_info")})', "Seen", "none"),
           ("B", f'max by (namespace, run) ({of_any("benchd_run_trials_done")})', "Trials done", "none"),
           ("C", f'max by (namespace, run) ({of_any("benchd_run_trials")})', "Trials", "none"),
           ("D", f'max by (namespace, run) ({of_any("benchd_run_trials_failed")})', "Failed", "none"),
           ("E", f'max by (namespace, run) ({of_any("benchd_point_throughput_samples_per_second")})', "Fastest point", RATE),
           ("F", f'max by (namespace, run) ({of_any("benchd_point_speedup_ratio")})', "Largest speedup", "none"),
           ("G", f'max by (namespace, run) ({of_any("benchd_run_created_timestamp_seconds")}) * 1000', "Created", "dateTimeAsIso")],
          ("Value #A",), ("namespace", "run", "benchmark", "rehearsal", "simulated"),
          [{"matcher": {"id": "byName", "options": "run"}, "properties": [{"id": "links", "value": [
              link("This run", "benchd-run"), link("Its scaling", "benchd-scaling"), link("Its nodes", "benchd-nodes")]}]},
           {"matcher": {"id": "byName", "options": "Failed"}, "properties": [
               {"id": "custom.cellOptions", "value": {"type": "color-text"}},
               {"id": "thresholds", "value": {"mode": "absolute", "steps": [
                   {"color": "text", "value": None}, {"color": "red", "value": 1}]}}]}]),
    row("Over time", 14),
    time_series("Runs by phase", "Runs that have not ended.", "none", (0, 15, 12, 8),
                [over_time(f'sum by (phase) ({of("benchd_runs")})', "A", "{{phase}}")], "benchd was not scraped in the time shown."),
    time_series("Attempts by outcome", "Attempts saved by benchd since it started.", "none", (12, 15, 12, 8),
                [over_time(f'sum by (outcome) ({of("benchd_attempts_total")})', "A", "{{outcome}}")],
                "benchd was not scraped in the time shown."),
]

SCALING = [
    trend("Speedup by $x", "Throughput over that of the baseline; dotted: its 95% interval; dashed: the ideal.", "none", (0, 0, 12, 10),
          lines(value=SPEEDUP, low=last("benchd_point_speedup_low_ratio"), high=last("benchd_point_speedup_high_ratio"),
                ideal=f"{SPEEDUP} / {EFFICIENCY}")),
    trend("Efficiency by $x", "Speedup over the number of trainers; dotted: its 95% interval; dashed: the ideal.", "percentunit",
          (12, 0, 12, 10),
          lines(value=EFFICIENCY, low=last("benchd_point_efficiency_low_ratio"), high=last("benchd_point_efficiency_high_ratio"),
                ideal=f"{EFFICIENCY} * 0 + 1")),
    matrix("Throughput, table by $x", "Samples/s of the whole job, the median over trials: a row for each value of x, a column for every combination "
           "of the others.", RATE, (0, 10, 24, 7), line(THROUGHPUT, "")),
    matrix("Speedup, table by $x", "Throughput over that of the baseline.", "none", (0, 17, 24, 7), line(SPEEDUP, "")),
    matrix("Efficiency, table by $x", "Speedup over the number of trainers.", "percentunit", (0, 24, 24, 7), line(EFFICIENCY, "")),
    trend("Price index by $x", "Trainers over the square of the speedup: below 1 the speed rises by more than the number of trainers does.", "none",
          (0, 31, 24, 8), line(f"({SPEEDUP} / {EFFICIENCY}) / ({SPEEDUP} * {SPEEDUP})", "value")),
]

POINT = "on (system, pservers, trainers, batch_size, threads, other)"


def of_side(metric, variable):
    """By what a point is, without what names the run: the points of two runs meet."""
    return ("max by (system, pservers, trainers, batch_size, threads, other) "
            f'({last(metric, variable)})')


def ratio(metric):
    return f'{of_side(metric, "candidate")} / {POINT} {of_side(metric, "base")}'


COMPARE = [
    stat("Points of both", "Points of the candidate that the base has, too.", "none", (0, 0, 8, 4),
         f'count({ratio("benchd_point_throughput_samples_per_second")})'),
    stat("Slowest point beside the base", "The smallest ratio of throughputs. Whether it is more than chance, benchctl compare tests: no panel does.",
         "percentunit", (8, 0, 8, 4), f'min({ratio("benchd_point_throughput_samples_per_second")})'),
    stat("Fastest point beside the base", "The largest ratio of throughputs.", "percentunit", (16, 0, 8, 4),
         f'max({ratio("benchd_point_throughput_samples_per_second")})'),
    table("Points of both runs", "Samples/s of the whole job and efficiency, base and candidate; the ratio is candidate over base. For tests of significance "
          "and what else differs: benchctl compare BASE CANDIDATE.", (0, 4, 24, 12),
          [("A", of_side("benchd_point_throughput_samples_per_second", "base"), "Base", RATE),
           ("B", of_side("benchd_point_throughput_samples_per_second", "candidate"), "Candidate", RATE),
           ("C", ratio("benchd_point_throughput_samples_per_second"), "Ratio", "percentunit"),
           ("D", of_side("benchd_point_efficiency_ratio", "base"), "Base efficiency", "percentunit"),
           ("E", of_side("benchd_point_efficiency_ratio", "candidate"), "Candidate efficiency", "percentunit")],
          (), ("system", *X_AXES, "other")),
]

NODE_COLUMNS = [
    ("A", "benchd_node_replicas", "Replicas", "none"), ("B", "benchd_node_points", "Points", "none"),
    ("C", "benchd_node_excess_ratio", "Time a step, more than others", "percentunit"),
    ("D", "benchd_node_slower_points", "Points at which it was slower", "none"),
    ("E", "benchd_node_throttled_ratio", "Throttled", "percentunit")]
NODES = [
    stat("Nodes", "That replicas of succeeded trials ran on. A scrape shows 60 at most, of a run all or none.", "none", (0, 0, 8, 4),
         last("benchd_run_nodes")),
    stat("Worst straggler", "The most that trainers of a point lose to the slowest, as a share of a step; benchctl results --by replica shows it.",
         "percentunit", (8, 0, 8, 4), f'max({last("benchd_point_straggler_share_ratio")})'),
    stat("Slowest node", "How much more time a step its replicas need than those of others; nothing where there is nothing to compare with.", "percentunit",
         (16, 0, 8, 4), f'max({last("benchd_node_excess_ratio")})'),
    table("By node", "As benchctl results --by node prints it.", (0, 4, 24, 12),
          [(ref, last(metric), name, unit) for ref, metric, name, unit in NODE_COLUMNS],
          ("run", "benchmark", *TARGET), ("node",),
          [{"matcher": {"id": "byName", "options": "Time a step, more than others"}, "properties": [
              {"id": "custom.cellOptions", "value": {"type": "color-text"}},
              {"id": "thresholds", "value": {"mode": "absolute", "steps": [
                  {"color": "text", "value": None}, {"color": "orange", "value": 0.05}, {"color": "red", "value": 0.15}]}}]}]),
]


def query_variable(name, label, query, has_all=False):
    every = {"includeAll": True, "allValue": ".*"} if has_all else {}
    return {"name": name, "type": "query", "label": label, "datasource": PROM, "refresh": 2, "sort": 0, "hide": 0,
            "query": {"query": query, "refId": name}, "definition": query, **every}


def run_variable(name="run", label="Run"):
    return query_variable(name, label, f'label_values({of("benchd_run_info")}, run)')


def scope_variables(has_all):
    """Which benchds: of all namespaces, or of one alone."""
    return [query_variable("namespace", "Namespace", "label_values(benchd_build_info, namespace)", has_all),
            query_variable("instance", "Instance", 'label_values(benchd_build_info{namespace=~"$namespace"}, instance)', True)]


def x_variable(chosen=1):
    return {"name": "x", "type": "custom", "label": "x axis", "hide": 0, "query": ",".join(X_AXES),
            "current": {"selected": True, "text": X_AXES[chosen], "value": X_AXES[chosen]},
            "options": [{"selected": i == chosen, "text": x, "value": x} for i, x in enumerate(X_AXES)]}


def annotation(name, metric, color):
    """A mark on every graph at the time that is the metric's value; a switch of the dashboard hides it."""
    return {"name": name, "datasource": PROM, "enable": True, "iconColor": color, "expr": f"{of(metric)} * 1000", "useValueForTime": "on",
            "titleFormat": f"{{{{namespace}}}} {{{{run}}}} {name.split()[-1]}", "step": "30s"}


ANNOTATIONS = [annotation("Runs started", "benchd_run_started_timestamp_seconds", "green"),
               annotation("Runs ended", "benchd_run_ended_timestamp_seconds", "blue")]


def board(title, name, description, panels, variables, refresh="30s"):
    """A dashboard of the set: it links to the others, which keep time and variables. Its own variables are about runs."""
    for number, item in enumerate(panels, 1):
        item["id"] = number
    return {
        "title": title, "uid": name, "tags": ["benchd"], "schemaVersion": 39, "version": 1, "editable": True, "description": description,
        "time": {"from": "now-6h", "to": "now"}, "refresh": refresh, "timezone": "", "graphTooltip": 1, "annotations": {"list": ANNOTATIONS},
        "links": [{"type": "dashboards", "title": "benchd", "tags": ["benchd"], "asDropdown": True, "includeVars": True, "keepTime": True,
                   "targetBlank": False, "icon": "", "tooltip": "", "url": ""}],
        "templating": {"list": [
            {"name": "prom", "type": "datasource", "query": "prometheus", "label": "Prometheus", "hide": 0, "refresh": 1},
            *scope_variables(has_all=not variables), *variables]},
        "panels": panels,
    }


def overview():
    return board("benchd: overview", "benchd-overview", "All runs, what they wait for, and their fastest points.", OVERVIEW, [])


def scaling():
    return board("benchd: scaling", "benchd-scaling", "Speedup and efficiency of a run as curves and as tables.", SCALING, [run_variable(), x_variable()])


def compare():
    return board("benchd: two runs", "benchd-compare", "The points that two runs of a namespace share, next to each other.", COMPARE,
                 [run_variable("base", "Base"), run_variable("candidate", "Candidate")])


def nodes():
    return board("benchd: nodes and stragglers", "benchd-nodes", "Which nodes made a run slow.", NODES, [run_variable()])


def health():
    return board("benchd: health", "benchd-health", "Whether benchd itself is well: its queue, the API server as it sees it, its loop, its store and its process.",
                 HEALTH, [])


def dashboard():
    return board("benchd: a run", "benchd-run", "Throughput, speedup and efficiency of one benchmark run by its sweep values, and how it goes on.",
                 PANELS, [run_variable(), x_variable(0)], "15s")


DASHBOARDS = {"benchd-overview": overview, "benchd-run": dashboard, "benchd-scaling": scaling, "benchd-compare": compare,
              "benchd-nodes": nodes, "benchd-health": health}

if __name__ == "__main__":
    json.dump(DASHBOARDS[sys.argv[1]](), sys.stdout, indent=1)
    sys.stdout.write("\n")
