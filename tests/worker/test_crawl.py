#!/usr/bin/env python3
"""Sync with a backup trainer, with real processes: the others go on while one crawls, its late gradients are counted, and one that is
gone is a lost peer all the same."""
import contextlib
import signal
import sys
import threading

import peer
from worker_gang import Gang, time
from lone import N_PARAMS
from tap import Tap

MODE = ["--mode", "Sync backups=1"]
WARMUP, STEPS = 1, 8
SLICES = len(peer.slices(N_PARAMS, 2)) // 2  # of each of two servers
SLOW = "trainer/2"
STOPPED_S, AWAKE_S = 2.0, 0.15
LATE_S = 0.5  # a crawler that the machine let wait for so long has let its replica run
ATTEMPTS = 5


def measured(replica):
    return [r for r in replica.records if r["type"] == "step" and not r.get("warmup")]


class Crawler:
    """Stops its replica again and again, as on a machine that another program has."""

    def __init__(self, replica):
        self.replica = replica
        self.is_over = threading.Event()
        self.woken = time.monotonic()
        self.awake_s = 0  # the longest time that the replica ran
        self.thread = threading.Thread(target=self.crawl, daemon=True)

    def crawl(self):
        while not self.is_over.is_set():
            self.replica.signal(signal.SIGSTOP)
            self.awake_s = max(self.awake_s, time.monotonic() - self.woken)
            self.is_over.wait(STOPPED_S)
            self.woken = time.monotonic()
            self.replica.signal(signal.SIGCONT)
            self.is_over.wait(AWAKE_S)

    def is_late(self):
        return self.awake_s > LATE_S

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()


def crawl_once():
    """(the ends, the records, by how many steps the others were ahead, whether the machine was too late to show that)"""
    settings = ["--warmup-steps", WARMUP, "--steps", STEPS, "--batch-size", 1, *MODE]
    with Gang(2, 3, settings, MODE) as gang:
        gang[SLOW].wait_for("step", WARMUP + 1)  # nobody crosses the barrier before it
        ahead = []
        with Crawler(gang[SLOW]) as crawler:
            begun = len(measured(gang[SLOW]))
            for name in ("trainer/0", "trainer/1"):
                with contextlib.suppress(AssertionError):  # its end says why it has none
                    gang[name].wait_for("summary")
                ahead.append(STEPS - len(measured(gang[SLOW])))
        ends = gang.end()
        records = {name: gang[name].records for name in ends}
    return ends, records, ahead, begun > 2 or crawler.is_late()


def one_crawls(tap):
    for _ in range(ATTEMPTS):
        ends, records, ahead, is_late = crawl_once()
        if not is_late:
            break
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
