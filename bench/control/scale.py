"""scale: benchd's memory at rest, with 10,000 pods of others, with 10,000 pods of its own that run, and in a run of 10,000
points; what its pods cost etcd."""
import functools
import http.client
import re
import socket

from control import audit, plane, process, seed, single
from figures import Bar, Spread

NAME = "scale"
LOOKS = ("rest", "foreign", "gangs", "points")   # benchd by itself, with pods of others, with its own, in a long run
REST_S = 10              # after the last request, before memory is read
PODS_A_NODE = 100
GANGS = (20, 4, 1)       # sizes: the whole divided by these
POINTS_LEFT = 200        # of the large run; the others are in the store
POINTS_S = 20            # how long it is watched
REST_PRIVATE, PRIVATE, RSS, LINEAR = 8, 16, 32, 1.1
# "Nothing": what is no more than the noise of a process that rests.
FOREIGN_PRIVATE, FOREIGN_CPU, FOREIGN_BYTES = 0.25, 0.001, 65536
FOREIGN = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "foreign-", "labels": {"app": "foreign"}},
           "spec": {"schedulerName": "nobody", "containers": [{"name": "main", "image": "foreign"}]}}


def settings(options):
    return {"pods": options.pods, "points": options.points} | ({"looks": looks(options)} if options.look else {})


def looks(options):
    return [look for look in LOOKS if not options.look or look in options.look]


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))


def etcd_bytes(where):
    """What etcd has received so far."""
    connection = Unix(where.cluster.dir / "client:0")
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return float(re.search(r"^etcd_network_client_grpc_received_bytes_total (\S+)$", text, re.MULTILINE)[1])


class Peak:
    """The most memory that benchd was seen with."""

    def __init__(self, daemon):
        self.daemon, self.most = daemon, {}

    def look(self):
        now = self.daemon.memory()
        self.most = {key: max(value, self.most.get(key, 0)) for key, value in now.items()}

    def mib(self):
        return {key: value / process.MIB for key, value in self.most.items()}


def rest(daemon):
    plane.time.sleep(REST_S)
    return {key: value / process.MIB for key, value in daemon.memory().items()}


def idle(daemon, work):
    """What benchd takes during some work that is not its own, a second."""
    memory, cpu, received = daemon.memory(), process.exact_cpu_s(daemon.pid), daemon.metric("benchd_api_received_bytes_total")
    began = plane.time.monotonic()
    work()
    took_s = plane.time.monotonic() - began
    return {"cpu": (process.exact_cpu_s(daemon.pid) - cpu) / took_s, "seconds": took_s,
            "bytes": daemon.metric("benchd_api_received_bytes_total") - received,
            "private_mib": (daemon.memory()["Private_Dirty"] - memory["Private_Dirty"]) / process.MIB}


def foreign(where, daemon, count):
    """Beside as long without them."""
    busy = idle(daemon, lambda: where.api.many(lambda api, _: api.call("POST", plane.PODS, FOREIGN), range(count)))
    quiet = idle(daemon, lambda: plane.time.sleep(busy["seconds"]))
    where.api.delete_pods("app=foreign")
    plane.wait_for(lambda: where.api.count(plane.PODS) == 0, "the pods of others are gone", 1200, 1)
    return {key: busy[key] - quiet[key] for key in ("cpu", "private_mib")} | {
        "bytes": busy["bytes"] / busy["seconds"] * quiet["seconds"] - quiet["bytes"], "seconds": busy["seconds"], "pods": count}


def workers(count):
    return plane.definition(
        systems=[{"name": "any", "profile": "none", "image": "any", "command": ["run"]}],
        workload={"model": "any", "batchSize": 1, "exchange": {"kind": "AllReduce"}}, sweep={"grid": {"workers": [count]}},
        baseline={"kind": "Point", "where": {"workers": count}}, roles={"worker": {"replicas": {"from": "workers"}}})


def gang(where, daemon, count):
    """One point of so many pods until all run."""
    where.empty(1200)
    peak, run = Peak(daemon), f"gang-{count}"
    began, bytes_before, cpu = plane.time.monotonic(), etcd_bytes(where), process.cpu_s(daemon.pid)
    told = where.audit.counter(audit.BY_KWOK, f"/{run}-p0".encode())

    def is_over():
        peak.look()
        phase = where.api.status(run).get("phase")
        if phase in plane.ENDED:
            raise plane.Failed(f"a point of {count} pods: {phase}: {where.api.status(run).get('message') or where.api.status(run)}"[:600])
        return told() >= count
    where.api.create_run(run, workers(count))
    plane.wait_for(is_over, f"{count} pods run", 60 + count // 10, 1)
    row = {"pods": count, "running_s": plane.time.monotonic() - began, "etcd_bytes": etcd_bytes(where) - bytes_before,
           "cpu_s": process.cpu_s(daemon.pid) - cpu}
    for _ in range(REST_S):
        plane.time.sleep(1)
        peak.look()
    return row | peak.mib()


def large_run(where, daemon, points):
    """A run of so many points, nearly all of them in the store."""
    where.empty(1200)
    where.api.create_run("points", single.definition(points, "100ms"))
    single.trials(where, "points", 10)
    first = single.pauses(where.audit.events(), "points")
    daemon.stop()
    left = min(POINTS_LEFT, points // 2)
    n_copied = seed.points(daemon.store, "points", range(points - left))
    where.audit.forget()
    daemon.start()
    peak = Peak(daemon)
    for _ in range(POINTS_S * 2):
        plane.time.sleep(0.5)
        peak.look()
    last = single.pauses(where.audit.events(), "points")
    if not last:
        raise plane.Failed(f"no trial followed another within {POINTS_S} s in a run of {points} points")
    return {"points": points, "copied": n_copied, "pause_first_s": sorted(first)[len(first) // 2],
            "pause_last_s": sorted(last)[len(last) // 2]} | peak.mib()


def attempt(work, *args):
    """The row, or why it is missing: one part that fails leaves the others their figures."""
    try:
        return work(*args)
    except plane.FAILURES as error:
        return {"failed": f"{type(error).__name__}: {error}"}


def rounds(options, wanted):
    work = {"rest": lambda where, daemon: rest(daemon),
            "foreign": lambda where, daemon: foreign(where, daemon, options.pods),
            "gangs": lambda where, daemon: [attempt(gang, where, daemon, options.pods // part) for part in GANGS],
            "points": lambda where, daemon: large_run(where, daemon, options.points)}
    for _ in wanted:
        nodes = options.pods // PODS_A_NODE + 2 if "gangs" in looks(options) else 1
        with plane.Plane(nodes, functools.partial(plane.steered, last_s=3600)) as where, plane.Daemon(where) as daemon:
            row = {"load": [process.load()]}
            for look in looks(options):
                row[look] = attempt(work[look], where, daemon)
            if "rest" in row:
                row["after"] = attempt(lambda: (where.empty(1200), rest(daemon))[1])
            row["load"].append(process.load())
        yield row


def spread(values):
    values = [value for value in values if value is not None]
    return Spread.of(values) if values else None


def bars(rows):
    """Of what was looked at; without rows, of all."""
    def of(*path):
        found = []
        for row in rows:
            for key in path:
                row = row.get(key) if isinstance(row, dict) else row[key] if row else None
            found.append(row)
        return spread(found)

    def linear(row):
        small, large = row["gangs"][0], row["gangs"][-1]
        return large["etcd_bytes"] / large["pods"] / (small["etcd_bytes"] / small["pods"]) if "failed" not in small | large else None
    def has(look):
        return not rows or look in rows[0]

    found = [Bar(f"private memory {text}, MiB", of(key, "Private_Dirty"), REST_PRIVATE, "<=")
             for key, text in (("rest", "at rest"), ("after", "at rest after all")) if has(key)]
    for text, path in (("with all pods running", ("gangs", -1)), ("in a run of all points", ("points",))):
        if has(path[0]):
            found += [Bar(f"private memory {text}, MiB", of(*path, "Private_Dirty"), PRIVATE, "<="),
                      Bar(f"RSS {text}, MiB", of(*path, "Rss"), RSS, "<=")]
    if has("gangs"):
        found.append(Bar("etcd's bytes a pod in the largest gang, over the smallest's", spread([linear(row) for row in rows]), LINEAR, "<="))
    if has("foreign"):
        found += [Bar(f"{text} for pods of others", of("foreign", key), bar, "<=")
                  for text, key, bar in (("private memory, MiB,", "private_mib", FOREIGN_PRIVATE), ("CPUs", "cpu", FOREIGN_CPU),
                                         ("bytes received", "bytes", FOREIGN_BYTES))]
    return found


def table(rows):
    header = ["scale", "private MiB", "RSS MiB", "all Running s", "own CPU s", "etcd MB a trial", "etcd bytes a pod", "pause s"]
    lines = []
    for row in rows:
        if "rest" in row:
            lines.append(["at rest", *(f"{row['rest'][key]:.1f}" for key in ("Private_Dirty", "Rss")), "-", "-", "-", "-", "-"]
                         if "failed" not in row["rest"] else [row["rest"]["failed"][:60], *["-"] * 7])
        if "foreign" in row:
            one = row["foreign"]
            lines.append([f"{one['pods']} pods of others", f"{one['private_mib']:+.2f}", "-", "-", f"{one['cpu'] * one['seconds']:+.2f}",
                          "-", "-", "-"] if "failed" not in one else [one["failed"][:60], *["-"] * 7])
        for one in row.get("gangs", ()):
            lines.append([f"{one['pods']} pods", *(f"{one[key]:.1f}" for key in ("Private_Dirty", "Rss", "running_s", "cpu_s")),
                          f"{one['etcd_bytes'] / 1e6:.1f}", f"{one['etcd_bytes'] / one['pods']:.0f}", "-"]
                         if "failed" not in one else [one["failed"][:60], *["-"] * 7])
        one = row.get("points")
        if one is None:
            continue
        lines.append([f"{one['points']} points", *(f"{one[key]:.1f}" for key in ("Private_Dirty", "Rss")), "-", "-", "-", "-",
                      f"{one['pause_first_s']:.2f}, later {one['pause_last_s']:.2f}"]
                     if "failed" not in one else [one["failed"][:60], *["-"] * 7])
    return header, lines
