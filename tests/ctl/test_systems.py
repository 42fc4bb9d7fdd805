#!/usr/bin/env python3
"""Systems with an image and a command of their own: plain scripts that know nothing of benchd but the lines they print, and
find each other by the variables of a profile. No framework is needed."""
import json
import re
import subprocess
import sys

import cli

# Reads what torchrun sets, and really exchanges: worker 0 adds up the vectors of all and sends back the sum.
TRAIN = f"""#!{sys.executable}
import json, os, socket, struct, sys, time
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
N = 4096

def receive(s):
    data = b""
    while len(data) < 4 * N:
        chunk = s.recv(4 * N - len(data))
        if not chunk:
            sys.exit("a peer is gone")
        data += chunk
    return struct.unpack(f"{{N}}i", data)

def connect():
    for _ in range(2000):
        try:
            return socket.create_connection(address)
        except ConnectionRefusedError:
            time.sleep(0.01)
    sys.exit("no worker 0")

if rank == 0:
    server = socket.create_server(address)
    peers = [server.accept()[0] for _ in range(size - 1)]
else:
    peers = [connect()]

def all_reduce(own):
    if rank > 0:
        peers[0].sendall(struct.pack(f"{{N}}i", *own))
        return receive(peers[0])
    total = [sum(v) for v in zip(own, *(receive(p) for p in peers))]
    for p in peers:
        p.sendall(struct.pack(f"{{N}}i", *total))
    return total

batch, steps = int(sys.argv[1]), int(os.environ["BENCHD_STEPS"])
began = time.monotonic_ns()
for step in range(steps):
    total = all_reduce([rank + step] * N)
    assert list(total) == [size * (size - 1) // 2 + size * step] * N, total[:3]
record = dict(benchd=1, type="summary", role=os.environ["BENCHD_ROLE"], index=rank, attempt=int(os.environ["BENCHD_ATTEMPT"]),
              samples=batch * steps, duration_ns=time.monotonic_ns() - began, steps=steps, loss_first=None, loss_last=None,
              max_rss_bytes=None, environment_digest=None, series=None)
print("model", sys.argv[2], "world", size)
print(json.dumps({{k: v for k, v in record.items() if v is not None}}), flush=True)
"""

# The whole of it: what somebody with such a script writes.
DEFINITION = """\
apiVersion: benchd.io/v1alpha1
kind: Benchmark
metadata: {name: ddp}
spec:
  systems: [{name: ddp, profile: torchrun, command: [%s, $(BENCHD_BATCH_SIZE), $(BENCHD_MODEL)]}]
  workload: {model: my-net, batchSize: 32, exchange: {kind: AllReduce}}
  sweep: {grid: {workers: [1, 2]}}
  roles: {worker: {replicas: {from: workers}}}
  measure: {warmupSteps: 0, steps: 200}   # tens of the ticks in which the kernel counts the CPUs
"""

# The example of docs/profiles.md, and a program that prints what it got.
DMLC = """\
name: dmlc
rendezvous:
- {name: DMLC_ROLE, value: server, roles: [pserver]}
- {name: DMLC_ROLE, value: worker, roles: [trainer]}
- {name: DMLC_NUM_SERVER, value: "${pservers}"}
- {name: DMLC_NUM_WORKER, value: "${trainers}"}
- {name: DMLC_PS_ROOT_URI, value: "${pserver.host}", with: [pserver]}
- {name: DMLC_PS_ROOT_PORT, value: "${pserver.port}", with: [pserver]}
"""


class Systems(cli.CliCase):
    def setUp(self):
        super().setUp()
        self.place = self.folder / "place"
        self.env["BENCHCTL_PATH"] = str(self.place)

    def file(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def test_a_plain_script_in_nine_lines(self):
        path = self.file("ddp.yaml", DEFINITION % self.file("train.py", TRAIN))
        args = ("--store", self.store, "--repeats", "1")
        done = self.ctl("run", path, *args, "-o", "json")
        result = json.loads(done.stdout)
        self.assertEqual("Succeeded", result["phase"], done.stderr)
        self.assertEqual([1, 2], [p["replicas"]["worker"] for p in result["points"]])
        self.assertEqual(["AllReduce"] * 2, [p["exchange"] for p in result["points"]])
        self.assertEqual([0, 0], [p["baseline"]["point"] for p in result["points"]])  # one worker is the baseline
        self.assertEqual(1, result["points"][0]["efficiency"]["value"])
        for point in result["points"]:  # the launcher looked at the machine, which the script does not
            noise, *others = [item["summary"].get("noise") for item in point["trials"][0]["replicas"]["items"]]
            for each in (noise, *others):
                self.assertTrue(each["byLauncher"])
                self.assertGreater(each["busyNs"], 0)
            self.assertGreater(min(noise[when]["spinsPerS"] for when in ("before", "after")), 0)
            self.assertEqual([None] * len(others), [each["before"] for each in others])
        described = self.ctl("describe", result["run"], "--store", self.store).stdout
        self.assertRegex(described, r"(?m)^Noise .*\n +POINT .*\n +0 +0 +\d+ +([\d.]+|too busy) +\d+ +([\d.]+|too busy) ")
        log = self.ctl("logs", result["run"], "--store", self.store, "--point", "1").stdout  # of worker 0
        self.assertIn("model my-net world 2\n", log)
        table = self.ctl("results", result["run"], "--store", self.store, "--explain").stdout
        self.assertIn("Efficiency: Speedup / number of workers", table)
        plan = self.ctl("plan", path, "--local").stdout
        self.assertRegex(plan, r"(?m)^POINT .* WORKERS +THREADS")

    # It measures its steps: a time that it only states is contradicted by the arrival of its lines where the machine is busy. It makes up
    # for no step that was late: of steps without a wait a busy machine would make most of them.
    COPY = f"""exec {sys.executable} -u -c '
import os, time
last = time.monotonic()
for i in range(1, 31):
    time.sleep(0.02)
    last, before = time.monotonic(), last
    print(f"step {{i}} took {{1000 * (last - before):.1f}} ms", os.environ.get("BENCHD_BATCH_SIZE", "no batch"))
'"""

    def assert_speedup(self, table, low, high):
        """In the row of two workers: the headline has none if they are seen for a second, since they never meet."""
        speedup, = re.findall(r" 2 [\d.]+ [\d.]+ [\d.]+ ([\d.]+) [\d.]+%", table)
        self.assertTrue(low < float(speedup) < high, table)

    def ran(self, change=lambda text: text):
        """A definition of a shell loop, its run of one trial a point, and the page of the run."""
        text = self.ctl("init", "--name", "loop", "--", "sh", self.file("loop.sh", self.COPY)).stdout
        rule = "{lines: [{kind: Step, aggregate: Median, pattern: 'step (?<step>) took (?<step_ms>) ms'}]}"  # a stall is of one step
        path = self.file("loop.yaml", change(text.replace("# log: torch-ddp", f"log: {rule}")))
        table = self.ctl("run", path, "--local", "--repeats", "1", "-q", "--store", self.store).stdout
        page = self.ctl("report", "latest", "--store", self.store, "-o", "html").stdout
        return path, " ".join(table.split()), re.sub(r"<[^>]*>", "", page)

    def test_copies_are_no_scaling(self):
        _, table, page = self.ran()
        for text in (table, page):
            self.assertRegex(text, r"2 independent copies: [\d.]+ steps/s together, which is no scaling of one program")
            self.assertIn("2 independent copies of loop: profile none gives them no way to find each other", text)
            self.assertNotRegex(text, r"2 workers: [\d.]+x|times the baseline")
        _, table, _ = self.ran(lambda text: text.replace("kind: Step,", "kind: Step, scope: Job,"))
        self.assertRegex(table, r"2 independent copies: [\d.]+ steps/s, the mean of what each states of a whole job, ")
        self.assertNotIn("all-reduce", page)
        for old, new in (("kind: AllReduce", "kind: Ring"),
                         ("command: [sh,", "env: [{name: A, value: $(BENCHD_WORKER_ADDRS)}]\n    command: [sh,")):
            with self.subTest(new):
                _, table, page = self.ran(lambda text, old=old, new=new: text.replace(old, new, 1))
                self.assertRegex(table, r"[\d.]+ times the baseline")
                self.assertNotIn("independent copies", table + page)

    def test_workers_that_never_meet(self):
        """A program that connects nothing is a set of copies in every profile, and one that meets elsewhere may be none."""
        def torchrun(text):
            return text.replace("profile: none", "profile: torchrun")

        self.COPY = self.COPY.replace("0.02", "0.12")
        path, table, page = self.ran(torchrun)
        for text in (table, page):
            self.assertRegex(text, r"2 workers or as many independent copies: [\d.]+ steps/s together; no process listened on MASTER_PORT")
            self.assertIn("no process listened on MASTER_PORT at point 1: its replicas are independent copies, unless they meet ", text)
            self.assertNotRegex(text, r"2 workers: [\d.]+x|times the baseline")
        said = self.ctl("try", path, "--local", "--write").stdout
        self.assertIn("  no process listened on MASTER_PORT: 2 independent copies, unless they meet in another way; ", said)
        self.COPY = self.COPY.replace("time\nlast", """socket, time
port = int(os.environ["MASTER_PORT"])
server = socket.create_server(("127.0.0.1", port)) if os.environ["RANK"] == "0" else None
last""")
        path, table, page = self.ran(torchrun)
        self.assertRegex(table, r"[\d.]+ times the baseline")
        self.assertNotIn("no process listened", table + page + self.ctl("try", path, "--local", "--write").stdout)

    def test_a_batch_of_the_whole_job(self):
        """A program that divides its batch takes as long for a step at every size: that is no speedup."""
        def torchrun(text):
            return text.replace("profile: none", "profile: torchrun").replace("    # batchSize", "    batchSize: 32\n    # batchSize")

        self.COPY = self.COPY.replace("0.02", "0.12")   # what a busy machine adds to a step is little of it
        _, table, page = self.ran(torchrun)
        self.assert_speedup(table, 1.5, 2.5)
        self.assertNotIn("a batch is of the whole job", table + page)
        _, table, page = self.ran(lambda text: torchrun(text).replace("    # batchSize", "    batchScope: Job\n    # batchSize"))
        self.assert_speedup(table, 0.7, 1.3)
        for text in (table, page):
            self.assertIn("a batch is of the whole job; 2 points", text)
        log = self.ctl("logs", "latest", "--store", self.store, "--point", "1").stdout
        self.assertIn("ms 32\n", log)  # the program divides it

    def test_an_unknown_batch(self):
        """Steps are counted, and no samples are made up."""
        path, table, page = self.ran()
        self.assertIn("WORKERS STEPS/S ", table)
        self.assertNotIn("samples/s", table + page)
        result = json.loads(self.ctl("results", "latest", "--store", self.store, "-o", "json").stdout)
        self.assertEqual([(None, "steps/s")] * 2, [(p["batchSize"], p["throughput"]["unit"]) for p in result["points"]])
        log = self.ctl("logs", "latest", "--store", self.store, "--point", "0").stdout
        self.assertIn("ms no batch\n", log)
        bound = self.ctl("simulate", path, "--step-time", "20", "--bytes", "1", "--link", "1gbit").stdout
        self.assertRegex(bound, r"(?m)^POINT +WORKERS +BATCH +AT MOST STEPS/S .*\n0 +1 +- +50\.00 ")
        points = json.loads(self.ctl("simulate", path, "--step-time", "20", "-o", "json").stdout)["points"]
        self.assertEqual([(None, None)] * 2, [(p["batchSize"], p["atMost"]["samplesPerSecond"]) for p in points])
        self.assertIn("Throughput: steps/s", self.ctl("compare", "latest", "latest", "--store", self.store, code=15).stdout)

    def test_a_lost_exchange_is_a_failure(self):
        script = TRAIN.replace("total = all_reduce", "rank and sys.exit(3); total = all_reduce")
        path = self.file("ddp.yaml", DEFINITION % self.file("train.py", script))
        args = ("--store", self.store, "--repeats", "1", "--set", "workers=2", "-o", "json")
        done = self.ctl("run", path, *args, code=1)
        trial = json.loads(done.stdout)["points"][0]["trials"][0]
        self.assertEqual("Failed", trial["phase"])
        self.assertRegex(trial["error"], "worker/[01]: ")

    def run_shell(self, script, policy):
        path = self.file("hang.yaml", f"""\
apiVersion: benchd.io/v1alpha1
kind: Benchmark
metadata: {{name: hang}}
spec:
  systems: [{{name: mine, profile: none, command: [sh, -c, {json.dumps(script)}]}}]
  workload: {{model: m, batchSize: 1, exchange: {{kind: AllReduce}}}}
  sweep: {{grid: {{workers: [1]}}}}
  roles: {{worker: {{replicas: {{from: workers}}}}}}
  runPolicy: {json.dumps(policy)}
""")
        done = self.ctl("run", path, "--store", self.store, "--repeats", "1", "-o", "json", code=1)
        trial = json.loads(done.stdout)["points"][0]["trials"][0]
        self.assertEqual("Failed", trial["phase"])
        return trial, self.ctl("logs", json.loads(done.stdout)["run"], "--store", self.store).stdout

    def test_a_program_that_hangs_is_ended(self):
        pids = self.folder / "pids"
        script = f"echo $$$$ >> {pids}; echo begun; sleep 1000 & echo $! >> {pids}; wait"  # $$ is a dollar
        for _ in range(5):   # a shell that a busy machine holds up for a second has said nothing, or has no child yet
            pids.write_text("", encoding="ascii")
            trial, log = self.run_shell(script, {"stallSeconds": 1})
            self.assertEqual("worker/0: no output for 1 s (runPolicy.stallSeconds) (gave up after 2 attempts)", trial["error"])
            seen = [int(pid) for pid in pids.read_text(encoding="ascii").split()]
            if log and len(seen) == 4:
                break
        self.assertEqual((1, "begun\n"), (trial["attempt"], log))
        self.assertEqual(4, len(seen))  # two attempts, with a child each
        cli.wait_for("all processes are gone", lambda: not any(map(cli.is_alive, seen)))

    def test_a_program_that_talks_for_ever_is_ended(self):
        script = "while :; do printf 'still \\000here\\n'; sleep 0.1; done"
        for _ in range(5):   # as above
            trial, log = self.run_shell(script, {"trialTimeoutSeconds": 1, "stallSeconds": 60, "backoffLimit": 0})
            self.assertEqual("worker/0: still running after 1 s (runPolicy.trialTimeoutSeconds)", trial["error"])
            if log:
                break
        self.assertRegex(log, "^still .*here\n")

    def test_a_profile_of_ones_own(self):
        docs = (cli.ROOT / "docs" / "profiles.md").read_text(encoding="utf-8")
        self.assertIn(DMLC, docs)
        self.file("place/profiles/dmlc/profile.yaml", DMLC)
        show = self.file("show.sh", "#!/bin/sh\nenv | grep '^DMLC_' | LC_ALL=C sort\n")
        path = self.file("ps.yaml", f"""\
apiVersion: benchd.io/v1alpha1
kind: Benchmark
metadata: {{name: ps}}
spec:
  systems: [{{name: mine, profile: dmlc, command: [{show}]}}]
  workload: {{model: m, batchSize: 1, exchange: {{kind: PServer}}}}
  sweep: {{grid: {{trainers: [2], pservers: [1]}}}}
  roles: {{trainer: {{replicas: {{from: trainers}}}}, pserver: {{replicas: {{from: pservers}}}}}}
  baseline: {{kind: Point, where: {{trainers: 2}}}}
""")
        done = self.ctl("run", path, "--store", self.store, "--repeats", "1", "-o", "json", code=1)
        run = json.loads(done.stdout)["run"]  # without a summary it has no figures
        logs = {role: self.ctl("logs", run, "--store", self.store, "--role", role).stdout for role in ("trainer", "pserver")}
        same = "DMLC_NUM_SERVER=1\nDMLC_NUM_WORKER=2\nDMLC_PS_ROOT_PORT=%s\nDMLC_PS_ROOT_URI=127.0.0.1\nDMLC_ROLE=%s\n"
        port = logs["trainer"].split("PORT=")[1].split("\n")[0]
        self.assertEqual(same % (port, "worker"), logs["trainer"])
        self.assertEqual(same % (port, "server"), logs["pserver"])

    def test_the_locale_changes_no_name(self):
        """The tests of benchctl run in Turkish: the names of swept variables, and headings, are the same everywhere."""
        number = subprocess.run(["locale", "-k", "decimal_point"], env=self.env, capture_output=True, text=True, check=True)
        self.assertEqual('decimal_point=","\n', number.stdout, "this is not the Turkish locale")
        show = self.file("show.sh", "#!/bin/sh\nenv | grep BENCHD_PARAM\necho limit is $1\necho 7 samples in 2 s\n")
        path = self.file("limits.yaml", f"""\
apiVersion: benchd.io/v1alpha1
kind: Benchmark
metadata: {{name: limits}}
spec:
  systems:
  - name: own
    profile: none
    command: [{show}, $(BENCHD_PARAM_LIMIT_SIZE)]
    log: {{lines: [{{kind: Summary, pattern: '(?<samples>) samples in (?<time_s>) s'}}]}}
  workload: {{model: m, batchSize: 1, exchange: {{kind: AllReduce}}}}
  parameters: [{{name: limit_size, targets: [{{roles: [worker], env: [LIMIT]}}]}}]
  sweep: {{grid: {{workers: [1], limit_size: [3, 4]}}}}
  roles: {{worker: {{replicas: {{from: workers}}}}}}
""")
        done = self.ctl("run", path, "--store", self.store, "--repeats", "1")
        self.assertRegex(done.stdout, "\n *LIMIT_SIZE ")
        log = self.ctl("logs", self.run_name(), "--store", self.store, "--point", "0").stdout
        self.assertIn("BENCHD_PARAM_LIMIT_SIZE=3\n", log)
        self.assertIn("limit is 3\n", log)

    def test_variables_of_a_command(self):
        """Each of the contract is known, and is what is meant without its prefix."""
        text = (cli.ROOT / "docs" / "contracts" / "environment.md").read_text(encoding="utf-8")
        names = {name for name in re.findall(r"BENCHD_[A-Z_]+[A-Z]", text) if not name.startswith("BENCHD_PARAM")}
        self.assertIn("BENCHD_MODE", names)
        command = "command: [train, %s]"
        before = re.search(r"command: \[.*?\]", DEFINITION)[0]
        known = ", ".join(f"$({name})" for name in sorted(names))
        self.ctl("validate", self.file("known.yaml", DEFINITION.replace(before, command % known)))
        for name in names:
            word = f"$({name.removeprefix('BENCHD_')})"
            done = self.ctl("validate", self.file("bare.yaml", DEFINITION.replace(before, command % word)), code=2)
            self.assertIn(f"fix: write $({name})\n", done.stderr)

    def test_what_is_missing_has_its_place(self):
        path = self.file("none.yaml", DEFINITION.replace(", command: [%s, $(BENCHD_BATCH_SIZE), $(BENCHD_MODEL)]", ""))
        done = self.ctl("validate", path, code=2)
        self.assertIn("none.yaml:5:13: error: spec.systems[0]: system 'ddp' has no command for role worker", done.stderr)
        self.assertIn("fix: for example, add 'command: [python3, train.py]'", done.stderr)
        path = self.file("lost.yaml", DEFINITION % "/not/there")
        self.assertIn("the program '/not/there' is missing", self.ctl("run", path, "--store", self.store, code=9).stderr)


if __name__ == "__main__":
    cli.main()
