"""Every dashboard, compiled against the types of @grafana/schema; and mistakes that the compiler must find. Needs Node.js and
what tests/dashboards/schema/install.sh installs (script/test calls it), else it is skipped."""
import copy
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import shared
import tap

HERE = pathlib.Path(__file__).parent / "schema"
INSTALL = HERE / "install.sh"
CACHE = pathlib.Path(subprocess.run([INSTALL, "--path"], stdout=subprocess.PIPE, text=True, check=False).stdout.strip())
COMPILER = CACHE / "node_modules" / "typescript" / "bin" / "tsc"


def panel(dashboard, kind):
    return next(p for p in dashboard["panels"] if p["type"] == kind)


BROKEN = [  # (what, what is done to benchd-run, text that the compiler must say)
    ("a width as text", lambda d: panel(d, "stat")["gridPos"].update(w="6"), "'string' is not assignable to type 'number"),
    ("a mode that there is not", lambda d: panel(d, "stat")["options"].update(textMode="names"), "names"),
    ("an option of another kind of panel", lambda d: panel(d, "stat")["options"].update(xField="x"), "xField"),
    ("a line width as text", lambda d: panel(d, "trend")["fieldConfig"]["defaults"]["custom"].update(lineWidth="2"),
     "'string' is not assignable to type 'number'"),
    ("thresholds without a mode that there is", lambda d: panel(d, "table")["fieldConfig"]["defaults"]["thresholds"].update(mode="abs"), "abs"),
    ("a kind of panel that we do not know", lambda d: panel(d, "table").update(type="tables"), "tables"),
    ("a query without an expression", lambda d: panel(d, "stat")["targets"][0].pop("expr"), "expr"),
    ("a variable's refresh as text", lambda d: d["templating"]["list"][1].update(refresh="2"), "VariableRefresh"),
]


def compile_all(folder, dashboards):
    """The compiler's words, by the name of the dashboard; "" where it found nothing."""
    (folder / "node_modules").symlink_to(CACHE / "node_modules")
    shutil.copy(HERE / "types.ts", folder / "types.ts")
    for name, dashboard in dashboards.items():
        text = json.dumps(dashboard, indent=1)
        (folder / f"{name}.ts").write_text(f"import type {{ OurDashboard }} from './types';\nexport const dashboard: OurDashboard = {text};\n",
                                           encoding="utf-8")
    done = subprocess.run(["node", COMPILER, "--noEmit", "--strict", "--skipLibCheck", "--moduleResolution", "node", "--target", "es2022",
                           *[f"{name}.ts" for name in dashboards]], cwd=folder, capture_output=True, text=True, check=False)
    said = {name: "" for name in dashboards}
    current = None
    for line in done.stdout.splitlines():
        name = line.split(".ts(")[0]
        current = name if name in said or name == "types" else current
        said[current] = said.get(current, "") + line + "\n"
    return said


def main():
    t = tap.Tap()
    tap.skip_if(shutil.which("node") is None and "node is not installed (script/packages.txt)")
    tap.skip_if(not COMPILER.exists() and f"no {COMPILER}: run {INSTALL}")
    dashboards = {path.stem: shared.load(path.name) for path in sorted(shared.FOLDER.glob("*.json"))}
    for i, (_, break_it, _) in enumerate(BROKEN):
        dashboards[f"broken-{i}"] = copy.deepcopy(dashboards["benchd-run"])
        break_it(dashboards[f"broken-{i}"])
    with tempfile.TemporaryDirectory(prefix="benchd-schema-") as folder:
        said = compile_all(pathlib.Path(folder), dashboards)
    t.equal("", said.pop("types", ""), "our own types are right")
    for path in sorted(shared.FOLDER.glob("*.json")):
        t.equal("", said[path.stem], f"{path.name} is what @grafana/schema says")
    for i, (what, _, expected) in enumerate(BROKEN):
        t.ok(expected in said[f"broken-{i}"], f"the compiler finds {what}", said[f"broken-{i}"])
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
