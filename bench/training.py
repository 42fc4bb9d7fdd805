#!/usr/bin/env python3
"""script/bench training: the same training as PyTorch, not only the same operations.

Losses (default): from the same initial weights and the same batches, dropout off, the loss of each step of benchworker
beside PyTorch's in fp32 (both layouts) and in fp64. After its first update a network trained by Adam is chaotic: Adam
divides a gradient by its own size, so a gradient that is nothing but rounding still moves its weight by a full step.
Hence every distance is shown beside the one that PyTorch's own fp32 has from its fp64.

--accuracy: test accuracy on Fashion-MNIST with dropout, several seeds each; the same weights and batches a seed, each
side with its own dropout.

Prints tables, each figure beside its bar; --json and --svg keep them. Ends with "reached N of M"; exit 1 where a bar is
missed."""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import entry
import figures
import peers
from figures import Bar, Spread

ROOT = pathlib.Path(__file__).resolve().parent.parent
FASHION = "/usr/share/datasets/fashion-mnist"
FIRST_STEPS, FIRST_BAR, MEAN_BAR = 5, 1e-4, .03
SERIES = {"benchworker": "#0072b2", "PyTorch fp32 NCHW": "#d55e00", "PyTorch fp32 channels_last": "#cc79a7",
          "PyTorch fp64": "#000000"}


def parse(argv):
    parser = argparse.ArgumentParser(prog="script/bench training", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accuracy", action="store_true", help="test accuracies instead of losses")
    parser.add_argument("--data", default=f"idx:{FASHION}", metavar="SOURCE", help=f"default idx:{FASHION}")
    parser.add_argument("--batch", type=int, default=32, metavar="N", help="default 32")
    parser.add_argument("--steps", type=int, default=100, metavar="N", help="of the losses; default 100")
    parser.add_argument("--fp64-steps", type=int, default=FIRST_STEPS, metavar="N", help="of PyTorch in fp64; default 5")
    parser.add_argument("--samples", type=int, default=12800, metavar="N", help="of the accuracies; default 12800")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="of the accuracies; default 5")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the first; default 1")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--svg", metavar="FILE", help="the losses as a picture")
    args = parser.parse_args(argv)
    if min(args.batch, args.steps, args.samples, args.seeds) < 1 or args.fp64_steps < 0:
        parser.error("expected positive numbers")
    if args.accuracy and not args.data.startswith("idx:"):
        parser.error("--accuracy needs --data idx:DIR")
    return args


class Failed(Exception):
    pass


def output(argv):
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, argv))}: exit code {done.returncode}\n  {done.stderr.strip()[-800:]}")
    return done


class Training:
    """One set of weights and batches, trained by each."""

    def __init__(self, args, seed, steps, folder):
        self.args, self.seed, self.steps, self.folder = args, seed, steps, folder
        self.worker = os.environ.get("BENCHWORKER", str(ROOT / "build" / "worker" / "benchworker"))
        self.common = ["--data", args.data, "--batch", args.batch, "--seed", seed]
        self.limit = ["--limit", args.samples] if args.accuracy else []
        output([self.worker, "export", "--dir", folder, *self.common, *self.limit, "--steps", steps])

    def ours(self, *options):
        """(loss of each step, what was said to people)"""
        done = output([self.worker, "train", *self.common, *self.limit, "--steps", self.steps, "--epochs", 1000000,
                       "-o", "json", *options])
        records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return [r["loss"] for r in records if r["type"] == "step"], done.stderr

    def torch(self, *options):
        done = output([peers.interpreter("pytorch"), ROOT / "bench" / "training_torch.py", self.folder, *options])
        return json.loads(done.stdout)


def relative(a, b):
    return abs(a - b) / abs(b)


def furthest(losses, truth):
    """Of the first steps that both have: the largest relative distance."""
    return max(relative(a, b) for a, b in list(zip(losses, truth))[:FIRST_STEPS])


def one(value):
    return Spread(value, value, value)


def loss_bars(series):
    ours, nchw, last = (series[name] for name in list(SERIES)[:3])
    theirs = min((nchw, last), key=lambda losses: furthest(ours, losses))  # oneDNN's two layouts differ as well
    yield Bar("first step: relative distance of the loss to the nearer PyTorch fp32",
              one(min(relative(ours[0], nchw[0]), relative(ours[0], last[0]))), FIRST_BAR, "<=")
    yield Bar(f"first {FIRST_STEPS} steps: the same, the largest", one(furthest(ours, theirs)), FIRST_BAR, "<=")
    truth = series["PyTorch fp64"]
    if truth:
        yield Bar(f"first {FIRST_STEPS} steps: our distance to PyTorch fp64 over that of its fastest fp32, channels_last",
                  one(furthest(ours, truth) / furthest(last, truth)), 1, "<=")
    means = [statistics.fmean(losses) for losses in (ours, nchw, last)]
    yield Bar(f"mean loss of {len(ours)} steps: relative distance to the nearer PyTorch fp32",
              one(min(relative(means[0], means[1]), relative(means[0], means[2]))), MEAN_BAR, "<=")


def print_losses(series):
    shown = {name: losses for name, losses in series.items() if losses}
    n = len(series["benchworker"])
    steps = sorted({i for i in (*range(FIRST_STEPS), 9, 19, 49, 99, n - 1) if i < n})
    print(figures.table(["STEP", *shown], [[str(i + 1), *(f"{losses[i]:.6f}" if i < len(losses) else "-"
                                                          for losses in shown.values())] for i in steps]))
    lines = [[name, f"{statistics.fmean(losses):.4f}", str(len(losses))] for name, losses in shown.items()]
    print("\n" + figures.table(["MEAN LOSS", "NATS", "STEPS"], lines))


def compare_losses(args, folder):
    training = Training(args, args.seed, args.steps, folder)
    series = {"benchworker": training.ours("--no-dropout", "--test-limit", 0)[0],
              "PyTorch fp32 NCHW": training.torch("--layout", "nchw")["loss"],
              "PyTorch fp32 channels_last": training.torch("--layout", "channels_last")["loss"],
              "PyTorch fp64": training.torch("--layout", "nchw", "--fp64", "--steps", args.fp64_steps)["loss"]
              if args.fp64_steps else []}
    print(f"{args.data}, batch {args.batch}, seed {args.seed}, {args.steps} steps, no dropout; loss in nats\n")
    print_losses(series)
    if args.svg:
        pathlib.Path(args.svg).write_text(svg(series), encoding="utf-8")
    return list(loss_bars(series)), {"losses": series}


def our_accuracy(text):
    """Of `epoch 1/1  loss .. test accuracy 0.8175 ..`, the last one."""
    return float(text.split("test accuracy")[-1].split()[0])


def standard_error(values):
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def compare_accuracies(args, folder):
    steps = math.ceil(args.samples / args.batch)
    ours, theirs = [], []
    for seed in range(args.seed, args.seed + args.seeds):
        training = Training(args, seed, steps, folder)
        ours.append(our_accuracy(training.ours()[1]))
        theirs.append(training.torch("--dropout", "--seed", seed, "--test", args.data[len("idx:"):])["accuracy"])
        print(f"seed {seed}: benchworker {ours[-1]:.4f}, PyTorch {theirs[-1]:.4f}", flush=True)
    print(f"\n{args.samples} samples of {args.data}, batch {args.batch}, one epoch, dropout on\n")
    print(figures.table(["TEST ACCURACY", "MEAN", "STANDARD ERROR", "SEEDS"], [
        [name, f"{statistics.fmean(values):.4f}", f"{standard_error(values):.4f}", " ".join(f"{v:.4f}" for v in values)]
        for name, values in (("benchworker", ours), ("PyTorch", theirs))]))
    error = math.hypot(standard_error(ours), standard_error(theirs))
    value = one(abs(statistics.fmean(ours) - statistics.fmean(theirs)) / error) if error > 0 else None
    return ([Bar("difference of the means, in standard errors", value, 2, "<=")],
            {"accuracies": {"benchworker": ours, "PyTorch": theirs}})


def svg(series):
    """Losses by step, as lines."""
    width, height, left, top, right, bottom = 720, 400, 56, 16, 16, 44
    n = max(map(len, series.values()))
    most = max(max(losses) for losses in series.values() if losses)
    place = lambda i, loss: (left + (width - left - right) * i / max(1, n - 1),  # noqa: E731
                             top + (height - top - bottom) * (1 - loss / most))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
             f'font-size="12"><rect width="{width}" height="{height}" fill="#fff"/>']
    for k in range(5):
        y = place(0, most * k / 4)[1]
        parts.append(f'<path d="M{left} {y:.1f}H{width - right}" stroke="#ddd"/><text x="{left - 6}" y="{y + 4:.1f}" '
                     f'text-anchor="end">{most * k / 4:.2f}</text>')
        x = place((n - 1) * k / 4, 0)[0]
        parts.append(f'<text x="{x:.1f}" y="{height - bottom + 16}" text-anchor="middle">{1 + (n - 1) * k // 4}</text>')
    for k, (name, losses) in enumerate((name, losses) for name, losses in series.items() if losses):
        points = " ".join("{:.1f},{:.1f}".format(*place(i, loss)) for i, loss in enumerate(losses))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{SERIES[name]}" stroke-width="1.3"/>'
                     f'<text x="{width - right - 4}" y="{top + 14 + 16 * k}" text-anchor="end" fill="{SERIES[name]}">'
                     f'{name}</text>')
    parts.append(f'<text x="{left}" y="{height - 8}">step; loss in nats</text></svg>')
    return "\n".join(parts) + "\n"


def main(argv):
    args = parse(argv)
    figures.check_files(args.json, args.svg)
    peers.install("pytorch")
    with tempfile.TemporaryDirectory(prefix="bench-training-") as folder:
        try:
            bars, data = (compare_accuracies if args.accuracy else compare_losses)(args, folder)
        except Failed as error:
            print(f"error: {error}", file=sys.stderr)
            return 9
    print("\nBars")
    for bar in bars:
        value = "not measured" if bar.value is None else f"{bar.value.median:.3g}"
        print(f"  {'reached' if bar.is_reached else 'MISSED ':7}  {bar.what}: {value} {bar.sign} {bar.bar:g}")
    n = sum(bar.is_reached for bar in bars)
    print(f"\nreached {n} of {len(bars)}")
    if args.json:
        document = {"kind": "BenchTraining", "version": 1, "arguments": vars(args), **data,
                    "bars": [{"what": b.what, "value": b.value and b.value.median, "bar": b.bar, "reached": b.is_reached}
                             for b in bars]}
        pathlib.Path(args.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0 if n == len(bars) else 1


if __name__ == "__main__":
    entry.run(main)
