#!/usr/bin/env python3
"""Sync with a backup trainer, with real processes: the others go on while one crawls, its late gradients are counted, and one that is
gone is a lost peer all the same."""
import signal
import sys
import threading

import peer
from gang import Gang, time
from lone import N_PARAMS
from tap import Tap

MODE = ["--mode", "Sync backups=1"]
WARMUP, STEPS = 1, 8
SLICES = len(peer.slices(N_PARAMS, 2)) // 2  # of each of two servers
SLOW = "trainer/2"
STOPPED_S, AWAKE_S = 2.0, 0.15  # a replica that is silent for 6 s is lost


def measured(replica):
    return [r for r in replica.records if r["type"] == "step" and not r.get("warmup")]


def crawl(replica, is_over):
    """Stopped again and again, as on a machine that another program has."""
    while not is_over.is_set():
        replica.signal(signal.SIGSTOP)
        is_over.wait(STOPPED_S)
        replica.signal(signal.SIGCONT)
        is_over.wait(AWAKE_S)


def one_crawls(tap):
    settings = ["--warmup-steps", WARMUP, "--steps", STEPS, "--batch-size", 1, *MODE]
    with Gang(2, 3, settings, MODE) as gang:
        gang[SLOW].wait_for("step", WARMUP + 1)  # nobody crosses the barrier before it
        is_over = threading.Event()
        crawler = threading.Thread(target=crawl, args=(gang[SLOW], is_over))
        crawler.start()
        ahead = []
        try:
            for name in ("trainer/0", "trainer/1"):
                gang[name].wait_for("summary")
                ahead.append(STEPS - len(measured(gang[SLOW])))
        finally:
            is_over.set()
            crawler.join()
        ends = gang.end()
        records = {name: gang[name].records for name in ends}
    tap.equal([(0, None)] * 5, [end[:2] for end in ends.values()], "one crawls: all end well")
    tap.ok(min(ahead) >= 2, "one crawls: the others are ahead of it", f"by {ahead} of {STEPS} steps")
    tap.equal([STEPS] * 3, [sum(r["type"] == "step" and not r.get("warmup") for r in records[f"trainer/{i}"]) for i in range(3)],
              "one crawls: it does its steps")
    late = [records[f"pserver/{i}"][-1]["late"] for i in range(2)]
    tap.equal([3 * STEPS * SLICES] * 2, [x["slices"] for x in late], "one crawls: the servers count all gradients")
    for i, x in enumerate(late):
        tap.equal(2, x["trainer"], f"one crawls: pserver/{i} knows who was late")
        tap.ok(SLICES <= x["most"] <= x["dropped"] and x["most"] <= STEPS * SLICES,
               f"one crawls: pserver/{i} counts what it dropped", x)


def one_is_killed():
    with Gang(1, 3, ["--steps", 100000, "--batch-size", 1, *MODE], MODE) as gang:
        gang[SLOW].wait_for("step", 3)  # by then it is connected: the others need not wait for that
        began = time.monotonic()
        gang[SLOW].signal(signal.SIGKILL)
        return gang.end(["pserver/0", "trainer/0", "trainer/1"]), time.monotonic() - began


def main():
    tap = Tap()
    ends, took_s = one_is_killed()
    print(f"# all knew after {took_s:.1f} s")
    for name, (code, error, stderr) in ends.items():
        tap.equal((11, SLOW), (code, error and error["peer"]), f"one is killed: {name} names it")
        tap.equal(1, stderr.count("\n"), f"one is killed: {name} says it in one line")
    one_crawls(tap)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
