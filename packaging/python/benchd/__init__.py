"""The trials of benchd's runs as a table, for Python.

    import benchd
    trials = benchd.load("latest")              # a pandas DataFrame with a row for each trial
    trials.groupby("workers")["throughput"].median()

The package also contains the programs benchctl and benchworker, which pip makes commands. They read the store; nothing here does.
"""
import json
import os
import subprocess
import sys

PANDAS_IS_MISSING = "benchd.load needs pandas: pip install 'benchd[pandas]', or use benchd.trials, which needs no other package"
LOCAL = ("--local",)
# The columns that every table has, apart from the parameters; and those that hold numbers if their trials have any.
FIRST = ("kind", "run", "benchmark", "point", "system")
LAST = ("trial", "attempt", "outcome", "throughput", "unit", "error", "rehearsal", "simulated", "imported", "others_share")
ACCURACIES = ("time_to_accuracy_s", "best_accuracy", "best_loss", "accuracy_after_time")


def __getattr__(name):
    """benchd.__version__."""
    if name != "__version__":
        raise AttributeError(f"module 'benchd' has no attribute {name!r}")
    from importlib import metadata
    return metadata.version("benchd")


def program(name):
    """The path of a program of this package: benchctl or benchworker."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)


def main():
    """The commands that pip installs: becomes the program that is called so. kubectl calls benchctl by other names."""
    called = os.path.basename(sys.argv[0])
    path = program(called if called == "benchworker" else "benchctl")
    os.execv(path, [called, *sys.argv[1:]])


def result(run, options=LOCAL):
    """What `benchctl results RUN -o json` prints, as a dict (docs/contracts/result.md).

    run is a name, the last five characters of one, or "latest". options are those of benchctl that say where the run is: by default
    the local store of this machine, `["--store", "sqlite:FILE"]` another one, `[]` or `["--namespace", "ml"]` a cluster.
    Raises RuntimeError with the message of benchctl.
    """
    done = subprocess.run([program("benchctl"), "results", run, "-o", "json", "--quiet", *options], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"benchctl results {run}: exit code {done.returncode}")
    return json.loads(done.stdout)


def _accuracies(trial):
    """The figures of accuracy of a trial, of a definition that asks for some."""
    until, after = trial.get("timeToAccuracy") or {}, trial.get("accuracyAfterTime") or {}
    found = (until, "seconds"), (until, "bestAccuracy"), (until, "bestLoss"), (after, "accuracy")
    return {column: figures[key] for column, (figures, key) in zip(ACCURACIES, found) if key in figures}


def rows(document):
    """A dict for each trial of a result, in order. The keys are the columns of load; a key is absent, or its value None, if it is unknown."""
    found = []
    for kind, points in (("point", document["points"]), ("baseline", document["baselines"])):
        for point in points:
            parameters = {f"param_{name}" if name in FIRST + LAST + ACCURACIES else name: value
                          for name, value in point["parameters"].items()}
            for trial in point["trials"]:
                found.append({
                    "kind": kind, "run": document["run"], "benchmark": document["benchmark"], "point": point["point"],
                    "system": point["system"], **parameters, "trial": trial["trial"], "attempt": trial["attempt"],
                    "outcome": trial["phase"], "throughput": trial["throughput"]["value"], "unit": trial["throughput"]["unit"],
                    "error": trial["error"], "rehearsal": document["rehearsal"], "simulated": document["simulated"],
                    "imported": document["imported"], "others_share": trial.get("othersShare"), **_accuracies(trial),
                    **{f"metric_{name}": value for name, value in trial.get("metrics", {}).items()}})
    return found


def trials(run, options=LOCAL):
    """The trials of a run as a list of dicts; see result and rows."""
    return rows(result(run, options))


def load(run, options=LOCAL):
    """The trials of a run as a pandas DataFrame; see result for the arguments.

    The columns: kind (point or baseline), run, benchmark, point, system, one for each parameter (param_NAME if the name is another
    column), trial, attempt, outcome, throughput, unit, error, rehearsal, simulated, imported, others_share; time_to_accuracy_s,
    best_accuracy or best_loss, and accuracy_after_time if the definition asks for them; metric_NAME for each other figure.
    An unknown number is NaN.
    """
    try:
        import pandas
    except ImportError:
        raise ImportError(PANDAS_IS_MISSING) from None
    found = trials(run, options)
    columns = list(dict.fromkeys(name for row in found for name in row)) or [*FIRST, *LAST]
    numbers = [name for name in columns if name in ("throughput", "others_share", *ACCURACIES) or name.startswith("metric_")]
    return pandas.DataFrame(found, columns=columns).astype({name: "float64" for name in numbers})
