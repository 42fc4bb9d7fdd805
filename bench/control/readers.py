"""http: 50 clients ask benchd for results and pages while it drives a run. Its Lease, and its driving, beside a minute without them."""
import datetime
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading

from control import audit, plane, process, seed, single
from figures import Bar, Spread

NAME = "http"
RENEW_S, LATE_S, DRIVING = 2, 1, 1.15   # lib/kube/lease.c renews every 2 s
READ_POINTS = 400       # of the run that is read
TRIALS_A_SECOND = 8     # of the run that is driven, at most: it must not end before the round does
PROCESSES = 2
CLIENTS = pathlib.Path(__file__).with_name("clients.py")


def settings(options):
    return {"clients": options.clients, "seconds": options.seconds}


def driven_points(seconds):
    """Enough for both looks of a round, in whole hundreds."""
    return -(-2 * seconds * TRIALS_A_SECOND // 100) * 100


class Renewals(threading.Thread):
    """The times on the Lease object, as a watch of the API server shows them."""

    def __init__(self, where):
        super().__init__(daemon=True)
        self.where, self.times = where, []

    def run(self):
        path = "/apis/coordination.k8s.io/v1/namespaces/benchd/leases?fieldSelector=metadata.name%3Dbenchd"
        for lease in self.where.api.watch(path):
            time = lease.get("spec", {}).get("renewTime")
            if time:
                self.times.append(audit.seconds(time))

    def latest_s(self, begin, end):
        """How late the latest renewal of this time was."""
        return lateness(self.times, begin, end)


def lateness(times, begin, end):
    """Of the longest pause between two renewals that touches this time: what it has beyond the usual."""
    within = sorted({t for t in times if begin - RENEW_S <= t <= end})
    return max(b - a for a, b in zip([begin, *within], [*within, end])) - RENEW_S


def read_run(where, daemon):
    """A finished run of many points in the store."""
    where.api.create_run("read", single.definition(READ_POINTS, "1s"))
    single.trials(where, "read", 2)
    daemon.stop()
    seed.points(daemon.store, "read", range(READ_POINTS))
    daemon.start()
    daemon.ended("read", 300)


def driving(where, run, begin, end):
    """Seconds from each pod's end to the next pod's beginning in this time, and how many trials that were."""
    return single.pauses([event for event in where.audit.events() if begin <= event[5] <= end], run)


def give_way():
    """Clients are on other machines: what is measured goes before them."""
    os.nice(19)


def phase(where, daemon, run, renewals, options, n_clients):
    paths = [f"/api/v1/runs/{name}/results" for name in ("read", run)] + ["/", "/runs/read", f"/runs/{run}", "/api/v1/runs"]
    begin, cpu = datetime.datetime.now().timestamp(), process.cpu_s(daemon.pid)
    asking = [subprocess.Popen([sys.executable, CLIENTS, daemon.address, str(n_clients // PROCESSES), str(options.seconds), *paths],
                               stdout=subprocess.PIPE, text=True, preexec_fn=give_way) for _ in range(PROCESSES if n_clients else 0)]
    plane.time.sleep(options.seconds)
    end = datetime.datetime.now().timestamp()
    answers = [json.loads(one.communicate()[0]) for one in asking]
    pauses = driving(where, run, begin, end)
    if not pauses:
        raise plane.Failed(f"no trial of {run} followed another within {options.seconds} s")
    row = {"late_s": renewals.latest_s(begin, end), "pause_s": statistics.median(pauses), "trials": len(pauses) + 1,
           "cpu": (process.cpu_s(daemon.pid) - cpu) / (end - begin)}
    if answers:
        row.update(requests=sum(a["requests"] for a in answers), failed=sum(a["failed"] for a in answers),
                   mb=sum(a["bytes"] for a in answers) / 1e6, median_ms=max(a["median_ms"] for a in answers),
                   slowest_ms=max(a["slowest_ms"] for a in answers))
    return row


def rounds(options, wanted):
    if not wanted:
        return
    with plane.Plane(1, functools.partial(plane.steered, last_s=0.1)) as where, plane.Daemon(where) as daemon:
        read_run(where, daemon)
        renewals = Renewals(where)
        renewals.start()
        for i in wanted:
            run = f"driven-{i}"
            where.audit.forget()
            where.api.create_run(run, single.definition(driven_points(options.seconds), "100ms"))
            single.trials(where, run, 2)
            row = {"load": [process.load()]}
            for who in ("quiet", "asked") if i % 2 else ("asked", "quiet"):
                row[who] = phase(where, daemon, run, renewals, options, options.clients if who == "asked" else 0)
            row["load"].append(process.load())
            where.api.delete_run(run)
            plane.wait_for(lambda: where.api.status(run) is None and where.api.count(plane.PODS) == 0, f"{run} is gone", 300)
            yield row


def bars(rows):
    late = [row["asked"]["late_s"] for row in rows]
    ratios = [row["asked"]["pause_s"] / row["quiet"]["pause_s"] for row in rows]
    return [Bar("latest renewal of the Lease with clients, s late", Spread(max(late), min(late), max(late)) if rows else None, LATE_S, "<="),
            Bar("pause between two trials with clients, over that without", Spread.of(ratios) if rows else None, DRIVING, "<=")]


def table(rows):
    keys = ("late_s", "pause_s", "trials", "cpu", "requests", "failed", "mb", "median_ms", "slowest_ms")
    header = ["HTTP", "late s", "pause s", "trials", "CPUs of benchd", "requests", "failed", "MB", "median ms", "slowest ms"]
    return header, [[who, *(Spread.of([row[who][key] for row in rows]).text() if rows and key in rows[0][who] else "-" for key in keys)]
                    for who in ("quiet", "asked")]
