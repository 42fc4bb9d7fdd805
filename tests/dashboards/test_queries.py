"""Every query of the dashboard, executed by a real Prometheus that scraped the HTTP server over finished runs, gives the
numbers of `benchctl results -o json`. Two runs of the fake replica lie in one store: a grid, which is still shown
live, and a small one of another speed. Prometheus scrapes the server as three benchds with the same runs: in two
namespaces, and outside a cluster, where no label namespace is."""
import json
import math
import re
import signal
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import shared
import serve
from serve import cli

sys.path.append(str(cli.ROOT / "tests" / "e2e"))
from cluster import free_port  # noqa: E402  (its folder is known only now)

X_AXES = ["pservers", "trainers", "batch_size", "threads"]
CONFIG = """\
global: {{scrape_interval: 500ms, scrape_timeout: 500ms}}
scrape_configs:
- job_name: benchd
  static_configs:
  - {{targets: ["{target}"], labels: {{namespace: lab-a, instance: "10.0.0.1:8080"}}}}
  - {{targets: ["{target}"], labels: {{namespace: lab-b, instance: "10.0.0.2:8080"}}}}
  - {{targets: ["{target}"], labels: {{instance: here}}}}
"""
N_BENCHDS = 3
# What the variables namespace and instance are, so that one benchd is chosen.
SCOPES = (("lab-a", ".*"), ("", ".*"), (".*", "here"))


class Prometheus:
    """A real one, in a folder of its own, on a free port."""

    def __init__(self, folder, target, config=CONFIG):
        (folder / "prometheus.yml").write_text(config.format(target=target), encoding="utf-8")
        self.url = f"http://127.0.0.1:{free_port()}"
        self.at = 0   # the time of all queries, in the past: what was scraped then changes no more
        self.log = open(folder / "prometheus.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address={self.url[7:]}"], stdout=self.log, stderr=self.log)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=90)
        self.log.close()

    def query(self, expr):
        """An instant query: [(labels, number)]."""
        return [(item["metric"], float(item["value"][1])) for item in self.ask("query", query=expr, time=self.at)]

    def query_range(self, expr):
        """The last value of each series: [(labels, number)]."""
        result = self.ask("query_range", query=expr, start=self.at - 60, end=self.at, step="1")
        return [(item["metric"], float(item["values"][-1][1])) for item in result]

    def ask(self, what, **args):
        url = f"{self.url}/api/v1/{what}?{urllib.parse.urlencode(args)}"
        try:
            with urllib.request.urlopen(url, timeout=90) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{args.get('query')}: {error.read().decode()}") from error

    def has_scraped(self, times):
        """So often a second ago, the last time with success: a scrape that a busy machine holds up for 500 ms leaves no series at all."""
        try:
            urllib.request.urlopen(f"{self.url}/-/ready", timeout=90).close()
        except urllib.error.URLError:  # not listening yet, or 503
            return False
        self.at = time.time() - 1
        counts, up = self.query("count_over_time(benchd_series[1m])"), self.query('up{job="benchd"}')
        return len(counts) == N_BENCHDS and all(n >= times for _, n in counts) and all(is_up for _, is_up in up)


def substitute(expr, scope, run="", x="", base="", candidate=""):
    for name, value in (("$__rate_interval", "1m"), ("$__range", "1h"), ("$run", run), ("$base", base), ("$candidate", candidate),
                        ("$namespace", scope[0]), ("$instance", scope[1])):
        expr = expr.replace(name, value)
    return expr.replace("$x", x)


def known(numbers):
    return {key: value for key, value in numbers.items() if value is not None}


class Expected:
    """The numbers of the result document, by the labels that /metrics gives them."""

    def __init__(self, document):
        self.points = document["points"]
        self.document = document

    @staticmethod
    def labels(point):
        return {"system": point["system"], "pservers": str(point["replicas"]["pserver"]),
                "trainers": str(point["replicas"]["trainer"]), "batch_size": str(point["batchSize"]),
                "threads": str(point["threads"])}

    def line(self, x, kinds):
        """{(x, series): number}: as the trend panels draw them. kinds: {kind: function of a point}. What is unknown (the
        interval of a point that is its own baseline) is no series."""
        out = {}
        for point in self.points:
            labels = self.labels(point)
            words = [labels["system"], *(f"{name} {labels[name]}" if name != x else "" for name in X_AXES), ""]
            for kind, number in kinds.items():
                out[labels[x], " ".join([*words, kind])] = number(point)
        return known(out)


def number(*path):
    def get(point):
        for key in path:
            point = point[key]
        return point
    return get


def interval(key):
    return {"value": number(key, "value"), "low": number(key, "low"), "high": number(key, "high")}


TRENDS = {
    "Throughput by $x": {**interval("throughput"), "baseline": number("baseline", "throughput", "value")},
    "Speedup by $x": {**interval("speedup"), "ideal": lambda p: p["speedup"]["value"] / p["efficiency"]["value"]},
    "Efficiency by $x": {**interval("efficiency"), "ideal": lambda p: 1},
}


SMALL = {"name": "small.json", "pservers": (1,), "trainers": (1, 2), "repeats": 3, "env": {"FAKE_FACTOR": "1=1.7"},
         "extra": {"baseline": {"kind": "Point", "where": {"trainers": 1}}}}


class Served(serve.ServedCase):
    """Two runs, their server, and a Prometheus that has scraped it."""

    def serve(self, active=None):
        self.small = self.run_tiny(**SMALL)["run"]  # two points of the grid
        return super().serve(active=self.name)  # the live panels have something to show

    def print(self, name):
        return json.loads(self.ctl("results", name, "--store", self.store, "-o", "json").stdout)

    def setUp(self):
        super().setUp()
        self.prometheus = Prometheus(self.folder, self.server.address)
        self.addCleanup(self.prometheus.stop)
        cli.wait_for("five scrapes", lambda: self.prometheus.has_scraped(5), 120)
        self.printed, self.printed_small = self.print(self.name), self.print(self.small)


class Queries(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        served = Served()
        try:
            served.setUp()
        finally:
            cls.addClassCleanup(lambda: cls.assertTrue(cls(), served.doCleanups(), "the server did not end cleanly"))
        cls.prometheus, cls.documents = served.prometheus, (served.printed, served.printed_small)

    def setUp(self):
        self.sides = ("", "")  # $base, $candidate
        self.scope = SCOPES[0]
        self.choose(self.documents[0])

    def choose(self, document):
        """The run that the dashboard's variable names."""
        self.document, self.name, self.expected = document, document["run"], Expected(document)

    def ask(self, target, x="trainers"):
        expr = substitute(target["expr"], self.scope, self.name, x, *self.sides)
        self.assertNotRegex(expr, r"\$[a-z_{]", "a variable was not resolved")
        return (self.prometheus.query if target.get("instant") else self.prometheus.query_range)(expr)

    def assert_numbers(self, got, expected):
        self.assertEqual(sorted(got), sorted(expected))
        for key, value in expected.items():
            self.assertTrue(math.isclose(got[key], value, rel_tol=1e-12), f"{key}: expected {value}, got {got[key]}")

    def check_trend(self, panel):
        self.check_lines(panel, TRENDS[panel["title"]])

    def check_lines(self, panel, kinds):
        self.assertEqual(len(panel["targets"]), 1)  # one frame
        for x in X_AXES:
            with self.subTest(f"{panel['title']}: {x}"):
                answers = self.ask(panel["targets"][0], x)
                got = {(labels["x"], labels["series"]): value for labels, value in answers}
                self.assertEqual(len(got), len(answers))  # nothing is drawn over
                self.assertTrue(all(set(labels) == {"x", "series"} for labels, _ in answers))
                self.assert_numbers(got, self.expected.line(x, kinds))

    def check_columns(self, panel, key, expected):
        """expected: {title: {key: number}}; a key is what the labels named in `key` say, with blanks between."""
        renames = panel["transformations"][1]["options"]["renameByName"]
        titles = {target["refId"]: renames[f"Value #{target['refId']}"] for target in panel["targets"]}
        self.assertEqual(sorted(titles.values()), sorted(expected))
        for target in panel["targets"]:
            with self.subTest(f"column {titles[target['refId']]}"):
                answers = self.ask(target)
                got = {" ".join(labels.get(name, "") for name in key.split()): value for labels, value in answers}
                self.assertEqual(len(got), len(answers))  # no two rows are one
                self.assert_numbers(got, known(expected[titles[target["refId"]]]))

    def check_table(self, panel):
        """Every figure of the catalogue that /metrics has, in base units."""
        target, = panel["targets"]
        got = {}
        for labels, value in self.ask(target):
            got[labels["__name__"], int(labels["point"])] = value
            self.assertLessEqual(self.expected.labels(self.expected.points[int(labels["point"])]).items(), labels.items())
        numbers = {name: number(row["json"], part) for row in cli.figures() for name, part in cli.metric_limits(row).items()}
        numbers |= {"benchd_point_baseline_throughput_samples_per_second": number("baseline", "throughput", "value"),
                    "benchd_point_trials_succeeded": number("trialsSucceeded")}
        found = known({(name, p["point"]): get(p) for name, get in numbers.items() for p in self.expected.points})
        self.assert_numbers(got, {key: value * (1 << 20 if key[0].endswith("_bytes") else 1) for key, value in found.items()})

    def check_one(self, panel, expected_label, expected):
        (labels, value), = self.ask(panel["targets"][0])
        if expected_label:
            self.assertEqual(labels[expected_label[0]], expected_label[1])
        self.assertEqual(value, expected)

    def check_over_time(self, panel, expected):
        """expected: {refId: number}; every query has one series."""
        got = {}
        for target in panel["targets"]:
            (_, got[target["refId"]]), = self.ask(target)
        self.assertEqual(got, expected)

    def check_nothing(self, panel):
        for target in panel["targets"]:
            self.assertEqual(self.ask(target), [])

    def check_attempts(self, panel):
        got = {labels["outcome"]: value for labels, value in self.ask(panel["targets"][0])}
        self.assertEqual(got, dict.fromkeys(("Succeeded", "Void", "Failed", "MetricsUnavailable", "Invalid"), 0))

    def checks(self):
        """{title: function of the panel}, of the fake replica's run."""
        trials = sum(len(p["trials"]) for p in self.document["points"] + self.document["baselines"])
        return {
            "Phase": lambda p: self.check_one(p, ("phase", self.document["phase"]), 1),
            "Kind of run": lambda p: self.check_one(p, ("rehearsal", str(self.document["rehearsal"]).lower()), 1),
            "Trials done": lambda p: self.check_one(p, None, 1),
            "Trials failed": lambda p: self.check_one(p, None, 0),
            **dict.fromkeys(TRENDS, self.check_trend),
            "Points": self.check_table,
            "Trials": lambda p: self.check_over_time(p, {"A": trials, "B": trials, "C": 0}),
            # As web_server plays it: step 3 of 16 samples in 250 ms.
            "Step of the trial under way": lambda p: self.check_over_time(p, {"A": 4, "B": self.document["measure"]["steps"]}),
            "Trainer 0, samples/s of its last step": lambda p: self.check_over_time(p, {"A": 64}),
            "Attempts by outcome": self.check_attempts,
        }

    def check_series(self, label, expected):
        """A check: the numbers by label, to a millionth; None: some number above 0."""
        def check(panel):
            for target, numbers in zip(panel["targets"], expected, strict=True):
                got = {" ".join(labels.get(name, "") for name in label.split()): value for labels, value in self.ask(target)}
                self.assertEqual(sorted(got), sorted(numbers))
                for key, value in numbers.items():
                    self.assertTrue(got[key] > 0 if value is None else math.isclose(got[key], value, rel_tol=1e-6),
                                    f"{key}: expected {value}, got {got[key]}")
        return check

    def health_checks(self):
        """As web_server plays it: one in ten is slow."""
        def one(value):
            return lambda p: self.check_one(p, None, value)
        return {
            "Leader": one(1), "Ready": one(1), "Runs that wait for their turn": one(3), "Free disk of the store": one(0.25),
            "Runs by phase": self.check_series("phase", [{"Pending": 0, "Queued": 3, "Running": 1, "Suspended": 0}]),
            "Runs that wait": self.check_series("run reason", [{f"{self.name} QuotaExceeded": None}]),
            "Since a run got further": self.check_series("run", [{self.name: None}]),
            "Answers by code": self.check_series("code", [{"201": None, "429": None}]),
            "Time of a request": self.check_series("verb resource", [{"POST pods": 2 + 2 * 0.9}]),
            "Restarts of watches": self.check_series("resource", [{"benchmarks": 0, "benchmarkruns": 0, "pods": None}]),
            "Time of a turn of the loop": self.check_series("", [{"": 0.25 + 0.25 * 0.9}, {"": 0.3}]),
            "Time of a statement of the store": self.check_series("", [{"": 0.025 + 0.075 * 0.9}]),
            "Size of the store": self.check_series("", [{"": 5000000}]),
            "Memory": self.check_series("", [{"": None}]),
            "CPUs used": self.check_series("", [{"": None}]),
            "File descriptors": self.check_series("", [{"": None}]),
        }

    def test_every_panel_of_the_health_dashboard(self):
        self.check_panels(self.health_checks(), "benchd-health.json")

    def check_panels(self, checks, dashboard="benchd-run.json"):
        panels = [p for p in shared.load(dashboard)["panels"] if p["type"] != "row"]
        self.assertEqual([p["title"] for p in panels], list(checks))
        for self.scope in SCOPES:
            for panel in panels:
                with self.subTest(f"{panel['title']}, {self.name}, {self.scope}"):
                    checks[panel["title"]](panel)

    def test_every_panel_of_the_overview(self):
        def one(value):
            return lambda p: self.check_one(p, None, value)

        def best(document, *path):
            return max(number(*path)(point) for point in document["points"])

        def trials(document):
            return sum(len(p["trials"]) for p in document["points"] + document["baselines"])

        def created(panel):
            target = panel["targets"][-1]
            (_, value), = [(labels, value) for labels, value in self.ask(target) if labels["run"] == self.name]
            self.assertLess(abs(value / 1000 - time.time()), 86400)
            return {labels["run"]: value for labels, value in self.ask(target)}

        def runs(panel):
            by_run = {document["run"]: document for document in self.documents}
            self.check_columns(panel, "run", {
                "Seen": dict.fromkeys(by_run, 1), "Failed": dict.fromkeys(by_run, 0), "Created": created(panel),
                **{title: {name: trials(document) for name, document in by_run.items()} for title in ("Trials done", "Trials")},
                "Fastest point": {name: best(document, "throughput", "value") for name, document in by_run.items()},
                "Largest speedup": {name: best(document, "speedup", "value") for name, document in by_run.items()}})
        self.check_panels({
            "Runs that run": one(1), "Runs that wait for their turn": one(3), "Runs that wait for something else": one(1),
            "Runs shown of all": one(1), "Runs": runs,
            "Runs by phase": self.check_series("phase", [{"Pending": 0, "Queued": 3, "Running": 1, "Suspended": 0}]),
            "Attempts by outcome": self.check_attempts}, "benchd-overview.json")

    def test_every_panel_of_scaling(self):
        def lines(**kinds):
            return lambda p: self.check_lines(p, kinds)

        def index(point):
            speedup = point["speedup"]["value"]
            return speedup / point["efficiency"]["value"] / speedup ** 2

        def cells(key):
            return lambda p: self.check_lines(p, {"": number(key, "value")})
        for document in self.documents:
            self.choose(document)
            self.check_panels({
                "Speedup by $x": self.check_trend, "Efficiency by $x": self.check_trend,
                "Throughput, table by $x": cells("throughput"), "Speedup, table by $x": cells("speedup"),
                "Efficiency, table by $x": cells("efficiency"), "Price index by $x": lines(value=index)}, "benchd-scaling.json")

    def check_comparison(self, base, candidate):
        """Points with the same labels meet; those of one run alone have no ratio."""
        labels = "system pservers trainers batch_size threads other"
        sides = [{" ".join([*Expected.labels(p).values(), ""]): p for p in document["points"]} for document in (base, candidate)]
        both = sorted(set(sides[0]) & set(sides[1]))
        self.assertGreater(len(both), 1)
        ratios = {key: sides[1][key]["throughput"]["value"] / sides[0][key]["throughput"]["value"] for key in both}
        self.sides = (base["run"], candidate["run"])

        def column(side, figure):
            return {key: point[figure]["value"] for key, point in sides[side].items()}

        def one(value):
            return lambda p: self.assert_numbers({"": self.ask(p["targets"][0])[0][1]}, {"": value})
        self.check_panels({
            "Points of both": one(len(both)), "Slowest point beside the base": one(min(ratios.values())),
            "Fastest point beside the base": one(max(ratios.values())),
            "Points of both runs": lambda p: self.check_columns(p, labels, {
                "Base": column(0, "throughput"), "Candidate": column(1, "throughput"), "Ratio": ratios,
                "Base efficiency": column(0, "efficiency"), "Candidate efficiency": column(1, "efficiency")})},
            "benchd-compare.json")

    def test_every_panel_of_two_runs(self):
        self.check_comparison(*self.documents)
        self.check_comparison(*reversed(self.documents))

    def test_every_panel_of_the_nodes(self):
        for document in self.documents:
            self.choose(document)
            nodes = document["nodes"]
            self.assertGreater(len(nodes), 0)

            def column(key, nodes=nodes):
                return {node["node"]: node[key] for node in nodes}
            stragglers = [share for share in (point["stragglerShare"]["value"] for point in document["points"]) if share is not None]
            excesses = [node["excess"] for node in nodes if node["excess"] is not None]
            self.check_panels({
                "Nodes": lambda p, n=len(nodes): self.check_one(p, None, n),
                "Worst straggler": (lambda p, s=stragglers: self.check_one(p, None, max(s))) if stragglers else self.check_nothing,
                "Slowest node": (lambda p, e=excesses: self.check_one(p, None, max(e))) if excesses else self.check_nothing,
                "By node": lambda p: self.check_columns(p, "node", {
                    "Replicas": column("replicas"), "Points": column("points"), "Time a step, more than others": column("excess"),
                    "Points at which it was slower": column("pointsSlower"), "Throttled": column("throttled")})},
                "benchd-nodes.json")

    def test_every_panel(self):
        self.check_panels(self.checks())

    def test_every_panel_of_a_run_that_is_over(self):
        self.choose(self.documents[1])
        live = ("Step of the trial under way", "Trainer 0, samples/s of its last step")
        self.check_panels({**self.checks(), **dict.fromkeys(live, self.check_nothing)})

    def test_the_runs_can_be_chosen(self):
        """What label_values() of each variable asks for, and the label that it lists."""
        expected = {"namespace": {"lab-a", "lab-b"}, "instance": {"10.0.0.1:8080"}, "run": {document["run"] for document in self.documents}}
        variables = [v for v in shared.load()["templating"]["list"] if v["type"] == "query"]
        self.assertEqual(list(expected), [variable["name"] for variable in variables])
        for variable in variables:
            query, label = variable["definition"].removeprefix("label_values(").removesuffix(")").rsplit(", ", 1)
            answers = self.prometheus.query(substitute(query, ("lab-a", ".*")))
            self.assertEqual(expected[variable["name"]], {labels[label] for labels, _ in answers if label in labels}, variable["name"])

    def test_no_benchd_hides_another(self):
        """Where all namespaces are chosen, each benchd has series of its own, or what all have is added up."""
        for name in ("benchd-health.json", "benchd-overview.json"):
            for target in [target for panel in shared.load(name)["panels"] for target in panel.get("targets", [])]:
                self.scope = SCOPES[0]
                one = self.ask(target)
                self.scope = (".*", ".*")
                every = self.ask(target)
                is_sum = re.match(r"(sum|count)\b", target["expr"])
                self.assertEqual(len(every), len(one) * (1 if is_sum else N_BENCHDS), target["expr"])
                if is_sum and not re.search(r"rate\(| / ", target["expr"]):  # their times and their ratio differ from those of one
                    self.assertEqual(sum(n for _, n in every), N_BENCHDS * sum(n for _, n in one), target["expr"])

    def test_runs_are_marked_where_they_began_and_ended(self):
        for note in shared.load()["annotations"]["list"]:
            marks = {labels["run"]: at for labels, at in self.prometheus.query(substitute(note["expr"], SCOPES[0]))}
            self.assertEqual(sorted(marks), sorted(document["run"] for document in self.documents), note["name"])
            self.assertTrue(all(abs(at / 1000 - self.prometheus.at) < 86400 for at in marks.values()), (note["name"], marks))

    def test_a_scrape_is_whole(self):
        """Prometheus found as many series as the page says that it has."""
        (_, series), = self.prometheus.query('benchd_series{namespace="lab-a"}')
        (_, scraped), = self.prometheus.query('scrape_samples_scraped{job="benchd",namespace="lab-a"}')
        self.assertEqual(scraped, series)

    def test_wrong_numbers_are_seen(self):
        """The comparison can fail: a number that is off, a line that is missing."""
        panel = next(p for p in shared.load()["panels"] if p["title"] == "Speedup by $x")
        answers = {(a["x"], a["series"]): v for a, v in self.ask(panel["targets"][0])}
        expected = self.expected.line("trainers", TRENDS[panel["title"]])
        key = next(iter(expected))
        with self.assertRaises(AssertionError):
            self.assert_numbers({**answers, key: answers[key] * (1 + 1e-9)}, expected)
        with self.assertRaises(AssertionError):
            self.assert_numbers({k: v for k, v in answers.items() if k != key}, expected)


if __name__ == "__main__":
    cli.main()
