"""Recomputes the training throughput of every MLPerf Training log of a round, from the log's own events, and prints one JSON
line a log. The rules are those of docs/contracts/mllog.md. It shares no code with benchd, so the two can be compared.

usage: reread.py ROUND    ROUND is a checked-out folder of a round or a git directory of one (its HEAD is read)"""

import json
import os
import re
import statistics
import subprocess
import sys

LOG = re.compile(r"([^/]+)/results/([^/]+)/([^/]+)/result_\d+\.txt$")
SYSTEM = re.compile(r"([^/]+)/systems/([^/]+)\.json$")
KEY = re.compile(r'"key":\s*"([a-z_]+)"')
STARTS, STOPS = {"block_start", "epoch_start"}, {"block_stop", "epoch_stop"}
CONFIG = {"submission_benchmark", "global_batch_size", "max_sequence_length", "train_samples", "samples_per_epoch"}
READ = STARTS | STOPS | CONFIG | {
    "run_start", "run_stop", "eval_start", "eval_stop", "eval_accuracy", "checkpoint", "train_loss", "tracked_stats"}
STEP_TIMES = ("train_step_time", "train_step_timing", "train_step_timing in s")
# The samples of MLPerf's data set, for benchmarks that count epochs.
EPOCH = {"resnet": 1281167, "ssd": 1170301, "retinanet": 1170301, "maskrcnn": 117266, "rnnt": 278528,
         "dlrm_dcnv2": 4195197692, "gnn": 94605581, "rgat": 94605581}
UNIT = {"resnet": "images", "ssd": "images", "retinanet": "images", "maskrcnn": "images", "unet3d": "images",
        "stable_diffusion": "images", "flux1": "images", "bert": "sequences", "gpt3": "sequences",
        "llama2_70b_lora": "sequences", "llama31_405b": "sequences", "llama31_8b": "sequences"}
WARM_UP = 5  # steps


def number(value):
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


def events(text):
    """The events that count, as (time in ms, key, value, metadata), in the order of their times."""
    found = []
    for line in text.splitlines():
        at = line.find(":::MLLOG")
        key = KEY.search(line, at) if at >= 0 else None
        if not key or key[1] not in READ:
            continue
        try:
            event = json.loads(line[at + 8:])
        except ValueError:
            continue
        if number(event.get("time_ms")) is not None:
            metadata = event.get("metadata")
            found.append((event["time_ms"], event["key"], event.get("value"), metadata if isinstance(metadata, dict) else {}))
    return sorted(found, key=lambda event: event[0])


class Clock:
    """How long training has run: between starts and stops, less the evaluations that interrupt it."""

    def __init__(self, evaluation_interrupts):
        self.interrupts = evaluation_interrupts
        self.in_block = False
        self.done, self.since, self.paused, self.evaluating, self.evaluation = 0.0, None, None, None, 0.0

    def now(self, t):
        return self.done if self.since is None else self.done + ((t if self.paused is None else self.paused) - self.since)

    def take(self, t, key):
        if self.in_block and key == "epoch_stop":
            return
        self.in_block = self.in_block or self.since is None if key == "block_start" else self.in_block and key != "block_stop"
        if key in STARTS:
            self.since = t if self.since is None else self.since
            self.paused = None
        elif key in STOPS and self.since is not None:
            self.paused = None
            self.done, self.since = self.now(t), None
        elif key == "checkpoint" and self.since is not None:
            self.since = t
        elif key == "eval_start":
            self.evaluating = t if self.evaluating is None else self.evaluating
            if self.interrupts and self.since is not None and self.paused is None:
                self.paused = t
        elif key == "eval_stop":
            if self.evaluating is not None:
                self.evaluation, self.evaluating = self.evaluation + t - self.evaluating, None
            if self.paused is not None:
                self.since, self.paused = self.since + t - self.paused, None


def epoch_of(benchmark, samples, batch):
    """The samples of an epoch: what the log says, if it is the data set in samples or batches; else the data set."""
    known = EPOCH.get(benchmark)
    for said in (samples, samples * batch if samples and batch else None):
        if known and said and (abs(said / known - 1) < 0.01 or abs(said / 117266 - 1) < 0.01):
            return said
    return known


def position(key, metadata, run):
    """Which sample of the training the event is at; None if it does not say."""
    benchmark, batch, sequence, epoch = run
    count, steps, at = (number(metadata.get(name)) for name in ("samples_count", "step_num", "epoch_num"))
    if benchmark == "unet3d":
        at = number(metadata.get("first_epoch_num")) if key == "block_start" else None
        return at * epoch if at is not None else None
    if count is not None:
        return count
    if benchmark == "stable_diffusion":
        return steps * batch if steps is not None and batch else None
    scale = {"bert": 1, "gpt3": 1 / sequence if sequence else None}.get(benchmark, epoch)
    return at * scale if at is not None and scale else None


def step_time(times, batch):
    """The mean of the step times after the first five steps. A line counts as many steps as its position moved; one whose
    position did not grow has the size of its own block there."""
    seconds = steps = seen = before = 0.0
    for value, at in times:
        weight = (at - before if at > before else at) / batch if at and batch else 1.0
        weight = weight if abs(weight - round(weight)) < 1e-6 else 1.0
        before = at if at else before
        if seen >= WARM_UP:
            seconds, steps = seconds + value * weight, steps + weight
        seen += weight
    return seconds / steps if steps >= WARM_UP else None


def rise(marks):
    """The marks that rise in both, and how many others rise while there is no training."""
    rising, stalled = [], 0
    for at, samples in marks:
        stalled += bool(rising) and at <= rising[-1][0] and samples > rising[-1][1]
        if at > (rising[-1][0] if rising else 0) and samples > (rising[-1][1] if rising else 0):
            rising.append((at, samples))
    return rising, stalled


def along(marks):
    """Samples a second from the first mark to the last, or from the start to the only one."""
    rising, stalled = rise(marks)
    if not rising or stalled > len(rising):
        return None
    first = rising[0] if len(rising) > 1 else (0.0, 0.0)
    return 1e3 * (rising[-1][1] - first[1]) / (rising[-1][0] - first[0])


def waits(log):
    """Whether training waits for an evaluation within a block: then such blocks are longer."""
    lengths, start, begun, evaluating = {True: [], False: []}, None, None, 0.0
    for t, key, _, _ in log:
        if key == "block_start":
            start, evaluating = t, 0.0
        elif key == "eval_start":
            begun = t
        elif key == "eval_stop" and begun is not None:
            begun, evaluating = None, evaluating + t - begun
        elif key == "block_stop" and start is not None:
            lengths[evaluating > 0].append((t - start, evaluating))
            start = None
    if not lengths[True] or not lengths[False]:
        return False
    longer = statistics.mean(ms for ms, _ in lengths[True]) - statistics.mean(ms for ms, _ in lengths[False])
    return longer > statistics.mean(ms for _, ms in lengths[True]) / 2


def reread(text, folder):
    """What one log says, as a dictionary."""
    log = events(text)
    config = {}
    for _, key, value, _ in log:
        if key in CONFIG:
            config.setdefault(key, value)
    benchmark = config.get("submission_benchmark", folder)
    batch, sequence, samples = (number(config.get(name)) for name in ("global_batch_size", "max_sequence_length", "train_samples"))
    out = {"benchmark": benchmark, "batch": batch, "unit": UNIT.get(benchmark, "samples"), "throughput": None, "basis": None}
    start = next((t for t, key, _, _ in log if key == "run_start"), None)
    stop = next(((t, metadata) for t, key, _, metadata in log if key == "run_stop"), None)
    if start is None:
        return out | {"reason": "the log has no run_start" if log else "the log has no MLPerf events"}
    marked = any(key == "eval_start" for _, key, _, _ in log)
    clock, times, losses, pace = Clock(benchmark != "unet3d" or waits(log)), [], None, []
    by_block = benchmark in ("unet3d", "stable_diffusion")
    marks = {key: [] for key in (("block_start",) if by_block else ("eval_start", "block_stop", "eval_accuracy"))}
    epoch, end = epoch_of(benchmark, samples, batch), start
    if benchmark == "unet3d":  # counts epochs if a block has fewer than an epoch has images
        counts = [number(metadata.get("epoch_count")) for _, key, _, metadata in log if key == "block_start"]
        epoch = (number(config.get("samples_per_epoch")) or 168) if counts and counts[0] and counts[0] < 168 else 1
    run = (benchmark, batch, sequence, epoch)
    for t, key, value, metadata in log:
        if t < start or (stop and t > stop[0]) or (key in STARTS | STOPS and value == "validation_step"):
            continue
        end = t
        if key == "tracked_stats" and isinstance(value, dict):
            at = number(metadata.get("samples_count", metadata.get("step")))
            at = at / sequence if at and benchmark == "gpt3" and sequence else at
            times += [(number(value[name]), at) for name in STEP_TIMES if number(value.get(name))]
        samples = position(key, metadata, run)
        if key == "train_loss" and samples:
            pace += [(t - losses[0]) / (samples - losses[1])] if losses and samples > losses[1] else []
            losses = (t, samples)
        elif key == "eval_accuracy":
            losses = None
        clock.take(t, key)
        if key in marks and samples is not None:
            marks[key].append((clock.now(t), samples))
    found = next((m for m in marks.values() if m), [])
    mean = step_time(times, batch)
    rates = {"steps": batch / mean if mean and batch else None,
             "losses": 1e3 / statistics.median(pace) if not marked and len(pace) >= 3 else None,
             "positions": along(found)}
    out["basis"] = next((name for name, rate in rates.items() if rate), None)
    out["throughput"] = rates.get(out["basis"])
    if not out["basis"]:
        out["reason"] = "no training time: no start of an epoch or block before a position" if found else "no step times, no positions"
    if not out["basis"] and len(rise(found)[0]) > 0:
        out["reason"] = "its positions rise while it does not train: it evaluates after the training"
    out["rates"] = rates
    status = stop[1].get("status") if stop else None
    return out | {
        "training_s": clock.now(end) / 1e3, "evaluation_s": clock.evaluation / 1e3 if marked else None,
        "time_to_target_s": (stop[0] - start) / 1e3 if status == "success" else None,
        "target": "reached" if status == "success" else status or "unknown"}


def blobs(round_):
    """Every log and system file of the round, as (path, bytes); bytes are None where this copy lacks the file."""
    wanted = lambda path: LOG.search(path) or SYSTEM.search(path)
    if os.path.isdir(os.path.join(round_, "objects")):
        git = ["git", "--git-dir", round_]
        tree = subprocess.run(git + ["ls-tree", "-rz", "HEAD"], capture_output=True, check=True).stdout.decode().split("\0")
        files = [(entry.split("\t", 1)[1], entry.split()[2]) for entry in tree if entry and wanted(entry.split("\t", 1)[1])]
        with subprocess.Popen(git + ["cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as cat:
            for path, name in sorted(files):
                cat.stdin.write(name.encode() + b"\n")
                cat.stdin.flush()
                head = cat.stdout.readline().split()
                yield path, None if head[1] == b"missing" else cat.stdout.read(int(head[2]) + 1)[:-1]
            cat.stdin.close()
        return
    for folder, _, names in sorted(os.walk(round_)):
        for path in sorted(os.path.join(folder, name) for name in names):
            if wanted(path):
                with open(path, "rb") as file:
                    yield os.path.relpath(path, round_), file.read()


def accelerators(data):
    """Accelerators of a system and their name; a system without any has None."""
    try:
        system = json.loads(data.decode("utf-8", "replace"))
        total = int(float(system["accelerators_per_node"]) * float(system["number_of_nodes"]))
        return (total or None, system.get("accelerator_model_name") if total else None)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None, None


def main():
    systems, logs = {}, []
    for path, data in blobs(sys.argv[1]):
        log, system = LOG.search(path), SYSTEM.search(path)
        if system:
            systems[system.groups()] = accelerators(data)
        elif data is None:
            logs.append((log, {"benchmark": log[3], "throughput": None, "reason": "this copy of the round lacks the file"}))
        else:
            logs.append((log, reread(data.decode("utf-8", "replace"), log[3])))
    for log, out in logs:
        count, name = systems.get((log[1], log[2]), (None, None))
        print(json.dumps({"path": log[0], "submitter": log[1], "system": log[2], "accelerators": count, "accelerator": name} | out))


if __name__ == "__main__":
    main()
