"""What the tests of the dashboards share."""
import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
sys.path[:0] = [str(ROOT / "tests" / "daemon" / "web"), str(ROOT / "tests" / "e2e")]
FOLDER = ROOT / "dashboards"
import serve  # noqa: E402  (its folder is known only now)


def load(name="benchd-run.json"):
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def documented_metrics():
    """The names of series in docs/metrics.md and docs/figures.md, which cli/metrics-doc holds against /metrics."""
    names = [name for figure in serve.cli.figures() for name in serve.cli.metric_limits(figure)]
    for name, kind in re.findall(r"^\| ((?:bench|process|rest_client)\w+) \| (\w+) \| ", (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8"),
                                 re.M):
        names += [f"{name}{suffix}" for suffix in ("_bucket", "_sum", "_count")] if kind == "histogram" else [name]
    return names
