"""Runs whose trials are one pod each: many trials in little time."""
from control import audit, plane

MOST_VALUES = 64   # of an axis


def axes(points):
    """Three lengths of axes whose product it is, as long as an axis may be."""
    for a in range(min(points, MOST_VALUES), 0, -1):
        for b in range(min(points // a, MOST_VALUES), 0, -1):
            if points % (a * b) == 0 and points // (a * b) <= MOST_VALUES:
                return a, b, points // (a * b)
    raise plane.Failed(f"{points} is not the product of three axes of at most {MOST_VALUES} values")


def definition(points, last, **changes):
    """One trial for each point; its pod runs as long as `last`."""
    batch_sizes, threads, marks = (list(range(1, n + 1)) for n in axes(points))
    template = {"metadata": {"annotations": {"sim/last": last}},
                "spec": {"containers": [{"name": "main", "image": "benchd.local/benchworker:0.1.0"}]}}
    return plane.definition(
        workload={"model": "vgg16-fluid-fc512", "batchSize": 64, "exchange": {"kind": "None"}},
        parameters=[{"name": "mark", "targets": [{"roles": ["trainer"], "env": ["MARK"]}]}],
        sweep={"grid": {"batch_size": batch_sizes, "threads": threads, "mark": marks}},
        baseline={"kind": "Point", "where": {"threads": 1}},
        roles={"trainer": {"replicas": {"value": 1}, "template": template}},
        runPolicy={"activeDeadlineSeconds": 86400, "ttlSecondsAfterFinished": 86400}, **changes)


def pauses(found, run):
    """Seconds from each pod's end to the beginning of the next one."""
    ends = sorted(told[1] for told in audit.states(found, f"{run}-p").values() if len(told) > 1)
    begins = [arrival for arrival, _ in audit.creations(found, f"{run}-p")]
    nexts = [min((b for b in begins if b > end), default=None) for end in ends]
    return [b - end for end, b in zip(ends, nexts) if b is not None]


def trials(where, run, count, seconds=300):
    """Waits until so many of its trials are over."""
    def done():
        return int(where.api.status(run).get("completions", "0/0").partition("/")[0]) >= count
    plane.wait_for(done, f"{count} trials of {run} are over", seconds)
