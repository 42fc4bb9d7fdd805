"""script/source-id: which source a build is made from; and that its answer reaches one object only."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("BENCHD_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent.parent))
GIT = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false"]


class SourceId(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name).resolve() / "tree"
        self.make(self.tree)

    def make(self, tree):
        (tree / "script").mkdir(parents=True)
        shutil.copy(ROOT / "script" / "source-id", tree / "script" / "source-id")
        (tree / "a.c").write_text("int a;\n", encoding="ascii")

    def git(self, *args):
        return subprocess.run([*GIT, *args], cwd=self.tree, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")
        return self.git("rev-parse", "HEAD")[:12]

    def source_id(self, tree=None, **env):
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "BENCHD_"))}
        done = subprocess.run([str((tree or self.tree) / "script" / "source-id")], cwd="/", env={**keep, **env}, check=True,
                              capture_output=True, text=True)
        self.assertEqual("", done.stderr)
        self.assertRegex(done.stdout, r"\A[^\n]+\n\Z")
        return done.stdout.strip()

    def test_a_commit_and_changes(self):
        self.git("init", "-q")
        first = self.commit()
        self.assertEqual(first, self.source_id())
        (self.tree / "notes").write_text("of no build", encoding="ascii")
        self.assertEqual(first, self.source_id())
        (self.tree / "a.c").write_text("int b;\n", encoding="ascii")
        one = self.source_id()
        self.assertRegex(one, rf"^{first}-dirty-[0-9a-f]{{8}}$")
        self.assertEqual(one, self.source_id())
        (self.tree / "a.c").write_text("int c;\n", encoding="ascii")
        self.assertNotEqual(one, self.source_id())
        self.git("add", "a.c")  # staged is not committed
        self.assertRegex(self.source_id(), rf"^{first}-dirty-")
        second = self.commit()
        self.assertNotEqual(first, second)
        self.assertEqual(second, self.source_id())

    def test_a_tarball_is_unknown(self):
        self.assertEqual("unknown", self.source_id())

    def test_a_machine_without_git(self):
        self.git("init", "-q")
        self.commit()
        tools = self.tree.parent / "tools"
        tools.mkdir()
        (tools / "dirname").symlink_to(shutil.which("dirname"))
        self.assertEqual("unknown", self.source_id(PATH=str(tools)))

    def test_another_projects_work_tree_is_not_ours(self):
        self.git("init", "-q")
        self.commit()
        inner = self.tree / "unpacked"
        self.make(inner)
        self.assertEqual("unknown", self.source_id(inner))

    def test_without_a_commit(self):
        self.git("init", "-q")
        self.assertEqual("unknown", self.source_id())

    def test_the_environment_says_it(self):
        self.git("init", "-q")
        self.commit()
        self.assertEqual("e95bcff11d02", self.source_id(BENCHD_SOURCE="e95bcff11d02"))
        self.assertEqual("a_b__", self.source_id(BENCHD_SOURCE='a"b\\\n'))
        self.assertEqual(64, len(self.source_id(BENCHD_SOURCE="x" * 100)))

    def test_one_file_is_compiled_anew(self):
        users = [str(path.relative_to(ROOT)) for top in ("lib", "ctl", "daemon", "worker", "bench", "tests")
                 for path in (ROOT / top).rglob("*.[ch]")
                 if re.search(r'^#include "base/build_source\.h"', path.read_text(encoding="utf-8"), re.MULTILINE)]
        self.assertEqual(["lib/base/build_info.c"], users)


if __name__ == "__main__":
    unittest.main()
