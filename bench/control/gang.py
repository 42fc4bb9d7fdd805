"""gang: one point of 160 pods on simulated nodes, by benchd, by a bare loop and by JobSet in turn; and how long
the nodes are empty between two trials."""
import functools
import statistics

from control import audit, plane, process, rivals
from figures import Bar, Spread

NAME = "gang"
NODES = 200
POINTS = 3           # of each in its turn, of which the median counts: an API server takes 0.9 to 1.9 s for the same 160 POSTs
LAST_S = 3600        # pods run until they are deleted,
TRIAL_S = 10         # but those of trials: long enough that all of them run before the first one ends
CREATED, RUNNING, API_CPU, EXCLUSIVE, NEXT_S = 1.15, 1.2, 1.15, 1.3, 0.2
FIGURES = {"created_s": "created", "running_s": "all Running", "api_cpu_s": "API server's CPU"}


def settings(options):
    return {"pods": sum(rivals.COUNTS.values()), "peers": options.peers, "points": POINTS}


def next_trial_s(found, run):
    """From the last pod's end to the first pod of the next trial."""
    ends = [told[1] for told in audit.states(found, f"{run}-p0t0a0-").values()]
    return audit.creations(found, f"{run}-p0t1a0-")[0][0] - max(ends)


def two_trials(where, run):
    n = sum(rivals.COUNTS.values())
    with plane.Daemon(where) as daemon:
        where.api.create_run(run, rivals.point(rivals.PSERVERS, rivals.TRAINERS, {"sim/last": f"{TRIAL_S}s"}, repeats={"min": 2}))
        phase = daemon.ended(run, 300, 0.5)
        if phase != "Succeeded":
            raise plane.Failed(f"{run}: {phase}: {where.api.status(run)}")
    found = where.audit.events()
    for trial in range(2):
        if len(audit.creations(found, f"{run}-p0t{trial}a0-")) != n:
            raise plane.Failed(f"{run}: trial {trial} was not made of {n} pods at once")
    return next_trial_s(found, run)


def order(n, number):
    """Of n in a round: as often first as last, and in n rounds, if n is even, each comes once after each of the others (a Williams
    design): an API server is slower after a controller that left it more to do."""
    return [((k + 1) // 2 * (-1) ** (k + 1) + number) % n for k in range(n)]


def turn(where, rival, index):
    where.empty()
    with rival.running():
        rivals.one_point(where, rival, f"warm-{rival.name}-{index}", {"pserver": 1, "trainer": 1}, 0)
        rows = []
        for i in range(POINTS):
            where.audit.forget()
            plane.time.sleep(2)
            rows.append(rivals.one_point(where, rival, f"point-{rival.name}-{index}-{i}"))
            where.api.delete_pods()
            plane.wait_for(lambda: where.left() == 0, f"the pods of {rival.name}, and what it made with them, go", 300)
    return {key: statistics.median(row[key] for row in rows) for key in rows[0]}


def rounds(options, wanted):
    """A row for each round that is wanted."""
    with plane.Plane(NODES, functools.partial(plane.steered, last_s=LAST_S)) as where:
        who = [kind(where) for kind in rivals.RIVALS if options.peers or kind is not rivals.JobSet]
        for i in wanted:
            row = {"load": [process.load()]}
            for rival in (who[k] for k in order(len(who), i)):
                row[rival.name] = turn(where, rival, i)
            where.empty()
            row["next_s"] = two_trials(where, f"trials-{i}")
            row["load"].append(process.load())
            yield row


def ratio(rows, key, peer, own="benchd"):
    both = [row for row in rows if peer in row]
    return Spread.of([row[own][key] / row[peer][key] for row in both]) if both else None


def bars(rows):
    found = [Bar(f"{FIGURES[key]}, over the bare loop's", ratio(rows, key, "bare"), bar, "<=")
             for key, bar in (("created_s", CREATED), ("running_s", RUNNING), ("api_cpu_s", API_CPU))]
    found += [Bar(f"{text}, over JobSet's", ratio(rows, key, "jobset"), 1, "<") for key, text in FIGURES.items()]
    found.append(Bar("all Running with exclusiveNodes, over that without", ratio(rows, "running_s", "benchd", "exclusive"), EXCLUSIVE, "<="))
    found.append(Bar("last container's end to the next trial's first pod, s",
                     Spread.of([row["next_s"] for row in rows]) if rows else None, NEXT_S, "<="))
    return found


def table(rows):
    """(header, lines): medians and their spread."""
    keys = ("created_s", "first_s", "posting_s", "running_s", "api_cpu_s", "own_cpu_s", "rss_mib")
    header = ["160 pods", "last created s", "first pod s", "posting s", "all Running s", "API server CPU s", "own CPU s", "RSS MiB"]
    lines = []
    for kind in rivals.RIVALS:
        own = [row[kind.name] for row in rows if kind.name in row]
        lines.append([kind.name, *(Spread.of([o[key] for o in own]).text() if own and key in own[0] else "-" for key in keys)])
    return header, lines
