#!/usr/bin/env python3
"""kill -9 of benchd after every single write of a run, through a proxy that counts them. Each time benchd starts again, and the run
ends as one that nobody disturbed: the same trials at their first attempt, the same figures, the same pods, each made once.

Without options every fifth write; with --long all of them, each twice: killed before benchd has the answer, and right after."""
import signal
import sys
import threading
import time

import tap
from cluster import becomes
from fault_proxy import LOSE, Fault, FaultProxy
from faulted import Runs, attempts, benchd_behind, cluster_for_runs, difference
from gangs import Gangs
from rest import port_of

RUN_S = 180
SHORT = 5   # every so manyth write


class CountWrites(Fault):
    """The writes of benchd that the API server took, in their order."""

    def __init__(self):
        self.writes = []
        self.killed = threading.Event()

    def after(self, request, status, _body):
        if request.is_write and status < 300:
            self.writes.append(f"{request.method} {request.path.partition('?')[0].rpartition('benchd/')[2]}")
        return None


class KillAfter(CountWrites):
    """Kills benchd at its `number`th write, before it has the answer or after."""

    def __init__(self, daemon, number, with_answer):
        super().__init__()
        self.daemon, self.number, self.with_answer = daemon, number, with_answer

    def _kill(self):
        self.daemon.process.send_signal(signal.SIGKILL)
        self.killed.set()

    def after(self, request, status, body):
        if self.killed.is_set():
            return None
        super().after(request, status, body)
        if len(self.writes) == self.number and not self.with_answer:
            self._kill()
            return LOSE
        return None

    def sent(self, request):
        if self.with_answer and request.is_write and len(self.writes) >= self.number and not self.killed.is_set():
            time.sleep(0.002)   # benchd reads the answer, and perhaps does the next thing
            self._kill()


def run_under(runs, proxy, name, fault):
    """One run from its creation to its end under a fault, and what came of it."""
    proxy.fault = fault
    runs.create(name)
    runs.wait_end(name, RUN_S, restart=True)
    # The end is written last of all, but for the Event that reports it.
    becomes(lambda: any(write.startswith("POST events") for write in fault.writes[-2:]) or fault.killed.is_set(), 20)
    proxy.fault = Fault()
    if runs.daemon.process.poll() is not None:
        runs.daemon.start()
    return runs.outcome(name)


def check_kills(t, runs, proxy, long):
    fault = CountWrites()
    undisturbed = run_under(runs, proxy, "plain", fault)
    print("# its writes: " + ", ".join(fault.writes), flush=True)
    t.equal(("Succeeded", 2 * runs.repeats * [0]), (undisturbed["phase"], attempts(undisturbed)), "undisturbed: each trial at once")
    killed, undisturbed_writes = 0, list(fault.writes)
    numbers = range(1, len(undisturbed_writes) + 1)
    for number in numbers if long else numbers[::SHORT]:
        for with_answer in (False, True) if long else (number // SHORT % 2 == 1,):
            name = f"{'after' if with_answer else 'before'}-{number}"
            fault = KillAfter(runs.daemon, number, with_answer)
            began = time.monotonic()
            outcome = run_under(runs, proxy, name, fault)
            killed += fault.killed.is_set()
            what = fault.writes[-1] if fault.killed.is_set() else "not reached"
            told = difference(undisturbed, outcome)
            t.ok(told == "", f"killed {'after' if with_answer else 'before'} the answer to write {number}, {what} "
                             f"({time.monotonic() - began:.1f} s)", told)
            t.equal([], runs.gangs.broken, "no pod twice, no two attempts at a time")
            runs.gangs.broken.clear()
    # Statuses are at most one a second: a run that is faster than the first one has fewer of them, and its last writes may be missed.
    steady = sum("/status" not in write for write in undisturbed_writes)
    wanted = len([number for number in (numbers if long else numbers[::SHORT]) if number <= steady]) * (2 if long else 1)
    t.ok(killed >= wanted - 1 > 0, f"{killed} kills, at least {wanted} but for one")


def main():
    long = "--long" in sys.argv[1:]
    t = tap.Tap()
    with cluster_for_runs() as cluster, FaultProxy(port_of(cluster), cluster.dir / "pki") as proxy, Gangs(cluster) as gangs:
        with benchd_behind(cluster, proxy.port) as daemon:
            check_kills(t, Runs(cluster, gangs, daemon, 2 if long else 1), proxy, long)
            if t.failures:
                print("\n".join("# " + line for line in daemon.log.read_text().splitlines()[-60:]))
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
