#!/usr/bin/env python3
"""Programs that know nothing of benchd, measured in three commands: init, try --write, run. Each figure is the one that a reader of the
programs' own output computes. Keras and Lightning are not here: their lines are those of the real ones, and a script prints them with their
timing, which is a rehearsal. test_frameworks.py has the scripts that need PyTorch."""
import json
import re
import shutil
import subprocess
import unittest

import cli

# A plate that cools, divided by rows; each process needs its neighbours' rows, and the first one prints.
PLATE = r"""#include <math.h>
#include <mpi.h>
#include <stdio.h>
enum { ROWS = 480, COLUMNS = 240 };
static double now[ROWS + 2][COLUMNS], next[ROWS + 2][COLUMNS];
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rows = ROWS / size, above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    for (int j = 0; j < COLUMNS && rank == 0; j++) {
        now[0][j] = 100;
    }
    double began = MPI_Wtime();
    for (int iteration = 1; iteration <= 200; iteration++) {
        double own = 0, all;
        MPI_Sendrecv(now[rows], COLUMNS, MPI_DOUBLE, below, 0, now[0], COLUMNS, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(now[1], COLUMNS, MPI_DOUBLE, above, 0, now[rows + 1], COLUMNS, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 1; i <= rows; i++) {
            for (int j = 1; j < COLUMNS - 1; j++) {
                next[i][j] = (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1]) / 4;
                own += fabs(next[i][j] - now[i][j]);
            }
        }
        for (int i = 1; i <= rows; i++) {
            for (int j = 1; j < COLUMNS - 1; j++) {
                now[i][j] = next[i][j];
            }
        }
        MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0 && iteration % 50 == 0) {
            printf("After iteration %d the change is %e\n", iteration, all);
        }
    }
    if (rank == 0) {
        printf("Elapsed time: %.6f s\n", MPI_Wtime() - began);
    }
    MPI_Finalize();
}
"""
LOOP = """#!/bin/sh
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    began=$(date +%s%N)
    sleep 0.05
    echo "iteration $i: $((($(date +%s%N) - began) / 1000000)) ms"
done
"""

# The bar of fit says how long a step took since its epoch began, and the first step compiles.
KERAS = """import time
for epoch in range(3):
    print(f"Epoch {epoch + 1}/3", flush=True)
    began = time.monotonic()
    for i in range(1, 41):
        time.sleep(4 if epoch == 0 and i == 1 else 0.05)
        ms = 1000 * (time.monotonic() - began) / i
        print(f"\\r{i:2d}/40 \u2501\u2501\u2501 2s {ms:.0f}ms/step - accuracy: 0.1 - loss: 2.3", end="", flush=True)
    print()
"""
# The first process of a job prints its bar in a pipe once, at its end; a Trainer takes the number of nodes from a variable.
LIGHTNING = """import os, socket, sys, time
if 0:
    import lightning
nodes = int(sys.argv[1]) if len(sys.argv) > 1 else int(os.environ["PL_TRAINER_NUM_NODES"])
assert nodes in (1, int(os.environ["WORLD_SIZE"]))
if nodes > 1 and os.environ["RANK"] == "0":
    server = socket.create_server((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))
began = time.monotonic()
for i in range(100):
    time.sleep(0.02)
if nodes == 1 or os.environ["RANK"] == "0":
    print("GPU available: False, used: False")
    print(f"Epoch 0/0  \u2501\u2501\u2501\u2501 100/100 0:00:02 \u2022 0:00:00 {100 / (time.monotonic() - began):.2f}it/s v_num: 3.000")
    print("Testing \u2501\u2501\u2501\u2501 5/5 0:00:00 \u2022 0:00:00 900.02it/s")
"""


class Scripts(cli.CliCase):
    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def define(self, *command):
        path = self.folder / "made.yaml"
        path.write_text(self.ctl("init", "--", *command).stdout, encoding="utf-8")
        return path

    def measure(self, path):
        """A run of one and of two workers."""
        result = json.loads(self.ctl("run", str(path), "--local", "--repeats", "1", "--store", self.store, "-o", "json").stdout)
        self.assertEqual(("Succeeded", 2), (result["phase"], len(result["points"])))
        return result

    def logs(self, result, point, *words):
        return self.ctl("logs", result["run"], "--store", self.store, "--point", str(point), *words).stdout

    @unittest.skipUnless(shutil.which("mpicc") and shutil.which("mpirun"), "openmpi-bin and libopenmpi-dev are not installed")
    def test_an_mpi_program_in_c(self):
        self.write("plate.c", PLATE)
        subprocess.run(["mpicc", "-O2", "-o", "plate", "plate.c", "-lm"], cwd=self.folder, env=self.env, check=True)
        path = self.define("mpirun", "./plate")
        self.assertIn("profile: open-mpi ", path.read_text(encoding="utf-8"))
        self.ctl("try", str(path), "--local", "--write")
        result = self.measure(path)
        for i, point in enumerate(result["points"]):
            elapsed = float(re.search(r"Elapsed time: ([\d.]+) s", self.logs(result, i))[1])
            self.assertEqual("runs/s", point["throughput"]["unit"])
            self.assertAlmostEqual(1, point["throughput"]["value"] * elapsed, places=4)

    def test_a_shell_loop(self):
        """Two of them are copies, whose figures are added up."""
        self.write("loop.sh", LOOP).chmod(0o755)
        path = self.define("./loop.sh")
        self.ctl("try", str(path), "--local", "--write")
        result = self.measure(path)
        for i, point in enumerate(result["points"]):
            ms = [re.findall(r"iteration (\d+): (\d+) ms", self.logs(result, i, "--index", str(n))) for n in range(i + 1)]
            truth = sum(1000 * 6 / sum(int(took) for step, took in lines if int(step) > 10) for lines in ms)
            self.assertEqual("steps/s", point["throughput"]["unit"])
            self.assertLess(abs(point["throughput"]["value"] / truth - 1), .15, ms)

    def test_sysbench(self):
        """Each copy prints the events of its own threads. Where sysbench is not installed, a script prints what it would."""
        if not shutil.which("sysbench"):
            program = self.folder / "bin" / "sysbench"
            program.parent.mkdir()
            program.write_text("#!/bin/sh\necho 'CPU speed:'\necho \"    events per second:   $((1000 + $$ % 1000)).25\"\n", encoding="utf-8")
            program.chmod(0o755)
            self.env["PATH"] = f"{program.parent}:{self.env['PATH']}"
        path = self.define("sysbench", "cpu", "--time=1", "run")
        self.ctl("try", str(path), "--local", "--write")
        self.assertIn("log: sysbench", path.read_text(encoding="utf-8"))
        result = self.measure(path)
        for i, point in enumerate(result["points"]):
            events = [float(re.search(r"events per second: +([\d.]+)", self.logs(result, i, "--index", str(n)))[1]) for n in range(i + 1)]
            self.assertAlmostEqual(1, point["throughput"]["value"] / sum(events), places=4)

    def test_bars_of_keras(self):
        """The program is not ended in its first epoch, whose mean is contradicted."""
        self.write("fit.py", KERAS)
        path = self.define("fit.py")
        path.write_text(path.read_text(encoding="utf-8").replace("workers: [1, 2]", "workers: [1]"), encoding="utf-8")
        said = self.ctl("try", str(path), "--local", "--write").stdout
        self.assertIn("steps/s by the rule keras (", said)
        result = self.ctl("run", str(path), "--local", "--repeats", "1", "--store", self.store, "-o", "json").stdout
        figure = json.loads(result)["points"][0]["throughput"]
        ms = re.findall(r"(\d+)ms/step", self.logs(json.loads(result), 0))
        self.assertEqual("steps/s", figure["unit"])
        self.assertAlmostEqual(1, figure["value"] * int(ms[-1]) / 1000, places=4)

    def test_a_bar_of_lightning(self):
        self.write("fit.py", LIGHTNING)
        path = self.define("fit.py")
        self.ctl("try", str(path), "--local", "--write")
        self.assertIn("    log: lightning\n", path.read_text(encoding="utf-8"))
        result = self.measure(path)
        for i, point in enumerate(result["points"]):  # a step is one of all together
            rate = float(re.search(r"([\d.]+)it/s v_num", self.logs(result, i, "--index", "0"))[1])
            self.assertEqual("steps/s", point["throughput"]["unit"])
            self.assertAlmostEqual(1, point["throughput"]["value"] / rate, places=4)
        copies = self.define("fit.py", "1")
        self.assertIn(": 2 independent copies, unless they meet ", self.ctl("try", str(copies), "--local", "--write").stdout)


if __name__ == "__main__":
    cli.main()
