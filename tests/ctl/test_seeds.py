#!/usr/bin/env python3
"""docs/seeds.md: each figure is what its archive or command gives."""
import shutil
import subprocess
import sys

import cli


class Seeds(cli.CliCase):
    def seeds(self, root, *words):
        env = self.env | {"BENCHCTL": cli.BENCHCTL, "BENCHCTL_PATH": str(cli.ROOT / "benchmarks"), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([sys.executable, root / "bench" / "seeds.py", *words], env=env, capture_output=True, text=True, check=False)

    def copied(self):
        root = self.folder / "tree"
        (root / "docs").mkdir(parents=True)
        (root / "bench").mkdir()
        for name in ("seeds.py", "entry.py"):
            shutil.copy(cli.ROOT / "bench" / name, root / "bench")
        shutil.copytree(cli.ROOT / "bench" / "seeds", root / "bench" / "seeds")
        shutil.copy(cli.ROOT / "docs" / "seeds.md", root / "docs")
        return root

    def test_the_page_is_what_its_archives_and_commands_give(self):
        done = self.seeds(cli.ROOT, "--check")
        self.assertEqual((0, "", ""), (done.returncode, done.stdout, done.stderr))

    def test_a_changed_figure_is_named_and_made_again(self):
        root = self.copied()
        page = root / "docs" / "seeds.md"
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("| 190.20; 170.96; - |", "| 190.21; 170.96; - |"), encoding="utf-8")
        done = self.seeds(root, "--check")
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^-\| batch 32 \| 190\.21;.*\n\+\| batch 32 \| 190\.20;")
        self.assertEqual(0, self.seeds(root).returncode)
        self.assertEqual(text, page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    cli.main()
