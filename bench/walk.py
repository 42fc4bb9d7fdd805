#!/usr/bin/env python3
"""script/bench walk: the shipped sweep on a real Kubernetes node, beside the same run without a cluster.

Starts a node (tests/e2e/node.py: kubelet, containerd, CoreDNS), installs benchd on it from manifests/, and takes the time of
`benchctl run vgg16-pserver-sweep` with small pods, from its start to its tables; then of the same command with --local. Bar:
1.5 times the local run and 10 s a trial. Says too where the time of a trial goes, from what its pods say.

The two do not do the same work: the pods have the CPU limit of `--set cpu` and 10 warm-up steps; the local run has all CPUs
and the definition's `local` part, 2 warm-up steps.

Needs root. Ends with "reached N of M"; exit 1 where a bar is missed."""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from figures import Bar, Spread

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMES, PER_TRIAL_S = 1.5, 10
NS = "benchd"


def parse(argv):
    parser = argparse.ArgumentParser(prog="script/bench walk", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="default 1")
    parser.add_argument("--json", metavar="FILE", help="keeps every measurement")
    args = parser.parse_args(argv)
    if args.rounds < 1:
        parser.error("--rounds: expected a positive number")
    return args


class Failed(Exception):
    pass


def timed(argv, env):
    """(seconds, stdout) of a command that ends well."""
    begin = time.monotonic()
    done = subprocess.run([str(word) for word in argv], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, argv))}: exit code {done.returncode}\n  {done.stderr.strip()[-800:]}")
    return time.monotonic() - begin, done.stdout


# ---- where the time goes ----

def documents(text):
    """The JSON documents of a text, one behind the other; a last one that is cut off is left out."""
    decoder, at = json.JSONDecoder(), 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        try:
            document, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            return
        yield document


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def gangs(pods, run):
    """{(point, trial, attempt): (created, all run, all have ended)} of a run, from all that was seen of its pods. The API
    has whole seconds, so only means over many say something."""
    last = {}
    for pod in pods:
        states = pod.get("status", {}).get("containerStatuses", [])
        ended = states and states[0]["state"].get("terminated")
        if ended and pod["metadata"]["labels"].get("benchd.io/run") == run:
            last[pod["metadata"]["uid"]] = pod["metadata"], ended
    found = {}
    for metadata, ended in last.values():
        key = tuple(int(metadata["labels"][f"benchd.io/{what}"]) for what in ("point", "trial", "attempt"))
        times = seconds(metadata["creationTimestamp"]), seconds(ended["startedAt"]), seconds(ended["finishedAt"])
        known = found.setdefault(key, times)
        found[key] = min(known[0], times[0]), max(known[1], times[1]), max(known[2], times[2])
    return found


def parts(found):
    """Means over the attempts, in s: until all run, until all have ended, until the next one is created."""
    order = sorted(found.values())
    return {"pods start": statistics.mean(run - created for created, run, _ in order),
            "programs run": statistics.mean(end - run for _, run, end in order),
            "until the next": statistics.mean([b[0] - a[2] for a, b in zip(order, order[1:])] or [0])}


def measured_s(result):
    """Mean over the trials: of the measured steps, the longest trainer."""
    return statistics.mean(
        max(item["summary"]["durationNs"] for item in trial["replicas"]["items"] if item["role"] == "trainer") / 1e9
        for point in result["points"] + result["baselines"] for trial in point["trials"])


def allowed_s(local_s, trials):
    return TIMES * local_s + PER_TRIAL_S * trials


# ---- one round ----

@contextlib.contextmanager
def watched(node, path):
    """Writes all that happens to pods into a file meanwhile."""
    words = [node.cluster.programs["kubectl"], "get", "pods", "-n", NS, "-w", "-o", "json"]
    with open(path, "wb") as out, subprocess.Popen(node.cluster.command(*words), env=node.cluster.env(),
                                                   stdin=subprocess.DEVNULL, stdout=out) as watch:
        try:
            yield
        finally:
            watch.terminate()


def one_round(node, benchctl, sweep, number):
    env = {"BENCHCTL_PATH": str(ROOT / "benchmarks"), "LC_ALL": "C.UTF-8"}
    words = [benchctl, "run", *sweep, "-o", "json", "-q"]
    seen = node.dir / f"pods-{number}.json"
    with watched(node, seen):
        cluster_s, out = timed(node.cluster.command(*words), {**node.cluster.env(), **env})
    result = json.loads(out)
    trials = sum(len(point["trials"]) for point in result["points"] + result["baselines"])
    store = node.dir / f"local-{number}.db"
    local_s, _ = timed([*words, "--local", "--store", f"sqlite:{store}"], {**os.environ, **env})
    found = gangs(documents(seen.read_text()), result["run"])
    return {"cluster_s": cluster_s, "local_s": local_s, "trials": trials, "allowed_s": allowed_s(local_s, trials),
            "parts_s": parts(found), "measured_s": measured_s(result)}


def describe(number, r):
    where = ", ".join(f"{name} {value:.1f}" for name, value in r["parts_s"].items())
    return (f"round {number + 1}: {r['trials']} trials, cluster {r['cluster_s']:.1f} s, local {r['local_s']:.1f} s, allowed "
            f"{TIMES} x {r['local_s']:.1f} + {PER_TRIAL_S} x {r['trials']} = {r['allowed_s']:.1f} s\n"
            f"  a trial's {r['cluster_s'] / r['trials']:.1f} s: {where}; of these measured steps {r['measured_s']:.1f}")


def conclude(rounds):
    """Prints the end; returns the bar."""
    bar = Bar("from run to tables, as part of what is allowed",
              Spread.of([r["cluster_s"] / r["allowed_s"] for r in rounds]), 1, "<=")
    print(f"{bar.text()}\n\nreached {int(bar.is_reached)} of 1")
    return bar


def main(argv):
    args = parse(argv)
    sys.path.insert(0, str(ROOT / "tests" / "e2e"))
    from node import Node, why_not
    from user import SWEEP
    reason = why_not()
    if reason:
        print(f"script/bench walk: {reason}", file=sys.stderr)
        return 1
    benchctl = pathlib.Path(os.environ["BENCHD_BUILD_DIR"]) / "ctl" / "benchctl"
    try:
        with Node(namespace=None) as node:
            node.install()
            rounds = []
            for number in range(args.rounds):
                rounds.append(one_round(node, benchctl, SWEEP, number))
                print(describe(number, rounds[-1]), flush=True)
    except Failed as e:
        print(f"script/bench walk: {e}", file=sys.stderr)
        return 1
    bar = conclude(rounds)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rounds, indent=1), encoding="utf-8")
    return 0 if bar.is_reached else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
