"""What the tests of benchmarks/profiles share."""
import os
import pathlib
import sys

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
sys.path.insert(0, str(ROOT / "tests" / "ctl"))
from unittest_tap import main  # noqa: E402, F401  (its folder is known only now)
