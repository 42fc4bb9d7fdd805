"""store: 10,000 runs that finished a day ago, with their objects: how soon benchd decides after a restart, and what it takes idle."""
import datetime
import functools

from control import audit, plane, process, seed, single
from figures import Bar, Spread

NAME = "store"
DECIDING_S, IDLE, PRIVATE = 3, 0.001, 8
SETTLE_S = 20
PERSISTENT = ("apiVersion", "kind", "spec")


def settings(options):
    return {"finished": options.finished, "seconds": options.seconds}


def body(model, name):
    return {**{key: model[key] for key in PERSISTENT}, "metadata": {"name": name}}


AGO_S = 86400
TIMES = ("startTime", "completionTime")


def ago(time):
    """The same a day earlier."""
    then = datetime.datetime.fromisoformat(time) - datetime.timedelta(seconds=AGO_S)
    return then.strftime("%Y-%m-%dT%H:%M:%SZ")


def copies(where, model, count):
    """Objects like this one that ended a day ago. Returns (name, uid) of each."""
    made = []
    status = {**model["status"], **{name: ago(model["status"][name]) for name in TIMES}}

    def copy(api, index):
        name = f"copy-{index}"
        uid = api.call("POST", plane.RUNS, body(model, name))["metadata"]["uid"]
        api.call("PATCH", f"{plane.RUNS}/{name}/status", {"status": status}, "application/merge-patch+json")
        made.append((name, uid))
    where.api.many(copy, range(count))
    return made


def kept():
    """A run whose object stays."""
    return {**single.definition(1, "100ms"), "runPolicy": {"activeDeadlineSeconds": 3600}}


def restart(where, daemon, run):
    """Seconds from the start of the process to the first pod of a run that waited, and until all objects were listed."""
    where.audit.forget()
    where.api.create_run(run, kept())
    began = plane.time.time()
    daemon.start(is_awaited=False)
    plane.wait_for(lambda: audit.creations(where.audit.events(), run), f"a pod of {run}", 300)
    took_s = audit.creations(where.audit.events(), run)[0][0] - began
    plane.wait_for(daemon.is_ready, "benchd is ready", 120)
    listed_s = plane.time.time() - began
    daemon.ended(run)
    return {"deciding_s": took_s, "listed_s": listed_s}


def rounds(options, wanted):
    if not wanted:
        return
    with plane.Plane(1, functools.partial(plane.steered, last_s=0.1)) as where, plane.Daemon(where) as daemon:
        where.api.create_run("model", kept())
        daemon.ended("model")
        plane.time.sleep(2)   # its last status is written
        model = where.api.call("GET", f"{plane.RUNS}/model")
        daemon.stop()
        seed.runs(daemon.store, "model", copies(where, model, options.finished), AGO_S)
        for i in wanted:
            row = {"load": [process.load()], **restart(where, daemon, f"waits-{i}")}
            plane.time.sleep(SETTLE_S)
            cpu, began = process.exact_cpu_s(daemon.pid), plane.time.monotonic()
            plane.time.sleep(options.seconds)
            row["idle_cpu"] = (process.exact_cpu_s(daemon.pid) - cpu) / (plane.time.monotonic() - began)
            row["private_mib"] = daemon.memory()["Private_Dirty"] / process.MIB
            row["load"].append(process.load())
            daemon.stop()
            yield row


def bars(rows):
    def of(key):
        return Spread.of([row[key] for row in rows]) if rows else None
    return [Bar("restart to the first pod, s", of("deciding_s"), DECIDING_S, "<="),
            Bar("CPUs of an idle benchd, in a thousand", thousandths(of("idle_cpu")), IDLE * 1000, "<="),
            Bar("private memory at rest, MiB", of("private_mib"), PRIVATE, "<=")]


def thousandths(spread):
    return spread and Spread(spread.median * 1000, spread.least * 1000, spread.most * 1000)


def listed(row):
    """Rounds of an earlier FILE have none."""
    return f"{row['listed_s']:.2f}" if "listed_s" in row else "-"


def table(rows):
    lines = [[str(i), f"{row['deciding_s']:.2f}", listed(row), f"{row['idle_cpu'] * 100:.3f}", f"{row['private_mib']:.1f}"]
             for i, row in enumerate(rows, 1)]
    return ["finished runs, restart", "to the first pod s", "all listed s", "idle CPU %", "private MiB"], lines
