"""What the tests of the dashboards share."""
import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
sys.path[:0] = [str(ROOT / "tests" / "daemon" / "web"), str(ROOT / "tests" / "e2e")]
FOLDER = ROOT / "dashboards"


def load(name="benchd-run.json"):
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def documented_metrics():
    """docs/metrics.md, which cli/metrics-doc holds against /metrics."""
    return re.findall(r"^\| (bench\w+) \| ", (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8"), re.M)
