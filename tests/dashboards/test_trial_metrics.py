"""spec.metrics of a local run, asked of a real Prometheus: the samples of the measured steps and no others, and in words why a
metric is unknown. The GPU's series has the form of a dcgm-exporter's answer on an L40S, recorded in public (github.com/NVIDIA/DCGM,
issue 226) and shortened by hand; its numbers are those of this test."""
import http.server
import json
import platform
import re
import socket
import sys
import threading
import urllib.request

import shared  # noqa: F401  (it sets the path)
import test_queries
from serve import cli

DCGM = """\
# HELP DCGM_FI_PROF_GR_ENGINE_ACTIVE gpu utilization.
# TYPE DCGM_FI_PROF_GR_ENGINE_ACTIVE gauge
DCGM_FI_PROF_GR_ENGINE_ACTIVE{{gpu="0",UUID="GPU-585834da-79ca-0599-5140-4ffdb131ae93",pci_bus_id="00000000:4E:00.0",device="nvidia0",\
modelName="NVIDIA L40S",Hostname="{node}"}} {active}
DCGM_FI_PROF_GR_ENGINE_ACTIVE{{gpu="1",UUID="GPU-8f8001ff-73ba-2e83-3cdc-4156ae4f3912",pci_bus_id="00000000:62:00.0",device="nvidia1",\
modelName="NVIDIA L40S",Hostname="{node}"}} 0.75
DCGM_FI_PROF_GR_ENGINE_ACTIVE{{gpu="0",UUID="GPU-c75f32bb-12d5-4a3f-9c3e-30a5f6dd0e3a",pci_bus_id="00000000:4E:00.0",device="nvidia0",\
modelName="NVIDIA L40S",Hostname="another.{node}"}} 1
"""
# The first GPU is as busy as the file says: 0.25 from before the measured steps until after them, and 1 at other times.
SCRIPT = """
import sys, time
def be(active): open(sys.argv[1], "w").write(active)
def steps(n):
    for _ in range(n):
        time.sleep(0.1); print("step", time.time(), "ms 100.0", flush=True)
be("1"); time.sleep(1); be("0.25"); time.sleep(0.4); steps(25); time.sleep(0.4); be("1"); time.sleep(0.4)
"""
CONFIG = """\
global: {{scrape_interval: 250ms, scrape_timeout: 250ms}}
scrape_configs:
- job_name: benchd
  static_configs: [{{targets: ["{target}"]}}]
"""
ENGINE = 'DCGM_FI_PROF_GR_ENGINE_ACTIVE{Hostname=~"$(NODES)"}[$(WINDOW)]'


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = DCGM.format(node=platform.node(), active=self.server.active.read_text(encoding="ascii") or "1").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class TrialMetrics(cli.CliCase):
    def setUp(self):
        super().setUp()
        self.active = self.folder / "active"
        self.active.write_text("1", encoding="ascii")

    def serve(self):
        """A Prometheus that has scraped the GPUs."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.active = self.active
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        prometheus = test_queries.Prometheus(self.folder, f"127.0.0.1:{server.server_port}", CONFIG)
        self.addCleanup(prometheus.stop)

        def has_scraped():
            try:
                return json.load(urllib.request.urlopen(f"{prometheus.url}/api/v1/query?query=up==1"))["data"]["result"]
            except urllib.error.URLError:
                return False
        cli.wait_for("a scrape", has_scraped)
        return prometheus.url

    def measure(self, metrics, *args):
        """A run of one trial: its document, and what describe says."""
        spec = {"systems": [{"name": "own", "profile": "none", "command": [sys.executable, "-c", SCRIPT, str(self.active)],
                             "log": {"lines": [{"kind": "Step", "pattern": "ms (?<step_ms>)", "skip": {"lines": 5}}]}}],
                "workload": {"model": "m", "batchSize": 1, "exchange": {"kind": "AllReduce"}}, "sweep": {"grid": {"workers": [1]}},
                "roles": {"worker": {"replicas": {"from": "workers"}}}, "measure": {"steps": 20}, "repeats": {"min": 1},
                "metrics": [{"name": name, "query": query} for name, query in metrics.items()]}
        path = self.folder / "own.json"
        path.write_text(json.dumps({"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "own"}, "spec": spec}),
                        encoding="utf-8")
        done = self.ctl("run", str(path), "--store", self.store, "-o", "json", *args)
        told = self.ctl("describe", "latest", "--store", self.store).stdout
        return json.loads(done.stdout), re.sub(r"\s+", " ", told)

    def test_a_trial_has_the_samples_of_its_measured_steps(self):
        document, told = self.measure({
            "gpu_ratio": f"avg(avg_over_time({ENGINE}))", "least_ratio": f"min(min_over_time({ENGINE}))",
            "scrapes": 'scalar(count_over_time(up{job="benchd"}[$(WINDOW)]))'}, "--prometheus", self.serve())
        trial = document["points"][0]["trials"][0]
        self.assertEqual(trial["metrics"]["gpu_ratio"], (0.25 + 0.75) / 2)  # none of before, after or another node
        self.assertEqual(trial["metrics"]["least_ratio"], 0.25)
        dates = re.findall(r"step (\S+) ms", self.ctl("logs", "latest", "--point", "0", "--store", self.store).stdout)
        most = (float(dates[-1]) - float(dates[4])) / .25   # in 2 s, on a busy machine in more
        self.assertTrue(most / 4 < trial["metrics"]["scrapes"] <= most + 2, (most, trial["metrics"]))
        self.assertEqual(document["points"][0]["metrics"]["gpu_ratio"]["value"], 0.5)
        self.assertNotIn("MetricUnknown", told)
        table = self.ctl("results", "latest", "--store", self.store).stdout
        self.assertRegex(table, r"GPU_RATIO[^\n]*\n.*50\.0%")

    def test_what_is_unknown_is_said(self):
        document, told = self.measure({
            "nothing": "sum(sum_over_time(no_such_series[$(WINDOW)]))", "two": f"avg_over_time({ENGINE})", "series": "up[$(WINDOW)]", "not_a_number": f"0 * sum(sum_over_time({ENGINE})) / 0",
            "wrong": "sum(x[$(WINDOW)]", "scrapes": 'count_over_time(up{job="benchd"}[$(WINDOW)])'},
            "--prometheus", self.serve())
        self.assertEqual(list(document["points"][0]["trials"][0]["metrics"]), ["scrapes"])  # the rest is not 0
        for words in ("MetricUnknown since point 0, trial 0: nothing: no data in the measured steps; two: 2 series instead of one; add sum() or avg();",
                      "series: a matrix instead of a number; not_a_number: its value is NaN; wrong: Prometheus says:"):
            self.assertIn(words, told)

    def test_a_server_that_fails(self):
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        for url, words in ((f"http://127.0.0.1:{silent.getsockname()[1]}", "no answer within 10 s"),
                           (f"http://127.0.0.1:{test_queries.free_port()}", "no answer: .*[Cc]onnect"), (None, "no Prometheus is known; add --prometheus URL")):
            with self.subTest(words):
                document, told = self.measure({"scrapes": "sum(sum_over_time(up[$(WINDOW)]))"}, *(("--prometheus", url) if url else ()))
                self.assertNotIn("metrics", document["points"][0]["trials"][0])
                self.assertGreater(document["points"][0]["throughput"]["value"], 0)
                self.assertRegex(told, f"MetricUnknown since point 0, trial 0: .*{words}")
        self.assertIn("expected a URL", self.ctl("run", "x", "--local", "--prometheus", "host:9090", code=2).stderr)
        self.assertIn("start benchd with --prometheus", self.ctl("run", "x", "--prometheus", "http://host:9090", code=2).stderr)


if __name__ == "__main__":
    cli.main()
