"""benchctl beside a test's API server, as a user would type it. BENCHCTL names the program."""
import json
import os
import re
import subprocess

import tap

NS = "benchd"


class Benchctl:
    def __init__(self, t, cluster):
        self.t, self.cluster = t, cluster
        self.env = {**cluster.env(), "BENCHCTL_PATH": str(tap.ROOT / "benchmarks"), "LC_ALL": "C.UTF-8"}

    def __call__(self, *args, timeout=300):
        return subprocess.run([os.environ["BENCHCTL"], *args], env=self.env, cwd=self.cluster.dir, text=True,
                              capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL, check=False)

    def expect(self, name, code, pattern, *args):
        done = self(*args)
        self.t.equal(code, done.returncode, f"{name}: exit code")
        self.t.match(pattern, done.stderr, f"{name}: message")
        return done

    def run_and_detach(self, *args):
        """Starts a run that nobody drives; Ctrl-C once it is there. Its object."""
        before = set(self.cluster.kubectl("get", "bmr", "-n", NS, "-o", "name").stdout.split())
        process = subprocess.Popen([os.environ["BENCHCTL"], "run", *args], env=self.env, cwd=self.cluster.dir,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        noted = []
        for line in process.stderr:
            noted.append(line)
            if re.match(r"run/\S+ created", line):
                break
        names = set(self.cluster.kubectl("get", "bmr", "-n", NS, "-o", "name").stdout.split()) - before
        process.terminate()
        _, rest = process.communicate(timeout=60)
        self.t.equal(1, len(names), f"run {' '.join(args)}: one run is there")
        return json.loads(self.cluster.kubectl("get", names.pop(), "-n", NS, "-o", "json").stdout)
