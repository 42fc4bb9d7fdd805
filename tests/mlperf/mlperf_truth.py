#!/usr/bin/env python3
"""Says what training throughput an MLPerf Training log itself bears out.

This program judges benchd from outside: it was written from the rules of mlcommons/logging
(the compliance checker and the rcp checker) and from the logs, not from benchd's contract or code.
It knows no data set, model or target; each constant comes from the log that it reads.

For each result file it gives samples a second of the whole job, twice:
  stated  what the submitter's own lines say: a throughput, images a second, the time of a step;
  blocks  the samples of whole blocks (or epochs) over their time, less the evaluations inside.
Where a figure cannot be had, the reason stands in its place.

usage: mlperf_truth.py ROUND...       one JSON line for each result_*.txt below
"""
import json
import os
import re
import statistics
import sys

from mlperf_log import LOSSES, MARKS, RATES, SAMPLE_KEYS, SCORES, STEP_KEYS, STEP_TIMES, Log, is_training

QUEUED = 2.0        # Blocks of one size whose times differ by this factor were queued, not run, at their lines.
LEAST_SHARE = 0.1   # An evaluation that leaves less of its block to training holds training of its own.
AGREE = 0.15        # A stated figure within this of the blocks is of the same scope and unit.
BATCHES = "; train_samples counts batches"
HELD = "the evaluations hold the training: their lines were written before the work was done"


class Refusal(Exception):
    """A figure cannot be had; the text says why."""


class Piece:
    """A stretch of training: its first and last moment, its samples, and its time less evaluations."""

    def __init__(self, log, start, stop, counted, before, following):
        self.start, self.stop = start.at, min(stop.at, following.at) if following else stop.at
        self.number = start.number("epoch_num") or 0
        self.samples = named_samples(log, start, stop, before)
        self.by_data_set = not self.samples and log.unit == "epochs" and counted == "epochs"
        self.samples = self.samples or counted_samples(log, start, counted)
        self.length = self.stop - self.start
        self.time = self.length - log.evaluated(self.start, self.stop)


def named_samples(log, start, stop, last):
    """The samples between two lines that name samples or steps, or None; the last stop is where the start should be."""
    for names, size in ((SAMPLE_KEYS, 1), (STEP_KEYS, log.batch)):
        before, after = start.number(*names), stop.number(*names)
        if before is not None and last and (last.number(*names) or 0) > before:
            before = last.number(*names)
        if size and before is not None and after is not None and after > before:
            return (after - before) * size
    return None


def counted_samples(log, start, counted):
    """The samples of a block or epoch by how many epochs, steps or tokens it is said to have, or None."""
    count = start.number("epoch_count")
    if count is None and start.number("epoch_num") is not None:
        count = 1 if log.unit == "epochs" else None
    if not count:
        return None
    if counted in ("steps", "samples"):
        return count * log.batch if counted == "steps" else count
    if counted == "epochs" and log.unit == "samples":
        return None     # Evaluations count samples; an epoch of such a log is no measure.
    return log.samples(count)


def count_of_blocks(log, spans):
    """Tells whether epoch_count counts steps or samples: the evaluations stand at other or the same numbers."""
    counts = [a.number("epoch_count") or 0 for a, _ in spans]
    marks = [position for _, position in log.marks()]
    total = sum(counts)
    if not marks or not log.batch or log.unit == "tokens" or total <= len(spans):
        return "epochs"
    if log.unit == "samples" and abs(total / max(marks) - 1) < 0.2:
        return "samples"
    if log.unit == "samples":
        return "steps" if abs(total * log.batch / max(marks) - 1) < 0.2 else "epochs"
    return "steps" if max(marks) <= len(spans) and total * log.batch <= 1.3 * (log.data or 0) else "epochs"


def uncut(log, pieces):
    """Leaves out a last piece that the end of the run cut short: it ends with the run, and far too early."""
    if len(pieces) < 3 or abs(pieces[-1].stop - log.stop) > 1 or not all(p.samples for p in pieces):
        return pieces
    usual = statistics.median(p.time / p.samples for p in pieces[1:-1])
    return pieces[:-1] if pieces[-1].time / pieces[-1].samples < usual / QUEUED else pieces


def restarts(stop, start):
    """A start that names fewer samples than the stop before it, and no step, does not name its position."""
    before, after = stop.number(*SAMPLE_KEYS), start.number(*SAMPLE_KEYS)
    return before is not None and after is not None and after < before and start.number(*STEP_KEYS) is None


def size_by_positions(log, spans, pieces):
    """Gives pieces that do not name their samples the difference of the positions around them."""
    if any(p.samples for p in pieces):
        return pieces
    starts = [a.number(*SAMPLE_KEYS) for a, _ in spans]
    marks = log.marks()
    positions = [position for _, position in marks]
    if len(starts) > 2 and None not in starts and all(a < b for a, b in zip(starts, starts[1:])):
        pieces, positions, before = pieces[:-1], starts[1:], starts
    elif marks and len(marks) == len(pieces) and (log.unit == "samples" or marks[0][0].number(*SAMPLE_KEYS)):
        before = [0] + positions
    elif log.unit == "samples":
        positions = [a.number("epoch_num") or 0 for a, _ in spans]
        before = [0] + positions
    else:
        return pieces
    for piece, first, last in zip(pieces, before, positions):
        piece.samples = max(last - first, 0)
    return pieces


def whole_pieces(log):
    """Gives the blocks or, where they hold more than training, the epochs, with the name of what they are."""
    found = {}
    for kind in ("block", "epoch"):
        spans = log.spans(kind)
        counted = count_of_blocks(log, spans)
        before = [None] + [b for _, b in spans]
        following = [a for a, _ in spans[1:]] + [None]      # Epochs can overlap: the next starts during an evaluation.
        pieces = [Piece(log, a, b, counted, c, d) for (a, b), c, d in zip(spans, before, following)]
        if any(restarts(a, b) for (_, a), (b, _) in zip(spans, spans[1:])):
            pieces = pieces[1:]     # The starts are no positions, and the first has no stop before it.
        pieces = size_by_positions(log, spans, pieces)
        if pieces:
            found[kind] = uncut(log, pieces)
    if not found:
        raise Refusal("there is no whole block or epoch")
    blocks, epochs = found.get("block"), found.get("epoch")
    if not blocks or not epochs:
        return (blocks or epochs), "blocks" if blocks else "epochs"
    inside = [e for e in epochs if any(b.start - 0.1 <= e.start and e.stop <= b.stop + 0.1 for b in blocks)]
    share = sum(e.time for e in inside) / max(sum(b.time for b in blocks), 1e-9)
    sized = all(e.samples for e in epochs)
    if sized and len(epochs) >= len(blocks) and (share > 0.5 or len(inside) < len(epochs) / 2):
        return epochs, "epochs"
    return blocks, "blocks"


def by_positions(log):
    """Samples a second from the first to the last evaluation, by the positions that these state."""
    marks = log.marks()
    if len(marks) < 2:
        raise Refusal("neither blocks nor evaluations state how many samples were trained")
    (first, start), (last, stop) = marks[0], marks[-1]
    explicit = first.number(*SAMPLE_KEYS) is not None
    samples = stop - start if explicit else log.samples(stop - start)
    if not samples:
        raise Refusal("the log states no size of its data set")
    known = any(e.key == "eval_start" for e in log.events)
    time = last.at - first.at - log.evaluated(first.at, last.at)
    if time < LEAST_SHARE * (last.at - first.at):
        raise Refusal(HELD)
    how = "from the first to the last evaluation by their positions"
    return {"rate": samples / time, "how": how + (", less evaluations" if known else ", evaluations included"),
            "bound": not known, "overall": samples / (last.at - first.at),
            "by_data_set": not explicit and log.unit == "epochs"}


def by_steps(log):
    """Samples a second by the steps or samples that the statistics of training name."""
    marks = []
    for event in log.events:
        step = event.number(*SAMPLE_KEYS) or (event.number(*STEP_KEYS) or 0) * log.batch
        if event.key in ("tracked_stats",) + LOSSES and is_training(event) and step > (marks[-1][1] if marks else 0):
            marks.append((event.at, step))
    if len(marks) < 2:
        return None
    (first, start), (last, stop) = marks[0], marks[-1]
    scores = [e.at for e in log.events if e.key in SCORES]
    pairs = [(b - a, after - before) for (a, before), (b, after) in zip(marks, marks[1:])
             if b > a and (len(scores) > 99 or not any(a < at < b for at in scores))]
    return {"rate": (stop - start) / (last - first - log.evaluated(first, last)), "bound": False,
            "steady": statistics.median(samples / time for time, samples in pairs) if pairs else None,
            "how": "samples %g to %g by the statistics" % (start, stop)}


def by_blocks(log):
    """Samples a second of whole blocks less the evaluations inside, as a dictionary."""
    pieces, kind = whole_pieces(log)
    fractional = any(position % 1 for _, position in log.marks())
    if log.run and not (kind == "epochs" and log.unit == "tokens"):
        samples, how = log.run / (log.sequence if log.unit == "tokens" else 1), "the run's train_samples over "
    elif fractional or any(not p.samples for p in pieces):
        return by_positions(log)
    else:
        samples, how = sum(p.samples for p in pieces), "samples of "
    time, length = sum(p.time for p in pieces), sum(p.length for p in pieces)
    if time < LEAST_SHARE * length:
        raise Refusal(HELD)
    span = pieces[-1].stop - pieces[0].start - log.evaluated(pieces[0].start, pieces[-1].stop)
    rates = [p.samples / p.time for p in pieces[1:] if p.samples and p.time > 0]
    inside = any(p.start < e.at < p.stop + 0.05 for p in pieces[:3] for e in log.events if e.key == "eval_accuracy")
    unseen = inside and not any(e.key == "eval_start" for e in log.events)
    result = {"rate": samples / time, "how": how + "%d %s less evaluations" % (len(pieces), kind), "bound": unseen,
              "overall": samples / length, "by_data_set": not log.run and all(p.by_data_set for p in pieces)}
    if unseen:
        result["how"] = how + "%d %s, evaluations of unknown length included" % (len(pieces), kind)
    if (unseen or len(pieces) == 1) and len(log.marks()) > 2 and log.unit != "epochs":
        result["between"] = by_positions(log)["rate"]
    if log.run and len(pieces) == 1 and fractional:     # Its start-up is before the first evaluation.
        (first, start), (last, stop) = log.marks()[0], log.marks()[-1]
        rest = samples * (stop - start) / (stop - pieces[0].number)
        result["rest"] = rest / (last.at - first.at - log.evaluated(first.at, last.at))
    if len(rates) >= 2:
        result["steady"] = statistics.median(rates)
        result["rest"] = sum(p.samples for p in pieces[1:]) / sum(p.time for p in pieces[1:])
    reports = sum(is_training(e) and e.key not in MARKS for e in log.events)
    if len(rates) >= 4 and is_queued(pieces[1:]) and reports < 3 * len(pieces):
        return by_span(result, pieces, samples, rates, span)
    return result


def by_span(result, pieces, samples, rates, span):
    """Blocks that were queued are measured together, and by the later half, in which the queue is full."""
    apart = pieces[-1].stop - pieces[0].start
    late = rates[len(rates) // 2:]
    even = max(late) < QUEUED * min(late)
    sure = even and abs(statistics.median(late) * span / samples - 1) < AGREE
    if apart > (1 + AGREE) * span and not sure:
        raise Refusal("the blocks were queued, and the evaluations between them can hold their training: "
                      "%.5g to %.5g" % (samples / apart, samples / span))
    result.update(rate=samples / span, how=result["how"] + ", queued: from the first start to the last stop")
    result = {name: value for name, value in result.items() if name not in ("rest", "steady")}
    return {**result, "steady": statistics.median(late)} if even else result


def is_queued(pieces):
    """Pieces of one size that take very different times were not run when their lines were written."""
    times = sorted(p.time / p.samples for p in pieces if p.samples and p.time > 0)
    return len(times) > 3 and times[len(times) * 9 // 10] > QUEUED * times[len(times) // 10]


def stated_figures(log):
    """All that the log says of its speed, as {name: [samples or the like a second]}."""
    found = {}

    def add(name, value):
        try:
            value = float(value)
        except (TypeError, ValueError):
            return
        if value > 0:
            found.setdefault(name, []).append(value)

    timed = any(is_training(e) and e.key not in MARKS for e in log.events)
    for event in log.events if timed else log.everything:
        if event.key in RATES:
            add(event.key, event.value)
        elif event.key == "run_stop":
            add("run_stop throughput", event.meta.get("throughput"))
        elif event.key == "epoch_stop" and log.data and event.meta.get("training_epoch_latency"):
            add("training_epoch_latency", 1000 * log.data / event.meta["training_epoch_latency"])
        fields = event.value if event.key == "tracked_stats" and isinstance(event.value, dict) else {}
        for name in RATES:
            add("tracked " + name, fields.get(name))
        for name in STEP_TIMES:
            if log.batch and fields.get(name):
                add("batch / " + name, log.batch / float(fields[name]))
    return found


def stated(log, blocks):
    """Chooses the figure that the log states most often, and its scope by what the blocks bear out."""
    found = log.figures
    if not found:
        raise Refusal("the log states no throughput")
    if not log.batch:
        raise Refusal("the throughput counts something else than samples: there is no global batch size")
    scopes = {"": 1.0}
    if log.local_batch and log.batch:
        ranks = log.batch / log.local_batch
        scopes[" of one of %g ranks" % ranks] = ranks
    if log.sequence:
        scopes[" in tokens"] = 1 / log.sequence
    near = [r for r in (blocks.get("rate"), blocks.get("steady"), blocks.get("overall")) if r]
    choices = []
    for name, values in found.items():
        for scope, factor in scopes.items():
            rate = statistics.median(values) * factor
            off = min((abs(rate / r - 1) for r in near), default=0.0 if not scope else 1.0)
            choices.append((off > AGREE, off > 0.5, -len(values), off, rate, name + scope))
    unlike, _, count, _, rate, name = min(choices)
    return {"rate": rate, "how": "median of %d: %s" % (-count, name), "agrees": bool(near) and not unlike}


def borne_out(log, blocks):
    """Tells whether what the log states of its speed agrees with this rate."""
    try:
        return stated(log, blocks)["agrees"]
    except Refusal:
        return False


def fill_batches(log, blocks):
    """Some logs count train_samples in batches: the stated throughput or a batch above the data set tells."""
    if not blocks.get("by_data_set") or not log.batch or not log.data:
        return blocks
    ranks = log.batch / log.local_batch if log.local_batch else 1
    rates = [statistics.median(v) * f for v in log.figures.values() for f in {1.0, ranks}]
    near = [blocks[name] for name in ("rate", "steady") if blocks.get(name)]
    close = any(abs(n * log.batch / r - 1) < AGREE for r in rates for n in near)
    if not close and log.data >= log.batch:
        return blocks
    return in_batches(blocks, log.batch)


def in_batches(blocks, batch):
    scaled = {k: v * batch if k in ("rate", "steady", "rest", "overall") else v for k, v in blocks.items()}
    return {**scaled, "how": blocks["how"] + BATCHES}


def learn_batches(results):
    """A log without a throughput counts in batches as the others of its round do with the same data set.

    Where the others of the round have another data set, the log's own size of it is in doubt.
    """
    sizes = [(r["benchmark"], r["data"] * r["batch"]) for r in results if BATCHES in r.get("blocks", {}).get("how", "")]
    for result in results:
        blocks, data, batch = result.get("blocks", {}), result["data"], result["batch"]
        if "stated" in result or not blocks.get("by_data_set") or not data or BATCHES in blocks["how"]:
            continue
        if any(name == result["benchmark"] and abs(size / (data * batch) - 1) < 0.02 for name, size in sizes):
            result["blocks"] = in_batches(blocks, batch)
    sets = {}
    judged = [r for r in results if r.get("blocks", {}).get("by_data_set") and r["data"]]
    for result in judged:
        result["set"] = result["data"] * (result["batch"] if BATCHES in result["blocks"]["how"] else 1)
        sets.setdefault(result["benchmark"], []).append(result["set"])
    for result in judged:
        same = sets[result["benchmark"]]
        alike = sum(abs(size / result["set"] - 1) < 0.1 for size in same)
        if alike < 0.6 * len(same) and max(same) > 1.5 * min(same):
            result["doubt"] = "logs of the round say from %g to %g of their data set" % (min(same), max(same))


def judge(path):
    """Returns the two figures of one log, or the reasons why there are none."""
    log = Log(path)
    log.figures = stated_figures(log)
    result = {"file": path, "organisation": log.organisation, "benchmark": log.benchmark, "batch": log.batch,
              "data": log.data, "status": log.status}
    blocks = {}
    try:
        if not log.events:
            raise Refusal("the file holds no MLPerf log line")
        if not log.batch:
            raise Refusal("the log states no global batch size, so it names no samples")
        blocks = fill_batches(log, by_blocks(log))
        steps = by_steps(log)
        if steps and blocks["bound"] and not log.figures:
            blocks["between"] = steps["steady"]
        if steps and borne_out(log, steps) and not borne_out(log, blocks):
            steps["how"] += "; epochs of train_samples would give %.5g" % blocks["rate"]
            blocks = steps
        result["blocks"] = blocks
    except Refusal as reason:
        result["no_blocks"] = str(reason)
    try:
        result["stated"] = stated(log, blocks)
        if blocks:
            result["difference"] = result["stated"]["rate"] / blocks["rate"] - 1
            overall = blocks.get("overall", blocks["rate"])
            if abs(result["stated"]["rate"] / overall - 1) < 0.02 < abs(result["difference"]):
                result["stated"]["how"] += ", evaluations included"
    except Refusal as reason:
        result["no_stated"] = str(reason)
    return result


def result_files(directories):
    for top in directories:
        for directory, below, files in os.walk(top):
            below.sort()
            if os.sep + "results" + os.sep in directory + os.sep:
                yield from (os.path.join(directory, f) for f in sorted(files) if re.fullmatch(r"result_\d+\.txt", f))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    results = [judge(path) for path in result_files(sys.argv[1:])]
    learn_batches(results)
    for result in results:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
