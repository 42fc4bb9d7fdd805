#!/usr/bin/env python3
"""N trainers of batch B over 1 and 2 parameter servers end, to the bit, with the parameters of one
process that averages N micro-batches of B (micro_batches.c), over fp32 and bf16; so do 2 workers of a ring,
because a sum of two has one order, and so do trainers that train alone for some steps, and a trainer that is alone with its
servers in Async. Argument: that program."""
import subprocess
import sys

from worker_gang import Gang, Ring
from tap import Tap

BATCH = 2
STEPS = 3  # of them one is warm-up, or of the longer ones two
LONG = {"Sync localSteps=2": (2, 4)}  # warm-up and all steps


def main():
    tap = Tap()
    for trainers, pservers, wire, mode in ((3, 2, "FP32", "Sync serverThreads=3"), (2, 0, "FP32", "Sync"), (2, 1, "BF16", "Sync"),
                                           (3, 2, "FP32", "Sync localSteps=2"), (1, 2, "BF16", "Async")):
        what = f"{trainers} trainers, {pservers} pservers, {wire}, {mode}"
        mode, _, threads = mode.partition(" serverThreads=")
        warmup, steps = LONG.get(mode, (1, STEPS))
        period = 2 if mode in LONG else 1
        settings = ["--batch-size", BATCH, "--warmup-steps", warmup, "--steps", steps - warmup, "--print-digest"]
        want = subprocess.run([sys.argv[1], str(trainers), str(BATCH), str(steps), wire, mode],
                              capture_output=True, text=True, check=True).stdout
        of_wire = ["--wire", wire, "--mode", mode, "--server-threads", threads or 1]
        with Gang(pservers, trainers, settings + of_wire, of_wire) if pservers > 0 else Ring(trainers, settings) as gang:
            ends = gang.end()
            summaries = {n: [r for r in gang[n].records if r["type"] == "summary"] for n in ends}
        for name, (code, error, stderr) in ends.items():
            tap.equal((0, None), (code, error), f"{what}: {name} ends well")
            if not name.startswith("pserver"):
                tap.equal(want, stderr, f"{what}: parameters of {name}")
            summary = summaries[name][-1] if summaries[name] else {}
            tap.equal(None if name.startswith("pserver") else "TCP", summary.get("transport"), f"{what}: {name} says how it reached the others")
            rounds = (steps - warmup) // period
            tap.equal(rounds if name.startswith("pserver") else steps - warmup, summary.get("steps"), f"{what}: steps of {name}")
            sent = {"FP32": 4, "BF16": 2}[wire] * 15254602 * rounds * (trainers / pservers if name.startswith("pserver") else 1)
            tap.ok(sent * 0.98 < summary.get("bytes_tx", 0) < sent * 1.02, f"{what}: bytes of {name}",
                   f"expected about {sent:.0f}, got {summary.get('bytes_tx')}")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
