#!/usr/bin/env python3
"""docs/first-cluster-run.md, typed line by line on the real node: each command ends well, and prints what the page says but for numbers,
names and the width of columns. After it, on the same node, what README.md says (readme.py). The images are those of the build tree, and the node has no StorageClass, so the volume is made by hand.

BENCHD_BUILD_DIR names the build tree whose programs go into the images, BENCHCTL the program."""
import re
import sys

import readme
import tap
from cluster import becomes
from machine import why_not
from node import Node
from user import shell, typed

PAGE = tap.ROOT / "docs" / "first-cluster-run.md"
RUN = re.compile(r"run/vgg16-pserver-sweep-([a-z0-9]{5}) created ")
MOMENT_S = 600   # until the run is where the page shows it
WAITS = "Waiting for deployment"   # how often kubectl says it depends on the machine


class Page:
    def __init__(self, t, node):
        self.t, self.node = t, node
        text = PAGE.read_text(encoding="utf-8")
        self.steps = typed.steps(text)
        self.name = RUN.search(text)[1]   # of the page's run, and then of ours
        self.ours = None

    def shell(self):
        """In a folder that has of a clone what the page uses."""
        return shell(self.node, "clone", [tap.ROOT / "manifests", tap.ROOT / "benchmarks"])

    def type(self, shell, step):
        shell.type(step.command if self.ours is None else step.command.replace(self.name, self.ours))

    def is_as_told(self, shell, step, printed):
        said, printed = ([line for line in lines if not line.startswith(WAITS)] for lines in (step.told, printed))
        return shell.code == 0 and typed.is_like(said, printed)

    @staticmethod
    def show(step, printed):
        """For the log: what there is to write into the page."""
        print("".join(f"# {line}\n" for line in (f"$ {step.command}", *printed)), end="", flush=True)

    def type_beside(self, shell, steps):
        """While the run goes on; again and again, because the page shows one moment of it."""
        for step in steps:
            printed = []

            def is_as_told(step=step, printed=printed):
                self.type(shell, step)
                printed[:] = shell.lines()
                return self.is_as_told(shell, step, printed)
            is_good = becomes(is_as_told, MOMENT_S)
            self.show(step, printed)
            self.t.ok(is_good, f"in another terminal: {step.command}", typed.difference(step.told, printed))

    def type_all(self):
        with self.shell() as shell, self.shell() as other:
            for i, step in enumerate(self.steps):
                if step.is_beside:
                    continue
                beside = []
                for following in self.steps[i + 1:]:
                    if not following.is_beside:
                        break
                    beside.append(following)
                self.type(shell, step)
                printed = []
                for line in shell.lines():
                    printed.append(line)
                    found = RUN.match(line)
                    if found:
                        self.ours = found[1]
                        self.type_beside(other, beside)
                self.show(step, printed)
                self.t.ok(self.is_as_told(shell, step, printed), step.command, f"exit code {shell.code}; {typed.difference(step.told, printed)}")


def main():
    tap.skip_if(why_not())
    t = tap.Tap()
    with Node(namespace=None) as node:
        for image in ("benchd", "benchworker"):
            node.load(image)
        node.local_volume("benchd")
        page = Page(t, node)
        page.type_all()
        t.ok(page.ours is not None and len(page.steps) > 12, "the whole page was typed", page.steps)
        left = node.cluster.kubectl("get", "namespaces,customresourcedefinitions", "-o", "name").stdout.split()
        t.equal([], [name for name in left if "benchd" in name], "and nothing of it is left in the cluster")
        readme.check(t, node)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
