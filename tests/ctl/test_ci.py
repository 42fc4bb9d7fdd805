#!/usr/bin/env python3
"""The examples for continuous integration in docs/ci: they are read, and their commands are typed here."""
import json
import os
import re
import subprocess
import xml.etree.ElementTree as ET

import cli

CI = cli.ROOT / "docs" / "ci"
PROGRAM = """import time
for step in range(24):
    time.sleep(0.001)
    print(f"step {step}: {1000 / FACTOR + step % 3} samples/s", flush=True)
"""


class Examples(cli.CliCase):
    def document(self, name):
        done = subprocess.run([os.environ["YAML_JSON"], CI / name], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "benchctl").symlink_to(cli.BENCHCTL)
        self.env["PATH"] = f"{self.folder}/bin:{self.env['PATH']}"
        self.env["GITHUB_STEP_SUMMARY"] = str(self.folder / "summary.md")
        for side in ("base", "head"):
            (self.folder / side / "docs").mkdir(parents=True)
            (self.folder / side / "docs" / "ci").symlink_to(CI)

    def build(self, side, factor):
        (self.folder / side / "train.py").write_text(PROGRAM.replace("FACTOR", str(factor)), encoding="utf-8")

    def type(self, scripts):
        """The exit code of the first that fails, as a runner sees it; in one shell, as GitLab does."""
        (self.folder / "benchmark.db").unlink(missing_ok=True)
        done = subprocess.run(["bash", "-e", "-c", "\n".join(scripts)], cwd=self.folder, env=self.env,
                              capture_output=True, text=True, check=False)
        self.output = done.stdout + done.stderr
        return done.returncode

    def judge(self, scripts):
        for head, code in ((1, 0), (1.2, 6)):
            self.build("base", 1)
            self.build("head", head)
            self.assertEqual(self.type(scripts), code, self.output)
            suite, = ET.parse(self.folder / "gate.xml").getroot()
            self.assertEqual(suite.find("properties/property[@name='verdict']").get("value"),
                             "Passed" if code == 0 else "Slower")
        (self.folder / "head" / "train.py").write_text("raise SystemExit(1)\n", encoding="utf-8")
        self.assertEqual(self.type(scripts), 1, self.output)  # a build that does not run

    def test_github(self):
        job = self.document("github-actions.yaml")["jobs"]["gate"]
        steps = job["steps"]
        self.assertIn("head.repo.full_name == github.repository", job["if"])   # no fork
        for path in (CI / "github-actions.yaml", cli.ROOT / ".github" / "workflows" / "test.yaml"):
            used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
            self.assertEqual([], [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)])
            self.assertTrue(used)
        self.assertEqual([step["with"]["path"] for step in steps[:2]], ["base", "head"])
        scripts = [step["run"] for step in steps if "run" in step]
        self.assertEqual(len(scripts), 1)
        self.judge(scripts)
        summary = (self.folder / "summary.md").read_text(encoding="utf-8")
        self.assertIn("## Passed: ab-", summary)
        self.assertIn("## Refused: ab-", summary)

    def test_gitlab(self):
        job = self.document("gitlab-ci.yaml")["benchmark"]
        self.assertIn("SOURCE_PROJECT_PATH == $CI_PROJECT_PATH", job["rules"][0]["if"])   # no fork
        scripts = [line for line in job["script"] if not line.startswith("git worktree")]
        self.assertEqual(len(job["script"]) - len(scripts), 2)
        self.assertEqual(job["artifacts"]["reports"]["junit"], "gate.xml")
        self.judge(scripts)

    def test_their_definition(self):
        self.ctl("validate", str(CI / "ab.yaml"))


if __name__ == "__main__":
    cli.main()
