#!/usr/bin/env python3
"""Programs of strangers: one hangs, one crashes, two leave processes behind, one prints without end, one prints NULs, one writes what terminals obey. Each is a
system of one run, next to a good one. The loud one prints 300 MB, with --long 10 GB (script/test --all), or BENCHD_LOUD_BYTES."""
import json
import os
import pathlib
import subprocess
import sys

import cli

LOUD_BYTES = int(os.environ.get("BENCHD_LOUD_BYTES", 10 ** 10 if "--long" in sys.argv[1:] else 3 * 10 ** 8))
# More than one reading of the kernel's list of children has (4 KiB).
FORKS = 1000
LOG_LIMIT = 64 << 20  # of one replica
MEMORY_LIMIT = 3 * LOG_LIMIT  # of benchctl: the log as it is kept, and once more while it is stored
# In a command $$ stands for one $, as in a pod.
GOOD = 'echo "5 img/s"'


class Hostile(cli.CliCase):
    def define_systems(self, scripts, **run_policy):
        spec = {
            "systems": [{"name": name, "profile": "none", "command": ["sh", "-c", script], "log": "torch-ddp"}
                        for name, script in scripts.items()],
            "workload": {"model": "m", "batchSize": 1, "exchange": {"kind": "None"}},
            "sweep": {"grid": {"trainers": [1]}},
            "roles": {"trainer": {"replicas": {"from": "trainers"}}},
            "repeats": {"min": 1, "order": "Sequential"},
            "failurePolicy": {"onTrialFailure": "Skip", "maxFailedTrials": len(scripts)},
            "runPolicy": {"backoffLimit": 1, **run_policy},
        }
        path = self.folder / "hostile.json"
        path.write_text(json.dumps({"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "hostile"},
                                    "spec": spec}), encoding="utf-8")
        return str(path)

    def run_systems(self, scripts, code=0, **run_policy):
        """The trial of each system, by its name, and the most memory that benchctl had."""
        file = self.define_systems(scripts, **run_policy)
        out = self.folder / "out.json"
        with open(out, "wb") as stdout:
            process = subprocess.Popen([cli.BENCHCTL, "run", file, "--store", self.store, "-q", "-o", "json"], env=self.env,
                                       cwd=self.folder, stdout=stdout)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.result = json.loads(out.read_text(encoding="utf-8"))
        self.assertEqual(process.returncode, code, [trial["error"] for p in self.result["points"] for trial in p["trials"]])
        trials = {p["system"]: p["trials"][0] for p in self.result["points"]}
        self.assertEqual(sorted(trials), sorted(scripts))
        return trials, usage.ru_maxrss * 1024

    def log_of(self, system):
        point = next(p["point"] for p in self.result["points"] if p["system"] == system)
        done = subprocess.run([cli.BENCHCTL, "logs", self.result["run"], "--store", self.store, "--point", str(point)],
                              env=self.env, cwd=self.folder, capture_output=True, check=True)
        return done.stdout

    def assert_good(self, trial):
        self.assertEqual((trial["phase"], trial["throughput"]["value"]), ("Succeeded", 5.0), trial["error"])

    def test_one_hangs(self):
        # A limit for the whole attempt: in a stall limit a good program on a busy machine would be at risk.
        trials, _ = self.run_systems({"hung": "trap '' TERM; sleep 1000 & wait; sleep 1000", "good": GOOD}, code=1,
                                     trialTimeoutSeconds=20)
        self.assertIn("trainer/0: still running after 20 s (runPolicy.trialTimeoutSeconds)", trials["hung"]["error"])
        self.assertEqual(trials["hung"]["attempt"], 1)  # tried again once
        self.assert_good(trials["good"])

    def test_one_crashes(self):
        trials, _ = self.run_systems({"crashing": "kill -SEGV $$$$", "good": GOOD}, code=1)
        self.assertIn("killed by signal 11", trials["crashing"]["error"])
        self.assertIn("gave up after 2 attempts", trials["crashing"]["error"])
        self.assert_good(trials["good"])

    def test_one_leaves_processes_behind(self):
        left = self.folder / "left"
        script = (f"sleep 1000 & echo $! >> {left}; setsid -f sh -c 'echo $$$$ >> {left}; trap \"\" TERM HUP; while :; do sleep 1; done'; "
                  f"while [ $(wc -l < {left}) -lt 2 ]; do sleep 0.1; done; {GOOD}")
        trials, _ = self.run_systems({"forking": script, "good": GOOD})
        self.assert_good(trials["forking"])
        self.assert_good(trials["good"])
        pids = [int(line) for line in left.read_text(encoding="ascii").split()]
        self.assertEqual(len(pids), 2)
        self.assertEqual([pid for pid in pids if cli.is_alive(pid)], [])

    def test_one_forks_without_end(self):
        """Children that ignore SIGTERM, leave their group, and outlive their parent; of half of them it ends at once."""
        left = self.folder / "left"
        child = f'trap "" TERM HUP; read pid rest < /proc/self/stat; echo $pid >> {left}; exec setsid sleep 1000'
        script = (f"child() {{ {child}; }}; i=0; "
                  f"while [ $i -lt {FORKS} ]; do child & (child &) ; i=$((i + 2)); done; "
                  f"while [ $(wc -l < {left}) -lt {FORKS} ]; do sleep 0.1; done; {GOOD}")
        trials, _ = self.run_systems({"forking": script, "good": GOOD})
        self.assert_good(trials["forking"])
        self.assert_good(trials["good"])
        pids = {int(line) for line in left.read_text(encoding="ascii").split()}
        self.assertEqual(len(pids), FORKS)
        self.assertEqual([pid for pid in pids if cli.is_alive(pid)], [])

    def test_one_prints_without_end(self):
        script = f"yes '{'x' * 1000}' | head -c {LOUD_BYTES}; echo; {GOOD}"
        trials, memory = self.run_systems({"loud": script, "good": GOOD})
        self.assert_good(trials["loud"])
        self.assert_good(trials["good"])
        print(f"# {LOUD_BYTES} bytes printed, benchctl had {memory >> 20} MiB", flush=True)
        program = pathlib.Path(cli.BENCHCTL).read_bytes()
        if b"__asan_init" not in program and b"__tsan_init" not in program:  # they keep what is freed
            self.assertLess(memory, MEMORY_LIMIT)
        log = self.log_of("loud")
        self.assertLess(len(log), LOG_LIMIT + 1000)
        self.assertGreater(len(log), LOG_LIMIT // 2)
        self.assertTrue(log.endswith(b"5 img/s\n"))
        self.assertRegex(log[LOG_LIMIT // 2 - 70000:LOG_LIMIT // 2 + 70000], rb"\d+ bytes")

    def test_one_prints_nuls(self):
        trials, _ = self.run_systems({"nuls": f"head -c 1000000 /dev/zero; printf '5 \\000img/s\\n\\000'; {GOOD}", "good": GOOD})
        self.assert_good(trials["nuls"])
        self.assertGreater(self.log_of("nuls").count(b"\0"), 1000000)

    def test_one_writes_for_the_terminal(self):
        """A title, a cleared screen, CSI in one character: a pipe gets every byte, a terminal text and its colours."""
        said = b"\x1b]0;title\a\x1b[2J\x1b[31mred\x1b[0m \xc2\x9b2J\n"
        octal = "".join(f"\\{byte:03o}" for byte in said)
        trials, _ = self.run_systems({"writing": f"printf '{octal}'; {GOOD}"})
        self.assert_good(trials["writing"])
        self.assertIn(said, self.log_of("writing"))
        shown = self.bytes_on_terminal(80, "logs", self.result["run"], "--store", self.store)
        self.assertIn(b"?]0;title??[2J\x1b[31mred\x1b[0m ?2J\r\n", shown)


if __name__ == "__main__":
    cli.main()
