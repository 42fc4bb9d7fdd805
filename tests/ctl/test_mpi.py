#!/usr/bin/env python3
"""The profile open-mpi on one machine: the program and the definition of docs/own-script.md, with Debian's mpirun."""
import bz2
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import unittest

import cli

PAGE = (cli.ROOT / "docs" / "own-script.md").read_text(encoding="utf-8").split("## An MPI program")[1]
PROGRAM, DEFINITION = (re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[1] for kind in ("python", "yaml"))

ONE_POINT = DEFINITION.replace("[1, 2]", "[2]") + "  baseline: {kind: Point, where: {workers: 2}}\n"


@unittest.skipUnless(shutil.which("mpirun"), "openmpi-bin is not installed")
class OpenMpi(cli.CliCase):
    def setUp(self):
        super().setUp()
        self.env["BENCHCTL_PATH"] = str(self.folder / "place")

    def define(self, program=PROGRAM, definition=DEFINITION):
        script, path = self.folder / "train.py", self.folder / "mpi.yaml"
        script.write_text(program, encoding="utf-8")
        path.write_text(definition.replace("/train.py", str(script)), encoding="utf-8")
        return str(path)

    def run_it(self, *args, code=0, **parts):
        args = ("--store", self.store, "--repeats", "1", "-o", "json", *args)
        return json.loads(self.ctl("run", self.define(**parts), *args, code=code).stdout)

    def test_the_example_of_the_page(self):
        result = self.run_it()
        self.assertEqual("Succeeded", result["phase"])
        self.assertEqual([1, 2], [p["replicas"]["worker"] for p in result["points"]])
        model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))
        self.assertEqual([(model and model[1], platform.release(), None)],  # no process writes a start record, but this is the machine
                         [(h["cpuModel"], h["kernel"], h["build"]) for h in result["hardware"]])
        for point in result["points"]:
            is_pinned = len(os.sched_getaffinity(0)) >= point["replicas"]["worker"]
            self.assertEqual(is_pinned, None not in {r["placement"]["cpuset"] for r in point["trials"][0]["replicas"]["items"]})
            self.assertEqual(1, point["replicas"]["launcher"])
            self.assertEqual("samples/s", point["throughput"]["unit"])
            self.assertLess(0, point["throughput"]["value"])
            figures = {(r["role"], r["summary"] and r["summary"]["steps"]) for r in point["trials"][0]["replicas"]["items"]}
            self.assertEqual({("launcher", 20), ("worker", None)}, figures)  # 10 steps are warm-up
        log = self.ctl("logs", result["run"], "--store", self.store, "--point", "1").stdout  # of the launcher
        self.assertEqual(30, len(re.findall(r"(?m)^step \d+: ", log)), log)  # two processes, one that prints
        table = self.ctl("results", result["run"], "--store", self.store, "--explain").stdout
        self.assertRegex(table, r"mean of 20 step\s+lines,\s+of\s+the whole job\.")
        self.assertRegex(table, r"(?m)^WORKERS +THROUGHPUT ")
        self.assertEqual("", self.ctl("logs", result["run"], "--store", self.store, "--point", "1", "--role", "worker").stdout)

    def test_all_processes_have_the_cpus_of_the_workers(self):
        program = PROGRAM.replace("mpi.MPI_Finalize()",
                                  "import os; print('CPUs', sorted(os.sched_getaffinity(0)), flush=True); mpi.MPI_Finalize()")
        result = self.run_it(program=program, definition=ONE_POINT)
        log = self.ctl("logs", result["run"], "--store", self.store).stdout
        cpus = [json.loads(found) for found in re.findall(r"(?m)^CPUs (.*)$", log)]
        self.assertEqual(2, len(cpus), log)
        if len(os.sched_getaffinity(0)) >= 2:
            self.assertEqual([2, 2], list(map(len, cpus)))

    def test_a_process_that_fails_fails_the_trial(self):
        program = PROGRAM.replace("    began", "    step == 3 and rank.value == 1 and sys.exit(3)\n    began")
        result = self.run_it(program=program, definition=ONE_POINT, code=1)
        trial = result["points"][0]["trials"][0]
        self.assertEqual("Failed", trial["phase"])
        self.assertRegex(trial["error"], "^launcher/0: exit code 3")

    def logistic(self):
        """The shipped program, where the shipped definition finds it."""
        place = self.folder / "bin"
        place.mkdir()
        source = cli.ROOT / "benchmarks" / "profiles" / "open-mpi" / "logistic.c"
        subprocess.run(["mpicc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", place / "mlbench-logistic", source, "-lm"], check=True)
        self.env.update(PATH=f"{place}:{self.env.get('PATH', os.defpath)}", BENCHCTL_PATH=str(cli.ROOT / "benchmarks"))
        return place / "mlbench-logistic"

    def test_mlbench_logistic(self):
        """The shipped definition and its program, of a few samples: it learns, and what it prints is what it did."""
        self.logistic()
        words = ("--set", "samples=20000", "--set", "features=100", "--set", "epochs=3", "--repeats", "1", "-o", "json")
        result = json.loads(self.ctl("run", "mlbench-logistic", "--local", "--store", self.store, *words).stdout)
        self.assertEqual("Succeeded", result["phase"])
        for point, workers in zip(result["points"], (1, 2), strict=True):
            log = self.ctl("logs", result["run"], "--store", self.store, "--point", str(point["point"])).stdout
            epochs = re.findall(r"(?m)^epoch (\d+): loss ([\d.]+), ([\d.]+) samples/s, accuracy ([\d.]+) after ([\d.]+) s; \d+ steps: ", log)
            self.assertEqual(["1", "2", "3"], [e[0] for e in epochs], log)
            losses, accuracies, times = ([float(e[i]) for e in epochs] for i in (1, 3, 4))
            self.assertLess(losses[2], losses[0])
            self.assertTrue(all(.5 < a < .95 for a in accuracies), accuracies)  # 90.7% is the most that can be known
            self.assertEqual(sorted(times), times)
            self.assertEqual((workers, "samples/s"), (point["replicas"]["worker"], point["throughput"]["unit"]))
            trial = point["trials"][0]["timeToAccuracy"]
            reached = [t for a, t in zip(accuracies, times) if a >= .89]
            self.assertEqual((("Reached", reached[0]) if reached else ("NotReached", None)), (trial["state"], trial["seconds"]))
            self.assertEqual(max(accuracies), trial["bestAccuracy"])
            (summary,) = [r["summary"] for r in point["trials"][0]["replicas"]["items"] if r["role"] == "launcher"]
            self.assertEqual(3 * (20000 // workers // 100), summary["steps"])
            parts = summary["phaseNs"]
            self.assertGreater(min(parts[k] for k in ("backward", "wait", "update")), 0)
            self.assertLess(abs(sum(parts.values()) / summary["durationNs"] - 1), .05)
        words = ("--store", self.store, "--cells", "exchange-share", "-o", "csv")
        shares = [float(line.split(",")[4]) for line in self.ctl("results", result["run"], *words).stdout.splitlines()[1:]]
        self.assertEqual(2, len([s for s in shares if 0 < s < 1]), shares)
        self.assertIn("wait", self.ctl("results", result["run"], "--store", self.store, "--by", "phase").stdout.lower())

    def mpirun(self, *command):
        """What two ranks print; root may run them, and they may share a CPU."""
        done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", *map(str, command)], check=False,
                              capture_output=True, text=True, timeout=300, env=self.env)
        return done.returncode, done.stdout, done.stderr

    def test_logistic_reads_libsvm_text(self):
        """Both ranks learn the same from a file, from a compressed one and from another line end; a wrong line is named."""
        program, good = self.logistic(), self.folder / "good file's.txt"
        good.write_text("".join(f"{1 if i % 3 else -1} {1 if i % 3 else 2}:.8 3:{i / 100} \n" for i in range(40)), encoding="ascii")
        pressed, windows = self.folder / "good file's.bz2", self.folder / "windows.txt"
        pressed.write_bytes(bz2.compress(good.read_bytes()))
        windows.write_bytes(good.read_bytes().replace(b" \n", b"\r\n").rstrip())
        words = ("--features", "3", "--batch", "10", "--epochs", "4")
        seen = []
        for path in (good, pressed, windows):
            code, out, err = self.mpirun(program, "--data", path, "--test-data", path, *words)
            self.assertEqual(0, code, err)
            seen.append(re.findall(r"loss ([\d.]+), [\d.]+ samples/s, accuracy ([\d.]+)", out))
        self.assertEqual((4, seen[0], seen[0]), (len(seen[0]), *seen[1:]))
        self.assertEqual("1.0000", seen[0][-1][1])
        wrong = self.folder / "wrong.txt"
        index, pair = "indices must rise from 1 to --features", "expected INDEX:VALUE"
        value, label = "a VALUE is not a number", "the label must be 1 or -1"
        for line, says in ((b"2 1:1", label), (b"", label), (b"1 1:x", value), (b"1 1: 2", value), (b"1 1:inf", value),
                           (b"1 0:1", index), (b"1 4:1", index), (b"1 2:1 2:2", index), (b"1 1 2", pair), (b"1 1:12:3", pair),
                           (b"1x1:1", pair), (b"1 1:1 \0", "a NUL is not text")):
            wrong.write_bytes(b"1 1:1\n" * 20 + line + b"\n")
            code, _, err = self.mpirun(program, "--data", good, "--test-data", wrong, *words)
            self.assertIn(f"logistic: {wrong}:21: {says}\n", err)
            self.assertNotEqual(0, code)
        pressed.write_bytes(pressed.read_bytes()[:60])
        for paths, says in (((pressed, good), f"{pressed}: it cannot be read to its end"), ((good, ""), ": No such file or directory"),
                            ((good,), "--data and --test-data: name both files")):
            command = [word for pair in zip(("--data", "--test-data"), paths) for word in pair]
            self.assertIn(f"logistic: {says}\n", self.mpirun(program, *command, *words)[2])

    def test_alpha_is_tuned_on_a_fifth_of_the_training_data(self):
        """Every fifth sample is for the test, and is not trained: what is learned of the others is wrong for these."""
        program, path = self.logistic(), self.folder / "split.txt"
        path.write_text("".join(f"{-1 if i % 5 == 4 else 1} 1:1\n" for i in range(100)), encoding="ascii")
        _, out, err = self.mpirun(program, "--data", path, "--validate", "1", "--features", "1", "--batch", "40", "--epochs", "2")
        self.assertEqual(["0.0000"] * 2, re.findall(r"accuracy ([\d.]+)", out), err)
        words = ("--set", "validate=1", "--set", "alpha=1,400", "--set", "samples=4000", "--set", "features=20", "--set", "epochs=1",
                 "--set", "workers=2", "--repeats", "1", "-o", "json")
        result = json.loads(self.ctl("run", "mlbench-logistic", "--local", "--store", self.store, *words).stdout)
        best = {p["parameters"]["alpha"]: p["trials"][0]["timeToAccuracy"]["bestAccuracy"] for p in result["points"]}
        self.assertLess(best[1], best[400])

    def test_allreduce_systems(self):
        """The shipped row and its program: a table of nccl-tests, whose bus bandwidth is the figure."""
        place = self.folder / "bin"
        place.mkdir()
        source = cli.ROOT / "benchmarks" / "profiles" / "open-mpi" / "allreduce.c"
        subprocess.run(["mpicc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", place / "mpi-allreduce", source], check=True)
        self.env.update(PATH=f"{place}:{self.env.get('PATH', os.defpath)}", BENCHCTL_PATH=str(cli.ROOT / "benchmarks"))
        words = ("--systems", "open-mpi", "--set", "bytes=4096,65536", "--set", "workers=2,4", "--steps", "3", "--repeats", "1")
        result = json.loads(self.ctl("run", "allreduce-systems", "--local", "--store", self.store, "-o", "json", *words).stdout)
        self.assertEqual("Succeeded", result["phase"])
        for point, (size, ranks) in zip(result["points"], ((4096, 2), (4096, 4), (65536, 2), (65536, 4)), strict=True):
            self.assertEqual((size, ranks), (point["parameters"]["bytes"], point["parameters"]["workers"]))
            self.assertEqual(("GB/s", point["point"]), (point["throughput"]["unit"], point["baseline"]["point"]))
            log = self.ctl("logs", result["run"], "--store", self.store, "--point", str(point["point"])).stdout
            self.assertIn(f" allreduce: {ranks} ranks\n", log)
            self.assertIn("# Out of bounds values : 0 OK\n", log)
            (row,) = re.findall(rf"(?m)^ +{size} +{size // 4} +float +sum +-1 +([\d.]+) +([\d.]+) +([\d.]+) +0 +([\d.]+) +([\d.]+) +([\d.]+) +0$", log)
            us, rate, bus, in_us, in_rate, in_bus = map(float, row)
            for one_rate, one_bus in ((rate, bus), (in_rate, in_bus)):
                self.assertAlmostEqual(one_rate * 2 * (ranks - 1) / ranks, one_bus, delta=.0016)
            for time_us, gb_per_s in ((us, rate), (in_us, in_rate)):  # the table rounds to 0.01 us and 0.001 GB/s
                self.assertLess(abs(size / time_us / 1e3 - gb_per_s), .0006 + size / time_us / 1e3 * .0051 / time_us)
            self.assertAlmostEqual((bus + in_bus) / 2, point["throughput"]["value"], delta=.001)
        table = self.ctl("results", result["run"], "--store", self.store, "--explain").stdout
        grid = self.ctl("results", result["run"], "--store", self.store, "--cells", "throughput", "--rows", "bytes", "--columns", "workers").stdout
        self.assertRegex(grid, r"Throughput in GB/s, by bytes \(rows\) and workers\s+\(columns\)")
        self.assertNotRegex(table.partition("\nWarnings\n")[0], "EFFICIENCY|%")

    def test_without_a_command(self):
        path = self.define(definition=re.sub(r"    command: .*\n", "", DEFINITION))
        self.assertIn("system 'mpi' has no command for role worker", self.ctl("validate", path, code=2).stderr)


if __name__ == "__main__":
    cli.main()
